#include "analysis/dataset/clocks/clocks.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tracekiln::dataset {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr size_t kMinDriftPoints = 20;
constexpr size_t kMaxDriftPoints = 256;

int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? INT64_MIN : INT64_MAX;
}

int64_t Median(std::vector<int64_t>* values) {
  const size_t middle = (values->size() - 1) / 2;
  std::nth_element(values->begin(), values->begin() + static_cast<ptrdiff_t>(middle), values->end());
  const int64_t low = (*values)[middle];
  if (values->size() % 2 == 1) return low;
  const int64_t high = *std::min_element(values->begin() + static_cast<ptrdiff_t>(middle) + 1, values->end());
  return low + (high - low) / 2;
}

// One instance on one member.
struct Member {
  size_t rank;  // index into the ranks given
  int64_t start_ns;
  int64_t end_ns;
};

struct Matched {
  CollectiveKind kind = CollectiveKind::kUnknown;
  bool is_matched = false;
  std::vector<Member> members;
};

// Joins what has the same number in the same group on one rank, and gives numbers to what has none.
struct Key {
  std::string group;
  // With a number: it. Without: its place among those of its kind, and the kind.
  bool has_seq;
  int kind;
  int64_t number;
  friend bool operator<(const Key& a, const Key& b) {
    return std::tie(a.group, a.has_seq, a.kind, a.number) < std::tie(b.group, b.has_seq, b.kind, b.number);
  }
};

struct Fit {
  int64_t offset_ns = 0;
  int64_t origin_ns = 0;
  double drift = 0;
  int64_t residual_ns = 0;
  int64_t worst_ns = 0;
};

struct Point {
  int64_t own_ns;  // by the clock that is fitted
  int64_t difference_ns;
};

void Judge(const std::vector<Point>& points, Fit* fit) {
  std::vector<int64_t> distances;
  for (const Point& p : points) {
    const double expected =
        static_cast<double>(fit->offset_ns) + fit->drift * static_cast<double>(p.own_ns - fit->origin_ns);
    distances.push_back(std::abs(p.difference_ns - std::llround(expected)));
  }
  fit->worst_ns = *std::max_element(distances.begin(), distances.end());
  fit->residual_ns = Median(&distances);
}

Fit FitClock(const std::vector<Point>& points) {
  Fit constant;
  std::vector<int64_t> differences;
  for (const Point& p : points) differences.push_back(p.difference_ns);
  constant.offset_ns = Median(&differences);
  std::vector<int64_t> times;
  for (const Point& p : points) times.push_back(p.own_ns);
  constant.origin_ns = Median(&times);
  Judge(points, &constant);
  const auto [first, last] = std::minmax_element(points.begin(), points.end(),
                                                 [](const Point& a, const Point& b) { return a.own_ns < b.own_ns; });
  if (points.size() < kMinDriftPoints || last->own_ns - first->own_ns < kSecond) return constant;
  // Theil-Sen: the median of all slopes, over at most kMaxDriftPoints points.
  const size_t stride = (points.size() + kMaxDriftPoints - 1) / kMaxDriftPoints;
  std::vector<double> slopes;
  for (size_t i = 0; i < points.size(); i += stride) {
    for (size_t j = i + stride; j < points.size(); j += stride) {
      const int64_t dt = points[j].own_ns - points[i].own_ns;
      if (std::abs(dt) < kSecond / 100) continue;
      slopes.push_back(static_cast<double>(points[j].difference_ns - points[i].difference_ns) /
                       static_cast<double>(dt));
    }
  }
  if (slopes.empty()) return constant;
  std::nth_element(slopes.begin(), slopes.begin() + static_cast<ptrdiff_t>(slopes.size() / 2), slopes.end());
  Fit drifting = constant;
  drifting.drift = slopes[slopes.size() / 2];
  std::vector<int64_t> offsets;
  for (const Point& p : points) {
    offsets.push_back(p.difference_ns -
                      std::llround(drifting.drift * static_cast<double>(p.own_ns - drifting.origin_ns)));
  }
  drifting.offset_ns = Median(&offsets);
  Judge(points, &drifting);
  return drifting.residual_ns * 2 < constant.residual_ns ? drifting : constant;
}

}  // namespace

