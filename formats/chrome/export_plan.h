// What the first pass over a trace finds out, so that the second can write it row by row for viewers: lanes, ids,
// arrows, and what has to be left out.
//
// Everything here is about rare rows or about tracks; rows are numbered through the whole trace, in file order.
#ifndef TRACEKILN_FORMATS_CHROME_EXPORT_PLAN_H_
#define TRACEKILN_FORMATS_CHROME_EXPORT_PLAN_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "formats/chrome/lanes.h"
#include "formats/chrome/row_filter.h"
#include "formats/chrome/track_ids.h"
#include "formats/intermediate/trace_source.h"

namespace tracekiln::chrome {

// Metadata events that describe processes and threads; the exporter writes them itself, once each.
enum class TrackFact : uint8_t {
  kNone,
  kProcessName,
  kProcessLabels,
  kProcessSortIndex,
  kThreadName,
  kThreadSortIndex
};
TrackFact TrackFactOf(absl::string_view event_name);

struct ExportPlan {
  TrackTable tracks;

  // Rows that don't stand on lane 0, by row: (row, lane). Flow events are where the slice is that they belong to.
  std::vector<std::pair<uint32_t, uint32_t>> lanes;
  uint64_t moved_slice_count = 0;

  // Rows that are written behind a later one, by row: (row, anchor).
  std::vector<std::pair<uint32_t, uint32_t>> deferred;
  // The same by anchor, in the order in which they are written: (anchor, row).
  std::vector<std::pair<uint32_t, uint32_t>> deferred_by_anchor;

  // Arrows, by (from_row, to_row); arrow i has the id first_arrow_id + i.
  struct Arrow {
    uint32_t from_row;
    uint32_t to_row;
    friend bool operator<(const Arrow& a, const Arrow& b) {
      return a.from_row != b.from_row ? a.from_row < b.from_row : a.to_row < b.to_row;
    }
  };
  std::vector<Arrow> arrows;
  std::vector<uint32_t> arrows_by_end;  // indices of arrows, by to_row
  int64_t first_arrow_id = 1;
  // Flow ends that belong to the next slice get its start: (row, ts_ns), by row.
  std::vector<std::pair<uint32_t, int64_t>> moved_flows;

  // Subtracted from every time, added to the base.
  int64_t shift_ns = 0;

  // Why something is not in the output, and how often.
  std::map<std::string, uint64_t> left_out;
};

struct PlanLimits {
  // Slices that are sorted at a time.
  size_t window_items = size_t{1} << 21;
};

// Reads the whole source (which is at its beginning). ResourceExhausted beyond 2^32 - 2 rows.
absl::StatusOr<ExportPlan> BuildExportPlan(TraceSource& source, const RowFilter& filter, const PlanLimits& limits = {});

// Whether a value can be shown as a counter: a number, or a text that is the number *text.
bool IsCounterValue(const EventBatch& batch, ArgType type, ArgValue value);

}  // namespace tracekiln::chrome

#endif  // TRACEKILN_FORMATS_CHROME_EXPORT_PLAN_H_
