// How fast chunks are encoded and decoded, and how small they are.
//
//   bazel run -c opt //formats/intermediate:kiln_benchmark
//   TRACEKILN_BENCHMARK_FILE=x.kiln bazel run -c opt //formats/intermediate:kiln_benchmark     (a real trace as well)
//
// Items are events of the foreign trace: rows, and one more for each merged flow; of profiles, functions and edges; of
// graphs, nodes. Every case checks its result.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "benchmark/benchmark.h"
#include "formats/intermediate/chunk_codec.h"
#include "formats/intermediate/event_batch.h"
#include "formats/intermediate/graph.h"
#include "formats/intermediate/graph_codec.h"
#include "formats/intermediate/kiln_reader.h"
#include "formats/intermediate/kiln_records.h"
#include "formats/intermediate/profile.h"
#include "formats/intermediate/profile_codec.h"
#include "formats/intermediate/testing/batch_equality.h"
#include "formats/intermediate/testing/batch_generator.h"
#include "formats/intermediate/testing/graph_equality.h"
#include "formats/intermediate/testing/graph_generator.h"
#include "formats/intermediate/testing/profile_equality.h"
#include "formats/intermediate/testing/profile_generator.h"
#include "formats/io/executor.h"
#include "formats/io/random_access.h"

namespace tracekiln::kiln {
namespace {

struct Trace {
  std::vector<EventBatch> batches;
  std::vector<ChunkHeader> headers;
  std::vector<std::string> parts;
  int64_t events = 0;
  int64_t memory_bytes = 0;
  int64_t file_bytes = 0;  // parts, headers and their copies in the index
};

void AddChunk(EventBatch batch, int level, Trace* trace) {
  ChunkEncoder encoder({.zstd_level = level});
  ChunkHeader header;
  std::string parts;
  if (!encoder.Encode(batch, &header, &parts).ok()) std::abort();
  trace->events += static_cast<int64_t>(header.foreign_events);
  trace->memory_bytes += static_cast<int64_t>(batch.AllocatedBytes());
  trace->file_bytes += static_cast<int64_t>(parts.size() + 2 * EncodeChunkHeader(header).size() + kRecordPrefixBytes);
  trace->batches.push_back(std::move(batch));
  trace->headers.push_back(std::move(header));
  trace->parts.push_back(std::move(parts));
}

constexpr char kFileVariable[] = "TRACEKILN_BENCHMARK_FILE";
enum Input { kGenerated = 0, kFile = 1 };

// Generated: 8 chunks of 16 Ki rows. File: all chunks of the file that the environment names.
const Trace* GetTrace(int input, int level) {
  static std::vector<std::pair<std::pair<int, int>, std::unique_ptr<Trace>>> made;
  for (const auto& [key, trace] : made) {
    if (key == std::make_pair(input, level)) return trace.get();
  }
  auto trace = std::make_unique<Trace>();
  if (input == kGenerated) {
    for (size_t c = 0; c < 8; ++c) AddChunk(GenerateKinetoBatch(1, 16384, c * 16384), level, trace.get());
  } else {
    auto file = io::OpenRandomAccess(std::getenv(kFileVariable));
    if (!file.ok()) std::abort();
    io::InlineExecutor executor;
    auto reader = KilnReader::Open(*std::move(file), {}, executor);
    if (!reader.ok()) std::abort();
    EventBatch batch;
    while (*(*reader)->Next(&batch)) AddChunk(EventBatch(batch), level, trace.get());
  }
  made.emplace_back(std::make_pair(input, level), std::move(trace));
  return made.back().second.get();
}

// The inputs there are, each with the values of a second argument.
void Inputs(benchmark::internal::Benchmark* b, const std::vector<int64_t>& second) {
  for (int64_t input : {kGenerated, kFile}) {
    if (input == kFile && std::getenv(kFileVariable) == nullptr) continue;
    for (int64_t value : second) b->Args({input, value});
  }
}

void SetCounters(benchmark::State& state, const Trace& trace) {
  state.SetItemsProcessed(state.iterations() * trace.events);
  state.SetBytesProcessed(state.iterations() * trace.memory_bytes);
  state.counters["B/event"] = static_cast<double>(trace.file_bytes) / static_cast<double>(trace.events);
  state.counters["memory/event"] = static_cast<double>(trace.memory_bytes) / static_cast<double>(trace.events);
}

// Floor: the core columns copied from one batch to another.
void BM_CopyCoreColumns(benchmark::State& state) {
  const Trace* trace = GetTrace(static_cast<int>(state.range(0)), 1);
  EventBatch to;
  for (auto _ : state) {
    for (const EventBatch& from : trace->batches) {
      to.ts_ns = from.ts_ns;
      to.dur_ns = from.dur_ns;
      to.correlation = from.correlation;
      to.name = from.name;
      to.track = from.track;
      to.args_row = from.args_row;
      to.shape = from.shape;
      to.category = from.category;
      to.kind = from.kind;
      to.flags = from.flags;
      benchmark::DoNotOptimize(to.flags.data());
      benchmark::ClobberMemory();
    }
  }
  SetCounters(state, *trace);
}
BENCHMARK(BM_CopyCoreColumns)->Apply([](auto* b) { Inputs(b, {0}); });

void BM_Encode(benchmark::State& state) {
  const int level = static_cast<int>(state.range(1));
  const Trace* trace = GetTrace(static_cast<int>(state.range(0)), level);
  ChunkEncoder encoder({.zstd_level = level});
  ChunkHeader header;
  std::string parts;
  for (auto _ : state) {
    for (size_t c = 0; c < trace->batches.size(); ++c) {
      parts.clear();
      if (!encoder.Encode(trace->batches[c], &header, &parts).ok() || parts != trace->parts[c]) {
        return state.SkipWithError("encoding is not what it was");
      }
    }
  }
  SetCounters(state, *trace);
}
// The second argument: level of zstd.
BENCHMARK(BM_Encode)->Apply([](auto* b) { Inputs(b, {1, 3}); });

void BM_Decode(benchmark::State& state) {
  const Trace* trace = GetTrace(static_cast<int>(state.range(0)), 1);
  const ColumnSelection selection = static_cast<ColumnSelection>(state.range(1));
  ChunkDecoder decoder;
  EventBatch batch;
  for (auto _ : state) {
    for (size_t c = 0; c < trace->batches.size(); ++c) {
      if (!decoder.Decode(trace->headers[c], trace->parts[c], selection, "benchmark", 0, &batch).ok()) {
        return state.SkipWithError("cannot decode");
      }
    }
  }
  if (!FirstDifference(trace->batches.back(), batch, selection == ColumnSelection::kAll).empty()) {
    return state.SkipWithError("the last batch differs");
  }
  SetCounters(state, *trace);
}
// The second argument: 0 core columns, 1 all.
BENCHMARK(BM_Decode)->Apply([](auto* b) { Inputs(b, {0, 1}); });

struct EncodedProfile {
  Profile profile;
  std::vector<std::pair<ChunkHeader, std::string>> chunks;
  int64_t rows = 0;
  int64_t bytes = 0;
};

// The argument: functions. There are twice as many edges.
EncodedProfile MakeProfile(const benchmark::State& state) {
  EncodedProfile made;
  made.profile = GenerateProgramProfile(1, static_cast<size_t>(state.range(0)));
  const absl::Status status = EncodeProfile(made.profile, {}, [&](const ChunkHeader& header, absl::string_view parts) {
    made.chunks.emplace_back(header, std::string(parts));
    made.bytes += static_cast<int64_t>(parts.size());
  });
  if (!status.ok()) std::abort();
  made.rows = static_cast<int64_t>(made.profile.functions().size() + made.profile.edges().size());
  return made;
}

void SetCounters(benchmark::State& state, const EncodedProfile& made) {
  state.SetItemsProcessed(state.iterations() * made.rows);
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(made.profile.AllocatedBytes()));
  state.counters["B/row"] = static_cast<double>(made.bytes) / static_cast<double>(made.rows);
}

// Floor: the profile copied, its indexes included.
void BM_CopyProfile(benchmark::State& state) {
  const EncodedProfile made = MakeProfile(state);
  for (auto _ : state) {
    Profile copy = made.profile;
    benchmark::DoNotOptimize(copy);
  }
  SetCounters(state, made);
}
BENCHMARK(BM_CopyProfile)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

void BM_EncodeProfile(benchmark::State& state) {
  const EncodedProfile made = MakeProfile(state);
  for (auto _ : state) {
    size_t next = 0;
    bool is_same = true;
    const absl::Status status = EncodeProfile(made.profile, {}, [&](const ChunkHeader&, absl::string_view parts) {
      is_same = is_same && next < made.chunks.size() && parts == made.chunks[next++].second;
    });
    if (!status.ok() || !is_same) return state.SkipWithError("encoding is not what it was");
  }
  SetCounters(state, made);
}
BENCHMARK(BM_EncodeProfile)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

void BM_DecodeProfile(benchmark::State& state) {
  const EncodedProfile made = MakeProfile(state);
  Profile last;
  for (auto _ : state) {
    ProfileDecoder decoder;
    for (const auto& [header, parts] : made.chunks) {
      if (!decoder.Add(header, parts, "benchmark", 0).ok()) return state.SkipWithError("cannot decode");
    }
    absl::StatusOr<Profile> profile = std::move(decoder).Finish("benchmark");
    if (!profile.ok()) return state.SkipWithError("cannot decode");
    last = *std::move(profile);
  }
  if (!FirstDifference(last, made.profile).empty()) return state.SkipWithError("the profile differs");
  SetCounters(state, made);
}
BENCHMARK(BM_DecodeProfile)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

struct EncodedGraph {
  Graph graph;
  std::vector<std::pair<ChunkHeader, std::string>> chunks;
  int64_t bytes = 0;
};

// The argument: nodes.
EncodedGraph MakeGraph(const benchmark::State& state) {
  EncodedGraph made;
  made.graph = GenerateOperatorGraph(1, static_cast<size_t>(state.range(0)));
  const absl::Status status = EncodeGraph(made.graph, {}, [&](const ChunkHeader& header, absl::string_view parts) {
    made.chunks.emplace_back(header, std::string(parts));
    made.bytes += static_cast<int64_t>(parts.size());
  });
  if (!status.ok()) std::abort();
  return made;
}

void SetCounters(benchmark::State& state, const EncodedGraph& made) {
  const int64_t nodes = static_cast<int64_t>(made.graph.nodes().size());
  state.SetItemsProcessed(state.iterations() * nodes);
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(made.graph.AllocatedBytes()));
  state.counters["B/row"] = static_cast<double>(made.bytes) / static_cast<double>(nodes);
}

