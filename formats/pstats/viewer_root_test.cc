#include "formats/pstats/viewer_root.h"

#include "gtest/gtest.h"

namespace tracekiln::pstats {
namespace {

FunctionId Add(Profile* profile, const char* name, int64_t own_ns, int64_t cumulative_ns) {
  const FunctionId f = profile->AddFunction("a.py", 1, name);
  profile->AddStats(f, {1, 1, own_ns, cumulative_ns});
  return f;
}

TEST(ViewerRootTest, ProfileWithARootOfMoreThan10UsIsLeftAlone) {
  Profile profile;
  const FunctionId f = Add(&profile, "f", 1, 10'001);
  const FunctionId g = Add(&profile, "g", 10'000, 10'000);
  profile.AddCallerStats(f, g, {1, 1, 10'000, 10'000});
  EXPECT_FALSE(AddViewerRoot(&profile));
  EXPECT_EQ(profile.row_count(), 2u);
}

TEST(ViewerRootTest, ShortRootGetsExecAboveIt) {
  Profile profile;
  const FunctionId f = Add(&profile, "f", 1, 10'000);
  const FunctionId g = Add(&profile, "g", 9'999, 9'999);
  profile.AddCallerStats(f, g, {1, 1, 9'999, 9'999});
  ASSERT_TRUE(AddViewerRoot(&profile));
  const auto exec = profile.FindFunction("~", 0, "<built-in method builtins.exec>");
  ASSERT_TRUE(exec.has_value());
  EXPECT_EQ(profile.function(*exec).stats, (CallStats{1, 1, 0, 10'000}));
  ASSERT_EQ(profile.edges().size(), 2u);
  EXPECT_EQ(profile.edges()[1].caller, *exec);
  EXPECT_EQ(profile.edges()[1].callee, f);
  EXPECT_EQ(profile.edges()[1].stats, profile.function(f).stats);
  EXPECT_FALSE(AddViewerRoot(&profile));
}

TEST(ViewerRootTest, FlatProfileGetsEdges) {
  Profile profile;
  Add(&profile, "f", 50'000, 50'000);
  Add(&profile, "g", 60'000, 60'000);
  ASSERT_TRUE(AddViewerRoot(&profile));
  EXPECT_EQ(profile.edges().size(), 2u);
  EXPECT_EQ(profile.function(*profile.FindFunction("~", 0, kViewerRootName)).stats, (CallStats{1, 1, 0, 110'000}));
}

TEST(ViewerRootTest, CycleWithoutRootIsCalledAtItsLongest) {
  Profile profile;
  const FunctionId f = Add(&profile, "f", 20'000, 50'000);
  const FunctionId g = Add(&profile, "g", 30'000, 40'000);
  profile.AddCallerStats(f, g, {1, 1, 30'000, 40'000});
  profile.AddCallerStats(g, f, {1, 1, 20'000, 20'000});
  ASSERT_TRUE(AddViewerRoot(&profile));
  ASSERT_EQ(profile.edges().size(), 3u);
  EXPECT_EQ(profile.edges()[2].callee, f);
}

TEST(ViewerRootTest, CallersOfWhatHasTimeGetSome) {
  Profile profile;
  const FunctionId root = Add(&profile, "root", 0, 30'000);
  const FunctionId host = Add(&profile, "host", 30'000, 30'000);
  const FunctionId group = Add(&profile, "group", 0, 0);
  const FunctionId thread = Add(&profile, "thread", 0, 0);
  const FunctionId work = Add(&profile, "work", 5'000, 5'000);
  const FunctionId idle = Add(&profile, "idle", 0, 0);
  profile.AddCallerStats(root, host, {1, 1, 30'000, 30'000});
  profile.AddCallerStats(root, group, {1, 1, 0, 0});
  profile.AddCallerStats(group, thread, {1, 1, 0, 0});
  profile.AddCallerStats(thread, work, {1, 1, 5'000, 5'000});
  profile.AddCallerStats(root, idle, {1, 1, 0, 0});
  EXPECT_FALSE(AddViewerRoot(&profile));
  EXPECT_EQ(profile.edges()[1].stats, (CallStats{1, 1, 0, 1}));
  EXPECT_EQ(profile.edges()[2].stats, (CallStats{1, 1, 0, 1}));
  EXPECT_EQ(profile.edges()[3].stats, (CallStats{1, 1, 5'000, 5'000}));
  EXPECT_EQ(profile.edges()[4].stats, (CallStats{1, 1, 0, 0}));
  EXPECT_EQ(profile.function(group).stats, (CallStats{1, 1, 0, 0}));
}

TEST(ViewerRootTest, ProfileWithoutAnyTimeGetsANanosecond) {
  Profile profile;
  const FunctionId f = Add(&profile, "f", 0, 0);
  const FunctionId g = Add(&profile, "g", 0, 0);
  profile.AddCallerStats(f, g, {1, 1, 0, 0});
  ASSERT_TRUE(AddViewerRoot(&profile));
  EXPECT_EQ(profile.Total().own_ns, 1);
}

TEST(ViewerRootTest, EmptyProfileStaysEmpty) {
  Profile profile;
  EXPECT_FALSE(AddViewerRoot(&profile));
  EXPECT_TRUE(profile.empty());
}

}  // namespace
}  // namespace tracekiln::pstats
