// Overlap and nesting of intervals on one track, in O(n log n). Private to the health check; public only to its tests.
#ifndef TRACEKILN_ANALYSIS_HEALTH_INTERVAL_CHECK_H_
#define TRACEKILN_ANALYSIS_HEALTH_INTERVAL_CHECK_H_

#include <cstdint>
#include <vector>

namespace tracekiln::health {

// A slice: [start_ns, start_ns + dur_ns). 24 bytes. REQUIRES: dur_ns >= 0, and the end does not overflow.
struct Interval {
  int64_t start_ns;
  int64_t dur_ns;
  uint32_t row;
  uint32_t name;

  int64_t end_ns() const { return start_ns + dur_ns; }
};
static_assert(sizeof(Interval) == 24);

// Sorts by (start, longest first, row): a parent comes before its children.
void SortForNesting(std::vector<Interval>* intervals);

// One interval that does not fit those before it.
struct Misfit {
  uint32_t index;     // into the sorted intervals
  int64_t amount_ns;  // see below
};

// The intervals b for which an earlier a exists with a.start < b.start < a.end < b.end, in sorted order. `amount_ns` is
// the largest, over those a, of the smallest change that would make the pair nest or part:
// min(b.start - a.start, a.end - b.start, b.end - a.end). Of the a's that are open, the 64 that end first are looked
// at, so that hostile input can't make this quadratic. REQUIRES: sorted by SortForNesting.
std::vector<Misfit> FindNotNested(const std::vector<Interval>& sorted);

// The intervals that start before an earlier one has ended; `amount_ns` is the time shared with the earlier ones (their
// union is not formed: min(latest end so far, own end) - own start). Empty intervals are passed over.
// REQUIRES: sorted by SortForNesting.
std::vector<Misfit> FindOverlaps(const std::vector<Interval>& sorted);

// Length of the union. REQUIRES: sorted by SortForNesting.
int64_t UnionLengthNs(const std::vector<Interval>& sorted);

}  // namespace tracekiln::health

#endif  // TRACEKILN_ANALYSIS_HEALTH_INTERVAL_CHECK_H_
