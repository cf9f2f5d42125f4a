// tracekiln convert: one trace in, one trace out, for each input.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analysis/dataset/merge/merged_source.h"
#include "formats/format/detect.h"
#include "formats/format/spool.h"
#include "formats/io/output.h"
#include "tools/commands.h"
#include "tools/open_trace.h"
#include "tools/output_directory.h"
#include "tools/output_path.h"
#include "tools/progress.h"
#include "tools/rank_inputs.h"
#include "tools/text_table.h"

namespace tracekiln::tools {
namespace {

// Writes on to a sink that belongs to somebody else.
class ForwardingSink final : public io::ByteSink {
 public:
  explicit ForwardingSink(io::ByteSink* to) : ByteSink(to->name()), to_(to) {}

 protected:
  void WriteSome(absl::string_view bytes) override {
    to_->Write(bytes);
    if (!to_->status().ok()) set_status(to_->status());
  }
  void Finish() override {}

 private:
  io::ByteSink* const to_;
};

// Passes a source through, of which the first batch can be looked for before anybody reads it.
class PeekingSource final : public TraceSource {
 public:
  explicit PeekingSource(std::unique_ptr<TraceSource> source) : source_(std::move(source)) {}

  // Whether there is a batch. REQUIRES: nothing was read yet.
  absl::StatusOr<bool> HasBatch() {
    first_ = source_->Next(&batch_);
    return *first_;
  }

  absl::StatusOr<bool> Next(EventBatch* batch) override {
    if (!first_) return source_->Next(batch);
    const absl::StatusOr<bool> first = *std::exchange(first_, std::nullopt);
    std::swap(*batch, batch_);
    batch_ = EventBatch();
    return first;
  }
  absl::Status Rewind() override {
    first_.reset();
    return source_->Rewind();
  }
  bool can_rewind() const override { return source_->can_rewind(); }
  const TraceInfo& info() const override { return source_->info(); }
  const Profile* profile() const override { return source_->profile(); }
  const Graph* graph() const override { return source_->graph(); }
  Progress progress() const override { return source_->progress(); }

