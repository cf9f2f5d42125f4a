// HostTimeline: the slices of a trace's host threads in the order and nesting of a call stack, and the device work that
// they launched. What a call tree is made from.
//
//   HostTimeline timeline;
//   while (…) timeline.Add(batch);                   // all batches, in any order of time
//   timeline.Finish();
//   for (const HostThread& thread : timeline.threads()) for (const HostSlice& slice : thread.slices) …
//
// Order: by start; of equal starts the longer first; of equal intervals Python frames, then annotations, operators,
// calls of the runtime; then as in the file. A call stack is then a walk with a stack, see Contains().
//
// Left out, and counted: slices that never ended or have a negative duration, and the profiler's own bookkeeping.
// Device work is joined to the host call with its correlation (several pieces may share one: graph launches), else to
// the operator with its external id. If several calls have the correlation, that with the work's external id is taken,
// else, within one process, the last one that starts before the work; otherwise none.
// Memory: 24 bytes per host slice, 24 per launch, operator with an external id and piece of device work, 16 more while
// sorting. Time O(n) but for the few steps of radix sort. Not thread-safe.
#ifndef TRACEKILN_FORMATS_PSTATS_HOST_TIMELINE_H_
#define TRACEKILN_FORMATS_PSTATS_HOST_TIMELINE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "formats/intermediate/category_roles.h"
#include "formats/intermediate/event_batch.h"
#include "formats/intermediate/string_pool.h"

namespace tracekiln::pstats {

// A name as pstats has it. Python frames "FILE(LINE): NAME" are taken apart; all others have the file "~" and line 0,
// and device work is called "<gpu NAME>".
struct TimelineFunction {
  StringId file;
  StringId name;
  int64_t line = 0;
  CategoryRole role = CategoryRole::kHostOther;
};

inline constexpr uint32_t kNoLink = 0xffffffffu;

struct HostSlice {
  int64_t start_ns;
  int64_t end_ns;
  uint32_t function;  // index into functions()
  uint32_t link;      // for WorkOf(); kNoLink: launched nothing
};

struct DeviceWork {
  int64_t dur_ns;
  uint32_t function;
};

struct HostThread {
  std::string pid;  // as text
  std::string tid;
  std::string name;  // from the metadata; may be empty
  std::vector<HostSlice> slices;
};

class HostTimeline {
 public:
  void Add(const EventBatch& batch);
  void Finish();

  // Threads with at least one slice, in the order of their first slice in the trace.
  const std::vector<HostThread>& threads() const { return threads_; }
  const std::vector<TimelineFunction>& functions() const { return functions_; }
  const StringPool& strings() const { return strings_; }
  absl::string_view NameOf(uint32_t function) const { return strings_.Get(functions_[function].name); }

  // The device work launched by a slice, in the order of the trace.
  absl::Span<const DeviceWork> WorkOf(const HostSlice& slice) const {
    if (slice.link == kNoLink) return {};
    return absl::MakeConstSpan(work_).subspan(work_begin_[slice.link],
                                              work_begin_[slice.link + 1] - work_begin_[slice.link]);
  }
  // Device work whose launch is not in the trace.
  absl::Span<const DeviceWork> orphans() const { return absl::MakeConstSpan(work_).subspan(orphans_begin_); }
  size_t work_count() const { return work_.size(); }

  // Slices left out.
  uint64_t unfinished_count() const { return unfinished_count_; }
  uint64_t negative_count() const { return negative_count_; }

 private:
  // Where an id (correlation, or external id of an operator) was seen on the host.
  struct Link {
    int64_t id;
    int64_t external_id;
    int64_t start_ns;
    uint32_t process : 31;
    uint32_t is_call : 1;  // `id` is a correlation; otherwise an external id
    uint32_t next;         // call with the same correlation, or kNoLink
  };
  struct UnlinkedWork {
    int64_t correlation;
    int64_t external_id;
    int64_t start_ns;
    DeviceWork work;
  };

  uint32_t InternFunction(absl::string_view name, CategoryRole role);
  void SortThread(HostThread* thread);
  void ResolveLinks();

  StringPool strings_;
  std::vector<TimelineFunction> functions_;
  std::unordered_map<uint64_t, uint32_t> function_of_name_;  // by id of the whole name, and role
  std::vector<HostThread> threads_;
  std::unordered_map<std::string, uint32_t> thread_of_track_;
  std::vector<uint32_t> process_of_thread_;
  std::unordered_map<std::string, uint32_t> process_of_pid_;
  std::unordered_map<std::string, std::string> thread_names_;  // by track
  std::vector<Link> links_;                                    // of calls and of operators
  std::vector<UnlinkedWork> unlinked_;
  std::vector<DeviceWork> work_;
  std::vector<uint32_t> work_begin_;  // by link, and the end of the last
  size_t orphans_begin_ = 0;
  uint64_t unfinished_count_ = 0;
  uint64_t negative_count_ = 0;
};

// Whether a slice that starts no earlier lies within an open one whose end is `open_end_ns`: it starts before that end,
// and ends no more than 1 us behind it (profilers jitter) with at least half of itself inside.
inline constexpr int64_t kNestingJitterNs = 1000;
inline bool Contains(int64_t open_end_ns, int64_t start_ns, int64_t end_ns) {
  if (start_ns >= open_end_ns) return false;
  if (end_ns <= open_end_ns) return true;
  const int64_t overhang_ns = end_ns - open_end_ns;
  return overhang_ns <= kNestingJitterNs && overhang_ns <= open_end_ns - start_ns;
}

}  // namespace tracekiln::pstats

#endif  // TRACEKILN_FORMATS_PSTATS_HOST_TIMELINE_H_
