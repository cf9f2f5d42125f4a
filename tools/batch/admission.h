// How many workers fit into memory. Every task has an expected peak, from a model of what was measured
// (docs/batch.md); a task starts when its peak fits beside those that run. One that is larger than all of the budget
// runs alone.
#ifndef TRACEKILN_TOOLS_BATCH_ADMISSION_H_
#define TRACEKILN_TOOLS_BATCH_ADMISSION_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tools/batch/batch_plan.h"

namespace tracekiln::batch {

// The expected peak of a worker process for `task` on that many threads.
uint64_t ExpectedPeakBytes(const Task& task, int thread_count);

// Not thread-safe.
class Admission {
 public:
  explicit Admission(uint64_t budget_bytes) : budget_bytes_(budget_bytes) {}
  bool Fits(uint64_t peak_bytes) const { return running_count_ == 0 || used_bytes_ + peak_bytes <= budget_bytes_; }
  void Start(uint64_t peak_bytes) {
    used_bytes_ += peak_bytes;
    ++running_count_;
  }
  void End(uint64_t peak_bytes) {
    used_bytes_ -= peak_bytes;
    --running_count_;
  }
  uint64_t used_bytes() const { return used_bytes_; }

 private:
  const uint64_t budget_bytes_;
  uint64_t used_bytes_ = 0;
  size_t running_count_ = 0;
};

// "8GB", "512MiB", "80%" (of this machine's memory, or of the control group's limit if that is less), "1000000".
// InvalidArgument otherwise, and for 0.
[[nodiscard]] absl::StatusOr<uint64_t> ParseMemory(absl::string_view text);

}  // namespace tracekiln::batch

#endif  // TRACEKILN_TOOLS_BATCH_ADMISSION_H_
