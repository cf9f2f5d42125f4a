// Most doubles of traces have at most 15 significant digits: digits / 10^k is then exact to the last bit (both operands
// are exact doubles, one rounding), and the shortest text of the result is the number that was read. Longer ones go
// through from_chars, and their shortest text is compared with what was read: if it is another number, the text itself
// is kept.
#include "formats/json/number.h"

#include <charconv>
#include <cmath>
#include <string>

namespace tracekiln::json {
namespace {

constexpr double kPowersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Significant digits without leading and trailing zeros, and the power of ten of the last of them.
struct Decimal {
  std::string digits;
  int64_t exponent = 0;
};

Decimal Normalize(const char* p, const char* end) {
  Decimal result;
  if (p < end && *p == '-') ++p;
  bool seen_point = false;
  for (; p < end && (IsDigit(*p) || *p == '.'); ++p) {
    if (*p == '.') {
      seen_point = true;
      continue;
    }
    result.digits.push_back(*p);
    if (seen_point) --result.exponent;
  }
  if (p < end) {
    int64_t e = 0;
    const bool negative = p[1] == '-';
    for (p += (p[1] == '-' || p[1] == '+') ? 2 : 1; p < end; ++p) {
      if (e < 1'000'000'000) e = e * 10 + (*p - '0');
    }
    result.exponent += negative ? -e : e;
  }
  const size_t first = result.digits.find_first_not_of('0');
  if (first == std::string::npos) return Decimal{};
  result.digits.erase(0, first);
  while (result.digits.back() == '0') {
    result.digits.pop_back();
    ++result.exponent;
  }
  return result;
}

bool ShortestTextIsTheSameNumber(double d, const char* p, const char* end) {
  char shortest[40];
  const auto printed = std::to_chars(shortest, shortest + sizeof(shortest), d);
  const Decimal a = Normalize(p, end);
  const Decimal b = Normalize(shortest, printed.ptr);
  return a.digits == b.digits && a.exponent == b.exponent;
}

}  // namespace

Number ParseNumber(const char* const begin, const char* const end) {
  Number n;
  const char* p = begin;
  const bool negative = p < end && *p == '-';
  if (negative) ++p;
  const char* const digits = p;
  uint64_t mantissa = 0;
  p = ParseDigits(p, &mantissa);
  if (p > end) {  // digits of the padding
    mantissa = 0;
    for (p = digits; p < end; ++p) mantissa = mantissa * 10 + static_cast<unsigned>(*p - '0');
  }
  bool is_long = p < end && IsDigit(*p);
  while (p < end && IsDigit(*p)) ++p;
  const int64_t integer_digits = p - digits;
  n.end = p;
  if (integer_digits == 0 || (integer_digits > 1 && *digits == '0')) {
    if (integer_digits > 0) n.end = digits + 1;
    return n;
  }
  if (p >= end || (*p != '.' && (*p | 0x20) != 'e')) {
    if (!is_long && !(negative && mantissa == 0)) {
      n.type = NumberType::kInt;
      n.i = negative ? -static_cast<int64_t>(mantissa) : static_cast<int64_t>(mantissa);
      return n;
    }
    const auto parsed = std::from_chars(begin, p, n.i);
    const bool fits = parsed.ec == std::errc() && !(negative && n.i == 0);
    n.type = fits ? NumberType::kInt : NumberType::kText;
    return n;
  }
  int64_t fraction_digits = 0;
  if (*p == '.') {
    const char* const fraction = ++p;
    if (!is_long && integer_digits <= 15) {
      while (p < end && IsDigit(*p) && integer_digits + (p - fraction) < 15) {
        mantissa = mantissa * 10 + static_cast<unsigned>(*p - '0');
        ++p;
      }
    }
    is_long |= p < end && IsDigit(*p);
    while (p < end && IsDigit(*p)) ++p;
    fraction_digits = p - fraction;
    n.end = p;
    if (fraction_digits == 0) return n;
  }
  is_long |= integer_digits > 15;
  if (p < end && (*p | 0x20) == 'e') {
    const char* e = p + 1;
    if (e < end && (*e == '-' || *e == '+')) ++e;
    const char* const first = e;
    while (e < end && IsDigit(*e)) ++e;
    n.end = e;
    if (e == first) return n;
    p = e;
    is_long = true;
  }
  n.end = p;
  n.type = NumberType::kDouble;
  if (!is_long) {
    const double value = static_cast<double>(mantissa) / kPowersOfTen[fraction_digits];
    n.d = negative ? -value : value;
    return n;
  }
  const auto parsed = std::from_chars(begin, p, n.d);
  if (parsed.ec != std::errc() || !std::isfinite(n.d) || !ShortestTextIsTheSameNumber(n.d, begin, p)) {
    n.type = NumberType::kText;
  }
  return n;
}

const char* FindNumberEnd(const char* p, const char* end) {
  if (p < end && *p == '-') ++p;
  const char* const digits = p;
  while (p < end && IsDigit(*p)) ++p;
  if (p == digits || (*digits == '0' && p - digits > 1)) return nullptr;
  if (p < end && *p == '.') {
    const char* const fraction = ++p;
    while (p < end && IsDigit(*p)) ++p;
    if (p == fraction) return nullptr;
  }
  if (p < end && (*p | 0x20) == 'e') {
    ++p;
    if (p < end && (*p == '-' || *p == '+')) ++p;
    const char* const exponent = p;
    while (p < end && IsDigit(*p)) ++p;
    if (p == exponent) return nullptr;
  }
  return p;
}

}  // namespace tracekiln::json
