#include "formats/chrome/lanes.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace tracekiln::chrome {
namespace {

struct Slice {
  int64_t start, end;
  uint32_t row = 0;
};

constexpr int64_t kForever = std::numeric_limits<int64_t>::max();

// Lays out as the exporter does. lanes[i] belongs to slices[i].
std::vector<Placement> Place(const std::vector<Slice>& slices, size_t max_items = 1 << 20) {
  TrackItems items;
  for (uint32_t i = 0; i < slices.size(); ++i) {
    items.Add({slices[i].start, std::max(slices[i].start, slices[i].end), i, TrackItem::Kind::kSlice});
  }
  std::vector<Placement> placements(slices.size());
  LayOut(items, max_items,
         [&](const TrackItem& item, const std::optional<Placement>& p) { placements[item.row] = *p; });
  return placements;
}

std::vector<uint32_t> Lanes(const std::vector<Slice>& slices) {
  std::vector<uint32_t> lanes;
  for (const Placement& p : Place(slices)) lanes.push_back(p.lane);
  return lanes;
}

// The rule of lanes.h word for word, quadratic.
std::vector<Placement> PlaceReference(std::vector<Slice> slices) {
  for (uint32_t i = 0; i < slices.size(); ++i) slices[i].row = i;
  std::sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) {
    return a.start != b.start ? a.start < b.start : a.end != b.end ? a.end > b.end : a.row < b.row;
  });
  std::vector<Placement> by_order(slices.size()), by_row(slices.size());
  for (size_t i = 0; i < slices.size(); ++i) {
    const Slice& s = slices[i];
    const auto is_open = [&](size_t j) { return slices[j].end > s.start; };
    size_t parent = i;
    for (size_t j = 0; j < i; ++j) {
      if (is_open(j) && slices[j].end >= s.end) parent = j;
    }
    bool is_blocked = parent == i;
    for (size_t j = 0; j < i; ++j) {
      if (parent != i && by_order[j].lane == by_order[parent].lane && is_open(j) && slices[j].end < s.end) {
        is_blocked = true;
      }
    }
    Placement& p = by_order[i];
    p.anchor_row = s.row;
    if (!is_blocked) {
      p.lane = by_order[parent].lane;
      if (slices[parent].start == s.start) p.anchor_row = std::max(p.anchor_row, by_order[parent].anchor_row);
    } else {
      for (p.lane = 0;; ++p.lane) {
        bool is_free = true;
        for (size_t j = 0; j < i; ++j) is_free = is_free && !(by_order[j].lane == p.lane && is_open(j));
        if (is_free) break;
      }
    }
  }
  // Renumber, stretch by stretch.
  for (size_t i = 0; i < slices.size();) {
    size_t end = i + 1;
    for (int64_t last = slices[i].end; end < slices.size() && slices[end].start < last; ++end) {
      last = std::max(last, slices[end].end);
    }
    std::vector<std::pair<int, uint32_t>> lanes;  // minus slices, lane
    for (uint32_t lane = 0; lane < slices.size(); ++lane) {
      const auto is_on = [&](const Placement& p) { return p.lane == lane; };
      lanes.emplace_back(-std::count_if(by_order.begin() + i, by_order.begin() + end, is_on), lane);
    }
    std::sort(lanes.begin(), lanes.end());
    for (size_t j = i; j < end; ++j) {
      Placement& p = by_row[slices[j].row];
      p = by_order[j];
      p.lane = static_cast<uint32_t>(
          std::find_if(lanes.begin(), lanes.end(), [&](const auto& l) { return l.second == by_order[j].lane; }) -
          lanes.begin());
    }
    i = end;
  }
  return by_row;
}

