#include "formats/pstats/pstats_format.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "formats/pstats/action_file_name.h"
#include "formats/pstats/pstats_options.h"
#include "formats/pstats/pstats_reader.h"
#include "formats/pstats/pstats_writer.h"
#include "formats/pstats/timeline_profile.h"
#include "formats/pstats/viewer_root.h"

namespace tracekiln {
namespace {

using pstats::ExporterOptions;
using pstats::NamedProfile;
using Per = ExporterOptions::Per;

// A trace without rows and with a profile.
class ProfileSource final : public TraceSource {
 public:
  ProfileSource(Profile profile, TraceInfo info) : profile_(std::move(profile)), info_(std::move(info)) {}

  absl::StatusOr<bool> Next(EventBatch*) override { return false; }
  absl::Status Rewind() override { return absl::OkStatus(); }
  bool can_rewind() const override { return true; }
  const TraceInfo& info() const override { return info_; }
  const Profile* profile() const override { return &profile_; }
  Progress progress() const override { return {info_.report.input_bytes, info_.report.input_bytes}; }

 private:
  const Profile profile_;
  const TraceInfo info_;
};

absl::StatusOr<std::unique_ptr<TraceSource>> Open(std::unique_ptr<io::Input> input, const ImportOptions& options,
                                                  io::Executor&) {
  if (!options.format.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("format pstats: unknown import option \"", options.format[0].first, "\""));
  }
  const std::unique_ptr<io::ByteSource> stream = input->Stream();
  if (stream == nullptr) return absl::FailedPreconditionError(absl::StrCat(input->name(), ": was read already"));
  TraceInfo info;
  info.source_format = "pstats";
  info.source_name = input->name();
  pstats::ReadPstatsOptions read;
  read.strict = options.strict;
  absl::StatusOr<Profile> profile = pstats::ReadPstats(*stream, read, &info.report);
  if (!profile.ok()) return profile.status();
  return std::make_unique<ProfileSource>(*std::move(profile), std::move(info));
}

absl::StatusOr<ExporterOptions> Parse(const ExportOptions& options) {
  absl::StatusOr<ExporterOptions> parsed = pstats::ParseExporterOptions(options.format);
  if (!parsed.ok()) {
    return absl::Status(parsed.status().code(), absl::StrCat("format pstats: ", parsed.status().message()));
  }
  return parsed;
}

void Say(const ExportOptions& options, absl::string_view sentence) {
  if (options.note != nullptr) options.note(sentence);
}

// Reads the timeline. True if it has slices; otherwise the trace's profile, if it has one, is all there is.
absl::StatusOr<bool> ReadTimeline(TraceSource& source, const ExportOptions& options,
                                  pstats::TimelineProfiler* profiler) {
  if (absl::Status status = profiler->Read(source); !status.ok()) return status;
  if (!profiler->empty()) {
    for (const std::string& note : profiler->Notes()) Say(options, note);
    if (source.profile() != nullptr) {
      Say(options, "its profile section is not in the output, which is made of its slices");
    }
    return true;
  }
  if (source.profile() != nullptr) return false;
  return absl::FailedPreconditionError(absl::StrCat(source.info().source_name, ": has no slices to make a profile of"));
}

absl::Status Write(TraceSource& source, const ExportOptions& options, io::ByteSink& sink, io::Executor&) {
  absl::StatusOr<ExporterOptions> parsed = Parse(options);
  if (!parsed.ok()) return parsed.status();
  if (source.can_rewind()) {
    if (absl::Status status = source.Rewind(); !status.ok()) return status;
  }
  // A profile that was read has no steps.
  pstats::TimelineProfiler profiler(parsed->timeline);
  const absl::StatusOr<bool> has_timeline = ReadTimeline(source, options, &profiler);
  if (!has_timeline.ok()) return has_timeline.status();
  if (!*has_timeline) return pstats::WritePstats(*source.profile(), parsed->writer, sink);
  Profile profile = profiler.Whole();
  if (profile.row_count() == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(source.info().source_name, ": nothing of it is left with these options"));
  }
  pstats::AddViewerRoot(&profile);
  return pstats::WritePstats(profile, parsed->writer, sink);
}

