#include "tools/batch/batch_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace tracekiln::batch {
namespace {

bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

class BatchFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* const base = getenv("TEST_TMPDIR");
    std::string pattern = absl::StrCat(base == nullptr ? "/tmp" : base, "/batch_files_XXXXXX");
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    dir_ = pattern;
    out_ = dir_ + "/out";
    for (const char* part : {"/run", "/out/.batch/results", "/out/.batch/running", "/out/kiln"}) {
      ASSERT_TRUE(MakeDirectories(dir_ + part).ok());
    }
    ASSERT_TRUE(WriteFile(dir_ + "/run/r.json", "input bytes").ok());
    ASSERT_TRUE(WriteFile(out_ + "/kiln/rank-1.kiln", "output").ok());
    plan_.directory = dir_ + "/run";
    Task task;
    task.name = "rank-1";
    task.rank = 1;
    task.input = "r.json";
    task.outputs = {{"kiln", "kiln/rank-1.kiln", false}};
    plan_.tasks = {task};
  }

  Result DoneResult() {
    Result result;
    result.task = "rank-1";
    result.request = RequestText(plan_, plan_.tasks[0]);
    result.state = State::kDone;
    result.input = *StatFile(dir_ + "/run/r.json");
    result.input->path = "r.json";
    result.input->crc32c = *DigestFile(dir_ + "/run/r.json");
    FileFacts output = *StatFile(out_ + "/kiln/rank-1.kiln");
    output.path = "kiln/rank-1.kiln";
    output.crc32c = *DigestFile(out_ + "/kiln/rank-1.kiln");
    output.mtime_ns.reset();
    result.outputs = {output};
    result.report = R"({"seen":3,"imported":3})";
    result.notes = {"a \"note\"\n\x01"};
    result.seconds = 1.25;
    result.peak_memory_bytes = 12345;
    result.host = "node7";
    result.thread_count = 2;
    return result;
  }

  bool UpToDate(bool verifies = false) { return IsUpToDate(out_, plan_, plan_.tasks[0], verifies); }

  std::string dir_;
  std::string out_;
  Plan plan_;
};

TEST_F(BatchFilesTest, ResultsComeBackAsTheyWereWritten) {
  const Result want = DoneResult();
  ASSERT_TRUE(WriteResult(out_, want).ok());
  const absl::StatusOr<Result> got = ReadResult(out_, "rank-1");
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->request, want.request);
  EXPECT_EQ(got->state, State::kDone);
  EXPECT_EQ(got->input->path, "r.json");
  EXPECT_EQ(got->input->size_bytes, 11u);
  EXPECT_EQ(got->input->mtime_ns, want.input->mtime_ns);
  EXPECT_EQ(got->input->crc32c, want.input->crc32c);
  ASSERT_EQ(got->outputs.size(), 1u);
  EXPECT_EQ(got->outputs[0].path, "kiln/rank-1.kiln");
  EXPECT_EQ(got->outputs[0].crc32c, want.outputs[0].crc32c);
  EXPECT_EQ(got->report, want.report);
  EXPECT_EQ(got->notes, want.notes);
  EXPECT_EQ(got->seconds, 1.25);
  EXPECT_EQ(got->peak_memory_bytes, 12345u);
  EXPECT_EQ(got->host, "node7");
  EXPECT_EQ(got->thread_count, 2);
}

TEST_F(BatchFilesTest, FailuresComeBackWithTheirKind) {
  Result failure;
  failure.task = "rank-1";
  failure.error_kind = "truncated";
  failure.error = "r.json:7: \xff";
  ASSERT_TRUE(WriteResult(out_, failure).ok());
  const absl::StatusOr<Result> got = ReadResult(out_, "rank-1");
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->state, State::kFailed);
  EXPECT_EQ(got->error_kind, "truncated");
  EXPECT_EQ(got->error, "r.json:7: \xEF\xBF\xBD");
  EXPECT_FALSE(got->input.has_value());
}

TEST_F(BatchFilesTest, WhatIsNoResultIsNone) {
  EXPECT_TRUE(absl::IsNotFound(ReadResult(out_, "rank-1").status()));
  for (const char* text : {"", "{", "[]", "{}", "{\"task\":\"rank-1\"}", "{\"task\":\"rank-2\",\"state\":\"done\"}",
                           "{\"task\":\"rank-1\",\"state\":7}", "\x00\xff"}) {
    ASSERT_TRUE(WriteFile(ResultPath(out_, "rank-1"), text).ok());
    EXPECT_FALSE(ReadResult(out_, "rank-1").ok()) << text;
    EXPECT_FALSE(UpToDate()) << text;
  }
}

