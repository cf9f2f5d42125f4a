#include "formats/pstats/action_file_name.h"

#include <simdjson.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace tracekiln::pstats {

void PrintTo(const ActionFileName& n, std::ostream* out) {
  *out << "stage " << n.stage << ", filename " << n.filename << ", rank " << (n.rank.has_value() ? *n.rank : -1)
       << ", action " << n.action << ", hash " << n.hash;
}

bool operator==(const ActionFileName& a, const ActionFileName& b) {
  return std::tie(a.stage, a.filename, a.rank, a.action, a.hash) ==
         std::tie(b.stage, b.filename, b.rank, b.action, b.hash);
}

namespace {

std::string NameOf(absl::string_view action) { return ActionFileNamer("fit", "run", 0).NameFor(action); }

// The name without a hash if there is one; *has_hash says so.
std::string WithoutHash(std::string name, bool* has_hash) {
  const size_t tilde = name.rfind('~');
  *has_hash = tilde != std::string::npos && name.size() == tilde + 18 &&
              name.find_first_not_of("0123456789abcdef", tilde + 1) == tilde + 13;
  if (*has_hash) name.erase(tilde, 13);
  return name;
}

struct NameCase {
  const char* name;
  std::string action;
  std::string want;  // the action in the file name
  bool has_hash;
};

class NamesOfActionsTest : public testing::TestWithParam<NameCase> {};

TEST_P(NamesOfActionsTest, AreSafe) {
  bool has_hash;
  const std::string name = WithoutHash(NameOf(GetParam().action), &has_hash);
  EXPECT_EQ(name, absl::StrCat("fit-run-0-", GetParam().want, ".prof"));
  EXPECT_EQ(has_hash, GetParam().has_hash);
}

const NameCase kNameCases[] = {
    {"Method", "[Strategy]DDPStrategy.backward", "[Strategy]DDPStrategy.backward", false},
    {"Loop", "[_TrainingEpochLoop].train_dataloader_next", "[_TrainingEpochLoop].train_dataloader_next", false},
    {"Word", "run_training_epoch", "run_training_epoch", false},
    {"Hyphens", "[LightningDataModule]my-data.setup", "[LightningDataModule]my-data.setup", false},
    {"Step", "ProfilerStep#12", "ProfilerStep#12", false},
    {"StateKey", "[Callback]E{'monitor': 'val_loss', 'n': None}.setup",
     "[Callback]E{'monitor'_ 'val_loss', 'n'_ None}.setup", false},
    {"StateKeyAsWritten", "[Callback]E{'monitor'_ 'val_loss'}.setup", "[Callback]E{'monitor'_ 'val_loss'}.setup", true},
    {"StateKeyWithSlash", "[Callback]E{'monitor': 'val/f1'}.setup", "[Callback]E{'monitor'_ 'val_f1'}.setup", true},
    {"ColonWithoutBrace", "it': x", "it'_ x", true},
    {"UnderscoreWithoutBrace", "it'_ x", "it'_ x", false},
    {"Slash", "a/b", "a_b", true},
    {"Colon", "a:b", "a_b", true},
    {"TwoUnderscores", "a__b", "a_b", true},
    {"Dunder", "[LightningModule]M.__init__", "[LightningModule]M._init_", true},
    {"Underscore", "a_b", "a_b", false},
    {"AllReserved", "\\/:*?\"<>|\r\n\t", "_", true},
    {"Nul", std::string("a\0b", 3), "a_b", true},
    {"Controls",
     "a\x01\x1f\x7f"
     "b",
     "a_b", true},
    {"C1", "a\xc2\x85z", "a_z", true},
    {"Empty", "", "profile", true},
    {"Blank", "  ", "profile", true},
    {"NamedProfile", "profile", "profile", false},
    {"BlanksAtTheEnds", " a b ", "a b", true},
    {"Parent", "..", "_", true},
    {"Path", "../../etc/passwd", "_etc_passwd", true},
    {"Dot", ".", "_", true},
    {"TrailingDot", "a.", "a_", true},
    {"TrailingDotAndBlank", "a. ", "a_", true},
    {"Ellipsis", "a...b", "a_b", true},
    {"LeadingDot", ".a", ".a", false},
    {"Device", "NUL", "NUL", false},  // "fit-run-0-NUL.prof" is no device
    {"NotUtf8",
     "a\xff\xfe"
     "b\xc3",
     "a_b_", true},
    {"Surrogate", "a\xed\xb2\x80z", "a_z", true},
    {"RightToLeftOverride", "a\xe2\x80\xaez", "a_z", true},
    {"LineSeparator", "a\xe2\x80\xa8z", "a_z", true},
    {"Umlaut",
     "Gr\xc3\xb6\xc3\x9f"
     "e",
     "Gr\xc3\xb6\xc3\x9f"
     "e",
     true},
    {"Cjk", "\xe8\xae\xad\xe7\xbb\x83", "\xe8\xae\xad\xe7\xbb\x83", false},
    {"Emoji", "\xf0\x9f\x94\xa5", "\xf0\x9f\x94\xa5", true},
    {"LikeAHash", "a~0123456789ab", "a~0123456789ab", true},
    {"LikeAHashInCapitals", "a~0123456789AB", "a~0123456789AB", true},
    {"NearlyAHash", "a~0123456789ag", "a~0123456789ag", false},
    {"Option", "-rf", "-rf", false},
};

INSTANTIATE_TEST_SUITE_P(Table, NamesOfActionsTest, testing::ValuesIn(kNameCases),
                         [](const auto& info) { return info.param.name; });

TEST(ActionFileNamerTest, PartsThatAreEmptyAreLeftOut) {
  EXPECT_EQ(ActionFileNamer("fit", "run", 12).NameFor("a"), "fit-run-12-a.prof");
  EXPECT_EQ(ActionFileNamer("fit", "", 0).NameFor("a"), "fit-0-a.prof");
  EXPECT_EQ(ActionFileNamer("", "run", std::nullopt).NameFor("a"), "run-a.prof");
  EXPECT_EQ(ActionFileNamer("", "", std::nullopt).NameFor("a"), "a.prof");
  EXPECT_EQ(ActionFileNamer("fit", "run", 12).IndexName(), "fit-run-12-actions.json");
  EXPECT_EQ(ActionFileNamer("", "", std::nullopt).IndexName(), "actions.json");
}

TEST(ActionFileNamerTest, TheBeginningOfAFileNameIsSafeToo) {
  ActionFileNamer namer("", "", std::nullopt);
  const std::pair<const char*, const char*> kCases[] = {
      {"NUL", "_NUL.prof"},
      {"con", "_con.prof"},
      {"Com1.x.y", "_Com1.x.y.prof"},
      {"lpt9 .x", "_lpt9 .x.prof"},
      {"COM\xc2\xb2", "_COM\xc2\xb2.prof"},
      {"CONIN$", "_CONIN$.prof"},
      {".hidden", "_hidden.prof"},
      {"-rf", "_rf.prof"},
  };
  for (const auto& [action, want] : kCases) {
    bool has_hash;
    EXPECT_EQ(WithoutHash(namer.NameFor(action), &has_hash), want);
    EXPECT_TRUE(has_hash) << action;
  }
  for (const char* const action : {"CONSOLE", "com", "com10", "lpt", "nul1", "_rf"}) {
    EXPECT_EQ(namer.NameFor(action), absl::StrCat(action, ".prof"));
  }
}

TEST(ActionFileNamerTest, AnUnsafeStageOrFilenameIsChangedAndSeenInEveryName) {
  ActionFileNamer slash("fit", "a/b", 0);
  ActionFileNamer colon("fit", "a:b", 0);
  bool has_hash;
  EXPECT_EQ(WithoutHash(slash.NameFor("x"), &has_hash), "fit-a_b-0-x.prof");
  EXPECT_TRUE(has_hash);
  EXPECT_NE(slash.NameFor("x"), colon.NameFor("x"));
  EXPECT_NE(slash.IndexName(), colon.IndexName());
  EXPECT_EQ(WithoutHash(ActionFileNamer("..", "", std::nullopt).NameFor("x"), &has_hash), "_-x.prof");
  EXPECT_EQ(WithoutHash(ActionFileNamer(".git", "", std::nullopt).NameFor("x"), &has_hash), "_git-x.prof");
  EXPECT_TRUE(has_hash);
}

TEST(ActionFileNamerTest, WhatDiffersInCaseOnlyIsToldApart) {
  ActionFileNamer namer("fit", "run", 0);
  EXPECT_EQ(namer.NameFor("Net.step"), "fit-run-0-Net.step.prof");
  const std::string second = namer.NameFor("net.step");
  bool has_hash;
  EXPECT_EQ(WithoutHash(second, &has_hash), "fit-run-0-net.step.prof");
  EXPECT_TRUE(has_hash);
  EXPECT_EQ(namer.NameFor("Net.step"), "fit-run-0-Net.step.prof");
  EXPECT_EQ(namer.NameFor("net.step"), second);
}

TEST(ActionFileNamerTest, NormalFormsOfOneTextAreToldApart) {
  bool has_hash;
  const std::string composed = NameOf("\xc3\xa9");
  const std::string decomposed = NameOf("e\xcc\x81");
  WithoutHash(composed, &has_hash);
  EXPECT_TRUE(has_hash);
  EXPECT_NE(composed.substr(composed.rfind('~')), decomposed.substr(decomposed.rfind('~')));
}

// Part of the format: names of one action must be the same in all versions.
TEST(ActionFileNamerTest, HashesNeverChange) {
  EXPECT_EQ(NameOf("a/b"), "fit-run-0-a_b~0b006aecf2a5.prof");
  EXPECT_EQ(ActionFileNamer("fit", "r/n", 0).NameFor("a"), "fit-r_n-0-a~dad96d8fc9ef.prof");
}

TEST(ActionFileNamerTest, LongNamesAreCutBetweenCharactersAndDiffer) {
  ActionFileNamer namer("fit", "run", 0);
  const std::string fits(255 - 15, 'x');
  EXPECT_EQ(namer.NameFor(fits), absl::StrCat("fit-run-0-", fits, ".prof"));
  const std::string long_a = namer.NameFor(fits + "a");
  const std::string long_b = namer.NameFor(fits + "b");
  EXPECT_EQ(long_a.size(), 255u);
  EXPECT_EQ(long_b.size(), 255u);
  EXPECT_NE(long_a, long_b);
  for (int shift = 0; shift < 3; ++shift) {
    std::string cjk(shift, 'x');
    for (int i = 0; i < 100; ++i) cjk += "\xe8\xae\xad";
    const std::string name = namer.NameFor(cjk);
    EXPECT_LE(name.size(), 255u);
    EXPECT_GE(name.size(), 253u);
    EXPECT_TRUE(simdjson::validate_utf8(name.data(), name.size()));
  }
  const std::string endless(100'000, 'y');
  ActionFileNamer long_parts(endless, endless, INT64_MIN);
  EXPECT_EQ(long_parts.NameFor(endless).size(), 255u);
  EXPECT_LE(long_parts.IndexName().size(), 255u);
  EXPECT_NE(long_parts.NameFor(endless), ActionFileNamer(endless, endless + "z", INT64_MIN).NameFor(endless));
}

// Texts of which many become equal, and some that are what others become.
std::string UglyText(std::mt19937* random) {
  static const std::vector<std::string> kPieces = {"a",
                                                   "A",
                                                   "b",
                                                   "_",
                                                   "__",
                                                   "/",
                                                   ":",
                                                   ".",
                                                   "..",
                                                   " ",
                                                   "-",
                                                   "~",
                                                   "{",
                                                   "}",
                                                   "'",
                                                   "': ",
                                                   "'_ ",
                                                   "[",
                                                   "]",
                                                   "NUL",
                                                   "com1",
                                                   "\n",
                                                   std::string(1, '\0'),
                                                   "\x7f",
                                                   "\xff",
                                                   "\xc3",
                                                   "\xc3\xa9",
                                                   "e\xcc\x81",
                                                   "\xc3\x89",
                                                   "\xe8\xae\xad",
                                                   "\xed\xa0\x80",
                                                   "\xe2\x80\xae",
                                                   "~0123456789ab",
                                                   "0",
                                                   std::string(230, 'x'),
                                                   std::string(230, 'X')};
  std::string text;
  const size_t count = (*random)() % 5;
  for (size_t i = 0; i < count; ++i) {
    if ((*random)() % 16 == 0) {
      text.push_back(static_cast<char>((*random)()));
    } else {
      text += kPieces[(*random)() % kPieces.size()];
    }
  }
  return text;
}

TEST(ActionFileNamerTest, AnyBytesGiveNamesThatAreValidDifferentAndStable) {
  std::mt19937 random(7);
  size_t with_hash = 0, names_count = 0;
  for (int round = 0; round < 60; ++round) {
    const std::string stage = round % 3 == 0 ? UglyText(&random) : round % 3 == 1 ? "fit" : "";
    const std::string filename = round % 4 == 0 ? UglyText(&random) : round % 4 == 1 ? "run" : "";
    const std::optional<int64_t> rank = round % 2 == 0 ? std::optional<int64_t>(round) : std::nullopt;
    ActionFileNamer namer(stage, filename, rank);
    std::map<std::string, std::string> names;
    std::vector<std::string> actions;
    for (int i = 0; i < 1000; ++i) actions.push_back(UglyText(&random));
    for (const std::string& action : actions) {
      const std::string name = namer.NameFor(action);
      const auto [entry, is_new] = names.insert({action, name});
      ASSERT_EQ(entry->second, name);
      if (!is_new) continue;
      ASSERT_LE(name.size(), 255u);
      ASSERT_TRUE(absl::EndsWith(name, ".prof"));
      ASSERT_TRUE(simdjson::validate_utf8(name.data(), name.size()));
      ASSERT_EQ(name.find_first_of(std::string("\\/:*?\"<>|\r\n\t\0\x7f", 14)), std::string::npos) << name;
      ASSERT_EQ(name.find(".."), std::string::npos) << name;
      ASSERT_EQ(name.find("__"), std::string::npos) << name;
      ASSERT_NE(name[0], '.');
      ASSERT_NE(name[0], '-');
      ASSERT_NE(name[0], ' ');
      ASSERT_NE(name, namer.IndexName());
      bool has_hash;
      WithoutHash(name, &has_hash);
      with_hash += has_hash;
    }
    names_count += names.size();
    std::set<std::string> lower;
    for (const auto& [action, name] : names) EXPECT_TRUE(lower.insert(absl::AsciiStrToLower(name)).second) << name;
    // In another order only what differs in case has another name.
    std::shuffle(actions.begin(), actions.end(), random);
    ActionFileNamer again(stage, filename, rank);
    for (const std::string& action : actions) {
      const std::string name = again.NameFor(action);
      if (name == names[action]) continue;
      bool has_hash[2];
      ASSERT_EQ(WithoutHash(name, &has_hash[0]).substr(0, 200),
                WithoutHash(names[action], &has_hash[1]).substr(0, 200));
      ASSERT_NE(has_hash[0], has_hash[1]);
    }
  }
  EXPECT_GT(names_count, 20'000u);
  EXPECT_GT(with_hash, names_count / 4);
  EXPECT_LT(with_hash, names_count);
}

struct ParseCase {
  std::string path;
  ActionFileName want;
  std::string filename = "";  // if known
};

TEST(ParseActionFileNameTest, FindsTheParts) {
  const std::string state = "[Callback]ModelCheckpoint{'monitor': 'val/f1', 'mode': 'max'}.on_fit_end";
  const ParseCase kCases[] = {
      {"fit-run-0-[Strategy]DDPStrategy.backward.prof", {"fit", "run", 0, "[Strategy]DDPStrategy.backward", ""}},
      {"validate-run-13-[Strategy]D.x.prof", {"validate", "run", 13, "[Strategy]D.x", ""}},
      {"fit-perf-[LightningModule]M.setup.prof", {"fit", "perf", std::nullopt, "[LightningModule]M.setup", ""}},
      {"fit-[LightningModule]M.setup.prof", {"fit", "", std::nullopt, "[LightningModule]M.setup", ""}},
      {"fit-3-[LightningModule]M.setup.prof", {"fit", "", 3, "[LightningModule]M.setup", ""}},
      {"[LightningModule]M.setup.prof", {"", "", std::nullopt, "[LightningModule]M.setup", ""}},
      {"run-1-[LightningModule]M.setup.prof", {"", "run", 1, "[LightningModule]M.setup", ""}},
      {"fit-run-0-[LightningDataModule]my-data.setup.prof",
       {"fit", "run", 0, "[LightningDataModule]my-data.setup", ""}},
      {"fit-my-run-0-[A]b-[C]d.prof", {"fit", "my-run", 0, "[A]b-[C]d", ""}},
      {"fit-run-0-run_training_epoch.prof", {"fit", "run", 0, "run_training_epoch", ""}},
      {"fit-run-0-my-2-action.prof", {"fit", "run", 0, "my-2-action", ""}},
      {"fit-run-2024-01-05-0-x.prof", {"fit", "run-2024-01-05", 0, "x", ""}},
      {"fit-run-2024-01-05-x.prof", {"fit", "run-2024-01-05", std::nullopt, "x", ""}},
      {"fit-run-2024-01-05-[A]x.prof", {"fit", "run-2024-01-05", std::nullopt, "[A]x", ""}},
      {"fit-run-c.prof", {"fit", "run", std::nullopt, "c", ""}},
      {"fit-save_checkpoint.prof", {"fit", "", std::nullopt, "save_checkpoint", ""}},
      {"fit-my-action.prof", {"fit", "my", std::nullopt, "action", ""}},
      {"fit-my-run-an-action.prof", {"fit", "my-run", std::nullopt, "an-action", ""}, "my-run"},
      {"fit-my-run-7-an-action.prof", {"fit", "my-run", 7, "an-action", ""}, "my-run"},
      {"fit-1234567890-x.prof", {"fit", "1234567890", std::nullopt, "x", ""}},
      {"fit.prof", {"", "", std::nullopt, "fit", ""}},
      {"fit-.prof", {"", "", std::nullopt, "fit-", ""}},
      {"fit-0.prof", {"fit", "", std::nullopt, "0", ""}},
      {"my-program-0-x.prof", {"", "", std::nullopt, "my-program-0-x", ""}},
      {"outfit-0-x.prof", {"", "", std::nullopt, "outfit-0-x", ""}},
      {"-.prof", {"", "", std::nullopt, "-", ""}},
      {"fit--x.prof", {"fit", "", std::nullopt, "-x", ""}},
      {"fit-run-0-a_b~0123456789ab.prof", {"fit", "run", 0, "a_b", "0123456789ab"}},
      {"~0123456789ab.prof", {"", "", std::nullopt, "~0123456789ab", ""}},
      // Colons of state keys come back, in front of a blank and behind a brace only.
      {"fit-p-[C]E{'monitor'_ 'val_loss', 'n'_ None}.x.prof",
       {"fit", "p", std::nullopt, "[C]E{'monitor': 'val_loss', 'n': None}.x", ""}},
      {"fit-p-[C]E'_ x{'a'_b}.prof", {"fit", "p", std::nullopt, "[C]E'_ x{'a'_b}", ""}},
      // Slashes within names, and directories that are places.
      {"fit-perf_logs-" + state + ".prof", {"fit", "perf_logs", std::nullopt, state, ""}},
      {"version_0/fit-run-0-" + state + ".prof", {"fit", "run", 0, state, ""}},
      {"a/b/fit-run-0-x.prof", {"fit", "run", 0, "x", ""}},
      {"fit-run-0-load/data.prof", {"fit", "run", 0, "load/data", ""}},
      {"fit-logs/run-0-x.prof", {"", "", std::nullopt, "run-0-x", ""}},
      {"[x/y/z].prof", {"", "", std::nullopt, "[x/y/z]", ""}},
      {"/abs/[A]x.prof", {"", "", std::nullopt, "[A]x", ""}},
  };
  for (const ParseCase& c : kCases) {
    const std::optional<ActionFileName> got = ParseActionFileName(c.path, c.filename);
    ASSERT_TRUE(got.has_value()) << c.path;
    EXPECT_EQ(*got, c.want) << c.path;
  }
}

TEST(ParseActionFileNameTest, RefusesOtherNames) {
  for (const char* const path : {"", ".prof", "a", "a.txt", "a.prof.txt", "a.PROF", "dir/", "dir/.prof", "[x/.prof"}) {
    EXPECT_EQ(ParseActionFileName(path), std::nullopt) << path;
  }
}

TEST(ParseActionFileNamesTest, ADirectoryTellsTheFilename) {
  const std::vector<std::string> paths = {"fit-my-run-[A]x.prof", "fit-my-run-[A]y.prof", "fit-other-[A]z.prof",
                                          "fit-my-run-an-action.prof", "fit-my-run.txt"};
  const auto names = ParseActionFileNames(paths);
  ASSERT_EQ(names.size(), paths.size());
  EXPECT_EQ(*names[2], (ActionFileName{"fit", "other", std::nullopt, "[A]z", ""}));
  EXPECT_EQ(*names[3], (ActionFileName{"fit", "my-run", std::nullopt, "an-action", ""}));
  EXPECT_EQ(names[4], std::nullopt);
  const auto without = ParseActionFileNames(std::vector<std::string>{"fit-[A]x.prof", "fit-my-action.prof"});
  EXPECT_EQ(*without[1], (ActionFileName{"fit", "", std::nullopt, "my-action", ""}));
  EXPECT_TRUE(ParseActionFileNames({}).empty());
}

TEST(ParseActionFileNameTest, ReadsTheNamesThatWeGive) {
  ActionFileNamer namer("fit", "run", 3);
  for (const char* const action :
       {"[Strategy]DDPStrategy.backward", "[Callback]E{'monitor': 'val_loss', 'n': None}.setup", "save_checkpoint",
        "my-action", "ProfilerStep#7", "a b", ".x"}) {
    EXPECT_EQ(*ParseActionFileName(namer.NameFor(action)), (ActionFileName{"fit", "run", 3, action, ""}));
  }
  const std::optional<ActionFileName> changed = ParseActionFileName(namer.NameFor("val/f1"));
  EXPECT_EQ(changed->action, "val_f1");
  EXPECT_EQ(changed->hash.size(), 12u);
}

TEST(ActionIndexJsonTest, SaysWhichFileIsOfWhichAction) {
  const std::vector<ActionIndexEntry> entries = {{"a/b", "fit-a_b~0.prof", 3, 1500}, {"q\"\xff\n", "x.prof", 0, -1}};
  EXPECT_EQ(ActionIndexJson(entries),
            "{\n"
            " \"actions\": [\n"
            "  {\"action\": \"a/b\",\"file\": \"fit-a_b~0.prof\",\"calls\": 3,\"duration_ns\": 1500},\n"
            "  {\"action\": \"q\\\"\xef\xbf\xbd\\n\",\"file\": \"x.prof\",\"calls\": 0,\"duration_ns\": -1}\n"
            " ]\n"
            "}\n");
  const std::string json = ActionIndexJson({});
  simdjson::dom::parser parser;
  simdjson::dom::element element;
  ASSERT_EQ(parser.parse(json).get(element), simdjson::SUCCESS);
}

}  // namespace
}  // namespace tracekiln::pstats
