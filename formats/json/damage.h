// What can be wrong with JSON text: confined damage, which is mended and counted, and errors, which are not.
#ifndef TRACEKILN_FORMATS_JSON_DAMAGE_H_
#define TRACEKILN_FORMATS_JSON_DAMAGE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace tracekiln::json {

// Damage whose extent is clear and whose mending is unambiguous.
enum class Damage : uint8_t {
  kInvalidUtf8,       // a string with bytes that are not UTF-8: each maximal ill-formed sequence becomes U+FFFD
  kControlCharacter,  // a string with raw bytes below 0x20: taken as they are
  kLoneSurrogate,     // an escape \ud800 … \udfff without its other half: U+FFFD
  kNonFiniteNumber,   // nan, inf, Infinity, … in place of a number: the string of that text
  kTrailingComma,     // a comma behind the last element
  kDuplicateKey,      // the same key twice in one object: the last one counts, except in nested values, which keep both
};

// "invalid_utf8" and so on: the reason in an ImportReport.
absl::string_view DamageName(Damage damage);

// Told of each damage and where it is. `at` points into the text being parsed.
class DamageSink {
 public:
  virtual ~DamageSink() = default;
  virtual void OnDamage(Damage damage, const char* at) = 0;
};

// An error that ends parsing: where, and "expected …, got …".
struct Error {
  const char* at = nullptr;
  std::string reason;
  // The text ended too soon: more of it might mend the matter.
  bool is_truncation = false;
};

// "`x`" or "end of input" or "byte 0x80": how a message shows what stands at `p`.
std::string ShowByte(const char* p, const char* end);

}  // namespace tracekiln::json

#endif  // TRACEKILN_FORMATS_JSON_DAMAGE_H_
