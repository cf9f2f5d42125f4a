#include "tools/trace_summary.h"

#include <string>
#include <utility>

#include "gtest/gtest.h"

namespace tracekiln::tools {
namespace {

void AddSlice(EventBatch* batch, const Track& track, const char* category, int64_t ts_ns, int64_t dur_ns) {
  EventRow row;
  row.track = batch->InternTrack(track);
  row.name = batch->strings.Intern("op");
  if (category != nullptr) {
    ASSERT_TRUE(batch->InternCategory(batch->strings.Intern(category), &row.category));
  }
  row.ts_ns = ts_ns;
  row.dur_ns = dur_ns;
  batch->Append(row, ArgTable::kNoArgs, nullptr);
}

void AddName(EventBatch* batch, const Track& track, const char* which, const char* text) {
  EventRow row;
  row.kind = EventKind::kMetadata;
  row.track = batch->InternTrack(track);
  row.name = batch->strings.Intern(which);
  const ArgField field{batch->strings.Intern("name"), ArgType::kString, ArgPlace::kArgs};
  ShapeId shape;
  ASSERT_TRUE(batch->args.InternShape({&field, 1}, true, &shape));
  const ArgValue value = ArgValue::String(batch->strings.Intern(text));
  batch->Append(row, shape, &value);
}

Track Ints(int64_t pid, int64_t tid) { return {TrackPart::Int(pid), TrackPart::Int(tid)}; }

TEST(TraceSummary, EmptyTraceHasNoSpan) {
  const TraceSummary summary = TraceSummarizer().Finish();
  EXPECT_EQ(summary.row_count, 0u);
  EXPECT_FALSE(summary.first_ns.has_value());
  EXPECT_TRUE(summary.tracks.empty());
}

TEST(TraceSummary, MetadataIsInNoSpanAndMakesNoTrack) {
  EventBatch batch;
  AddName(&batch, Ints(10, 0), "process_name", "python");
  TraceSummarizer summarizer;
  summarizer.Add(batch);
  const TraceSummary summary = std::move(summarizer).Finish();
  EXPECT_EQ(summary.row_count, 1u);
  EXPECT_FALSE(summary.last_ns.has_value());
  EXPECT_TRUE(summary.tracks.empty());
}

TEST(TraceSummary, SumsPerCategoryOverBatches) {
  TraceSummarizer summarizer;
  EventBatch first;
  AddSlice(&first, Ints(1, 1), "cpu_op", 100, 10);
  AddSlice(&first, Ints(1, 1), nullptr, 90, 5);
  summarizer.Add(first);
  EventBatch second;
  AddSlice(&second, Ints(1, 2), "kernel", 100, 500);
  AddSlice(&second, Ints(1, 1), "cpu_op", 700, kUnfinished);
  AddSlice(&second, Ints(1, 1), "cpu_op", 200, 7);
  AddSlice(&second, Ints(1, 1), "", 1, 1);  // an empty category is not no category
  summarizer.Add(second);
  const TraceSummary summary = std::move(summarizer).Finish();
  EXPECT_EQ(summary.row_count, 6u);
  EXPECT_EQ(summary.first_ns, 1);
  EXPECT_EQ(summary.last_ns, 700);  // of 110, 95, 600, 700, 207, 2
  ASSERT_EQ(summary.categories.size(), 4u);
  EXPECT_EQ(summary.categories[0].category, "kernel");  // 500 ns
  EXPECT_EQ(summary.categories[1].category, "cpu_op");  // 17 ns
  EXPECT_EQ(summary.categories[1].count, 3u);
  EXPECT_EQ(summary.categories[1].sum_dur_ns, 17);
  EXPECT_EQ(summary.categories[1].unfinished_count, 1u);
  EXPECT_FALSE(summary.categories[2].has_category);  // 5 ns
  EXPECT_TRUE(summary.categories[3].has_category);   // 1 ns
  ASSERT_EQ(summary.tracks.size(), 2u);
  EXPECT_EQ(summary.tracks[0].count, 5u);
  EXPECT_EQ(summary.tracks[1].sum_dur_ns, 500);
}

TEST(TraceSummary, NamesAreKeyedByProcessAndThreadAndMayComeLate) {
  EventBatch batch;
  AddSlice(&batch, Ints(501, 33), "x", 0, 1);
  AddSlice(&batch, Ints(502, 33), "x", 0, 1);
  AddSlice(&batch, Ints(503, 33), "x", 0, 1);
  AddName(&batch, Ints(501, 33), "thread_name", "stale");
  AddName(&batch, Ints(501, 33), "thread_name", "ipc");
  AddName(&batch, Ints(501, 0), "process_name", "front");
  AddName(&batch, Ints(502, 33), "thread_name", "worker");
  TraceSummarizer summarizer;
  summarizer.Add(batch);
  const TraceSummary summary = std::move(summarizer).Finish();
  ASSERT_EQ(summary.tracks.size(), 3u);
  EXPECT_EQ(summary.tracks[0].process_name + "/" + summary.tracks[0].thread_name, "front/ipc");
  EXPECT_EQ(summary.tracks[1].process_name + "/" + summary.tracks[1].thread_name, "/worker");
  EXPECT_EQ(summary.tracks[2].process_name + "/" + summary.tracks[2].thread_name, "/");
  EXPECT_EQ(summary.tracks[2].pid + "/" + summary.tracks[2].tid, "503/33");
}

TEST(TraceSummary, AbsentIsZeroAndTextIsNoNumber) {
  EventBatch batch;
  AddSlice(&batch, Track{}, "x", 0, 1);
  AddSlice(&batch, Ints(0, 0), "x", 0, 1);
  AddSlice(&batch, {TrackPart::Text(batch.strings.Intern("0")), TrackPart::Int(0)}, "x", 0, 1);
  TraceSummarizer summarizer;
  summarizer.Add(batch);
  const TraceSummary summary = std::move(summarizer).Finish();
  ASSERT_EQ(summary.tracks.size(), 2u);
  EXPECT_EQ(summary.tracks[0].count, 2u);
}

TEST(TraceSummary, SumsThatDoNotFitStayAtTheEnd) {
  EventBatch batch;
  AddSlice(&batch, Ints(1, 1), "x", INT64_MAX - 5, INT64_MAX);
  AddSlice(&batch, Ints(1, 1), "x", 0, 100);
  AddSlice(&batch, Ints(1, 1), "y", 0, -7);
  TraceSummarizer summarizer;
  summarizer.Add(batch);
  const TraceSummary summary = std::move(summarizer).Finish();
  EXPECT_EQ(summary.categories[0].sum_dur_ns, INT64_MAX);
  EXPECT_EQ(summary.categories[1].sum_dur_ns, -7);
  EXPECT_EQ(summary.last_ns, INT64_MAX);
}

TEST(KindName, IsReversible) {
  for (int kind = 0; kind < kEventKindCount; ++kind) {
    EXPECT_EQ(KindFromName(KindName(static_cast<EventKind>(kind))), static_cast<EventKind>(kind));
  }
  EXPECT_FALSE(KindFromName("span").has_value());
}

}  // namespace
}  // namespace tracekiln::tools
