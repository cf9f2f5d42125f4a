#include "analysis/profile_diff/profile_diff.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tracekiln::profile_diff {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Profile Before() {
  Profile p;
  p.AddStats(p.AddFunction("a.py", 1, "same"), {1, 1, 10, 10});
  p.AddStats(p.AddFunction("a.py", 2, "slower"), {1, 1, 100, 900});
  p.AddStats(p.AddFunction("a.py", 3, "faster"), {4, 2, 500, 500});
  p.AddStats(p.AddFunction("a.py", 4, "gone"), {1, 1, 50, 60});
  p.AddFunction("a.py", 5, "new");  // only a caller here
  return p;
}

Profile After() {
  Profile p;
  p.AddStats(p.AddFunction("a.py", 5, "new"), {3, 3, 70, 80});
  p.AddStats(p.AddFunction("a.py", 3, "faster"), {2, 2, 200, 200});
  p.AddStats(p.AddFunction("a.py", 2, "slower"), {1, 1, 160, 1900});
  p.AddStats(p.AddFunction("a.py", 1, "same"), {1, 1, 10, 10});
  p.AddFunction("a.py", 4, "gone");
  return p;
}

std::vector<std::string> Names(const Profile& before, const Profile& after, const ProfileDiff& diff) {
  std::vector<std::string> names;
  for (const FunctionChange& c : diff.changes) {
    names.emplace_back(c.in_before ? before.name(*c.in_before) : after.name(*c.in_after));
  }
  return names;
}

TEST(ProfileDiffTest, ChangesAreSortedByImpact) {
  const Profile before = Before(), after = After();
  const ProfileDiff own = DiffProfiles(before, after, Impact::kOwn);
  // Own times: -300, +70, +60, -50.
  EXPECT_THAT(Names(before, after, own), ElementsAre("faster", "new", "slower", "gone"));
  EXPECT_EQ(own.unchanged_count, 1u);
  // Cumulative times: +1000, -300, +80, -60.
  const ProfileDiff cumulative = DiffProfiles(before, after, Impact::kCumulative);
  EXPECT_THAT(Names(before, after, cumulative), ElementsAre("slower", "faster", "new", "gone"));
}

TEST(ProfileDiffTest, NumbersBeforeAfterAndChange) {
  const Profile before = Before(), after = After();
  const ProfileDiff diff = DiffProfiles(before, after, Impact::kOwn);
  const FunctionChange& faster = diff.changes[0];
  EXPECT_EQ(faster.before, (CallStats{4, 2, 500, 500}));
  EXPECT_EQ(faster.after, (CallStats{2, 2, 200, 200}));
  EXPECT_EQ(faster.change, (CallStats{-2, 0, -300, -300}));
  const FunctionChange& added = diff.changes[1];
  EXPECT_FALSE(added.in_before);  // named there, but no row
  EXPECT_TRUE(added.in_after);
  EXPECT_EQ(added.before, CallStats{});
  const FunctionChange& gone = diff.changes[3];
  EXPECT_TRUE(gone.in_before);
  EXPECT_FALSE(gone.in_after);
  EXPECT_EQ(gone.change, (CallStats{-1, -1, -50, -60}));
  EXPECT_EQ(diff.before.own_ns, 660);
  EXPECT_EQ(diff.after.own_ns, 440);
  EXPECT_EQ(diff.change.own_ns, -220);
  EXPECT_EQ(diff.change.call_count, 0);
}

TEST(ProfileDiffTest, ChangesAddUpToTheChangeOfTheTotal) {
  const Profile before = Before(), after = After();
  for (const bool keep : {false, true}) {
    const ProfileDiff diff = DiffProfiles(before, after, Impact::kOwn, keep);
    CallStats sum;
    for (const FunctionChange& c : diff.changes) sum.Add(c.change);
    EXPECT_EQ(sum.own_ns, diff.change.own_ns);
    EXPECT_EQ(diff.changes.size(), keep ? 5u : 4u);
    EXPECT_EQ(diff.unchanged_count, 1u);
  }
}

TEST(ProfileDiffTest, ExtremesSaturateAndEmptyProfilesAreFine) {
  Profile before, after;
  before.AddStats(before.AddFunction("a", 1, "f"), {INT64_MIN, 0, INT64_MIN, INT64_MAX});
  after.AddStats(after.AddFunction("a", 1, "f"), {INT64_MAX, 0, 0, INT64_MIN});
  after.AddStats(after.AddFunction("a", 1, "g"), {0, 0, INT64_MIN, 0});
  const ProfileDiff diff = DiffProfiles(before, after, Impact::kOwn);
  // |INT64_MIN| is more than |INT64_MAX|.
  EXPECT_THAT(Names(before, after, diff), ElementsAre("g", "f"));
  EXPECT_EQ(diff.changes[1].change, (CallStats{INT64_MAX, 0, INT64_MAX, INT64_MIN}));
  EXPECT_THAT(DiffProfiles(Profile(), Profile(), Impact::kOwn).changes, IsEmpty());
  // A row of zeros that appears is a change.
  Profile zero;
  zero.AddStats(zero.AddFunction("a", 1, "f"), {});
  EXPECT_EQ(DiffProfiles(Profile(), zero, Impact::kOwn).changes.size(), 1u);
}

}  // namespace
}  // namespace tracekiln::profile_diff
