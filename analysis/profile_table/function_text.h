// How functions of a profile are called in text: pstats' own spelling, and one that is harmless to show.
#ifndef TRACEKILN_ANALYSIS_PROFILE_TABLE_FUNCTION_TEXT_H_
#define TRACEKILN_ANALYSIS_PROFILE_TABLE_FUNCTION_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "formats/intermediate/profile.h"

namespace tracekiln::profile_table {

// Appends what pstats calls the standard name: "file:line(name)"; of built-ins (file "~", line 0) only the name, with
// the angle brackets around it as braces: "{built-in method builtins.len}". Bytes as they are.
void AppendStandardName(absl::string_view file, int64_t line, absl::string_view name, std::string* out);
void AppendStandardName(const Profile& profile, FunctionId function, std::string* out);

// Appends `text` as it can be shown on any terminal and written to any UTF-8 file; returns the number of characters
// (code points) appended. Ordinary text stays as it is. Escaped: control characters and bytes that are no UTF-8 as
// \xNN, lone surrogates (which Python's own print refuses) as \udNNN, and the ASCII characters in `also` as \xNN.
size_t AppendPrintable(absl::string_view text, std::string* out, absl::string_view also = {});

// Appends `text` with lone surrogates as \udNNN and everything else as it is, for writers that escape on their own.
void AppendWithoutSurrogates(absl::string_view text, std::string* out);

}  // namespace tracekiln::profile_table

#endif  // TRACEKILN_ANALYSIS_PROFILE_TABLE_FUNCTION_TEXT_H_
