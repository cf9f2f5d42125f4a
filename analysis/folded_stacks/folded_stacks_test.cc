#include "analysis/folded_stacks/folded_stacks.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tracekiln::folded_stacks {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

FunctionId Row(Profile* profile, const char* name, CallStats stats) {
  const FunctionId f = profile->AddFunction("~", 0, name);
  profile->AddStats(f, stats);
  return f;
}

std::vector<std::string> Lines(const Profile& profile, const FoldOptions& options = {}) {
  std::vector<std::string> lines;
  for (const FoldedStack& stack : FoldStacks(profile, options).stacks) {
    lines.push_back(FoldedLine(profile, stack));
    EXPECT_EQ(lines.back().back(), '\n');
    lines.back().pop_back();
  }
  return lines;
}

TEST(FoldedStacksTest, CallTreesAreExact) {
  Profile p;
  const FunctionId a = Row(&p, "a", {1, 1, 10, 100});
  const FunctionId b = Row(&p, "b", {1, 1, 30, 70});
  const FunctionId c = Row(&p, "c", {5, 5, 40, 40});
  const FunctionId d = Row(&p, "d", {1, 1, 20, 20});
  p.AddCallerStats(a, b, {1, 1, 30, 70});
  p.AddCallerStats(b, c, {5, 5, 40, 40});
  p.AddCallerStats(a, d, {1, 1, 20, 20});
  EXPECT_THAT(Lines(p), ElementsAre("a 10", "a;b 30", "a;b;c 40", "a;d 20"));
}

TEST(FoldedStacksTest, CallersGetTheirShares) {
  // x and y call f; f calls g. What f did for x is known: 10 of its own 40, and 100 of 400 in all. So x gets a quarter
  // of g.
  Profile p;
  const FunctionId x = Row(&p, "x", {1, 1, 1, 101});
  const FunctionId y = Row(&p, "y", {1, 1, 2, 302});
  const FunctionId f = Row(&p, "f", {2, 2, 40, 400});
  const FunctionId g = Row(&p, "g", {9, 9, 360, 360});
  p.AddCallerStats(x, f, {1, 1, 10, 100});
  p.AddCallerStats(y, f, {1, 1, 30, 300});
  p.AddCallerStats(f, g, {9, 9, 360, 360});
  EXPECT_THAT(Lines(p), ElementsAre("y 2", "y;f 30", "y;f;g 270", "x 1", "x;f 10", "x;f;g 90"));
}

TEST(FoldedStacksTest, CallsFromNowhereBesideCallers) {
  // f was called once by a, and once from outside of what was profiled: 100 - 30 and 60 - 10 are for that.
  Profile p;
  const FunctionId a = Row(&p, "a", {1, 1, 5, 35});
  const FunctionId f = Row(&p, "f", {2, 2, 60, 100});
  const FunctionId g = Row(&p, "g", {2, 2, 40, 40});
  p.AddCallerStats(a, f, {1, 1, 10, 30});
  p.AddCallerStats(f, g, {2, 2, 40, 40});
  EXPECT_THAT(Lines(p), ElementsAre("f 50", "f;g 28", "a 5", "a;f 10", "a;f;g 12"));
}

TEST(FoldedStacksTest, RecursionIsFolded) {
  // fib(5) as cProfile sees it: 14 of 15 calls by itself.
  Profile p;
  const FunctionId main = Row(&p, "main", {1, 1, 3, 32});
  const FunctionId fib = Row(&p, "fib", {15, 1, 29, 29});
  p.AddCallerStats(main, fib, {1, 1, 5, 29});
  p.AddCallerStats(fib, fib, {14, 2, 24, 24});
  EXPECT_THAT(Lines(p), ElementsAre("main 3", "main;fib 29"));
  EXPECT_EQ(FoldStacks(p, {}).cut_edge_count, 1u);
}

TEST(FoldedStacksTest, CyclesEndWithAndWithoutARoot) {
  Profile p;
  const FunctionId a = Row(&p, "a", {21, 3, 40, 90});
  const FunctionId b = Row(&p, "b", {10, 2, 30, 80});
  p.AddCallerStats(a, b, {9, 3, 30, 60});
  p.AddCallerStats(b, a, {20, 4, 40, 52});
  // Begins at the greater one.
  EXPECT_THAT(Lines(p), ElementsAre("a 40", "a;b 30"));
  const FunctionId main = Row(&p, "main", {1, 1, 10, 85});
  p.AddCallerStats(main, b, {1, 1, 0, 70});
  EXPECT_THAT(Lines(p), ElementsAre("main 10", "main;b 30", "main;b;a 40"));
}