 private:
  const std::unique_ptr<TraceSource> source_;
  EventBatch batch_;
  std::optional<absl::StatusOr<bool>> first_;  // what Next gave for batch_
};

struct Plan {
  std::string input;
  std::string output;  // "-": standard output
  CompressionChoice compression;
};

// As MakePlans, for options that make several files of a trace: all into the directory that is every plan's output.
absl::StatusOr<std::vector<Plan>> MakeDirectoryPlans(const ParsedFlags& flags) {
  if (flags.Has("compress")) {
    return absl::InvalidArgumentError("--compress is for one file, and these options write several");
  }
  const std::optional<std::string> output = flags.Get("output");
  if (!output || output->empty() || *output == "-") {
    return absl::InvalidArgumentError("these options write several files: say into which directory with -o DIRECTORY");
  }
  if (!CanBeDirectory(*output)) {
    return absl::InvalidArgumentError(
        absl::StrCat("these options write several files: \"", *output, "\" must be a directory",
                     FileExists(*output) ? "" : ", or one that can be made in a directory that exists"));
  }
  std::vector<Plan> plans;
  for (const std::string& input : flags.positional()) plans.push_back({input, *output, {}});
  return plans;
}

// What is to be done, or what is wrong with the command line.
absl::StatusOr<std::vector<Plan>> MakePlans(const ParsedFlags& flags, const Format& to,
                                            absl::Span<const Format* const> formats) {
  std::optional<CompressionChoice> compression;
  if (const std::optional<std::string> text = flags.Get("compress")) {
    absl::StatusOr<CompressionChoice> choice = ParseCompression(*text);
    if (!choice.ok()) return choice.status();
    compression = *choice;
    // Is there such a level?
    std::string ignored;
    auto sink = std::make_unique<io::StringSink>(&ignored, absl::StrCat("--compress ", *text));
    const absl::Status level = io::MakeCompressingSink(std::move(sink), choice->compression, choice->level).status();
    if (!level.ok()) return level;
  }
  const std::vector<std::string>& inputs = flags.positional();
  const std::optional<std::string> output = flags.Get("output");
  if (output.has_value() && output->empty())
    return absl::InvalidArgumentError("--output takes a path, not an empty text");
  const bool is_into_directory = output && *output != "-" && IsDirectory(*output);
  if (inputs.size() > 1 && output && !is_into_directory) {
    return absl::InvalidArgumentError(
        absl::StrCat("several inputs need a directory to write to; \"", *output, "\" is none"));
  }
  std::vector<Plan> plans;
  std::set<std::string> outputs;
  for (const std::string& input : inputs) {
    Plan plan;
    plan.input = input;
    if (output && !is_into_directory) {
      plan.output = *output;
    } else {
      if (input == "-") return absl::InvalidArgumentError("standard input has no name: say where to with -o PATH");
      const std::string name =
          OutputName(input, to, compression ? compression->compression : io::Compression::kNone, formats);
      plan.output = is_into_directory ? absl::StrCat(*output, output->back() == '/' ? "" : "/", name) : name;
    }
    plan.compression = compression ? *compression : CompressionChoice{io::CompressionForPath(plan.output), {}};
    if (plan.output != "-" && IsSameFile(plan.input, plan.output)) {
      return absl::InvalidArgumentError(absl::StrCat("\"", plan.output, "\" is the input itself"));
    }
    // A path that was chosen here and not by the user never replaces anything.
    if (plan.output != "-" && (!output || is_into_directory) && !flags.Has("force") && FileExists(plan.output)) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", plan.output, "\" exists already; --force replaces it, -o PATH writes elsewhere"));
    }
    if (!outputs.insert(plan.output).second) {
      return absl::InvalidArgumentError(absl::StrCat("two inputs would both be written to \"", plan.output, "\""));
    }
    plans.push_back(std::move(plan));
  }
  for (const Plan& plan : plans) {
    for (const Plan& other : plans) {
      if (plan.output != "-" && IsSameFile(other.input, plan.output)) {
        return absl::InvalidArgumentError(absl::StrCat("\"", plan.output, "\" is one of the inputs"));
      }
    }
  }
  return plans;
}

absl::StatusOr<std::unique_ptr<io::ByteSink>> MakeSink(const Plan& plan, CommandContext& context) {
  if (plan.output == "-") {
    return io::MakeCompressingSink(std::make_unique<ForwardingSink>(&context.out), plan.compression.compression,
                                   plan.compression.level, &context.executor);
  }
  io::OutputOptions options;
  options.compression = plan.compression.compression;
  options.level = plan.compression.level;
  options.executor = &context.executor;
  return io::CreateOutput(plan.output, options);
}

// Writes `source` as the plan says; the sink is closed, or the files are.
absl::Status WriteTrace(TraceSource& source, const Plan& plan, const Format& to, const ExportOptions& options,
                        DirectoryOutput* directory, CommandContext& context) {
  if (directory != nullptr) return to.write_directory(source, options, *directory, context.executor);
  absl::StatusOr<std::unique_ptr<io::ByteSink>> sink = MakeSink(plan, context);
  if (!sink.ok()) return sink.status();
  if (absl::Status status = to.write(source, options, **sink, context.executor); !status.ok()) return status;
  return (*sink)->Close();
}

