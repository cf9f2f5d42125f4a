// One task of a batch, from input to result.
//
//   batch::Result result = batch::RunTask(plan, task, out, AllFormats(), executor, options);
//   absl::Status status = batch::WriteResult(out, result);
//
// The input is read once, however many formats are asked for: the first pass makes the .kiln (the one that was asked
// for, or a temporary one), from which the others are written. Outputs appear whole; a task that fails leaves none.
#ifndef TRACEKILN_TOOLS_BATCH_WORKER_H_
#define TRACEKILN_TOOLS_BATCH_WORKER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/types/span.h"
#include "formats/format/format.h"
#include "formats/io/executor.h"
#include "tools/batch/batch_files.h"
#include "tools/batch/batch_plan.h"

namespace tracekiln::batch {

struct WorkerOptions {
  const std::atomic<bool>* is_interrupted = nullptr;           // the task ends at its next batch of events
  std::function<void(uint64_t, uint64_t, uint64_t)> progress;  // bytes done, bytes in all (0: unknown), events
};

// A result of kind "interrupted" is for nobody: it must not be written.
Result RunTask(const Plan& plan, const Task& task, const std::string& out, absl::Span<const Format* const> formats,
               io::Executor& executor, const WorkerOptions& options);

// The most memory this process has used, VmHWM. 0 if the system does not say.
uint64_t PeakMemoryBytes();

}  // namespace tracekiln::batch

#endif  // TRACEKILN_TOOLS_BATCH_WORKER_H_