TEST(FoldedStacksTest, NegativeTimesHaveNoWidthAndAreCounted) {
  Profile p;
  const FunctionId main = Row(&p, "main", {1, 1, 750, 500});
  const FunctionId back = Row(&p, "back", {1, 1, -250, -250});
  const FunctionId leaf = Row(&p, "leaf", {1, 1, 100, 100});
  p.AddCallerStats(main, back, {1, 1, -250, -250});
  p.AddCallerStats(back, leaf, {1, 1, 100, -3});
  EXPECT_THAT(Lines(p), ElementsAre("main 750", "main;back;leaf 100"));
  const FoldedStacks folded = FoldStacks(p, {});
  EXPECT_EQ(folded.negative_row_count, 1u);
  EXPECT_EQ(folded.negative_ns, -250);
}

TEST(FoldedStacksTest, CallersThatAreNoRowsAreFrames) {
  Profile p;
  const FunctionId ghost = p.AddFunction("~", 0, "ghost");
  const FunctionId f = Row(&p, "f", {1, 1, 7, 7});
  p.AddCallerStats(ghost, f, {1, 1, 7, 7});
  EXPECT_THAT(Lines(p), ElementsAre("ghost;f 7"));
}

TEST(FoldedStacksTest, CallersWithoutTimesShareByCalls) {
  // As the module `profile` writes it.
  Profile p;
  const FunctionId a = Row(&p, "a", {1, 1, 0, 30});
  const FunctionId b = Row(&p, "b", {1, 1, 0, 10});
  const FunctionId f = Row(&p, "f", {4, 4, 40, 40});
  p.AddCallerStats(a, f, {3, 3, 0, 0});
  p.AddCallerStats(b, f, {1, 1, 0, 0});
  EXPECT_THAT(Lines(p), ElementsAre("a;f 30", "b;f 10"));
}

TEST(FoldedStacksTest, DepthIsLimited) {
  Profile p;
  FunctionId last = Row(&p, "f0", {1, 1, 1, 1000});
  for (int i = 1; i < 1000; ++i) {
    const FunctionId next = Row(&p, absl::StrCat("f", i).c_str(), {1, 1, 1, 1000 - i});
    p.AddCallerStats(last, next, {1, 1, 1, 1000 - i});
    last = next;
  }
  EXPECT_THAT(Lines(p, {999, 3}), ElementsAre("f0 1", "f0;f1 1", "f0;f1;f2 1", "f0;f1;f2;(more) 997"));
  EXPECT_EQ(FoldStacks(p, {999, 3}).more_ns, 997);
  EXPECT_EQ(Lines(p).size(), 257u);
}

TEST(FoldedStacksTest, EmptyProfilesHaveNoStacks) {
  EXPECT_THAT(Lines(Profile()), IsEmpty());
  Profile zeros;
  Row(&zeros, "a", {1, 1, 0, 0});
  EXPECT_THAT(Lines(zeros), IsEmpty());
}

TEST(FoldedStacksTest, FramesAreSafeToSplit) {
  Profile p;
  p.AddStats(p.AddFunction("a b;c.py", 3, "f\n\xed\xb2\x80"), {1, 1, 5, 5});
  EXPECT_THAT(Lines(p), ElementsAre("a b\\x3bc.py:3(f\\x0a\\udc80) 5"));
  Profile nameless;
  Row(&nameless, "", {1, 1, 5, 5});
  EXPECT_THAT(Lines(nameless), ElementsAre("(no name) 5"));
  Profile long_name;
  Row(&long_name, std::string(70000, 'x').c_str(), {1, 1, 5, 5});
  EXPECT_LT(Lines(long_name)[0].size(), 520u);
}

TEST(FoldedStacksTest, GreatestValuesStayWithinInt64) {
  Profile p;
  const FunctionId a = Row(&p, "a", {1, 1, INT64_MAX, INT64_MAX});
  const FunctionId b = Row(&p, "b", {1, 1, INT64_MAX, INT64_MAX});
  p.AddCallerStats(a, b, {1, 1, INT64_MAX, INT64_MAX});
  for (const FoldedStack& stack : FoldStacks(p, {}).stacks) EXPECT_GT(stack.value_ns, INT64_MAX - 2000);
  EXPECT_EQ(FoldStacks(p, {2, 1}).stacks.size(), 2u);
}

