#include "analysis/health/interval_check.h"

#include <algorithm>
#include <ostream>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace tracekiln::health {

bool operator==(const Misfit& a, const Misfit& b) { return a.index == b.index && a.amount_ns == b.amount_ns; }
void PrintTo(const Misfit& m, std::ostream* os) { *os << "{" << m.index << ", " << m.amount_ns << "}"; }

namespace {

std::vector<Interval> Sorted(std::vector<std::pair<int64_t, int64_t>> start_and_dur) {
  std::vector<Interval> intervals;
  for (const auto& [start, dur] : start_and_dur) {
    intervals.push_back({start, dur, static_cast<uint32_t>(intervals.size()), 0});
  }
  SortForNesting(&intervals);
  return intervals;
}

TEST(SortForNesting, PutsLongerFirstAtOneStart) {
  const std::vector<Interval> sorted = Sorted({{5, 1}, {0, 2}, {0, 9}, {0, 9}});
  std::vector<uint32_t> rows;
  for (const Interval& i : sorted) rows.push_back(i.row);
  EXPECT_EQ(rows, (std::vector<uint32_t>{2, 3, 1, 0}));
}

TEST(FindNotNested, AcceptsNestedAndDisjoint) {
  // [0,10) holds [0,5) and [5,10); [10,20) touches; equal twins; an empty one on a border.
  EXPECT_TRUE(FindNotNested(Sorted({{0, 10}, {0, 5}, {5, 5}, {10, 10}, {10, 10}, {20, 0}, {15, 0}})).empty());
}

TEST(FindNotNested, MeasuresTheSmallestChange) {
  // b ends 1 after a: 1. b starts 1 before a ends: 1. b starts 1 after a: 1. In the middle: min(4, 6, 4) = 4.
  EXPECT_EQ(FindNotNested(Sorted({{0, 10}, {5, 6}})), (std::vector<Misfit>{{1, 1}}));
  EXPECT_EQ(FindNotNested(Sorted({{0, 10}, {9, 10}})), (std::vector<Misfit>{{1, 1}}));
  EXPECT_EQ(FindNotNested(Sorted({{0, 10}, {1, 20}})), (std::vector<Misfit>{{1, 1}}));
  EXPECT_EQ(FindNotNested(Sorted({{0, 10}, {4, 10}})), (std::vector<Misfit>{{1, 4}}));
}

TEST(FindNotNested, StaircaseOf200000IsNotQuadratic) {
  // Each overlaps the next 100,000; must end within the test's time limit. All but the first are misfits.
  std::vector<Interval> stairs;
  for (uint32_t i = 0; i < 200000; ++i) stairs.push_back({i, 100000, i, 0});
  EXPECT_EQ(FindNotNested(stairs).size(), 199999u);
}

TEST(FindOverlaps, CountsLaterOneOnce) {
  // [0,10) [8,18) [18,23): the second starts 2 early, the third on time.
  EXPECT_EQ(FindOverlaps(Sorted({{0, 10}, {8, 10}, {18, 5}})), (std::vector<Misfit>{{1, 2}}));
  // [2,3) lies inside [0,10): 1 shared.
  EXPECT_EQ(FindOverlaps(Sorted({{0, 10}, {2, 1}})), (std::vector<Misfit>{{1, 1}}));
}

TEST(UnionLengthNs, CountsSharedTimeOnce) {
  // [0,10) + [8,18) + [20,25) = 18 + 5.
  EXPECT_EQ(UnionLengthNs(Sorted({{0, 10}, {8, 10}, {20, 5}, {22, 1}, {30, 0}})), 23);
  EXPECT_EQ(UnionLengthNs({}), 0);
}

// The definitions of the header, word for word.
std::vector<Misfit> NotNestedReference(const std::vector<Interval>& sorted) {
  std::vector<Misfit> misfits;
  for (uint32_t j = 0; j < sorted.size(); ++j) {
    int64_t amount = 0;
    for (uint32_t i = 0; i < j; ++i) {
      const Interval& a = sorted[i];
      const Interval& b = sorted[j];
      if (a.start_ns < b.start_ns && b.start_ns < a.end_ns() && a.end_ns() < b.end_ns()) {
        amount =
            std::max(amount, std::min({b.start_ns - a.start_ns, a.end_ns() - b.start_ns, b.end_ns() - a.end_ns()}));
      }
    }
    if (amount > 0) misfits.push_back({j, amount});
  }
  return misfits;
}

std::vector<Misfit> OverlapsReference(const std::vector<Interval>& sorted) {
  std::vector<Misfit> misfits;
  for (uint32_t j = 0; j < sorted.size(); ++j) {
    int64_t amount = 0;
    const Interval& b = sorted[j];
    for (uint32_t i = 0; i < j; ++i) {
      if (sorted[i].dur_ns > 0 && sorted[i].end_ns() > b.start_ns) {
        amount = std::max(amount, std::min(sorted[i].end_ns(), b.end_ns()) - b.start_ns);
      }
    }
    if (amount > 0) misfits.push_back({j, amount});
  }
  return misfits;
}

int64_t UnionReference(const std::vector<Interval>& sorted) {
  std::vector<bool> covered(200);
  for (const Interval& i : sorted) std::fill(covered.begin() + i.start_ns, covered.begin() + i.end_ns(), true);
  return std::count(covered.begin(), covered.end(), true);
}

TEST(IntervalChecks, AgreeWithTheQuadraticOnes) {
  std::mt19937 random(20240607);
  int misfit_count = 0;
  for (int round = 0; round < 3000; ++round) {
    const int count = static_cast<int>(random() % 40);
    const int64_t horizon = 1 + static_cast<int64_t>(random() % 100);
    const int64_t longest = 1 + static_cast<int64_t>(random() % 50);
    std::vector<std::pair<int64_t, int64_t>> list;
    for (int i = 0; i < count; ++i) {
      list.emplace_back(static_cast<int64_t>(random() % horizon), static_cast<int64_t>(random() % longest));
    }
    const std::vector<Interval> sorted = Sorted(list);
    ASSERT_EQ(FindNotNested(sorted), NotNestedReference(sorted)) << "round " << round;
    ASSERT_EQ(FindOverlaps(sorted), OverlapsReference(sorted)) << "round " << round;
    ASSERT_EQ(UnionLengthNs(sorted), UnionReference(sorted)) << "round " << round;
    misfit_count += static_cast<int>(FindNotNested(sorted).size());
  }
  EXPECT_GT(misfit_count, 1000);  // the generator does make overlaps
}

}  // namespace
}  // namespace tracekiln::health