// `directory`: for options that make several files, else null.
int ConvertSource(std::unique_ptr<TraceSource> opened, const Plan& plan, const Format& to, ExportOptions options,
                  DirectoryOutput* directory, CommandContext& context) {
  ProgressMeter meter(context.shows_progress, context.err);
  std::unique_ptr<TraceSource> source =
      std::make_unique<ProgressSource>(std::move(opened), &meter, context.is_interrupted);
  const bool may_lose_profile = (to.capabilities & kProfile) == 0, may_lose_graph = (to.capabilities & kGraph) == 0;
  if (may_lose_profile || may_lose_graph) {
    auto peeking = std::make_unique<PeekingSource>(std::move(source));
    const absl::StatusOr<bool> has_rows = peeking->HasBatch();
    const bool has_profile = peeking->profile() != nullptr, has_graph = peeking->graph() != nullptr;
    const bool keeps_section = (has_profile && !may_lose_profile) || (has_graph && !may_lose_graph);
    const bool loses_all = has_rows.ok() && !*has_rows && (has_profile || has_graph) && !keeps_section;
    if (!has_rows.ok() || loses_all) meter.Finish();
    if (!has_rows.ok()) return context.Fail(has_rows.status());
    if (loses_all) {
      return context.Fail(absl::FailedPreconditionError(
          absl::StrCat(plan.input, ": holds ",
                       has_profile ? "a profile (calls and times per function)" : "a graph (operators, dependencies)",
                       ", no events: it can't be written as ", to.name)));
    }
    source = std::move(peeking);
  }
  if (to.needs_rewind && !source->can_rewind()) {
    absl::StatusOr<std::unique_ptr<TraceSource>> rewindable = MakeRewindable(std::move(source), context.executor);
    meter.Finish();
    if (!rewindable.ok()) return context.Fail(rewindable.status());
    source = std::make_unique<ProgressSource>(*std::move(rewindable), &meter, context.is_interrupted);
  }
  options.note = [&](absl::string_view sentence) {
    meter.Finish();
    context.Warn(absl::StrCat(plan.input, ": ", sentence));
  };
  const size_t files_before = directory == nullptr ? 0 : directory->file_count();
  const absl::Status status = WriteTrace(*source, plan, to, options, directory, context);
  meter.Finish();
  if (!status.ok()) {
    if (directory != nullptr) directory->RemoveIfEmpty();
    return context.Fail(status);
  }
  const TraceInfo& info = source->info();
  SayReport(context, plan.input, info.report);
  const auto warn_of_loss = [&](absl::string_view section) {
    context.Warn(
        absl::StrCat(plan.input, ": its ", section, " section is not in the output: ", to.name, " can't hold one"));
  };
  if (may_lose_profile && source->profile() != nullptr) warn_of_loss("profile");
  if (may_lose_graph && source->graph() != nullptr) warn_of_loss("graph");
  if (directory != nullptr) {
    const size_t count = directory->file_count() - files_before;
    context.Warn(absl::StrCat(plan.input, ": ", count, count == 1 ? " file" : " files", " written into \"",
                              directory->path(), "\""));
  }
  return info.report.salvaged ? kDoneWithLosses : kDone;
}

int ConvertOne(const Plan& plan, const Format& to, const ExportOptions& options, DirectoryOutput* directory,
               const ParsedFlags& flags, CommandContext& context) {
  absl::StatusOr<OpenedTrace> trace = OpenTrace(plan.input, flags, context, to.export_options);
  if (!trace.ok()) return context.Fail(trace.status());
  return ConvertSource(std::move(trace->source), plan, to, options, directory, context);
}

// The clocks to apply, none with --align off. Says what is done.
absl::StatusOr<dataset::ClockAlignment> ClocksFor(const std::vector<RankInput>& inputs, const std::string& directory,
                                                  const Format& to, const ParsedFlags& flags, CommandContext& context) {
  const std::string align = flags.Get("align").value_or("auto");
  if (align == "off" || inputs.size() < 2) return dataset::ClockAlignment{};
  absl::StatusOr<dataset::ClockAlignment> alignment = ReadClocks(inputs, flags, context, to.export_options);
  if (!alignment.ok()) return alignment.status();
  if (!alignment->is_complete()) {
    const std::string why = absl::StrCat(
        directory, ": clocks are not aligned: no matched collectives connect all ranks (tracekiln clocks)");
    if (align == "on") return absl::FailedPreconditionError(why);
    context.Warn(why);
    return dataset::ClockAlignment{};
  }
  int64_t largest_ns = 0;
  int64_t residual_ns = 0;
  for (const dataset::RankClock& clock : alignment->clocks) {
    if (std::abs(clock.offset_ns) > std::abs(largest_ns)) largest_ns = clock.offset_ns;
    residual_ns = std::max(residual_ns, clock.residual_ns);
  }
  context.Warn(absl::StrCat(directory, ": clocks of ", alignment->clocks.size(), " ranks aligned by ",
                            alignment->matched_count, " collectives: largest offset ", MicrosText(largest_ns),
                            ", residual at most ", MicrosText(residual_ns), "; the output says which were applied"));
  return alignment;
}

