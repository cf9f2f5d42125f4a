// What exporting costs, without reading and without a disk: 64 Ki rows of Kineto's mix in batches of 16 Ki.
//   memcpy  the floor: the finished text is copied
//   off     lanes=off
//   on      lanes=on: planned, laid out, written
//   plan    the first pass of lanes=on alone
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "formats/chrome/chrome_exporter.h"
#include "formats/chrome/export_plan.h"
#include "formats/chrome/row_filter.h"
#include "formats/intermediate/testing/batch_generator.h"
#include "formats/io/byte_sink.h"
#include "formats/io/executor.h"

namespace tracekiln::chrome {
namespace {

constexpr size_t kRowsPerBatch = 1 << 14;
constexpr size_t kBatches = 4;
constexpr int64_t kRows = kRowsPerBatch * kBatches;

class MemorySource : public TraceSource {
 public:
  MemorySource() {
    for (size_t b = 0; b < kBatches; ++b) {
      batches_.push_back(GenerateKinetoBatch(1, kRowsPerBatch, b * kRowsPerBatch));
    }
  }
  absl::StatusOr<bool> Next(EventBatch* batch) override {
    if (next_ == batches_.size()) return false;
    *batch = batches_[next_++];
    return true;
  }
  absl::Status Rewind() override {
    next_ = 0;
    return absl::OkStatus();
  }
  bool can_rewind() const override { return true; }
  const TraceInfo& info() const override { return info_; }

 private:
  std::vector<EventBatch> batches_;
  TraceInfo info_;
  size_t next_ = 0;
};

void Check(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "wrong result: %s\n", what);
  std::abort();
}

std::string Export(MemorySource& source, bool has_lanes) {
  io::InlineExecutor executor;
  std::string out;
  io::StringSink sink(&out);
  ExporterOptions options;
  options.has_lanes = has_lanes;
  Check(ExportChrome(source, options, sink, executor).ok(), "export");
  return out;
}

void BM_Export(benchmark::State& state, bool has_lanes) {
  MemorySource source;
  size_t size = 0;
  for (auto _ : state) {
    const std::string out = Export(source, has_lanes);
    size = out.size();
    benchmark::DoNotOptimize(out.data());
  }
  Check(size > kRows * 50, "size");
  state.SetItemsProcessed(state.iterations() * kRows);
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * size));
}

void BM_Plan(benchmark::State& state) {
  MemorySource source;
  const auto filter = RowFilter::Make({});
  for (auto _ : state) {
    Check(source.Rewind().ok(), "rewind");
    const auto plan = BuildExportPlan(source, **filter);
    Check(plan.ok() && !plan->tracks.rows().empty(), "plan");
  }
  state.SetItemsProcessed(state.iterations() * kRows);
}

void BM_Memcpy(benchmark::State& state) {
  MemorySource source;
  const std::string text = Export(source, false);
  std::string out(text.size(), '\0');
  for (auto _ : state) {
    std::memcpy(out.data(), text.data(), text.size());
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  Check(out == text, "copy");
  state.SetItemsProcessed(state.iterations() * kRows);
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * text.size()));
}

BENCHMARK(BM_Memcpy)->Name("memcpy");
BENCHMARK_CAPTURE(BM_Export, off, false)->Name("off");
BENCHMARK_CAPTURE(BM_Export, on, true)->Name("on");
BENCHMARK(BM_Plan)->Name("plan");

}  // namespace
}  // namespace tracekiln::chrome
