#include "tools/batch/slurm_engine.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "formats/json/writer.h"
#include "tools/batch/batch_files.h"
#include "tools/batch/run_program.h"

namespace tracekiln::batch {
namespace {

std::string SlurmDirectory(const std::string& out) { return absl::StrCat(out, "/.batch/slurm"); }

// sbatch's file name patterns give meaning to "%" and to a backslash.
std::string PatternPath(absl::string_view path, absl::string_view pattern) {
  std::string text;
  for (char c : path) {
    text += c;
    if (c == '%') text += c;
  }
  return absl::StrCat(text, "/", pattern);
}

// The job that `sbatch --parsable` tells: "123" or "123;cluster".
absl::StatusOr<std::string> Submit(const std::vector<std::string>& arguments) {
  const absl::StatusOr<ProgramOutput> ran = RunProgram(arguments);
  if (!ran.ok()) return ran.status();
  const std::string job(absl::StripAsciiWhitespace(std::string(ran->out.substr(0, ran->out.find(';')))));
  if (ran->exit_code != 0 || job.empty() || !std::all_of(job.begin(), job.end(), absl::ascii_isdigit)) {
    return absl::FailedPreconditionError(
        absl::StrCat("sbatch refuses: ", absl::StripAsciiWhitespace(ran->err), " (exit code ", ran->exit_code, ")"));
  }
  return job;
}

}  // namespace

std::vector<std::pair<size_t, size_t>> ChunkTasks(const std::vector<size_t>& tasks, size_t tasks_per_job) {
  std::vector<std::pair<size_t, size_t>> chunks;
  for (size_t task : tasks) {
    if (!chunks.empty() && chunks.back().second + 1 == task &&
        task - chunks.back().first < std::max<size_t>(tasks_per_job, 1)) {
      chunks.back().second = task;
    } else {
      chunks.emplace_back(task, task);
    }
  }
  return chunks;
}

std::string ShellWord(absl::string_view text) {
  std::string word = "'";
  for (char c : text) {
    if (c == '\'') {
      word += "'\\''";
    } else {
      word += c;
    }
  }
  return word + "'";
}

absl::StatusOr<SlurmJobs> SubmitToSlurm(const Plan& plan, const std::string& out, const std::vector<size_t>& tasks,
                                        const SlurmOptions& options) {
  const std::string directory = SlurmDirectory(out);
  if (absl::Status status = MakeDirectories(directory); !status.ok()) return status;
  size_t tasks_per_job = options.tasks_per_job;
  if (tasks_per_job == 0) {
    tasks_per_job = 1;
    while (ChunkTasks(tasks, tasks_per_job).size() > options.max_array_size && tasks_per_job < plan.tasks.size()) {
      tasks_per_job *= 2;
    }
  }
  const std::vector<std::pair<size_t, size_t>> chunks = ChunkTasks(tasks, tasks_per_job);
  if (chunks.size() > options.max_array_size) {
    return absl::InvalidArgumentError(absl::StrCat(chunks.size(), " array tasks are more than ", options.max_array_size,
                                                   ": give more tasks to each"));
  }
  std::string ranges;
  for (const auto& [first, last] : chunks) absl::StrAppend(&ranges, first, "-", last, "\n");
  const std::string program = ShellWord(options.program);
  const std::string plan_path = ShellWord(PlanPath(out));
  // One failed task of several is no failure of the job: results say what failed, and Slurm is not to requeue it.
  const std::string array_script = absl::StrCat(
      "#!/bin/sh\n"
      "range=$(sed -n \"$((SLURM_ARRAY_TASK_ID + 1))p\" ",
      ShellWord(directory + "/ranges"), ")\n", program, " batch-worker --plan ", plan_path,
      " --task \"$range\" --jobs \"${SLURM_CPUS_PER_TASK:-1}\"\n"
      "code=$?\n"
      "# 1: the inputs of these tasks are broken, 3: done with losses; both are in the results.\n"
      "case $code in 1|3) exit 0 ;; *) exit $code ;; esac\n");
  const std::string merge_script = absl::StrCat("#!/bin/sh\n", program, " batch-merge --plan ", plan_path,
                                                " --engine slurm\n", "case $? in 0|1|3) exit 0 ;; *) exit 1 ;; esac\n");
  for (const auto& [name, text] : {std::pair<const char*, const std::string*>{"ranges", &ranges},
                                   {"array.sh", &array_script},
                                   {"merge.sh", &merge_script}}) {
    if (absl::Status status = WriteFile(absl::StrCat(directory, "/", name), *text); !status.ok()) return status;
  }

  SlurmJobs jobs;
  jobs.array_size = chunks.size();
  // --requeue: when a node dies, Slurm runs its array tasks again, on others; they skip what is done.
  std::vector<std::string> arguments = {"sbatch",
                                        "--parsable",
                                        "--requeue",
                                        "--open-mode=append",
                                        "--job-name=tracekiln-batch",
                                        absl::StrCat("--array=0-", chunks.size() - 1),
                                        absl::StrCat("--output=", PatternPath(directory, "%A_%a.log"))};
  arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
  arguments.push_back(directory + "/array.sh");
  absl::StatusOr<std::string> job = Submit(arguments);
  if (!job.ok()) return job.status();
  jobs.array_job = *std::move(job);
  // Partition, account and limits of the site are needed here, too. What comes last counts.
  std::vector<std::string> merge_arguments = {"sbatch", "--parsable"};
  merge_arguments.insert(merge_arguments.end(), options.arguments.begin(), options.arguments.end());
  merge_arguments.insert(merge_arguments.end(),
                         {"--job-name=tracekiln-merge", absl::StrCat("--dependency=afterany:", jobs.array_job),
                          absl::StrCat("--output=", PatternPath(directory, "merge-%j.log")), directory + "/merge.sh"});
  job = Submit(merge_arguments);
  if (!job.ok()) {
    // Without a job that merges, the array would end in a batch that looks unfinished.
    RunProgram({"scancel", jobs.array_job}).IgnoreError();
    return job.status();
  }
  jobs.merge_job = *std::move(job);
  std::string json;
  {
    json::Writer w(&json);
    w.BeginObject();
    w.Key("array_job"), w.String(jobs.array_job);
    w.Key("merge_job"), w.String(jobs.merge_job);
    w.Key("array_size"), w.Uint(jobs.array_size);
    w.Key("tasks"), w.Uint(tasks.size());
    w.EndObject();
  }
  if (absl::Status status = WriteFile(directory + "/jobs.json", json + "\n"); !status.ok()) return status;
  return jobs;
}

absl::Status WaitForSlurm(const SlurmJobs& jobs, const std::atomic<bool>* is_interrupted) {
  int failures = 0;
  for (;;) {
    if (is_interrupted != nullptr && is_interrupted->load()) return absl::CancelledError("interrupted");
    const absl::StatusOr<ProgramOutput> ran =
        RunProgram({"squeue", "--noheader", absl::StrCat("--jobs=", jobs.merge_job), "--format=%T"});
    if (!ran.ok()) return ran.status();
    // A job that is forgotten is an error to squeue; so is a controller that doesn't answer, for a while.
    if (ran->exit_code == 0) {
      failures = 0;
      if (absl::StripAsciiWhitespace(ran->out).empty()) return absl::OkStatus();
    } else if (ran->err.find("Invalid job id") != std::string::npos) {
      return absl::OkStatus();
    } else if (++failures > 300) {
      return absl::UnavailableError(absl::StrCat("squeue: ", absl::StripAsciiWhitespace(ran->err)));
    }
    usleep(failures == 0 ? 1'000'000 : 2'000'000);
  }
}

}  // namespace tracekiln::batch
