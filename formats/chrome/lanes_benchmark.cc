// What laying out costs a slice. Checked against the number of lanes expected.
//   sort    the floor: the same slices sorted, as plain structs
//   record  TrackItems::Add
//   nested  sort and lay out a track of nested slices in file order (children before their parents, as profilers write)
//   crossed the same with every tenth slice crossing its neighbour
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "benchmark/benchmark.h"
#include "formats/chrome/lanes.h"

namespace tracekiln::chrome {
namespace {

constexpr int kGroups = 100000;

std::vector<TrackItem> Items(bool crossed) {
  std::vector<TrackItem> items;
  uint32_t row = 0;
  for (int i = 0; i < kGroups; ++i) {
    const int64_t t = i * int64_t{10000};
    for (int k = 9; k >= 0; --k) {
      const int64_t start = t + k * 500;
      const int64_t end = crossed && k == 9 ? t + 9999 : t + 9900 - k * 400;
      items.push_back({start, end, row++, TrackItem::Kind::kSlice});
    }
  }
  return items;
}

void BM_Sort(benchmark::State& state) {
  const std::vector<TrackItem> items = Items(false);
  for (auto _ : state) {
    std::vector<TrackItem> sorted = items;
    std::sort(sorted.begin(), sorted.end(), [](const TrackItem& a, const TrackItem& b) {
      return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
    });
    benchmark::DoNotOptimize(sorted.data());
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * items.size()));
}

void BM_Record(benchmark::State& state) {
  const std::vector<TrackItem> items = Items(false);
  size_t bytes = 0;
  for (auto _ : state) {
    TrackItems recorded;
    for (const TrackItem& item : items) recorded.Add(item);
    bytes = recorded.AllocatedBytes();
  }
  state.counters["B/slice"] = static_cast<double>(bytes) / static_cast<double>(items.size());
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * items.size()));
}

void BM_Place(benchmark::State& state, bool crossed) {
  TrackItems items;
  const std::vector<TrackItem> source = Items(crossed);
  for (const TrackItem& item : source) items.Add(item);
  uint64_t moved = 0;
  for (auto _ : state) {
    moved = 0;
    LayOut(items, size_t{1} << 22,
           [&](const TrackItem&, const std::optional<Placement>& p) { moved += p->lane != 0 ? 1 : 0; });
  }
  if (moved != (crossed ? kGroups : 0)) {
    std::fprintf(stderr, "%llu slices moved\n", static_cast<unsigned long long>(moved));
    std::abort();
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * items.size()));
}

BENCHMARK(BM_Sort)->Name("sort");
BENCHMARK(BM_Record)->Name("record");
BENCHMARK_CAPTURE(BM_Place, nested, false)->Name("nested");
BENCHMARK_CAPTURE(BM_Place, crossed, true)->Name("crossed");

}  // namespace
}  // namespace tracekiln::chrome
