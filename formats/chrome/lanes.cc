#include "formats/chrome/lanes.h"

#include <algorithm>
#include <functional>
#include <limits>

// Finding the parent costs O(1): a slice B that starts after A and lasts at least as long is preferred to A by
// everything that follows, so A can be forgotten. What remains has descending ends, and the parent of S is on top once
// those that end before S are removed: they can't enclose S, and S is preferred to them from now on.
//
// On the lane of the parent only the innermost open slice has to be looked at. It is the parent, or it started after
// it; then it does not enclose S (it would be the parent), so it crosses it.

namespace tracekiln::chrome {

Placement LaneAssigner::PlaceSlice(int64_t start_ns, int64_t end_ns, uint32_t row) {
  end_ns = std::max(start_ns, end_ns);
  while (!candidates_.empty() && (candidates_.back().end_ns <= start_ns || candidates_.back().end_ns < end_ns)) {
    candidates_.pop_back();
  }
  Placement placement;
  placement.anchor_row = row;
  bool is_root = true;
  if (!candidates_.empty()) {
    const OpenSlice& parent = candidates_.back();
    std::vector<LaneEntry>& lane = lanes_[parent.placement.lane];
    while (lane.back().end_ns <= start_ns) lane.pop_back();  // never past the parent, which is open
    if (lane.back().number == parent.number) {
      is_root = false;
      placement.lane = parent.placement.lane;
      if (parent.start_ns == start_ns) placement.anchor_row = std::max(row, parent.placement.anchor_row);
    }
  }
  if (is_root) {
    while (!busy_.empty() && busy_.front().first <= start_ns) {
      std::pop_heap(busy_.begin(), busy_.end(), std::greater<>());
      free_.push_back(busy_.back().second);
      std::push_heap(free_.begin(), free_.end(), std::greater<>());
      busy_.pop_back();
    }
    if (busy_.empty()) ++stretch_;
    if (free_.empty()) {
      placement.lane = static_cast<uint32_t>(lanes_.size());
      lanes_.emplace_back();
    } else {
      std::pop_heap(free_.begin(), free_.end(), std::greater<>());
      placement.lane = free_.back();
      free_.pop_back();
      lanes_[placement.lane].clear();
    }
    busy_.emplace_back(end_ns, placement.lane);
    std::push_heap(busy_.begin(), busy_.end(), std::greater<>());
  }
  lanes_[placement.lane].push_back({end_ns, next_number_});
  candidates_.push_back({start_ns, end_ns, next_number_, placement});
  ++next_number_;
  return placement;
}

std::optional<Placement> LaneAssigner::FindEncloser(int64_t ts_ns) {
  while (!candidates_.empty() && candidates_.back().end_ns <= ts_ns) candidates_.pop_back();
  if (candidates_.empty()) return std::nullopt;
  Placement placement = candidates_.back().placement;
  if (candidates_.back().start_ns != ts_ns) placement.anchor_row = 0;
  return placement;
}

namespace {

uint64_t ZigZag(uint64_t v) { return (v << 1) ^ (0 - (v >> 63)); }
uint64_t UnZigZag(uint64_t v) { return (v >> 1) ^ (0 - (v & 1)); }

void AppendVarint(uint64_t v, std::string* out) {
  while (v >= 0x80) {
    out->push_back(static_cast<char>(v | 0x80));
    v >>= 7;
  }
  out->push_back(static_cast<char>(v));
}

const char* ReadVarint(const char* p, uint64_t* v) {
  *v = 0;
  for (int shift = 0;; shift += 7) {
    const unsigned char c = static_cast<unsigned char>(*p++);
    *v |= uint64_t{c & 0x7Fu} << shift;
    if (c < 0x80) return p;
  }
}

bool ComesBefore(const TrackItem& a, const TrackItem& b) {
  if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
  if (a.kind != b.kind) return a.kind < b.kind;
  if (a.end_ns != b.end_ns) return a.end_ns > b.end_ns;
  return a.row < b.row;
}

}  // namespace

// Differences wrap around, so any two times are fine.
void TrackItems::Add(const TrackItem& item) {
  constexpr size_t kMaxItemBytes = 30;
  if (blocks_.empty() || blocks_.back().size() + kMaxItemBytes > kBlockBytes) blocks_.emplace_back();
  std::string& bytes = blocks_.back();
  AppendVarint(uint64_t{item.row - last_row_} << 2 | static_cast<uint64_t>(item.kind), &bytes);
  AppendVarint(ZigZag(static_cast<uint64_t>(item.start_ns) - static_cast<uint64_t>(last_start_ns_)), &bytes);
  if (item.kind == TrackItem::Kind::kSlice) {
    AppendVarint(static_cast<uint64_t>(item.end_ns) - static_cast<uint64_t>(item.start_ns), &bytes);
  }
  last_row_ = item.row;
  last_start_ns_ = item.start_ns;
  ++count_;
}

template <typename Visit>
void TrackItems::ForEach(Visit&& visit) const {
  TrackItem item = {};
  for (const std::string& block : blocks_) {
    const char* p = block.data();
    const char* const end = p + block.size();
    while (p != end) {
      uint64_t row_and_kind, start, duration = 0;
      p = ReadVarint(p, &row_and_kind);
      p = ReadVarint(p, &start);
      item.kind = static_cast<TrackItem::Kind>(row_and_kind & 3);
      item.row += static_cast<uint32_t>(row_and_kind >> 2);
      item.start_ns = static_cast<int64_t>(static_cast<uint64_t>(item.start_ns) + UnZigZag(start));
      if (item.kind == TrackItem::Kind::kSlice) p = ReadVarint(p, &duration);
      item.end_ns = static_cast<int64_t>(static_cast<uint64_t>(item.start_ns) + duration);
      visit(item);
    }
  }
}

size_t TrackItems::AllocatedBytes() const {
  size_t bytes = 0;
  for (const std::string& block : blocks_) bytes += block.capacity();
  return bytes;
}

void TrackItems::ForEachSorted(size_t max_items, const std::function<void(int pass, const TrackItem&)>& visit,
                               int passes) const {
  std::vector<TrackItem> window;
  const auto sort_window = [&] {
    if (!std::is_sorted(window.begin(), window.end(), ComesBefore)) {
      std::sort(window.begin(), window.end(), ComesBefore);
    }
  };
  if (count_ <= max_items) {
    window.reserve(count_);
    ForEach([&](const TrackItem& item) { window.push_back(item); });
    sort_window();
    for (int pass = 0; pass < passes; ++pass) {
      for (const TrackItem& item : window) visit(pass, item);
    }
    return;
  }
  // Windows of time with about half of max_items each, bounded by the quantiles of a sample.
  constexpr uint64_t kSamples = 1 << 16;
  const uint64_t stride = std::max<uint64_t>(1, count_ / kSamples);
  std::vector<int64_t> sample;
  uint64_t number = 0;
  ForEach([&](const TrackItem& item) {
    if (number++ % stride == 0) sample.push_back(item.start_ns);
  });
  std::sort(sample.begin(), sample.end());
  const uint64_t windows = count_ / std::max<size_t>(1, max_items / 2) + 1;
  std::vector<int64_t> bounds;  // first starts of the windows but the first one
  for (uint64_t w = 1; w < windows; ++w) bounds.push_back(sample[sample.size() * w / windows]);
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  for (int pass = 0; pass < passes; ++pass) {
    for (size_t w = 0; w <= bounds.size(); ++w) {
      const int64_t low = w == 0 ? std::numeric_limits<int64_t>::min() : bounds[w - 1];
      window.clear();
      ForEach([&](const TrackItem& item) {
        if (item.start_ns >= low && (w == bounds.size() || item.start_ns < bounds[w])) window.push_back(item);
      });
      sort_window();
      for (const TrackItem& item : window) visit(pass, item);
    }
  }
}

namespace {

// The new numbers of lanes, for stretches in which they change.
class LaneOrder {
 public:
  // Stretches ascend.
  void Count(uint64_t stretch, uint32_t lane) {
    if (stretch != stretch_) {
      EndStretch();
      stretch_ = stretch;
    }
    if (lane >= counts_.size()) counts_.resize(lane + 1);
    ++counts_[lane];
  }

