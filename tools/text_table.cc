#include "tools/text_table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "formats/intermediate/nanos.h"

namespace tracekiln::tools {
namespace {

size_t CharacterCount(absl::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

// "12", "-1.5", "12.345 us", "50 %", and "-" for no value.
bool IsNumber(absl::string_view cell) {
  if (cell == "-" || cell.empty()) return true;
  const size_t digit = cell[0] == '-' ? 1 : 0;
  if (digit >= cell.size() || cell[digit] < '0' || cell[digit] > '9') return false;
  const size_t end = cell.find_first_not_of("-0123456789.");
  return end == absl::string_view::npos || cell.substr(end) == " us" || cell.substr(end) == " %";
}

}  // namespace

std::string TextTable(const std::vector<std::vector<std::string>>& rows, absl::string_view indent) {
  std::vector<size_t> widths;
  std::vector<bool> is_number;
  std::vector<bool> has_digit;
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t c = 0; c < rows[r].size(); ++c) {
      if (c == widths.size()) {
        widths.push_back(0);
        is_number.push_back(true);
        has_digit.push_back(false);
      }
      widths[c] = std::max(widths[c], CharacterCount(rows[r][c]));
      if (r > 0 && !IsNumber(rows[r][c])) is_number[c] = false;
      if (r > 0 && rows[r][c].find_first_of("0123456789") != std::string::npos) has_digit[c] = true;
    }
  }
  std::string out;
  for (const std::vector<std::string>& row : rows) {
    std::string line(indent);
    for (size_t c = 0; c < row.size(); ++c) {
      if (c > 0) line += "  ";
      const std::string blanks(widths[c] - CharacterCount(row[c]), ' ');
      line += is_number[c] && has_digit[c] ? blanks + row[c] : row[c] + blanks;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&out, line, "\n");
  }
  return out;
}

std::string MarkdownTable(const std::vector<std::vector<std::string>>& rows) {
  std::string out;
  for (size_t r = 0; r < rows.size(); ++r) {
    std::vector<std::string> cells;
    for (const std::string& cell : rows[r]) cells.push_back(absl::StrReplaceAll(cell, {{"|", "\\|"}}));
    absl::StrAppend(&out, "| ", absl::StrJoin(cells, " | "), " |\n");
    if (r == 0) absl::StrAppend(&out, "|", absl::StrJoin(std::vector<std::string>(cells.size(), "---"), "|"), "|\n");
  }
  return out;
}

std::string MicrosText(int64_t ns) {
  std::string out;
  AppendMicros(ns, &out);
  return out + " us";
}

std::string Printable(absl::string_view text, size_t max_bytes) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    if (out.size() >= max_bytes && (c & 0xc0) != 0x80) {
      out += "…";
      break;
    }
    // Also U+0080 to U+009F, which some terminals obey.
    const bool is_c1 = c == 0xc2 && i + 1 < text.size() && (static_cast<unsigned char>(text[i + 1]) & 0xe0) == 0x80;
    if (c < 0x20 || c == 0x7f || is_c1) {
      static constexpr char kHex[] = "0123456789abcdef";
      const unsigned char shown = is_c1 ? static_cast<unsigned char>(text[++i]) : c;
      out += {'\\', 'x', kHex[shown >> 4], kHex[shown & 15]};
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string PrintableLines(absl::string_view text) {
  std::string out;
  for (;;) {
    const size_t line_break = text.find('\n');
    out += Printable(text.substr(0, line_break), SIZE_MAX);
    if (line_break == absl::string_view::npos) return out;
    out += '\n';
    text.remove_prefix(line_break + 1);
  }
}

}  // namespace tracekiln::tools