TEST(LanesTest, PlacesSlices) {
  struct Case {
    const char* name;
    std::vector<Slice> slices;
    std::vector<uint32_t> want;
  };
  const Case cases[] = {
      {"none", {}, {}},
      {"disjoint", {{0, 5}, {6, 9}}, {0, 0}},
      {"touching", {{0, 5}, {5, 9}}, {0, 0}},
      {"nested", {{0, 10}, {1, 9}, {2, 3}, {3, 9}}, {0, 0, 0, 0}},
      {"twins", {{0, 10}, {0, 10}}, {0, 0}},
      {"child before its parent in the file", {{0, 5}, {0, 10}}, {0, 0}},
      {"not in order of time", {{6, 9}, {0, 5}}, {0, 0}},
      {"one nanosecond", {{0, 10}, {9, 11}}, {0, 1}},
      {"lane is used again", {{0, 10}, {5, 15}, {20, 30}, {25, 35}}, {0, 1, 0, 1}},
      {"three at once", {{0, 10}, {5, 15}, {8, 20}}, {0, 1, 2}},
      {"lowest lane that is free", {{0, 10}, {5, 30}, {8, 40}, {12, 50}}, {0, 1, 2, 0}},
      {"a subtree moves as a whole",
       {{0, 10}, {1, 9}, {2, 8}, {3, 4}, {5, 20}, {6, 7}, {11, 19}},
       {0, 0, 0, 0, 1, 1, 1}},
      {"the smaller part gives way", {{0, 10}, {5, 20}, {6, 9}, {11, 19}, {12, 13}}, {1, 0, 0, 0, 0}},
      {"but only as long as something is open",
       {{0, 10}, {5, 20}, {6, 9}, {20, 30}, {21, 22}, {29, 31}},
       {1, 0, 0, 0, 0, 1}},
      {"what is around both stays", {{0, 100}, {1, 10}, {5, 20}, {30, 40}}, {0, 0, 1, 0}},
      {"a child does not stray when a crossing slice closes", {{0, 100}, {10, 50}, {40, 90}, {60, 70}}, {0, 0, 1, 1}},
      {"the peer's chain", {{0, 20}, {1, 16}, {2, 12}, {3, 8}, {5, 200}}, {0, 0, 0, 0, 1}},
      {"zero length inside", {{0, 10}, {5, 5}}, {0, 0}},
      {"zero length at the end", {{0, 10}, {10, 10}, {10, 12}}, {0, 0, 0}},
      {"zero length at a start", {{5, 5}, {5, 10}}, {0, 0}},
      {"negative length counts as none", {{5, 1}, {0, 10}, {4, 20}}, {0, 1, 0}},
      {"unfinished around the rest", {{0, kForever}, {5, 10}, {7, kForever}, {8, 9}}, {0, 0, 1, 1}},
  };
  for (const Case& c : cases) EXPECT_EQ(Lanes(c.slices), c.want) << c.name;
}

TEST(LanesTest, AnchorsAChildToAParentWithTheSameStartThatStandsLaterInTheFile) {
  const std::vector<Placement> p = Place({{0, 2}, {0, 5}, {0, 10}, {0, 1}, {20, 25}, {20, 22}, {19, 30}});
  std::vector<uint32_t> anchors;
  for (const Placement& placement : p) anchors.push_back(placement.anchor_row);
  EXPECT_EQ(anchors, (std::vector<uint32_t>{2, 2, 2, 3, 4, 5, 6}));
}

void ExpectGoodLayout(const std::vector<Slice>& slices, const std::vector<Placement>& placements) {
  // No partial overlap on any lane.
  for (size_t i = 0; i < slices.size(); ++i) {
    for (size_t j = 0; j < slices.size(); ++j) {
      const Slice &a = slices[i], &b = slices[j];
      const int64_t a_end = std::max(a.start, a.end), b_end = std::max(b.start, b.end);
      const bool crosses = a.start < b.start && b.start < a_end && a_end < b_end;
      ASSERT_FALSE(crosses && placements[i].lane == placements[j].lane)
          << a.start << "-" << a.end << " " << b.start << "-" << b.end;
    }
  }
}

TEST(LanesTest, EqualsThePlainRuleOnRandomSlices) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 3000; ++round) {
    std::vector<Slice> slices(random() % 40);
    const int64_t range = 1 + static_cast<int64_t>(random() % 60);
    for (Slice& s : slices) {
      s.start = static_cast<int64_t>(random()) % range;
      s.end = s.start + static_cast<int64_t>(random() % 24) - 1;
      if (random() % 50 == 0) s.end = kForever;
    }
    const std::vector<Placement> got = Place(slices, random() % 2 == 0 ? 1 << 20 : 8);
    std::vector<Slice> clamped = slices;
    for (Slice& s : clamped) s.end = std::max(s.start, s.end);
    const std::vector<Placement> want = PlaceReference(clamped);
    for (size_t i = 0; i < slices.size(); ++i) {
      ASSERT_EQ(got[i].lane, want[i].lane) << "round " << round << " slice " << i;
      ASSERT_EQ(got[i].anchor_row, want[i].anchor_row) << "round " << round << " slice " << i;
    }
    ExpectGoodLayout(slices, got);
  }
}

