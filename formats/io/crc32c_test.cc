#include "formats/io/crc32c.h"

#include <array>
#include <cstddef>
#include <random>
#include <string>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace tracekiln::io {
namespace {

// The oracle: one byte at a time from a table of the reflected polynomial.
uint32_t PlainCrc32c(uint32_t crc, absl::string_view bytes) {
  static const std::array<uint32_t, 256> table = [] {
    std::array<uint32_t, 256> made{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ ((value & 1) != 0 ? 0x82f63b78u : 0);
      made[i] = value;
    }
    return made;
  }();
  crc = ~crc;
  for (const char c : bytes) crc = crc >> 8 ^ table[(crc ^ static_cast<unsigned char>(c)) & 0xff];
  return ~crc;
}

TEST(Crc32cTest, GivesThePublishedValues) {
  EXPECT_EQ(Crc32c(""), 0u);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);    // RFC 3720 B.4
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);  // RFC 3720 B.4
}

TEST(Crc32cTest, EqualsThePlainOneForEverySizeAndAlignment) {
  std::mt19937 random(1);
  std::string bytes(3000, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  for (size_t size = 0; size < 600; ++size) {
    const absl::string_view part = absl::string_view(bytes).substr(size % 17, size);
    ASSERT_EQ(Crc32c(part), PlainCrc32c(0, part)) << size;
  }
  EXPECT_EQ(Crc32c(bytes), PlainCrc32c(0, bytes));
}

TEST(Crc32cTest, ExtendsAtEveryCut) {
  std::mt19937 random(2);
  std::string bytes(300, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  const uint32_t want = Crc32c(bytes);
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    const absl::string_view all(bytes);
    ASSERT_EQ(ExtendCrc32c(Crc32c(all.substr(0, cut)), all.substr(cut)), want) << cut;
  }
}

}  // namespace
}  // namespace tracekiln::io