// Floor: the graph copied.
void BM_CopyGraph(benchmark::State& state) {
  const EncodedGraph made = MakeGraph(state);
  for (auto _ : state) {
    Graph copy = made.graph;
    benchmark::DoNotOptimize(copy);
  }
  SetCounters(state, made);
}
BENCHMARK(BM_CopyGraph)->Arg(200'000)->Unit(benchmark::kMillisecond);

void BM_EncodeGraph(benchmark::State& state) {
  const EncodedGraph made = MakeGraph(state);
  for (auto _ : state) {
    size_t next = 0;
    bool is_same = true;
    const absl::Status status = EncodeGraph(made.graph, {}, [&](const ChunkHeader&, absl::string_view parts) {
      is_same = is_same && next < made.chunks.size() && parts == made.chunks[next++].second;
    });
    if (!status.ok() || !is_same) return state.SkipWithError("encoding is not what it was");
  }
  SetCounters(state, made);
}
BENCHMARK(BM_EncodeGraph)->Arg(200'000)->Unit(benchmark::kMillisecond);

void BM_DecodeGraph(benchmark::State& state) {
  const EncodedGraph made = MakeGraph(state);
  Graph last;
  for (auto _ : state) {
    GraphDecoder decoder;
    for (const auto& [header, parts] : made.chunks) {
      if (!decoder.Add(header, parts, "benchmark", 0).ok()) return state.SkipWithError("cannot decode");
    }
    absl::StatusOr<Graph> graph = std::move(decoder).Finish("benchmark");
    if (!graph.ok()) return state.SkipWithError("cannot decode");
    last = *std::move(graph);
  }
  if (!FirstDifference(last, made.graph).empty()) return state.SkipWithError("the graph differs");
  SetCounters(state, made);
}
BENCHMARK(BM_DecodeGraph)->Arg(200'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tracekiln::kiln
