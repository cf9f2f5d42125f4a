// Progress of a long run on one line of the terminal: bytes, events, rate, time left.
//
// Nothing is shown in the first second, so that short runs stay quiet, and nothing at all if the meter is not enabled
// (standard error is no terminal, or --quiet). The line is rewritten at most five times a second and wiped by Finish.
//
//   ProgressMeter meter(is_terminal, [](absl::string_view text) { … });
//   ProgressSource counted(*source, &meter);     // counts what is read through it
//   …
//   meter.Finish();
#ifndef TRACEKILN_TOOLS_PROGRESS_H_
#define TRACEKILN_TOOLS_PROGRESS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/intermediate/trace_source.h"

namespace tracekiln::tools {

// Not thread-safe.
class ProgressMeter {
 public:
  using Write = std::function<void(absl::string_view)>;
  using ClockNs = std::function<int64_t()>;  // monotonic

  // `clock_ns` replaces the steady clock in tests.
  ProgressMeter(bool is_enabled, Write write, ClockNs clock_ns = {});

  // `done_bytes` of `total_bytes` (0: unknown) and `event_count` events so far.
  void Update(uint64_t done_bytes, uint64_t total_bytes, uint64_t event_count);

  // Wipes the line, if one was shown.
  void Finish();

 private:
  const bool is_enabled_;
  const Write write_;
  const ClockNs clock_ns_;
  const int64_t start_ns_;
  int64_t next_ns_;
  bool is_shown_ = false;
};

// "rank0.json: 42 %, 1.2 of 2.9 GB, 3.4 M events, 310 MB/s, 5 s left" without the name. total_bytes 0: unknown;
// elapsed_ns 0: no rate.
std::string ProgressText(uint64_t done_bytes, uint64_t total_bytes, uint64_t event_count, int64_t elapsed_ns);

// Passes a source through and tells a meter, which must outlive it, what was read. If `is_interrupted` is given and
// true, Next answers Cancelled.
class ProgressSource final : public TraceSource {
 public:
  // Does not own the source.
  ProgressSource(TraceSource& source, ProgressMeter* meter, const std::atomic<bool>* is_interrupted = nullptr)
      : source_(source), meter_(meter), is_interrupted_(is_interrupted) {}
  // Owns it.
  ProgressSource(std::unique_ptr<TraceSource> source, ProgressMeter* meter,
                 const std::atomic<bool>* is_interrupted = nullptr)
      : owned_(std::move(source)), source_(*owned_), meter_(meter), is_interrupted_(is_interrupted) {}

  absl::StatusOr<bool> Next(EventBatch* batch) override;
  absl::Status Rewind() override {
    event_count_ = 0;
    return source_.Rewind();
  }
  bool can_rewind() const override { return source_.can_rewind(); }
  const TraceInfo& info() const override { return source_.info(); }
  const Profile* profile() const override { return source_.profile(); }
  const Graph* graph() const override { return source_.graph(); }
  Progress progress() const override { return source_.progress(); }
  // Rows given out since the start or the last Rewind.
  uint64_t event_count() const { return event_count_; }

 private:
  const std::unique_ptr<TraceSource> owned_;
  TraceSource& source_;
  ProgressMeter* const meter_;
  const std::atomic<bool>* const is_interrupted_;
  uint64_t event_count_ = 0;
};

}  // namespace tracekiln::tools

#endif  // TRACEKILN_TOOLS_PROGRESS_H_
