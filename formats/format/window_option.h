// The value of a `window` option: START..END in microseconds, as every format takes it.
#ifndef TRACEKILN_FORMATS_FORMAT_WINDOW_OPTION_H_
#define TRACEKILN_FORMATS_FORMAT_WINDOW_OPTION_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tracekiln {

struct WindowOption {
  // In ns from the trace's base; absent: no bound on this side.
  std::optional<int64_t> begin_ns;
  std::optional<int64_t> end_ns;
};

// "100..250.5", "100..", "..250". InvalidArgument with the key "window" for anything else, and if END lies before
// START.
[[nodiscard]] absl::StatusOr<WindowOption> ParseWindowOption(absl::string_view text);

}  // namespace tracekiln

#endif  // TRACEKILN_FORMATS_FORMAT_WINDOW_OPTION_H_
