#include "tools/load_profile.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "formats/pstats/pstats_options.h"
#include "formats/pstats/timeline_profile.h"
#include "tools/open_trace.h"
#include "tools/progress.h"

namespace tracekiln::tools {

bool LoadedProfile::is_salvaged() const {
  return std::any_of(reports_.begin(), reports_.end(), [](const ImportReport& r) { return r.salvaged; });
}

absl::StatusOr<LoadedProfile> LoadProfile(const std::string& path, const ParsedFlags& flags,
                                          const CommandContext& context) {
  absl::StatusOr<OpenedTrace> trace = OpenTrace(path, flags, context, pstats::ExporterOptionSpecs());
  if (!trace.ok()) return trace.status();
  const absl::string_view name = path == "-" ? absl::string_view("<stdin>") : absl::string_view(path);
  LoadedProfile loaded;
  if (trace->source->profile() == nullptr) {
    const absl::StatusOr<pstats::ExporterOptions> options =
        pstats::ParseExporterOptions(OptionsFor(flags, pstats::ExporterOptionSpecs()));
    if (!options.ok()) return options.status();
    if (options->per != pstats::ExporterOptions::Per::kTrace) {
      return absl::InvalidArgumentError("per=action and threads=split make files: use convert --to pstats");
    }
    pstats::TimelineProfiler profiler(options->timeline);
    ProgressMeter meter(context.shows_progress, context.err);
    ProgressSource source(*trace->source, &meter, context.is_interrupted);
    const absl::Status status = profiler.Read(source);
    meter.Finish();
    if (!status.ok()) return status;
    // That of a source that can be read only once is known when all is read.
    if (trace->source->profile() == nullptr) {
      if (profiler.empty()) {
        return absl::InvalidArgumentError(
            absl::StrCat(name, ": a ", trace->format->name, " trace without slices and without a profile"));
      }
      for (const std::string& note : profiler.Notes()) context.Warn(absl::StrCat(name, ": ", note));
      loaded.sum_ = std::make_unique<Profile>(profiler.Whole());
    }
  }
  const ImportReport& report = trace->source->info().report;
  if (!report.entries().empty() || report.salvaged) SayReport(context, name, report);
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