// Layers of functions, each calling all of the next: 20^12 stacks.
TEST(FoldedStacksTest, ExponentialGraphsAreBoundedAndConserveTime) {
  Profile p;
  std::vector<FunctionId> above;
  int64_t sum_ns = 0;
  for (int layer = 0; layer < 12; ++layer) {
    std::vector<FunctionId> here;
    for (int i = 0; i < 20; ++i) {
      here.push_back(Row(&p, absl::StrCat(layer, ".", i).c_str(), {20, 20, 1000 + i, 100000}));
      sum_ns += 1000 + i;
      for (const FunctionId caller : above) p.AddCallerStats(caller, here.back(), {1, 1, 50, 5000});
    }
    above = here;
  }
  const auto start = std::chrono::steady_clock::now();
  const FoldedStacks folded = FoldStacks(p, {});
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  EXPECT_LE(folded.stacks.size(), 999u);
  EXPECT_GT(folded.stacks.size(), 900u);
  int64_t folded_ns = 0;
  for (const FoldedStack& stack : folded.stacks) folded_ns += stack.value_ns;
  EXPECT_EQ(folded_ns, sum_ns);
}

// Random graphs, cycles and nonsense numbers among them: time is conserved, in all and per function, and limits hold.
TEST(FoldedStacksTest, ConservesTimeOfRandomGraphs) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    Profile p;
    const int functions = 1 + static_cast<int>(random() % 12);
    const auto number = [&] { return static_cast<int64_t>(random() % 1000) - (random() % 8 == 0 ? 500 : 0); };
    for (int i = 0; i < functions; ++i) {
      const FunctionId f = p.AddFunction("~", 0, absl::StrCat("f", i));
      if (random() % 10 != 0) p.AddStats(f, {number(), number(), number(), number()});
    }
    for (int i = static_cast<int>(random() % 30); i > 0; --i) {
      p.AddCallerStats(FunctionId{static_cast<uint32_t>(random() % functions)},
                       FunctionId{static_cast<uint32_t>(random() % functions)},
                       {number(), number(), number(), number()});
    }
    std::map<FunctionId, int64_t> want_ns;
    int64_t sum_ns = 0;
    for (const FunctionId row : p.rows()) {
      const int64_t own_ns = std::max<int64_t>(0, p.function(row).stats.own_ns);
      want_ns[row] = own_ns;
      sum_ns += own_ns;
    }
    for (const FoldOptions& options :
         {FoldOptions{1000000, 100}, FoldOptions{7, 100}, FoldOptions{2, 2}, FoldOptions{50, 3}}) {
      const FoldedStacks folded = FoldStacks(p, options);
      EXPECT_LE(folded.stacks.size(), options.max_stacks);
      int64_t folded_ns = 0, more_ns = 0;
      std::map<FunctionId, int64_t> found_ns;
      std::set<std::vector<FunctionId>> seen;
      for (const FoldedStack& stack : folded.stacks) {
        EXPECT_GT(stack.value_ns, 0);
        EXPECT_LE(stack.frames.size(), options.max_depth);
        EXPECT_EQ(std::set<FunctionId>(stack.frames.begin(), stack.frames.end()).size(), stack.frames.size());
        folded_ns += stack.value_ns;
        if (stack.has_more) {
          more_ns += stack.value_ns;
          continue;
        }
        EXPECT_TRUE(seen.insert(stack.frames).second) << "a stack twice";
        found_ns[stack.frames.back()] += stack.value_ns;
      }
      EXPECT_EQ(folded_ns, sum_ns) << "round " << round;
      EXPECT_EQ(more_ns, folded.more_ns);
      if (options.max_stacks < 1000) continue;
      EXPECT_EQ(folded.more_ns, 0);
      for (const auto& [f, ns] : want_ns) {
        // Each stack is rounded by at most 1 ns.
        EXPECT_NEAR(static_cast<double>(found_ns[f]), static_cast<double>(ns), static_cast<double>(seen.size()) + 1);
      }
    }
  }
}

}  // namespace
}  // namespace tracekiln::folded_stacks
