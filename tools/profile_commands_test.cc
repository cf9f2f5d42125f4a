// The commands stats and diff over a made-up format, through RunTool as main calls it.
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/commands.h"
#include "tools/fake_format.h"

namespace tracekiln::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kProfile[] =
    "FAKE\n"
    "function d/a.py 1 main 1 1 1000000 10000000\n"
    "function d/a.py 9 fib 15 1 5000001 9000000\n"
    "function ~ 0 <len> 4 4 4000000 4000000\n"
    "function d/b.py 7 back 2 2 -2000000 -2000000\n"
    "call d/a.py 1 main d/a.py 9 fib 1 1 1000000 9000000\n"
    "call d/a.py 9 fib d/a.py 9 fib 14 2 4000001 7000000\n"
    "call d/a.py 9 fib ~ 0 <len> 4 4 4000000 4000000\n"
    "call d/a.py 1 main d/b.py 7 back 2 2 -2000000 -2000000\n";

// Of an input without any damage.
#define CLEAN_REPORT \
  "\"report\":{\"seen\":0,\"imported\":0,\"merged\":0,\"skipped\":0,\"repaired\":0,\"salvaged\":false,\"entries\":[]}"

struct Outcome {
  int status;
  std::string out;
  std::string err;
};

class ProfileCommandsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "/profile_commands_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    ASSERT_EQ(chdir(pattern.c_str()), 0);
    Write("a.prof", kProfile);
  }

  static void Write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

  Outcome Run(std::vector<std::string> args) {
    static const Command* const commands[] = {&StatsCommand(), &DiffCommand()};
    static const Format* const formats[] = {&FakeFormat()};
    Outcome outcome;
    io::StringSink out(&outcome.out);
    Streams streams;
    streams.out = &out;
    streams.err = [&](absl::string_view text) { outcome.err += std::string(text); };
    outcome.status = RunTool(commands, formats, streams, args);
    return outcome;
  }

  std::string RunOk(std::vector<std::string> args) {
    const Outcome outcome = Run(std::move(args));
    EXPECT_EQ(outcome.status, 0);
    EXPECT_THAT(outcome.err, IsEmpty());
    return outcome.out;
  }

  // The text behind the line with the time of the file.
  std::string RunText(std::vector<std::string> args) {
    const std::string out = RunOk(std::move(args));
    return out.substr(out.find('\n') + 1);
  }
};

TEST_F(ProfileCommandsTest, HelpHasExamples) {
  for (const char* name : {"stats", "diff"}) {
    EXPECT_THAT(RunOk({name, "--help"}), HasSubstr(absl::StrCat("Examples:\n  tracekiln ", name)));
  }
}

TEST_F(ProfileCommandsTest, WrongUsageIsOneLineAndStatusTwo) {
  struct Case {
    std::vector<std::string> args;
    const char* want;
  };
  const Case kCases[] = {
      {{"stats"}, "which profile?"},
      {{"stats", "a.prof", "--format", "xml"}, "--format is text, json, csv or collapsed"},
      {{"stats", "a.prof", "--sort", "cum"}, "--sort: no sort key \"cum\""},
      {{"stats", "a.prof", "--limit", "1.5"}, "--limit: a limit is"},
      {{"stats", "a.prof", "--filter", "("}, "--filter: \"(\": missing )"},
      {{"stats", "a.prof", "-f", "collapsed", "--limit", "3"}, "--limit has no meaning"},
      {{"stats", "a.prof", "--max-stacks", "3"}, "--max-stacks is for"},
      {{"stats", "a.prof", "-f", "collapsed", "--max-stacks", "1"}, "--max-stacks takes a whole number"},
      {{"stats", "a.prof", "-f", "csv", "--callers", "--callees"}, "not both"},
      {{"stats", "a.prof", "--from", "nope"}, "there are fake"},
      {{"diff"}, "give two profiles"},
      {{"diff", "a.prof"}, "give two profiles"},
      {{"diff", "a.prof", "a.prof", "a.prof"}, "give two profiles"},
      {{"diff", "-", "-"}, "can't be both"},
      {{"diff", "a.prof", "a.prof", "--format", "collapsed"}, "--format is text, json or csv"},
      {{"diff", "a.prof", "a.prof", "--sort", "calls"}, "--sort is own or cumulative"},
      {{"diff", "a.prof", "a.prof", "--limit", "0.5"}, "--limit takes a whole number"},
      {{"diff", "a.prof", "a.prof", "--filter", "["}, "--filter: \"[\": missing ]"},
  };
  for (const Case& c : kCases) {
    const Outcome outcome = Run(c.args);
    EXPECT_EQ(outcome.status, 2) << c.want;
    EXPECT_THAT(outcome.err, HasSubstr(c.want));
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_THAT(outcome.out, IsEmpty());
  }
}

