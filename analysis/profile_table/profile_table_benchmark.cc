// Sorting and printing 100 k rows with two callers each; the argument is the number of rows. The floor is copying the
// text that is printed.
#include <benchmark/benchmark.h>

#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "analysis/profile_table/profile_table.h"
#include "analysis/profile_table/pstats_text.h"

namespace tracekiln::profile_table {
namespace {

Profile MakeProfile(int64_t rows) {
  std::mt19937 random(1);
  Profile profile;
  profile.Reserve(static_cast<size_t>(rows), static_cast<size_t>(rows) * 2);
  for (int64_t i = 0; i < rows; ++i) {
    const FunctionId f = profile.AddFunction(
        absl::StrCat("/usr/lib/python3.11/site-packages/package", random() % 200, "/module", random() % 50, ".py"),
        static_cast<int64_t>(random() % 3000), absl::StrCat("function_", i));
    const auto ns = static_cast<int64_t>(random());
    profile.AddStats(f, {static_cast<int64_t>(random() % 1000), 1, ns, 2 * ns});
    for (int c = 0; c < 2; ++c) {
      profile.AddCallerStats(FunctionId{static_cast<uint32_t>(random() % profile.functions().size())}, f,
                             {1, 1, ns / 2, ns});
    }
  }
  return profile;
}

void BM_Sort(benchmark::State& state, const char* keys) {
  const Profile profile = MakeProfile(state.range(0));
  const SortOrder order = *ParseSortOrder(keys);
  for (auto _ : state) {
    const Selection selection = Select(profile, order, false, {});
    if (selection.rows.size() != profile.row_count()) state.SkipWithError("rows are missing");
    benchmark::DoNotOptimize(selection.rows.data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK_CAPTURE(BM_Sort, tottime, "tottime")->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Sort, nfl, "nfl")->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Sort, stdname, "stdname")->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

void BM_Filter(benchmark::State& state) {
  const Profile profile = MakeProfile(state.range(0));
  const Restriction filter = *ParseFilter("function_.*9$|9\\)$");
  for (auto _ : state) {
    const Selection selection = Select(profile, {}, false, {filter});
    if (selection.rows.size() != profile.row_count() / 10) state.SkipWithError("wrong rows");
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_Filter)->Arg(100'000)->Unit(benchmark::kMillisecond);

template <typename Write>
void RunWriter(benchmark::State& state, Write write) {
  const Profile profile = MakeProfile(state.range(0));
  const CallGraph graph(profile);
  const Selection selection = Select(profile, {}, false, {});
  std::string text;
  for (auto _ : state) {
    text.clear();
    io::StringSink sink(&text);
    write(profile, graph, selection, &sink);
  }
  if (text.size() < 60 * profile.row_count()) state.SkipWithError("text is missing");
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(text.size()));
}

void BM_Table(benchmark::State& state) {
  RunWriter(state,
            [](const Profile& p, const CallGraph&, const Selection& s, io::ByteSink* sink) { WriteTable(p, s, sink); });
}
BENCHMARK(BM_Table)->Arg(100'000)->Unit(benchmark::kMillisecond);

void BM_Callers(benchmark::State& state) {
  RunWriter(state, [](const Profile& p, const CallGraph& g, const Selection& s, io::ByteSink* sink) {
    WriteCallers(p, g, s, sink);
  });
}
BENCHMARK(BM_Callers)->Arg(100'000)->Unit(benchmark::kMillisecond);

void BM_FloorCopyText(benchmark::State& state) {
  const Profile profile = MakeProfile(state.range(0));
  std::string text, copy;
  io::StringSink sink(&text);
  WriteTable(profile, Select(profile, {}, false, {}), &sink);
  for (auto _ : state) {
    copy.clear();
    copy.append(text);
    benchmark::DoNotOptimize(copy.data());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(text.size()));
}
BENCHMARK(BM_FloorCopyText)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tracekiln::profile_table
