#include "analysis/profile_health/profile_repair.h"

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analysis/profile_health/profile_health.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tracekiln::profile_health {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

FunctionId Row(Profile* profile, const std::string& name, CallStats stats) {
  const FunctionId f = profile->AddFunction("f.py", 1, name);
  profile->AddStats(f, stats);
  return f;
}

// One line per row, "name cc/nc own cumulative <caller cc/nc own cumulative"; sorted by nothing.
std::string Text(const Profile& profile) {
  const auto numbers = [](const CallStats& stats) {
    return absl::StrCat(stats.primitive_call_count, "/", stats.call_count, " ", stats.own_ns, " ", stats.cumulative_ns);
  };
  const CallGraph graph(profile);
  std::vector<std::string> lines;
  for (const FunctionId f : profile.rows()) {
    std::string line = absl::StrCat(profile.name(f), " ", numbers(profile.function(f).stats));
    for (const uint32_t e : graph.CallersOf(f)) {
      const Profile::Edge& edge = profile.edges()[e];
      absl::StrAppend(&line, " <", profile.name(edge.caller), " ", numbers(edge.stats));
    }
    lines.push_back(line);
  }
  return absl::StrJoin(lines, "\n");
}

// What fails after a repair; texts apart, which the writer makes safe.
std::string Failures(const Profile& profile) {
  std::vector<std::string> out;
  for (const ProfileFinding& finding : AnalyzeProfile(profile, ImportReport()).findings) {
    if (finding.severity == Severity::kWarning) out.push_back(finding.code);
  }
  return absl::StrJoin(out, " ");
}

Profile Good() {
  Profile profile;
  const FunctionId root = Row(&profile, "root", {1, 1, 25'000, 100'000});
  const FunctionId a = Row(&profile, "a", {2, 2, 50'000, 75'000});
  const FunctionId b = Row(&profile, "b", {1, 1, 25'000, 25'000});
  profile.AddCallerStats(root, a, {2, 2, 50'000, 75'000});
  profile.AddCallerStats(a, b, {1, 1, 25'000, 25'000});
  return profile;
}

TEST(RepairProfileTest, LeavesAGoodProfileAlone) {
  RepairSummary summary;
  const Profile profile = Good();
  EXPECT_EQ(Text(RepairProfile(profile, {}, &summary)), Text(profile));
  EXPECT_THAT(summary.Sentences(), IsEmpty());
}

TEST(RepairProfileTest, RaisesNegativeTimes) {
  Profile profile = Good();
  const FunctionId f = Row(&profile, "f", {1, 1, -5, 3});
  profile.AddCallerStats(*profile.FindFunction("f.py", 1, "root"), f, {1, 1, -5, 3});
  RepairSummary summary;
  const Profile repaired = RepairProfile(profile, {}, &summary);
  EXPECT_THAT(Text(repaired), testing::HasSubstr("\nf 1/1 0 3 <root 1/1 0 3"));
  EXPECT_THAT(summary.Sentences(), ElementsAre("2 times below 0 set to 0"));
}

TEST(RepairProfileTest, SharesOutTimesByCalls) {
  Profile profile = Good();
  const FunctionId f = Row(&profile, "f", {4, 4, 1'000, 2'001});
  profile.AddCallerStats(*profile.FindFunction("f.py", 1, "root"), f, {1, 1, 0, 0});
  profile.AddCallerStats(*profile.FindFunction("f.py", 1, "a"), f, {3, 3, 0, 0});
  RepairSummary summary;
  const Profile repaired = RepairProfile(profile, {}, &summary);
  EXPECT_THAT(Text(repaired), testing::HasSubstr("\nf 4/4 1000 2001 <root 1/1 250 500 <a 3/3 750 1501"));
  EXPECT_THAT(summary.Sentences(), ElementsAre("times shared out by calls to 2 callers"));
}

TEST(RepairProfileTest, SharesOutTimesWithoutCalls) {
  Profile profile = Good();
  const FunctionId f = Row(&profile, "f", {INT64_MAX, INT64_MAX, 1, 1});
  profile.AddCallerStats(*profile.FindFunction("f.py", 1, "root"), f, {0, 0, 0, 0});
  profile.AddCallerStats(*profile.FindFunction("f.py", 1, "a"), f, {-3, 0, 0, 0});
  // The second of two equal shares rounds up to the rest.
  EXPECT_THAT(Text(RepairProfile(profile, {})), testing::HasSubstr(" <root 0/0 0 0 <a 0/-3 1 1"));
}

TEST(RepairProfileTest, AddsMissingRows) {
  Profile profile;
  const FunctionId a = Row(&profile, "a", {3, 3, 70'000, 70'000});
  const FunctionId b = Row(&profile, "b", {1, 1, 30'000, 30'000});
  const FunctionId root = profile.AddFunction("f.py", 9, "root");
  profile.AddCallerStats(root, a, {3, 3, 70'000, 70'000});
  profile.AddCallerStats(root, b, {1, 1, 30'000, 30'000});
  RepairSummary summary;
  const Profile repaired = RepairProfile(profile, {}, &summary);
  EXPECT_EQ(Text(repaired),
            "a 3/3 70000 70000 <root 3/3 70000 70000\n"
            "b 1/1 30000 30000 <root 1/1 30000 30000\n"
            "root 1/1 0 100000");
  EXPECT_THAT(summary.Sentences(), ElementsAre("rows added for 1 caller without one"));
  EXPECT_EQ(Failures(repaired), "");
}

TEST(RepairProfileTest, LengthensRoots) {
  Profile profile;
  const FunctionId root = Row(&profile, "root", {1, 1, 20'000, 0});
  profile.AddCallerStats(root, Row(&profile, "a", {1, 1, 30'000, 30'000}), {1, 1, 30'000, 30'000});
  RepairSummary summary;
  EXPECT_EQ(Text(RepairProfile(profile, {}, &summary)),
            "root 1/1 20000 50000\n"
            "a 1/1 30000 30000 <root 1/1 30000 30000");
  EXPECT_THAT(summary.Sentences(), ElementsAre("as long as what they call: 1 function that nothing calls"));
}

TEST(RepairProfileTest, MakesEveryProfileOpen) {
  struct Case {
    std::string name;
    std::function<void(Profile*)> make;
    std::string failures;
  };
  const Case cases[] = {
      {"empty", [](Profile*) {}, "empty_profile"},
      {"one row",
       [](Profile* p) {
         Row(p, "f", {1, 1, 20'000, 20'000});
       },
       "flat"},
      {"flat",
       [](Profile* p) {
         Row(p, "f", {1, 1, 2, 2}), Row(p, "g", {1, 1, 3, 3});
       },
       "flat short_root"},
      {"cycle",
       [](Profile* p) {
         const FunctionId a = Row(p, "a", {1, 2, 500'000, 1'000'000});
         const FunctionId b = Row(p, "b", {1, 1, 500'000, 900'000});
         p->AddCallerStats(a, b, {1, 1, 500'000, 900'000}), p->AddCallerStats(b, a, {1, 1, 200'000, 400'000});
       },
       "no_root"},
      {"calls itself",
       [](Profile* p) {
         const FunctionId a = Row(p, "a", {1, 2, 500'000, 500'000});
         p->AddCallerStats(a, a, {1, 1, 200'000, 200'000});
       },
       "no_root"},
      {"short",
       [](Profile* p) {
         const FunctionId a = Row(p, "a", {1, 1, 500, 1'000});
         p->AddCallerStats(a, Row(p, "b", {1, 1, 500, 500}), {1, 1, 500, 500});
       },
       "short_root"},
      {"no times",
       [](Profile* p) {
         const FunctionId a = Row(p, "a", {1, 1, 0, 0});
         p->AddCallerStats(a, Row(p, "b", {1, 1, 0, 0}), {1, 1, 0, 0});
       },
       "short_root no_time"},
      {"nothing large",
       [](Profile* p) {
         const FunctionId a = Row(p, "a", {1, 1, 0, 20'000'000});
         for (int i = 0; i < 2000; ++i) {
           p->AddCallerStats(a, Row(p, absl::StrCat(i), {1, 1, 10'000, 10'000}), {1, 1, 10'000, 10'000});
         }
       },
       "nothing_large"},
      {"deep",
       [](Profile* p) {
         FunctionId previous{};
         for (int i = 0; i < 1500; ++i) {
           const CallStats stats{1, 1, 1'000'000, int64_t{1'000'000} * (1500 - i)};
           const FunctionId f = Row(p, absl::StrCat(i), stats);
           if (i > 0) p->AddCallerStats(previous, f, stats);
           previous = f;
         }
       },
       "too_deep_for_tuna too_deep_for_flameprof"},
      {"dense cycle",
       [](Profile* p) {
         std::vector<FunctionId> all;
         for (int i = 0; i < 45; ++i) all.push_back(Row(p, absl::StrCat(i), {44, 45, 1'000'000, 45'000'000}));
         for (const FunctionId callee : all) {
           for (const FunctionId caller : all) {
             if (caller != callee) p->AddCallerStats(caller, callee, {1, 1, 20'000, 1'000'000});
           }
         }
         const FunctionId root = Row(p, "root", {1, 1, 0, 45'000'000});
         p->AddCallerStats(root, all[0], {1, 1, 120'000, 45'000'000});
       },
       "too_large_tree too_deep_for_flameprof"},
      {"one text twice",
       [](Profile* p) {
         *p = Good();
         for (const FunctionId f : {p->AddFunction("b.py:3(x)", 1, "y"), p->AddFunction("b.py", 3, "x):1(y")}) {
           p->AddStats(f, {1, 1, 10, 10});
           p->AddCallerStats(*p->FindFunction("f.py", 1, "root"), f, {1, 1, 10, 10});
         }
       },
       "same_text"},
  };
  for (const Case& c : cases) {
    Profile profile;
    c.make(&profile);
    EXPECT_EQ(Failures(profile), c.failures) << c.name;
    RepairSummary summary;
    const Profile repaired = RepairProfile(profile, {}, &summary);
    EXPECT_EQ(Failures(repaired), "") << c.name;
    EXPECT_FALSE(summary.Sentences().empty()) << c.name;
    // No time is lost; one ns or the stated padding may be added.
    EXPECT_LE(profile.Total().own_ns, repaired.Total().own_ns) << c.name;
    EXPECT_GE(profile.Total().own_ns + 1 + summary.padding_ns, repaired.Total().own_ns) << c.name;
    // A second repair finds nothing to do.
    RepairProfile(repaired, {}, &summary);
    EXPECT_THAT(summary.Sentences(), IsEmpty()) << c.name;
  }
}

TEST(RepairProfileTest, CutsChains) {
  Profile profile;
  FunctionId previous{};
  for (int i = 0; i < 5; ++i) {
    const CallStats stats{1, 1, 1'000'000, int64_t{1'000'000} * (5 - i)};
    const FunctionId f = Row(&profile, absl::StrCat("f", i), stats);
    if (i > 0) profile.AddCallerStats(previous, f, stats);
    previous = f;
  }
  RepairSummary summary;
  RepairOptions options;
  options.max_depth = 3;
  EXPECT_EQ(Text(RepairProfile(profile, options, &summary)),
            "f0 1/1 1000000 5000000\n"
            "f1 1/1 1000000 4000000 <f0 1/1 1000000 4000000\n"
            "<deeper> 1/1 3000000 3000000 <f1 1/1 3000000 3000000");
  EXPECT_THAT(
      summary.Sentences(),
      ElementsAre("cut at 3 functions below each other: 3 functions and the calls of 0 callers are in <deeper>"));
  options.max_depth = 5;
  EXPECT_EQ(Text(RepairProfile(profile, options, &summary)), Text(profile));
  EXPECT_THAT(summary.Sentences(), IsEmpty());
}

TEST(RepairProfileTest, MaxDepthZeroCutsNothing) {
  Profile profile;
  FunctionId previous{};
  for (int i = 0; i < 400; ++i) {
    const CallStats stats{1, 1, 1'000'000, int64_t{1'000'000} * (400 - i)};
    const FunctionId f = Row(&profile, absl::StrCat("f", i), stats);
    if (i > 0) profile.AddCallerStats(previous, f, stats);
    previous = f;
  }
  RepairOptions options;
  options.max_depth = 0;
  EXPECT_EQ(Text(RepairProfile(profile, options)), Text(profile));
}

TEST(RepairProfileTest, CutsWhatDoesNotGoDown) {
  // root calls a (30 ms), which calls b (20 ms), which calls c (10 ms); root calls c as well (10 ms).
  Profile profile;
  const int64_t kMs = 1'000'000;
  const FunctionId root = Row(&profile, "root", {1, 1, 0, 40 * kMs});
  const FunctionId a = Row(&profile, "a", {1, 1, 10 * kMs, 30 * kMs});
  const FunctionId b = Row(&profile, "b", {1, 1, 10 * kMs, 20 * kMs});
  const FunctionId c = Row(&profile, "c", {2, 2, 20 * kMs, 20 * kMs});
  profile.AddCallerStats(root, a, {1, 1, 10 * kMs, 30 * kMs});
  profile.AddCallerStats(a, b, {1, 1, 10 * kMs, 20 * kMs});
  profile.AddCallerStats(root, c, {1, 1, 10 * kMs, 10 * kMs});
  profile.AddCallerStats(b, c, {1, 1, 10 * kMs, 10 * kMs});
  RepairOptions options;
  options.max_depth = 3;
  // b is the third function on its shortest path; with it go its calls of c.
  EXPECT_EQ(Text(RepairProfile(profile, options)),
            "root 1/1 0 40000000\n"
            "a 1/1 10000000 30000000 <root 1/1 10000000 30000000\n"
            "c 1/1 10000000 10000000 <root 1/1 10000000 10000000\n"
            "<deeper> 1/1 20000000 20000000 <a 1/1 20000000 20000000");
}

TEST(RepairProfileTest, TakesAnotherRoot) {
  Profile profile = Good();
  const FunctionId a = *profile.FindFunction("f.py", 1, "a");
  const FunctionId b = *profile.FindFunction("f.py", 1, "b");
  const FunctionId other = Row(&profile, "other", {1, 1, 5'000, 10'000});
  profile.AddCallerStats(other, b, {2, 2, 5'000, 5'000});
  profile.AddStats(b, {2, 2, 5'000, 5'000});
  profile.AddCallerStats(b, a, {1, 0, 1'000, 0});  // a calls b calls a
  RepairSummary summary;
  RepairOptions options;
  options.root = a;
  EXPECT_EQ(Text(RepairProfile(profile, options, &summary)),
            "a 2/2 50000 75000\n"
            "b 1/1 25000 25000 <a 1/1 25000 25000");
  EXPECT_THAT(summary.Sentences(), ElementsAre("2 functions not reached from the root dropped"));
}

TEST(RepairProfileTest, BearsAnyNumbers) {
  const int64_t numbers[] = {INT64_MIN, -1, 0, 1, INT64_MAX};
  for (const int64_t calls : numbers) {
    for (const int64_t ns : numbers) {
      Profile profile;
      const CallStats stats{calls, calls, ns, ns};
      std::vector<FunctionId> ids;
      for (int i = 0; i < 5; ++i) ids.push_back(Row(&profile, absl::StrCat(i), stats));
      for (int i = 0; i < 5; ++i) {
        for (int j = 0; j < 5; ++j) profile.AddCallerStats(ids[i], ids[j], stats);
      }
      RepairOptions options;
      for (const uint32_t max_depth : {0, 1, 2, 3}) {
        options.max_depth = max_depth;
        options.root = max_depth == 3 ? std::optional<FunctionId>(ids[1]) : std::nullopt;
        EXPECT_GE(RepairProfile(profile, options).row_count(), 2u);
      }
    }
  }
}

TEST(RepairProfileTest, TakesLinearTime) {
  constexpr int kCount = 200'000;
  Profile profile;
  profile.Reserve(kCount, 2 * kCount);
  std::vector<FunctionId> ids;
  for (int i = 0; i < kCount; ++i) {
    ids.push_back(Row(&profile, absl::StrCat("f", i), {2, 2, 1000, int64_t{1000} * (kCount - i)}));
  }
  for (int i = 2; i < kCount; ++i) {
    for (const int caller : {i / 2, i - 1}) profile.AddCallerStats(ids[caller], ids[i], {1, 1, 500, 500});
  }
  const auto start = std::chrono::steady_clock::now();
  RepairOptions options;
  options.max_depth = 20;
  const Profile repaired = RepairProfile(profile, options);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  EXPECT_EQ(repaired.Total().own_ns, profile.Total().own_ns);
}

}  // namespace
}  // namespace tracekiln::profile_health
