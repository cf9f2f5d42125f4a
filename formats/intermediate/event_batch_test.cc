#include "formats/intermediate/event_batch.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "formats/intermediate/testing/batch_equality.h"
#include "formats/intermediate/testing/batch_generator.h"
#include "gtest/gtest.h"

namespace tracekiln {
namespace {

TEST(EventBatchTest, InternsTracksByPartsAndTypes) {
  EventBatch batch;
  const StringId seven = batch.strings.Intern("7");
  const Track tracks[] = {{TrackPart::Int(7), TrackPart::Int(7)},
                          {TrackPart::Int(7), TrackPart::Text(seven)},
                          {TrackPart::Text(seven), TrackPart::Int(7)},
                          {{}, TrackPart::Int(7)},
                          {TrackPart::Int(7), {}},
                          {TrackPart::Int(-1), TrackPart::Int(INT64_MIN)}};
  for (size_t i = 0; i < std::size(tracks); ++i) EXPECT_EQ(Index(batch.InternTrack(tracks[i])), i);
  for (size_t i = 0; i < std::size(tracks); ++i) EXPECT_EQ(Index(batch.InternTrack(tracks[i])), i);
}

TEST(EventBatchTest, InternsThousandsOfTracksAndCategories) {
  EventBatch batch;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 5000; ++i) {
      ASSERT_EQ(Index(batch.InternTrack({TrackPart::Int(i % 50), TrackPart::Int(i)})), static_cast<uint32_t>(i));
      CategoryId id;
      ASSERT_TRUE(batch.InternCategory(batch.strings.Intern(absl::StrCat("c", i)), &id));
      ASSERT_EQ(Index(id), static_cast<uint32_t>(i));
    }
  }
}

TEST(EventBatchTest, StopsAtTheLimitOfCategories) {
  EventBatch batch;
  CategoryId id;
  for (uint32_t i = 0; i < Index(kNoCategory); ++i) {
    ASSERT_TRUE(batch.InternCategory(batch.strings.Intern(absl::StrCat(i)), &id));
  }
  EXPECT_FALSE(batch.InternCategory(batch.strings.Intern("one more"), &id));
  EXPECT_TRUE(batch.InternCategory(batch.strings.Intern("7"), &id));
}

TEST(EventBatchTest, FindsArgumentsByKeyTypeAndPlace) {
  EventBatch batch;
  const ArgField fields[] = {{batch.strings.Intern("stream"), ArgType::kInt, ArgPlace::kArgs},
                             {batch.strings.Intern("id"), ArgType::kString, ArgPlace::kEvent}};
  ShapeId shape;
  ASSERT_TRUE(batch.args.InternShape(fields, true, &shape));
  const ArgValue values[] = {ArgValue::Int(7), ArgValue::String(batch.strings.Intern("0x1"))};
  EventRow row;
  row.track = batch.InternTrack({});
  batch.Append(row, shape, values);
  EXPECT_EQ(batch.IntArg(0, "stream"), 7);
  EXPECT_EQ(batch.IntArg(0, "stream", ArgPlace::kEvent), std::nullopt);
  EXPECT_EQ(batch.StringArg(0, "id", ArgPlace::kEvent), absl::string_view("0x1"));
  EXPECT_EQ(batch.IntArg(0, "id", ArgPlace::kEvent), std::nullopt);
}

TEST(EventBatchTest, AppendFromCopiesWholeRows) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const EventBatch from = GenerateBatch(seed, 200);
    EventBatch to = GenerateBatch(seed + 1000, 10);
    const size_t before = to.rows();
    for (size_t i = 0; i < from.rows(); ++i) ASSERT_TRUE(to.AppendFrom(from, i));
    ASSERT_EQ(to.rows(), before + from.rows());
    for (size_t i = 0; i < from.rows(); ++i) ASSERT_EQ(RowText(to, before + i), RowText(from, i));
  }
}

TEST(EventBatchTest, AppendAllEqualsAppendingRowByRow) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    EventBatch all = GenerateBatch(seed, 100), one_by_one = all;
    for (uint64_t other : {seed + 100, seed + 200, seed}) {
      const EventBatch from = GenerateBatch(other, 150);
      ASSERT_TRUE(all.AppendAll(from));
      for (size_t i = 0; i < from.rows(); ++i) ASSERT_TRUE(one_by_one.AppendFrom(from, i));
    }
    ASSERT_EQ(all.rows(), 550u);
    ASSERT_EQ(FirstDifference(all, one_by_one), "") << "seed " << seed;
  }
}

TEST(EventBatchTest, AppendAllStopsAtTheLimits) {
  EventBatch full = GenerateKinetoBatch(1, EventBatch::kMaxRows - 10);
  const EventBatch eleven = GenerateBatch(1, 11), ten = GenerateBatch(1, 10);
  EXPECT_FALSE(full.AppendAll(eleven));
  EXPECT_EQ(full.rows(), EventBatch::kMaxRows - 10);
  EXPECT_TRUE(full.AppendAll(ten));
  EXPECT_FALSE(full.AppendAll(ten));
}

TEST(EventBatchTest, RenumberedStringsSayTheSame) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const EventBatch before = GenerateBatch(seed, 300);
    EventBatch after = before;
    after.RenumberStrings();
    ASSERT_EQ(FirstDifference(before, after), "");
    EXPECT_LE(after.strings.size(), before.strings.size());
    // Its indexes work as before.
    ASSERT_TRUE(after.AppendFrom(before, 0));
    EXPECT_EQ(after.tracks().size(), before.tracks().size());
    EXPECT_EQ(after.args.shapes().size(), before.args.shapes().size());
  }
}

TEST(EventBatchTest, ClearForgetsEverything) {
  EventBatch batch = GenerateBatch(1, 100);
  batch.Clear();
  EXPECT_EQ(batch.rows(), 0u);
  EXPECT_EQ(batch.strings.size(), 0u);
  EXPECT_EQ(batch.args.shapes().size(), 1u);
  EXPECT_TRUE(batch.tracks().empty());
  const EventBatch other = GenerateBatch(2, 100);
  for (size_t i = 0; i < other.rows(); ++i) ASSERT_TRUE(batch.AppendFrom(other, i));
  EXPECT_EQ(FirstDifference(batch, other), "");
}

// Batches that Kineto's events make; what they hold, not the slack that growing vectors leave.
TEST(EventBatchTest, AnEventTakesAtMost64BytesWithItsArguments) {
  EventBatch grown = GenerateKinetoBatch(1, 32768);
  EventBatch batch = grown;  // copies are of exact size
  uint64_t events = 0;
  for (size_t i = 0; i < batch.rows(); ++i) events += static_cast<uint64_t>(batch.ForeignEvents(i));
  EXPECT_LE(static_cast<double>(batch.AllocatedBytes()) / static_cast<double>(events), 64.0);
  const size_t core = batch.ts_ns.capacity() * 8 + batch.dur_ns.capacity() * 8 + batch.correlation.capacity() * 8 +
                      batch.name.capacity() * 4 + batch.track.capacity() * 4 + batch.args_row.capacity() * 4 +
                      batch.shape.capacity() * 2 + batch.category.capacity() * 2 + batch.kind.capacity() +
                      batch.flags.capacity();
  EXPECT_EQ(core, EventBatch::kCoreBytesPerRow * batch.rows());
}

}  // namespace
}  // namespace tracekiln
