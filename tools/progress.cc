#include "tools/progress.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace tracekiln::tools {
namespace {

constexpr int64_t kQuietNs = 1'000'000'000;
constexpr int64_t kRefreshNs = 200'000'000;

int64_t SteadyNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Three digits and a decimal prefix: "0", "999 ", "1.2 k", "12.3 M".
std::string Scaled(double value) {
  static constexpr absl::string_view kPrefixes[] = {" ", " k", " M", " G", " T"};
  size_t prefix = 0;
  while (value >= 999.95 && prefix + 1 < sizeof(kPrefixes) / sizeof(kPrefixes[0])) {
    value /= 1000;
    ++prefix;
  }
  return prefix == 0 ? absl::StrFormat("%.0f%s", value, kPrefixes[prefix])
                     : absl::StrFormat("%.1f%s", value, kPrefixes[prefix]);
}

std::string Seconds(double seconds) {
  const uint64_t s = static_cast<uint64_t>(std::min(seconds, 1e9) + 0.5);
  if (s < 90) return absl::StrCat(s, " s");
  if (s < 90 * 60) return absl::StrCat((s + 30) / 60, " min");
  return absl::StrCat((s + 1800) / 3600, " h");
}

}  // namespace

std::string ProgressText(uint64_t done_bytes, uint64_t total_bytes, uint64_t event_count, int64_t elapsed_ns) {
  std::string out;
  const double done = static_cast<double>(done_bytes);
  const double total = static_cast<double>(total_bytes);
  if (total_bytes > 0) {
    absl::StrAppend(&out, static_cast<int>(std::min(done / total, 1.0) * 100), " %, ", Scaled(done), "B of ",
                    Scaled(total), "B, ");
  } else {
    absl::StrAppend(&out, Scaled(done), "B, ");
  }
  absl::StrAppend(&out, Scaled(static_cast<double>(event_count)), "events");
  // "3 events" and "3.4 M events": the prefix stands before the word with a blank of its own.
  if (event_count >= 1000) out.insert(out.size() - 6, " ");
  if (elapsed_ns > 0) {
    const double rate = done / (static_cast<double>(elapsed_ns) * 1e-9);
    absl::StrAppend(&out, ", ", Scaled(rate), "B/s");
    if (total_bytes > 0 && rate > 0 && done <= total) {
      absl::StrAppend(&out, ", ", Seconds((total - done) / rate), " left");
    }
  }
  return out;
}

ProgressMeter::ProgressMeter(bool is_enabled, Write write, ClockNs clock_ns)
    : is_enabled_(is_enabled),
      write_(std::move(write)),
      clock_ns_(clock_ns ? std::move(clock_ns) : ClockNs(SteadyNs)),
      start_ns_(clock_ns_()),
      next_ns_(start_ns_ + kQuietNs) {}

void ProgressMeter::Update(uint64_t done_bytes, uint64_t total_bytes, uint64_t event_count) {
  if (!is_enabled_) return;
  const int64_t now_ns = clock_ns_();
  if (now_ns < next_ns_) return;
  next_ns_ = now_ns + kRefreshNs;
  is_shown_ = true;
  write_(absl::StrCat("\r", ProgressText(done_bytes, total_bytes, event_count, now_ns - start_ns_), "\x1b[K"));
}

void ProgressMeter::Finish() {
  if (!is_shown_) return;
  is_shown_ = false;
  write_("\r\x1b[K");
}

absl::StatusOr<bool> ProgressSource::Next(EventBatch* batch) {
  if (is_interrupted_ != nullptr && is_interrupted_->load(std::memory_order_relaxed)) {
    return absl::CancelledError("interrupted");
  }
  absl::StatusOr<bool> more = source_.Next(batch);
  if (more.ok() && *more) {
    event_count_ += batch->rows();
    const Progress progress = source_.progress();
    meter_->Update(progress.done_bytes, progress.total_bytes, event_count_);
  }
  return more;
}

}  // namespace tracekiln::tools
