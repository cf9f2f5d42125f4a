// What reading and writing files cost, on seeded text like Kineto's JSON (64 MiB; it packs about as real traces do).
// Bytes per second are always those of the plain text. Floors in the same run: memcpy, and zlib for what ISA-L does.
#include <benchmark/benchmark.h>
#include <zlib.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "formats/io/byte_sink.h"
#include "formats/io/byte_source.h"
#include "formats/io/crc32c.h"
#include "formats/io/executor.h"
#include "formats/io/input.h"
#include "formats/io/output.h"

namespace tracekiln::io {
namespace {

constexpr size_t kTextBytes = 64 << 20;

const std::string& Text() {
  static const std::string* const text = [] {
    std::mt19937_64 random(1);
    auto* made = new std::string;
    made->reserve(kTextBytes + 1000);
    uint64_t ts_ns = 1718000000000000000;
    uint64_t correlation = 1000;
    while (made->size() < kTextBytes) {
      ts_ns += random() % 20000;
      ++correlation;
      const uint64_t dur_ns = 1000 + random() % 100000;
      const uint64_t kind = random() % 4;
      absl::StrAppend(made, "  {\n    \"ph\": \"X\", \"cat\": \"", kind == 0 ? "kernel" : "cpu_op", "\", \"name\": \"",
                      kind == 0 ? "void at::native::vectorized_elementwise_kernel_" : "aten::op_", random() % 64,
                      "\", \"pid\": ", kind == 0 ? 0 : 4242, ", \"tid\": ", kind == 0 ? 7 : 4242,
                      ",\n    \"ts\": ", ts_ns / 1000, ".", 100 + ts_ns % 900, ", \"dur\": ", dur_ns / 1000, ".",
                      100 + dur_ns % 900);
      absl::StrAppend(made, ",\n    \"args\": {\n      \"External id\": ", correlation / 3,
                      ",\"Sequence number\": ", correlation / 5,
                      ", \"Fwd thread id\": 0, \"correlation\": ", correlation,
                      ", \"Record function id\": ", random() % 8, "\n    }\n  },\n");
    }
    made->resize(kTextBytes);
    return made;
  }();
  return *text;
}

std::string Packed(Compression compression, int level) {
  std::string out;
  auto sink = MakeCompressingSink(std::make_unique<StringSink>(&out), compression, level);
  (*sink)->Write(Text());
  if (!(*sink)->Close().ok()) std::abort();
  return out;
}

void SetBytes(benchmark::State& state) {
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * kTextBytes));
}

// Floor: moving the text once, in the pieces that a consumer reads.
void BM_Memcpy(benchmark::State& state) {
  std::string out(1 << 20, '\0');
  for (auto _ : state) {
    for (size_t at = 0; at < kTextBytes; at += out.size()) {
      std::memcpy(out.data(), &Text()[at], out.size());
      benchmark::ClobberMemory();
    }
  }
  SetBytes(state);
}
BENCHMARK(BM_Memcpy);

void BM_Crc32c(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(Crc32c(Text()));
  SetBytes(state);
}
BENCHMARK(BM_Crc32c);

// Floor: zlib's inflate of the same gzip file, one buffer reused.
void BM_InflateZlib(benchmark::State& state) {
  const std::string packed = Packed(Compression::kGzip, 1);
  std::string out(1 << 20, '\0');
  for (auto _ : state) {
    z_stream stream = {};
    inflateInit2(&stream, 15 + 16);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream.avail_in = static_cast<uInt>(packed.size());
    int code = Z_OK;
    while (code == Z_OK) {
      stream.next_out = reinterpret_cast<Bytef*>(out.data());
      stream.avail_out = static_cast<uInt>(out.size());
      code = inflate(&stream, Z_NO_FLUSH);
    }
    if (code != Z_STREAM_END || stream.total_out != kTextBytes) state.SkipWithError("wrong text");
    inflateEnd(&stream);
  }
  SetBytes(state);
}
BENCHMARK(BM_InflateZlib)->MeasureProcessCPUTime()->UseRealTime();

