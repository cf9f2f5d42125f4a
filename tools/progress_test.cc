#include "tools/progress.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace tracekiln::tools {
namespace {

constexpr int64_t kMs = 1'000'000;

TEST(ProgressText, Table) {
  // 500 MB of 2 GB in 2 s: 250 MB/s, 1.5 GB left take 6 s.
  EXPECT_EQ(ProgressText(500'000'000, 2'000'000'000, 3'400'000, 2000 * kMs),
            "25 %, 500.0 MB of 2.0 GB, 3.4 M events, 250.0 MB/s, 6 s left");
  EXPECT_EQ(ProgressText(1500, 0, 7, 1000 * kMs), "1.5 kB, 7 events, 1.5 kB/s");
  EXPECT_EQ(ProgressText(0, 0, 0, 0), "0 B, 0 events");
  EXPECT_EQ(ProgressText(0, 100, 0, 1000 * kMs), "0 %, 0 B of 100 B, 0 events, 0 B/s");
  // A file that grew: never above 100 %, no negative time.
  EXPECT_EQ(ProgressText(200, 100, 1, 1000 * kMs), "100 %, 200 B of 100 B, 1 events, 200 B/s");
  // 1 of 7200 bytes in 1 s: two hours.
  EXPECT_EQ(ProgressText(1, 7200, 1, 1000 * kMs), "0 %, 1 B of 7.2 kB, 1 events, 1 B/s, 2 h left");
}

struct FakeTerminal {
  int64_t now_ns = 1000 * kMs;
  std::vector<std::string> lines;

  ProgressMeter Meter(bool is_enabled) {
    return ProgressMeter(
        is_enabled, [this](absl::string_view text) { lines.emplace_back(text); }, [this] { return now_ns; });
  }
};

TEST(ProgressMeter, IsQuietForASecondAndThenRefreshesFiveTimesASecond) {
  FakeTerminal terminal;
  ProgressMeter meter = terminal.Meter(true);
  for (int ms = 0; ms < 1000; ms += 10) {
    meter.Update(1, 2, 3);
    terminal.now_ns += 10 * kMs;
  }
  EXPECT_TRUE(terminal.lines.empty());
  for (int ms = 0; ms < 1000; ms += 10) {
    meter.Update(1, 2, 3);
    terminal.now_ns += 10 * kMs;
  }
  EXPECT_EQ(terminal.lines.size(), 5u);
  EXPECT_EQ(terminal.lines[0], "\r50 %, 1 B of 2 B, 3 events, 1 B/s, 1 s left\x1b[K");
  meter.Finish();
  meter.Finish();
  EXPECT_EQ(terminal.lines.size(), 6u);
  EXPECT_EQ(terminal.lines.back(), "\r\x1b[K");
}

TEST(ProgressMeter, ShortRunLeavesNoTrace) {
  FakeTerminal terminal;
  ProgressMeter meter = terminal.Meter(true);
  meter.Update(1, 2, 3);
  meter.Finish();
  EXPECT_TRUE(terminal.lines.empty());
}

TEST(ProgressMeter, DisabledShowsNothing) {
  FakeTerminal terminal;
  ProgressMeter meter = terminal.Meter(false);
  terminal.now_ns += 5000 * kMs;
  meter.Update(1, 2, 3);
  meter.Finish();
  EXPECT_TRUE(terminal.lines.empty());
}

}  // namespace
}  // namespace tracekiln::tools
