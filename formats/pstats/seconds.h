// Times of `.prof` files: seconds as double, against ns as int64.
#ifndef TRACEKILN_FORMATS_PSTATS_SECONDS_H_
#define TRACEKILN_FORMATS_PSTATS_SECONDS_H_

#include <cmath>
#include <cstdint>

namespace tracekiln::pstats {

// The double nearest to ns / 10^9 (of two equally near ones the even), for every int64.
inline double SecondsFromNanos(int64_t ns) {
  constexpr int64_t kExact = int64_t{1} << 53;
  if (ns >= -kExact && ns <= kExact) return static_cast<double>(ns) / 1e9;
  // Converting to double would round before dividing does. A quotient of 62 or 63 bits, the last of which says whether
  // something remained, rounds as the true one would.
  const uint64_t magnitude = ns < 0 ? -static_cast<uint64_t>(ns) : static_cast<uint64_t>(ns);
  const int shift = 29 + __builtin_clzll(magnitude);
  const unsigned __int128 dividend = static_cast<unsigned __int128>(magnitude) << shift;
  const uint64_t quotient = static_cast<uint64_t>(dividend / 1'000'000'000u);
  const uint64_t remains = dividend % 1'000'000'000u != 0;
  const double seconds = std::ldexp(static_cast<double>(quotient | remains), -shift);
  return ns < 0 ? -seconds : seconds;
}

// The integer nearest to seconds * 10^9, which is ns again if `seconds` is SecondsFromNanos(ns) and |ns| <= 2^51.
// Saturates. REQUIRES: seconds is finite.
inline int64_t NanosFromSeconds(double seconds) {
  const double product = seconds * 1e9;
  if (product >= 9223372036854775808.0) return INT64_MAX;
  if (product <= -9223372036854775808.0) return INT64_MIN;
  const int64_t whole = static_cast<int64_t>(product);
  // What the product lost to rounding comes back: at 10^15 ns it could be a quarter.
  const double rest = (product - static_cast<double>(whole)) + std::fma(seconds, 1e9, -product);
  const int64_t nearest = static_cast<int64_t>(std::floor(rest + 0.5));
  int64_t sum;
  if (__builtin_add_overflow(whole, nearest, &sum)) return whole < 0 ? INT64_MIN : INT64_MAX;
  return sum;
}

}  // namespace tracekiln::pstats

#endif  // TRACEKILN_FORMATS_PSTATS_SECONDS_H_