TEST_F(ProfileCommandsTest, TimelinesAreMadeProfiles) {
  Write("timeline", "FAKE\nslice a cpu_op 10 10 0 100000\n");
  const Outcome outcome = Run({"stats", "timeline", "--format", "csv"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("a,1,1,"));
}

TEST_F(ProfileCommandsTest, InputsThatAreNoProfilesFail) {
  Write("timeline", "FAKE\n");
  Write("broken", absl::StrCat(kProfile, "broken\n"));
  for (const char* command : {"stats", "diff"}) {
    Outcome outcome = Run({command, "a.prof", "timeline"});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_EQ(outcome.err, "tracekiln: timeline: a fake trace without slices and without a profile\n");
    EXPECT_THAT(outcome.out, IsEmpty());
    outcome = Run({command, "broken", "a.prof"});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_EQ(outcome.err, "tracekiln: broken:9: broken\n");
    outcome = Run({command, "broken", "a.prof", "--salvage"});
    EXPECT_EQ(outcome.status, 3);
    EXPECT_THAT(outcome.err, HasSubstr("broken: "));
    EXPECT_THAT(outcome.out, Not(IsEmpty()));
    EXPECT_EQ(Run({command, "missing", "a.prof"}).status, 1);
  }
}

TEST_F(ProfileCommandsTest, StatsPrintsAsPstats) {
  EXPECT_EQ(RunText({"stats", "a.prof", "--sort", "tottime", "--filter", "py", "--limit", "2"}),
            "\n"
            "         22 function calls (8 primitive calls) in 0.008 seconds\n"
            "\n"
            "   Ordered by: internal time\n"
            "   List reduced from 4 to 3 due to restriction <'py'>\n"
            "   List reduced from 3 to 2 due to restriction <2>\n"
            "\n"
            "   ncalls  tottime  percall  cumtime  percall filename:lineno(function)\n"
            "     15/1    0.005    0.000    0.009    0.009 d/a.py:9(fib)\n"
            "        1    0.001    0.001    0.010    0.010 d/a.py:1(main)\n"
            "\n\n");
  EXPECT_EQ(RunOk({"stats", "a.prof", "--strip-dirs", "--limit=0.5", "--callers", "--callees", "-snone"}),
            "   Random listing order was used\n"
            "   List reduced from 4 to 2 due to restriction <0.5>\n"
            "\n"
            "Function      was called by...\n"
            "                  ncalls  tottime  cumtime\n"
            "a.py:1(main)  <- \n"
            "a.py:9(fib)   <-       1    0.001    0.009  a.py:1(main)\n"
            "                    14/2    0.004    0.007  a.py:9(fib)\n"
            "\n\n"
            "   Random listing order was used\n"
            "   List reduced from 4 to 2 due to restriction <0.5>\n"
            "\n"
            "Function      called...\n"
            "                  ncalls  tottime  cumtime\n"
            "a.py:1(main)  ->       1    0.001    0.009  a.py:9(fib)\n"
            "                       2   -0.002   -0.002  b.py:7(back)\n"
            "a.py:9(fib)   ->    14/2    0.004    0.007  a.py:9(fib)\n"
            "                       4    0.004    0.004  {len}\n"
            "\n\n");
}

TEST_F(ProfileCommandsTest, SeveralProfilesAreAddedUp) {
  Write("b.prof", "FAKE\nfunction x 1 new 1 1 5000000 5000000\nfunction d/a.py 1 main 2 2 1000000 1000000\n");
  const std::string out = RunOk({"stats", "a.prof", "b.prof", "a.prof", "--sort", "none", "--limit", "0.9"});
  const std::vector<std::string> lines = absl::StrSplit(out, '\n');
  EXPECT_THAT(lines[1], HasSubstr("    b.prof"));
  EXPECT_THAT(lines[4], HasSubstr("47 function calls (19 primitive calls) in 0.022 seconds"));
  EXPECT_THAT(out, HasSubstr("        4    0.003    0.001    0.021    0.005 d/a.py:1(main)\n"));
  EXPECT_THAT(out, HasSubstr("b.py:7(back)\n        1    0.005    0.005    0.005    0.005 x:1(new)\n"));
}

TEST_F(ProfileCommandsTest, StatsAsJson) {
  EXPECT_EQ(RunOk({"stats", "a.prof", "-fjson", "--sort", "calls", "--limit", "2", "--callees"}),
            "{\n\"files\":[\n{\"file\":\"a.prof\"," CLEAN_REPORT
            "}\n],\n\"functions\":4,\n\"total_calls\":22,\n\"total_primitive_calls\":8,\n"
            "\"total_own_ns\":8000001,\n"
            "\"total_own_rule\":\"sum of the own times of all functions, negative ones included; a time that is no "
            "number counts as 0\",\n"
            "\"negative_own_functions\":1,\n\"negative_own_ns\":-2000000,\n"
            "\"order\":\"call count\",\n\"rows\":[\n"
            "{\"file\":\"d/a.py\",\"line\":9,\"name\":\"fib\",\"calls\":15,\"primitive_calls\":1,\"own_ns\":5000001,"
            "\"cumulative_ns\":9000000,\"own_per_call_ns\":333333.4,\"cumulative_per_call_ns\":9e+06,\"callers\":["
            "{\"file\":\"d/a.py\",\"line\":1,\"name\":\"main\",\"calls\":1,\"primitive_calls\":1,\"own_ns\":1000000,"
            "\"cumulative_ns\":9000000},"
            "{\"file\":\"d/a.py\",\"line\":9,\"name\":\"fib\",\"calls\":14,\"primitive_calls\":2,\"own_ns\":4000001,"
            "\"cumulative_ns\":7000000}],\"callees\":["
            "{\"file\":\"d/a.py\",\"line\":9,\"name\":\"fib\",\"calls\":14,\"primitive_calls\":2,\"own_ns\":4000001,"
            "\"cumulative_ns\":7000000},"
            "{\"file\":null,\"line\":null,\"name\":\"<len>\",\"calls\":4,\"primitive_calls\":4,\"own_ns\":4000000,"
            "\"cumulative_ns\":4000000}]},\n"
            "{\"file\":null,\"line\":null,\"name\":\"<len>\",\"calls\":4,\"primitive_calls\":4,\"own_ns\":4000000,"
            "\"cumulative_ns\":4000000,\"own_per_call_ns\":1e+06,\"cumulative_per_call_ns\":1e+06,"
            "\"callers\":[{\"file\":\"d/a.py\",\"line\":9,\"name\":\"fib\",\"calls\":4,\"primitive_calls\":4,"
            "\"own_ns\":4000000,\"cumulative_ns\":4000000}],\"callees\":[]}\n]\n}\n");
  EXPECT_THAT(RunOk({"stats", "a.prof", "-fjson", "--limit", "0"}), HasSubstr("\"rows\":[]\n}\n"));
}

TEST_F(ProfileCommandsTest, StatsWithoutCallsHaveNoTimePerCall) {
  Write("z.prof", "FAKE\nfunction =x 1 a\"b,\xed\xb2\x80 0 0 5 5\n");
  EXPECT_THAT(RunOk({"stats", "z.prof", "-fjson"}), HasSubstr("\"name\":\"a\\\"b,\\\\udc80\""));
  EXPECT_THAT(RunOk({"stats", "z.prof", "-fjson"}),
              HasSubstr("\"own_per_call_ns\":null,\"cumulative_per_call_ns\":null"));
  EXPECT_EQ(RunOk({"stats", "z.prof", "-fcsv"}),
            "file,line,name,calls,primitive_calls,own_ns,cumulative_ns,own_per_call_ns,cumulative_per_call_ns\n"
            "\"=x\",1,\"a\"\"b,\\udc80\",0,0,5,5,,\n");
}

TEST_F(ProfileCommandsTest, StatsAsCsv) {
  EXPECT_EQ(RunOk({"stats", "a.prof", "-fcsv", "--sort", "calls", "--limit", "2"}),
            "file,line,name,calls,primitive_calls,own_ns,cumulative_ns,own_per_call_ns,cumulative_per_call_ns\n"
            "d/a.py,9,fib,15,1,5000001,9000000,333333.4,9e+06\n"
            ",,<len>,4,4,4000000,4000000,1e+06,1e+06\n");
  EXPECT_EQ(RunOk({"stats", "a.prof", "-fcsv", "--filter", "fib", "--callers"}),
            "file,line,name,caller_file,caller_line,caller_name,calls,primitive_calls,own_ns,cumulative_ns\n"
            "d/a.py,9,fib,d/a.py,1,main,1,1,1000000,9000000\n"
            "d/a.py,9,fib,d/a.py,9,fib,14,2,4000001,7000000\n");
  EXPECT_EQ(RunOk({"stats", "a.prof", "-fcsv", "--filter", "main", "--callees"}),
            "file,line,name,callee_file,callee_line,callee_name,calls,primitive_calls,own_ns,cumulative_ns\n"
            "d/a.py,1,main,d/a.py,9,fib,1,1,1000000,9000000\n"
            "d/a.py,1,main,d/b.py,7,back,2,2,-2000000,-2000000\n");
}

TEST_F(ProfileCommandsTest, StatsAsFoldedStacks) {
  const Outcome outcome = Run({"stats", "a.prof", "--format", "collapsed"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out,
            "d/a.py:1(main) 1000000\n"
            "d/a.py:1(main);d/a.py:9(fib) 5000001\n"
            "d/a.py:1(main);d/a.py:9(fib);{len} 4000000\n");
  EXPECT_THAT(outcome.err, HasSubstr("stacks are reconstructed"));
  EXPECT_THAT(outcome.err, HasSubstr("1 recursive call is folded"));
  EXPECT_THAT(outcome.err, HasSubstr("1 function with negative own time (-2000000 ns) left out"));
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);
  const Outcome cut = Run({"stats", "a.prof", "--format", "collapsed", "--max-depth", "1", "--strip-dirs"});
  EXPECT_EQ(cut.out, "a.py:1(main) 1000000\na.py:1(main);(more) 9000001\n");
  EXPECT_THAT(cut.err, HasSubstr("9000001 ns are in \"(more)\""));
  EXPECT_THAT(RunOk({"stats", "a.prof", "--format", "collapsed", "--quiet"}), Not(IsEmpty()));
}

constexpr char kLater[] =
    "FAKE\n"
    "function d/a.py 1 main 1 1 1000000 12500000\n"
    "function d/a.py 19 fib 15 1 8000002 11500000\n"
    "function ~ 0 <len> 4 4 4000000 4000000\n"
    "function d/c.py 1 fresh 1 1 499 500\n";

TEST_F(ProfileCommandsTest, DiffAsText) {
  Write("b.prof", kLater);
  EXPECT_EQ(
      RunOk({"diff", "a.prof", "b.prof"}),
      "before  a.prof: 4 functions, 22 calls in 0.008000 seconds\n"
      "after   b.prof: 4 functions, 21 calls in 0.013001 seconds\n"
      "change  -1 calls, +0.005001 seconds (+62.5 %)\n"
      "\n"
      "Ordered by change of own time; 1 unchanged left out\n"
      "\n"
      "                  calls                        own seconds                                  cumulative seconds\n"
      "   before     after      before       after      change        %      before       after      change  function\n"
      "        -        15           -    0.008000   +0.008000      new           -    0.011500   +0.011500  "
      "d/a.py:19(fib)\n"
      "       15         -    0.005000           -   -0.005000     gone    0.009000           -   -0.009000  "
      "d/a.py:9(fib)\n"
      "        2         -   -0.002000           -   +0.002000     gone   -0.002000           -   +0.002000  "
      "d/b.py:7(back)\n"
      "        -         1           -    0.000000    0.000000      new           -    0.000001   +0.000001  "
      "d/c.py:1(fresh)\n"
      "        1         1    0.001000    0.001000    0.000000      0.0    0.010000    0.012500   +0.002500  "
      "d/a.py:1(main)\n");
}

TEST_F(ProfileCommandsTest, DiffMatchesWithoutLinesAndDirectories) {
  Write("b.prof", kLater);
  const std::string out = RunOk({"diff", "a.prof", "b.prof", "--ignore-lines", "--strip-dirs", "--limit", "1"});
  EXPECT_THAT(out, HasSubstr("Ordered by change of own time; 1 of 4 functions shown; 1 unchanged left out\n"));
  EXPECT_THAT(out,
              HasSubstr("       15        15    0.005000    0.008000   +0.003000    +60.0    0.009000    0.011500   "
                        "+0.002500  a.py(fib)\n"));
  EXPECT_THAT(RunOk({"diff", "a.prof", "b.prof", "--all", "--filter", "len"}), HasSubstr("  {len}\n"));
  EXPECT_THAT(RunOk({"diff", "a.prof", "a.prof"}), HasSubstr("0 calls, 0.000000 seconds (0.0 %)\n"));
}

TEST_F(ProfileCommandsTest, DiffAsJsonAndCsv) {
  Write("b.prof", kLater);
  EXPECT_EQ(
      RunOk({"diff", "a.prof", "b.prof", "-fjson", "--sort", "cumulative", "--filter", "main|fib|len"}),
      "{\n\"before\":{\n\"file\":\"a.prof\",\n\"functions\":4,\n\"total_calls\":22,\n\"total_primitive_calls\":8,\n"
      "\"total_own_ns\":8000001,\n" CLEAN_REPORT
      "\n},\n"
      "\"after\":{\n\"file\":\"b.prof\",\n\"functions\":4,\n\"total_calls\":21,\n\"total_primitive_calls\":7,\n"
      "\"total_own_ns\":13000501,\n" CLEAN_REPORT
      "\n},\n"
      "\"change\":{\n\"total_calls\":-1,\n\"total_primitive_calls\":-1,\n\"total_own_ns\":5000500\n},\n"
      "\"unchanged_functions\":1,\n\"changed_functions\":5,\n\"rows\":[\n"
      "{\"file\":\"d/a.py\",\"line\":19,\"name\":\"fib\",\"before\":null,\"after\":{\"calls\":15,"
      "\"primitive_calls\":1,\"own_ns\":8000002,\"cumulative_ns\":11500000},\"change\":{\"calls\":15,"
      "\"primitive_calls\":1,\"own_ns\":8000002,\"cumulative_ns\":11500000}},\n"
      "{\"file\":\"d/a.py\",\"line\":9,\"name\":\"fib\",\"before\":{\"calls\":15,\"primitive_calls\":1,"
      "\"own_ns\":5000001,\"cumulative_ns\":9000000},\"after\":null,\"change\":{\"calls\":-15,"
      "\"primitive_calls\":-1,\"own_ns\":-5000001,\"cumulative_ns\":-9000000}},\n"
      "{\"file\":\"d/a.py\",\"line\":1,\"name\":\"main\",\"before\":{\"calls\":1,\"primitive_calls\":1,"
      "\"own_ns\":1000000,\"cumulative_ns\":10000000},\"after\":{\"calls\":1,\"primitive_calls\":1,"
      "\"own_ns\":1000000,\"cumulative_ns\":12500000},\"change\":{\"calls\":0,\"primitive_calls\":0,\"own_ns\":0,"
      "\"cumulative_ns\":2500000}}\n]\n}\n");
  EXPECT_EQ(RunOk({"diff", "a.prof", "b.prof", "-fcsv", "--limit", "2"}),
            "file,line,name,calls_before,calls_after,calls_change,primitive_calls_before,primitive_calls_after,"
            "primitive_calls_change,own_ns_before,own_ns_after,own_ns_change,cumulative_ns_before,cumulative_ns_after,"
            "cumulative_ns_change\n"
            "d/a.py,19,fib,,15,15,,1,1,,8000002,8000002,,11500000,11500000\n"
            "d/a.py,9,fib,15,,-15,1,,-1,5000001,,-5000001,9000000,,-9000000\n");
}

}  // namespace
}  // namespace tracekiln::tools
