// Decimal microseconds <-> int64 nanoseconds, exactly.
//
// Chrome JSON gives times in microseconds with decimals. A double of microseconds since the epoch steps by 0.25 us, so
// these texts never pass through a double: digits go straight to int64 nanoseconds.
#ifndef TRACEKILN_FORMATS_INTERMEDIATE_NANOS_H_
#define TRACEKILN_FORMATS_INTERMEDIATE_NANOS_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace tracekiln {

enum class NanosError : uint8_t {
  kNone = 0,
  kNotANumber,  // not a JSON number (after an optional leading '+', which some writers put)
  kOutOfRange,  // does not fit int64 nanoseconds
};

struct ParsedNanos {
  int64_t ns = 0;
  NanosError error = NanosError::kNone;
  bool rounded = false;  // the text was finer than 1 ns; `ns` is the nearest, halves away from zero
};

// Parses the whole of `micros`: "12", "12.345", "-0.5", "1.5e3" (= 1,500,000 ns). O(length), no allocation.
ParsedNanos ParseMicros(absl::string_view micros);

// Appends `ns` as microseconds: an integer if it is whole, else with exactly three decimals ("12", "12.340", "-0.001").
void AppendMicros(int64_t ns, std::string* out);

// As AppendMicros, into a buffer of at least kMaxMicrosLength bytes; returns the number written.
inline constexpr int kMaxMicrosLength = 24;
int FormatMicros(int64_t ns, char* out);

}  // namespace tracekiln

#endif  // TRACEKILN_FORMATS_INTERMEDIATE_NANOS_H_