  // Call after the last Count.
  void EndStretch() {
    std::vector<uint32_t> order(counts_.size());
    for (uint32_t lane = 0; lane < order.size(); ++lane) order[lane] = lane;
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return counts_[a] > counts_[b]; });
    if (!std::is_sorted(order.begin(), order.end())) {
      changes_.push_back({stretch_, numbers_.size()});
      const size_t first = numbers_.size();
      numbers_.resize(first + order.size());
      for (uint32_t i = 0; i < order.size(); ++i) numbers_[first + order[i]] = i;
    }
    counts_.clear();
  }

  // Stretches ascend.
  uint32_t NumberOf(uint64_t stretch, uint32_t lane) {
    while (next_ < changes_.size() && changes_[next_].stretch < stretch) ++next_;
    if (next_ == changes_.size() || changes_[next_].stretch != stretch) return lane;
    return numbers_[changes_[next_].first + lane];
  }

 private:
  struct Change {
    uint64_t stretch;
    size_t first;  // in numbers_
  };
  uint64_t stretch_ = 0;
  std::vector<uint64_t> counts_;  // of the stretch being counted, by lane
  std::vector<Change> changes_;
  std::vector<uint32_t> numbers_;
  size_t next_ = 0;
};

}  // namespace

uint32_t LayOut(const TrackItems& items, size_t max_items,
                const std::function<void(const TrackItem&, const std::optional<Placement>&)>& visit) {
  LaneAssigner assigners[2];  // the second repeats what the first did
  LaneOrder order;
  int current_pass = 0;
  items.ForEachSorted(
      max_items,
      [&](int pass, const TrackItem& item) {
        if (pass != current_pass) order.EndStretch();
        current_pass = pass;
        LaneAssigner& assigner = assigners[pass];
        std::optional<Placement> placement;
        if (item.kind == TrackItem::Kind::kSlice) {
          placement = assigner.PlaceSlice(item.start_ns, item.end_ns, item.row);
          if (pass == 0) order.Count(assigner.stretch(), placement->lane);
        } else if (item.kind == TrackItem::Kind::kPoint && pass == 1) {
          placement = assigner.FindEncloser(item.start_ns);
        }
        if (pass == 0) return;
        if (placement.has_value()) placement->lane = order.NumberOf(assigner.stretch(), placement->lane);
        visit(item, placement);
      },
      2);
  return assigners[0].lane_count();
}

}  // namespace tracekiln::chrome
