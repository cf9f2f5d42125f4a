// Reading and writing `.prof` files, in memory.
//
//   bazel run -c opt //formats/pstats:pstats_benchmark
//
// BM_Read       ReadPstats of what WritePstats wrote with references, 2 callers per function; /10000, /100000 and
//               /1000000 functions. `Far` picks callers anywhere, so every reference misses the caches; `Near` among
//               the last 64 functions, as calls within a module do.
// BM_ReadPlain  the same without references
// BM_Write      WritePstats with references, into a sink that only counts
// BM_Copy       the floor: the bytes of BM_Read through the same ByteSource into a buffer of 256 KiB
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "formats/intermediate/import_report.h"
#include "formats/intermediate/profile.h"
#include "formats/io/byte_sink.h"
#include "formats/io/byte_source.h"
#include "formats/pstats/pstats_reader.h"
#include "formats/pstats/pstats_writer.h"

namespace tracekiln::pstats {
namespace {

enum Callers { kNear, kFar };

// As long as anything is measured, every profile and file is made once.
const Profile& MadeProfile(int64_t function_count, Callers callers) {
  static auto& profiles = *new std::map<std::pair<int64_t, Callers>, std::unique_ptr<Profile>>;
  std::unique_ptr<Profile>& profile = profiles[{function_count, callers}];
  if (profile != nullptr) return *profile;
  profile = std::make_unique<Profile>();
  uint64_t random = 1;
  const auto below = [&random](uint64_t limit) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    return (random >> 33) % limit;
  };
  for (int64_t i = 0; i < function_count; ++i) {
    const FunctionId f = profile->AddFunction(absl::StrCat("/usr/lib/python3/site-packages/pkg/module", i / 40, ".py"),
                                              10 + i % 900, absl::StrCat("function_", i));
    profile->AddStats(f, {static_cast<int64_t>(below(1000)), static_cast<int64_t>(below(1000)),
                          static_cast<int64_t>(below(1'000'000'000)), static_cast<int64_t>(below(1'000'000'000))});
  }
  for (int64_t i = 0; i < function_count; ++i) {
    for (int n = 0; n < 2; ++n) {
      const int64_t caller = callers == kFar ? static_cast<int64_t>(below(static_cast<uint64_t>(function_count)))
                                             : (i + function_count - static_cast<int64_t>(below(64))) % function_count;
      profile->AddCallerStats(FunctionId{static_cast<uint32_t>(caller)}, FunctionId{static_cast<uint32_t>(i)},
                              {static_cast<int64_t>(below(1000)), static_cast<int64_t>(below(1000)),
                               static_cast<int64_t>(below(1'000'000'000)), static_cast<int64_t>(below(1'000'000'000))});
    }
  }
  return *profile;
}

class CountingSink final : public io::ByteSink {
 public:
  CountingSink() : ByteSink("count") {}

 protected:
  void WriteSome(absl::string_view bytes) override { benchmark::DoNotOptimize(bytes.data()); }
  void Finish() override {}
};

// Bytes of somebody else, without a copy.
class ViewSource final : public io::ByteSource {
 public:
  explicit ViewSource(absl::string_view bytes) : ByteSource("memory"), bytes_(bytes) {}
  std::optional<uint64_t> size_hint() const override { return bytes_.size(); }

 protected:
  size_t ReadSome(char* out, size_t size) override {
    const size_t part = std::min(size, bytes_.size() - next_);
    std::memcpy(out, bytes_.data() + next_, part);
    next_ += part;
    return part;
  }

 private:
  const absl::string_view bytes_;
  size_t next_ = 0;
};

const std::string& File(int64_t function_count, Callers callers, bool references) {
  static auto& files = *new std::map<std::tuple<int64_t, Callers, bool>, std::string>;
  std::string& file = files[{function_count, callers, references}];
  if (file.empty()) {
    io::StringSink sink(&file);
    if (!WritePstats(MadeProfile(function_count, callers), {.references = references}, sink).ok()) std::abort();
  }
  return file;
}

void Finish(benchmark::State& state, uint64_t bytes) {
  state.SetBytesProcessed(static_cast<int64_t>(bytes) * state.iterations());
  state.SetItemsProcessed(state.range(0) * state.iterations());
  state.counters["B/function"] = static_cast<double>(bytes) / static_cast<double>(state.range(0));
}

void Read(benchmark::State& state, Callers callers, bool references) {
  const std::string& file = File(state.range(0), callers, references);
  for (auto _ : state) {
    ViewSource source(file);
    const absl::StatusOr<Profile> profile = ReadPstats(source, {.strict = true}, nullptr);
    if (!profile.ok() || profile->Total() != MadeProfile(state.range(0), callers).Total()) std::abort();
  }
  Finish(state, file.size());
}
void BM_ReadNear(benchmark::State& state) { Read(state, kNear, true); }
void BM_ReadFar(benchmark::State& state) { Read(state, kFar, true); }
void BM_ReadPlainFar(benchmark::State& state) { Read(state, kFar, false); }

void Write(benchmark::State& state, Callers callers) {
  const Profile& profile = MadeProfile(state.range(0), callers);
  uint64_t bytes = 0;
  for (auto _ : state) {
    CountingSink sink;
    if (!WritePstats(profile, {}, sink).ok()) std::abort();
    bytes = sink.bytes_written();
  }
  if (bytes != File(state.range(0), callers, true).size()) std::abort();
  Finish(state, bytes);
}
void BM_WriteNear(benchmark::State& state) { Write(state, kNear); }
void BM_WriteFar(benchmark::State& state) { Write(state, kFar); }

void BM_Copy(benchmark::State& state) {
  const std::string& file = File(state.range(0), kFar, true);
  std::string buffer(256 << 10, '\0');
  for (auto _ : state) {
    ViewSource source(file);
    while (source.Read(buffer.data(), buffer.size()) > 0) benchmark::DoNotOptimize(buffer.data());
  }
  Finish(state, file.size());
}

#define SIZES Arg(10'000)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond)
BENCHMARK(BM_ReadNear)->SIZES;
BENCHMARK(BM_ReadFar)->SIZES;
BENCHMARK(BM_ReadPlainFar)->SIZES;
BENCHMARK(BM_WriteNear)->SIZES;
BENCHMARK(BM_WriteFar)->SIZES;
BENCHMARK(BM_Copy)->SIZES;

}  // namespace
}  // namespace tracekiln::pstats
