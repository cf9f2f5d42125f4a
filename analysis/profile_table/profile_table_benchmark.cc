// Sorting and printing rows with two callers each; the argument is the number of rows.
//
//   bazel run -c opt //analysis/profile_table:profile_table_benchmark
//
// BM_Sort            Select with the sort keys named
// BM_Filter          Select with a regular expression that a tenth of the rows matches
// BM_Table           WriteTable of all rows
// BM_Callers         WriteCallers of all rows
// BM_TopRows         what `tracekiln stats --sort tottime --limit 20` does with a profile: Select, WriteHeader,
//                    WriteTable
// BM_ReadAndTopRows  the same from the bytes of a .prof file, which is read anew each time; the callers of a function
//                    are anywhere in it
// BM_FloorCopyText   the floor of BM_Table: copying the text
#include <benchmark/benchmark.h>

#include <memory>
#include <random>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "analysis/profile_table/profile_table.h"
#include "analysis/profile_table/pstats_text.h"
#include "formats/io/byte_sink.h"
#include "formats/io/byte_source.h"
#include "formats/io/input.h"
#include "formats/pstats/pstats_reader.h"
#include "formats/pstats/pstats_writer.h"

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

std::string TopRows(const Profile& profile) {
  static const auto* const order = new SortOrder(*ParseSortOrder("tottime"));
  static const auto* const limit = new Restriction(*ParseLimit("20"));
  std::string text;
  io::StringSink sink(&text);
  WriteHeader(profile, {"run.prof"}, &sink);
  WriteTable(profile, Select(profile, *order, false, {*limit}), &sink);
  return text;
}

bool HasTopRows(absl::string_view text, int64_t rows) {
  return absl::StrContains(text, absl::StrCat("List reduced from ", rows, " to 20 "));
}

void BM_TopRows(benchmark::State& state) {
  const Profile profile = MakeProfile(state.range(0));
  for (auto _ : state) {
    if (!HasTopRows(TopRows(profile), state.range(0))) state.SkipWithError("rows are missing");
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_TopRows)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

void BM_ReadAndTopRows(benchmark::State& state) {
  std::string file;
  {
    io::StringSink sink(&file);
    if (!pstats::WritePstats(MakeProfile(state.range(0)), {}, sink).ok()) state.SkipWithError("not written");
  }
  for (auto _ : state) {
    // The copy that the input owns is no part of it.
    state.PauseTiming();
    const absl::StatusOr<std::unique_ptr<io::Input>> input = io::OpenMemory(file, "run.prof");
    const std::unique_ptr<io::ByteSource> source = input.ok() ? (*input)->Stream() : nullptr;
    state.ResumeTiming();
    if (source == nullptr) {
      state.SkipWithError("not opened");
      break;
    }
    const absl::StatusOr<Profile> profile = pstats::ReadPstats(*source, {}, nullptr);
    if (!profile.ok() || !HasTopRows(TopRows(*profile), state.range(0))) state.SkipWithError("rows are missing");
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(file.size()));
}
BENCHMARK(BM_ReadAndTopRows)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

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
