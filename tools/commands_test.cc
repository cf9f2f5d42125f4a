// The commands over a made-up format, through RunTool as main calls it: exit statuses, both outputs, and the files.
#include "tools/commands.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/fake_format.h"

namespace tracekiln::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kTrace[] =
    "FAKE\n"
    "rank 3\n"
    "slice a cpu_op 10 10 0 100000\n"
    "slice b cpu_op 10 10 10000 5000\n"
    "slice c cpu_op 10 11 20500 1\n"
    "slice k kernel 0 7 30000 0\n"
    "thread_name 10 11 worker\n";

constexpr char kProfile[] =
    "FAKE\n"
    "function ~ 0 <built-in> 1 1 1000 60000\n"
    "function a.py 3 f 5 2 40000 59000\n"
    "function b.py 7 \x1b[2Jg 9 9 19000 19000\n"
    "call ~ 0 <built-in> a.py 3 f 1 1 30000 59000\n"
    "call a.py 3 f a.py 3 f 4 1 10000 20000\n"
    "call a.py 3 f b.py 7 \x1b[2Jg 8 8 18000 18000\n"
    "call c.py 1 caller b.py 7 \x1b[2Jg 1 1 1000 1000\n";

struct Outcome {
  int status;
  std::string out;
  std::string err;
};

class CommandsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "/commands_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    dir_ = pattern;
    ASSERT_EQ(chdir(dir_.c_str()), 0);
  }

  static void WriteFile(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
  static std::string ReadFile(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    DIR* dir = opendir(dir_.c_str());
    while (const dirent* entry = readdir(dir)) {
      if (std::string(entry->d_name) != "." && std::string(entry->d_name) != "..") names.push_back(entry->d_name);
    }
    closedir(dir);
    std::sort(names.begin(), names.end());
    return names;
  }

  Outcome Run(std::vector<std::string> args) {
    static const Command* const commands[] = {&CatCommand(), &CheckCommand(), &ConvertCommand(), &FormatsCommand(),
                                              &InfoCommand()};
    static const Format* const formats[] = {&FakeFormat(), &FakeTwoPassFormat(), &FakeProfileFormat()};
    Outcome outcome;
    io::StringSink out(&outcome.out);
    Streams streams;
    streams.out = &out;
    streams.err = [&](absl::string_view text) { outcome.err += std::string(text); };
    outcome.status = RunTool(commands, formats, streams, args);
    return outcome;
  }

  std::string dir_;
};

TEST_F(CommandsTest, EveryCommandHasHelpWithExamples) {
  for (const char* name : {"cat", "check", "convert", "formats", "info"}) {
    const Outcome outcome = Run({name, "--help"});
    EXPECT_EQ(outcome.status, 0);
    EXPECT_THAT(outcome.out, HasSubstr("Examples:\n  tracekiln " + std::string(name)));
    EXPECT_THAT(outcome.out, HasSubstr("--jobs N"));
    EXPECT_THAT(outcome.err, IsEmpty());
    EXPECT_EQ(Run({"help", name}).out, outcome.out);
    EXPECT_THAT(Run({"--help"}).out, HasSubstr("\n  " + std::string(name)));
  }
}

