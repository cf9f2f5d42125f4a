// RepairProfile: the smallest changes to a profile after which every viewer opens it.
//
//   RepairSummary summary;
//   Profile repaired = RepairProfile(profile, {}, &summary);
//
// What is done, in this order, each only where it is needed:
//   1. A time below 0 becomes 0.
//   2. Where the calls by all callers of a function have no time, though the function has: its times are shared out by
//      their calls. (So do viewers that read the counts of the module `profile`.)
//   3. A function that is only named as a caller becomes a row: 1 call, no own time, as long as what it calls. So does
//      a function without callers whose cumulative time is 0 or less than its own.
//   4. With RepairOptions::root, that function becomes the only one without callers. What it doesn't reach is dropped,
//      and so are calls from there: the numbers of what remains are those of its remaining callers.
//   5. An empty profile gets a function '<nothing recorded>'. If no function without callers lasts over 10 us, nothing
//      calls anything, or all times are 0, there will be a row above (formats/pstats/viewer_root.h).
//   6. Chains of calls too deep for a viewer, or with too many paths, are cut: at most N functions stand below each
//      other, of which the last is ('~', 0, '<deeper>'). Functions whose shortest path from a root is longer are merged
//      into it. If that doesn't do (cycles; graphs in which each layer calls all of the next), calls that don't go to
//      the next layer go to '<deeper>' as well, and their share of the callee's numbers with them. N is max_depth, or
//      else the greatest that does, up to 300. Own times still add up to the same.
//   7. If no function has 0.1 % of the time as own time, a function '<padding for flameprof>' with 0.2 % is added.
//   8. A function with the file:line(name) of another gets " #2" (or " #3", …) behind its name.
// Characters in names that viewers can't bear are replaced by the writer (formats/pstats/pstats_writer.h).
//
// Nothing else changes: order, numbers, names. Time O(functions + edges) beside the bounded walks of viewer_walks.h,
// of which at most 20 are made. Thread-safe.
#ifndef TRACEKILN_ANALYSIS_PROFILE_HEALTH_PROFILE_REPAIR_H_
#define TRACEKILN_ANALYSIS_PROFILE_HEALTH_PROFILE_REPAIR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "formats/intermediate/profile.h"

namespace tracekiln::profile_health {

inline constexpr absl::string_view kDeeperName = "<deeper>";
inline constexpr absl::string_view kPaddingName = "<padding for flameprof>";
inline constexpr absl::string_view kNothingName = "<nothing recorded>";

struct RepairOptions {
  std::optional<FunctionId> root;
  // At least 2. Absent: as deep as all viewers bear. 0: nothing is cut.
  std::optional<uint32_t> max_depth;
};

struct RepairSummary {
  uint64_t negative_time_count = 0;  // numbers set to 0
  uint64_t timed_edge_count = 0;     // edges that were given times
  uint64_t added_row_count = 0;      // callers that became rows
  uint64_t lengthened_root_count = 0;
  uint64_t dropped_row_count = 0;  // not reached from the root
  bool has_viewer_root = false;    // a row was added above
  uint32_t max_depth = 0;          // chains were cut here; 0: nowhere
  uint64_t deeper_row_count = 0;   // rows merged into '<deeper>'
  uint64_t deeper_edge_count = 0;  // edges between remaining rows that go there now
  int64_t padding_ns = 0;
  uint64_t renamed_count = 0;

  // One sentence each, for what was done. Empty if nothing was.
  std::vector<std::string> Sentences() const;
};

Profile RepairProfile(const Profile& profile, const RepairOptions& options, RepairSummary* summary = nullptr);

}  // namespace tracekiln::profile_health

#endif  // TRACEKILN_ANALYSIS_PROFILE_HEALTH_PROFILE_REPAIR_H_
