#include "tools/tracegen/tracegen.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "formats/io/byte_sink.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tracekiln::tracegen {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Keeps everything, names copied.
struct Kept {
  Event event;
  std::string name;
  int64_t end_ns() const { return event.ts_ns + event.dur_ns; }
};
class Keeper final : public EventVisitor {
 public:
  void OnEvents(const std::vector<Event>& events) override {
    for (const Event& event : events) kept_.push_back({event, std::string(event.name)});
  }
  const std::vector<Kept>& kept() const { return kept_; }

 private:
  std::vector<Kept> kept_;
};

struct Rank {
  Rank(const RunOptions& run, int rank) : model(run, rank) { end_ns = model.Run(&keeper); }
  const std::vector<Kept>& events() const { return keeper.kept(); }

  RankModel model;
  Keeper keeper;
  int64_t end_ns = 0;
};

RunOptions SmallRun(int rank_count) {
  RunOptions run;
  run.rank_count = rank_count;
  run.layer_count = 6;
  run.slow_rank = rank_count / 2;
  run.max_clock_skew_ns = 3'000'000;
  run.seed = 7;
  return run;
}

std::string Json(const RunOptions& run, int rank, const KinetoOptions& options = {}) {
  std::string json;
  io::StringSink sink(&json);
  const absl::StatusOr<Totals> totals = WriteKineto(run, rank, options, &sink);
  EXPECT_TRUE(totals.ok()) << totals.status();
  return json;
}

bool IsDeviceWork(Category category) {
  return category == Category::kKernel || category == Category::kGpuMemcpy || category == Category::kGpuMemset;
}
bool IsCall(Category category) { return category == Category::kCudaRuntime || category == Category::kCudaDriver; }

TEST(RankModel, NestsTheSlicesOfHostThreads) {
  const Rank rank(SmallRun(4), 1);
  std::map<int64_t, std::vector<std::pair<int64_t, int64_t>>> rows;  // start, minus end
  for (const Kept& kept : rank.events()) {
    if (kept.event.phase != Phase::kComplete || kept.event.pid != rank.model.info().pid) continue;
    ASSERT_GE(kept.event.dur_ns, 0);
    rows[kept.event.tid].push_back({kept.event.ts_ns, -kept.end_ns()});
  }
  ASSERT_EQ(rows.size(), 2u);
  for (auto& [tid, row] : rows) {
    std::sort(row.begin(), row.end());
    std::vector<int64_t> open;
    for (const auto& [start, minus_end] : row) {
      while (!open.empty() && open.back() <= start) open.pop_back();
      if (!open.empty()) {
        ASSERT_LE(-minus_end, open.back()) << tid << " at " << start;
      }
      open.push_back(-minus_end);
    }
  }
}

TEST(RankModel, DoesOneThingAtATimeOnAStream) {
  const Rank rank(SmallRun(4), 2);
  std::map<int64_t, std::vector<std::pair<int64_t, int64_t>>> streams;
  for (const Kept& kept : rank.events()) {
    if (!IsDeviceWork(kept.event.category)) continue;
    ASSERT_GT(kept.event.dur_ns, 0);
    ASSERT_EQ(kept.event.pid, rank.model.info().device);
    streams[kept.event.tid].push_back({kept.event.ts_ns, kept.end_ns()});
  }
  EXPECT_EQ(streams.size(), 6u);
  for (auto& [stream, row] : streams) {
    std::sort(row.begin(), row.end());
    for (size_t i = 1; i < row.size(); ++i) ASSERT_GE(row[i].first, row[i - 1].second) << "stream " << stream;
  }
}

TEST(RankModel, NestsDeviceWorkInItsAnnotations) {
  const Rank rank(SmallRun(2), 0);
  std::map<int64_t, std::vector<const Kept*>> annotations;
  for (const Kept& kept : rank.events()) {
    if (kept.event.category == Category::kGpuUserAnnotation) annotations[kept.event.tid].push_back(&kept);
  }
  for (const Kept& kept : rank.events()) {
    if (kept.event.category != Category::kKernel) continue;
    int enclosing_count = 0;
    for (const Kept* annotation : annotations[kept.event.tid]) {
      if (annotation->end_ns() <= kept.event.ts_ns || annotation->event.ts_ns >= kept.end_ns()) continue;
      EXPECT_LT(annotation->event.ts_ns, kept.event.ts_ns) << kept.name;
      EXPECT_GT(annotation->end_ns(), kept.end_ns()) << kept.name;
      ++enclosing_count;
    }
    EXPECT_GE(enclosing_count, 1) << kept.name;
  }
}

