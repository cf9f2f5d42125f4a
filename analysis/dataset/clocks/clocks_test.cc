#include "analysis/dataset/clocks/clocks.h"

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "formats/intermediate/field_catalog.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tracekiln::dataset {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kUs = 1000;
constexpr int64_t kSecond = 1'000'000'000;

RankCollectives Rank(int64_t rank, std::vector<std::string> groups = {"0"}) {
  RankCollectives r;
  r.rank = rank;
  r.groups = std::move(groups);
  r.is_on_device = true;
  return r;
}

void Add(RankCollectives* rank, std::optional<int64_t> seq, int64_t start_ns, int64_t end_ns, uint32_t group = 0,
         CollectiveKind kind = CollectiveKind::kAllReduce) {
  rank->instances.push_back({group, kind, seq, start_ns, end_ns});
}

TEST(ClocksTest, OffsetIsTheDifferenceOfCommonEnds) {
  RankCollectives a = Rank(0);
  RankCollectives b = Rank(1);
  const int64_t skew[] = {30, 10, 50};
  for (int i = 0; i < 3; ++i) {
    const int64_t start = (1000 + 200 * i) * kUs;
    Add(&a, i, start, start + 100 * kUs);
    Add(&b, i, start + skew[i] * kUs + 7'250'000 * kUs, start + 100 * kUs + 7'250'000 * kUs);
  }
  const ClockAlignment alignment = AlignClocks(std::vector<RankCollectives>{a, b});
  EXPECT_EQ(alignment.matched_count, 3u);
  EXPECT_EQ(alignment.reference, 0);
  EXPECT_TRUE(alignment.is_complete());
  ASSERT_NE(alignment.Find(1), nullptr);
  EXPECT_EQ(alignment.Find(1)->offset_ns, 7'250'000 * kUs);
  EXPECT_EQ(alignment.Find(1)->drift, 0);
  EXPECT_EQ(alignment.Find(1)->residual_ns, 0);
  EXPECT_EQ(alignment.Find(1)->ToReference(7'250'000 * kUs + 5), 5);
  EXPECT_EQ(alignment.Find(0)->offset_ns, 0);
  ASSERT_EQ(alignment.waiting.size(), 2u);
  EXPECT_EQ(alignment.waiting[0].wait_sum_ns, 90 * kUs);
  EXPECT_EQ(alignment.waiting[1].wait_sum_ns, 0);
  EXPECT_THAT(alignment.waiting[1].skew_ns, ElementsAre(30 * kUs, 10 * kUs, 50 * kUs));
  EXPECT_EQ(alignment.waiting[1].worst_skew_ns, 50 * kUs);
}

TEST(ClocksTest, NumbersMatchNotPositions) {
  RankCollectives a = Rank(0);
  RankCollectives b = Rank(1);
  Add(&a, 5, 1200 * kUs, 1300 * kUs);
  Add(&a, 6, 1400 * kUs, 1500 * kUs);
  Add(&b, 4, 1010 * kUs, 1100 * kUs);
  Add(&b, 5, 1210 * kUs, 1300 * kUs);
  Add(&b, 6, 1410 * kUs, 1500 * kUs);
  const ClockAlignment alignment = AlignClocks(std::vector<RankCollectives>{a, b});
  EXPECT_EQ(alignment.matched_count, 2u);
  EXPECT_EQ(alignment.Find(1)->offset_ns, 0);
  EXPECT_THAT(alignment.waiting[1].skew_ns, ElementsAre(10 * kUs, 10 * kUs));
  ASSERT_EQ(alignment.unmatched.size(), 1u);
  EXPECT_EQ(alignment.unmatched[0].rank, 1);
  EXPECT_EQ(alignment.unmatched[0].first_seq, 4);
  EXPECT_EQ(alignment.unmatched[0].reason, "no partner");
}

TEST(ClocksTest, WithoutNumbersPositionsCountOnlyIfAllHaveEquallyMany) {
  RankCollectives a = Rank(0);
  RankCollectives b = Rank(1);
  for (int i = 0; i < 4; ++i) {
    Add(&a, std::nullopt, i * 100, i * 100 + 50);
    Add(&b, std::nullopt, i * 100 + 3000, i * 100 + 3050);
  }
  ClockAlignment alignment = AlignClocks(std::vector<RankCollectives>{a, b});
  EXPECT_EQ(alignment.matched_count, 4u);
  EXPECT_EQ(alignment.Find(1)->offset_ns, 3000);
  Add(&b, std::nullopt, 9000, 9050);
  alignment = AlignClocks(std::vector<RankCollectives>{a, b});
  EXPECT_EQ(alignment.matched_count, 0u);
  EXPECT_FALSE(alignment.Find(1)->is_aligned);
  EXPECT_FALSE(alignment.is_complete());
  ASSERT_EQ(alignment.unmatched.size(), 2u);
  EXPECT_EQ(alignment.unmatched[1].count, 5u);
  EXPECT_TRUE(alignment.waiting.empty());
}

TEST(ClocksTest, SendsAndBroadcastsDoNotAlign) {
  RankCollectives a = Rank(0);
  RankCollectives b = Rank(1);
  Add(&a, 1, 0, 100, 0, CollectiveKind::kBroadcast);
  Add(&b, 1, 0, 900, 0, CollectiveKind::kBroadcast);
  const ClockAlignment alignment = AlignClocks(std::vector<RankCollectives>{a, b});
  EXPECT_EQ(alignment.matched_count, 1u);
  EXPECT_FALSE(alignment.Find(1)->is_aligned);
}

