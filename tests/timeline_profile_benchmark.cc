// What a `.prof` costs over reading the trace: the importer alone, with the call tree, and with the file written.
//
//   bazel run -c opt //tests:timeline_profile_benchmark -- [TRACE…]
//
// Without arguments the input is a generated rank; TRACEKILN_BENCHMARK_BYTES sets its size (default 8 MB).
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "formats/chrome/chrome_importer.h"
#include "formats/intermediate/trace_source.h"
#include "formats/io/byte_sink.h"
#include "formats/io/executor.h"
#include "formats/io/input.h"
#include "formats/pstats/pstats_writer.h"
#include "formats/pstats/timeline_profile.h"
#include "tools/tracegen/tracegen.h"

namespace tracekiln {
namespace {

struct Text {
  std::string name;
  std::string json;
};

enum class Work { kImport, kCallTree, kProf };

void Run(benchmark::State& state, const Text& text, Work work, int threads) {
  io::ThreadPool pool(threads);
  uint64_t events = 0;
  uint64_t calls = 0;
  size_t prof_bytes = 0;
  for (auto _ : state) {
    auto input = io::OpenMemory(text.json, text.name);
    auto source = chrome::OpenChromeJson(*std::move(input), {}, pool);
    if (!source.ok()) std::abort();
    if (work == Work::kImport) {
      EventBatch batch;
      for (;;) {
        const auto more = (*source)->Next(&batch);
        if (!more.ok()) std::abort();
        if (!*more) break;
      }
    } else {
      pstats::TimelineProfiler profiler{pstats::TimelineProfileOptions()};
      if (!profiler.Read(**source).ok()) std::abort();
      const Profile profile = profiler.Whole();
      calls = static_cast<uint64_t>(profile.Total().call_count);
      if (calls == 0) state.SkipWithError("no calls");
      if (work == Work::kProf) {
        std::string bytes;
        io::StringSink sink(&bytes);
        if (!pstats::WritePstats(profile, {}, sink).ok()) std::abort();
        prof_bytes = bytes.size();
      }
    }
    events = (*source)->info().report.seen;
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * text.json.size()));
  state.counters["events"] = static_cast<double>(events);
  state.counters["calls"] = static_cast<double>(calls);
  state.counters["prof_bytes"] = static_cast<double>(prof_bytes);
}

Text Generate() {
  const char* const size = std::getenv("TRACEKILN_BENCHMARK_BYTES");
  tracegen::RunOptions run;
  tracegen::FitToSize(size == nullptr ? 8'000'000 : std::atoll(size), {}, &run);
  Text text;
  text.name = "generated";
  io::StringSink sink(&text.json);
  if (!tracegen::WriteKineto(run, 0, {}, &sink).ok()) std::abort();
  return text;
}

Text ReadAll(const char* path) {
  auto input = io::OpenInput(path);
  if (!input.ok()) {
    std::fprintf(stderr, "%s\n", std::string(input.status().message()).c_str());
    std::exit(1);
  }
  Text text;
  text.name = path;
  const std::unique_ptr<io::ByteSource> source = (*input)->Stream();
  std::string buffer(1 << 20, '\0');
  while (const size_t n = source->Read(buffer.data(), buffer.size())) text.json.append(buffer, 0, n);
  return text;
}

}  // namespace
}  // namespace tracekiln

int main(int argc, char** argv) {
  using namespace tracekiln;  // NOLINT
  benchmark::Initialize(&argc, argv);
  static std::vector<Text> texts;
  for (int i = 1; i < argc; ++i) texts.push_back(ReadAll(argv[i]));
  if (texts.empty()) texts.push_back(Generate());
  for (const Text& text : texts) {
    for (int threads : {1, 2}) {
      const auto add = [&](const char* what, Work work) {
        benchmark::RegisterBenchmark((text.name + "/" + what + "/threads:" + std::to_string(threads)).c_str(),
                                     [&text, work, threads](benchmark::State& s) { Run(s, text, work, threads); })
            ->Unit(benchmark::kMillisecond)
            ->UseRealTime();
      };
      add("import", Work::kImport);
      add("import+call_tree", Work::kCallTree);
      add("import+call_tree+write", Work::kProf);
    }
  }
  benchmark::RunSpecifiedBenchmarks();
}
