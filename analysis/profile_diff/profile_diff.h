// What changed between two profiles: per function the numbers before, after, and their difference.
//
//   ProfileDiff diff = DiffProfiles(before, after, Impact::kOwn);
//   for (const FunctionChange& c : diff.changes) … c.after.own_ns - c.before.own_ns …
//
// Functions are matched by (file, line, name). Edits shift lines: where that matters, pass profiles through
// profile_table::IgnoreLines first, and through StripDirectories if the two were installed in different places.
#ifndef TRACEKILN_ANALYSIS_PROFILE_DIFF_PROFILE_DIFF_H_
#define TRACEKILN_ANALYSIS_PROFILE_DIFF_PROFILE_DIFF_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "formats/intermediate/profile.h"

namespace tracekiln::profile_diff {

// What makes a change great: its own time, or the cumulative time, faster or slower alike.
enum class Impact : uint8_t { kOwn, kCumulative };

struct FunctionChange {
  // The function in either profile; nullopt where it is no row. At least one is there.
  std::optional<FunctionId> in_before;
  std::optional<FunctionId> in_after;
  // Zeros where it is no row.
  CallStats before;
  CallStats after;
  // after - before; saturates.
  CallStats change;
};

struct ProfileDiff {
  std::vector<FunctionChange> changes;  // the greatest impact first; ties by the other time, by calls, then by place
  size_t unchanged_count = 0;           // functions whose numbers are the same; not in `changes`
  CallStats before;                     // sums over rows, see Profile::Total
  CallStats after;
  CallStats change;
};

// With `keep_unchanged`, `changes` has the unchanged ones as well. O(rows * log rows), 128 bytes a row.
ProfileDiff DiffProfiles(const Profile& before, const Profile& after, Impact impact, bool keep_unchanged = false);

}  // namespace tracekiln::profile_diff

#endif  // TRACEKILN_ANALYSIS_PROFILE_DIFF_PROFILE_DIFF_H_