TEST(RankModel, StartsWorkAfterTheOneCallThatLaunchedIt) {
  const Rank rank(SmallRun(4), 3);
  std::map<int64_t, const Kept*> calls;
  for (const Kept& kept : rank.events()) {
    if (!IsCall(kept.event.category)) continue;
    EXPECT_TRUE(calls.emplace(kept.event.correlation, &kept).second);
  }
  std::map<int64_t, int> work_counts;
  int graph_kernel_count = 0;
  for (const Kept& kept : rank.events()) {
    if (!IsDeviceWork(kept.event.category)) continue;
    const auto call = calls.find(kept.event.correlation);
    ASSERT_NE(call, calls.end());
    EXPECT_GE(kept.event.ts_ns, call->second->end_ns());
    EXPECT_EQ(kept.event.external_id, call->second->event.external_id);
    ++work_counts[kept.event.correlation];
    if (call->second->name == "cudaGraphLaunch") ++graph_kernel_count;
  }
  for (const auto& [correlation, count] : work_counts) {
    EXPECT_EQ(count, calls[correlation]->name == "cudaGraphLaunch" ? 3 : 1);
  }
  EXPECT_EQ(graph_kernel_count, 3 * 3);
}

TEST(RankModel, EndsTheFlowsThatItStartsAndNoOthers) {
  const Rank rank(SmallRun(2), 1);
  std::map<std::pair<Category, int64_t>, std::pair<int, int>> flows;  // starts, ends
  int dangling_count = 0;
  for (const Kept& kept : rank.events()) {
    const std::pair<Category, int64_t> key(kept.event.category, kept.event.correlation);
    if (kept.event.is_dangling) {
      ++dangling_count;
    } else if (kept.event.phase == Phase::kFlowStart) {
      ++flows[key].first;
    } else if (kept.event.phase == Phase::kFlowEnd) {
      ++flows[key].second;
    }
  }
  EXPECT_GT(dangling_count, 0);
  for (const auto& [key, counts] : flows) {
    EXPECT_EQ(counts.first, 1) << key.second;
    EXPECT_GE(counts.second, 1) << key.second;
  }
}

TEST(RankModel, PointsFromEachAutogradNodeToItsForwardOperator) {
  const Rank rank(SmallRun(1), 0);
  std::map<int64_t, std::pair<int, int>> uses;  // of a sequence number: forward, backward
  for (const Kept& kept : rank.events()) {
    if (kept.event.sequence_number < 0) continue;
    auto& [forward, backward] = uses[kept.event.sequence_number];
    ++(kept.event.tid == rank.model.info().pid ? forward : backward);
  }
  ASSERT_FALSE(uses.empty());
  for (const auto& [sequence, counts] : uses) EXPECT_EQ(counts, std::make_pair(1, 2)) << sequence;
}

TEST(RankModel, FreesWhatItAllocates) {
  const Rank rank(SmallRun(1), 0);
  std::map<int64_t, int64_t> held;
  for (const Kept& kept : rank.events()) {
    if (kept.event.category != Category::kMemory) continue;
    if (kept.event.bytes > 0) {
      EXPECT_TRUE(held.emplace(kept.event.address, kept.event.bytes).second);
    } else {
      const auto it = held.find(kept.event.address);
      ASSERT_NE(it, held.end());
      EXPECT_EQ(it->second, -kept.event.bytes);
      held.erase(it);
    }
  }
  EXPECT_TRUE(held.empty());
}

TEST(RankModel, GivesFramesParentsThatEncloseThem) {
  const Rank rank(SmallRun(1), 0);
  std::map<int64_t, const Kept*> frames;
  for (const Kept& kept : rank.events()) {
    if (kept.event.category == Category::kPythonFunction) frames[kept.event.python_id] = &kept;
  }
  ASSERT_GT(frames.size(), 100u);
  int root_count = 0;
  for (const auto& [id, frame] : frames) {
    if (frame->event.python_parent_id < 0) {
      ++root_count;
      continue;
    }
    const auto parent = frames.find(frame->event.python_parent_id);
    ASSERT_NE(parent, frames.end());
    EXPECT_LE(parent->second->event.ts_ns, frame->event.ts_ns);
    EXPECT_GE(parent->second->end_ns(), frame->end_ns());
  }
  EXPECT_EQ(root_count, 1);
}

TEST(RankModel, LeavesOutStacksIfAsked) {
  RunOptions run = SmallRun(1);
  run.has_python_stacks = false;
  const Rank rank(run, 0);
  for (const Kept& kept : rank.events()) EXPECT_NE(kept.event.category, Category::kPythonFunction);
  EXPECT_THAT(Json(run, 0), Not(HasSubstr("python_function")));
}