TEST_F(CommandsTest, WrongUsageIsOneLineAndStatusTwo) {
  WriteFile("a.fake", kTrace);
  WriteFile("b.fake", kTrace);
  struct Case {
    std::vector<std::string> args;
    const char* want;
  };
  const Case kCases[] = {
      {{}, "a command is missing"},
      {{"convertt"}, "did you mean convert?"},
      {{"info", "--frm", "fake", "a.fake"}, "unknown flag --frm"},
      {{"info"}, "which trace?"},
      {{"cat"}, "which trace?"},
      {{"check"}, "which trace?"},
      {{"convert", "--to", "fake"}, "which trace?"},
      {{"info", "a.fake", "--format", "xml"}, "--format is text or json"},
      {{"info", "a.fake", "--from"}, "--from needs a value"},
      {{"info", "a.fake", "--from", "nope"}, "there are fake"},
      {{"info", "a.fake", "--from", "fake2"}, "there are fake"},
      {{"info", "a.fake", "--strict", "--salvage"}, "exclude each other"},
      {{"info", "a.fake", "--jobs", "0"}, "--jobs takes a whole number"},
      {{"info", "a.fake", "--option", "x"}, "KEY=VALUE"},
      {{"info", "a.fake", "--option", "=x"}, "KEY=VALUE"},
      {{"info", "a.fake", "--option", "nope=1"}, "no format has an option \"nope\""},
      {{"cat", "a.fake", "--kind", "span"}, "no kind \"span\""},
      {{"cat", "a.fake", "--name", "("}, "--name: "},
      {{"cat", "a.fake", "--from-us", "soon"}, "--from-us takes microseconds"},
      {{"cat", "a.fake", "--limit", "-1"}, "--limit takes a whole number"},
      {{"convert", "a.fake"}, "--to is missing; formats that can be written: fake, fake2, fake3"},
      {{"convert", "a.fake", "--to", "nope"}, "no format \"nope\""},
      {{"convert", "a.fake", "b.fake", "--to", "fake", "-o", "x"}, "need a directory"},
      {{"convert", "-", "--to", "fake"}, "standard input has no name"},
      {{"convert", "a.fake", "--to", "fake"}, "is the input itself"},
      {{"convert", "a.fake", "--to", "fake", "-o", "./a.fake", "--force"}, "is the input itself"},
      {{"convert", "a.fake", "--to", "fake", "-o", "x", "--compress", "rar"}, "--compress takes"},
      {{"convert", "a.fake", "--to", "fake", "-o", "x", "--compress", "zstd:99"}, "--compress zstd:99: "},
      {{"convert", "a.fake", "--to", "fake", "-o", "x", "--option", "fail=maybe"}, "fail: expected on or off"},
      {{"convert", "a.fake", "--to", "fake3", "--option", "per=category"}, "with -o DIRECTORY"},
      {{"convert", "a.fake", "--to", "fake3", "--option", "per=category", "-o", "-"}, "with -o DIRECTORY"},
      {{"convert", "a.fake", "--to", "fake3", "--option", "per=category", "-o", ""}, "with -o DIRECTORY"},
      {{"convert", "a.fake", "--to", "fake3", "--option", "per=category", "-o", "b.fake"},
       "\"b.fake\" must be a directory"},
      {{"convert", "a.fake", "--to", "fake3", "--option", "per=category", "-o", "no/such"},
       "\"no/such\" must be a directory, or one that can be made in a directory that exists"},
      {{"convert", "a.fake", "--to", "fake3", "--option", "per=category", "-o", "d", "--compress", "gzip"},
       "--compress is for one file"},
      {{"formats", "x"}, "takes no arguments"},
  };
  for (const Case& c : kCases) {
    const Outcome outcome = Run(c.args);
    EXPECT_EQ(outcome.status, 2) << c.want;
    EXPECT_THAT(outcome.err, HasSubstr(c.want));
    EXPECT_THAT(outcome.err, HasSubstr("--help)\n"));
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_THAT(outcome.out, IsEmpty());
  }
  EXPECT_THAT(Files(), ElementsAre("a.fake", "b.fake"));
  EXPECT_EQ(ReadFile("a.fake"), kTrace);
}