TEST_F(BatchFilesTest, UpToDateUntilAnythingChanges) {
  EXPECT_FALSE(UpToDate());
  ASSERT_TRUE(WriteResult(out_, DoneResult()).ok());
  EXPECT_TRUE(UpToDate());
  EXPECT_TRUE(UpToDate(true));

  plan_.options = {"level=3"};
  EXPECT_FALSE(UpToDate());
  plan_.options.clear();
  plan_.is_salvaging = true;
  EXPECT_FALSE(UpToDate());
  plan_.is_salvaging = false;
  EXPECT_TRUE(UpToDate());

  ASSERT_TRUE(WriteFile(out_ + "/kiln/rank-1.kiln", "outpu").ok());
  EXPECT_FALSE(UpToDate());
  ASSERT_TRUE(WriteFile(out_ + "/kiln/rank-1.kiln", "outpux").ok());  // the same size
  EXPECT_TRUE(UpToDate());
  EXPECT_FALSE(UpToDate(true));
  ASSERT_TRUE(WriteFile(out_ + "/kiln/rank-1.kiln", "output").ok());

  ASSERT_TRUE(WriteFile(dir_ + "/run/r.json", "input bytes").ok());  // the same bytes, another time
  EXPECT_FALSE(UpToDate());
  EXPECT_TRUE(UpToDate(true));
  ASSERT_TRUE(WriteFile(dir_ + "/run/r.json", "input bytez").ok());
  EXPECT_FALSE(UpToDate(true));
}

TEST_F(BatchFilesTest, FailuresAreNeverUpToDate) {
  Result result = DoneResult();
  result.state = State::kFailed;
  ASSERT_TRUE(WriteResult(out_, result).ok());
  EXPECT_FALSE(UpToDate());
}

TEST_F(BatchFilesTest, StaleFilesGoAndOthersStay) {
  const std::string mine = out_ + "/kiln/rank-1.kiln.tmp-123-4";
  const std::string other = out_ + "/kiln/notes.tmp-x";
  const std::string running = out_ + "/.batch/running/rank-1.json";
  for (const std::string& path : {mine, other, running}) ASSERT_TRUE(WriteFile(path, "x").ok());
  RemoveStaleFiles(out_);
  EXPECT_FALSE(Exists(mine));
  EXPECT_FALSE(Exists(running));
  EXPECT_TRUE(Exists(other));
  EXPECT_TRUE(Exists(out_ + "/kiln/rank-1.kiln"));
}

TEST_F(BatchFilesTest, RunningTasksAreThoseOfLivingProcesses) {
  ASSERT_TRUE(MarkRunning(out_, "rank-1").ok());
  EXPECT_EQ(RunningTasks(out_, plan_), std::vector<std::string>{"rank-1"});
  UnmarkRunning(out_, "rank-1");
  EXPECT_TRUE(RunningTasks(out_, plan_).empty());
}

TEST_F(BatchFilesTest, ManifestsDifferOnlyInWhatWasMeasured) {
  Result result = DoneResult();
  const auto manifest = [&](const Result& r, absl::string_view engine) {
    std::string text = ManifestJson(plan_, {r}, engine);
    return text.substr(0, text.find("\"measured\""));
  };
  const std::string one = manifest(result, "local");
  result.seconds = 99;
  result.host = "elsewhere";
  result.peak_memory_bytes = 1;
  EXPECT_EQ(manifest(result, "slurm"), one);
  EXPECT_NE(one.find("\"report\": {\"seen\": 3"), std::string::npos) << one;
  result.state = State::kSalvaged;
  EXPECT_NE(manifest(result, "local"), one);
}

TEST_F(BatchFilesTest, ManifestSaysWhatHasNoResult) {
  const std::string text = ManifestJson(plan_, {std::nullopt}, "local");
  EXPECT_NE(text.find("\"state\": \"missing\""), std::string::npos) << text;
}

TEST_F(BatchFilesTest, LockKeepsOthersOutAndSharedOnesShare) {
  OutLock first;
  ASSERT_TRUE(first.Take(out_, true).ok());
  OutLock second;
  EXPECT_TRUE(second.Take(out_, true).ok());
}

TEST_F(BatchFilesTest, SummaryCountsByKind) {
  plan_.tasks.push_back(plan_.tasks[0]);
  plan_.tasks.push_back(plan_.tasks[0]);
  plan_.tasks[2].rank.reset();
  Result failure;
  failure.error_kind = "truncated";
  const Summary summary = Summarize(plan_, {DoneResult(), std::nullopt, failure});
  EXPECT_EQ(summary.done, 1u);
  EXPECT_EQ(summary.missing, 1u);
  EXPECT_EQ(summary.failed, 1u);
  ASSERT_EQ(summary.failures.count("truncated"), 1u);
  EXPECT_EQ(summary.failed_ranks.at("truncated")[0], std::nullopt);
}

}  // namespace
}  // namespace tracekiln::batch
