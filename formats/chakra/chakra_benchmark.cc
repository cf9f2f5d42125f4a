// Reading and writing `.et` files, in memory.
//
//   bazel run -c opt //formats/chakra:chakra_benchmark
//
// Graphs are those of GenerateOperatorGraph; /14000 has the size of a real rank of three steps. Items are nodes.
// BM_Read       ReadChakra of what WriteChakra wrote
// BM_ReadProto  protobuf's generated classes parse the same messages one by one, and keep none
// BM_Write      WriteChakra, into a string
// BM_Copy       the floor: the bytes of the file copied
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/chakra/chakra_reader.h"
#include "formats/chakra/chakra_writer.h"
#include "formats/chakra/et_def.pb.h"
#include "formats/intermediate/graph.h"
#include "formats/intermediate/testing/graph_generator.h"
#include "formats/intermediate/wire.h"
#include "formats/io/byte_sink.h"
#include "formats/io/byte_source.h"

namespace tracekiln::chakra {
namespace {

std::string Written(const Graph& graph) {
  std::string bytes;
  io::StringSink sink(&bytes);
  if (!WriteChakra(graph, sink).ok()) std::abort();
  return bytes;
}

void SetCounters(benchmark::State& state, size_t bytes) {
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes));
}

void BM_Read(benchmark::State& state) {
  const std::string bytes = Written(GenerateOperatorGraph(1, static_cast<size_t>(state.range(0))));
  size_t nodes = 0;
  for (auto _ : state) {
    const std::unique_ptr<io::ByteSource> source = io::MakeMemorySource(bytes, "benchmark");
    const absl::StatusOr<Graph> graph = ReadChakra(*source, {}, nullptr);
    if (!graph.ok()) return state.SkipWithError("cannot read");
    nodes = graph->nodes().size();
  }
  if (nodes != static_cast<size_t>(state.range(0))) state.SkipWithError("nodes are missing");
  SetCounters(state, bytes.size());
}
BENCHMARK(BM_Read)->Arg(14'000)->Arg(230'000)->Unit(benchmark::kMillisecond);

void BM_ReadProto(benchmark::State& state) {
  const std::string bytes = Written(GenerateOperatorGraph(1, static_cast<size_t>(state.range(0))));
  for (auto _ : state) {
    absl::string_view rest = bytes;
    size_t count = 0;
    while (!rest.empty()) {
      kiln::WireReader size_reader(rest);
      const uint64_t size = size_reader.RawVarint();
      const absl::string_view message(size_reader.position(), size);
      rest.remove_prefix(static_cast<size_t>(message.data() + size - rest.data()));
      ChakraProtoMsg::Node node;
      ChakraProtoMsg::GlobalMetadata metadata;
      const bool ok = count == 0 ? metadata.ParseFromArray(message.data(), static_cast<int>(size))
                                 : node.ParseFromArray(message.data(), static_cast<int>(size));
      if (!ok) return state.SkipWithError("cannot parse");
      ++count;
      benchmark::DoNotOptimize(node);
    }
  }
  SetCounters(state, bytes.size());
}
BENCHMARK(BM_ReadProto)->Arg(14'000)->Arg(230'000)->Unit(benchmark::kMillisecond);

void BM_Write(benchmark::State& state) {
  const Graph graph = GenerateOperatorGraph(1, static_cast<size_t>(state.range(0)));
  size_t size = 0;
  for (auto _ : state) {
    const std::string bytes = Written(graph);
    size = bytes.size();
    benchmark::DoNotOptimize(bytes);
  }
  SetCounters(state, size);
}
BENCHMARK(BM_Write)->Arg(14'000)->Arg(230'000)->Unit(benchmark::kMillisecond);

void BM_Copy(benchmark::State& state) {
  const std::string bytes = Written(GenerateOperatorGraph(1, static_cast<size_t>(state.range(0))));
  for (auto _ : state) {
    std::string copy = bytes;
    benchmark::DoNotOptimize(copy);
  }
  SetCounters(state, bytes.size());
}
BENCHMARK(BM_Copy)->Arg(14'000)->Arg(230'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tracekiln::chakra
