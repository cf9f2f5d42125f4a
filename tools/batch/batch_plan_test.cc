#include "tools/batch/batch_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace tracekiln::batch {
namespace {

Format MakeFormat(absl::string_view name, absl::string_view extension, uint32_t capabilities) {
  Format format;
  format.name = name;
  format.extension = extension;
  format.capabilities = capabilities;
  return format;
}

const Format kKiln = MakeFormat("kiln", ".kiln", kSlices | kProfile);
const Format kChrome = MakeFormat("chrome", ".json", kSlices);
const Format kProf = [] {
  Format format = MakeFormat("pstats", ".prof", kProfile);
  format.export_options = {{"per", "action", "", ""}};
  format.writes_directory = [](const ExportOptions& options) { return !options.format.empty(); };
  return format;
}();

// A dataset of made-up timelines.
class PlanTest : public testing::Test {
 protected:
  PlanTest() { options_.to = {&kKiln}; }

  size_t AddFile(std::string path, dataset::FileKind kind = dataset::FileKind::kTimeline) {
    dataset::DatasetFile file;
    file.path = std::move(path);
    file.kind = kind;
    file.size_bytes = 100;
    dataset_.files.push_back(file);
    return dataset_.files.size() - 1;
  }
  dataset::RankFiles& AddRank(std::optional<int64_t> rank, std::string path, std::string run = "",
                              std::optional<int64_t> step = {}) {
    dataset::RankFiles files;
    files.rank = rank;
    files.run = std::move(run);
    files.step = step;
    files.timelines.push_back(AddFile(std::move(path)));
    dataset_.ranks.push_back(files);
    return dataset_.ranks.back();
  }
  Plan Make() {
    absl::StatusOr<Plan> plan = MakePlan(dataset_, "/run", options_);
    EXPECT_TRUE(plan.ok()) << plan.status();
    return plan.ok() ? *std::move(plan) : Plan();
  }
  std::vector<std::string> Outputs() {
    std::vector<std::string> paths;
    for (const Task& task : Make().tasks) {
      for (const Output& output : task.outputs) paths.push_back(output.path);
    }
    return paths;
  }

