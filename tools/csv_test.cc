#include "tools/csv.h"

#include <string>

#include "gtest/gtest.h"

namespace tracekiln::tools {
namespace {

TEST(CsvTest, QuotesWhatMustBeQuoted) {
  struct Case {
    const char* text;
    const char* want;
  };
  const Case kCases[] = {
      {"", ""},           {"a", "a"},           {"a b", "a b"},       {"a,b", "\"a,b\""},
      {"\"", "\"\"\"\""}, {"a\nb", "\"a\nb\""}, {"a\rb", "\"a\rb\""}, {"=1+1", "\"=1+1\""},
      {"+x", "\"+x\""},   {"-x", "\"-x\""},     {"@x", "\"@x\""},     {" x", "\" x\""},
      {"x ", "\"x \""},   {"x=y", "x=y"},       {"{a'b}", "{a'b}"},   {"größe", "größe"},
  };
  CsvLine line;
  for (const Case& c : kCases) {
    line.Text(c.text);
    EXPECT_EQ(std::string(line.Finish()), std::string(c.want) + "\n");
  }
}

TEST(CsvTest, LinesFollowEachOther) {
  CsvLine line;
  line.Text("a").Int(-3).Empty().Double(0.1);
  EXPECT_EQ(std::string(line.Finish()), "a,-3,,0.1\n");
  line.Empty().Empty();
  EXPECT_EQ(std::string(line.Finish()), ",\n");
  EXPECT_EQ(std::string(line.Finish()), "\n");
  line.Int(INT64_MIN).Double(1e300).Double(-2);
  EXPECT_EQ(std::string(line.Finish()), "-9223372036854775808,1e+300,-2\n");
}

}  // namespace
}  // namespace tracekiln::tools