uint32_t CollectiveCollector::InternGroup(const CollectiveSlice& slice) {
  std::string group =
      slice.group_ranks.empty() ? std::string(slice.group) : absl::StrCat(slice.group, " ", slice.group_ranks);
  // A job has some dozens of groups.
  for (size_t i = groups_.size(); i-- > 0;) {
    if (groups_[i] == group) return static_cast<uint32_t>(i);
  }
  groups_.push_back(std::move(group));
  return static_cast<uint32_t>(groups_.size() - 1);
}

void CollectiveCollector::Add(const EventBatch& batch) {
  for (const CollectiveSlice& slice : reader_.Read(batch)) {
    CollectiveInstance instance;
    instance.group = InternGroup(slice);
    instance.kind = slice.kind;
    instance.seq = slice.seq;
    instance.start_ns = batch.ts_ns[slice.row];
    instance.end_ns = SaturatingAdd(instance.start_ns, batch.dur_ns[slice.row]);
    (slice.is_on_device ? device_ : host_).push_back(instance);
  }
}

RankCollectives CollectiveCollector::Finish(int64_t rank, const TraceInfo& info) && {
  RankCollectives out;
  out.rank = rank;
  out.groups = std::move(groups_);
  out.is_on_device = !device_.empty();
  std::vector<CollectiveInstance>& all = out.is_on_device ? device_ : host_;
  std::stable_sort(all.begin(), all.end(),
                   [](const CollectiveInstance& a, const CollectiveInstance& b) { return a.start_ns < b.start_ns; });
  std::map<std::pair<uint32_t, int64_t>, size_t> with_seq;
  for (const CollectiveInstance& instance : all) {
    if (instance.seq.has_value()) {
      const auto [it, is_new] = with_seq.try_emplace({instance.group, *instance.seq}, out.instances.size());
      if (!is_new) {
        CollectiveInstance& known = out.instances[it->second];
        known.end_ns = std::max(known.end_ns, instance.end_ns);
        continue;
      }
    }
    out.instances.push_back(instance);
  }
  for (CollectiveInstance& instance : out.instances) {
    instance.start_ns = SaturatingAdd(instance.start_ns, info.base_ns);
    instance.end_ns = SaturatingAdd(instance.end_ns, info.base_ns);
  }
  return out;
}

int64_t RankClock::ToReference(int64_t ns) const {
  return ns - offset_ns - std::llround(drift * static_cast<double>(ns - origin_ns));
}

const RankClock* ClockAlignment::Find(int64_t rank) const {
  for (const RankClock& clock : clocks) {
    if (clock.rank == rank) return &clock;
  }
  return nullptr;
}

bool ClockAlignment::is_complete() const {
  return clocks.size() >= 2 &&
         std::all_of(clocks.begin(), clocks.end(), [](const RankClock& clock) { return clock.is_aligned; });
}

