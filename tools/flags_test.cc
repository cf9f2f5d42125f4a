#include "tools/flags.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace tracekiln::tools {
namespace {

constexpr Flag kFlags[] = {
    {"to", 0, "FORMAT", "format to write"}, {"output", 'o', "PATH", "where to"}, {"option", 0, "KEY=VALUE", "option"},
    {"jobs", 'j', "N", "threads"},          {"strict", 0, "", "refuse"},
};

std::string Describe(const std::vector<std::string>& args) {
  absl::StatusOr<ParsedFlags> flags = ParseFlags(kFlags, args);
  if (!flags.ok()) return "error: " + std::string(flags.status().message());
  std::string out;
  for (const Flag& flag : kFlags) {
    for (const std::string& value : flags->GetAll(flag.name)) out += std::string(flag.name) + "(" + value + ") ";
  }
  for (const std::string& p : flags->positional()) out += "[" + p + "] ";
  return out;
}

TEST(ParseFlags, Table) {
  struct Case {
    const char* name;
    std::vector<std::string> args;
    std::string want;
  };
  const Case kCases[] = {
      {"empty", {}, ""},
      {"separate value", {"--to", "kiln", "a"}, "to(kiln) [a] "},
      {"joined value", {"a", "--to=kiln"}, "to(kiln) [a] "},
      {"empty value", {"--to="}, "to() "},
      {"value with equals", {"--option=a=b=c", "--option", "d=e"}, "option(a=b=c) option(d=e) "},
      {"value that looks like a flag", {"--to", "--strict"}, "to(--strict) "},
      {"short", {"-o", "x", "-oy", "-o", "-"}, "output(x) output(y) output(-) "},
      {"dash alone", {"-", "--strict"}, "strict() [-] "},
      {"double dash", {"--strict", "--", "--to", "-o"}, "strict() [--to] [-o] "},
      {"empty argument", {""}, "[] "},
      {"unknown", {"--frobnicate"}, "error: unknown flag --frobnicate"},
      {"misspelt", {"--outptu", "x"}, "error: unknown flag --outptu; did you mean --output?"},
      {"unknown short", {"-x"}, "error: unknown flag -x"},
      {"missing value", {"--to"}, "error: --to needs a value: --to FORMAT"},
      {"missing short value", {"a", "-o"}, "error: --output needs a value: --output PATH"},
      {"superfluous value", {"--strict=yes"}, "error: --strict takes no value"},
      {"no abbreviation", {"--str"}, "error: unknown flag --str"},
  };
  for (const Case& c : kCases) EXPECT_EQ(Describe(c.args), c.want) << c.name;
}

TEST(ParsedFlags, OrderAmongFlagsIsKept) {
  absl::StatusOr<ParsedFlags> flags =
      ParseFlags(kFlags, std::vector<std::string>{"--to=a", "--option=b", "-j2", "--to=c", "--option", "d"});
  ASSERT_TRUE(flags.ok());
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(flags->GetInOrder({"option", "to"}), (Pairs{{"to", "a"}, {"option", "b"}, {"to", "c"}, {"option", "d"}}));
  EXPECT_EQ(flags->GetInOrder({"output"}), Pairs());
}

TEST(ParsedFlags, LastValueWins) {
  absl::StatusOr<ParsedFlags> flags = ParseFlags(kFlags, std::vector<std::string>{"--to", "a", "--to", "b"});
  ASSERT_TRUE(flags.ok());
  EXPECT_EQ(flags->Get("to"), "b");
  EXPECT_FALSE(flags->Get("output").has_value());
}

TEST(ParsedFlags, IntegersAreChecked) {
  for (const char* bad : {"", "x", "0", "17", "1.5", "99999999999999999999"}) {
    absl::StatusOr<ParsedFlags> flags = ParseFlags(kFlags, std::vector<std::string>{"--jobs", bad});
    ASSERT_TRUE(flags.ok());
    EXPECT_FALSE(flags->GetInt("jobs", 1, 1, 16).ok()) << bad;
  }
  absl::StatusOr<ParsedFlags> flags = ParseFlags(kFlags, std::vector<std::string>{"-j16"});
  ASSERT_TRUE(flags.ok());
  EXPECT_EQ(*flags->GetInt("jobs", 1, 1, 16), 16);
  EXPECT_EQ(*flags->GetInt("output", 7, 1, 16), 7);
}

TEST(FlagHelp, AlignsColumns) {
  EXPECT_EQ(FlagHelp(absl::Span<const Flag>(kFlags).subspan(0, 2)),
            "      --to FORMAT    format to write\n"
            "  -o, --output PATH  where to\n");
}

}  // namespace
}  // namespace tracekiln::tools
