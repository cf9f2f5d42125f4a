#include "formats/intermediate/nanos.h"

#include <charconv>
#include <limits>

namespace tracekiln {
namespace {
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
}  // namespace

ParsedNanos ParseMicros(absl::string_view micros) {
  ParsedNanos result;
  const char* p = micros.data();
  const char* const end = p + micros.size();
  const auto fail = [&](NanosError error) {
    result.ns = 0;
    result.error = error;
    return result;
  };
  bool negative = false;
  if (p < end && (*p == '-' || *p == '+')) negative = *p++ == '-';
  const char* const digits = p;
  while (p < end && IsDigit(*p)) ++p;
  const char* const integer_end = p;
  if (integer_end == digits) return fail(NanosError::kNotANumber);
  const char* fraction = p;
  const char* fraction_end = p;
  if (p < end && *p == '.') {
    fraction = ++p;
    while (p < end && IsDigit(*p)) ++p;
    fraction_end = p;
    if (fraction == fraction_end) return fail(NanosError::kNotANumber);
  }
  int64_t exponent = 0;
  if (p < end && (*p == 'e' || *p == 'E')) {
    ++p;
    bool negative_exponent = false;
    if (p < end && (*p == '-' || *p == '+')) negative_exponent = *p++ == '-';
    const char* const first = p;
    while (p < end && IsDigit(*p)) {
      if (exponent < 1'000'000) exponent = exponent * 10 + (*p - '0');
      ++p;
    }
    if (p == first) return fail(NanosError::kNotANumber);
    if (negative_exponent) exponent = -exponent;
  }
  if (p != end) return fail(NanosError::kNotANumber);

  // The value is DIGITS * 10^(exponent - fraction digits) us; `keep` of the digits lie left of the nanosecond point.
  const int64_t integer_digits = integer_end - digits;
  const int64_t fraction_digits = fraction_end - fraction;
  const int64_t keep = integer_digits + exponent + 3;
  const auto digit = [&](int64_t i) -> int {
    if (i < integer_digits) return digits[i] - '0';
    i -= integer_digits;
    return i < fraction_digits ? fraction[i] - '0' : 0;
  };
  const int64_t total = integer_digits + fraction_digits;
  unsigned __int128 value = 0;
  constexpr unsigned __int128 kLimit = static_cast<unsigned __int128>(std::numeric_limits<int64_t>::max()) + 1;
  if (exponent == 0 && integer_digits <= 16 && fraction_digits <= 3) {
    // Nearly all times of real traces.
    uint64_t ns = 0;
    for (const char* d = digits; d < integer_end; ++d) ns = ns * 10 + static_cast<unsigned>(*d - '0');
    for (int64_t i = 0; i < 3; ++i) ns = ns * 10 + static_cast<unsigned>(i < fraction_digits ? fraction[i] - '0' : 0);
    if (ns <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      result.ns = static_cast<int64_t>(negative ? 0 - ns : ns);
      return result;
    }
  }
  for (int64_t i = 0; i < keep; ++i) {
    if (i >= total && value == 0) break;
    value = value * 10 + static_cast<unsigned>(digit(i));
    if (value > kLimit) return fail(NanosError::kOutOfRange);
  }
  bool round_up = false;
  for (int64_t i = keep < 0 ? 0 : keep; i < total; ++i) {
    const int d = digit(i);
    if (d != 0) result.rounded = true;
    if (i == keep && d >= 5) round_up = true;
  }
  if (round_up) ++value;
  if (value > kLimit || (value == kLimit && !negative)) return fail(NanosError::kOutOfRange);
  const uint64_t magnitude = static_cast<uint64_t>(value);
  result.ns = static_cast<int64_t>(negative ? 0 - magnitude : magnitude);
  return result;
}

int FormatMicros(int64_t ns, char* out) {
  char* p = out;
  const uint64_t magnitude = ns < 0 ? 0 - static_cast<uint64_t>(ns) : static_cast<uint64_t>(ns);
  if (ns < 0) *p++ = '-';
  p = std::to_chars(p, out + kMaxMicrosLength, magnitude / 1000).ptr;
  const unsigned rest = static_cast<unsigned>(magnitude % 1000);
  if (rest != 0) {
    *p++ = '.';
    *p++ = static_cast<char>('0' + rest / 100);
    *p++ = static_cast<char>('0' + rest / 10 % 10);
    *p++ = static_cast<char>('0' + rest % 10);
  }
  return static_cast<int>(p - out);
}

void AppendMicros(int64_t ns, std::string* out) {
  char buffer[kMaxMicrosLength];
  out->append(buffer, FormatMicros(ns, buffer));
}

}  // namespace tracekiln
