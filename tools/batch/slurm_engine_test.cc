#include "tools/batch/slurm_engine.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/batch/batch_files.h"
#include "tools/batch/run_program.h"

namespace tracekiln::batch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(ChunkTasksTest, JoinsNeighboursUpToTheLimit) {
  EXPECT_THAT(ChunkTasks({0, 1, 2, 3, 4}, 2), ElementsAre(Pair(0, 1), Pair(2, 3), Pair(4, 4)));
  EXPECT_THAT(ChunkTasks({0, 2, 3, 9}, 10), ElementsAre(Pair(0, 0), Pair(2, 3), Pair(9, 9)));
  EXPECT_THAT(ChunkTasks({5, 6}, 0), ElementsAre(Pair(5, 5), Pair(6, 6)));
  EXPECT_THAT(ChunkTasks({}, 3), IsEmpty());
}

TEST(ShellWordTest, TheShellReadsBackWhatItWas) {
  for (const char* text : {"plain", "", "with blank", "it's", "$HOME `x` \"y\" \\z", "new\nline", "-n"}) {
    const auto ran = RunProgram({"/bin/sh", "-c", std::string("printf %s ") + ShellWord(text)});
    ASSERT_TRUE(ran.ok());
    EXPECT_EQ(ran->out, text);
  }
}

TEST(RunProgramTest, TellsCodeAndOutputs) {
  const auto ran = RunProgram({"/bin/sh", "-c", "echo out; echo err >&2; exit 7"});
  ASSERT_TRUE(ran.ok());
  EXPECT_EQ(ran->exit_code, 7);
  EXPECT_EQ(ran->out, "out\n");
  EXPECT_EQ(ran->err, "err\n");
  EXPECT_EQ(RunProgram({"/bin/sh", "-c", "kill -9 $$"})->exit_code, 137);
  EXPECT_TRUE(absl::IsNotFound(RunProgram({"no-such-program-anywhere"}).status()));
}

// A made-up sbatch that notes its arguments; the real one is in tests/slurm.
class SlurmTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::string(testing::TempDir()) + "/slurm_" + std::to_string(getpid()) + "_" +
                 testing::UnitTest::GetInstance()->current_test_info()->name();
    ASSERT_TRUE(MakeDirectories(directory_ + "/bin").ok());
    ASSERT_TRUE(MakeDirectories(directory_ + "/out/.batch").ok());
    old_path_ = std::getenv("PATH");
    setenv("PATH", (directory_ + "/bin:/bin:/usr/bin").c_str(), 1);
  }
  void TearDown() override { setenv("PATH", old_path_.c_str(), 1); }
  void Program(const std::string& name, const std::string& script) {
    const std::string path = directory_ + "/bin/" + name;
    ASSERT_TRUE(WriteFile(path, "#!/bin/sh\n" + script).ok());
    ASSERT_EQ(chmod(path.c_str(), 0755), 0);
  }
  std::string Read(const std::string& name) { return ReadFile(directory_ + "/" + name).value_or(""); }

  std::string directory_;
  std::string old_path_;
};

TEST_F(SlurmTest, SubmitsAnArrayAndAJobBehindIt) {
  Program("sbatch", "echo \"$@\" >>" + directory_ + "/calls; echo $(wc -l <" + directory_ + "/calls);exit 0\n");
  Plan plan;
  plan.tasks.resize(10);
  SlurmOptions options;
  options.program = "/opt/it's here/tracekiln";
  options.arguments = {"--partition=cpu"};
  options.tasks_per_job = 3;
  const auto jobs = SubmitToSlurm(plan, directory_ + "/out", {0, 1, 2, 3, 7}, options);
  ASSERT_TRUE(jobs.ok()) << jobs.status();
  EXPECT_EQ(jobs->array_job, "1");
  EXPECT_EQ(jobs->merge_job, "2");
  EXPECT_EQ(jobs->array_size, 3u);
  EXPECT_EQ(Read("out/.batch/slurm/ranges"), "0-2\n3-3\n7-7\n");
  EXPECT_THAT(Read("calls"), HasSubstr("--array=0-2"));
  EXPECT_THAT(Read("calls"), HasSubstr("--partition=cpu"));
  EXPECT_THAT(Read("calls"), HasSubstr("--parsable --partition=cpu --job-name=tracekiln-merge"));
  EXPECT_THAT(Read("calls"), HasSubstr("--dependency=afterany:1"));
  EXPECT_THAT(Read("out/.batch/slurm/array.sh"), HasSubstr("'/opt/it'\\''s here/tracekiln' batch-worker"));
  EXPECT_THAT(Read("out/.batch/slurm/jobs.json"), HasSubstr("\"array_job\":\"1\""));
}

TEST_F(SlurmTest, LargePlansGetSeveralTasksPerJob) {
  Program("sbatch", "echo 5\n");
  Plan plan;
  plan.tasks.resize(5000);
  std::vector<size_t> tasks(5000);
  for (size_t i = 0; i < tasks.size(); ++i) tasks[i] = i;
  const auto jobs = SubmitToSlurm(plan, directory_ + "/out", tasks, {.program = "/t", .arguments = {}});
  ASSERT_TRUE(jobs.ok()) << jobs.status();
  EXPECT_EQ(jobs->array_size, 625u);
}

TEST_F(SlurmTest, ARefusalIsToldAndTheArrayIsCancelled) {
  Program("sbatch", "case \"$*\" in *dependency*) echo 'no such partition' >&2; exit 1;; *) echo 77;; esac\n");
  Program("scancel", "echo \"$@\" >" + directory_ + "/cancelled\n");
  Plan plan;
  plan.tasks.resize(1);
  const auto jobs = SubmitToSlurm(plan, directory_ + "/out", {0}, {.program = "/t", .arguments = {}});
  EXPECT_TRUE(absl::IsFailedPrecondition(jobs.status()));
  EXPECT_THAT(std::string(jobs.status().message()), HasSubstr("no such partition"));
  EXPECT_EQ(Read("cancelled"), "77\n");
}

TEST_F(SlurmTest, WithoutSlurmThatIsSaid) {
  setenv("PATH", (directory_ + "/bin").c_str(), 1);
  Plan plan;
  plan.tasks.resize(1);
  EXPECT_TRUE(
      absl::IsNotFound(SubmitToSlurm(plan, directory_ + "/out", {0}, {.program = "/t", .arguments = {}}).status()));
}

TEST_F(SlurmTest, WaitsUntilTheMergeJobIsGone) {
  Program("squeue",
          "if test -e " + directory_ + "/asked; then exit 0; fi; touch " + directory_ + "/asked; echo PENDING\n");
  EXPECT_TRUE(WaitForSlurm({"1", "2", 1}, nullptr).ok());
  Program("squeue", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1\n");
  EXPECT_TRUE(WaitForSlurm({"1", "2", 1}, nullptr).ok());
  const std::atomic<bool> is_interrupted{true};
  EXPECT_TRUE(absl::IsCancelled(WaitForSlurm({"1", "2", 1}, &is_interrupted)));
}

}  // namespace
}  // namespace tracekiln::batch
