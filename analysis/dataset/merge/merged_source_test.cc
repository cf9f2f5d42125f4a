#include "analysis/dataset/merge/merged_source.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "formats/intermediate/field_catalog.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tracekiln::dataset {
namespace {

using ::testing::HasSubstr;

class MemorySource final : public TraceSource {
 public:
  MemorySource(EventBatch batch, TraceInfo info) : batch_(std::move(batch)), info_(std::move(info)) {}
  absl::StatusOr<bool> Next(EventBatch* batch) override {
    if (is_done_) return false;
    is_done_ = true;
    *batch = batch_;
    return true;
  }
  absl::Status Rewind() override {
    is_done_ = false;
    return absl::OkStatus();
  }
  bool can_rewind() const override { return true; }
  const TraceInfo& info() const override { return info_; }

 private:
  const EventBatch batch_;
  const TraceInfo info_;
  bool is_done_ = false;
};

// A launch and its kernel with correlation 7, a flow with id 5, a process name.
EventBatch OneRank() {
  EventBatch batch;
  const auto add = [&](EventKind kind, const char* category, const char* name, int64_t pid, int64_t ts_ns,
                       const char* key, ArgPlace place, int64_t value, int64_t correlation) {
    EventRow row;
    row.kind = kind;
    row.ts_ns = ts_ns;
    row.dur_ns = kind == EventKind::kSlice ? 5 : 0;
    row.correlation = correlation;
    row.track = batch.InternTrack({TrackPart::Int(pid), TrackPart::Int(1)});
    row.name = batch.strings.Intern(name);
    EXPECT_TRUE(batch.InternCategory(batch.strings.Intern(category), &row.category));
    const ArgField field{batch.strings.Intern(key), ArgType::kInt, place};
    ShapeId shape;
    ASSERT_TRUE(batch.args.InternShape({&field, 1}, place == ArgPlace::kArgs, &shape));
    const ArgValue v = ArgValue::Int(value);
    batch.Append(row, shape, &v);
  };
  add(EventKind::kSlice, "cuda_runtime", "launch", 100, 10, "correlation", ArgPlace::kArgs, 7, 7);
  add(EventKind::kSlice, "kernel", "k", 0, 20, "correlation", ArgPlace::kArgs, 7, 7);
  add(EventKind::kFlowStart, "fwdbwd", "fwdbwd", 100, 10, "id", ArgPlace::kEvent, 5, 0);
  EventRow row;
  row.kind = EventKind::kMetadata;
  row.flags = kNoTimestamp;
  row.track = batch.InternTrack({TrackPart::Int(100), TrackPart::Int(0)});
  row.name = batch.strings.Intern("process_name");
  const ArgField field{batch.strings.Intern(fields::kNameArg), ArgType::kString, ArgPlace::kArgs};
  ShapeId shape;
  EXPECT_TRUE(batch.args.InternShape({&field, 1}, true, &shape));
  const ArgValue v = ArgValue::String(batch.strings.Intern("python3"));
  batch.Append(row, shape, &v);
  return batch;
}

MergeInput Input(int64_t rank, int64_t base_ns, std::optional<RankClock> clock = std::nullopt) {
  MergeInput input;
  input.rank = rank;
  input.name = "rank" + std::to_string(rank) + ".json";
  input.clock = clock;
  input.open = [=]() -> absl::StatusOr<std::unique_ptr<TraceSource>> {
    TraceInfo info;
    info.base_ns = base_ns;
    info.has_base = true;
    info.rank = rank;
    info.metadata = {{"schemaVersion", "1", false}, {"distributedInfo", std::to_string(rank), false}};
    info.report.seen = info.report.imported = 4;
    return std::make_unique<MemorySource>(OneRank(), info);
  };
  return input;
}

struct Row {
  std::string name;
  int64_t pid, ts_ns, correlation, id;
};

std::vector<Row> ReadAll(MergedSource* source, std::map<int64_t, std::string>* names) {
  std::vector<Row> rows;
  EventBatch batch;
  for (;;) {
    const absl::StatusOr<bool> more = source->Next(&batch);
    EXPECT_TRUE(more.ok()) << more.status();
    if (!more.ok() || !*more) return rows;
    for (size_t i = 0; i < batch.rows(); ++i) {
      const int64_t pid = batch.tracks()[Index(batch.track[i])].pid.value;
      if (batch.kind[i] == EventKind::kMetadata) {
        if (batch.NameOf(i) == "process_name") (*names)[pid] = std::string(*batch.StringArg(i, fields::kNameArg));
        continue;
      }
      const auto correlation = batch.IntArg(i, fields::kCorrelation);
      EXPECT_EQ(correlation.value_or(batch.correlation[i]), batch.correlation[i]);
      rows.push_back({std::string(batch.NameOf(i)), pid, batch.ts_ns[i], batch.correlation[i],
                      batch.IntArg(i, "id", ArgPlace::kEvent).value_or(0)});
    }
  }
}

TEST(MergedSourceTest, NothingOfOneRankCanBeTakenForAnothers) {
  io::InlineExecutor executor;
  RankClock clock;
  clock.rank = 1;
  clock.is_aligned = true;
  clock.offset_ns = 500;
  std::vector<MergeInput> inputs;
  inputs.push_back(Input(0, 1'000'000));
  inputs.push_back(Input(1, 2'000'000, clock));
  MergedSource source(std::move(inputs), executor);
  std::map<int64_t, std::string> names;
  const std::vector<Row> rows = ReadAll(&source, &names);
  ASSERT_EQ(rows.size(), 6u);
  // Within a rank launch and kernel stay linked, across ranks nothing is.
  EXPECT_EQ(rows[0].correlation, rows[1].correlation);
  EXPECT_EQ(rows[3].correlation, rows[4].correlation);
  EXPECT_NE(rows[0].correlation, rows[3].correlation);
  EXPECT_NE(rows[2].id, rows[5].id);
  std::set<int64_t> pids;
  for (const Row& row : rows) pids.insert(row.pid);
  EXPECT_EQ(pids.size(), 4u);
  EXPECT_EQ(names[rows[0].pid], "rank 0: python3 100");
  EXPECT_EQ(names[rows[1].pid], "rank 0: 0");
  EXPECT_EQ(names[rows[3].pid], "rank 1: python3 100");
  // Rank 1 lies a millisecond behind, less its clock's offset.
  EXPECT_EQ(rows[0].ts_ns, 10);
  EXPECT_EQ(rows[3].ts_ns, 1'000'000 + 10 - 500);
}

TEST(MergedSourceTest, InfoSaysWhatWasMergedAndHow) {
  io::InlineExecutor executor;
  std::vector<MergeInput> inputs;
  inputs.push_back(Input(4, 1'000'000));
  inputs.push_back(Input(9, 2'000'000));
  MergedSource source(std::move(inputs), executor);
  std::map<int64_t, std::string> names;
  ReadAll(&source, &names);
  const TraceInfo& info = source.info();
  EXPECT_EQ(info.base_ns, 1'000'000);
  EXPECT_EQ(info.rank, std::nullopt);
  ASSERT_EQ(info.metadata.size(), 2u);
  EXPECT_EQ(info.metadata[0].key, "schemaVersion");
  EXPECT_EQ(info.metadata[1].key, "tracekilnMerge");
  EXPECT_THAT(info.metadata[1].json, HasSubstr("{\"rank\":9,\"file\":\"rank9.json\",\"base_ns\":2000000,"
                                               "\"clock_offset_ns\":null}"));
  EXPECT_TRUE(info.report.IsBalanced());
  EXPECT_EQ(info.report.imported, 16u);
}

TEST(MergedSourceTest, ErrorsEndTheTrace) {
  io::InlineExecutor executor;
  std::vector<MergeInput> inputs;
  inputs.push_back(Input(0, 0));
  inputs.push_back(Input(1, 0));
  inputs[1].open = []() -> absl::StatusOr<std::unique_ptr<TraceSource>> {
    return absl::DataLossError("rank1.json:5: truncated");
  };
  MergedSource source(std::move(inputs), executor);
  EventBatch batch;
  absl::StatusOr<bool> more = true;
  while (more.ok() && *more) more = source.Next(&batch);
  EXPECT_TRUE(absl::IsDataLoss(more.status()));
  EXPECT_TRUE(absl::IsDataLoss(source.Next(&batch).status()));
}

TEST(MergedSourceTest, RankOutOfRangeIsAnError) {
  io::InlineExecutor executor;
  std::vector<MergeInput> inputs;
  inputs.push_back(Input(-1, 0));
  MergedSource source(std::move(inputs), executor);
  EventBatch batch;
  EXPECT_TRUE(absl::IsResourceExhausted(source.Next(&batch).status()));
}

}  // namespace
}  // namespace tracekiln::dataset