TEST_F(CommandsTest, ConvertWritesUnderTheNameOfTheInput) {
  ASSERT_EQ(mkdir("in", 0755), 0);
  WriteFile("in/x.fake", kTrace);
  const Outcome outcome = Run({"convert", "in/x.fake", "--to", "fake"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "tracekiln: in/x.fake: 5 events seen = 5 imported + 0 merged + 0 skipped\n");
  EXPECT_THAT(Files(), ElementsAre("in", "x.fake"));
  EXPECT_THAT(ReadFile("x.fake"), StartsWith("FAKE\nslice a cpu_op 10 10 0 100000\nslice b cpu_op 10 10 10000 5000\n"));

  const Outcome again = Run({"convert", "in/x.fake", "--to", "fake"});
  EXPECT_EQ(again.status, 2);
  EXPECT_THAT(again.err, HasSubstr("exists already; --force replaces it"));
  EXPECT_EQ(Run({"convert", "in/x.fake", "--to", "fake", "--force"}).status, 0);
  EXPECT_EQ(ReadFile("in/x.fake"), kTrace);
}

TEST_F(CommandsTest, ConvertCompressesByNameOrByFlag) {
  WriteFile("x.fake", kTrace);
  EXPECT_EQ(Run({"convert", "x.fake", "--to", "fake", "-o", "y.gz"}).status, 0);
  EXPECT_THAT(ReadFile("y.gz"), StartsWith("\x1f\x8b"));
  EXPECT_EQ(Run({"convert", "x.fake", "--to", "fake", "-o", "y.zst"}).status, 0);
  EXPECT_THAT(ReadFile("y.zst"), StartsWith("\x28\xb5\x2f\xfd"));
  EXPECT_EQ(Run({"convert", "x.fake", "--to", "fake", "-o", "z.gz", "--compress", "none"}).status, 0);
  EXPECT_THAT(ReadFile("z.gz"), StartsWith("FAKE\n"));
  EXPECT_EQ(Run({"convert", "x.fake", "--to", "fake", "--compress", "zstd:3"}).status, 0);
  EXPECT_THAT(ReadFile("x.fake.zst"), StartsWith("\x28\xb5\x2f\xfd"));
  // What was written is read again, whatever it is called.
  EXPECT_EQ(Run({"cat", "y.gz"}).out, Run({"cat", "z.gz"}).out);
  EXPECT_EQ(Run({"cat", "y.zst"}).out, Run({"cat", "z.gz"}).out);
  EXPECT_EQ(Run({"convert", "y.zst", "--to", "fake", "-o", "-"}).out, ReadFile("z.gz"));
  EXPECT_EQ(Run({"convert", "x.fake", "--to", "fake", "-o", "bad", "--compress", "zstd:99"}).status, 2);
  EXPECT_THAT(Files(), ElementsAre("x.fake", "x.fake.zst", "y.gz", "y.zst", "z.gz"));
}

TEST_F(CommandsTest, FailedConvertLeavesNothingBehind) {
  WriteFile("broken.fake", std::string(kTrace) + "broken\n");
  WriteFile("old", "precious");
  const Outcome outcome = Run({"convert", "broken.fake", "--to", "fake", "-o", "old"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.err, "tracekiln: broken.fake:7: broken\n");
  EXPECT_EQ(ReadFile("old"), "precious");
  const Outcome writer = Run({"convert", "broken.fake", "--to", "fake", "-o", "new", "--option", "fail=on"});
  EXPECT_EQ(writer.status, 1);
  EXPECT_EQ(writer.err, "tracekiln: told to fail\n");
  EXPECT_EQ(Run({"convert", "missing", "--to", "fake", "-o", "new"}).status, 1);
  EXPECT_EQ(Run({"convert", "broken.fake", "--to", "fake", "-o", "no/such/dir"}).status, 1);
  EXPECT_THAT(Files(), ElementsAre("broken.fake", "old"));
}

TEST_F(CommandsTest, SalvageKeepsWhatIsReadableAndExitsWithThree) {
  WriteFile("x.fake", std::string("FAKE\nslice a c 1 1 0 1\nbroken\nslice b c 1 1 5 1\n"));
  const Outcome outcome = Run({"convert", "x.fake", "--to", "fake", "-o", "y", "--salvage"});
  EXPECT_EQ(outcome.status, 3);
  EXPECT_THAT(outcome.err, HasSubstr("(salvaged)"));
  EXPECT_EQ(ReadFile("y"), "FAKE\nslice a c 1 1 0 1\n");
  EXPECT_EQ(Run({"info", "x.fake", "--salvage"}).status, 3);
  EXPECT_EQ(Run({"cat", "x.fake", "--salvage"}).status, 3);
  EXPECT_EQ(Run({"check", "x.fake", "--salvage"}).status, 3);
  EXPECT_EQ(Run({"check", "x.fake"}).status, 1);
}

TEST_F(CommandsTest, WarningsAreShownUnlessQuietAndFatalIfStrict) {
  WriteFile("x.fake", "FAKE\nslice a c 1 1 0 1\nrepaired invalid_utf8 191\n");
  const Outcome outcome = Run({"convert", "x.fake", "--to", "fake", "-o", "y"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.err, HasSubstr("repaired  invalid_utf8: 1 (byte 191)"));
  EXPECT_THAT(Run({"convert", "x.fake", "--to", "fake", "-o", "y", "--quiet"}).err, IsEmpty());
  EXPECT_EQ(Run({"convert", "x.fake", "--to", "fake", "-o", "z", "--strict"}).status, 1);
  EXPECT_THAT(Files(), ElementsAre("x.fake", "y"));
}

TEST_F(CommandsTest, SeveralInputsGoToADirectory) {
  WriteFile("a.fake", kTrace);
  WriteFile("b.fake", "FAKE\nbroken\n");
  ASSERT_EQ(mkdir("out", 0755), 0);
  const Outcome outcome = Run({"convert", "a.fake", "b.fake", "--to", "fake", "-o", "out"});
  EXPECT_EQ(outcome.status, 3);  // one of two
  EXPECT_THAT(ReadFile("out/a.fake"), StartsWith("FAKE\nslice a"));
  EXPECT_EQ(access("out/b.fake", F_OK), -1);
  ASSERT_EQ(mkdir("sub", 0755), 0);
  WriteFile("sub/a.fake", kTrace);
  const Outcome clash = Run({"convert", "a.fake", "sub/a.fake", "--to", "fake", "-o", "out", "--force"});
  EXPECT_EQ(clash.status, 2);
  EXPECT_THAT(clash.err, HasSubstr("two inputs would both be written to \"out/a.fake\""));
}

TEST_F(CommandsTest, OneInputIsNeverTheOutputOfAnother) {
  WriteFile("a.fake", kTrace);
  ASSERT_EQ(mkdir("sub", 0755), 0);
  WriteFile("sub/a.fake", kTrace);
  const Outcome outcome = Run({"convert", "a.fake", "sub/a.fake", "--to", "fake", "-o", "sub", "--force"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(ReadFile("sub/a.fake"), kTrace);
}

TEST_F(CommandsTest, FormatThatNeedsTwoPassesGetsThem) {
  WriteFile("x.fake", kTrace);
  const Outcome two = Run({"convert", "x.fake", "--to", "fake2", "-o", "-"});
  EXPECT_EQ(two.status, 0) << two.err;
  EXPECT_EQ(two.out, Run({"convert", "x.fake", "--to", "fake", "-o", "-"}).out);
}

TEST_F(CommandsTest, OptionsGoToTheFormatThatHasThem) {
  WriteFile("x.fake", "FAKE\nslice a c 1 1 0 1\n");
  const Outcome outcome =
      Run({"convert", "x.fake", "--to", "fake", "-o", "-", "--option", "prefix=p=", "--option", "fail=off"});
  EXPECT_EQ(outcome.out, "FAKE\nslice p=a c 1 1 0 1\n");
  // An option for writing means nothing to a command that only reads.
  const Outcome info = Run({"info", "x.fake", "--option", "fail=off"});
  EXPECT_EQ(info.status, 1);
  EXPECT_THAT(info.err, HasSubstr("--option fail=off is not for reading fake"));
}

TEST_F(CommandsTest, UnknownContentIsAnErrorThatSaysWhatItLooksLike) {
  WriteFile("x.json", "<!DOCTYPE html><html>");
  WriteFile("empty", "");
  for (const char* command : {"info", "cat", "check"}) {
    const Outcome outcome = Run({command, "x.json"});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.err, HasSubstr("x.json:0: no known trace format, this looks like an HTML page"));
    EXPECT_THAT(Run({command, "empty"}).err, HasSubstr("an empty file"));
  }
}

TEST_F(CommandsTest, EscapeSequencesOfAnInputDoNotReachTheTerminal) {
  WriteFile("x.fake", "FAKE\nrepaired \x1b]0;evil\x07 5\n");
  for (const char* command : {"info", "cat", "check"}) {
    const Outcome outcome = Run({command, "x.fake"});
    EXPECT_EQ((outcome.out + outcome.err).find('\x1b'), std::string::npos) << command;
  }
  EXPECT_THAT(Run({"convert", "x.fake", "--strict", "--to", "fake", "-o", "y"}).err, Not(HasSubstr("\x1b")));
}

TEST_F(CommandsTest, InfoShowsSumsTracksAndNames) {
  WriteFile("x.fake", kTrace);
  const Outcome outcome = Run({"info", "x.fake"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, HasSubstr("format      fake\n"));
  EXPECT_THAT(outcome.out, HasSubstr("rank        3\n"));
  EXPECT_THAT(outcome.out, HasSubstr("time span   100 us, from 0 us to 100 us\n"));
  EXPECT_THAT(outcome.out, HasSubstr("slice     cpu_op         3        105.001 us\n"));
  EXPECT_THAT(outcome.out, HasSubstr("worker\n"));
  EXPECT_THAT(outcome.err, IsEmpty());

  const Outcome json = Run({"info", "x.fake", "--format=json"});
  EXPECT_THAT(json.out,
              HasSubstr("\"rank\":3,\"world_size\":null,\"base_ns\":null,\"first_ns\":0,\"last_ns\":100000,"));
  EXPECT_THAT(json.out, HasSubstr("{\"kind\":\"slice\",\"category\":\"cpu_op\",\"events\":3,\"sum_dur_ns\":105001,"));
  EXPECT_THAT(json.out, HasSubstr("\"thread_name\":\"worker\""));
}

TEST_F(CommandsTest, TraceWithoutEventsSaysSo) {
  WriteFile("none.fake", "FAKE\n");
  WriteFile("meta.fake", "FAKE\nthread_name 1 1 main\n");
  for (const char* file : {"none.fake", "meta.fake"}) {
    for (const char* format : {"text", "json"}) {
      for (const char* command : {"info", "check"}) {
        const Outcome outcome = Run({command, file, "--format", format});
        EXPECT_EQ(outcome.status, 0);
        EXPECT_THAT(outcome.out, Not(HasSubstr("nan")));
        EXPECT_THAT(outcome.out, Not(HasSubstr("inf,")));
      }
    }
  }
  EXPECT_THAT(Run({"info", "none.fake"}).out, HasSubstr("none: the trace has no events\n"));
  EXPECT_THAT(Run({"info", "meta.fake"}).out, HasSubstr("none: the trace has no events but metadata\n"));
  EXPECT_THAT(Run({"check", "none.fake"}).out, HasSubstr("no events: nothing to analyse"));
}

TEST_F(CommandsTest, CatPrintsJsonLines) {
  WriteFile("x.fake", kTrace);
  const Outcome outcome = Run({"cat", "x.fake", "--quiet"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_EQ(outcome.out,
            "{\"row\":0,\"kind\":\"slice\",\"ts_us\":0,\"dur_us\":100,\"name\":\"a\",\"cat\":\"cpu_op\",\"pid\":10,"
            "\"tid\":10}\n"
            "{\"row\":1,\"kind\":\"slice\",\"ts_us\":10,\"dur_us\":5,\"name\":\"b\",\"cat\":\"cpu_op\",\"pid\":10,"
            "\"tid\":10}\n"
            "{\"row\":2,\"kind\":\"slice\",\"ts_us\":20.500,\"dur_us\":0.001,\"name\":\"c\",\"cat\":\"cpu_op\","
            "\"pid\":10,\"tid\":11}\n"
            "{\"row\":3,\"kind\":\"slice\",\"ts_us\":30,\"dur_us\":0,\"name\":\"k\",\"cat\":\"kernel\",\"pid\":0,"
            "\"tid\":7}\n"
            "{\"row\":4,\"kind\":\"metadata\",\"ts_us\":0,\"name\":\"thread_name\",\"pid\":10,\"tid\":11,"
            "\"args\":{\"name\":\"worker\"}}\n");
}

TEST_F(CommandsTest, CatFilters) {
  WriteFile("x.fake", kTrace);
  auto rows = [&](std::vector<std::string> args) {
    args.insert(args.begin(), {"cat", "x.fake", "--quiet"});
    const Outcome outcome = Run(args);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    std::string rows;
    for (size_t at = 0; (at = outcome.out.find("{\"row\":", at)) != std::string::npos; ++at)
      rows += outcome.out[at + 7];
    return rows;
  };
  EXPECT_EQ(rows({"--category", "cpu_op"}), "012");
  EXPECT_EQ(rows({"--category", "kernel", "--category", "cpu_op"}), "0123");
  EXPECT_EQ(rows({"--category", "cpu"}), "");
  EXPECT_EQ(rows({"--kind", "metadata"}), "4");
  EXPECT_EQ(rows({"--kind", "slice", "--limit", "2"}), "01");
  EXPECT_EQ(rows({"--limit", "0"}), "");
  EXPECT_EQ(rows({"--track", "10"}), "0124");
  EXPECT_EQ(rows({"--track", "10:11"}), "24");
  EXPECT_EQ(rows({"--name", "^[bk]$"}), "13");
  EXPECT_EQ(rows({"--rank", "3", "--name", "a"}), "04");  // "thread_name" has an a
  EXPECT_EQ(rows({"--rank", "4"}), "");
  // [10, 15) touches a and b; 15 is outside of b; c starts at 20.5.
  EXPECT_EQ(rows({"--from-us", "10", "--to-us", "15"}), "01");
  EXPECT_EQ(rows({"--from-us", "15", "--to-us", "20.5"}), "0");
  EXPECT_EQ(rows({"--from-us", "15", "--to-us", "20.501"}), "02");
  EXPECT_EQ(rows({"--from-us", "30"}), "03");
  EXPECT_EQ(rows({"--from-us", "100"}), "");
  EXPECT_EQ(rows({"--to-us", "0"}), "");
}

TEST_F(CommandsTest, CatOfSeveralFilesNamesThem) {
  WriteFile("x.fake", kTrace);
  EXPECT_THAT(Run({"cat", "x.fake", "x.fake", "--limit", "6"}).out, HasSubstr("{\"file\":\"x.fake\",\"row\":0,"));
}

TEST_F(CommandsTest, CheckPrintsFindings) {
  WriteFile("x.fake",
            "FAKE\n"
            "slice outer cpu_op 10 10 0 100000\n"
            "slice inner cpu_op 10 10 50000 100000\n"  // overlaps by 50 us without nesting
            "slice bad\x1b[2J cpu_op 10 12 7000 -20\n"
            "slice k kernel 0 7 30000 10000\n");
  const Outcome outcome = Run({"check", "x.fake"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, StartsWith("x.fake: 2 warnings, 3 notes\n"));
  EXPECT_THAT(outcome.out, HasSubstr("device 0: busy 10 us of a span of 10 us (100.0 %); 1 kernels and copies"));
  EXPECT_THAT(outcome.out, HasSubstr("warning  not_nested: 1, worst 50 us;"));
  EXPECT_THAT(outcome.out, HasSubstr("row 1 at 50 us, on 10/10, inner\n"));
  EXPECT_THAT(outcome.out, HasSubstr("warning  negative_duration: 1, worst -0.020 us;"));
  EXPECT_THAT(outcome.out, HasSubstr("bad\\x1b[2J"));
  const Outcome json = Run({"check", "x.fake", "--format", "json"});
  EXPECT_THAT(json.out, HasSubstr("{\"code\":\"not_nested\",\"severity\":\"warning\",\"count\":1,\"worst_ns\":50000,"
                                  "\"first\":[{\"row\":1,\"ts_us\":50,\"name\":\"inner\",\"track\":\"10/10\"}]"));
}

TEST_F(CommandsTest, ProfileWithoutEventsIsNotWrittenAsATimeline) {
  WriteFile("x.fake", kProfile);
  WriteFile("old", "precious");
  for (const char* output : {"old", "new", "-"}) {
    for (const char* to : {"fake", "fake2"}) {
      const Outcome outcome = Run({"convert", "x.fake", "--to", to, "-o", output});
      EXPECT_EQ(outcome.status, 1);
      EXPECT_EQ(outcome.err,
                "tracekiln: x.fake: holds a profile (calls and times per function), no events: it can't be written "
                "as " +
                    std::string(to) + "\n");
      EXPECT_THAT(outcome.out, IsEmpty());
    }
  }
  EXPECT_EQ(ReadFile("old"), "precious");
  EXPECT_THAT(Files(), ElementsAre("old", "x.fake"));
}

TEST_F(CommandsTest, ProfileGoesToAFormatThatHoldsOne) {
  WriteFile("x.fake", kProfile);
  const Outcome outcome = Run({"convert", "x.fake", "--to", "fake3", "-o", "-"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, kProfile);
  EXPECT_THAT(outcome.err, Not(HasSubstr("profile section")));
}

TEST_F(CommandsTest, ProfileBesideEventsIsLeftOutWithAWarning) {
  WriteFile("x.fake", std::string(kTrace) + std::string(kProfile).substr(5));
  for (const char* to : {"fake", "fake2"}) {
    const Outcome outcome = Run({"convert", "x.fake", "--to", to, "-o", "-"});
    EXPECT_EQ(outcome.status, 0);
    EXPECT_THAT(outcome.out, StartsWith("FAKE\nslice a cpu_op 10 10 0 100000\nslice b cpu_op"));
    EXPECT_THAT(outcome.out, HasSubstr("slice k kernel"));
    EXPECT_THAT(outcome.err, HasSubstr("x.fake: its profile section is not in the output: " + std::string(to) +
                                       " can't hold one\n"));
  }
}

TEST_F(CommandsTest, SeveralFilesOfATraceGoIntoADirectory) {
  WriteFile("x.fake", kTrace);
  const std::vector<std::string> args = {"convert", "x.fake", "--to", "fake3", "--option", "per=category", "-o", "d"};
  const Outcome outcome = Run(args);
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.err, HasSubstr("tracekiln: x.fake: one file per category\n"));
  EXPECT_THAT(outcome.err, HasSubstr("tracekiln: x.fake: 2 files written into \"d\"\n"));
  EXPECT_EQ(ReadFile("d/cpu_op.fake"), "FAKE\nslice a\nslice b\nslice c\n");
  EXPECT_EQ(ReadFile("d/kernel.fake"), "FAKE\nslice k\n");

  // A second run replaces nothing unless told to.
  WriteFile("d/cpu_op.fake", "precious");
  const Outcome again = Run(args);
  EXPECT_EQ(again.status, 1);
  EXPECT_THAT(again.err, HasSubstr("\"d/cpu_op.fake\" exists already; --force replaces it"));
  EXPECT_EQ(ReadFile("d/cpu_op.fake"), "precious");
  std::vector<std::string> forced = args;
  forced.push_back("--force");
  forced.push_back("--quiet");
  const Outcome force = Run(forced);
  EXPECT_EQ(force.status, 0);
  EXPECT_THAT(force.err, IsEmpty());
  EXPECT_EQ(ReadFile("d/cpu_op.fake"), "FAKE\nslice a\nslice b\nslice c\n");
  // One file of the same format needs no directory.
  EXPECT_EQ(Run({"convert", "x.fake", "--to", "fake3", "--option", "per=trace", "-o", "one"}).status, 0);
  EXPECT_THAT(Files(), ElementsAre("d", "one", "x.fake"));
}

TEST_F(CommandsTest, DirectoryOfARunThatFailsAtOnceIsNotLeftBehind) {
  WriteFile("x.fake", "FAKE\nslice a a/b 1 1 0 1\n");
  WriteFile("broken.fake", "FAKE\nbroken\n");
  WriteFile("half.fake", "FAKE\nslice a first 1 1 0 1\nslice a second 1 1 0 1\nslice a first 1 1 0 1\n");
  const auto convert = [&](const char* input, const char* output) {
    return Run({"convert", input, "--to", "fake3", "--option", "per=category", "-o", output});
  };
  const Outcome name = convert("x.fake", "d");
  EXPECT_EQ(name.status, 1);
  EXPECT_THAT(name.err, HasSubstr("\"a/b.fake\" can't be the name of a file"));
  EXPECT_EQ(convert("broken.fake", "d").status, 1);
  EXPECT_EQ(convert("missing.fake", "d").status, 1);
  EXPECT_THAT(Files(), ElementsAre("broken.fake", "half.fake", "x.fake"));
  // What was done before an error stays.
  const Outcome half = convert("half.fake", "d");
  EXPECT_EQ(half.status, 1);
  EXPECT_THAT(half.err, HasSubstr("\"d/first.fake\" was written already by this run"));
  EXPECT_EQ(ReadFile("d/first.fake"), "FAKE\nslice a\n");
  EXPECT_EQ(ReadFile("d/second.fake"), "FAKE\nslice a\n");
}

TEST_F(CommandsTest, FilesOfSeveralTracesNeverReplaceEachOtherNorAnInput) {
  WriteFile("a.fake", kTrace);
  WriteFile("cpu_op.fake", kTrace);
  const Outcome clash =
      Run({"convert", "a.fake", "cpu_op.fake", "--to", "fake3", "--option", "per=category", "-o", "d", "--force"});
  EXPECT_EQ(clash.status, 3);
  EXPECT_THAT(clash.err, HasSubstr("\"d/cpu_op.fake\" was written already by this run"));
  const Outcome input =
      Run({"convert", "cpu_op.fake", "--to", "fake3", "--option", "per=category", "-o", ".", "--force"});
  EXPECT_EQ(input.status, 1);
  EXPECT_THAT(input.err, HasSubstr("cpu_op.fake\" is one of the inputs"));
  EXPECT_EQ(ReadFile("cpu_op.fake"), kTrace);
}

TEST_F(CommandsTest, InfoShowsSumsAndTopFunctionsOfAProfile) {
  WriteFile("x.fake", kProfile);
  const Outcome outcome = Run({"info", "x.fake"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, HasSubstr("none: the trace has no events but a profile\n"));
  EXPECT_THAT(outcome.out, HasSubstr("  profile     3 rows, 4 edges, 1 caller without a row\n"
                                     "  calls       15, 12 of them primitive\n"
                                     "  own time    60 us\n"));
  EXPECT_THAT(outcome.out, HasSubstr("own time  cumulative  calls  function\n"
                                     "     40 us       59 us      5  a.py:3(f)\n"
                                     "     19 us       19 us      9  b.py:7(\\x1b[2Jg)\n"
                                     "      1 us       60 us      1  {built-in}\n"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("~:0")));
  EXPECT_THAT(Run({"info", "x.fake", "--format=json"}).out,
              HasSubstr("\"profile\":{\"rows\":3,\"functions\":4,\"edges\":4,\"calls\":15,\"primitive_calls\":12,"
                        "\"own_ns\":60000,\"top\":[{\"file\":\"a.py\",\"line\":3,\"name\":\"f\",\"calls\":5,"
                        "\"primitive_calls\":2,\"own_ns\":40000,\"cumulative_ns\":59000},"));
  WriteFile("y.fake", kTrace);
  EXPECT_THAT(Run({"info", "y.fake"}).out, Not(HasSubstr("profile")));
  EXPECT_THAT(Run({"info", "y.fake", "--format=json"}).out, HasSubstr("\"profile\":null"));
}

TEST_F(CommandsTest, CatPrintsFunctionsOfAProfile) {
  WriteFile("x.fake", kProfile);
  const Outcome outcome = Run({"cat", "x.fake", "--quiet"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out,
            "{\"file\":null,\"line\":null,\"name\":\"<built-in>\",\"calls\":1,\"primitive_calls\":1,\"own_ns\":1000,"
            "\"cumulative_ns\":60000,\"callers\":[]}\n"
            "{\"file\":\"a.py\",\"line\":3,\"name\":\"f\",\"calls\":5,\"primitive_calls\":2,\"own_ns\":40000,"
            "\"cumulative_ns\":59000,\"callers\":["
            "{\"file\":null,\"line\":null,\"name\":\"<built-in>\",\"calls\":1,\"primitive_calls\":1,\"own_ns\":30000,"
            "\"cumulative_ns\":59000},"
            "{\"file\":\"a.py\",\"line\":3,\"name\":\"f\",\"calls\":4,\"primitive_calls\":1,\"own_ns\":10000,"
            "\"cumulative_ns\":20000}]}\n"
            "{\"file\":\"b.py\",\"line\":7,\"name\":\"\\u001b[2Jg\",\"calls\":9,\"primitive_calls\":9,"
            "\"own_ns\":19000,\"cumulative_ns\":19000,\"callers\":["
            "{\"file\":\"a.py\",\"line\":3,\"name\":\"f\",\"calls\":8,\"primitive_calls\":8,\"own_ns\":18000,"
            "\"cumulative_ns\":18000},"
            "{\"file\":\"c.py\",\"line\":1,\"name\":\"caller\",\"calls\":1,\"primitive_calls\":1,\"own_ns\":1000,"
            "\"cumulative_ns\":1000}]}\n"
            "{\"file\":\"c.py\",\"line\":1,\"name\":\"caller\",\"calls\":0,\"primitive_calls\":0,\"own_ns\":0,"
            "\"cumulative_ns\":0,\"is_row\":false,\"callers\":[]}\n");
  const auto lines = [&](std::vector<std::string> args) {
    args.insert(args.begin(), {"cat", "x.fake", "--quiet"});
    const std::string out = Run(args).out;
    return std::count(out.begin(), out.end(), '\n');
  };
  EXPECT_EQ(lines({"--limit", "2"}), 2);
  EXPECT_EQ(lines({"--name", "^(f|caller)$"}), 2);
  EXPECT_EQ(lines({"--category", "kernel"}), 0);
  EXPECT_EQ(lines({"--from-us", "0"}), 0);
  EXPECT_EQ(lines({"--rank", "3"}), 0);
  EXPECT_THAT(Run({"cat", "x.fake", "x.fake"}).out, StartsWith("{\"input\":\"x.fake\",\"file\":null,"));
  // Beside events, those are shown.
  WriteFile("y.fake", std::string(kTrace) + std::string(kProfile).substr(5));
  EXPECT_THAT(Run({"cat", "y.fake"}).out, Not(HasSubstr("callers")));
}

TEST_F(CommandsTest, FormatsListsWhatThereIs) {
  EXPECT_THAT(Run({"formats"}).out,
              HasSubstr("fake    yes    yes     *.fake     slices, file order           lines | of text\n"));
  EXPECT_THAT(Run({"formats"}).out, HasSubstr("fake2   no     yes "));
  EXPECT_THAT(Run({"formats", "--verbose"}).out, HasSubstr("prefix    TEXT    -        put before every name\n"));
  EXPECT_THAT(Run({"formats", "--markdown"}).out,
              HasSubstr("| `fake` | yes | yes | `*.fake` | slices, file order | lines \\| of text |\n"));
}

}  // namespace
}  // namespace tracekiln::tools
