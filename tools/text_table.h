// Text for terminals: aligned tables, exact times, and names from traces made harmless.
#ifndef TRACEKILN_TOOLS_TEXT_TABLE_H_
#define TRACEKILN_TOOLS_TEXT_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace tracekiln::tools {

// Rows of cells as text, columns parted by two blanks. The first row is the header. Columns in which every cell below
// the header is a number are aligned right. Widths count characters (UTF-8), not bytes. Each line starts with `indent`.
std::string TextTable(const std::vector<std::vector<std::string>>& rows, absl::string_view indent);

// The same as a Markdown table.
std::string MarkdownTable(const std::vector<std::vector<std::string>>& rows);

// "1234.567 us", to the nanosecond.
std::string MicrosText(int64_t ns);

// `text` with control characters (line breaks and escape sequences among them) as \xNN, and cut to about `max_bytes`
// with "…": for names from a trace, which may be anything.
std::string Printable(absl::string_view text, size_t max_bytes = 120);

// As Printable, but whole and with its line breaks: for messages that quote an input.
std::string PrintableLines(absl::string_view text);

}  // namespace tracekiln::tools

#endif  // TRACEKILN_TOOLS_TEXT_TABLE_H_