// All ranks of a run directory into one trace.
int ConvertMerged(const Format& to, const ExportOptions& options, const ParsedFlags& flags, CommandContext& context) {
  const std::string align = flags.Get("align").value_or("auto");
  if (align != "auto" && align != "on" && align != "off") return context.Misused("--align is auto, on or off");
  if (flags.positional().size() != 1 || !IsDirectory(flags.positional()[0])) {
    return context.Misused("--merge takes one run directory");
  }
  const std::optional<std::string> output = flags.Get("output");
  if (!output.has_value() || output->empty() || (*output != "-" && IsDirectory(*output))) {
    return context.Misused("--merge writes one file: say which with -o PATH");
  }
  if ((to.capabilities & kSlices) == 0) {
    return context.Misused(absl::StrCat("--merge makes a timeline, which ", to.name, " can't hold"));
  }
  Plan plan;
  plan.input = flags.positional()[0];
  plan.output = *output;
  plan.compression = CompressionChoice{io::CompressionForPath(plan.output), {}};
  if (const std::optional<std::string> text = flags.Get("compress")) {
    const absl::StatusOr<CompressionChoice> choice = ParseCompression(*text);
    if (!choice.ok()) return context.Misused(choice.status().message());
    plan.compression = *choice;
  }
  const absl::StatusOr<std::vector<RankInput>> inputs = FindRankInputs(plan.input, flags, context);
  if (!inputs.ok()) return context.Fail(inputs.status());
  for (const RankInput& input : *inputs) {
    if (plan.output != "-" && IsSameFile(input.path, plan.output)) {
      return context.Misused(absl::StrCat("\"", plan.output, "\" is one of the inputs"));
    }
  }
  const absl::StatusOr<dataset::ClockAlignment> alignment = ClocksFor(*inputs, plan.input, to, flags, context);
  if (!alignment.ok()) return context.Fail(alignment.status());
  std::vector<dataset::MergeInput> ranks;
  for (const RankInput& input : *inputs) {
    dataset::MergeInput rank;
    rank.rank = input.rank;
    rank.name = input.path;
    rank.open = [&flags, &context, &to, path = input.path]() -> absl::StatusOr<std::unique_ptr<TraceSource>> {
      absl::StatusOr<OpenedTrace> trace = OpenTrace(path, flags, context, to.export_options);
      if (!trace.ok()) return trace.status();
      return std::move(trace->source);
    };
    if (const dataset::RankClock* clock = alignment->Find(input.rank)) rank.clock = *clock;
    ranks.push_back(std::move(rank));
  }
  return ConvertSource(std::make_unique<dataset::MergedSource>(std::move(ranks), context.executor), plan, to, options,
                       nullptr, context);
}

