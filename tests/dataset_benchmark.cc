// What it costs to look at a run directory. Files are made once, in the directory for temporary files.
//
//   bazel run -c opt //tests:dataset_benchmark
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "analysis/dataset/dataset.h"
#include "benchmark/benchmark.h"
#include "formats/all_formats.h"
#include "formats/io/executor.h"

namespace tracekiln::dataset {
namespace {

std::string Trace(int rank, int world_size, size_t size_bytes) {
  std::string text = absl::StrCat(R"({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": )", rank,
                                  R"(, "world_size": )", world_size, R"(}, "traceEvents": [)");
  for (int i = 0; text.size() < size_bytes; ++i) {
    absl::StrAppend(&text, R"({"ph": "X", "cat": "kernel", "name": "gemm_)", i % 50, R"(", "ts": )", 1000 + 7 * i,
                    R"(.25, "dur": 5.125, "pid": 0, "tid": 7, "args": {"correlation": )", i, "}},\n");
  }
  absl::StrAppend(&text, R"({"ph": "i", "name": "end", "ts": 1}]})");
  return text;
}

std::string Gzip(const std::string& text) {
  z_stream stream = {};
  deflateInit2(&stream, 1, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// Files of 256 KiB of JSON each, four times the head.
class Tree {
 public:
  Tree(int file_count, bool is_packed) {
    const char* const temporary = std::getenv("TEST_TMPDIR");
    directory_ =
        absl::StrCat(temporary != nullptr ? temporary : "/tmp", "/dataset_benchmark.", is_packed ? "gz" : "plain");
    std::filesystem::create_directories(directory_);
    for (int i = 0; i < file_count; ++i) {
      const std::string text = Trace(i, file_count, 256 << 10);
      std::ofstream(absl::StrCat(directory_, "/rank-", i, is_packed ? ".json.gz" : ".json"), std::ios::binary)
          << (is_packed ? Gzip(text) : text);
    }
  }
  ~Tree() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  const std::string& directory() const { return directory_; }

 private:
  std::string directory_;
};

// Arguments: files, gzip or not, KiB of head, threads. The pages are in the cache after the first scan.
void BM_Scan(benchmark::State& state) {
  const int file_count = static_cast<int>(state.range(0));
  const Tree tree(file_count, state.range(1) != 0);
  io::ThreadPool pool(static_cast<int>(state.range(3)));
  ScanOptions options;
  options.head_bytes = static_cast<size_t>(state.range(2)) << 10;
  for (auto _ : state) {
    const absl::StatusOr<Dataset> found = ScanDataset(tree.directory(), options, AllFormats(), pool);
    if (!found.ok() || found->ranks.size() != static_cast<size_t>(file_count) || !found->findings.empty()) {
      state.SkipWithError("wrong result");
      break;
    }
  }
  state.SetItemsProcessed(state.iterations() * file_count);
}
BENCHMARK(BM_Scan)
    ->ArgNames({"files", "gzip", "head_kib", "threads"})
    ->Args({10000, 1, 64, 2})
    ->Args({10000, 1, 16, 2})
    ->Args({1000, 0, 64, 2})
    ->Args({1000, 1, 64, 1})
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

}  // namespace
}  // namespace tracekiln::dataset
