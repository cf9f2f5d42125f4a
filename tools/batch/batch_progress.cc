#include "tools/batch/batch_progress.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tools/progress.h"

namespace tracekiln::batch {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr size_t kMaxLines = 16;
constexpr size_t kBarWidth = 20;

int64_t SteadyNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::string Megabytes(double bytes) {
  const int64_t tenths = static_cast<int64_t>(bytes / 1e5);
  return tenths >= 10000 ? absl::StrCat(tenths / 10000, ".", tenths / 1000 % 10, " GB")
                         : absl::StrCat(tenths / 10, ".", tenths % 10, " MB");
}

std::string Duration(double seconds) {
  const int64_t s = static_cast<int64_t>(seconds + 0.5);
  if (s < 120) return absl::StrCat(s, " s");
  if (s < 7200) return absl::StrCat(s / 60, " min ", s % 60, " s");
  return absl::StrCat(s / 3600, " h ", s / 60 % 60, " min");
}

}  // namespace

BatchProgress::BatchProgress(Style style, Write write, size_t task_count, uint64_t total_bytes, ClockNs clock_ns)
    : style_(style),
      write_(std::move(write)),
      task_count_(task_count),
      total_bytes_(total_bytes),
      clock_ns_(clock_ns ? std::move(clock_ns) : &SteadyNs),
      start_ns_(clock_ns_()),
      next_ns_(start_ns_ + (style == Style::kTerminal ? kSecondNs / 2 : 5 * kSecondNs)) {}

std::string BatchProgress::Overall(size_t done_count, size_t failed_count, uint64_t done_bytes) const {
  const double seconds = static_cast<double>(clock_ns_() - start_ns_) / kSecondNs;
  std::string line = absl::StrCat(done_count, " of ", task_count_, " traces");
  if (failed_count > 0) absl::StrAppend(&line, ", ", failed_count, " failed");
  absl::StrAppend(&line, ", ", Megabytes(static_cast<double>(done_bytes)), " of ",
                  Megabytes(static_cast<double>(total_bytes_)));
  if (seconds > 0 && done_bytes > 0) {
    const double rate = static_cast<double>(done_bytes) / seconds;
    const uint64_t left = total_bytes_ - std::min(total_bytes_, done_bytes);
    absl::StrAppend(&line, ", ", Megabytes(rate), "/s, ", Duration(static_cast<double>(left) / rate), " left");
  }
  return line;
}

void BatchProgress::Update(size_t done_count, size_t failed_count, uint64_t done_bytes,
                           const std::vector<Running>& running) {
  if (style_ == Style::kQuiet) return;
  const int64_t now = clock_ns_();
  if (now < next_ns_) return;
  next_ns_ = now + (style_ == Style::kTerminal ? kSecondNs / 5 : 5 * kSecondNs);
  uint64_t bytes = done_bytes;
  for (const Running& task : running) bytes += std::min(task.done_bytes, task.total_bytes);
  bytes = std::min(bytes, total_bytes_);
  const std::string overall = Overall(done_count, failed_count, bytes);
  if (style_ == Style::kPlain) {
    write_(absl::StrCat("tracekiln: ", overall, "\n"));
    return;
  }
  Wipe();
  std::string text;
  const size_t shown = std::min(running.size(), kMaxLines);
  for (size_t i = 0; i < shown; ++i) {
    const Running& task = running[i];
    absl::StrAppend(&text, "  ", task.name, ": ",
                    tools::ProgressText(task.done_bytes, task.total_bytes, task.event_count,
                                        static_cast<int64_t>(task.seconds * kSecondNs)),
                    "\n");
  }
  if (shown < running.size()) absl::StrAppend(&text, "  and ", running.size() - shown, " more\n");
  const size_t filled =
      total_bytes_ == 0
          ? 0
          : static_cast<size_t>(static_cast<double>(bytes) / static_cast<double>(total_bytes_) * kBarWidth);
  absl::StrAppend(&text, "[", std::string(filled, '#'), std::string(kBarWidth - filled, '.'), "] ", overall, "\n");
  line_count_ = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  write_(text);
}

void BatchProgress::Wipe() {
  // Up to the first of the lines, then everything below it is erased.
  if (line_count_ > 0) write_(absl::StrCat("\x1b[", line_count_, "A\x1b[J"));
  line_count_ = 0;
}

void BatchProgress::Finish() { Wipe(); }

}  // namespace tracekiln::batch
