#include "analysis/profile_table/profile_table.h"

#include <algorithm>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tracekiln::profile_table {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Names in the order of the selection.
std::vector<std::string> Names(const Profile& profile, const Selection& selection) {
  std::vector<std::string> names;
  for (const FunctionId row : selection.rows) names.emplace_back(profile.name(row));
  return names;
}

Profile SmallProfile() {
  Profile profile;
  profile.AddStats(profile.AddFunction("b.py", 20, "two"), {5, 4, 300, 300});
  profile.AddStats(profile.AddFunction("a.py", 100, "one"), {5, 5, 200, 900});
  profile.AddStats(profile.AddFunction("a.py", 3, "three"), {1, 1, -100, 1000});
  profile.AddStats(profile.AddFunction("~", 0, "<built-in four>"), {7, 2, 300, 300});
  profile.AddCallerStats(profile.AddFunction("c.py", 1, "no row"), FunctionId{0}, {});
  return profile;
}

TEST(ProfileTableTest, SortsByEachKey) {
  struct Case {
    const char* keys;
    std::vector<std::string> want;
    const char* description;
  };
  const std::string four = "<built-in four>";
  const Case kCases[] = {
      {"none", {"two", "one", "three", four}, ""},
      {"calls", {four, "two", "one", "three"}, "call count"},
      {"ncalls", {four, "two", "one", "three"}, "call count"},
      {"pcalls", {"one", "two", four, "three"}, "primitive call count"},
      {"time", {"two", four, "one", "three"}, "internal time"},
      {"tottime", {"two", four, "one", "three"}, "internal time"},
      {"cumtime", {"three", "one", "two", four}, "cumulative time"},
      {"cumulative", {"three", "one", "two", four}, "cumulative time"},
      {"filename", {"one", "three", "two", four}, "file name"},
      {"module", {"one", "three", "two", four}, "file name"},
      {"line", {four, "three", "two", "one"}, "line number"},
      {"name", {four, "one", "three", "two"}, "function name"},
      {"nfl", {four, "one", "three", "two"}, "name/file/line"},
      // a.py:100( is before a.py:3(, as texts are.
      {"stdname", {"one", "three", "two", four}, "standard name"},
      {"time,calls", {four, "two", "one", "three"}, "internal time, call count"},
      {"file,line", {"three", "one", "two", four}, "file name, line number"},
      {"c,nf", {}, nullptr},
  };
  const Profile profile = SmallProfile();
  for (const Case& c : kCases) {
    const absl::StatusOr<SortOrder> order = ParseSortOrder(c.keys);
    ASSERT_EQ(order.ok(), c.description != nullptr) << c.keys;
    if (!order.ok()) continue;
    EXPECT_EQ(order->description, c.description);
    Selection selection = Select(profile, *order, false, {});
    EXPECT_EQ(Names(profile, selection), c.want) << c.keys;
    EXPECT_EQ(selection.order, c.description);
    std::reverse(selection.rows.begin(), selection.rows.end());
    EXPECT_EQ(Select(profile, *order, true, {}).rows, order->keys.empty() ? profile.rows() : selection.rows);
  }
}

TEST(ProfileTableTest, AbbreviationsAreThoseOfPstats) {
  // What Stats.get_sort_arg_defs of CPython 3.11 knows, and what it refuses.
  for (const char* word : {"ca", "cal", "call", "cu", "cumt", "cumu", "f",  "file", "l",  "m",  "nam",
                           "na", "nc",  "nf",   "p",  "s",    "std",  "ti", "tim",  "to", "tot"}) {
    EXPECT_TRUE(ParseSortOrder(word).ok()) << word;
  }
  for (const char* word :
       {"", "c", "cum", "n", "t", "callss", "Time", "time,", ",time", "time,none", "-1", "2", " time"}) {
    EXPECT_FALSE(ParseSortOrder(word).ok()) << word;
  }
  EXPECT_THAT(std::string(ParseSortOrder("speed").status().message()),
              HasSubstr("no sort key \"speed\"; there are calls, ncalls, cumtime"));
}

TEST(ProfileTableTest, LimitsAreCountsOrShares) {
  struct Case {
    const char* text;
    const char* want;  // Restriction::text, null: refused
    size_t rows;       // of 4
  };
  const Case kCases[] = {
      {"0", "0", 0},
      {"3", "3", 3},
      {"4", "4", 4},
      {"5", "5", 4},
      {"18446744073709551615", "18446744073709551615", 4},
      {"0.0", "0.0", 0},
      {"0.1", "0.1", 0},
      {"0.125", "0.125", 1},
      {".5", "0.5", 2},
      {"0.87", "0.87", 3},
      {"0.875", "0.875", 4},
      {"1.0", "1.0", 4},
      {"1e-5", "1e-05", 0},
      {"0.0001", "0.0001", 0},
      {"0.30000000000000004", "0.30000000000000004", 1},
      {"-0.0", "0.0", 0},
      {"-1", nullptr, 0},
      {"1.5", nullptr, 0},
      {"-0.5", nullptr, 0},
      {"nan", nullptr, 0},
      {"inf", nullptr, 0},
      {"18446744073709551616", nullptr, 0},
      {"", nullptr, 0},
      {"ten", nullptr, 0},
  };
  const Profile profile = SmallProfile();
  for (const Case& c : kCases) {
    const absl::StatusOr<Restriction> limit = ParseLimit(c.text);
    ASSERT_EQ(limit.ok(), c.want != nullptr) << c.text;
    if (!limit.ok()) continue;
    EXPECT_EQ(limit->text, c.want);
    const Selection selection = Select(profile, {}, false, {*limit});
    EXPECT_EQ(selection.rows.size(), c.rows) << c.text;
    EXPECT_EQ(selection.reductions.size(), c.rows == 4 ? 0u : 1u);
  }
}

