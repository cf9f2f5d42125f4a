// `check` of profiles over a made-up format, and --repair, through RunTool as main calls it.
#include "tools/profile_check.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "formats/io/input.h"
#include "formats/pstats/pstats_reader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/commands.h"
#include "tools/fake_format.h"

namespace tracekiln::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kGood[] =
    "FAKE\n"
    "function a.py 1 main 1 1 25000 100000\n"
    "function a.py 9 step 2 2 75000 75000\n"
    "call a.py 1 main a.py 9 step 2 2 75000 75000\n";
// Too short for tuna, and a name that SnakeViz's page can't hold.
constexpr char kBad[] =
    "FAKE\n"
    "function a.py 1 main 1 1 250 1000\n"
    "function a.py 9 </script> 2 2 750 750\n"
    "call a.py 1 main a.py 9 </script> 2 2 750 750\n";

struct Outcome {
  int status;
  std::string out;
  std::string err;
};

class ProfileCheckTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "/profile_check_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    ASSERT_EQ(chdir(pattern.c_str()), 0);
    Write("good.fake", kGood);
    Write("bad.fake", kBad);
  }

  static void Write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
  static std::string Read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
  static bool Exists(const std::string& path) {
    struct stat info;
    return stat(path.c_str(), &info) == 0;
  }

  Outcome Run(std::vector<std::string> args) {
    static const Command* const commands[] = {&CheckCommand()};
    static const Format* const formats[] = {&FakeFormat()};
    args.insert(args.begin(), "check");
    Outcome outcome;
    io::StringSink out(&outcome.out);
    Streams streams;
    streams.out = &out;
    streams.err = [&](absl::string_view text) { outcome.err += std::string(text); };
    outcome.status = RunTool(commands, formats, streams, args);
    return outcome;
  }
};

