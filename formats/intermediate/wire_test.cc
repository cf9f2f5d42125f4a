#include "formats/intermediate/wire.h"

#include <cstdint>
#include <limits>
#include <string>

#include "gtest/gtest.h"

namespace tracekiln::kiln {
namespace {

TEST(WireTest, ReadsWhatWasWritten) {
  std::string bytes;
  WireWriter w(&bytes);
  const uint64_t numbers[] = {0, 1, 127, 128, 16383, 16384, uint64_t{1} << 35, std::numeric_limits<uint64_t>::max()};
  for (uint64_t n : numbers) w.Varint(1, n);
  for (uint64_t n : numbers) w.Signed(2, static_cast<int64_t>(n));
  w.Fixed32(3, 0xdeadbeef);
  w.Fixed64(4, 0x0123456789abcdef);
  w.Bytes(500000, "text");
  WireReader r(bytes);
  for (uint64_t n : numbers) {
    ASSERT_TRUE(r.NextField());
    EXPECT_EQ(r.field(), 1u);
    EXPECT_EQ(r.Varint(), n);
  }
  for (uint64_t n : numbers) {
    ASSERT_TRUE(r.NextField());
    EXPECT_EQ(r.Signed(), static_cast<int64_t>(n));
  }
  ASSERT_TRUE(r.NextField());
  EXPECT_EQ(r.Fixed32(), 0xdeadbeefu);
  ASSERT_TRUE(r.NextField());
  EXPECT_EQ(r.Fixed64(), 0x0123456789abcdefu);
  ASSERT_TRUE(r.NextField());
  EXPECT_EQ(r.field(), 500000u);
  EXPECT_EQ(r.Bytes(), "text");
  EXPECT_FALSE(r.NextField());
  EXPECT_TRUE(r.ok());
}

TEST(WireTest, SkipsEveryType) {
  std::string bytes;
  WireWriter w(&bytes);
  w.Varint(1, 300);
  w.Fixed32(2, 1);
  w.Fixed64(3, 1);
  w.Bytes(4, "xyz");
  WireReader r(bytes);
  int fields = 0;
  while (r.NextField()) {
    ++fields;
    r.Skip();
  }
  EXPECT_EQ(fields, 4);
  EXPECT_TRUE(r.ok());
}

struct MalformedCase {
  const char* name;
  std::string bytes;
};

TEST(WireTest, MalformedInputIsAnErrorForGood) {
  const MalformedCase kCases[] = {
      {"varint cut off", std::string("\x08\x80", 2)},
      {"tag cut off", std::string("\x80", 1)},
      {"bytes longer than the input", std::string("\x0a\x05xyz", 5)},
      {"length of 2^64 - 1", std::string("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11)},
      {"fixed32 cut off", std::string("\x0d\x01\x02", 3)},
      {"fixed64 cut off", std::string("\x09\x01\x02\x03", 4)},
      {"field number 0", std::string("\x00\x01", 2)},
      {"group", std::string("\x0b", 1)},
      {"varint of 11 bytes", std::string("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 12)},
      {"varint over 64 bits", std::string("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11)},
  };
  for (const MalformedCase& c : kCases) {
    WireReader r(c.bytes);
    while (r.NextField()) r.Skip();
    EXPECT_FALSE(r.ok()) << c.name;
    EXPECT_FALSE(r.NextField()) << c.name;
  }
}

TEST(WireTest, WrongTypeIsAnError) {
  std::string bytes;
  WireWriter(&bytes).Bytes(1, "abc");
  WireReader r(bytes);
  ASSERT_TRUE(r.NextField());
  EXPECT_EQ(r.Varint(), 0u);
  EXPECT_FALSE(r.ok());
}

TEST(WireTest, ZigZagIsItsInverse) {
  for (int64_t v : {int64_t{0}, int64_t{-1}, int64_t{1}, std::numeric_limits<int64_t>::min(),
                    std::numeric_limits<int64_t>::max()}) {
    EXPECT_EQ(UnZigZag(ZigZag(v)), v);
  }
  EXPECT_EQ(ZigZag(-1), 1u);
  EXPECT_EQ(ZigZag(1), 2u);
}

}  // namespace
}  // namespace tracekiln::kiln