int Run(const ParsedFlags& flags, CommandContext& context) {
  if (const absl::Status status = CheckReadFlags(flags, context.formats); !status.ok()) {
    return context.Misused(status.message());
  }
  std::vector<absl::string_view> names;
  for (const Format* format : context.formats) {
    if (format->write != nullptr) names.push_back(format->name);
  }
  const std::optional<std::string> to_name = flags.Get("to");
  if (!to_name) {
    return context.Misused(absl::StrCat("--to is missing; formats that can be written: ", absl::StrJoin(names, ", ")));
  }
  const Format* const to = FindFormatByName(context.formats, *to_name);
  if (to == nullptr || to->write == nullptr) {
    return context.Misused(
        absl::StrCat("no format \"", *to_name, "\" that can be written; there are ", absl::StrJoin(names, ", ")));
  }
  if (flags.positional().empty())
    return context.Misused("which trace? give at least one file, or - for standard input");
  ExportOptions options;
  options.format = OptionsFor(flags, to->export_options);
  if (to->check_export_options != nullptr) {
    if (const absl::Status status = to->check_export_options(options); !status.ok()) {
      return context.Misused(absl::StrCat("bad option: ", status.message()));
    }
  }
  const bool is_directory = to->writes_directory != nullptr && to->writes_directory(options);
  if (flags.Has("merge")) return ConvertMerged(*to, options, flags, context);
  for (const Flag& flag : RankFlags()) {
    if (flags.Has(flag.name)) return context.Misused(absl::StrCat("--", flag.name, " belongs to --merge"));
  }
  if (flags.Has("align")) return context.Misused("--align belongs to --merge");
  const absl::StatusOr<std::vector<Plan>> plans =
      is_directory ? MakeDirectoryPlans(flags) : MakePlans(flags, *to, context.formats);
  if (!plans.ok()) return context.Misused(plans.status().message());
  std::optional<DirectoryOutput> directory;
  if (is_directory) {
    directory.emplace(plans->front().output, DirectoryOutput::Options{flags.Has("force"), flags.positional()});
  }
  std::vector<int> codes;
  for (const Plan& plan : *plans) {
    codes.push_back(ConvertOne(plan, *to, options, directory ? &*directory : nullptr, flags, context));
  }
  return CombinedStatus(codes);
}

}  // namespace

const Command& ConvertCommand() {
  static const Command* const command = [] {
    auto* c = new Command{
        "convert",
        "IN… --to FORMAT [-o PATH]",
        "convert traces to another format",
        "Without -o the output gets the input's name with the extension of the format, in the current directory; a "
        "file\n"
        "that exists is only replaced with --force. An explicit -o PATH replaces what is there, but never an input. "
        "With\n"
        "several inputs -o must be a directory. \"-\" is standard output. The output appears when it is complete: a\n"
        "failed run leaves nothing behind. It is compressed if its path ends in .gz or .zst. Options that make "
        "several\n"
        "files of a trace need -o DIRECTORY, which is made if it is not there; their names come from the trace, so a "
        "file\n"
        "that exists is only replaced with --force. --merge writes the ranks of a run directory as one timeline, with\n"
        "processes, flows and correlations kept apart, and clocks aligned where that can be done.",
        "  tracekiln convert rank0.json.gz --to kiln\n"
        "  tracekiln convert rank0.kiln --to chrome -o rank0.json.gz\n"
        "  tracekiln convert *.json --to kiln -o kilns/\n"
        "  tracekiln convert broken.json --to chrome --salvage -o - | less\n"
        "  tracekiln convert run7/ --to chrome --merge --ranks 0-3 -o first-four.json.gz",
        {},
        Run};
    c->flags = {
        {"to", 't', "FORMAT", "format to write; tracekiln formats lists them"},
        {"output", 'o', "PATH", "file or directory to write to; - is standard output"},
        {"force", 0, "", "replace files that exist under names that were not given with -o"},
        {"compress", 0, "HOW",
         "none, gzip or zstd, also with a level (zstd:9); default: by the end of the output path"},
    };
    c->flags.push_back({"merge", 0, "", "all ranks of a run directory into one trace"});
    c->flags.push_back({"align", 0, "auto|on|off", "with --merge: by the clocks that tracekiln clocks finds"});
    for (const Flag& flag : RankFlags()) c->flags.push_back(flag);
    for (const Flag& flag : ReadFlags()) c->flags.push_back(flag);
    return c;
  }();
  return *command;
}

}  // namespace tracekiln::tools
