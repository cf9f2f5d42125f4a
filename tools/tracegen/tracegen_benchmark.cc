// How fast traces are made: with the text, without it (the model alone), and the floor of copying that much text.

#include <cstring>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "formats/io/byte_sink.h"
#include "tools/tracegen/tracegen.h"

namespace tracekiln::tracegen {
namespace {

constexpr int64_t kBytes = 20'000'000;

RunOptions Run() {
  RunOptions run;
  FitToSize(kBytes, {}, &run);
  return run;
}

// Copies into a buffer of its own, like a file that is cached.
class CopyingSink final : public io::ByteSink {
 public:
  explicit CopyingSink(std::string* buffer) : ByteSink("<buffer>"), buffer_(*buffer) {}

 private:
  void WriteSome(absl::string_view bytes) override {
    if (buffer_.size() < bytes.size()) buffer_.resize(bytes.size());
    std::memcpy(buffer_.data(), bytes.data(), bytes.size());
  }
  void Finish() override {}
  std::string& buffer_;
};

void BM_WriteKineto(benchmark::State& state) {
  const RunOptions run = Run();
  const KinetoOptions options{static_cast<Dialect>(state.range(0))};
  int64_t bytes = 0, events = 0;
  std::string buffer;
  for (auto _ : state) {
    CopyingSink sink(&buffer);
    const absl::StatusOr<Totals> totals = WriteKineto(run, 0, options, &sink);
    if (!totals.ok()) return state.SkipWithError("not written");
    bytes += static_cast<int64_t>(totals->json_bytes);
    events += totals->event_count;
  }
  state.SetBytesProcessed(bytes);
  state.SetItemsProcessed(events);
}
BENCHMARK(BM_WriteKineto)
    ->Arg(static_cast<int>(Dialect::k2021))
    ->Arg(static_cast<int>(Dialect::k2025))
    ->Arg(static_cast<int>(Dialect::k2026))
    ->Unit(benchmark::kMillisecond);

class CountingVisitor final : public EventVisitor {
 public:
  void OnEvents(const std::vector<Event>& events) override { count += static_cast<int64_t>(events.size()); }
  int64_t count = 0;
};

void BM_ModelAlone(benchmark::State& state) {
  const RunOptions run = Run();
  CountingVisitor visitor;
  for (auto _ : state) {
    RankModel model(run, 0);
    benchmark::DoNotOptimize(model.Run(&visitor));
  }
  state.SetItemsProcessed(visitor.count);
}
BENCHMARK(BM_ModelAlone)->Unit(benchmark::kMillisecond);

// A rank among many: the plan looks at all of them.
void BM_ModelOfOneRankAmong(benchmark::State& state) {
  RunOptions run = Run();
  run.rank_count = static_cast<int>(state.range(0));
  CountingVisitor visitor;
  for (auto _ : state) {
    RankModel model(run, 0);
    benchmark::DoNotOptimize(model.Run(&visitor));
  }
  state.SetItemsProcessed(visitor.count);
}
BENCHMARK(BM_ModelOfOneRankAmong)->Arg(64)->Arg(1024)->Unit(benchmark::kMillisecond);

void BM_FloorMemcpy(benchmark::State& state) {
  const std::string from(kBytes, 'x');
  std::string to(kBytes, 'y');
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), from.size());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * kBytes);
}
BENCHMARK(BM_FloorMemcpy)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tracekiln::tracegen
