// What exporting costs, without reading and without a disk: 512 Ki rows of Kineto's mix in batches of
// 16 Ki. Handing out a batch is a copy, part of every case but the floor (copy).
//   memcpy  the floor: a megabyte of the finished text is copied
//   copy    the batches are handed out
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
constexpr size_t kBatches = 32;
constexpr size_t kDistinctBatches = 4;
constexpr int64_t kRows = kRowsPerBatch * kBatches;

class MemorySource : public TraceSource {
 public:
  MemorySource() {
    for (size_t b = 0; b < kDistinctBatches; ++b) {
      batches_.push_back(GenerateKinetoBatch(1, kRowsPerBatch, b * kRowsPerBatch));
    }
  }
  absl::StatusOr<bool> Next(EventBatch* batch) override {
    if (next_ == kBatches) return false;
    *batch = batches_[next_++ % kDistinctBatches];
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

// Keeps nothing but the first megabyte.
class DiscardingSink : public io::ByteSink {
 public:
  DiscardingSink() : ByteSink("nothing") {}
  std::string head;

 protected:
  void WriteSome(absl::string_view bytes) override {
    if (head.size() < size_t{1} << 20) head.append(bytes.data(), bytes.size());
  }
  void Finish() override {}
};

void BM_Export(benchmark::State& state, bool has_lanes) {
  MemorySource source;
  io::InlineExecutor executor;
  ExporterOptions options;
  options.has_lanes = has_lanes;
  uint64_t size = 0;
  for (auto _ : state) {
    DiscardingSink sink;
    Check(ExportChrome(source, options, sink, executor).ok(), "export");
    size = sink.bytes_written();
    Check(sink.head.find("\"traceEvents\": [\n{\"ph\":\"") != std::string::npos && size > kRows * 50, "text");
  }
  state.SetItemsProcessed(state.iterations() * kRows);
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * size));
}

void BM_Copy(benchmark::State& state) {
  MemorySource source;
  EventBatch batch;
  for (auto _ : state) {
    Check(source.Rewind().ok(), "rewind");
    while (*source.Next(&batch)) benchmark::DoNotOptimize(batch.ts_ns.data());
  }
  state.SetItemsProcessed(state.iterations() * kRows);
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
  io::InlineExecutor executor;
  DiscardingSink sink;
  Check(ExportChrome(source, ExporterOptions{.has_lanes = false}, sink, executor).ok(), "export");
  const std::string& text = sink.head;
  std::string out(text.size(), '\0');
  for (auto _ : state) {
    std::memcpy(out.data(), text.data(), text.size());
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  Check(out == text, "copy");
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * text.size()));
}

BENCHMARK(BM_Memcpy)->Name("memcpy");
BENCHMARK(BM_Copy)->Name("copy");
BENCHMARK_CAPTURE(BM_Export, off, false)->Name("off");
BENCHMARK_CAPTURE(BM_Export, on, true)->Name("on");
BENCHMARK(BM_Plan)->Name("plan");

}  // namespace
}  // namespace tracekiln::chrome