// Kernel, group, and how many such came before -> end by true time, by rank.
using Meetings =
    std::map<std::tuple<std::string, std::string, std::string, int>, std::map<int, std::pair<int64_t, int64_t>>>;

Meetings Meet(const RunOptions& run) {
  Meetings meetings;
  for (int r = 0; r < run.rank_count; ++r) {
    const Rank rank(run, r);
    std::map<std::string, int> counts;
    for (const Kept& kept : rank.events()) {
      if (kept.event.category != Category::kKernel || kept.event.collective == nullptr) continue;
      const int64_t offset = ClockOffsetNs(run, r);
      const Collective& collective = *kept.event.collective;
      meetings[{kept.name, collective.group_name, collective.group_ranks, counts[kept.name]++}][r] = {
          kept.event.ts_ns - offset, kept.end_ns() - offset};
    }
  }
  return meetings;
}

TEST(Run, EndsCollectivesTogetherAndStartsThemInTime) {
  // 11 ranks: two shards, the second of three; rank 10 has no partner.
  const RunOptions run = SmallRun(11);
  std::set<std::string> kinds;
  for (const auto& [key, ranks] : Meet(run)) {
    const auto& [name, group_name, group_ranks, index] = key;
    kinds.insert(name.substr(0, name.find('(')));
    const size_t group_size = 1 + std::count(group_ranks.begin(), group_ranks.end(), ',');
    EXPECT_EQ(ranks.size(), group_size) << name << " " << group_ranks;
    int64_t last_start = 0;
    for (const auto& [rank, span] : ranks) {
      EXPECT_EQ(span.second, ranks.begin()->second.second) << name << " " << group_ranks << " " << index;
      last_start = std::max(last_start, span.first);
    }
    EXPECT_LT(last_start, ranks.begin()->second.second) << "nobody may be late for the end";
  }
  EXPECT_EQ(kinds.size(), 4u);
}

TEST(Run, ShortensLongListsOfRanks) {
  RunOptions run;
  run.layer_count = run.step_count = 1;
  const auto ranks_of_all_reduce = [&run](int rank_count) {
    run.rank_count = rank_count;
    const Rank rank(run, 0);
    for (const Kept& kept : rank.events()) {
      if (kept.event.collective != nullptr && kept.event.collective->name == "allreduce") {
        return kept.event.collective->group_ranks;
      }
    }
    return std::string();
  };
  EXPECT_EQ(ranks_of_all_reduce(1), "[0]");
  EXPECT_THAT(ranks_of_all_reduce(30), ::testing::EndsWith(", 27, 28, 29]"));
  EXPECT_THAT(ranks_of_all_reduce(31), ::testing::EndsWith(", 27, 28, ..., 30]"));
}

TEST(Run, MakesTheOthersWaitForTheSlowRank) {
  RunOptions run = SmallRun(8);
  run.slow_rank = 5;
  std::map<int, int64_t> waits;
  for (const auto& [key, ranks] : Meet(run)) {
    if (std::get<0>(key).rfind("ncclDevKernel_ReduceScatter", 0) != 0) continue;
    for (const auto& [rank, span] : ranks) waits[rank] += span.second - span.first;
  }
  ASSERT_EQ(waits.size(), 8u);
  for (const auto& [rank, wait] : waits) {
    if (rank == 5) continue;
    EXPECT_GT(wait, waits[5] * 3 / 2) << rank;
  }
}

TEST(Run, ShiftsClocksByAConstant) {
  RunOptions run = SmallRun(3);
  const Rank skewed(run, 2);
  const int64_t offset = ClockOffsetNs(run, 2);
  EXPECT_NE(offset, 0);
  EXPECT_LE(std::abs(offset), run.max_clock_skew_ns);
  EXPECT_EQ(ClockOffsetNs(run, 0), 0);
  run.max_clock_skew_ns = 0;
  const Rank straight(run, 2);
  ASSERT_EQ(skewed.events().size(), straight.events().size());
  for (size_t i = 0; i < skewed.events().size(); ++i) {
    ASSERT_EQ(skewed.events()[i].event.ts_ns - straight.events()[i].event.ts_ns, offset);
    ASSERT_EQ(skewed.events()[i].event.dur_ns, straight.events()[i].event.dur_ns);
  }
}

TEST(Run, DependsOnOptionsOnly) {
  const RunOptions run = SmallRun(3);
  const std::string json = Json(run, 1);
  EXPECT_TRUE(json == Json(run, 1)) << "the same options gave other bytes";
  RunOptions other = run;
  other.seed = 8;
  EXPECT_FALSE(json == Json(other, 1));
  EXPECT_FALSE(json == Json(run, 2));
  // A longer run begins with the same steps.
  other = run;
  other.step_count = run.step_count + 1;
  const size_t part = json.size() / 2;
  EXPECT_TRUE(json.substr(0, part) == Json(other, 1).substr(0, part));
}

