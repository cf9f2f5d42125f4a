// What writing JSON costs against copying the same bytes. Every case checks what it wrote once.
//   memcpy        the floor: the finished text is copied
//   string        plain ASCII names of 24 to 200 bytes through String()
//   string_utf8   the same with a tenth of non-ASCII characters
//   event         a whole Kineto event of 12 keys, keys and names escaped beforehand
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "formats/json/writer.h"

namespace tracekiln::json {
namespace {

void Check(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "wrong result: %s\n", what);
  std::abort();
}

std::vector<std::string> Names(bool utf8) {
  std::mt19937_64 random(1);
  std::vector<std::string> names;
  for (int i = 0; i < 1000; ++i) {
    std::string name;
    const size_t length = 24 + random() % 177;
    while (name.size() < length) {
      if (utf8 && random() % 10 == 0) {
        name += "é";
      } else {
        name += static_cast<char>('a' + random() % 26);
      }
    }
    names.push_back(name);
  }
  return names;
}

void WriteNames(const std::vector<std::string>& names, std::string* out) {
  out->clear();
  Writer w(out);
  w.BeginArray();
  for (const std::string& name : names) w.String(name);
  w.EndArray();
}

void BM_String(benchmark::State& state, bool utf8) {
  const std::vector<std::string> names = Names(utf8);
  std::string out, want = "[";
  for (const std::string& name : names) want += (want.size() > 1 ? ",\"" : "\"") + name + '"';
  want += ']';
  for (auto _ : state) {
    WriteNames(names, &out);
    benchmark::DoNotOptimize(out.data());
  }
  Check(out == want, "names");
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * out.size()));
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * names.size()));
}

struct EventText {
  Escaped ph{"ph"}, x{"X"}, cat{"cat"}, kernel{"kernel"}, name{"name"}, pid{"pid"}, tid{"tid"}, ts{"ts"}, dur{"dur"},
      args{"args"};
  Escaped external_id{"External id"}, device{"device"}, stream{"stream"}, correlation{"correlation"}, grid{"grid"};
  Escaped gemm{"ampere_sgemm_128x64_tn"};
};

constexpr int kEvents = 1000;

void WriteEvents(const EventText& text, std::string* out) {
  out->clear();
  Writer w(out, {.break_depth = 1, .indent = 0, .blank_after_colon = false});
  w.BeginArray();
  for (int i = 0; i < kEvents; ++i) {
    w.BeginObject();
    w.Key(text.ph);
    w.String(text.x);
    w.Key(text.cat);
    w.String(text.kernel);
    w.Key(text.name);
    w.String(text.gemm);
    w.Key(text.pid);
    w.Int(0);
    w.Key(text.tid);
    w.Int(7);
    w.Key(text.ts);
    w.MicrosFromNanos(5'000'000'123 + i * 7919);
    w.Key(text.dur);
    w.MicrosFromNanos(1000 + i);
    w.Key(text.args);
    w.BeginObject();
    w.Key(text.external_id);
    w.Int(i);
    w.Key(text.device);
    w.Int(0);
    w.Key(text.stream);
    w.Int(7);
    w.Key(text.correlation);
    w.Int(100000 + i);
    w.Key(text.grid);
    w.Raw("[128,1,1]");
    w.EndObject();
    w.EndObject();
  }
  w.EndArray();
}

void BM_Event(benchmark::State& state) {
  const EventText text;
  std::string out;
  for (auto _ : state) {
    WriteEvents(text, &out);
    benchmark::DoNotOptimize(out.data());
  }
  const std::string want =
      "[\n{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ampere_sgemm_128x64_tn\",\"pid\":0,\"tid\":7,\"ts\":5000000.123,"
      "\"dur\":1,"
      "\"args\":{\"External id\":0,\"device\":0,\"stream\":7,\"correlation\":100000,\"grid\":[128,1,1]}},\n";
  Check(out.compare(0, want.size(), want) == 0, "events");
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * out.size()));
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kEvents));
}

void BM_Memcpy(benchmark::State& state) {
  std::string text, out;
  WriteEvents(EventText(), &text);
  out.resize(text.size());
  for (auto _ : state) {
    std::memcpy(out.data(), text.data(), text.size());
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  Check(out == text, "copy");
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * out.size()));
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kEvents));
}

BENCHMARK(BM_Memcpy)->Name("memcpy");
BENCHMARK_CAPTURE(BM_String, ascii, false)->Name("string");
BENCHMARK_CAPTURE(BM_String, utf8, true)->Name("string_utf8");
BENCHMARK(BM_Event)->Name("event");

}  // namespace
}  // namespace tracekiln::json