TEST(LanesTest, EqualsThePlainRuleOnAllSmallSets) {
  // All sets of four slices with starts 0 … 3 and lengths 0 … 3.
  for (int code = 0; code < 1 << 16; ++code) {
    std::vector<Slice> slices;
    for (int i = 0; i < 4; ++i) {
      const int64_t start = code >> (4 * i) & 3;
      slices.push_back({start, start + (code >> (4 * i + 2) & 3)});
    }
    const std::vector<Placement> got = Place(slices), want = PlaceReference(slices);
    for (size_t i = 0; i < slices.size(); ++i) {
      ASSERT_EQ(got[i].lane, want[i].lane) << code;
      ASSERT_EQ(got[i].anchor_row, want[i].anchor_row) << code;
    }
  }
}

TEST(LanesTest, NestedTracksKeepOneLane) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 200; ++round) {
    // A random forest: split intervals at random.
    std::vector<Slice> slices;
    const std::function<void(int64_t, int64_t, int)> split = [&](int64_t low, int64_t high, int depth) {
      if (high <= low || depth > 6) return;
      slices.push_back({low, high});
      const int64_t middle = low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
      split(low, middle, depth + 1);
      split(middle, high, depth + 1);
    };
    split(0, 1 + static_cast<int64_t>(random() % 1000), 0);
    std::shuffle(slices.begin(), slices.end(), random);
    for (const Placement& p : Place(slices)) ASSERT_EQ(p.lane, 0u);
  }
}

TEST(LanesTest, FindsTheSliceAroundAPoint) {
  LaneAssigner lanes;
  EXPECT_FALSE(lanes.FindEncloser(0).has_value());
  lanes.PlaceSlice(0, 10, 0);
  lanes.PlaceSlice(5, 20, 1);
  EXPECT_EQ(lanes.FindEncloser(6)->lane, 1u);
  EXPECT_EQ(lanes.FindEncloser(6)->anchor_row, 0u);
  lanes.PlaceSlice(7, 9, 2);
  EXPECT_EQ(lanes.FindEncloser(7)->lane, 1u);
  EXPECT_EQ(lanes.FindEncloser(7)->anchor_row, 2u);
  EXPECT_EQ(lanes.FindEncloser(19)->lane, 1u);
  EXPECT_FALSE(lanes.FindEncloser(20).has_value());
}

TEST(TrackItemsTest, ReplaysInOrderInWindowsOfAnySize) {
  std::mt19937_64 random(3);
  for (const size_t max_items : {size_t{1}, size_t{2}, size_t{10}, size_t{1000}, size_t{100000}}) {
    TrackItems items;
    std::vector<TrackItem> want;
    for (uint32_t i = 0; i < 5000; ++i) {
      TrackItem item;
      item.start_ns = static_cast<int64_t>(random() % 3000) - 1500;
      item.kind = static_cast<TrackItem::Kind>(random() % 3);
      item.end_ns =
          item.kind == TrackItem::Kind::kSlice ? item.start_ns + static_cast<int64_t>(random() % 9) : item.start_ns;
      item.row = i * 3;
      want.push_back(item);
      items.Add(item);
    }
    std::stable_sort(want.begin(), want.end(), [](const TrackItem& a, const TrackItem& b) {
      return a.start_ns != b.start_ns ? a.start_ns < b.start_ns
             : a.kind != b.kind       ? a.kind < b.kind
                                      : a.end_ns > b.end_ns;
    });
    std::vector<TrackItem> got;
    items.ForEachSorted(max_items, [&](int, const TrackItem& item) { got.push_back(item); });
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i].row, want[i].row) << i;
      ASSERT_EQ(got[i].start_ns, want[i].start_ns) << i;
      ASSERT_EQ(got[i].end_ns, want[i].end_ns) << i;
    }
  }
}

TEST(TrackItemsTest, KeepsExtremeTimes) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  TrackItems items;
  items.Add({kForever, kForever, 0, TrackItem::Kind::kSlice});
  items.Add({kMin, kForever, 1, TrackItem::Kind::kSlice});
  items.Add({0, 0, 0xffffffff, TrackItem::Kind::kPoint});
  std::vector<TrackItem> got;
  items.ForEachSorted(100, [&](int, const TrackItem& item) { got.push_back(item); });
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[0].start_ns, kMin);
  EXPECT_EQ(got[0].end_ns, kForever);
  EXPECT_EQ(got[1].row, 0xffffffff);
  EXPECT_EQ(got[2].start_ns, kForever);
}

}  // namespace
}  // namespace tracekiln::chrome
