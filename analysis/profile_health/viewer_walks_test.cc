#include "analysis/profile_health/viewer_walks.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace tracekiln::profile_health {
namespace {

FunctionId Row(Profile* profile, const std::string& name, int64_t own_ns, int64_t cumulative_ns) {
  const FunctionId f = profile->AddFunction("f.py", 1, name);
  profile->AddStats(f, {1, 1, own_ns, cumulative_ns});
  return f;
}

void Call(Profile* profile, FunctionId caller, FunctionId callee, int64_t own_ns, int64_t cumulative_ns) {
  profile->AddCallerStats(caller, callee, {1, 1, own_ns, cumulative_ns});
}

// f0 calls f1 calls f2 …, each with 1 ms of its own.
Profile Chain(int length) {
  constexpr int64_t kOwnNs = 1'000'000;
  Profile profile;
  std::vector<FunctionId> ids;
  for (int i = 0; i < length; ++i) {
    ids.push_back(Row(&profile, absl::StrCat("f", i), kOwnNs, (length - i) * kOwnNs));
    if (i > 0) Call(&profile, ids[i - 1], ids[i], kOwnNs, (length - i) * kOwnNs);
  }
  return profile;
}

// A root, and layers of functions of which each calls all of the next one.
Profile Layers(int width, int count) {
  const int64_t whole_ns = int64_t{1'000'000} * width * width;  // the parts are whole, too
  Profile profile;
  std::vector<FunctionId> previous = {Row(&profile, "root", 0, whole_ns)};
  for (int layer = 0; layer < count; ++layer) {
    const int64_t own_ns = layer + 1 == count ? whole_ns / width : 0;
    std::vector<FunctionId> current;
    for (int i = 0; i < width; ++i) {
      current.push_back(Row(&profile, absl::StrCat("l", layer, "_", i), own_ns, whole_ns / width));
      const int64_t callers = static_cast<int64_t>(previous.size());
      for (const FunctionId caller : previous) {
        Call(&profile, caller, current.back(), own_ns / callers, whole_ns / width / callers);
      }
    }
    previous = std::move(current);
  }
  return profile;
}

TEST(SnakeVizRootTest, IsTheLongestThatIsNeverCalled) {
  Profile profile;
  const FunctionId longest = Row(&profile, "alone", 900, 900);  // neither calls nor is called
  const FunctionId small = Row(&profile, "small", 1, 10);
  const FunctionId large = Row(&profile, "large", 1, 20);
  const FunctionId leaf = Row(&profile, "leaf", 28, 28);
  Call(&profile, small, leaf, 9, 9);
  Call(&profile, large, leaf, 19, 19);
  EXPECT_EQ(SnakeVizRoot(profile, CallGraph(profile)), large);
  EXPECT_NE(large, longest);
}

TEST(SnakeVizRootTest, IsTheLongestOfAllIfAllAreCalled) {
  Profile profile;
  const FunctionId a = Row(&profile, "a", 10, 20);
  const FunctionId b = Row(&profile, "b", 10, 30);
  Call(&profile, a, b, 10, 20);
  Call(&profile, b, a, 10, 20);
  EXPECT_EQ(SnakeVizRoot(profile, CallGraph(profile)), b);
}

TEST(SnakeVizRootTest, IsNoneWithoutEdges) {
  Profile profile;
  Row(&profile, "a", 10, 20);
  EXPECT_EQ(SnakeVizRoot(profile, CallGraph(profile)), std::nullopt);
}

SnakeVizTree TreeOf(const Profile& profile) {
  const CallGraph graph(profile);
  return WalkSnakeVizTree(profile, graph, *SnakeVizRoot(profile, graph));
}

TEST(SnakeVizTreeTest, CountsTheBoxesOfTheUnfoldedGraph) {
  // 1 + 3 + 9 + 27 + 81, and no box for own time: all time is in the leaves.
  EXPECT_EQ(TreeOf(Layers(3, 4)).node_count, 121u);
  EXPECT_FALSE(TreeOf(Layers(3, 4)).is_too_large);
  // A chain has a box and one for its own time per level, down to level 10, where it is cut.
  EXPECT_EQ(TreeOf(Chain(50)).node_count, 21u);
  EXPECT_EQ(TreeOf(Chain(3)).node_count, 5u);
}

TEST(SnakeVizTreeTest, LeavesOutWhatIsOnThePathAndWhatIsSmall) {
  Profile profile;
  const FunctionId root = Row(&profile, "root", 0, 1'000'000);
  const FunctionId a = Row(&profile, "a", 999'000, 1'000'000);
  const FunctionId small = Row(&profile, "small", 1000, 1000);
  Call(&profile, root, a, 999'000, 1'000'000);
  Call(&profile, a, a, 500'000, 600'000);
  Call(&profile, a, small, 1000, 1000);  // exactly 1/1000: not more
  // root, a, and the own time of a.
  EXPECT_EQ(TreeOf(profile).node_count, 3u);
}

TEST(SnakeVizTreeTest, StopsAtALimit) {
  const auto start = std::chrono::steady_clock::now();
  const SnakeVizTree tree = TreeOf(Layers(20, 10));
  EXPECT_TRUE(tree.is_too_large);
  EXPECT_LE(tree.node_count, SnakeVizTree::kMaxNodes + 1);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  // Over a million boxes still do.
  EXPECT_EQ(TreeOf(Layers(4, 10)).node_count, 1'398'101u);
  EXPECT_FALSE(TreeOf(Layers(4, 10)).is_too_large);
}

TEST(TunaTreeTest, StartsAtLongRootsAndAtExec) {
  Profile profile;
  Row(&profile, "short", 10'000, 10'000);  // not more than 10 us
  EXPECT_EQ(WalkTunaTree(profile, CallGraph(profile)).root_count, 0u);
  Row(&profile, "long", 10'001, 10'001);
  EXPECT_EQ(WalkTunaTree(profile, CallGraph(profile)).root_count, 1u);
  const FunctionId exec = profile.AddFunction("~", 0, "<built-in method builtins.exec>");
  profile.AddStats(exec, {1, 1, 1, 1});
  Call(&profile, exec, exec, 0, 0);
  EXPECT_EQ(WalkTunaTree(profile, CallGraph(profile)).root_count, 2u);
}

TEST(TunaTreeTest, GoesDownAChain) {
  const TunaTree tree = WalkTunaTree(Chain(1234), CallGraph(Chain(1234)));
  EXPECT_EQ(tree.depth, 1234u);
  EXPECT_EQ(tree.cut_count, 0u);
}

TEST(TunaTreeTest, EndsAtFunctionsWithSeveralCallers) {
  Profile profile = Chain(100);
  const FunctionId other = Row(&profile, "other", 20'000, 20'000);
  Call(&profile, other, *profile.FindFunction("f.py", 1, "f40"), 1, 1);
  const TunaTree tree = WalkTunaTree(profile, CallGraph(profile));
  EXPECT_EQ(tree.depth, 41u);
  EXPECT_EQ(tree.deepest, profile.FindFunction("f.py", 1, "f40"));
  EXPECT_EQ(tree.cut_count, 2u);  // from f39 and from other
}

using Failure = FlameprofPicture::Failure;

FlameprofPicture PictureOf(const Profile& profile) { return WalkFlameprofPicture(profile, CallGraph(profile)); }

TEST(FlameprofPictureTest, DrawsAChainUpToItsDepth) {
  EXPECT_EQ(PictureOf(Chain(900)).failure, Failure::kNone);
  EXPECT_EQ(PictureOf(Chain(900)).depth, 900u);
  EXPECT_EQ(PictureOf(Chain(901)).failure, Failure::kTooDeep);
  EXPECT_EQ(PictureOf(Chain(200'000)).failure, Failure::kTooDeep);
}

TEST(FlameprofPictureTest, FailsWithoutTime) {
  Profile profile;
  const FunctionId a = Row(&profile, "a", 0, 0);
  const FunctionId b = Row(&profile, "b", 0, 0);
  Call(&profile, a, b, 0, 0);
  EXPECT_EQ(PictureOf(profile).failure, Failure::kNoTime);
}

TEST(FlameprofPictureTest, FailsIfNothingIsCalled) {
  Profile profile;
  Row(&profile, "a", 10, 10);
  EXPECT_EQ(PictureOf(profile).failure, Failure::kNoCalls);
}

TEST(FlameprofPictureTest, FailsIfCallersHaveNoTime) {
  Profile profile;
  const FunctionId a = Row(&profile, "a", 10, 20);
  const FunctionId b = Row(&profile, "b", 10, 10);
  Call(&profile, a, b, 0, 0);
  EXPECT_EQ(PictureOf(profile).failure, Failure::kEdgesWithoutTime);
  EXPECT_EQ(PictureOf(profile).where, b);
}

TEST(FlameprofPictureTest, FailsIfNothingIsLarge) {
  for (const int count : {900, 1000, 1100}) {
    Profile profile;
    const FunctionId root = Row(&profile, "root", 0, count * 1000);
    for (int i = 0; i < count; ++i) Call(&profile, root, Row(&profile, absl::StrCat(i), 1000, 1000), 1000, 1000);
    EXPECT_EQ(PictureOf(profile).failure, count < 1000 ? Failure::kNone : Failure::kNothingLarge) << count;
  }
}

TEST(FlameprofPictureTest, GoesAlongEachEdgeOfACycleOnce) {
  // 45 functions that all call each other: a path of edges, none of them twice, is longer than the path of functions.
  Profile profile;
  std::vector<FunctionId> ids;
  for (int i = 0; i < 45; ++i) ids.push_back(Row(&profile, absl::StrCat("d", i), 1000, 45'000));
  for (const FunctionId callee : ids) {
    for (const FunctionId caller : ids) {
      if (caller != callee) Call(&profile, caller, callee, 20, 1000);
    }
  }
  EXPECT_EQ(PictureOf(profile).failure, Failure::kTooDeep);
}

TEST(FlameprofPictureTest, SumsTheRoots) {
  Profile profile;
  const FunctionId a = Row(&profile, "a", 10, 30);
  Call(&profile, a, Row(&profile, "b", 30, 20), 30, 20);
  EXPECT_DOUBLE_EQ(PictureOf(profile).root_ratio, 0.75);
}

TEST(WalksTest, TakeLinearTimeOnLargeGraphs) {
  // 200,000 rows with three edges each.
  constexpr int kCount = 200'000;
  Profile profile;
  std::vector<FunctionId> ids;
  for (int i = 0; i < kCount; ++i) ids.push_back(Row(&profile, absl::StrCat("f", i), 1000, 1000 * (kCount - i)));
  for (int i = 1; i < kCount; ++i) {
    for (const int caller : {i / 2, i / 3, i - 1}) Call(&profile, ids[caller], ids[i], 300, 300);
  }
  const auto start = std::chrono::steady_clock::now();
  const CallGraph graph(profile);
  WalkTunaTree(profile, graph);
  WalkFlameprofPicture(profile, graph);
  WalkSnakeVizTree(profile, graph, *SnakeVizRoot(profile, graph));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

}  // namespace
}  // namespace tracekiln::profile_health
