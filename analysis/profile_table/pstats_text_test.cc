// The expected texts are what CPython 3.11's pstats prints for the same numbers. tests/pstats_text_test.py
// compares with the machine's own pstats.
#include "analysis/profile_table/pstats_text.h"

#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace tracekiln::profile_table {
namespace {

Profile SmallProfile() {
  Profile p;
  const FunctionId no_row = p.AddFunction("c.py", 1, "no row");
  const FunctionId z = p.AddFunction("b.py", 3, "z");
  const FunctionId two = p.AddFunction("b.py", 20, "two");
  const FunctionId one = p.AddFunction("größe.py", 100, "one");
  const FunctionId three = p.AddFunction("a.py", 3, "three");
  const FunctionId four = p.AddFunction("~", 0, "<built-in four>");
  p.AddStats(two, {5, 4, 300'000'000, 300'000'000});
  p.AddStats(one, {5, 5, 200'000'000, 900'000'000});
  p.AddStats(three, {0, 0, -100'000'000, 1'000'000'000'000});
  p.AddStats(four, {7, 2, 1'500'000, 99'999'999'900'000});
  p.AddCallerStats(no_row, two, {1, 1, 0, 500'000});
  p.AddCallerStats(two, one, {5, 5, 200'000'000, 900'000'000});
  p.AddCallerStats(z, one, {12, 3, 100'000'000, 1'234'567'891'400'000});
  p.AddCallerStats(two, four, {7, 2, 1'500'000, 99'999'999'900'000});
  // An edge to a function without numbers: pstats has no place for it.
  p.AddCallerStats(two, z, {1, 1, 1, 1});
  return p;
}

template <typename Write>
std::string Text(Write write) {
  std::string text;
  io::StringSink sink(&text);
  write(&sink);
  return text;
}

TEST(PstatsTextTest, TableAndHeader) {
  const Profile p = SmallProfile();
  EXPECT_EQ(Text([&](io::ByteSink* sink) { WriteHeader(p, {"Tue Dec  1 06:12:22 2026    g.prof"}, sink); }),
            "Tue Dec  1 06:12:22 2026    g.prof\n"
            "\n"
            "         17 function calls (11 primitive calls) in 0.402 seconds\n"
            "\n");
  const Selection selection = Select(p, *ParseSortOrder("time"), false, {});
  EXPECT_EQ(Text([&](io::ByteSink* sink) { WriteTable(p, selection, sink); }),
            "   Ordered by: internal time\n"
            "\n"
            "   ncalls  tottime  percall  cumtime  percall filename:lineno(function)\n"
            "      5/4    0.300    0.060    0.300    0.075 b.py:20(two)\n"
            "        5    0.200    0.040    0.900    0.180 größe.py:100(one)\n"
            "      7/2    0.002    0.000 100000.000 50000.000 {built-in four}\n"
            "        0   -0.100          1000.000          a.py:3(three)\n"
            "\n"
            "\n");
}

TEST(PstatsTextTest, CallersAndCallees) {
  const Profile p = SmallProfile();
  const CallGraph graph(p);
  const Selection selection = Select(p, *ParseSortOrder("time"), false, {});
  EXPECT_EQ(Text([&](io::ByteSink* sink) { WriteCallers(p, graph, selection, sink); }),
            "   Ordered by: internal time\n"
            "\n"
            "Function           was called by...\n"
            "                       ncalls  tottime  cumtime\n"
            "b.py:20(two)       <-       1    0.000    0.001  c.py:1(no row)\n"
            "größe.py:100(one)  <-    12/3    0.100 1234567.891  b.py:3(z)\n"
            "                            5    0.200    0.900  b.py:20(two)\n"
            "{built-in four}    <-     7/2    0.002 100000.000  b.py:20(two)\n"
            "a.py:3(three)      <- \n"
            "\n"
            "\n");
  EXPECT_EQ(Text([&](io::ByteSink* sink) { WriteCallees(p, graph, selection, sink); }),
            "   Ordered by: internal time\n"
            "\n"
            "Function           called...\n"
            "                       ncalls  tottime  cumtime\n"
            "b.py:20(two)       ->       5    0.200    0.900  größe.py:100(one)\n"
            "                          7/2    0.002 100000.000  {built-in four}\n"
            "größe.py:100(one)  -> \n"
            "{built-in four}    -> \n"
            "a.py:3(three)      -> \n"
            "\n"
            "\n");
}

TEST(PstatsTextTest, SaysHowTheListWasReduced) {
  const Profile p = SmallProfile();
  const Selection selection = Select(p, {}, false, {*ParseFilter("o"), *ParseLimit("0.5")});
  EXPECT_EQ(Text([&](io::ByteSink* sink) { WriteTable(p, selection, sink); }),
            "   Random listing order was used\n"
            "   List reduced from 4 to 3 due to restriction <'o'>\n"
            "   List reduced from 3 to 2 due to restriction <0.5>\n"
            "\n"
            "   ncalls  tottime  percall  cumtime  percall filename:lineno(function)\n"
            "      5/4    0.300    0.060    0.300    0.075 b.py:20(two)\n"
            "        5    0.200    0.040    0.900    0.180 größe.py:100(one)\n"
            "\n"
            "\n");
  const Selection nothing = Select(p, {}, false, {*ParseFilter("xx")});
  const CallGraph graph(p);
  EXPECT_EQ(Text([&](io::ByteSink* sink) {
              WriteTable(p, nothing, sink);
              WriteCallers(p, graph, nothing, sink);
              WriteCallees(p, graph, nothing, sink);
            }),
            "");
}

TEST(PstatsTextTest, ProfilesWithoutCallersHaveNoSubheading) {
  Profile p;
  p.AddStats(p.AddFunction("~", 0, "f"), {1, 1, 0, 0});
  const CallGraph graph(p);
  EXPECT_EQ(Text([&](io::ByteSink* sink) { WriteCallers(p, graph, Select(p, {}, false, {}), sink); }),
            "   Random listing order was used\n\nFunction was called by...\nf  <- \n\n\n");
}

TEST(PstatsTextTest, HalvesAreRoundedAsTheDoublesNearestToThem) {
  // 0.0045 and 0.0055 are doubles below the halves; the products 4500000 * 1e-9 and 5500000 * 1e-9 are above.
  Profile p;
  p.AddStats(p.AddFunction("~", 0, "f"), {2, 1, 4'500'000, 5'500'000});
  // The double 7688086639.0005; these ns as a double, divided by 10^9, would be the next one, above the half.
  p.AddStats(p.AddFunction("~", 0, "g"), {1, 1, 7'688'086'639'000'499'725, -7'688'086'639'000'499'725});
  EXPECT_EQ(Text([&](io::ByteSink* sink) { WriteTable(p, Select(p, {}, false, {}), sink); }).substr(106),
            "      2/1    0.004    0.002    0.005    0.005 f\n"
            "        1 7688086639.000 7688086639.000 -7688086639.000 -7688086639.000 g\n\n\n");
}

TEST(PstatsTextTest, NamesThatHarmAreEscaped) {
  Profile p;
  const FunctionId f = p.AddFunction("a\n.py", 1, "f\xed\xb2\x80");
  p.AddStats(f, {1, 1, 0, 0});
  p.AddCallerStats(f, f, {1, 0, 0, 0});
  p.AddCallerStats(p.AddFunction("jprofile", 0, "profiler"), f, {1, 1, 0, 0});
  const CallGraph graph(p);
  EXPECT_EQ(Text([&](io::ByteSink* sink) {
              WriteHeader(p, {}, sink);
              WriteCallers(p, graph, Select(p, {}, false, {}), sink);
            }),
            "         f\\udc80\n"
            "         1 function calls in 0.000 seconds\n\n"
            "   Random listing order was used\n\n"
            "Function             was called by...\n"
            "                         ncalls  tottime  cumtime\n"
            "a\\x0a.py:1(f\\udc80)  <-     1/0    0.000    0.000  a\\x0a.py:1(f\\udc80)\n"
            "                              1    0.000    0.000  jprofile:0(profiler)\n\n\n");
}

TEST(PstatsTextTest, FileLinesHaveTheTimeOfTheLastChange) {
  setenv("TZ", "UTC", 1);
  tzset();
  const std::string path = ::testing::TempDir() + "/file_lines.prof";
  std::ofstream(path) << "x";
  const timeval times[2] = {{0, 0}, {1700000009, 999999}};
  ASSERT_EQ(utimes(path.c_str(), times), 0);
  EXPECT_EQ(PstatsFileLine(path), "Tue Nov 14 22:13:29 2023    " + path);
  EXPECT_EQ(PstatsFileLine("/no/such/\x1b[0m"), "/no/such/\\x1b[0m");
  EXPECT_EQ(PstatsFileLine("-"), "<stdin>");
}

}  // namespace
}  // namespace tracekiln::profile_table
