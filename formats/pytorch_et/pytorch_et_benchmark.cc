// Reading execution traces, in memory.
//
//   bazel run -c opt //formats/pytorch_et:pytorch_et_benchmark
//   TRACEKILN_BENCHMARK_ET=et.json bazel run -c opt //formats/pytorch_et:pytorch_et_benchmark
//
// BM_Read     ReadPytorchEt of a generated file laid out as PyTorch does, or of the file that is named (unpacked)
// BM_Simdjson simdjson's parser over the same bytes: it checks and indexes all, and builds no graph
// BM_Copy     the floor: the bytes copied
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "formats/intermediate/graph.h"
#include "formats/io/byte_source.h"
#include "formats/pytorch_et/pytorch_et_reader.h"
#include "simdjson.h"

namespace tracekiln::pytorch_et {
namespace {

std::string Generated(int nodes) {
  std::string text = "{\n  \"schema\": \"1.1.1-chakra.0.0.4\", \"pid\": 10, \"start_ts\": 1000,\n  \"nodes\": [\n";
  for (int i = 0; i < nodes; ++i) {
    const int id = 2 * i + 2;
    absl::StrAppend(
        &text, i == 0 ? "" : ",\n", "      {\n        \"id\": ", id,
        ", \"name\": \"aten::addmm\", \"ctrl_deps\": ", i == 0 ? 1 : id - 2, ",\n        \"inputs\": {\"values\": [[",
        id + 1, ",", id + 5,
        ",0,4096,4,\"cuda:0\"],[-1],1.000000], \"shapes\": [[64,64],[[]],[]], \"types\": "
        "[\"Tensor(float)\",\"GenericList[Int]\",\"Double\"], \"strides\": [[64,1],[[]],[]]},\n        "
        "\"outputs\": {\"values\": [[",
        id + 3, ",", id + 7,
        ",0,64,4,\"cuda:0\"]], \"shapes\": [[64]], \"types\": [\"Tensor(float)\"], \"strides\": [[1]]},\n"
        "        \"attrs\": [{\"name\": \"rf_id\", \"type\": \"uint64\", \"value\": ",
        i,
        "},{\"name\": \"fw_parent\", \"type\": \"uint64\", \"value\": 0},{\"name\": \"seq_id\", \"type\": "
        "\"int64\", \"value\": -1},{\"name\": \"scope\", \"type\": \"uint64\", \"value\": 0},{\"name\": "
        "\"tid\", \"type\": \"uint64\", \"value\": 1},{\"name\": \"fw_tid\", \"type\": \"uint64\", "
        "\"value\": 0},{\"name\": \"op_schema\", \"type\": \"string\", \"value\": \"aten::addmm(Tensor self, "
        "Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor\"}]\n      }");
  }
  return text + "\n  ],\n  \"finish_ts\": 2000\n}\n";
}

const std::string& Input() {
  static const std::string* const input = [] {
    const char* const path = std::getenv("TRACEKILN_BENCHMARK_ET");
    if (path == nullptr) return new std::string(Generated(20'000));
    std::ifstream file(path, std::ios::binary);
    return new std::string(std::istreambuf_iterator<char>(file), {});
  }();
  return *input;
}

void BM_Read(benchmark::State& state) {
  size_t nodes = 0;
  for (auto _ : state) {
    const std::unique_ptr<io::ByteSource> source = io::MakeMemorySource(Input(), "benchmark");
    const absl::StatusOr<Graph> graph = ReadPytorchEt(*source, {}, nullptr);
    if (!graph.ok()) return state.SkipWithError("cannot read");
    nodes = graph->nodes().size();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(nodes));
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(Input().size()));
}
BENCHMARK(BM_Read)->Unit(benchmark::kMillisecond);

void BM_Simdjson(benchmark::State& state) {
  const simdjson::padded_string padded(Input());
  simdjson::dom::parser parser;
  for (auto _ : state) {
    simdjson::dom::element document;
    if (parser.parse(padded).get(document) != simdjson::SUCCESS) return state.SkipWithError("cannot parse");
    benchmark::DoNotOptimize(document);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(Input().size()));
}
BENCHMARK(BM_Simdjson)->Unit(benchmark::kMillisecond);

void BM_Copy(benchmark::State& state) {
  for (auto _ : state) {
    std::string copy = Input();
    benchmark::DoNotOptimize(copy);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(Input().size()));
}
BENCHMARK(BM_Copy)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tracekiln::pytorch_et
