// Any JSON value -> canonical text: no blanks outside strings, strings spelt as json::Writer spells them, numbers as
// they were.
//
// Nested arguments (`"Input Dims": [[2, 3], []]`) and top-level metadata are kept in this form: two spellings of one
// value become one string, and what is written again is valid JSON. Confined damage is mended on the way and reported.
#ifndef TRACEKILN_FORMATS_JSON_CANONICAL_H_
#define TRACEKILN_FORMATS_JSON_CANONICAL_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "formats/json/damage.h"

namespace tracekiln::json {

// Brackets may nest this deep; deeper text is an error.
inline constexpr int kMaxDepth = 512;

// Appends the canonical text of the value at `p` (blanks before it are skipped) to *out. Returns the byte behind the
// value, or nullptr with *error set; *out then holds rubbish behind its old end. Reads up to kPadding bytes behind
// `end`.
[[nodiscard]] const char* AppendCanonical(const char* p, const char* end, std::string* out, DamageSink* sink,
                                          Error* error);

// If `p` starts with a word that some writer put for a number that is not finite (nan, NaN, inf, -Infinity, …), its
// length.
size_t NonFiniteLength(const char* p, const char* end);

// True if [p, end) is the beginning of a number, of true, false or null, or of such a word, and is none itself: more
// text might make it one.
bool IsCutOffScalar(const char* p, const char* end);

// True if `text` is one JSON value and nothing else, with no damage. For text of unknown origin that is about to be
// written as it is; copies it.
bool IsJson(absl::string_view text);

// The members of a canonical object: (key as text, canonical value). Empty if `canonical` is no object.
std::vector<std::pair<std::string, absl::string_view>> Members(absl::string_view canonical);

// The value of one member, and values as numbers and text.
std::optional<absl::string_view> Member(absl::string_view canonical, absl::string_view key);
std::optional<int64_t> AsInt(absl::string_view canonical);
std::optional<std::string> AsString(absl::string_view canonical);

}  // namespace tracekiln::json

#endif  // TRACEKILN_FORMATS_JSON_CANONICAL_H_
