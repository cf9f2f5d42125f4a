// What is in a trace: counts, sums and names, gathered in one pass over its batches.
//
//   TraceSummarizer summarizer;
//   while (…) summarizer.Add(batch);
//   TraceSummary summary = std::move(summarizer).Finish();
//
// Memory: one entry per track, and per pair of kind and category. Not thread-safe.
#ifndef TRACEKILN_TOOLS_TRACE_SUMMARY_H_
#define TRACEKILN_TOOLS_TRACE_SUMMARY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "formats/intermediate/event_batch.h"

namespace tracekiln::tools {

// "slice", "instant", "counter", "async_begin", …: the name of a kind on the command line and in output.
absl::string_view KindName(EventKind kind);
std::optional<EventKind> KindFromName(absl::string_view name);

// A pid or tid as people write it: the number, the text, or the JSON; "0" if absent.
std::string TrackPartText(const EventBatch& batch, const TrackPart& part);
// The same, unique: 7 and "7" differ, and absent is 0.
std::string TrackPartKey(const EventBatch& batch, const TrackPart& part);

struct CategorySummary {
  EventKind kind;
  std::string category;
  bool has_category = false;
  uint64_t count = 0;
  int64_t sum_dur_ns = 0;  // of slices that ended; at the ends of int64 if it does not fit
  uint64_t unfinished_count = 0;
};

struct TrackSummary {
  std::string pid;
  std::string tid;
  std::string process_name;  // of the metadata rows, wherever they stood; empty: none
  std::string thread_name;
  uint64_t count = 0;  // rows but metadata
  int64_t sum_dur_ns = 0;
};

struct TraceSummary {
  uint64_t row_count = 0;
  uint64_t merged_flow_count = 0;  // flow events that are flags of other rows
  // First ts to last end of all rows but metadata; absent if there are none.
  std::optional<int64_t> first_ns;
  std::optional<int64_t> last_ns;
  std::vector<CategorySummary> categories;  // by kind, then by the sum of durations and the count, largest first
  std::vector<TrackSummary> tracks;         // those with rows, in the order of their first row
};

class TraceSummarizer {
 public:
  void Add(const EventBatch& batch);
  TraceSummary Finish() &&;

 private:
  struct TrackEntry {
    TrackSummary summary;
    std::string pid_key;
    std::string key;
  };

  TraceSummary summary_;
  std::map<std::pair<int, std::string>, CategorySummary> categories_;  // "c" + category, or "" without one
  std::unordered_map<std::string, size_t> track_numbers_;
  std::vector<TrackEntry> tracks_;
  std::unordered_map<std::string, std::string> process_names_;  // by pid key
  std::unordered_map<std::string, std::string> thread_names_;   // by track key
};

}  // namespace tracekiln::tools

#endif  // TRACEKILN_TOOLS_TRACE_SUMMARY_H_
