#include "analysis/health/interval_check.h"

#include <algorithm>
#include <set>
#include <utility>

namespace tracekiln::health {

void SortForNesting(std::vector<Interval>* intervals) {
  auto less = [](const Interval& a, const Interval& b) {
    if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
    if (a.dur_ns != b.dur_ns) return a.dur_ns > b.dur_ns;
    return a.row < b.row;
  };
  if (!std::is_sorted(intervals->begin(), intervals->end(), less)) {
    std::sort(intervals->begin(), intervals->end(), less);
  }
}

// A sweep over the starts. Open intervals that nest form a stack whose top ends first; an interval that ends later than
// the top of the stack can't be pushed there and goes to `spilled`, which is ordered by end. Both give up what ended
// from their near end, so a trace that nests costs one comparison and one push an interval, and any other O(log n).
std::vector<Misfit> FindNotNested(const std::vector<Interval>& sorted) {
  constexpr int kMaxOpen = 64;
  std::vector<Misfit> misfits;
  std::vector<uint32_t> stack;
  std::set<std::pair<int64_t, uint32_t>> spilled;  // (end, index)
  for (uint32_t i = 0; i < sorted.size(); ++i) {
    const Interval& b = sorted[i];
    const int64_t b_end = b.end_ns();
    while (!stack.empty() && sorted[stack.back()].end_ns() <= b.start_ns) stack.pop_back();
    while (!spilled.empty() && spilled.begin()->first <= b.start_ns) spilled.erase(spilled.begin());
    if (b.dur_ns == 0) continue;

    int64_t amount = 0;
    auto consider = [&](const Interval& a) {
      amount = std::max(amount, std::min({b.start_ns - a.start_ns, a.end_ns() - b.start_ns, b_end - a.end_ns()}));
    };
    int looked_at = 0;
    for (size_t s = stack.size(); s-- > 0 && looked_at < kMaxOpen && sorted[stack[s]].end_ns() < b_end; ++looked_at) {
      consider(sorted[stack[s]]);
    }
    looked_at = 0;
    for (auto it = spilled.begin(); it != spilled.end() && looked_at < kMaxOpen && it->first < b_end;
         ++it, ++looked_at) {
      consider(sorted[it->second]);
    }
    if (amount > 0) misfits.push_back({i, amount});

    if (stack.empty() || b_end <= sorted[stack.back()].end_ns()) {
      stack.push_back(i);
    } else {
      spilled.emplace(b_end, i);
    }
  }
  return misfits;
}

std::vector<Misfit> FindOverlaps(const std::vector<Interval>& sorted) {
  std::vector<Misfit> misfits;
  int64_t latest_end = INT64_MIN;
  for (uint32_t i = 0; i < sorted.size(); ++i) {
    const Interval& b = sorted[i];
    if (b.dur_ns == 0) continue;
    if (b.start_ns < latest_end) misfits.push_back({i, std::min(latest_end, b.end_ns()) - b.start_ns});
    latest_end = std::max(latest_end, b.end_ns());
  }
  return misfits;
}

int64_t UnionLengthNs(const std::vector<Interval>& sorted) {
  int64_t length = 0;
  int64_t latest_end = INT64_MIN;
  for (const Interval& b : sorted) {
    const int64_t from = std::max(b.start_ns, latest_end);
    if (b.end_ns() > from) length += b.end_ns() - from;
    latest_end = std::max(latest_end, b.end_ns());
  }
  return length;
}

}  // namespace tracekiln::health
