// The tasks of a batch on this machine, each in a process of its own: a crash, the kernel's want of memory, or a time
// limit ends one task and is that task's result.
//
//   batch::LocalOptions options;
//   options.jobs = 8;
//   std::map<std::string, batch::Result> lost;       // results that could not be written as files
//   absl::Status status = batch::RunLocal(plan, out, tasks, options, &lost);
//
// A worker is this program again, as `tracekiln batch-worker`. Large tasks start first, so that no large one is left
// when all others have ended.
#ifndef TRACEKILN_TOOLS_BATCH_LOCAL_ENGINE_H_
#define TRACEKILN_TOOLS_BATCH_LOCAL_ENGINE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/batch/batch_files.h"
#include "tools/batch/batch_plan.h"
#include "tools/batch/batch_progress.h"

namespace tracekiln::batch {

struct LocalOptions {
  std::string program = "/proc/self/exe";
  int jobs = 1;
  int core_count = 1;          // shared out among the workers
  uint64_t memory_bytes = 0;   // budget, see admission.h
  double timeout_seconds = 0;  // per task; 0: none
  const std::atomic<bool>* is_interrupted = nullptr;
  BatchProgress::Style style = BatchProgress::Style::kQuiet;
  std::function<void(absl::string_view)> err;
};

// Does the tasks with these indices. Cancelled if interrupted: no worker is running then. Errors are those of starting
// workers at all.
[[nodiscard]] absl::Status RunLocal(const Plan& plan, const std::string& out, std::vector<size_t> tasks,
                                    const LocalOptions& options, std::map<std::string, Result>* lost);

// What a worker says of its progress on its descriptor `fd`: one line for each call, at most ten a second.
class ProgressPipe {
 public:
  explicit ProgressPipe(int fd) : fd_(fd) {}
  void Write(uint64_t done_bytes, uint64_t total_bytes, uint64_t event_count);

 private:
  const int fd_;
  int64_t next_ns_ = 0;
};

}  // namespace tracekiln::batch

#endif  // TRACEKILN_TOOLS_BATCH_LOCAL_ENGINE_H_