  dataset::Dataset dataset_;
  PlanOptions options_;
};

using Paths = std::vector<std::string>;

TEST_F(PlanTest, NamesOutputsByRank) {
  AddRank(10, "b.json");
  AddRank(2, "a.json.gz");
  options_.to = {&kKiln, &kProf, &kChrome};
  EXPECT_EQ(Outputs(), (Paths{"kiln/rank-2.kiln", "pstats/rank-2.prof", "chrome/rank-2.json.gz", "kiln/rank-10.kiln",
                              "pstats/rank-10.prof", "chrome/rank-10.json.gz"}));
  options_.compress = "none";
  options_.to = {&kChrome};
  EXPECT_EQ(Outputs(), (Paths{"chrome/rank-2.json", "chrome/rank-10.json"}));
  options_.compress = "zstd:9";
  EXPECT_EQ(Outputs(), (Paths{"chrome/rank-2.json.zst", "chrome/rank-10.json.zst"}));
}

TEST_F(PlanTest, TellsRunsAndStepsApart) {
  AddRank(0, "a/b/r.json", "a/b", 1);
  AddRank(0, "a/b/s.json", "a/b", 2);
  AddRank(0, "a-b/r.json", "a-b", 1);  // as "a/b", once it is made safe
  const Paths paths = Outputs();
  EXPECT_EQ(paths,
            (Paths{"kiln/a-b/rank-0-step-1.kiln", "kiln/a-b.2/rank-0-step-1.kiln", "kiln/a-b.2/rank-0-step-2.kiln"}));
}

TEST_F(PlanTest, OneStepNeedsNoName) {
  AddRank(0, "r.json", "x", 7);
  EXPECT_EQ(Outputs(), Paths{"kiln/rank-0.kiln"});
}

TEST_F(PlanTest, KeepsDuplicates) {
  dataset::RankFiles& rank = AddRank(3, "r.json");
  rank.timelines.push_back(AddFile("copy of r.json"));
  rank.kilns.push_back(AddFile("r.kiln", dataset::FileKind::kKiln));
  rank.captures.push_back(AddFile("c.json"));
  EXPECT_EQ(Outputs(),
            (Paths{"kiln/rank-3.kiln", "kiln/rank-3.2.kiln", "kiln/rank-3-kiln.kiln", "kiln/rank-3-capture.kiln"}));
}

TEST_F(PlanTest, AKilnAloneIsTheRanksTrace) {
  dataset::RankFiles rank;
  rank.rank = 4;
  rank.kilns.push_back(AddFile("r.kiln", dataset::FileKind::kKiln));
  dataset_.ranks.push_back(rank);
  EXPECT_EQ(Outputs(), Paths{"kiln/rank-4.kiln"});
}

TEST_F(PlanTest, ProfilesGoWhereProfilesCanBeHeld) {
  dataset::RankFiles rank;
  rank.rank = 0;
  rank.profiles.push_back(AddFile("a.prof", dataset::FileKind::kProfile));
  dataset_.ranks.push_back(rank);
  options_.to = {&kKiln, &kChrome};
  const Plan plan = Make();
  ASSERT_EQ(plan.tasks.size(), 1u);
  ASSERT_EQ(plan.tasks[0].outputs.size(), 1u);
  EXPECT_EQ(plan.tasks[0].outputs[0].path, "kiln/rank-0.kiln");
  EXPECT_EQ(plan.not_converted, Paths{"a.prof is a profile, without events: not written as chrome"});
  options_.to = {&kChrome};
  EXPECT_FALSE(MakePlan(dataset_, "/run", options_).ok());
}

TEST_F(PlanTest, NamesOfUnknownRanksAreMadeSafe) {
  AddRank({}, "x/../../etc/passwd\n\xff.json.gz");
  AddRank({}, ".hidden.json");
  AddRank({}, "-rf.json");
  AddRank({}, std::string(300, 'a') + ".json");
  AddRank({}, std::string(300, 'a') + "b.json");
  std::set<std::string> seen;
  for (const std::string& path : Outputs()) {
    EXPECT_TRUE(absl::StartsWith(path, "kiln/")) << path;
    const std::string leaf = path.substr(5);
    EXPECT_EQ(leaf.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"),
              std::string::npos)
        << leaf;
    EXPECT_NE(leaf[0], '.');
    EXPECT_NE(leaf[0], '-');
    EXPECT_LE(leaf.size(), 120u);
    EXPECT_TRUE(seen.insert(path).second) << path;
  }
  EXPECT_EQ(seen.size(), 5u);
}

TEST_F(PlanTest, OptionsMakeDirectories) {
  AddRank(1, "r.json");
  options_.to = {&kProf, &kKiln};
  options_.options = {"per=action"};
  const Plan plan = Make();
  EXPECT_TRUE(plan.tasks[0].outputs[0].is_directory);
  EXPECT_EQ(plan.tasks[0].outputs[0].path, "pstats/rank-1");
  EXPECT_FALSE(plan.tasks[0].outputs[1].is_directory);
}

TEST_F(PlanTest, ChoosesRanks) {
  for (int64_t rank : {0, 1, 2, 3}) AddRank(rank, absl::StrCat(rank, ".json"));
  AddRank({}, "unknown.json");
  options_.ranks = *ParseRanks("1, 3-8");
  EXPECT_EQ(Outputs(), (Paths{"kiln/rank-1.kiln", "kiln/rank-3.kiln"}));
  options_.ranks = *ParseRanks("1,9");
  const absl::Status status = MakePlan(dataset_, "/run", options_).status();
  EXPECT_EQ(status.message(), "there is no trace of rank 9");
}

TEST_F(PlanTest, BrokenTracesAreTasksThatWillFail) {
  AddRank(0, "rank-0.json");
  const struct {
    const char* path;
    dataset::FileKind kind;
    uint64_t size_bytes;
    bool is_task;
  } kCases[] = {
      {"rank-1.json", dataset::FileKind::kLeftover, 0, true},
      {"rank-2.json", dataset::FileKind::kUnreadable, 0, true},
      {"rank-3.json.gz", dataset::FileKind::kStranger, 20, true},
      {"rank-4.json~", dataset::FileKind::kLeftover, 50, false},
      {"rank-5.log", dataset::FileKind::kText, 50, false},
      {"rank-6.et", dataset::FileKind::kUnreadable, 0, false},
  };
  std::set<std::string> want = {"rank-0.json"};
  for (const auto& c : kCases) {
    dataset::DatasetFile& file = dataset_.files[AddFile(c.path, c.kind)];
    file.name_rank = file.path[5] - '0';
    file.size_bytes = c.size_bytes;
    if (c.is_task) want.insert(c.path);
  }
  std::set<std::string> got;
  for (const Task& task : Make().tasks) got.insert(task.input);
  EXPECT_EQ(got, want);
}

TEST_F(PlanTest, OurOwnOutputIsNoInput) {
  AddRank(0, "rank-0.json");
  AddRank(0, "converted/kiln/rank-0.kiln", "converted/kiln");
  AddRank(1, "converted2/rank-1.kiln");
  dataset_.findings.push_back({"duplicate_rank", dataset::Severity::kWarning, "ours", "", {1}, {}});
  dataset_.findings.push_back({"missing_rank", dataset::Severity::kWarning, "theirs", "", {}, {}});
  options_.excluded = "converted";
  const Plan plan = Make();
  ASSERT_EQ(plan.tasks.size(), 2u);
  EXPECT_EQ(plan.tasks[0].input, "rank-0.json");
  EXPECT_EQ(plan.tasks[1].input, "converted2/rank-1.kiln");
  ASSERT_EQ(plan.findings.size(), 1u);
  EXPECT_EQ(plan.findings[0].detail, "theirs");
}

TEST_F(PlanTest, OutputsOfEarlierBatchesAreNoInput) {
  AddRank(0, "rank-0.json");
  AddRank(0, "earlier/kiln/rank-0.kiln", "earlier/kiln");
  AddFile("earlier/.batch/plan.json", dataset::FileKind::kLeftover);
  const Plan plan = Make();
  ASSERT_EQ(plan.tasks.size(), 1u);
  EXPECT_EQ(plan.tasks[0].input, "rank-0.json");
}

TEST_F(PlanTest, TheOutputOfABatchCanBeARunDirectory) {
  AddRank(0, "kiln/rank-0.kiln", "kiln");
  AddFile(".batch/plan.json", dataset::FileKind::kLeftover);
  EXPECT_EQ(Make().tasks.size(), 1u);
}

TEST_F(PlanTest, NothingToDoIsAnError) { EXPECT_FALSE(MakePlan(dataset_, "/run", options_).ok()); }

TEST_F(PlanTest, JsonRoundTripKeepsEverything) {
  AddRank(5, std::string("dir \"x\"\n/r\xff\x01.json"), "dir", 9).execution_traces = {AddFile("et\xfe.json")};
  AddRank({}, "u.json");
  for (dataset::DatasetFile& file : dataset_.files) file.container = io::Container::kGzip;
  options_.options = {"per=action", "x=\"y\""};
  options_.is_strict = true;
  options_.to = {&kKiln, &kProf};
  dataset_.findings.push_back({"missing_rank", dataset::Severity::kWarning, "ranks 1-4", "dir", {}, {1}});
  const Plan plan = Make();
  const std::string text = PlanToJson(plan);
  const absl::StatusOr<Plan> again = PlanFromJson(text);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(PlanToJson(*again), text);
  ASSERT_EQ(again->tasks.size(), 2u);
  const auto it = std::find_if(again->tasks.begin(), again->tasks.end(), [](const Task& t) { return t.rank == 5; });
  ASSERT_NE(it, again->tasks.end());
  EXPECT_EQ(it->input, "dir \"x\"\n/r\xff\x01.json");
  EXPECT_EQ(it->execution_traces, Paths{"et\xfe.json"});
  EXPECT_TRUE(it->is_compressed);
  EXPECT_EQ(again->options, options_.options);
  EXPECT_EQ(RequestText(*again, *it), RequestText(plan, plan.tasks[static_cast<size_t>(it - again->tasks.begin())]));
}

TEST(PlanFromJsonTest, RefusesWhatIsNoPlan) {
  for (const char* text :
       {"", "{}", "[]", "{\"plan_version\": 2}", "{\"plan_version\": \"1\"}", "{\"plan_version\": 1",
        R"({"plan_version":1,"tasks":[{}]})",
        R"({"plan_version":1,"tasks":[{"name":"../x","input":"a","outputs":[{}]}]})",
        R"({"plan_version":1,"tasks":[{"name":"x","input":"a","outputs":[{"format":"kiln","path":"../../x"}]}]})"}) {
    EXPECT_FALSE(PlanFromJson(text).ok()) << text;
  }
}

TEST(ParseRanksTest, ReadsNumbersAndRanges) {
  EXPECT_EQ(*ParseRanks("0,3,8-15"), (RankSet{{0, 0}, {3, 3}, {8, 15}}));
  EXPECT_EQ(*ParseRanks(" 1 , 2 "), (RankSet{{1, 1}, {2, 2}}));
  EXPECT_TRUE(ParseRanks("")->empty());
  for (const char* wrong : {"a", "-1", "3-1", "1-2-3", "1;2", "99999999999999999999", "1-"}) {
    EXPECT_FALSE(ParseRanks(wrong).ok()) << wrong;
  }
}

TEST(SafeNameTest, IsAlwaysOneHarmlessPart) {
  EXPECT_EQ(SafeName("rank-3.a_B"), "rank-3.a_B");
  EXPECT_EQ(SafeName("a/b c"), "a_b_c");
  EXPECT_EQ(SafeName(""), "_");
  EXPECT_EQ(SafeName(".."), "_..");
  EXPECT_EQ(SafeName("-x"), "_-x");
}

}  // namespace
}  // namespace tracekiln::batch
