#include "tools/load_profile.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tools/open_trace.h"
#include "tools/progress.h"

namespace tracekiln::tools {

bool LoadedProfile::is_salvaged() const {
  return std::any_of(reports_.begin(), reports_.end(), [](const ImportReport& r) { return r.salvaged; });
}

absl::StatusOr<LoadedProfile> LoadProfile(const std::string& path, const ParsedFlags& flags,
                                          const CommandContext& context) {
  absl::StatusOr<OpenedTrace> trace = OpenTrace(path, flags, context);
  if (!trace.ok()) return trace.status();
  if (trace->source->profile() == nullptr && !trace->source->can_rewind()) {
    // Known when all is read.
    ProgressMeter meter(context.shows_progress, context.err);
    ProgressSource source(*trace->source, &meter, context.is_interrupted);
    const absl::Status status = ForEachBatch(source, [](const EventBatch&) { return true; });
    meter.Finish();
    if (!status.ok()) return status;
  }
  const absl::string_view name = path == "-" ? absl::string_view("<stdin>") : absl::string_view(path);
  if (trace->source->profile() == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": a ", trace->format->name, " trace without a profile (functions, calls, times)"));
  }
  const ImportReport& report = trace->source->info().report;
  if (!report.entries().empty() || report.salvaged) SayReport(context, name, report);
  LoadedProfile loaded;
  loaded.reports_.push_back(report);
  loaded.source_ = std::move(trace->source);
  return loaded;
}

absl::StatusOr<LoadedProfile> LoadProfiles(absl::Span<const std::string> paths, const ParsedFlags& flags,
                                           const CommandContext& context) {
  if (paths.size() == 1) return LoadProfile(paths[0], flags, context);
  LoadedProfile all;
  all.sum_ = std::make_unique<Profile>();
  for (const std::string& path : paths) {
    const absl::StatusOr<LoadedProfile> one = LoadProfile(path, flags, context);
    if (!one.ok()) return one.status();
    all.sum_->Merge(one->profile());
    all.reports_.push_back(one->reports_.front());
  }
  return all;
}

}  // namespace tracekiln::tools
