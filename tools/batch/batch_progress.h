// What a person sees of a batch while it runs: on a terminal one line for each running task and one for the whole,
// rewritten in place; elsewhere a plain line every few seconds.
//
//   BatchProgress progress(BatchProgress::Style::kTerminal, write, task_count, total_bytes);
//   progress.Update(done_count, failed_count, done_bytes, running);   // as often as one likes
//   progress.Finish();                                                // wipes what would be in the way
#ifndef TRACEKILN_TOOLS_BATCH_BATCH_PROGRESS_H_
#define TRACEKILN_TOOLS_BATCH_BATCH_PROGRESS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace tracekiln::batch {

class BatchProgress {
 public:
  enum class Style { kQuiet, kPlain, kTerminal };
  struct Running {
    std::string name;
    uint64_t done_bytes = 0;
    uint64_t total_bytes = 0;  // 0: unknown
    uint64_t event_count = 0;
    double seconds = 0;
  };
  using Write = std::function<void(absl::string_view)>;
  using ClockNs = std::function<int64_t()>;  // monotonic; replaces the steady clock in tests

  // `total_bytes`: of the inputs of `task_count` tasks that are to be done.
  BatchProgress(Style style, Write write, size_t task_count, uint64_t total_bytes, ClockNs clock_ns = {});

  // `done_bytes`: of the inputs of the tasks that ended.
  void Update(size_t done_count, size_t failed_count, uint64_t done_bytes, const std::vector<Running>& running);
  void Finish();

 private:
  std::string Overall(size_t done_count, size_t failed_count, uint64_t done_bytes) const;
  void Wipe();

  const Style style_;
  const Write write_;
  const size_t task_count_;
  const uint64_t total_bytes_;
  const ClockNs clock_ns_;
  const int64_t start_ns_;
  int64_t next_ns_;
  size_t line_count_ = 0;  // on the terminal
};

}  // namespace tracekiln::batch

#endif  // TRACEKILN_TOOLS_BATCH_BATCH_PROGRESS_H_
