#include "formats/intermediate/profile.h"

#include <map>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace tracekiln {
namespace {

TEST(ProfileTest, AFunctionExistsOnceAndItsNumbersAddUp) {
  Profile profile;
  const FunctionId f = profile.AddFunction("a.py", 3, "f");
  EXPECT_EQ(profile.AddFunction("a.py", 3, "f"), f);
  EXPECT_NE(profile.AddFunction("a.py", 4, "f"), f);
  EXPECT_NE(profile.AddFunction("b.py", 3, "f"), f);
  EXPECT_EQ(profile.row_count(), 0u);
  EXPECT_TRUE(profile.AddStats(f, {2, 1, 10, 20}));
  EXPECT_FALSE(profile.AddStats(f, {1, 1, 5, 5}));
  EXPECT_EQ(profile.function(f).stats, (CallStats{3, 2, 15, 25}));
  EXPECT_EQ(profile.row_count(), 1u);
  EXPECT_EQ(profile.file(f), "a.py");
  EXPECT_EQ(profile.FindFunction("a.py", 3, "f"), f);
  EXPECT_EQ(profile.FindFunction("a.py", 5, "f"), std::nullopt);
  EXPECT_EQ(Profile().FindFunction("a.py", 5, "f"), std::nullopt);
}

TEST(ProfileTest, RowsAreInTheOrderInWhichTheyBecameRows) {
  Profile a;
  const FunctionId caller = a.AddFunction("a.py", 1, "caller");
  const FunctionId f = a.AddFunction("a.py", 2, "f");
  const FunctionId g = a.AddFunction("a.py", 3, "g");
  a.AddStats(g, {});
  a.AddStats(caller, {});
  a.AddStats(g, {});
  EXPECT_EQ(a.rows(), (std::vector<FunctionId>{g, caller}));
  Profile b;
  b.AddStats(b.AddFunction("a.py", 2, "f"), {});
  b.Merge(a);
  ASSERT_EQ(b.rows().size(), 3u);
  EXPECT_EQ(b.name(b.rows()[1]), "g");
  EXPECT_EQ(b.name(b.rows()[2]), "caller");
  a.Merge(b);
  EXPECT_EQ(a.rows(), (std::vector<FunctionId>{g, caller, f}));
}

TEST(ProfileTest, EdgesAreDirected) {
  Profile profile;
  const FunctionId f = profile.AddFunction("a.py", 1, "f");
  const FunctionId g = profile.AddFunction("a.py", 2, "g");
  EXPECT_TRUE(profile.AddCallerStats(f, g, {1, 1, 1, 1}));
  EXPECT_TRUE(profile.AddCallerStats(g, f, {2, 2, 2, 2}));
  EXPECT_FALSE(profile.AddCallerStats(f, g, {1, 0, 1, 0}));
  ASSERT_EQ(profile.edges().size(), 2u);
  EXPECT_EQ(profile.edges()[0].stats, (CallStats{2, 1, 2, 1}));
}

TEST(ProfileTest, SumsSaturate) {
  CallStats stats{INT64_MAX - 1, 0, INT64_MIN + 1, 7};
  stats.Add({5, 0, -5, -9});
  EXPECT_EQ(stats, (CallStats{INT64_MAX, 0, INT64_MIN, -2}));
}

TEST(ProfileTest, MergedProfilesHaveTheSumsOfBoth) {
  Profile a;
  const FunctionId f = a.AddFunction("a.py", 1, "f");
  const FunctionId g = a.AddFunction("a.py", 2, "g");
  a.AddStats(f, {1, 1, 10, 30});
  a.AddStats(g, {2, 2, 20, 20});
  a.AddCallerStats(f, g, {2, 2, 20, 20});
  Profile b;
  const FunctionId h = b.AddFunction("h.py", 9, "h");
  const FunctionId g2 = b.AddFunction("a.py", 2, "g");
  b.AddStats(g2, {1, 1, 5, 5});
  b.AddCallerStats(h, g2, {1, 1, 5, 5});  // h is no row
  a.Merge(b);
  EXPECT_EQ(a.row_count(), 2u);
  EXPECT_EQ(a.functions().size(), 3u);
  EXPECT_EQ(a.function(g).stats, (CallStats{3, 3, 25, 25}));
  EXPECT_FALSE(a.function(*a.FindFunction("h.py", 9, "h")).is_row);
  EXPECT_EQ(a.edges().size(), 2u);
  EXPECT_EQ(a.Total().own_ns, 35);
}

// Against std::map, with many collisions of keys.
TEST(ProfileTest, AgreesWithAMap) {
  std::mt19937 random(7);
  Profile profile;
  std::map<std::tuple<std::string, int64_t, std::string>, CallStats> rows;
  std::map<std::pair<uint32_t, uint32_t>, CallStats> edges;
  for (int i = 0; i < 20000; ++i) {
    const std::string file(1, static_cast<char>('a' + random() % 10));
    const int64_t line = random() % 20;
    const std::string name(1, static_cast<char>('a' + random() % 10));
    const FunctionId f = profile.AddFunction(file, line, name);
    const CallStats stats{static_cast<int64_t>(random() % 100), 1, static_cast<int64_t>(random() % 1000), 3};
    profile.AddStats(f, stats);
    rows[{file, line, name}].Add(stats);
    const FunctionId caller{static_cast<uint32_t>(random() % profile.functions().size())};
    profile.AddCallerStats(caller, f, stats);
    edges[{Index(caller), Index(f)}].Add(stats);
  }
  ASSERT_EQ(profile.functions().size(), rows.size());
  for (const auto& [key, stats] : rows) {
    const auto f = profile.FindFunction(std::get<0>(key), std::get<1>(key), std::get<2>(key));
    ASSERT_TRUE(f.has_value());
    EXPECT_EQ(profile.function(*f).stats, stats);
  }
  ASSERT_EQ(profile.edges().size(), edges.size());
  for (const Profile::Edge& e : profile.edges()) {
    EXPECT_EQ(e.stats, (edges[{Index(e.caller), Index(e.callee)}]));
  }
  const CallGraph graph(profile);
  size_t by_callee = 0;
  size_t by_caller = 0;
  for (uint32_t i = 0; i < profile.functions().size(); ++i) {
    uint32_t last = 0;
    for (uint32_t e : graph.CallersOf(FunctionId{i})) {
      EXPECT_EQ(Index(profile.edges()[e].callee), i);
      EXPECT_GE(e, last);
      last = e;
      ++by_callee;
    }
    for (uint32_t e : graph.CalleesOf(FunctionId{i})) {
      EXPECT_EQ(Index(profile.edges()[e].caller), i);
      ++by_caller;
    }
  }
  EXPECT_EQ(by_callee, edges.size());
  EXPECT_EQ(by_caller, edges.size());
}

}  // namespace
}  // namespace tracekiln
