// The files of a batch in its output directory, through which workers, engines, re-runs and people know what happened.
//
//   OUT/.batch/plan.json            what is to be done (batch_plan.h)
//   OUT/.batch/results/TASK.json    written when a task ended and its outputs, if any, are whole
//   OUT/.batch/running/TASK.json    who works on a task: host and process
//   OUT/.batch/lock                 flock: exclusive for a batch on one machine, shared for workers on a cluster
//   OUT/.batch/workers.log          what workers wrote on standard error: empty unless one crashed
//   OUT/manifest.json               all results in the order of the plan, when everything has ended
//
// All are replaced atomically. Nothing else is remembered anywhere.
#ifndef TRACEKILN_TOOLS_BATCH_BATCH_FILES_H_
#define TRACEKILN_TOOLS_BATCH_BATCH_FILES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tools/batch/batch_plan.h"

namespace tracekiln::batch {

// A file as it was when it was read or written.
struct FileFacts {
  std::string path;  // inputs: below the run directory; outputs: below OUT
  uint64_t size_bytes = 0;
  std::optional<int64_t> mtime_ns;  // since the epoch; inputs only
  std::optional<uint32_t> crc32c;   // of the bytes on disk
};

enum class State : uint8_t {
  kDone,
  kSalvaged,  // done with stated losses
  kFailed,
};

struct Result {
  std::string task;
  std::string request;  // RequestText
  State state = State::kFailed;
  std::optional<FileFacts> input;  // absent if it could not be read
  std::vector<FileFacts> outputs;  // none if failed
  std::string report;              // import report as one JSON object; empty if none
  std::vector<std::string> notes;
  // Of a failure. Kinds: truncated, damaged, no_trace, unreadable, unsupported, not_convertible, too_big, changed,
  // disk_full, unwritable, out_of_memory, killed, timed_out, internal.
  std::string error_kind;
  std::string error;
  // Differs from run to run.
  double seconds = 0;
  uint64_t peak_memory_bytes = 0;
  std::string host;
  int thread_count = 0;
};

std::string PlanPath(const std::string& out);
std::string ResultPath(const std::string& out, const std::string& task);

// A whole file, or an error that names it.
[[nodiscard]] absl::StatusOr<std::string> ReadFile(const std::string& path);
// Replaces it at once or leaves it as it was.
[[nodiscard]] absl::Status WriteFile(const std::string& path, absl::string_view text);
// As mkdir -p.
[[nodiscard]] absl::Status MakeDirectories(const std::string& path);
[[nodiscard]] absl::StatusOr<bool> IsEmptyDirectory(const std::string& path);
// Size and mtime. Errors as the system says, with the path; FailedPrecondition if it is no regular file.
[[nodiscard]] absl::StatusOr<FileFacts> StatFile(const std::string& path);
// CRC-32C of the file's bytes, read in pieces of 1 MiB.
[[nodiscard]] absl::StatusOr<uint32_t> DigestFile(const std::string& path);

[[nodiscard]] absl::StatusOr<Plan> ReadPlan(const std::string& path);

[[nodiscard]] absl::Status WriteResult(const std::string& out, const Result& result);
// NotFound if there is none yet.
[[nodiscard]] absl::StatusOr<Result> ReadResult(const std::string& out, const std::string& task);

// Whether the result that is there is that of the same request on the same input, and its outputs are there with their
// sizes. If `verifies`, digests of input and outputs count as well, which reads all of them. A failure is never up to
// date.
bool IsUpToDate(const std::string& out, const Plan& plan, const Task& task, bool verifies);

// Removes the outputs of a task: those of an earlier run before it begins, and whatever there is when it has failed.
// Directories of tasks that make several files belong to the batch and are emptied: what an earlier run with other
// options made there would otherwise stand beside what this one makes. The input itself is never removed.
void RemoveOutputs(const std::string& out, const Plan& plan, const Task& task);

// Removes what a run that was killed left behind: temporary files of outputs that never became whole, and the notes of
// who works. REQUIRES: nobody is working in `out` (see OutLock).
void RemoveStaleFiles(const std::string& out);

// Who works on what.
[[nodiscard]] absl::Status MarkRunning(const std::string& out, const std::string& task);
void UnmarkRunning(const std::string& out, const std::string& task);
// Names of tasks that somebody works on. Of processes on this host only those that are alive.
std::vector<std::string> RunningTasks(const std::string& out, const Plan& plan);

// Keeps two batches out of one directory. The lock belongs to the open file: processes that inherit it keep it, so that
// workers of a batch that was killed are waited for.
class OutLock {
 public:
  OutLock() = default;
  ~OutLock();
  OutLock(const OutLock&) = delete;
  OutLock& operator=(const OutLock&) = delete;
  // Waits up to 10 s. Unavailable if somebody else has it; OK without a lock where the file system knows none.
  [[nodiscard]] absl::Status Take(const std::string& out, bool is_shared);

 private:
  int fd_ = -1;
};

struct Summary {
  size_t done = 0;  // salvaged ones excepted
  size_t salvaged = 0;
  size_t failed = 0;
  size_t missing = 0;                                                       // without a result
  std::map<std::string, std::vector<std::string>> failures;                 // names of tasks by kind
  std::map<std::string, std::vector<std::optional<int64_t>>> failed_ranks;  // the same, their ranks
};

// All results of the plan. `known`: results that could not be written as files.
std::vector<std::optional<Result>> ReadResults(const std::string& out, const Plan& plan,
                                               const std::map<std::string, Result>& known = {});
Summary Summarize(const Plan& plan, const std::vector<std::optional<Result>>& results);

// The text of OUT/manifest.json. Depends on inputs, options and outcome only, except for the member "measured".
std::string ManifestJson(const Plan& plan, const std::vector<std::optional<Result>>& results, absl::string_view engine);
std::string ManifestPath(const std::string& out);

}  // namespace tracekiln::batch

#endif  // TRACEKILN_TOOLS_BATCH_BATCH_FILES_H_
