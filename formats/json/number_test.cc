#include "formats/json/number.h"

#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>

#include "formats/json/scan.h"

namespace tracekiln::json {
namespace {

Number Parse(const std::string& text, const std::string& rest = "") {
  const std::string padded = text + rest + std::string(kPadding, '\0');
  Number n = ParseNumber(padded.data(), padded.data() + text.size());
  n.end = reinterpret_cast<const char*>(n.end - padded.data());  // as a count
  return n;
}
size_t Length(const Number& n) { return reinterpret_cast<size_t>(n.end); }

struct Case {
  const char* text;
  NumberType type;
  int64_t i;
  double d;
  size_t length;
};

TEST(ParseNumber, Table) {
  constexpr NumberType kInvalid = NumberType::kInvalid, kInt = NumberType::kInt, kDouble = NumberType::kDouble,
                       kText = NumberType::kText;
  const Case cases[] = {
      {"0", kInt, 0, 0, 1},
      {"-0", kText, 0, 0, 2},
      {"7", kInt, 7, 0, 1},
      {"-7", kInt, -7, 0, 2},
      {"123456789012345678", kInt, 123456789012345678, 0, 18},
      {"1234567890123456789", kInt, 1234567890123456789, 0, 19},
      {"9223372036854775807", kInt, INT64_MAX, 0, 19},
      {"9223372036854775808", kText, 0, 0, 19},
      {"-9223372036854775808", kInt, INT64_MIN, 0, 20},
      {"-9223372036854775809", kText, 0, 0, 20},
      {"18446744073709551615", kText, 0, 0, 20},
      {"18446744073709551616", kText, 0, 0, 20},
      {"100000000000000000000000000000000000000000", kText, 0, 0, 42},
      {"1.0", kDouble, 0, 1, 3},
      {"-1.5", kDouble, 0, -1.5, 4},
      {"-0.0", kDouble, 0, -0.0, 4},
      {"0.1", kDouble, 0, 0.1, 3},
      {"123456789012.345", kDouble, 0, 123456789012.345, 16},
      {"1712195495519689.047", kText, 0, 0, 20},
      {"1e5", kDouble, 0, 1e5, 3},
      {"1E+5", kDouble, 0, 1e5, 4},
      {"1e-7", kDouble, 0, 1e-7, 4},
      {"1.7976931348623157e308", kDouble, 0, 1.7976931348623157e308, 22},
      {"5e-324", kDouble, 0, 5e-324, 6},
      {"1e400", kText, 0, 0, 5},
      {"1e-400", kText, 0, 0, 6},
      {"1e99999999999999999999", kText, 0, 0, 22},
      {"0.1000000000000000055511151231257827", kText, 0, 0, 36},
      {"00", kInvalid, 0, 0, 1},
      {"01", kInvalid, 0, 0, 1},
      {"-01", kInvalid, 0, 0, 2},
      {"1.", kInvalid, 0, 0, 2},
      {".5", kInvalid, 0, 0, 0},
      {"1e", kInvalid, 0, 0, 2},
      {"1e+", kInvalid, 0, 0, 3},
      {"1.e5", kInvalid, 0, 0, 2},
      {"-", kInvalid, 0, 0, 1},
      {"+1", kInvalid, 0, 0, 0},
      {"", kInvalid, 0, 0, 0},
      {"x", kInvalid, 0, 0, 0},
      {"12abc", kInt, 12, 0, 2},
      {"1.5.5", kDouble, 0, 1.5, 3},
      {"0x10", kInt, 0, 0, 1},
  };
  for (const Case& c : cases) {
    for (const char* rest : {"", "9", "9999999999999999999999", ".5", "e5", ","}) {
      const Number n = Parse(c.text, rest);
      EXPECT_EQ(n.type, c.type) << c.text << " before " << rest;
      EXPECT_EQ(Length(n), c.length) << c.text << " before " << rest;
      if (c.type == NumberType::kInt) {
        EXPECT_EQ(n.i, c.i) << c.text;
      }
      if (c.type == NumberType::kDouble) {
        EXPECT_EQ(n.d, c.d) << c.text;
        EXPECT_EQ(std::signbit(n.d), std::signbit(c.d)) << c.text;
      }
    }
  }
}

std::string Digits(std::mt19937& random, size_t max) {
  std::string digits;
  for (size_t n = 1 + random() % max; n > 0; --n) digits += static_cast<char>('0' + random() % 10);
  return digits;
}

TEST(ParseNumber, EqualsWideArithmeticOnIntegers) {
  std::mt19937 random(1);
  for (int round = 0; round < 200000; ++round) {
    std::string digits = Digits(random, 22);
    digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
    const bool negative = random() % 2;
    __int128 value = 0;
    for (const char c : digits) value = value * 10 + (c - '0');
    if (negative) value = -value;
    const std::string text = (negative ? "-" : "") + digits;
    const Number n = Parse(text);
    const bool fits = value >= INT64_MIN && value <= INT64_MAX && text != "-0";
    ASSERT_EQ(n.type, fits ? NumberType::kInt : NumberType::kText) << text;
    if (fits) {
      ASSERT_EQ(n.i, static_cast<int64_t>(value)) << text;
    }
    ASSERT_EQ(Length(n), text.size());
  }
}

// Digits and exponent without zeros at either end: equal for equal decimal numbers.
std::string Normal(const std::string& text) {
  const size_t e = text.find_first_of("eE");
  long exponent = e == std::string::npos ? 0 : std::strtol(text.c_str() + e + 1, nullptr, 10);
  std::string digits;
  bool seen_point = false;
  for (const char c : text.substr(0, e)) {
    if (c == '.') seen_point = true;
    if (c < '0' || c > '9') continue;
    digits += c;
    exponent -= seen_point;
  }
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  while (!digits.empty() && digits.back() == '0') {
    digits.pop_back();
    ++exponent;
  }
  return digits.empty() ? "0" : digits + "e" + std::to_string(exponent);
}

TEST(ParseNumber, EqualsStrtodAndKeepsTheDecimalNumber) {
  std::mt19937 random(2);
  int doubles = 0;
  for (int round = 0; round < 200000; ++round) {
    std::string digits = Digits(random, 12);
    digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
    std::string text = (random() % 3 == 0 ? "-" : "") + digits + "." + Digits(random, 10);
    if (random() % 4 == 0) text += (random() % 2 ? "e" : "E") + std::to_string(static_cast<int>(random() % 700) - 350);
    const Number n = Parse(text);
    const double want = std::strtod(text.c_str(), nullptr);
    char shortest[40];
    const std::string same(shortest, std::to_chars(shortest, shortest + sizeof(shortest), want).ptr);
    const bool is_exact = std::isfinite(want) && Normal(same) == Normal(text);
    ASSERT_EQ(n.type, is_exact ? NumberType::kDouble : NumberType::kText) << text;
    if (is_exact) {
      ASSERT_EQ(n.d, want) << text;
      ++doubles;
    }
    ASSERT_EQ(Length(n), text.size()) << text;
  }
  EXPECT_GT(doubles, 50000);
}

TEST(ParseDigits, StopsAfterEighteen) {
  const std::string text = "1234567890123456789012" + std::string(kPadding, '\0');
  uint64_t value = 0;
  EXPECT_EQ(ParseDigits(text.data(), &value), text.data() + 18);
  EXPECT_EQ(value, 123456789012345678u);
}

}  // namespace
}  // namespace tracekiln::json
