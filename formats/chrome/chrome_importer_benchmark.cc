// Reading Kineto JSON: the tiers against a bare simdjson on-demand walk that extracts the same values, in one process.
//
//   bazel run -c opt //formats/chrome:chrome_importer_benchmark -- TRACE.json[.gz]…   (real traces, named on the
//   command line)
//
// Without arguments the input is a small generated list of events like Kineto's.
#include <benchmark/benchmark.h>
#include <simdjson.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "formats/chrome/block_parser.h"
#include "formats/chrome/chrome_importer.h"
#include "formats/intermediate/nanos.h"
#include "formats/intermediate/string_pool.h"
#include "formats/intermediate/trace_source.h"
#include "formats/io/executor.h"
#include "formats/io/input.h"

namespace tracekiln::chrome {
namespace {

struct InputText {
  std::string name;
  std::string text;  // the whole document
  std::string path;  // empty: generated
};

std::string GeneratedTrace(int events) {
  std::string text = "{\n  \"schemaVersion\": 1,\n  \"traceEvents\": [\n";
  for (int i = 0; i < events; ++i) {
    const int64_t ns = int64_t{1712195495519689047} + i * int64_t{5000};
    const std::string ts = absl::StrCat(ns / 1000, ".", 100 + ns % 900);
    absl::StrAppend(
        &text, i > 0 ? ",\n" : "", "  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::op_", i % 97,
        "\", \"pid\": 1102, \"tid\": ", 1102 + i % 2, ",\n    \"ts\": ", ts, ", \"dur\": ", i % 80, ".", 100 + i % 900,
        ",\n    \"args\": {\n      \"External id\": ", i, ",\"Record function id\": ", i, ", \"Input Dims\": [[",
        i % 64, ", 1024], []], \"Ev Idx\": ", i, "\n    }\n  },\n",
        "  {\n    \"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 1102, \"tid\": "
        "1102,\n    \"ts\": ",
        ts, ", \"dur\": 4.600,\n    \"args\": {\n      \"External id\": ", i,
        ",      \"cbid\": 211, \"correlation\": ", i + 1, "\n    }\n  },\n  {\n    \"ph\": \"s\", \"id\": ", i + 1,
        ", \"pid\": 1102, \"tid\": 1102, \"ts\": ", ts, ",\n    \"cat\": \"ac2g\", \"name\": \"ac2g\"\n  }");
  }
  text += "\n  ]\n}\n";
  return text;
}

std::vector<InputText>& Inputs() {
  static std::vector<InputText>* const inputs = new std::vector<InputText>;
  return *inputs;
}

uint64_t Import(const InputText& input, bool general_only, io::Executor& executor) {
  auto opened = input.path.empty() ? io::OpenMemory(input.text, input.name) : io::OpenInput(input.path);
  ImporterTuning tuning;
  tuning.general_tier_only = general_only;
  auto source = OpenChromeJson(std::move(*opened), {}, executor, tuning);
  EventBatch batch;
  uint64_t events = 0;
  for (;;) {
    const auto more = (*source)->Next(&batch);
    if (!more.ok()) {
      std::fprintf(stderr, "%s\n", std::string(more.status().message()).c_str());
      std::abort();
    }
    if (!*more) break;
    for (size_t row = 0; row < batch.rows(); ++row) events += static_cast<uint64_t>(batch.ForeignEvents(row));
  }
  return events;
}

void BM_Import(benchmark::State& state, size_t index, bool general_only) {
  const InputText& input = Inputs()[index];
  io::InlineExecutor executor;
  for (auto _ : state) {
    const uint64_t events = Import(input, general_only, executor);
    if (events == 0) std::abort();
    state.counters["events/s"] =
        benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsIterationInvariantRate);
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * input.text.size()));
}

// Without threads, copies and checks of cuts: the tiers alone.
void BM_BlockParser(benchmark::State& state, size_t index, BlockParser::Tier tier) {
  const InputText& input = Inputs()[index];
  std::string text = input.text;
  text.append(kBlockPadding, '\0');
  const size_t key = text.find("\"traceEvents\"");
  const size_t begin = text.find('[', key == std::string::npos ? 0 : key) + 1;
  BlockParser parser(tier);
  for (auto _ : state) {
    size_t at = begin;
    ListState list_state = ListState::kStart;
    for (;;) {
      const size_t block_end = std::min(at + (size_t{4} << 20), input.text.size());
      size_t cut =
          block_end == input.text.size() ? block_end : at + FindLastEventStart(text.data() + at, block_end - at, 1);
      const BlockResult result = parser.Parse(text.data() + at, cut - at, at, list_state, {});
      benchmark::DoNotOptimize(result.batches.data());
      if (result.end != BlockResult::End::kOpen) {
        if (result.end != BlockResult::End::kListEnd) std::abort();
        break;
      }
      list_state = result.state;
      at = cut;
    }
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * input.text.size()));
}

