#include "formats/intermediate/nanos.h"

#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace tracekiln {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

struct Case {
  const char* text;
  int64_t ns;
  NanosError error = NanosError::kNone;
  bool rounded = false;
};

TEST(NanosTest, ParsesDecimalMicroseconds) {
  const Case kCases[] = {
      {"0", 0},
      {"-0", 0},
      {"-0.0", 0},
      {"12", 12000},
      {"+12", 12000},
      {"12.345", 12345},
      {"-0.5", -500},
      {"0.001", 1},
      {"1.5e3", 1500000},
      {"1.5E+3", 1500000},
      {"15e-1", 1500},
      {"1e0", 1000},
      {"1712345678901234.567", 1712345678901234567},  // epoch: a double would give …234.5
      {"1712345678901234.568", 1712345678901234568},
      {"9223372036854775.807", kMax},
      {"-9223372036854775.808", kMin},
      {"0.0004", 0, NanosError::kNone, true},
      {"0.0005", 1, NanosError::kNone, true},
      {"-0.0005", -1, NanosError::kNone, true},
      {"0.00049999999999999999999999999", 0, NanosError::kNone, true},
      {"1.2340000000000000000000000000", 1234},
      {"1.23400000000000000000000000001", 1234, NanosError::kNone, true},
      {"0.1234567e4", 1234567},
      {"123456789e-9", 123, NanosError::kNone, true},
      {"0e999999", 0},
      {"1e-999999", 0, NanosError::kNone, true},
      {"00012", 12000},
      {"9223372036854775.808", 0, NanosError::kOutOfRange},
      {"-9223372036854775.809", 0, NanosError::kOutOfRange},
      {"9223372036854775.8075", 0, NanosError::kOutOfRange},
      {"1e16", 0, NanosError::kOutOfRange},
      {"1e999999", 0, NanosError::kOutOfRange},
      {"99999999999999999999999999", 0, NanosError::kOutOfRange},
      {"", 0, NanosError::kNotANumber},
      {"-", 0, NanosError::kNotANumber},
      {".5", 0, NanosError::kNotANumber},
      {"5.", 0, NanosError::kNotANumber},
      {"1e", 0, NanosError::kNotANumber},
      {"1e+", 0, NanosError::kNotANumber},
      {"1.2.3", 0, NanosError::kNotANumber},
      {" 1", 0, NanosError::kNotANumber},
      {"1 ", 0, NanosError::kNotANumber},
      {"0x10", 0, NanosError::kNotANumber},
      {"nan", 0, NanosError::kNotANumber},
      {"inf", 0, NanosError::kNotANumber},
      {"--1", 0, NanosError::kNotANumber},
  };
  for (const Case& c : kCases) {
    const ParsedNanos parsed = ParseMicros(c.text);
    EXPECT_EQ(parsed.error, c.error) << c.text;
    EXPECT_EQ(parsed.ns, c.ns) << c.text;
    if (c.error == NanosError::kNone) {
      EXPECT_EQ(parsed.rounded, c.rounded) << c.text;
    }
  }
}

// The plain way: scale the digits in 128 bits, one at a time.
ParsedNanos ParsePlainly(bool negative, uint64_t whole, const std::string& fraction) {
  ParsedNanos result;
  __int128 ns = static_cast<__int128>(whole) * 1000;
  __int128 unit = 100;
  bool round_up = false;
  for (size_t i = 0; i < fraction.size(); ++i) {
    const int digit = fraction[i] - '0';
    if (i < 3) {
      ns += digit * unit;
      unit /= 10;
    } else {
      result.rounded |= digit != 0;
      round_up |= i == 3 && digit >= 5;
    }
  }
  ns += round_up ? 1 : 0;
  if (negative) ns = -ns;
  if (ns > kMax || ns < kMin) {
    result = {};
    result.error = NanosError::kOutOfRange;
    return result;
  }
  result.ns = static_cast<int64_t>(ns);
  return result;
}

TEST(NanosTest, AgreesWithTheOracle) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200000; ++i) {
    // Magnitudes of relative times, of the epoch, and around the limit.
    const int scale = static_cast<int>(random() % 3);
    const uint64_t whole = scale == 0   ? random() % 10'000'000
                           : scale == 1 ? 1'700'000'000'000'000 + random() % 100'000'000'000'000
                                        : 9'223'372'036'854'770 + random() % 12;
    std::string fraction;
    for (uint64_t n = random() % 8; n > 0; --n) fraction.push_back(static_cast<char>('0' + random() % 10));
    const bool negative = random() % 2 == 0;
    const std::string text = absl::StrCat(negative ? "-" : "", whole, fraction.empty() ? "" : ".", fraction);
    const ParsedNanos got = ParseMicros(text), want = ParsePlainly(negative, whole, fraction);
    ASSERT_EQ(got.error, want.error) << text;
    ASSERT_EQ(got.ns, want.ns) << text;
    if (want.error == NanosError::kNone) {
      ASSERT_EQ(got.rounded, want.rounded) << text;
    }
  }
}

TEST(NanosTest, FormatsWholeMicrosecondsAsIntegersElseThreeDecimals) {
  const struct {
    int64_t ns;
    const char* text;
  } kCases[] = {{0, "0"},
                {12000, "12"},
                {12340, "12.340"},
                {1, "0.001"},
                {-1, "-0.001"},
                {-1000, "-1"},
                {-12345, "-12.345"},
                {999, "0.999"},
                {kMax, "9223372036854775.807"},
                {kMin, "-9223372036854775.808"}};
  for (const auto& c : kCases) {
    std::string text;
    AppendMicros(c.ns, &text);
    EXPECT_EQ(text, c.text);
    EXPECT_LE(text.size(), static_cast<size_t>(kMaxMicrosLength));
  }
}

TEST(NanosTest, ParsesWhatItFormats) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 100000; ++i) {
    const int64_t ns = static_cast<int64_t>(random()) >> random() % 64;
    std::string text;
    AppendMicros(ns, &text);
    const ParsedNanos parsed = ParseMicros(text);
    ASSERT_EQ(parsed.ns, ns) << text;
    ASSERT_EQ(parsed.error, NanosError::kNone);
    ASSERT_FALSE(parsed.rounded);
  }
}

}  // namespace
}  // namespace tracekiln
