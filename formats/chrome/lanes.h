// Lanes: rows for slices that overlap on one track.
//
// Viewers want the slices of a row nested or disjoint; real tracks have slices that cross (user annotations against
// Python frames, kernels that overlap on a stream). Such a track is shown as several rows, its lanes. No time is
// touched.
//
// Which slice goes where: slices are taken in the order of their start, the longer first. The *parent* of a slice is
// the slice that started last among those open at its start that last at least as long. A slice stands on the lane of
// its parent, unless a slice there, open as well, crosses it. Then, or without a parent, it becomes the root of a
// subtree on the lowest lane on which nothing is open. So
//   - no two slices of a lane overlap partially;
//   - a slice that has to move takes along all that happens in it;
//   - tracks without crossing slices have one lane, 0.
// Then, in each stretch of time in which something is always open, the lanes are numbered by how many slices they have
// there, the most first: what has to give way is the smaller part. Touching is no overlap: a slice is open from its
// start (included) to its end (excluded).
//
// TrackItems holds the slices of a track compactly (6 to 8 bytes each in real traces); LayOut lays them out:
//
//   TrackItems items;
//   items.Add({start_ns, end_ns, row, TrackItem::Kind::kSlice});
//   …
//   uint32_t lanes = LayOut(items, 1 << 22, [&](const TrackItem& item, const std::optional<Placement>& place) { … });
#ifndef TRACEKILN_FORMATS_CHROME_LANES_H_
#define TRACEKILN_FORMATS_CHROME_LANES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tracekiln::chrome {

// Where a slice stands.
struct Placement {
  uint32_t lane = 0;
  // Viewers want a parent before its child in the file when both start at the same time. The row after which this slice
  // has to be written: its own, or the later one of an encloser with the same start.
  uint32_t anchor_row = 0;
};

// The first part of the rule, without the renumbering. Cost: O(log lanes) a slice, amortised. Memory: the open slices.
class LaneAssigner {
 public:
  // REQUIRES: calls come in order of start_ns ascending, then end_ns descending. An end before the start counts as
  // equal to it.
  Placement PlaceSlice(int64_t start_ns, int64_t end_ns, uint32_t row);

  // The slice that started last among those open at `ts_ns`. REQUIRES: not before the start of a slice placed already;
  // the slices that start at ts_ns have been placed.
  std::optional<Placement> FindEncloser(int64_t ts_ns);

  // At least 1.
  uint32_t lane_count() const { return static_cast<uint32_t>(lanes_.size()); }

  // Counts the stretches of time in which something was always open; that of the slice placed last.
  uint64_t stretch() const { return stretch_; }

 private:
  struct OpenSlice {
    int64_t start_ns;
    int64_t end_ns;
    uint64_t number;  // of the call that placed it
    Placement placement;
  };
  struct LaneEntry {
    int64_t end_ns;
    uint64_t number;
  };

  // Open slices that may still be a parent: starts ascend, ends descend. A slice is gone from here once a later one
  // lasts at least as long.
  std::vector<OpenSlice> candidates_;
  std::vector<std::vector<LaneEntry>> lanes_ = std::vector<std::vector<LaneEntry>>(1);  // open slices, innermost last
  std::vector<std::pair<int64_t, uint32_t>> busy_;  // heap: (end of the root, lane), least first
  std::vector<uint32_t> free_ = {0};                // heap: lanes on which nothing is open, least first
  uint64_t next_number_ = 0;
  uint64_t stretch_ = 0;
};

// What stands on a track, for laying out.
struct TrackItem {
  // The order is that at equal times: see TrackItems.
  enum class Kind : uint8_t {
    kBeforeSlices = 0,  // a point that belongs to the next slice that starts at its time or later
    kSlice = 1,
    kPoint = 2,  // a point that belongs to the slice around it
  };
  int64_t start_ns;
  int64_t end_ns;  // kSlice only, else start_ns; never before start_ns
  uint32_t row;
  Kind kind;
};

// The items of one track, in the order of their rows, as bytes.
class TrackItems {
 public:
  // REQUIRES: rows ascend.
  void Add(const TrackItem& item);
  uint64_t size() const { return count_; }
  size_t AllocatedBytes() const;
  // Forgets everything and gives the memory back.
  void Clear() { *this = TrackItems(); }

  // Calls `visit` for every item, sorted by (start ascending, kind, end descending, row ascending), `passes` times
  // over. Sorts at most about `max_items` at a time (24 bytes each), reading the track several times if it has more;
  // items with one start are never parted.
  void ForEachSorted(size_t max_items, const std::function<void(int pass, const TrackItem&)>& visit,
                     int passes = 1) const;

 private:
  template <typename Visit>
  void ForEach(Visit&& visit) const;

  // A long string that doubles would take three times its size for a moment.
  static constexpr size_t kBlockBytes = size_t{1} << 20;
  std::vector<std::string> blocks_;
  uint64_t count_ = 0;
  int64_t last_start_ns_ = 0;
  uint32_t last_row_ = 0;
};

// Calls `visit` for every item in the order of ForEachSorted. A kSlice has a placement; a kPoint has that of the slice
// around it, if there is one; a kBeforeSlices never has one (that of the slice that follows it is the caller's to
// take). Returns the number of lanes, at least 1.
uint32_t LayOut(const TrackItems& items, size_t max_items,
                const std::function<void(const TrackItem&, const std::optional<Placement>&)>& visit);

}  // namespace tracekiln::chrome

#endif  // TRACEKILN_FORMATS_CHROME_LANES_H_