// OpenMemory and reading it all, 1 MiB at a time. read_ahead decompresses in a second thread: its gain shows only when
// the consumer works too (AndWork); else it shows the price of handing buffers over.
void ReadInput(benchmark::State& state, const std::string& packed, bool has_work = false) {
  OpenOptions options;
  options.read_ahead = state.range(0) != 0;
  std::string out(1 << 20, '\0');
  for (auto _ : state) {
    state.PauseTiming();
    std::string bytes = packed;
    state.ResumeTiming();
    auto input = OpenMemory(std::move(bytes), "text", options);
    auto stream = (*input)->Stream();
    size_t total = 0;
    while (const size_t got = stream->Read(out.data(), out.size())) {
      total += got;
      if (has_work) benchmark::DoNotOptimize(adler32(1, reinterpret_cast<const Bytef*>(out.data()), got));
    }
    if (total != kTextBytes || !stream->status().ok()) state.SkipWithError("wrong text");
  }
  SetBytes(state);
}
void BM_ReadPlain(benchmark::State& state) { ReadInput(state, Text()); }
void BM_ReadGzip(benchmark::State& state) { ReadInput(state, Packed(Compression::kGzip, 1)); }
// The consumer works too: zlib's Adler-32 of all it gets stands for a parser.
void BM_ReadGzipAndWork(benchmark::State& state) { ReadInput(state, Packed(Compression::kGzip, 1), true); }
void BM_ReadZstd(benchmark::State& state) { ReadInput(state, Packed(Compression::kZstd, 3)); }
BENCHMARK(BM_ReadPlain)->ArgName("read_ahead")->Arg(0)->MeasureProcessCPUTime()->UseRealTime();
BENCHMARK(BM_ReadGzip)->ArgName("read_ahead")->Arg(0)->Arg(1)->MeasureProcessCPUTime()->UseRealTime();
BENCHMARK(BM_ReadGzipAndWork)->ArgName("read_ahead")->Arg(0)->Arg(1)->MeasureProcessCPUTime()->UseRealTime();
BENCHMARK(BM_ReadZstd)->ArgName("read_ahead")->Arg(0)->Arg(1)->MeasureProcessCPUTime()->UseRealTime();

// Floor for writing: zlib in one piece.
void BM_WriteZlib(benchmark::State& state) {
  std::string out(compressBound(kTextBytes), '\0');
  uLongf size = 0;
  for (auto _ : state) {
    size = out.size();
    const int level = static_cast<int>(state.range(0));
    if (compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(Text().data()),
                  kTextBytes, level) != Z_OK) {
      state.SkipWithError("zlib failed");
    }
  }
  state.counters["ratio"] = static_cast<double>(kTextBytes) / static_cast<double>(size);
  SetBytes(state);
}
BENCHMARK(BM_WriteZlib)->ArgName("level")->Arg(1)->Arg(6)->Iterations(1)->UseRealTime();

// A compressing sink into memory: level, then threads (0: in the writer's).
void WriteOutput(benchmark::State& state, Compression compression) {
  const int thread_count = static_cast<int>(state.range(1));
  const std::unique_ptr<ThreadPool> pool = thread_count > 0 ? std::make_unique<ThreadPool>(thread_count) : nullptr;
  std::string out;
  for (auto _ : state) {
    out.clear();
    auto sink = MakeCompressingSink(std::make_unique<StringSink>(&out), compression, static_cast<int>(state.range(0)),
                                    pool.get());
    for (size_t at = 0; at < kTextBytes; at += 100000) (*sink)->Write(absl::string_view(Text()).substr(at, 100000));
    if (!(*sink)->Close().ok()) state.SkipWithError("failed");
  }
  state.counters["ratio"] = static_cast<double>(kTextBytes) / static_cast<double>(out.size());
  SetBytes(state);
}
void BM_WriteGzip(benchmark::State& state) { WriteOutput(state, Compression::kGzip); }
void BM_WriteZstd(benchmark::State& state) { WriteOutput(state, Compression::kZstd); }
BENCHMARK(BM_WriteGzip)->ArgNames({"level", "threads"})->ArgsProduct({{0, 1, 2, 3}, {0, 2}})->UseRealTime();
BENCHMARK(BM_WriteZstd)->ArgNames({"level", "threads"})->ArgsProduct({{1, 3}, {0, 2}})->UseRealTime();

}  // namespace
}  // namespace tracekiln::io
