// Opening the inputs of a command: container and format by content, options, and the import report for the user.
#ifndef TRACEKILN_TOOLS_OPEN_TRACE_H_
#define TRACEKILN_TOOLS_OPEN_TRACE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "formats/format/format.h"
#include "formats/intermediate/trace_source.h"
#include "formats/io/input.h"
#include "tools/command.h"
#include "tools/flags.h"

namespace tracekiln::tools {

// --from, --option, --strict, --salvage: for every command that reads traces.
std::vector<Flag> ReadFlags();

// What is wrong with those flags, as far as it shows without looking at an input; OK if nothing is. InvalidArgument is
// wrong usage.
[[nodiscard]] absl::Status CheckReadFlags(const ParsedFlags& flags, absl::Span<const Format* const> formats);

struct OpenedTrace {
  const Format* format = nullptr;
  io::Container container = io::Container::kPlain;
  std::string member;  // of a zip
  std::unique_ptr<TraceSource> source;
};

// Opens `path` ("-": standard input) and says the input's notes. An option that the format doesn't have is an error,
// unless `other_options` has it: those are for somebody else (the format to write).
// REQUIRES: CheckReadFlags was OK.
[[nodiscard]] absl::StatusOr<OpenedTrace> OpenTrace(const std::string& path, const ParsedFlags& flags,
                                                    const CommandContext& context,
                                                    absl::Span<const OptionSpec> other_options = {});

// The options whose key is among `specs`, in the order given. REQUIRES: CheckReadFlags was OK.
FormatOptions OptionsFor(const ParsedFlags& flags, absl::Span<const OptionSpec> specs);

// Reads `source` to its end, a batch at a time, with progress. `use` returns false to stop early.
template <typename Use>
[[nodiscard]] absl::Status ForEachBatch(TraceSource& source, Use&& use) {
  EventBatch batch;
  for (;;) {
    absl::StatusOr<bool> more = source.Next(&batch);
    if (!more.ok()) return more.status();
    if (!*more || !use(static_cast<const EventBatch&>(batch))) return absl::OkStatus();
  }
}

// Says the import report: the totals, and the rest if there is anything in it. Nothing if --quiet.
void SayReport(const CommandContext& context, absl::string_view name, const ImportReport& report);

}  // namespace tracekiln::tools

#endif  // TRACEKILN_TOOLS_OPEN_TRACE_H_
