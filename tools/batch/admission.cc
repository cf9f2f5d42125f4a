#include "tools/batch/admission.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tools/batch/batch_files.h"

namespace tracekiln::batch {
namespace {

constexpr uint64_t kMiB = 1 << 20;
// Traces of Kineto pack ten to sixteen times; more would be guessed too low.
constexpr uint64_t kTextPerCompressed = 16;

uint64_t MachineMemoryBytes() {
  uint64_t bytes = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    const absl::StatusOr<std::string> text = ReadFile(path);
    uint64_t limit = 0;
    if (text.ok() && absl::SimpleAtoi(absl::StripAsciiWhitespace(*text), &limit) && limit > 0) {
      bytes = std::min(bytes, limit);
    }
  }
  return bytes;
}

}  // namespace

uint64_t ExpectedPeakBytes(const Task& task, int thread_count) {
  const uint64_t text_bytes = task.size_bytes * (task.is_compressed ? kTextPerCompressed : 1);
  // Reading and the .kiln that is written as it comes: buffers, as many as threads. Small inputs don't fill them.
  const uint64_t threads = static_cast<uint64_t>(std::max(1, thread_count));
  const uint64_t stream_bytes = std::min((24 + 20 * threads) * kMiB, 16 * kMiB + 4 * text_bytes);
  // What is held of a whole trace: of a profile its functions and stacks, of Chrome JSON lanes, links and the spool.
  // Formats are written one after the other.
  uint64_t held_bytes = 0;
  for (const Output& output : task.outputs) {
    if (output.format == "kiln") continue;
    const uint64_t bytes =
        output.format == "chrome" ? std::min(64 * kMiB, text_bytes / 8) + text_bytes / 16 : text_bytes / 6;
    held_bytes = std::max(held_bytes, bytes);
  }
  return stream_bytes + held_bytes;
}

absl::StatusOr<uint64_t> ParseMemory(absl::string_view text) {
  struct Unit {
    absl::string_view name;
    double factor;
  };
  const absl::Status wrong =
      absl::InvalidArgumentError(absl::StrCat("memory is a size such as 8GB, 512MiB or 80%, not \"", text, "\""));
  const size_t end = text.find_first_not_of("0123456789.");
  double number = 0;
  if (!absl::SimpleAtod(text.substr(0, end), &number)) return wrong;
  const absl::string_view unit = end == absl::string_view::npos ? absl::string_view() : text.substr(end);
  double factor = 0;
  if (unit == "%") factor = number > 100 ? 0 : static_cast<double>(MachineMemoryBytes()) / 100;
  for (const Unit& known :
       {Unit{"", 1}, Unit{"B", 1}, Unit{"kB", 1e3}, Unit{"KB", 1e3}, Unit{"MB", 1e6}, Unit{"GB", 1e9}, Unit{"TB", 1e12},
        Unit{"K", 1024}, Unit{"M", 1048576}, Unit{"G", 1073741824}, Unit{"KiB", 1024}, Unit{"MiB", 1048576},
        Unit{"GiB", 1073741824}, Unit{"TiB", 1099511627776}}) {
    if (unit == known.name) factor = known.factor;
  }
  const double bytes = number * factor;
  if (!(bytes >= 1) || bytes > 9e18) return wrong;
  return static_cast<uint64_t>(bytes);
}

}  // namespace tracekiln::batch