TEST(ProfileTableTest, RestrictionsApplyInTheirOrder) {
  const Profile profile = SmallProfile();
  const Restriction two = *ParseLimit("2");
  const Restriction a_py = *ParseFilter("^a\\.py:");
  const Selection limit_first = Select(profile, {}, false, {two, a_py});
  EXPECT_THAT(Names(profile, limit_first), ElementsAre("one"));
  ASSERT_EQ(limit_first.reductions.size(), 2u);
  EXPECT_EQ(limit_first.reductions[1].before, 2u);
  EXPECT_EQ(limit_first.reductions[1].after, 1u);
  EXPECT_EQ(limit_first.reductions[1].restriction, "'^a\\\\.py:'");
  const Selection filter_first = Select(profile, {}, false, {a_py, two});
  EXPECT_THAT(Names(profile, filter_first), ElementsAre("one", "three"));
  EXPECT_EQ(filter_first.reductions.size(), 1u);
  EXPECT_THAT(Select(profile, {}, false, {*ParseFilter("nothing")}).rows, IsEmpty());
  EXPECT_THAT(Names(profile, Select(profile, {}, false, {*ParseFilter("\\{built-in four\\}")})),
              ElementsAre("<built-in four>"));
}

TEST(ProfileTableTest, FiltersAreShownAsPythonShowsThem) {
  struct Case {
    const char* pattern;
    const char* want;
  };
  const Case kCases[] = {
      {"abc", "'abc'"},       {"a'b", "\"a'b\""},     {"a\"b", "'a\"b'"},
      {"a'\"b", "'a\\'\"b'"}, {"a\\.b", "'a\\\\.b'"}, {"\n\r\t", "'\\n\\r\\t'"},
      {"\x1b", "'\\x1b'"},    {"größe", "'größe'"},   {"", "''"},
  };
  for (const Case& c : kCases) {
    const absl::StatusOr<Restriction> filter = ParseFilter(c.pattern);
    ASSERT_TRUE(filter.ok()) << c.pattern;
    EXPECT_EQ(filter->text, c.want);
  }
  for (const char* pattern : {"(", "a**", "[", "(?<x>a)\\1", "\xff"})
    EXPECT_FALSE(ParseFilter(pattern).ok()) << pattern;
}

// Against stable_sort over the values themselves.
TEST(ProfileTableTest, AgreesWithAPlainSort) {
  std::mt19937 random(3);
  for (int round = 0; round < 40; ++round) {
    Profile profile;
    for (int i = 0; i < 300; ++i) {
      const FunctionId f = profile.AddFunction(absl::StrCat("dir", random() % 3, "/f", random() % 12, ".py"),
                                               random() % 8, absl::StrCat("n", random() % 15));
      const auto up_to = [&](unsigned most) { return static_cast<int64_t>(random() % (most + 1)); };
      profile.AddStats(f, {up_to(3), up_to(3), up_to(4) - 2, up_to(2)});
    }
    const char* const kKeys[] = {"calls", "cumtime", "filename", "line", "name", "pcalls", "stdname", "time"};
    std::vector<const char*> keys;
    for (size_t i = 0; i <= random() % 3; ++i) keys.push_back(kKeys[random() % 8]);
    std::string text;
    for (const char* key : keys) absl::StrAppend(&text, text.empty() ? "" : ",", key);

    std::vector<FunctionId> want = profile.rows();
    std::stable_sort(want.begin(), want.end(), [&](FunctionId a, FunctionId b) {
      for (const std::string key : keys) {
        const auto values = [&](FunctionId f) {
          const Profile::Function& function = profile.function(f);
          const CallStats& s = function.stats;
          const int64_t number = key == "calls"     ? -s.call_count
                                 : key == "pcalls"  ? -s.primitive_call_count
                                 : key == "cumtime" ? -s.cumulative_ns
                                 : key == "time"    ? -s.own_ns
                                 : key == "line"    ? function.line
                                                    : 0;
          const std::string file(profile.file(f)), name(profile.name(f));
          return std::make_tuple(number, key == "filename"  ? file
                                         : key == "name"    ? name
                                         : key == "stdname" ? absl::StrCat(file, ":", function.line, "(", name, ")")
                                                            : "");
        };
        if (values(a) != values(b)) return values(a) < values(b);
      }
      return false;
    });
    EXPECT_EQ(Select(profile, *ParseSortOrder(text), false, {}).rows, want) << text;
  }
}

}  // namespace
}  // namespace tracekiln::profile_table
