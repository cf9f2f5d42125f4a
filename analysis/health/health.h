// Health of a trace: is this recording fit to be analysed, and what is odd about it?
//
// Profilers lose events, clocks disagree, captures are cut in the middle of a launch, files of two ranks get merged.
// None of that stops an import, but each of it can make an analysis wrong. This library looks at the whole trace once
// and lists what it found, with counts, the worst value and the first places.
//
//   absl::StatusOr<HealthReport> report = AnalyzeHealth(*source);
//   for (const Finding& finding : report->findings) …
//
// or batch by batch, for a caller that has other uses for the batches:
//
//   HealthAnalyzer analyzer;
//   while (…) if (absl::Status status = analyzer.Add(batch); !status.ok()) return status;
//   HealthReport report = std::move(analyzer).Finish(source.info());
//
// Findings (code: meaning). W = warning, N = note: real data that is often like this.
//   report_unbalanced      W  the importer did not account for every event
//   skipped.R, repaired.R  W  the importer's own entries, R being their reason; places are byte offsets
//   noted.R                N
//   salvaged               W  the trace is what --salvage could keep of a damaged input
//   no_events              N  there is nothing to analyse
//   negative_duration      W  a slice ends before it starts; worst: the most negative
//   impossible_duration    W  a slice longer than 10 days; worst: the longest
//   impossible_timestamp   W  more than 146 years (2^62 ns) from the trace's zero point
//   unfinished_slice       W  a slice that never ended
//   negative_timestamp     W  before the trace's zero point; worst: the earliest
//   zero_timestamp         W  ts is 0 although all other events are a minute or more later: the profiler lost the
//   stamp.
//                             Such device work is left out of `devices`
//   not_nested             W  two slices of a host thread overlap without one holding the other, by more than 1 us
//   nearly_nested          N  the same by at most 1 us: jitter of the profiler
//   overlapping_kernels    N  device work that starts before its predecessor on the stream ended (legal)
//   no_device_events       N  the trace has host slices, but no device work
//   kernel_without_launch  W  no host call with the correlation of that device work
//   no_launches            N  the same for all device work: the trace has no host calls
//   launch_without_kernel  W  a launch or copy call without device work; usual for the last ones of a capture
//   kernel_without_correlation  N
//   kernel_before_launch   W  device work that starts before its launch; worst: the most negative delay
//   shared_correlation     W  one correlation used by launches of two processes: several ranks merged into one file.
//                             Such calls and device work are joined where they also share an external id, and are left
//                             out of `launches` otherwise
//   no_rank                N  the trace has device work and does not say which rank it is
//   dangling_flow_end      N  a flow that ends without having started; flow_without_end: the other way round
//   time_gap               N  more than half of the trace's span without the start or end of anything, and over 1 s:
//                             a clock step or a pause; worst: the length
//   clock_step_back        W  in host slices otherwise ordered by time, at most three jumps back by more than 1 ms per
//                             track and category (of at least 100 slices); worst: the jump
//   no_steps               N  there are host slices, but no "ProfilerStep#N"
//   missing_step           W  numbers left out between the first and the last step
//   duplicate_step         W  a step number that occurs more than once on a host track or on several; worst: how often
//   overlapping_steps      W  two steps overlap in time (at most 1 us: N, overlapping_steps_jitter); worst: by how much
//
// Slices with a negative or impossible duration, an impossible timestamp or no end are counted as such and then left
// out of everything that is computed from intervals.
//
// Memory: 24 bytes per slice, 40 more per launch and per piece of device work, 24 per flow event, and each distinct
// name once (its first 200 bytes). Time O(n log n). Not thread-safe.
#ifndef TRACEKILN_ANALYSIS_HEALTH_HEALTH_H_
#define TRACEKILN_ANALYSIS_HEALTH_HEALTH_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/intermediate/event_batch.h"
#include "formats/intermediate/trace_source.h"

namespace tracekiln::health {

enum class Severity : uint8_t { kNote, kWarning };
enum class Unit : uint8_t { kNone, kNanoseconds, kCount };

// Where something was seen. Which members are set depends on the finding: `byte_offset` for what the importer reports,
// `row` (ordinal in the trace, from 0), `ts_ns`, `name` and `track` for the rest.
struct Place {
  std::optional<uint64_t> byte_offset;
  std::optional<uint64_t> row;
  int64_t ts_ns = 0;
  std::string name;
  std::string track;   // "PID/TID"
  std::string detail;  // "correlation 901"; empty if there is nothing to add
};

struct Finding {
  static constexpr size_t kMaxPlaces = 3;

  std::string code;
  Severity severity = Severity::kNote;
  uint64_t count = 0;
  std::optional<int64_t> worst;  // absent where no value is worse than another
  Unit worst_unit = Unit::kNone;
  std::vector<Place> first;  // in the order of the trace's rows, at most kMaxPlaces
  std::string text;          // one sentence for people, without the numbers above
};

// Device work (kernels, copies, memsets) of one device, over all its streams.
struct DeviceHealth {
  std::string device;       // pid of its tracks
  uint64_t work_count = 0;  // slices of device work
  int64_t sum_ns = 0;       // plain sum of durations: counts overlaps twice
  int64_t busy_ns = 0;      // union of the intervals; busy_ns <= span_ns
  int64_t span_ns = 0;      // first start to last end
  double utilisation() const { return span_ns > 0 ? static_cast<double>(busy_ns) / static_cast<double>(span_ns) : 0; }
};

// Host calls and the device work they launched, joined by correlation.
struct LaunchHealth {
  uint64_t linked_launch_count = 0;
  uint64_t linked_work_count = 0;
  // Start of the first piece of work minus start of its launch, once per launch; negative delays are counted apart and
  // are not in the mean.
  uint64_t delay_count = 0;
  uint64_t negative_delay_count = 0;
  std::optional<int64_t> mean_delay_ns;  // rounded down; absent if delay_count == 0
};

struct HealthReport {
  uint64_t row_count = 0;
  uint64_t slice_count = 0;
  uint64_t step_count = 0;  // distinct numbers of ProfilerStep#N
  // First start and last end of host slices and device work: without the profiler's own bookkeeping, whose slices span
  // the whole recording, and without lost (zero) timestamps. Absent if there are none.
  std::optional<int64_t> first_activity_ns;
  std::optional<int64_t> last_activity_ns;
  std::vector<DeviceHealth> devices;
  LaunchHealth launches;
  std::vector<Finding> findings;  // warnings first

  uint64_t warning_count() const;
  const Finding* Find(absl::string_view code) const;
};

class HealthAnalyzer {
 public:
  HealthAnalyzer();
  ~HealthAnalyzer();
  HealthAnalyzer(HealthAnalyzer&&) noexcept;
  HealthAnalyzer& operator=(HealthAnalyzer&&) noexcept;

  // Takes in the next rows of the trace. ResourceExhausted beyond 2^32 - 1 rows.
  [[nodiscard]] absl::Status Add(const EventBatch& batch);

  // `info` is that of the trace after its last batch.
  HealthReport Finish(const TraceInfo& info) &&;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// All batches of `source`, from where it stands. Errors are the source's.
[[nodiscard]] absl::StatusOr<HealthReport> AnalyzeHealth(TraceSource& source);

}  // namespace tracekiln::health

#endif  // TRACEKILN_ANALYSIS_HEALTH_HEALTH_H_