// The peer: every value of every event visited by simdjson on-demand, times read exactly, every string and nested value
// interned.
uint64_t Walk(simdjson::ondemand::parser& parser, const simdjson::padded_string_view& text, StringPool& pool) {
  simdjson::ondemand::document document;
  if (parser.iterate(text).get(document) != simdjson::SUCCESS) std::abort();
  simdjson::ondemand::array list;
  bool is_array = false;
  {
    simdjson::ondemand::json_type type;
    if (document.type().get(type) != simdjson::SUCCESS) std::abort();
    is_array = type == simdjson::ondemand::json_type::array;
  }
  if (is_array ? document.get_array().get(list) != simdjson::SUCCESS
               : document["traceEvents"].get_array().get(list) != simdjson::SUCCESS) {
    std::abort();
  }
  uint64_t sum = 0;
  const auto intern = [&](std::string_view s) { sum += Index(pool.Intern(absl::string_view(s.data(), s.size()))); };
  const auto take = [&](simdjson::ondemand::value value) {
    simdjson::ondemand::json_type type;
    if (value.type().get(type) != simdjson::SUCCESS) std::abort();
    switch (type) {
      case simdjson::ondemand::json_type::string: {
        std::string_view s;
        if (value.get_string().get(s) != simdjson::SUCCESS) std::abort();
        intern(s);
        break;
      }
      case simdjson::ondemand::json_type::number: {
        simdjson::ondemand::number number;
        if (value.get_number().get(number) == simdjson::SUCCESS) {
          sum += number.is_double() ? static_cast<uint64_t>(number.get_double()) : number.get_uint64();
        }
        break;
      }
      case simdjson::ondemand::json_type::array:
      case simdjson::ondemand::json_type::object: {
        std::string_view raw;
        if (simdjson::to_json_string(value).get(raw) != simdjson::SUCCESS) std::abort();
        intern(raw);
        break;
      }
      default: break;
    }
  };
  for (auto element : list) {
    simdjson::ondemand::object event;
    if (element.get_object().get(event) != simdjson::SUCCESS) std::abort();
    for (auto field : event) {
      std::string_view key;
      if (field.unescaped_key().get(key) != simdjson::SUCCESS) std::abort();
      simdjson::ondemand::value value;
      if (field.value().get(value) != simdjson::SUCCESS) std::abort();
      if (key == "args") {
        simdjson::ondemand::object args;
        if (value.get_object().get(args) == simdjson::SUCCESS) {
          for (auto arg : args) {
            std::string_view arg_key;
            if (arg.unescaped_key().get(arg_key) != simdjson::SUCCESS) std::abort();
            intern(arg_key);
            simdjson::ondemand::value arg_value;
            if (arg.value().get(arg_value) != simdjson::SUCCESS) std::abort();
            take(arg_value);
          }
        }
        continue;
      }
      if (key == "ts" || key == "dur") {
        // Exact, as ours: get_number() would give a double, and slowly (19 digits).
        std::string_view token = value.raw_json_token();
        while (!token.empty() && token.back() <= ' ') token.remove_suffix(1);
        sum += static_cast<uint64_t>(ParseMicros(absl::string_view(token.data(), token.size())).ns);
        continue;
      }
      take(value);
    }
  }
  return sum;
}

void BM_SimdjsonWalk(benchmark::State& state, size_t index) {
  const InputText& input = Inputs()[index];
  simdjson::padded_string text(input.text);
  simdjson::ondemand::parser parser;
  for (auto _ : state) {
    StringPool pool;
    benchmark::DoNotOptimize(Walk(parser, text, pool));
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * input.text.size()));
}

void BM_Memcpy(benchmark::State& state, size_t index) {
  const InputText& input = Inputs()[index];
  std::string to(input.text.size(), '\0');
  for (auto _ : state) {
    std::memcpy(&to[0], input.text.data(), to.size());
    benchmark::DoNotOptimize(to.data());
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * input.text.size()));
}

}  // namespace

void RegisterAll(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    auto opened = io::OpenInput(argv[i]);
    if (!opened.ok()) {
      std::fprintf(stderr, "%s\n", std::string(opened.status().message()).c_str());
      std::exit(1);
    }
    InputText input;
    const std::string path = argv[i];
    input.path = path;
    input.name = path.substr(path.rfind('/') + 1).substr(0, 24);
    auto stream = (*opened)->Stream();
    std::string chunk(1 << 20, '\0');
    while (const size_t got = stream->Read(&chunk[0], chunk.size())) input.text.append(chunk, 0, got);
    Inputs().push_back(std::move(input));
  }
  if (Inputs().empty()) Inputs().push_back({"generated", GeneratedTrace(20000), ""});
  for (size_t i = 0; i < Inputs().size(); ++i) {
    const std::string name = Inputs()[i].name;
    benchmark::RegisterBenchmark((name + "/memcpy").c_str(), BM_Memcpy, i);
    benchmark::RegisterBenchmark((name + "/simdjson_walk").c_str(), BM_SimdjsonWalk, i);
    benchmark::RegisterBenchmark((name + "/general_tier").c_str(), BM_BlockParser, i, BlockParser::Tier::kGeneral);
    benchmark::RegisterBenchmark((name + "/all_tiers").c_str(), BM_BlockParser, i,
                                 BlockParser::Tier::kPredictThenGeneral);
    benchmark::RegisterBenchmark((name + "/import").c_str(), BM_Import, i, false);
  }
}

}  // namespace tracekiln::chrome

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  tracekiln::chrome::RegisterAll(argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