ClockAlignment AlignClocks(absl::Span<const RankCollectives> ranks) {
  ClockAlignment alignment;
  std::vector<size_t> order(ranks.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return ranks[a].rank < ranks[b].rank; });
  if (ranks.empty()) return alignment;
  alignment.reference = ranks[order[0]].rank;

  // Who has what: by key the members; of keys without numbers also how many each rank has.
  std::map<Key, Matched> matched;
  std::map<std::pair<std::string, int>, std::map<size_t, int64_t>> unnumbered;  // (group, kind) -> rank -> count
  for (size_t r : order) {
    for (const CollectiveInstance& instance : ranks[r].instances) {
      Key key{ranks[r].groups[instance.group], instance.seq.has_value(), static_cast<int>(instance.kind), 0};
      if (instance.seq.has_value()) {
        key.kind = 0;
        key.number = *instance.seq;
      } else {
        key.number = unnumbered[{key.group, key.kind}][r]++;
      }
      Matched& m = matched[key];
      m.kind = instance.kind;
      m.members.push_back({r, instance.start_ns, instance.end_ns});
    }
  }
  std::map<std::tuple<size_t, std::string, int, std::string>, Unmatched> unmatched;
  const auto leave_out = [&](const Key& key, const Matched& m, const std::string& reason) {
    for (const Member& member : m.members) {
      Unmatched& u = unmatched[{member.rank, key.group, static_cast<int>(m.kind), reason}];
      if (u.count++ == 0) {
        u.rank = ranks[member.rank].rank;
        u.group = key.group;
        u.kind = m.kind;
        u.reason = reason;
        if (key.has_seq) u.first_seq = key.number;
      }
    }
  };
  std::vector<const Matched*> usable;
  for (auto& [key, m] : matched) {
    if (!key.has_seq) {
      const std::map<size_t, int64_t>& counts = unnumbered[{key.group, key.kind}];
      const bool is_equal =
          std::all_of(counts.begin(), counts.end(), [&](const auto& c) { return c.second == counts.begin()->second; });
      if (counts.size() > 1 && !is_equal) {
        leave_out(key, m, "without numbers, and the ranks have different counts");
        continue;
      }
    }
    if (m.members.size() < 2) {
      leave_out(key, m, "no partner");
      continue;
    }
    m.is_matched = true;
    ++alignment.matched_count;
    if (EndsTogether(m.kind)) usable.push_back(&m);
  }
  for (auto& [key, u] : unmatched) alignment.unmatched.push_back(std::move(u));

  std::vector<RankClock> clocks(ranks.size());
  for (size_t r = 0; r < ranks.size(); ++r) clocks[r].rank = ranks[r].rank;
  clocks[order[0]].is_aligned = true;
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    // With the clocks known so far; those found in this round serve the next.
    std::vector<std::vector<Point>> points(ranks.size());
    std::vector<int64_t> ends;
    for (const Matched* m : usable) {
      ends.clear();
      for (const Member& member : m->members) {
        if (clocks[member.rank].is_aligned) ends.push_back(clocks[member.rank].ToReference(member.end_ns));
      }
      if (ends.empty()) continue;
      const int64_t common_end_ns = Median(&ends);
      for (const Member& member : m->members) {
        if (clocks[member.rank].is_aligned) continue;
        points[member.rank].push_back({member.end_ns, member.end_ns - common_end_ns});
      }
    }
    for (size_t r = 0; r < ranks.size(); ++r) {
      if (points[r].empty()) continue;
      const Fit fit = FitClock(points[r]);
      RankClock& clock = clocks[r];
      clock.is_aligned = true;
      clock.offset_ns = fit.offset_ns;
      clock.origin_ns = fit.origin_ns;
      clock.drift = fit.drift;
      clock.instance_count = points[r].size();
      clock.residual_ns = fit.residual_ns;
      clock.worst_ns = fit.worst_ns;
      has_changed = true;
    }
  }
  for (const Matched* m : usable) {
    for (const Member& member : m->members) clocks[order[0]].instance_count += member.rank == order[0];
  }
  for (size_t r : order) alignment.clocks.push_back(clocks[r]);

  // Who waits for whom: only where the clocks are common.
  std::map<size_t, RankWaiting> waiting;
  std::vector<const Matched*> by_time;
  for (const auto& [key, m] : matched) {
    const bool is_common = std::all_of(m.members.begin(), m.members.end(),
                                       [&](const Member& member) { return clocks[member.rank].is_aligned; });
    if (m.is_matched && is_common && !IsPointToPoint(m.kind)) by_time.push_back(&m);
  }
  const auto start_of = [&](const Member& member) { return clocks[member.rank].ToReference(member.start_ns); };
  std::sort(by_time.begin(), by_time.end(),
            [&](const Matched* a, const Matched* b) { return start_of(a->members[0]) < start_of(b->members[0]); });
  for (const Matched* m : by_time) {
    int64_t latest_ns = INT64_MIN;
    for (const Member& member : m->members) latest_ns = std::max(latest_ns, start_of(member));
    const int64_t first_ns = start_of(m->members[0]);  // members are in the order of ranks
    for (const Member& member : m->members) {
      RankWaiting& w = waiting[member.rank];
      w.rank = ranks[member.rank].rank;
      ++w.instance_count;
      w.wait_sum_ns = SaturatingAdd(w.wait_sum_ns, latest_ns - start_of(member));
      const int64_t skew_ns = start_of(member) - first_ns;
      w.skew_sum_ns = SaturatingAdd(w.skew_sum_ns, skew_ns);
      if (std::abs(skew_ns) > std::abs(w.worst_skew_ns)) w.worst_skew_ns = skew_ns;
      if (w.skew_ns.size() < RankWaiting::kMaxSkews) w.skew_ns.push_back(skew_ns);
    }
  }
  for (size_t r : order) {
    const auto it = waiting.find(r);
    if (it != waiting.end()) alignment.waiting.push_back(std::move(it->second));
  }
  return alignment;
}

}  // namespace tracekiln::dataset
