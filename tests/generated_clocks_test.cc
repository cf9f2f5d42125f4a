// The offsets that collectives tell, against those that the generator gave to the ranks' clocks.
#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analysis/dataset/clocks/clocks.h"
#include "formats/chrome/chrome_importer.h"
#include "formats/intermediate/trace_source.h"
#include "formats/io/byte_sink.h"
#include "formats/io/executor.h"
#include "formats/io/input.h"
#include "gtest/gtest.h"
#include "tools/tracegen/tracegen.h"

namespace tracekiln {
namespace {

dataset::RankCollectives CollectivesOf(const tracegen::RunOptions& run, int rank,
                                       const tracegen::KinetoOptions& kineto) {
  std::string text;
  io::StringSink sink(&text);
  EXPECT_TRUE(tracegen::WriteKineto(run, rank, kineto, &sink).ok());
  io::InlineExecutor executor;
  auto source = chrome::OpenChromeJson(*io::OpenMemory(text, "rank"), {}, executor);
  EXPECT_TRUE(source.ok());
  dataset::CollectiveCollector collector;
  EventBatch batch;
  for (;;) {
    const auto more = (*source)->Next(&batch);
    EXPECT_TRUE(more.ok());
    if (!more.ok() || !*more) break;
    collector.Add(batch);
  }
  return std::move(collector).Finish(rank, (*source)->info());
}

TEST(GeneratedClocksTest, OffsetsAreThoseOfTheRun) {
  tracegen::RunOptions run;
  run.rank_count = 4;
  run.step_count = 3;
  run.layer_count = 4;
  run.max_clock_skew_ns = 2'000'000'000;
  for (const tracegen::Dialect dialect :
       {tracegen::Dialect::k2024, tracegen::Dialect::k2025, tracegen::Dialect::k2026}) {
    tracegen::KinetoOptions kineto;
    kineto.dialect = dialect;
    std::vector<dataset::RankCollectives> ranks;
    for (int rank = 0; rank < run.rank_count; ++rank) ranks.push_back(CollectivesOf(run, rank, kineto));
    const dataset::ClockAlignment alignment = dataset::AlignClocks(ranks);
    ASSERT_TRUE(alignment.is_complete());
    EXPECT_GT(alignment.matched_count, 5u);
    bool is_any_far = false;
    for (int rank = 1; rank < run.rank_count; ++rank) {
      const int64_t truth_ns = tracegen::ClockOffsetNs(run, rank);
      is_any_far |= std::abs(truth_ns) > 1'000'000;
      // Members of a collective end within some microseconds of each other; half of a microsecond-dialect's rounding.
      EXPECT_LT(std::abs(alignment.Find(rank)->offset_ns - truth_ns), 60'000) << "rank " << rank;
    }
    EXPECT_TRUE(is_any_far);
  }
}

}  // namespace
}  // namespace tracekiln
