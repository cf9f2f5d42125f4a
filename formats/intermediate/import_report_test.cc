#include "formats/intermediate/import_report.h"

#include "gtest/gtest.h"

namespace tracekiln {
namespace {

TEST(ImportReportTest, CountsByReasonAndKeepsTheFirstThreePlaces) {
  ImportReport report;
  for (uint64_t offset : {10, 20, 30, 40}) report.Skip("no_ts", offset, "detail");
  report.Repair("invalid_utf8", 15);
  ASSERT_EQ(report.entries().size(), 2u);
  const ImportReport::Entry* entry = report.Find("no_ts");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->count, 4u);
  EXPECT_EQ(entry->first_offsets, (std::vector<uint64_t>{10, 20, 30}));
  EXPECT_EQ(report.skipped(), 4u);
  EXPECT_EQ(report.repaired(), 1u);
  EXPECT_EQ(report.Find("nothing"), nullptr);
}

TEST(ImportReportTest, BalanceIsSeenEqualsImportedMergedAndSkipped) {
  ImportReport report;
  report.seen = 10;
  report.imported = 6;
  report.merged = 3;
  EXPECT_FALSE(report.IsBalanced());
  report.Note("odd", 1);
  EXPECT_FALSE(report.IsBalanced());
  report.Skip("bad", 2);
  EXPECT_TRUE(report.IsBalanced());
}

TEST(ImportReportTest, MergeAddsCountsAndKeepsTheEarlierPlaces) {
  ImportReport a, b;
  a.seen = 2;
  a.imported = 1;
  a.Skip("bad", 5, "first");
  b.seen = 5;
  b.imported = 2;
  b.merged = 1;
  b.salvaged = true;
  b.input_bytes = 100;
  b.Skip("bad", 50, "second");
  b.Skip("bad", 60);
  b.Note("bad", 70);
  a.Merge(b);
  EXPECT_EQ(a.seen, 7u);
  EXPECT_EQ(a.imported, 3u);
  EXPECT_TRUE(a.salvaged);
  EXPECT_EQ(a.input_bytes, 100u);
  ASSERT_EQ(a.entries().size(), 2u) << "a note is not the same as a skip of the same word";
  EXPECT_EQ(a.entries()[0].count, 3u);
  EXPECT_EQ(a.entries()[0].first_offsets, (std::vector<uint64_t>{5, 50, 60}));
  EXPECT_EQ(a.entries()[0].detail, "first");
  EXPECT_TRUE(a.IsBalanced());
}

TEST(ImportReportTest, TextNamesEverything) {
  ImportReport report;
  report.seen = 5;
  report.imported = 3;
  report.merged = 1;
  report.Note("zero_ts", 1);
  report.Skip("no_ts", 7, "expected a number");
  EXPECT_EQ(report.ToText(),
            "5 events seen = 3 imported + 1 merged + 1 skipped\n"
            "  skipped   no_ts: 1 (byte 7) expected a number\n"
            "  note      zero_ts: 1 (byte 1)\n");
}

}  // namespace
}  // namespace tracekiln
