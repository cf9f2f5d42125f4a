#include "formats/format/window_option.h"

#include "gtest/gtest.h"

namespace tracekiln {
namespace {

TEST(WindowOptionTest, EitherBoundMayBeMissing) {
  EXPECT_EQ(ParseWindowOption("1.5..20")->begin_ns, 1500);
  EXPECT_EQ(ParseWindowOption("1.5..20")->end_ns, 20000);
  EXPECT_EQ(ParseWindowOption("..20")->begin_ns, std::nullopt);
  EXPECT_EQ(ParseWindowOption("-3..")->begin_ns, -3000);
  EXPECT_EQ(ParseWindowOption("-3..")->end_ns, std::nullopt);
  EXPECT_EQ(ParseWindowOption("7..7")->end_ns, 7000);
}

TEST(WindowOptionTest, AnythingElseIsRefused) {
  for (const char* text : {"", "5", "5-6", "a..b", "5..b", "6..5", "1e99..", "..nan"}) {
    EXPECT_FALSE(ParseWindowOption(text).ok()) << text;
  }
}

}  // namespace
}  // namespace tracekiln
