#include "tools/batch/batch_progress.h"

#include <gtest/gtest.h>

namespace tracekiln::batch {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

struct Screen {
  std::string text;
  int64_t now_ns = 7 * kSecondNs;
  BatchProgress Make(BatchProgress::Style style) {
    return BatchProgress(
        style, [this](absl::string_view t) { text.append(t.data(), t.size()); }, 4, 400'000'000,
        [this] { return now_ns; });
  }
};

TEST(BatchProgressTest, PlainSaysALineEveryFiveSeconds) {
  Screen screen;
  BatchProgress progress = screen.Make(BatchProgress::Style::kPlain);
  screen.now_ns += 4 * kSecondNs;
  progress.Update(1, 0, 100'000'000, {});
  EXPECT_EQ(screen.text, "");
  screen.now_ns += kSecondNs;
  progress.Update(1, 1, 100'000'000, {});
  // 100 MB in 5 s leave 300 MB for 15 s.
  EXPECT_EQ(screen.text, "tracekiln: 1 of 4 traces, 1 failed, 100.0 MB of 400.0 MB, 20.0 MB/s, 15 s left\n");
  progress.Update(2, 1, 200'000'000, {});
  progress.Finish();
  EXPECT_EQ(screen.text.find("2 of 4"), std::string::npos);
}

TEST(BatchProgressTest, TerminalShowsRunningTasksAndABarAndWipesThem) {
  Screen screen;
  BatchProgress progress = screen.Make(BatchProgress::Style::kTerminal);
  screen.now_ns += 2 * kSecondNs;
  progress.Update(2, 0, 150'000'000, {{"rank-2", 50'000'000, 100'000'000, 1000, 1.0}});
  EXPECT_NE(screen.text.find("  rank-2: 50 %"), std::string::npos) << screen.text;
  EXPECT_NE(screen.text.find("[##########..........] 2 of 4 traces, 200.0 MB of 400.0 MB"), std::string::npos)
      << screen.text;
  screen.text.clear();
  progress.Finish();
  EXPECT_EQ(screen.text, "\x1b[2A\x1b[J");
  screen.text.clear();
  progress.Finish();
  EXPECT_EQ(screen.text, "");
}

TEST(BatchProgressTest, ManyTasksTakeFewLines) {
  Screen screen;
  BatchProgress progress = screen.Make(BatchProgress::Style::kTerminal);
  screen.now_ns += 2 * kSecondNs;
  progress.Update(0, 0, 0, std::vector<BatchProgress::Running>(40, {"r", 1, 2, 3, 1.0}));
  EXPECT_NE(screen.text.find("  and 24 more\n"), std::string::npos) << screen.text;
}

TEST(BatchProgressTest, QuietIsQuiet) {
  Screen screen;
  BatchProgress progress = screen.Make(BatchProgress::Style::kQuiet);
  screen.now_ns += 100 * kSecondNs;
  progress.Update(1, 0, 1, {});
  progress.Finish();
  EXPECT_EQ(screen.text, "");
}

}  // namespace
}  // namespace tracekiln::batch