TEST(ClocksTest, RanksWithoutACommonGroupAreAlignedThroughOthers) {
  RankCollectives a = Rank(0, {"pair01"});
  RankCollectives b = Rank(1, {"pair01", "pair12"});
  RankCollectives c = Rank(2, {"pair12"});
  RankCollectives d = Rank(3, {"alone"});
  Add(&a, 1, 0, 100);
  Add(&b, 1, 1000, 1100);
  Add(&b, 1, 2000, 2100, 1);
  Add(&c, 1, 52000, 52100);
  Add(&d, 1, 0, 100);
  const ClockAlignment alignment = AlignClocks(std::vector<RankCollectives>{d, c, b, a});
  EXPECT_EQ(alignment.Find(1)->offset_ns, 1000);
  EXPECT_EQ(alignment.Find(2)->offset_ns, 51000);
  EXPECT_FALSE(alignment.Find(3)->is_aligned);
  EXPECT_FALSE(alignment.is_complete());
}

TEST(ClocksTest, OneOutlierDoesNotMoveTheOffset) {
  RankCollectives a = Rank(0);
  RankCollectives b = Rank(1);
  for (int i = 0; i < 9; ++i) {
    Add(&a, i, i * 1000, i * 1000 + 500);
    Add(&b, i, i * 1000, i * 1000 + 500 + 70 + (i == 4 ? 1'000'000 : i % 3 - 1));
  }
  const ClockAlignment alignment = AlignClocks(std::vector<RankCollectives>{a, b});
  EXPECT_EQ(alignment.Find(1)->offset_ns, 70);
  EXPECT_EQ(alignment.Find(1)->residual_ns, 1);
  EXPECT_GT(alignment.Find(1)->worst_ns, 900'000);
}

TEST(ClocksTest, DriftIsFoundOverALongRecording) {
  std::mt19937 random(3);
  RankCollectives a = Rank(0);
  RankCollectives b = Rank(1);
  const int64_t epoch = int64_t{1'700'000'000} * kSecond;
  for (int i = 0; i < 600; ++i) {
    const int64_t end = epoch + i * (kSecond / 10);
    const int64_t noise = static_cast<int64_t>(random() % 4001) - 2000;
    // 20 ppm fast: 1.2 ms in a minute.
    const int64_t other = end + 5 * kSecond + (end - epoch) / 50'000 + noise;
    Add(&a, i, end - 1000, end);
    Add(&b, i, other - 1000, other);
  }
  const ClockAlignment alignment = AlignClocks(std::vector<RankCollectives>{a, b});
  const RankClock& clock = *alignment.Find(1);
  EXPECT_NEAR(clock.drift, 20e-6, 0.2e-6);
  EXPECT_LT(clock.residual_ns, 2000);
  for (int64_t t : {int64_t{0}, 30 * kSecond, 59 * kSecond}) {
    EXPECT_NEAR(static_cast<double>(clock.ToReference(epoch + t + 5 * kSecond + t / 50'000) - epoch - t), 0, 3000);
  }
}

TEST(ClocksTest, NoRanksAndOneRankAreNoError) {
  EXPECT_EQ(AlignClocks({}).reference, std::nullopt);
  RankCollectives a = Rank(7);
  Add(&a, 1, 0, 10);
  const ClockAlignment alignment = AlignClocks(std::vector<RankCollectives>{a});
  EXPECT_EQ(alignment.reference, 7);
  EXPECT_FALSE(alignment.is_complete());
  EXPECT_EQ(alignment.unmatched.size(), 1u);
}

TEST(CollectiveCollectorTest, JoinsEqualNumbersAndPrefersTheDevice) {
  EventBatch batch;
  const auto add = [&](const char* category, const char* name, int64_t seq, int64_t start_ns, int64_t dur_ns) {
    EventRow row;
    row.ts_ns = start_ns;
    row.dur_ns = dur_ns;
    row.track = batch.InternTrack({TrackPart::Int(1), TrackPart::Int(1)});
    row.name = batch.strings.Intern(name);
    EXPECT_TRUE(batch.InternCategory(batch.strings.Intern(category), &row.category));
    const ArgField fields[] = {
        {batch.strings.Intern(fields::kCollectiveName), ArgType::kString, ArgPlace::kArgs},
        {batch.strings.Intern(fields::kProcessGroupName), ArgType::kString, ArgPlace::kArgs},
        {batch.strings.Intern(fields::kSeq), ArgType::kInt, ArgPlace::kArgs},
    };
    ShapeId shape;
    ASSERT_TRUE(batch.args.InternShape(fields, true, &shape));
    const ArgValue values[] = {ArgValue::String(batch.strings.Intern("allreduce")),
                               ArgValue::String(batch.strings.Intern("0")), ArgValue::Int(seq)};
    batch.Append(row, shape, values);
  };
  add("kernel", "ncclDevKernel_AllReduce", 8, 300, 10);
  add("kernel", "ncclDevKernel_AllReduce", 7, 100, 10);
  add("kernel", "ncclDevKernel_AllReduce", 7, 110, 30);
  add("user_annotation", "nccl:all_reduce", 7, 0, 500);
  CollectiveCollector collector;
  collector.Add(batch);
  TraceInfo info;
  info.base_ns = 1'000'000;
  const RankCollectives rank = std::move(collector).Finish(4, info);
  EXPECT_EQ(rank.rank, 4);
  EXPECT_TRUE(rank.is_on_device);
  ASSERT_EQ(rank.instances.size(), 2u);
  EXPECT_EQ(rank.instances[0].start_ns, 1'000'100);
  EXPECT_EQ(rank.instances[0].end_ns, 1'000'140);
  EXPECT_EQ(rank.instances[1].seq, 8);
}

}  // namespace
}  // namespace tracekiln::dataset
