#include "analysis/profile_health/profile_health.h"

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tracekiln::profile_health {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Maker {
  FunctionId Row(const std::string& name, int64_t own_ns, int64_t cumulative_ns, int64_t calls = 1) {
    const FunctionId f = profile.AddFunction("f.py", 1, name);
    profile.AddStats(f, {calls, calls, own_ns, cumulative_ns});
    return f;
  }
  void Call(FunctionId caller, FunctionId callee, int64_t own_ns, int64_t cumulative_ns, int64_t calls = 1) {
    profile.AddCallerStats(caller, callee, {calls, calls, own_ns, cumulative_ns});
  }
  // root (25 ms of its own) calls a (50 ms), which calls b (25 ms).
  void Good() {
    root = Row("root", 25'000'000, 100'000'000);
    a = Row("a", 50'000'000, 75'000'000);
    b = Row("b", 25'000'000, 25'000'000);
    Call(root, a, 50'000'000, 75'000'000);
    Call(a, b, 25'000'000, 25'000'000);
  }
  void Named(const std::string& name) {
    Good();
    const FunctionId f = Row(name, 1'000'000, 1'000'000);
    Call(root, f, 1'000'000, 1'000'000);
  }

  Profile profile;
  ImportReport report;
  FunctionId root, a, b;
};

std::string Summary(const ProfileHealth& health) {
  std::vector<std::string> out;
  for (const ProfileFinding& finding : health.findings) {
    out.push_back(absl::StrCat(finding.severity == Severity::kWarning ? "W " : "N ", finding.code, " ", finding.count,
                               " ", absl::StrJoin(finding.viewers.Names(), ",")));
  }
  return absl::StrJoin(out, "; ");
}

TEST(ProfileHealthTest, FindsNothingInAGoodProfile) {
  Maker maker;
  maker.Good();
  const ProfileHealth health = AnalyzeProfile(maker.profile, maker.report, "\xfb...");
  EXPECT_THAT(health.findings, IsEmpty()) << Summary(health);
  EXPECT_EQ(health.snakeviz_root, maker.root);
  EXPECT_DOUBLE_EQ(*health.snakeviz_share, 1);
  EXPECT_TRUE(health.FailingViewers().empty());
}

TEST(ProfileHealthTest, FindsWhatViewersChokeOn) {
  const std::string kAllNames = "pstats,snakeviz,tuna,gprof2dot,flameprof,pyprof2calltree";
  struct Case {
    std::string name;
    std::function<void(Maker*)> make;
    std::string want;
  };
  const Case cases[] = {
      {"nothing", [](Maker*) {}, absl::StrCat("W empty_profile 1 ", kAllNames)},
      {"only a caller", [](Maker* m) { m->profile.AddFunction("f.py", 1, "f"); },
       absl::StrCat("W empty_profile 1 ", kAllNames)},
      {"missing caller",
       [](Maker* m) {
         m->Good();
         m->Call(m->profile.AddFunction("x.py", 1, "x"), m->b, 0, 0, 0);
       },
       "W caller_without_row 1 snakeviz,tuna,gprof2dot,flameprof,pyprof2calltree"},
      {"counts of callers only",
       [](Maker* m) {
         m->root = m->Row("root", 10, 20), m->a = m->Row("a", 10, 10);
         m->Call(m->root, m->a, 0, 0);
         m->report.Note("callers_without_times", 0);
       },
       "W callers_without_times 1 snakeviz,tuna,flameprof,pyprof2calltree"},
      {"nan",
       [](Maker* m) {
         m->Good();
         m->report.Note("non_finite_time", 5);
       },
       "W non_finite_time 1 snakeviz,gprof2dot,flameprof,pyprof2calltree"},
      {"bad UTF-8",
       [](Maker* m) {
         m->Good();
         m->report.Repair("invalid_utf8", 5);
         m->report.Note("count_out_of_range", 5);
         m->report.Note("trailing_bytes", 50);
         m->report.merged = 2;
       },
       absl::StrCat("W invalid_utf8 1 ", kAllNames, "; N count_out_of_range 1 ; N trailing_bytes 1 ; N merged_rows 2 ",
                    kAllNames)},
      {"one row", [](Maker* m) { m->Row("f", 20'000, 20'000); }, "W flat 1 snakeviz,flameprof"},
      {"flat and short", [](Maker* m) { m->Row("f", 20, 20), m->Row("g", 20, 20); },
       "W flat 2 snakeviz,flameprof; W short_root 2 tuna"},
      {"short",
       [](Maker* m) {
         m->root = m->Row("root", 4'000, 10'000), m->a = m->Row("a", 6'000, 6'000);
         m->Call(m->root, m->a, 6'000, 6'000);
       },
       "W short_root 1 tuna"},
      {"cycle",
       [](Maker* m) {
         m->root = m->Row("root", 500'000, 1'000'000), m->a = m->Row("a", 500'000, 900'000);
         m->Call(m->root, m->a, 500'000, 900'000), m->Call(m->a, m->root, 500'000, 900'000);
       },
       "W no_root 1 tuna; N roots_unlike_sum 1 flameprof"},
      {"no times",
       [](Maker* m) {
         m->root = m->Row("root", 0, 0), m->a = m->Row("a", 0, 0);
         m->Call(m->root, m->a, 0, 0);
       },
       "W short_root 1 tuna; W no_time 1 flameprof"},
      {"edge without time",
       [](Maker* m) {
         m->root = m->Row("root", 50'000, 100'000), m->a = m->Row("a", 50'000, 50'000);
         m->Call(m->root, m->a, 0, 0);
       },
       "W no_time_from_callers 1 flameprof; N inexact_sums 1 snakeviz,tuna,flameprof"},
      {"nothing large",
       [](Maker* m) {
         m->root = m->Row("root", 0, 2'000'000);
         for (int i = 0; i < 2000; ++i) m->Call(m->root, m->Row(absl::StrCat(i), 1000, 1000), 1000, 1000);
       },
       "W nothing_large 1 flameprof"},
      {"lone surrogate", [](Maker* m) { m->Named("a\xed\xb2\x80z"); },
       "W lone_surrogate 1 pstats,gprof2dot,flameprof,pyprof2calltree"},
      {"no surrogates", [](Maker* m) { m->Named("\xed\x9f\xbf\xee\x80\x80 \xf0\x9f\x98\x80"); }, ""},
      {"NUL", [](Maker* m) { m->Named(std::string("a\0z", 3)); }, "W nul_in_name 1 gprof2dot,flameprof"},
      {"escape", [](Maker* m) { m->Named("a\x1bz"); }, "W control_byte_in_name 1 flameprof"},
      {"U+FFFF", [](Maker* m) { m->Named("a\xef\xbf\xbfz"); }, "W control_byte_in_name 1 flameprof"},
      {"U+FFFD, tab and line breaks", [](Maker* m) { m->Named("a\xef\xbf\xbdz\t\r\n\x7f"); }, ""},
      {"end of script", [](Maker* m) { m->Named("a</ScRiPt>z"); }, "W script_end_in_name 1 snakeviz"},
      {"comment", [](Maker* m) { m->Named("a<!--z"); }, ""},
      {"comment and script", [](Maker* m) { m->Named("a<!--<SCRIPT>z"); }, "W html_comment_in_name 1 snakeviz,tuna"},
      {"one text twice",
       [](Maker* m) {
         m->Good();
         const FunctionId x = m->profile.AddFunction("b.py:3(x)", 1, "y");
         const FunctionId y = m->profile.AddFunction("b.py", 3, "x):1(y");
         m->profile.AddStats(x, {1, 1, 1000, 1000}), m->profile.AddStats(y, {1, 1, 1000, 1000});
         m->Call(m->root, x, 1000, 1000), m->Call(m->root, y, 1000, 1000);
       },
       "W same_text 1 snakeviz"},
      {"negative", [](Maker* m) { m->Good(), m->Call(m->root, m->Row("neg", -1, -1), -1, -1); },
       "N negative_time 1 snakeviz,tuna,flameprof"},
      {"odd counts",
       [](Maker* m) {
         m->Good();
         const FunctionId f = m->Row("f", 1, 1, 0);
         m->Call(m->root, f, 1, 1, 0);
       },
       "N odd_counts 1 "},
      {"calls by callers",
       [](Maker* m) {
         m->Good();
         m->Call(m->root, m->Row("more", 1, 1, 1), 1, 1, 2), m->Call(m->root, m->Row("fewer", 1, 1, 3), 1, 1, 2);
       },
       "N callers_exceed_calls 1 snakeviz,tuna,flameprof; N calls_from_outside 1 snakeviz,tuna,flameprof"},
      {"sums",
       [](Maker* m) {
         m->Good();
         m->Call(m->root, m->Row("near", 2000, 2000), 1000, 1000);
         m->Call(m->root, m->Row("off", 2001, 2001), 1000, 1000);
       },
       "N inexact_sums 1 snakeviz,tuna,flameprof"},
      {"alone", [](Maker* m) { m->Good(), m->Row("alone", 1, 1); }, "N unconnected 1 snakeviz"},
      {"two roots",
       [](Maker* m) {
         m->Good();
         const FunctionId f = m->Row("f", 50'000'000, 60'000'000);
         m->Call(f, m->Row("g", 10'000'000, 10'000'000), 10'000'000, 10'000'000);
       },
       "N root_covers_little 1 snakeviz"},
      {"several callers",
       [](Maker* m) {
         m->Good();
         m->Call(m->root, m->Row("x", 1, 1), 1, 1), m->Call(*m->profile.FindFunction("f.py", 1, "x"), m->a, 0, 0, 0);
       },
       "N cut_by_tuna 2 tuna"},
      {"roots",
       [](Maker* m) {
         m->root = m->Row("root", 10'000, 40'000), m->a = m->Row("a", 20'000, 20'000);
         m->Call(m->root, m->a, 20'000, 20'000);
       },
       "N roots_unlike_sum 1 flameprof"},
  };
  for (const Case& c : cases) {
    Maker maker;
    c.make(&maker);
    EXPECT_EQ(Summary(AnalyzeProfile(maker.profile, maker.report)), c.want) << c.name;
  }
}

TEST(ProfileHealthTest, KnowsTheProfilersOwnExit) {
  Maker maker;
  const FunctionId exit = maker.profile.AddFunction("/usr/lib/python3.11/contextlib.py", 141, "__exit__");
  maker.profile.AddStats(exit, {1, 1, 3'000, 50'000});
  const FunctionId stop = maker.Row("stop", 47'000, 47'000);
  maker.Call(exit, stop, 47'000, 47'000);
  const ProfileHealth health = AnalyzeProfile(maker.profile, maker.report);
  ASSERT_EQ(Summary(health), "N root_is_profiler 1 snakeviz");
  EXPECT_THAT(health.findings[0].first, ElementsAre(exit));
}

TEST(ProfileHealthTest, SaysHowMuchTheRootCovers) {
  Maker maker;
  maker.Good();
  const FunctionId f = maker.Row("f", 50'000'000, 60'000'000);
  maker.Call(f, maker.Row("g", 10'000'000, 10'000'000), 10'000'000, 10'000'000);
  const ProfileHealth health = AnalyzeProfile(maker.profile, maker.report);
  ASSERT_NE(health.Find("root_covers_little"), nullptr);
  // 100 of 160 ms.
  EXPECT_THAT(health.Find("root_covers_little")->text, testing::HasSubstr("with 62.5 % of the time"));
}

TEST(ProfileHealthTest, FindsDeepChains) {
  for (const int length : {300, 301, 900, 901}) {
    Maker maker;
    std::vector<FunctionId> ids;
    for (int i = 0; i < length; ++i) {
      const int64_t ns = int64_t{1'000'000} * (length - i);
      ids.push_back(maker.Row(absl::StrCat("f", i), 1'000'000, ns));
      if (i > 0) maker.Call(ids[i - 1], ids[i], 1'000'000, ns);
    }
    const ProfileHealth health = AnalyzeProfile(maker.profile, maker.report);
    EXPECT_EQ(health.Find("too_deep_for_tuna") != nullptr, length > 300) << length;
    EXPECT_EQ(health.Find("too_deep_for_flameprof") != nullptr, length > 900) << length;
  }
}

TEST(ProfileHealthTest, FindsWideGraphs) {
  Maker maker;
  std::vector<FunctionId> previous = {maker.Row("root", 0, 800'000'000)};
  for (int layer = 0; layer < 10; ++layer) {
    std::vector<FunctionId> current;
    for (int i = 0; i < 8; ++i) {
      const int64_t calls = static_cast<int64_t>(previous.size());
      current.push_back(maker.Row(absl::StrCat(layer, "_", i), 10'000'000, 100'000'000, calls));
      for (const FunctionId caller : previous) {
        maker.Call(caller, current.back(), 10'000'000 / calls, 100'000'000 / calls);
      }
    }
    previous = current;
  }
  const ProfileHealth health = AnalyzeProfile(maker.profile, maker.report);
  ASSERT_NE(health.Find("too_large_tree"), nullptr) << Summary(health);
  EXPECT_EQ(health.Find("too_large_tree")->viewers, ViewerSet(Viewer::kSnakeViz));
}

TEST(ProfileHealthTest, ListsTheFirstThreeFunctions) {
  Maker maker;
  maker.Good();
  for (const char* name : {"1\x01", "2\x02", "3\x03", "4\x04"}) maker.Call(maker.root, maker.Row(name, 1, 1), 1, 1);
  const ProfileHealth health = AnalyzeProfile(maker.profile, maker.report);
  ASSERT_NE(health.Find("control_byte_in_name"), nullptr);
  EXPECT_EQ(health.Find("control_byte_in_name")->count, 4u);
  std::vector<std::string> first;
  for (const FunctionId f : health.Find("control_byte_in_name")->first) first.push_back(FunctionText(maker.profile, f));
  EXPECT_THAT(first, ElementsAre("f.py:1(1\x01)", "f.py:1(2\x02)", "f.py:1(3\x03)"));
}

TEST(ProfileHealthTest, KnowsFilesByTheirBeginning) {
  Maker maker;
  maker.Good();
  EXPECT_EQ(Summary(AnalyzeProfile(maker.profile, maker.report, "{0")), "W import_log 1 tuna");
  EXPECT_EQ(Summary(AnalyzeProfile(maker.profile, maker.report, absl::string_view("{(\3\0\0\0t\xff", 8))),
            "W python2_file 1 pstats,snakeviz,tuna,gprof2dot,flameprof,pyprof2calltree");
}

TEST(LooksLikeImportLogTest, ReadsTheFirstLineAsPythonDoes) {
  const std::string chunk(8192, 'x');
  struct Case {
    std::string name;
    std::string head;
    bool want;
  };
  const Case cases[] = {
      {"nothing", "", false},
      {"text", "{0", true},
      {"0xfb", "\xfb{0", false},
      {"bad byte behind the line, in its chunk", "x\n\xff", false},
      {"bad byte in the next chunk", "x\n" + std::string(8190, 'x') + "\xff", true},
      {"line ends in the second chunk", chunk + "\n\xff", false},
      {"bad byte behind that chunk", chunk + "\r" + std::string(8191, 'x') + "\xff", true},
      {"character across the end of the chunk", "\n" + std::string(8190, 'x') + "\xc3\xa9\xff", true},
      {"lone surrogate", "a\xed\xb2\x80", false},
      {"overlong", "a\xc0\x80", false},
      {"beyond Unicode", "a\xf4\x90\x80\x80", false},
      {"emoji", "\xf0\x9f\x98\x80", true},
      {"cut off", "abc\xf0\x9f", false},
  };
  for (const Case& c : cases) EXPECT_EQ(LooksLikeImportLog(c.head), c.want) << c.name;
}

TEST(ProfileHealthTest, TakesLinearTime) {
  constexpr int kCount = 200'000;
  Maker maker;
  maker.profile.Reserve(kCount, 2 * kCount);
  std::vector<FunctionId> ids;
  for (int i = 0; i < kCount; ++i) ids.push_back(maker.Row(absl::StrCat("f", i), 1000, 1000 * (kCount - i), 2));
  for (int i = 2; i < kCount; ++i) {
    for (const int caller : {i / 2, i - 1}) maker.Call(ids[caller], ids[i], 500, 500);
  }
  const auto start = std::chrono::steady_clock::now();
  const ProfileHealth health = AnalyzeProfile(maker.profile, maker.report);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  ASSERT_NE(health.Find("many_rows"), nullptr);
  EXPECT_EQ(health.Find("many_rows")->count, 200'000u);
}

}  // namespace
}  // namespace tracekiln::profile_health
