// The inside of JSON strings: checking and decoding.
#ifndef TRACEKILN_FORMATS_JSON_TEXT_H_
#define TRACEKILN_FORMATS_JSON_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "formats/json/damage.h"

namespace tracekiln::json {

// True if `text` is valid UTF-8 without bytes below 0x20 (the escapes of JSON are not looked at).
bool IsCleanUtf8(absl::string_view text);

// Appends `bytes` to *out with each maximal ill-formed sequence replaced by U+FFFD. True if there was none.
bool AppendAsUtf8(absl::string_view bytes, std::string* out);

// Decodes what stands between the quotes of a JSON string: escapes are resolved, bytes that are not UTF-8 are replaced.
// The result, appended to *out, is valid UTF-8. Each kind of damage is reported once per string, at its first byte.
// False with *error set for an escape that JSON does not know.
[[nodiscard]] bool DecodeString(absl::string_view raw, std::string* out, DamageSink* sink, Error* error);

}  // namespace tracekiln::json

#endif  // TRACEKILN_FORMATS_JSON_TEXT_H_