TEST(Run, RefusesOptionsOutOfRange) {
  struct Case {
    const char* want;
    RunOptions run;
  };
  RunOptions ranks, steps, layers, slow, percent, skew;
  ranks.rank_count = 0;
  steps.step_count = 0;
  layers.layer_count = kMaxLayerCount + 1;
  slow.slow_rank = 1;
  percent.slow_percent = -1;
  skew.max_clock_skew_ns = -1;
  for (const Case& c : {Case{"rank_count", ranks},
                        {"step_count", steps},
                        {"layer_count", layers},
                        {"slow_rank", slow},
                        {"slow_percent", percent},
                        {"max_clock_skew_ns", skew}}) {
    std::string json;
    io::StringSink sink(&json);
    const absl::Status status = WriteKineto(c.run, 0, {}, &sink).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.want;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.want));
    EXPECT_EQ(json, "");
  }
  std::string json;
  io::StringSink sink(&json);
  EXPECT_EQ(WriteKineto(RunOptions(), 1, {}, &sink).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(FitToSize, ComesWithinTenPercent) {
  for (const Dialect dialect : {Dialect::k2021, Dialect::k2025, Dialect::k2026}) {
    for (const int64_t want : {1'000'000, 1'700'000, 3'000'000, 10'000'000, 60'000'000}) {
      RunOptions run;
      FitToSize(want, {dialect}, &run);
      const double ratio = static_cast<double>(Json(run, 0, {dialect}).size()) / static_cast<double>(want);
      EXPECT_GT(ratio, 0.9) << want;
      EXPECT_LT(ratio, 1.1) << want;
    }
  }
}

TEST(ParseSize, ReadsUnits) {
  struct Case {
    const char* text;
    int64_t want;  // 0: InvalidArgument
  };
  for (const Case& c : {Case{"50MB", 50'000'000},
                        {"1gb", 1'000'000'000},
                        {"7kB", 7000},
                        {"12", 12},
                        {"12B", 12},
                        {"", 0},
                        {"MB", 0},
                        {"-1MB", 0},
                        {"0", 0},
                        {"1.5GB", 0},
                        {"1 MB", 0},
                        {"1TB", 0},
                        {"99999999999GB", 0},
                        {"99999999999999999999", 0}}) {
    const absl::StatusOr<int64_t> size = ParseSize(c.text);
    EXPECT_EQ(size.ok(), c.want != 0) << c.text;
    EXPECT_EQ(size.value_or(0), c.want) << c.text;
  }
}

TEST(Damage, ChangesWhatItSays) {
  RunOptions run;
  run.layer_count = 1;
  for (const char* version : {"2021", "2023", "2024", "2025", "2026"}) {
    const Dialect dialect = *ParseDialect(version);
    const std::string whole = Json(run, 0, {dialect});
    const auto damaged = [&](const char* kind) { return Json(run, 0, {dialect, *ParseDamage(kind)}); };
    const auto differences = [&](const std::string& other) {
      EXPECT_EQ(other.size(), whole.size());
      std::string bytes;
      for (size_t i = 0; i < std::min(whole.size(), other.size()); ++i) {
        if (whole[i] != other[i]) bytes += other[i];
      }
      return bytes;
    };
    EXPECT_EQ(damaged("none"), whole);
    EXPECT_EQ(differences(damaged("utf8")), "\xff");
    EXPECT_EQ(differences(damaged("control")), "\x01");
    EXPECT_EQ(differences(damaged("quote")), "\"");
    EXPECT_THAT(differences(damaged("nan")), ::testing::MatchesRegex("nan *"));
    const std::string truncated = damaged("truncate");
    EXPECT_LT(truncated.size(), whole.size());
    EXPECT_GT(truncated.size(), whole.size() / 2);
    EXPECT_EQ(truncated, whole.substr(0, truncated.size()));
    EXPECT_EQ(damaged("trailing-comma").size(), whole.size() + 1);
    const std::string unclosed = damaged("unclosed");
    EXPECT_LT(unclosed.size(), whole.size());
    EXPECT_EQ(unclosed, whole.substr(0, unclosed.size()));
    EXPECT_EQ(unclosed.back(), '}');
  }
}

TEST(Options, AreSpelledInOneWay) {
  EXPECT_EQ(ParseDialect("2022").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ParseDamage("UTF8").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tracekiln::tracegen