TEST_F(ProfileCheckTest, SaysThatAGoodProfileOpens) {
  const Outcome outcome = Run({"good.fake"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, StartsWith("good.fake: opens in every viewer, 0 notes\n"));
  EXPECT_THAT(outcome.out, HasSubstr("\n  2 functions, 3 calls, 100 us of own time\n"));
  EXPECT_THAT(outcome.out, HasSubstr("\n  SnakeViz starts at a.py:1(main), 100.0 % of the time\n"));
  // There is no timeline to find fault with.
  EXPECT_THAT(outcome.out, Not(HasSubstr("no_events")));
}

TEST_F(ProfileCheckTest, SaysWhichViewersFailAndWhy) {
  const Outcome outcome = Run({"bad.fake"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, StartsWith("bad.fake: 2 warnings, 0 notes; fails in snakeviz, tuna\n"));
  EXPECT_THAT(outcome.out, HasSubstr("\n  warning  short_root (tuna): 1; "));
  EXPECT_THAT(outcome.out, HasSubstr("\n             a.py:9(</script>)\n"));
}

TEST_F(ProfileCheckTest, PrintsJson) {
  const Outcome outcome = Run({"bad.fake", "--format", "json"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, StartsWith("{\"file\":\"bad.fake\",\"warnings\":2,\"notes\":0,\"profile\":{\"functions\":2,"
                                      "\"edges\":1,\"calls\":3,\"own_ns\":1000,\"failing_viewers\":[\"snakeviz\","
                                      "\"tuna\"],\"snakeviz_root\":{\"file\":\"a.py\",\"line\":1,\"name\":\"main\"},"
                                      "\"snakeviz_share\":1"));
  EXPECT_THAT(outcome.out, HasSubstr("{\"code\":\"short_root\",\"severity\":\"warning\",\"viewers\":[\"tuna\"],"
                                     "\"count\":1,\"first\":[{\"file\":\"a.py\",\"line\":1,\"name\":\"main\"}]"));
}

TEST_F(ProfileCheckTest, PrintsUtf8WhateverNamesAre) {
  Write("x.fake", "FAKE\nfunction a\xed\xb2\x80.py 1 ma\x1bin 1 1 25000 25000\n");
  for (const char* format : {"text", "json"}) {
    const std::string out = Run({"x.fake", "--format", format}).out;
    EXPECT_THAT(out, HasSubstr("udc80.py"));
    EXPECT_THAT(out, Not(HasSubstr("\xed")));
    EXPECT_THAT(out, Not(HasSubstr("\x1b")));
  }
}

TEST_F(ProfileCheckTest, ReportsATimelineAndItsProfile) {
  Write("both.fake", absl::StrCat(kBad, "slice a c 1 1 0 1\n"));
  const std::string text = Run({"both.fake"}).out;
  EXPECT_THAT(text, HasSubstr("1 event, 1 slice"));
  EXPECT_THAT(text, HasSubstr("fails in snakeviz, tuna"));
  const std::string json = Run({"both.fake", "--format", "json"}).out;
  EXPECT_THAT(json, HasSubstr("\"events\":1"));
  EXPECT_THAT(json, HasSubstr("\"failing_viewers\":[\"snakeviz\",\"tuna\"]"));
  EXPECT_EQ(std::count(json.begin(), json.end(), '\n'), 1);
}

TEST_F(ProfileCheckTest, RepairsIntoAnotherFile) {
  const Outcome outcome = Run({"bad.fake", "--repair", "-o", "out.prof"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("\nout.prof: opens in every viewer; a row <built-in method builtins.exec> added"));
  EXPECT_EQ(Read("bad.fake"), kBad);
  absl::StatusOr<std::unique_ptr<io::Input>> input = io::OpenInput("out.prof");
  ASSERT_TRUE(input.ok());
  const absl::StatusOr<Profile> profile = pstats::ReadPstats(*(*input)->Stream(), {}, nullptr);
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(profile->row_count(), 3u);
  EXPECT_EQ(profile->Total().own_ns, 1000);
  EXPECT_TRUE(profile->FindFunction("a.py", 9, "<\\/script>").has_value());
}

TEST_F(ProfileCheckTest, RepairTakesARootAndADepth) {
  Write("x.fake",
        "FAKE\n"
        "function a.py 1 main 1 1 20000 100000\n"
        "function a.py 2 f 1 1 20000 80000\n"
        "function a.py 3 g 1 1 20000 60000\n"
        "function a.py 4 h 1 1 20000 40000\n"
        "function a.py 5 i 1 1 20000 20000\n"
        "call a.py 1 main a.py 2 f 1 1 20000 80000\n"
        "call a.py 2 f a.py 3 g 1 1 20000 60000\n"
        "call a.py 3 g a.py 4 h 1 1 20000 40000\n"
        "call a.py 4 h a.py 5 i 1 1 20000 20000\n");
  const Outcome outcome = Run({"x.fake", "--repair", "-o", "out.prof", "--root", ":2\\(f", "--max-depth", "3"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("the root is a.py:2(f)"));
  EXPECT_THAT(outcome.out, HasSubstr("1 function not reached from the root dropped; cut at 3 functions below each "
                                     "other: 2 functions and the calls of 0 callers are in <deeper>\n"));
  const Outcome none = Run({"x.fake", "--repair", "-o", "none.prof", "--root", "nobody"});
  EXPECT_EQ(none.status, 1);
  EXPECT_THAT(none.err, HasSubstr("no function matches \"nobody\""));
  EXPECT_FALSE(Exists("none.prof"));
}

TEST_F(ProfileCheckTest, WrongUsageIsStatusTwoAndWritesNothing) {
  ASSERT_EQ(symlink("bad.fake", "link"), 0);
  struct Case {
    std::vector<std::string> args;
    std::string message;
  };
  const Case cases[] = {
      {{"bad.fake", "--repair"}, "--repair needs -o FILE.prof"},
      {{"bad.fake", "--repair", "-o", "-"}, "--repair needs -o FILE.prof"},
      {{"bad.fake", "--repair", "-o", ""}, "--repair needs -o FILE.prof"},
      {{"bad.fake", "good.fake", "--repair", "-o", "out.prof"}, "--repair takes one profile"},
      {{"bad.fake", "--repair", "-o", "bad.fake"}, "is the input itself"},
      {{"bad.fake", "--repair", "-o", "link"}, "is the input itself"},
      {{"bad.fake", "-o", "out.prof"}, "--output goes with --repair"},
      {{"bad.fake", "--max-depth", "3"}, "--max-depth goes with --repair"},
      {{"bad.fake", "--root", "x"}, "--root goes with --repair"},
      {{"bad.fake", "--repair", "-o", "out.prof", "--max-depth", "1"}, "--max-depth"},
      {{"bad.fake", "--repair", "-o", "out.prof", "--root", "("}, "--root: missing )"},
  };
  for (const Case& c : cases) {
    const Outcome outcome = Run(c.args);
    EXPECT_EQ(outcome.status, 2) << c.message;
    EXPECT_THAT(outcome.err, HasSubstr(c.message));
    EXPECT_THAT(outcome.out, IsEmpty());
  }
  EXPECT_EQ(Read("bad.fake"), kBad);
  EXPECT_FALSE(Exists("out.prof"));
}

TEST_F(ProfileCheckTest, ATimelineHasNothingToRepair) {
  Write("t.fake", "FAKE\nslice a c 1 1 0 1\n");
  const Outcome outcome = Run({"t.fake", "--repair", "-o", "out.prof"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("t.fake: a fake trace without a profile"));
  EXPECT_FALSE(Exists("out.prof"));
}

TEST_F(ProfileCheckTest, AnOutputThatCannotBeWrittenFails) {
  const Outcome outcome = Run({"bad.fake", "--repair", "-o", "nowhere/out.prof"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("nowhere/out.prof"));
}

TEST_F(ProfileCheckTest, FileHeadIsTheBeginning) {
  Write("long", std::string(100'000, 'x'));
  EXPECT_EQ(FileHead("long").size(), 65'536u);
  EXPECT_EQ(FileHead("good.fake"), kGood);
  EXPECT_EQ(FileHead("."), "");
  EXPECT_EQ(FileHead("-"), "");
  EXPECT_EQ(FileHead("nothing"), "");
}

}  // namespace
}  // namespace tracekiln::tools
