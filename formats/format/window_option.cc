#include "formats/format/window_option.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "formats/intermediate/nanos.h"

namespace tracekiln {
namespace {

absl::StatusOr<std::optional<int64_t>> ParseBound(absl::string_view text) {
  if (text.empty()) return std::optional<int64_t>();
  const ParsedNanos parsed = ParseMicros(text);
  if (parsed.error != NanosError::kNone) {
    return absl::InvalidArgumentError(absl::StrCat("window: `", text, "` is no time in microseconds"));
  }
  return std::optional<int64_t>(parsed.ns);
}

}  // namespace

absl::StatusOr<WindowOption> ParseWindowOption(absl::string_view text) {
  const size_t dots = text.find("..");
  if (dots == absl::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat("window: expected START..END, got `", text, "`"));
  }
  const auto begin = ParseBound(text.substr(0, dots));
  if (!begin.ok()) return begin.status();
  const auto end = ParseBound(text.substr(dots + 2));
  if (!end.ok()) return end.status();
  if (begin->has_value() && end->has_value() && **begin > **end) {
    return absl::InvalidArgumentError(absl::StrCat("window: `", text, "` ends before it begins"));
  }
  return WindowOption{*begin, *end};
}

}  // namespace tracekiln
