#include "analysis/profile_table/function_text.h"

#include <string>

#include "gtest/gtest.h"

namespace tracekiln::profile_table {
namespace {

TEST(FunctionTextTest, StandardNamesAreThoseOfPstats) {
  struct Case {
    const char* file;
    int64_t line;
    const char* name;
    const char* want;
  };
  const Case kCases[] = {
      {"a.py", 3, "f", "a.py:3(f)"},
      {"~", 0, "<built-in method builtins.len>", "{built-in method builtins.len}"},
      {"~", 0, "<>", "{}"},
      {"~", 0, "<", "<"},
      {"~", 0, ">", ">"},
      {"~", 0, "", ""},
      {"~", 0, "<open", "<open"},
      {"~", 0, "sum", "sum"},
      {"~", 1, "<f>", "~:1(<f>)"},
      {"x", 0, "<f>", "x:0(<f>)"},
      {"", -7, "", ":-7()"},
      {"a", INT64_MIN, "f", "a:-9223372036854775808(f)"},
  };
  for (const Case& c : kCases) {
    std::string text = "+";
    AppendStandardName(c.file, c.line, c.name, &text);
    EXPECT_EQ(text, std::string("+") + c.want);
  }
}

TEST(FunctionTextTest, PrintableTextIsHarmlessAndOrdinaryTextUntouched) {
  struct Case {
    std::string text;
    const char* want;
    size_t characters;
  };
  const Case kCases[] = {
      {"", "", 0},
      {"a.py:3(f)", "a.py:3(f)", 9},
      {"\\ \"'<>&;", "\\ \"'<>&;", 8},
      {"größe 名 😀 \xc2\xa0", "größe 名 😀 \xc2\xa0", 11},
      {std::string("a\0\n\x1b[31m\x7f", 9), "a\\x00\\x0a\\x1b[31m\\x7f", 21},
      {"\xc2\x9b", "\\x9b", 4},
      {"x\xed\xb2\x80y", "x\\udc80y", 8},
      {"\xed\xa0\x80\xed\xaf\xbf\xed\xbf\xbf", "\\ud800\\udbff\\udfff", 18},
      {"\xed\x9f\xbf", "\xed\x9f\xbf", 1},
      {"\xff\x80", "\\xff\\x80", 8},
      {"\xc3", "\\xc3", 4},
      {"\xe2\x82", "\\xe2\\x82", 8},
      {"\xed\xb2", "\\xed\\xb2", 8},
      {"\xc0\x80", "\\xc0\\x80", 8},
      {"\xe0\x80\x80", "\\xe0\\x80\\x80", 12},
      {"\xf0\x8f\xbf\xbf", "\\xf0\\x8f\\xbf\\xbf", 16},
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80", 16},
      {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf", 1},
  };
  for (const Case& c : kCases) {
    std::string out = "+";
    EXPECT_EQ(AppendPrintable(c.text, &out), c.characters) << c.want;
    EXPECT_EQ(out, std::string("+") + c.want);
  }
  std::string out;
  EXPECT_EQ(AppendPrintable("a;b", &out, ";"), 6u);
  EXPECT_EQ(out, "a\\x3bb");
}

TEST(FunctionTextTest, OnlySurrogatesAreReplacedForOtherWriters) {
  std::string out = "+";
  AppendWithoutSurrogates("a\n\xed\xb2\x80\xed\xb2\xff \xed\x9f\xbf\xed\xa0\x80", &out);
  EXPECT_EQ(out, "+a\n\\udc80\xed\xb2\xff \xed\x9f\xbf\\ud800");
}

}  // namespace
}  // namespace tracekiln::profile_table
