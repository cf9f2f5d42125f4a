// The tasks of a batch on a Slurm cluster: a job array over them, and a job behind it that writes the manifest.
//
//   batch::SlurmOptions options;
//   options.arguments = {"--partition=cpu", "--time=30"};
//   absl::StatusOr<batch::SlurmJobs> jobs = batch::SubmitToSlurm(plan, out, tasks, options);
//
// Slurm schedules, requeues (array tasks of nodes that die) and limits; nothing of that is done here. Each array task
// runs `tracekiln batch-worker` on some tasks of the plan, one process after the other, with as many threads as Slurm
// gives it CPUs; the last job runs `tracekiln batch-merge` when all have ended, however they ended (afterany). What a
// killed array task did not finish has no result, so the manifest lists it and `batch --resume OUT` does it again.
//
// Needs: sbatch in PATH; OUT, the run directory and this program under the same paths on all nodes.
// Files, beside those of batch_files.h:
//   OUT/.batch/slurm/ranges          line K: the tasks of array task K, "12-23"
//   OUT/.batch/slurm/array.sh, merge.sh
//   OUT/.batch/slurm/JOB_K.log       what array task K of job JOB wrote; merge-JOB.log
//   OUT/.batch/slurm/jobs.json       the jobs submitted last
#ifndef TRACEKILN_TOOLS_BATCH_SLURM_ENGINE_H_
#define TRACEKILN_TOOLS_BATCH_SLURM_ENGINE_H_

#include <atomic>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tools/batch/batch_plan.h"

namespace tracekiln::batch {

struct SlurmOptions {
  std::string program;                 // absolute path of tracekiln on the nodes
  std::vector<std::string> arguments;  // for sbatch of both jobs, as given
  size_t tasks_per_job = 0;            // 0: so many that the array has at most max_array_size tasks
  size_t max_array_size = 1000;        // Slurm's default MaxArraySize is 1001
};

struct SlurmJobs {
  std::string array_job;
  std::string merge_job;
  size_t array_size = 0;
};

// Runs of neighbouring indices of at most `tasks_per_job` tasks each, as inclusive ranges. REQUIRES: ascending.
std::vector<std::pair<size_t, size_t>> ChunkTasks(const std::vector<size_t>& tasks, size_t tasks_per_job);

// `text` as one word for a POSIX shell.
std::string ShellWord(absl::string_view text);

// Submits the tasks with these indices (at least one, ascending). NotFound if there is no sbatch; FailedPrecondition
// with what sbatch said if it refuses; then nothing of it stays in Slurm's queue.
[[nodiscard]] absl::StatusOr<SlurmJobs> SubmitToSlurm(const Plan& plan, const std::string& out,
                                                      const std::vector<size_t>& tasks, const SlurmOptions& options);

// Waits until the merge job has left Slurm's queue, asking every second. Cancelled if interrupted: the jobs go on.
[[nodiscard]] absl::Status WaitForSlurm(const SlurmJobs& jobs, const std::atomic<bool>* is_interrupted);

}  // namespace tracekiln::batch

#endif  // TRACEKILN_TOOLS_BATCH_SLURM_ENGINE_H_
