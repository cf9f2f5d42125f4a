#include "tools/batch/admission.h"

#include <gtest/gtest.h>

namespace tracekiln::batch {
namespace {

constexpr uint64_t kMiB = 1 << 20;

Task MakeTask(uint64_t size_bytes, std::vector<std::string> formats, bool is_compressed = false) {
  Task task;
  task.size_bytes = size_bytes;
  task.is_compressed = is_compressed;
  for (std::string& format : formats) task.outputs.push_back({format, format + "/x", false});
  return task;
}

TEST(AdmissionTest, StartsWhatFitsBesideWhatRuns) {
  Admission admission(100);
  EXPECT_TRUE(admission.Fits(60));
  admission.Start(60);
  EXPECT_FALSE(admission.Fits(41));
  EXPECT_TRUE(admission.Fits(40));
  admission.Start(40);
  EXPECT_FALSE(admission.Fits(1));
  admission.End(60);
  EXPECT_TRUE(admission.Fits(60));
  EXPECT_EQ(admission.used_bytes(), 40u);
}

TEST(AdmissionTest, WhatIsLargerThanTheBudgetRunsAlone) {
  Admission admission(100);
  EXPECT_TRUE(admission.Fits(1000));
  admission.Start(1000);
  EXPECT_FALSE(admission.Fits(1));
  admission.End(1000);
  EXPECT_TRUE(admission.Fits(1));
}

// Peaks measured with generated traces on two threads (docs/batch.md). The model must not be below any.
TEST(AdmissionTest, ExpectsNoLessThanWasMeasured) {
  const struct {
    uint64_t size_bytes;
    const char* format;
    bool is_compressed;
    uint64_t measured_mib;
  } kCases[] = {
      {5'000'000, "kiln", false, 13},        {5'000'000, "chrome", false, 21},      {50'000'000, "kiln", false, 36},
      {50'000'000, "pstats", false, 31},     {50'000'000, "chrome", false, 62},     {500'000'000, "kiln", false, 48},
      {500'000'000, "pstats", false, 104},   {500'000'000, "chrome", false, 87},    {48'000'000, "kiln", true, 52},
      {48'000'000, "pstats", true, 108},     {48'000'000, "chrome", true, 88},      {2'000'000'000, "kiln", false, 61},
      {2'000'000'000, "pstats", false, 352}, {2'000'000'000, "chrome", false, 166},
  };
  for (const auto& c : kCases) {
    const uint64_t expected = ExpectedPeakBytes(MakeTask(c.size_bytes, {c.format}, c.is_compressed), 2);
    EXPECT_GE(expected, c.measured_mib * kMiB) << c.format << " " << c.size_bytes;
    EXPECT_LE(expected, 3 * c.measured_mib * kMiB) << c.format << " " << c.size_bytes;
  }
}

TEST(AdmissionTest, SeveralFormatsCountAsTheLargest) {
  const uint64_t pstats = ExpectedPeakBytes(MakeTask(2'000'000'000, {"pstats"}), 2);
  EXPECT_EQ(ExpectedPeakBytes(MakeTask(2'000'000'000, {"kiln", "pstats", "chrome"}), 2), pstats);
}

TEST(AdmissionTest, MoreThreadsNeedMore) {
  EXPECT_GT(ExpectedPeakBytes(MakeTask(1'000'000'000, {"kiln"}), 16),
            ExpectedPeakBytes(MakeTask(1'000'000'000, {"kiln"}), 1));
}

TEST(ParseMemoryTest, ReadsSizes) {
  EXPECT_EQ(*ParseMemory("1000000"), 1'000'000u);
  EXPECT_EQ(*ParseMemory("8GB"), 8'000'000'000u);
  EXPECT_EQ(*ParseMemory("512MiB"), 512 * kMiB);
  EXPECT_EQ(*ParseMemory("1.5G"), 1536 * kMiB);
  EXPECT_GT(*ParseMemory("50%"), 0u);
  EXPECT_LT(*ParseMemory("10%"), *ParseMemory("50%"));
  for (const char* wrong : {"", "0", "GB", "8 apples", "-1", "101%", "1e300", "8gb"}) {
    EXPECT_FALSE(ParseMemory(wrong).ok()) << wrong;
  }
}

}  // namespace
}  // namespace tracekiln::batch
