#include "tools/text_table.h"

#include <string>

#include "gtest/gtest.h"

namespace tracekiln::tools {
namespace {

TEST(TextTable, AlignsNumbersRightAndTextLeft) {
  EXPECT_EQ(TextTable({{"name", "count", "time"}, {"ä", "7", "1.500 us"}, {"kernel", "1200", "-"}}, "  "),
            "  name    count      time\n"
            "  ä           7  1.500 us\n"
            "  kernel   1200         -\n");
  EXPECT_EQ(TextTable({}, ""), "");
}

TEST(MarkdownTable, EscapesBars) {
  EXPECT_EQ(MarkdownTable({{"a", "b"}, {"x|y", "2"}}), "| a | b |\n|---|---|\n| x\\|y | 2 |\n");
}

TEST(Printable, MakesControlCharactersVisible) {
  struct Case {
    std::string text;
    std::string want;
  };
  const Case kCases[] = {
      {"aten::add", "aten::add"},
      {"", ""},
      {"a\nb\t", "a\\x0ab\\x09"},
      {"\x1b[31mred", "\\x1b[31mred"},
      {"über", "über"},
      {std::string("a\0b", 3), "a\\x00b"},
      {"\xc2\x9b"
       "31m",
       "\\x9b31m"},
      {"\x7f", "\\x7f"},
  };
  for (const Case& c : kCases) EXPECT_EQ(Printable(c.text), c.want);
}

TEST(Printable, CutsBetweenCharacters) {
  EXPECT_EQ(Printable("abcdef", 3), "abc…");
  EXPECT_EQ(Printable("abc", 3), "abc");
  EXPECT_EQ(Printable("aäöü", 2), "aä…");  // ä takes bytes 1 and 2
}

TEST(PrintableLines, KeepsLineBreaksOnly) {
  EXPECT_EQ(PrintableLines("a\n\x1b[2Jb\n"), "a\n\\x1b[2Jb\n");
  EXPECT_EQ(PrintableLines(""), "");
}

TEST(MicrosText, IsExact) {
  EXPECT_EQ(MicrosText(1234567), "1234.567 us");
  EXPECT_EQ(MicrosText(-1500), "-1.500 us");
  EXPECT_EQ(MicrosText(3000), "3 us");
}

}  // namespace
}  // namespace tracekiln::tools