bool WritesDirectory(const ExportOptions& options) {
  const absl::StatusOr<ExporterOptions> parsed = Parse(options);
  return parsed.ok() && parsed->per != Per::kTrace;
}

absl::Status WriteFile(const std::string& name, absl::string_view bytes, OutputDirectory& directory) {
  absl::StatusOr<std::unique_ptr<io::ByteSink>> sink = directory.Create(name);
  if (!sink.ok()) return sink.status();
  (*sink)->Write(bytes);
  return (*sink)->Close();
}

absl::Status WriteDirectory(TraceSource& source, const ExportOptions& options, OutputDirectory& directory,
                            io::Executor&) {
  absl::StatusOr<ExporterOptions> parsed = Parse(options);
  if (!parsed.ok()) return parsed.status();
  if (source.can_rewind()) {
    if (absl::Status status = source.Rewind(); !status.ok()) return status;
  }
  pstats::TimelineProfiler profiler(parsed->timeline);
  const absl::StatusOr<bool> has_timeline = ReadTimeline(source, options, &profiler);
  if (!has_timeline.ok()) return has_timeline.status();
  if (!*has_timeline) {
    return absl::FailedPreconditionError(absl::StrCat(
        source.info().source_name, ": holds a profile without threads and actions; it can only become one file"));
  }
  const std::optional<int64_t> rank = parsed->rank.has_value() ? parsed->rank : source.info().rank;
  pstats::ActionFileNamer namer(parsed->stage, parsed->filename, rank);
  std::vector<pstats::ActionIndexEntry> index;
  uint64_t empty_count = 0;
  const auto use = [&](NamedProfile made) -> absl::Status {
    if (made.profile.row_count() == 0) {
      ++empty_count;
      return absl::OkStatus();
    }
    pstats::AddViewerRoot(&made.profile);
    pstats::ActionIndexEntry entry;
    entry.action = made.name;
    entry.file = namer.NameFor(made.name);
    entry.call_count = static_cast<int64_t>(made.call_count);
    entry.duration_ns = made.duration_ns;
    absl::StatusOr<std::unique_ptr<io::ByteSink>> sink = directory.Create(entry.file);
    if (!sink.ok()) return sink.status();
    if (absl::Status status = pstats::WritePstats(made.profile, parsed->writer, **sink); !status.ok()) return status;
    if (absl::Status status = (*sink)->Close(); !status.ok()) return status;
    index.push_back(std::move(entry));
    return absl::OkStatus();
  };
  const absl::Status status = parsed->per == Per::kAction ? profiler.ForEachAction(use) : profiler.ForEachThread(use);
  if (!status.ok()) return status;
  if (empty_count > 0) Say(options, absl::StrCat(empty_count, " files would have been empty and were not written"));
  if (index.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(source.info().source_name, ": nothing of it is left with these options"));
  }
  return WriteFile(namer.IndexName(), pstats::ActionIndexJson(index), directory);
}

Format MakePstatsFormat() {
  Format format;
  format.name = "pstats";
  format.description = "profiles of cProfile and pstats (.prof), also made of timelines: SnakeViz, tuna, gprof2dot, …";
  format.extension = ".prof";
  format.capabilities = kProfile;
  format.export_options = pstats::ExporterOptionSpecs();
  format.sniff = &pstats::SniffPstats;
  format.open = &Open;
  format.check_export_options = [](const ExportOptions& options) { return Parse(options).status(); };
  format.write = &Write;
  format.writes_directory = &WritesDirectory;
  format.write_directory = &WriteDirectory;
  return format;
}

}  // namespace

const Format& PstatsFormat() {
  static const Format* const format = new Format(MakePstatsFormat());
  return *format;
}

}  // namespace tracekiln
