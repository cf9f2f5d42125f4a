// tracekiln batch: all traces of a run directory. This file is flags and words; tools/batch does the work.
//
// batch-worker and batch-merge are what engines call: one process for a task, and the manifest when all have ended.
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "analysis/dataset/dataset.h"
#include "formats/format/detect.h"
#include "tools/batch/admission.h"
#include "tools/batch/batch_files.h"
#include "tools/batch/batch_plan.h"
#include "tools/batch/local_engine.h"
#include "tools/batch/slurm_engine.h"
#include "tools/batch/worker.h"
#include "tools/commands.h"
#include "tools/open_trace.h"
#include "tools/output_path.h"
#include "tools/text_table.h"

namespace tracekiln::tools {
namespace {

constexpr absl::string_view kPlanEnd = "/.batch/plan.json";
constexpr size_t kShownErrors = 10;

absl::StatusOr<std::string> RealPath(const std::string& path) {
  char real[PATH_MAX];
  if (realpath(path.c_str(), real) == nullptr) return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot open"));
  return std::string(real);
}

// Those that this process may use, which under taskset or Slurm are fewer than there are.
int CoreCount() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof(cores), &cores) == 0 && CPU_COUNT(&cores) > 0) return CPU_COUNT(&cores);
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

// The formats of --to, each once. InvalidArgument with the names there are.
absl::StatusOr<std::vector<const Format*>> FormatsToWrite(const ParsedFlags& flags, const CommandContext& context) {
  std::vector<absl::string_view> names;
  for (const Format* format : context.formats) {
    if (format->write != nullptr) names.push_back(format->name);
  }
  std::vector<const Format*> to;
  for (const std::string& value : flags.GetAll("to")) {
    for (absl::string_view name : absl::StrSplit(value, ',', absl::SkipWhitespace())) {
      const Format* const format = FindFormatByName(context.formats, absl::StripAsciiWhitespace(name));
      if (format == nullptr || format->write == nullptr) {
        return absl::InvalidArgumentError(
            absl::StrCat("no format \"", name, "\" that can be written; there are ", absl::StrJoin(names, ", ")));
      }
      if ((format->capabilities & ~uint32_t{kGraph}) == 0) {
        return absl::InvalidArgumentError(absl::StrCat(
            "format ", name, " holds graphs of operators only, and batch makes files of events and profiles"));
      }
      if (std::find(to.begin(), to.end(), format) == to.end()) to.push_back(format);
    }
  }
  if (to.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--to is missing; formats that can be written: ", absl::StrJoin(names, ", ")));
  }
  return to;
}

// What a plan needs to know from the command line.
absl::StatusOr<batch::PlanOptions> PlanOptionsFrom(const ParsedFlags& flags, const CommandContext& context) {
  if (absl::Status status = CheckReadFlags(flags, context.formats); !status.ok()) return status;
  batch::PlanOptions options;
  absl::StatusOr<std::vector<const Format*>> to = FormatsToWrite(flags, context);
  if (!to.ok()) return to.status();
  options.to = *std::move(to);
  absl::StatusOr<batch::RankSet> ranks = batch::ParseRanks(flags.Get("ranks").value_or(""));
  if (!ranks.ok()) return ranks.status();
  options.ranks = *std::move(ranks);
  options.options = flags.GetAll("option");
  options.is_strict = flags.Has("strict");
  options.is_salvaging = flags.Has("salvage");
  options.compress = flags.Get("compress").value_or("gzip");
  const absl::StatusOr<CompressionChoice> compression = ParseCompression(options.compress);
  if (!compression.ok()) return compression.status();
  std::string ignored;
  auto sink = std::make_unique<io::StringSink>(&ignored, absl::StrCat("--compress ", options.compress));
  if (absl::Status level =
          io::MakeCompressingSink(std::move(sink), compression->compression, compression->level).status();
      !level.ok()) {
    return level;
  }
  for (const Format* format : options.to) {
    if (format->check_export_options == nullptr) continue;
    const ExportOptions export_options{batch::OptionsFor(options.options, format->export_options), nullptr};
    if (absl::Status status = format->check_export_options(export_options); !status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("bad option: ", status.message()));
    }
  }
  return options;
}

// A directory that a batch may use: none yet, an empty one, or that of an earlier batch.
absl::Status CheckOut(const std::string& out, bool is_forced) {
  if (!FileExists(out)) return absl::OkStatus();
  if (!IsDirectory(out)) return absl::InvalidArgumentError(absl::StrCat("\"", out, "\" is no directory"));
  if (is_forced || IsDirectory(absl::StrCat(out, "/.batch"))) return absl::OkStatus();
  const absl::StatusOr<bool> is_empty = batch::IsEmptyDirectory(out);
  if (!is_empty.ok()) return is_empty.status();
  if (*is_empty) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("\"", out, "\" holds files that are no batch's; take another directory, or --force"));
}

// Names of files may hold line breaks.
std::string OneLine(absl::string_view message) { return Printable(message, message.npos); }

std::string RankText(const std::vector<std::optional<int64_t>>& ranks, const std::vector<std::string>& tasks) {
  std::vector<int64_t> known;
  std::vector<std::string> others;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i]) {
      known.push_back(*ranks[i]);
    } else {
      others.push_back(tasks[i]);
    }
  }
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  std::string text;
  if (!known.empty()) text = absl::StrCat(known.size() == 1 ? "rank " : "ranks ", dataset::RankRanges(known));
  if (!others.empty()) absl::StrAppend(&text, text.empty() ? "" : ", ", absl::StrJoin(others, ", "));
  return text;
}

// Says how it went; the exit status.
int Report(const batch::Plan& plan, const std::vector<std::optional<batch::Result>>& results, size_t skipped_count,
           CommandContext& context) {
  const batch::Summary summary = batch::Summarize(plan, results);
  size_t shown = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i] || results[i]->state != batch::State::kFailed) continue;
    if (++shown > kShownErrors) continue;
    // One line each, whatever the file is called.
    context.Say(absl::StrCat(plan.tasks[i].name, ": ", results[i]->error_kind, ": ", OneLine(results[i]->error)));
  }
  if (shown > kShownErrors) {
    context.Say(absl::StrCat("and ", shown - kShownErrors, " more, see manifest.json"));
  }
  std::string line = absl::StrCat(summary.done + summary.salvaged, " of ", results.size(), " traces done");
  if (skipped_count > 0) absl::StrAppend(&line, " (", skipped_count, " before)");
  if (summary.salvaged > 0) absl::StrAppend(&line, ", ", summary.salvaged, " of them salvaged");
  if (summary.failed > 0) absl::StrAppend(&line, ", ", summary.failed, " failed");
  if (summary.missing > 0) absl::StrAppend(&line, ", ", summary.missing, " without result");
  for (const auto& [kind, tasks] : summary.failures) {
    absl::StrAppend(&line, "\n  ", kind, ": ", tasks.size(), " (", RankText(summary.failed_ranks.at(kind), tasks), ")");
  }
  const size_t lost = summary.failed + summary.missing;
  if (lost > 0) {
    context.Say(line);
  } else {
    context.Warn(line);
  }
  if (lost == results.size()) return kFailed;
  return lost > 0 || summary.salvaged > 0 ? kDoneWithLosses : kDone;
}

// Merges the results into the manifest and says how it went.
int Finish(const batch::Plan& plan, const std::string& out, const std::map<std::string, batch::Result>& lost,
           absl::string_view engine, size_t skipped_count, CommandContext& context) {
  const std::vector<std::optional<batch::Result>> results = batch::ReadResults(out, plan, lost);
  const absl::Status status = batch::WriteFile(batch::ManifestPath(out), batch::ManifestJson(plan, results, engine));
  const int code = Report(plan, results, skipped_count, context);
  if (!status.ok()) return context.Fail(status);
  return code;
}

int ShowStatus(const std::string& out, CommandContext& context) {
  const absl::StatusOr<batch::Plan> plan = batch::ReadPlan(batch::PlanPath(out));
  if (!plan.ok()) return context.Fail(plan.status());
  const std::vector<std::optional<batch::Result>> results = batch::ReadResults(out, *plan);
  const batch::Summary summary = batch::Summarize(*plan, results);
  const std::vector<std::string> running = batch::RunningTasks(out, *plan);
  const size_t left = summary.missing - std::min(summary.missing, running.size());
  std::string text =
      absl::StrCat("traces   ", results.size(), "\ndone     ", summary.done, "\nsalvaged ", summary.salvaged,
                   "\nfailed   ", summary.failed, "\nrunning  ", running.size(), "\nleft     ", left, "\nmanifest ",
                   FileExists(batch::ManifestPath(out)) ? "written" : "not written yet", "\n");
  for (const auto& [kind, tasks] : summary.failures) {
    absl::StrAppend(&text, "failed, ", kind, ": ", RankText(summary.failed_ranks.at(kind), tasks), "\n");
  }
  for (const std::string& task : running) absl::StrAppend(&text, "running: ", task, "\n");
  context.out.Write(text);
  return kDone;
}

// How the work is done, by the flags.
struct Engine {
  bool is_slurm = false;
  uint64_t memory_bytes = 0;
  double timeout_seconds = 0;
  batch::SlurmOptions slurm;
  bool waits = false;
};

absl::StatusOr<Engine> EngineFrom(const ParsedFlags& flags) {
  Engine engine;
  const std::string name = flags.Get("engine").value_or("local");
  if (name != "local" && name != "slurm") {
    return absl::InvalidArgumentError(absl::StrCat("there is no engine \"", name, "\"; there are local and slurm"));
  }
  engine.is_slurm = name == "slurm";
  for (const char* flag : {"slurm-args", "slurm-tasks", "wait"}) {
    if (!engine.is_slurm && flags.Has(flag)) {
      return absl::InvalidArgumentError(absl::StrCat("--", flag, " belongs to --engine slurm"));
    }
  }
  for (const char* flag : {"memory", "timeout"}) {
    if (engine.is_slurm && flags.Has(flag)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--", flag, " is of the local engine; Slurm has its own limits: ", "--slurm-args '--mem=8G --time=30'"));
    }
  }
  const absl::StatusOr<uint64_t> memory = batch::ParseMemory(flags.Get("memory").value_or("80%"));
  if (!memory.ok()) return memory.status();
  engine.memory_bytes = *memory;
  if (const std::optional<std::string> text = flags.Get("timeout");
      text && (!absl::SimpleAtod(*text, &engine.timeout_seconds) || !(engine.timeout_seconds > 0))) {
    return absl::InvalidArgumentError(absl::StrCat("--timeout takes seconds, not \"", *text, "\""));
  }
  for (const std::string& text : flags.GetAll("slurm-args")) {
    for (absl::string_view word : absl::StrSplit(text, ' ', absl::SkipWhitespace())) {
      engine.slurm.arguments.emplace_back(word);
    }
  }
  const absl::StatusOr<int64_t> per_job = flags.GetInt("slurm-tasks", 0, 1, 1'000'000);
  if (!per_job.ok()) return per_job.status();
  engine.slurm.tasks_per_job = static_cast<size_t>(*per_job);
  engine.waits = flags.Has("wait");
  return engine;
}

int SubmitPlan(const batch::Plan& plan, const std::string& out, const std::vector<size_t>& tasks, size_t skipped_count,
               Engine engine, CommandContext& context) {
  if (tasks.empty()) return Finish(plan, out, {}, "slurm", skipped_count, context);
  const absl::StatusOr<std::string> self = RealPath("/proc/self/exe");
  if (!self.ok()) return context.Fail(self.status());
  engine.slurm.program = *self;
  const absl::StatusOr<batch::SlurmJobs> jobs = batch::SubmitToSlurm(plan, out, tasks, engine.slurm);
  if (!jobs.ok()) return context.Fail(jobs.status());
  context.Warn(absl::StrCat("Slurm job ", jobs->array_job, ": ", tasks.size(), " traces in ", jobs->array_size,
                            " array tasks; job ", jobs->merge_job, " writes the manifest. tracekiln batch --status ",
                            out, " says how far it is"));
  if (!engine.waits) return kDone;
  if (absl::Status status = batch::WaitForSlurm(*jobs, context.is_interrupted); !status.ok()) {
    if (absl::IsCancelled(status)) context.Say(absl::StrCat("interrupted; Slurm goes on with job ", jobs->array_job));
    return context.Fail(status);
  }
  // A merge job that failed would leave no manifest; writing it again changes nothing.
  return Finish(plan, out, {}, "slurm", skipped_count, context);
}

// Does what is left of a plan. `is_new`: it is not in `out` yet.
int RunPlan(const batch::Plan& plan, const std::string& out, bool is_new, const Engine& engine,
            const ParsedFlags& flags, CommandContext& context) {
  for (absl::string_view part : {"/.batch", "/.batch/results", "/.batch/running"}) {
    if (absl::Status status = batch::MakeDirectories(absl::StrCat(out, part)); !status.ok()) {
      return context.Fail(status);
    }
  }
  std::vector<size_t> tasks;
  size_t skipped_count = 0;
  {
    batch::OutLock lock;
    if (absl::Status status = lock.Take(out, /*is_shared=*/false); !status.ok()) return context.Fail(status);
    batch::RemoveStaleFiles(out);
    unlink(absl::StrCat(out, "/.batch/workers.log").c_str());
    if (is_new) {
      if (absl::Status status = batch::WriteFile(batch::PlanPath(out), batch::PlanToJson(plan)); !status.ok()) {
        return context.Fail(status);
      }
    }
    for (size_t i = 0; i < plan.tasks.size(); ++i) {
      // With --force results go first, so that a forced run that is killed continues as any other.
      if (flags.Has("force")) unlink(batch::ResultPath(out, plan.tasks[i].name).c_str());
      if (!batch::IsUpToDate(out, plan, plan.tasks[i], flags.Has("verify"))) tasks.push_back(i);
    }
    skipped_count = plan.tasks.size() - tasks.size();
    if (!tasks.empty()) unlink(batch::ManifestPath(out).c_str());  // until there is a new one, it would be wrong
    if (!engine.is_slurm) {
      batch::LocalOptions local;
      local.jobs = flags.Has("jobs") ? context.executor.concurrency() : CoreCount();
      local.core_count = CoreCount();
      local.memory_bytes = engine.memory_bytes;
      local.timeout_seconds = engine.timeout_seconds;
      local.is_interrupted = context.is_interrupted;
      local.style = context.is_quiet         ? batch::BatchProgress::Style::kQuiet
                    : context.shows_progress ? batch::BatchProgress::Style::kTerminal
                                             : batch::BatchProgress::Style::kPlain;
      local.err = context.err;
      std::map<std::string, batch::Result> lost;
      const absl::Status status = batch::RunLocal(plan, out, std::move(tasks), local, &lost);
      batch::RemoveStaleFiles(out);
      if (absl::IsCancelled(status)) {
        context.Say("interrupted; the same command continues where it stopped");
        return kFailed;
      }
      if (!status.ok()) return context.Fail(status);
      return Finish(plan, out, lost, "local", skipped_count, context);
    }
  }
  // Without the lock: the workers take it.
  return SubmitPlan(plan, out, tasks, skipped_count, engine, context);
}

int Resume(const std::string& out_flag, const ParsedFlags& flags, CommandContext& context) {
  for (const char* flag : {"to", "output", "ranks", "layout", "option", "strict", "salvage", "compress"}) {
    if (flags.Has(flag)) {
      return context.Misused(absl::StrCat("--resume continues a plan as it is; --", flag, " needs a new batch"));
    }
  }
  if (!flags.positional().empty()) return context.Misused("--resume OUT takes no other directory");
  const absl::StatusOr<Engine> engine = EngineFrom(flags);
  if (!engine.ok()) return context.Misused(engine.status().message());
  const absl::StatusOr<std::string> out = RealPath(out_flag);
  if (!out.ok()) return context.Fail(out.status());
  const absl::StatusOr<batch::Plan> plan = batch::ReadPlan(batch::PlanPath(*out));
  if (!plan.ok()) return context.Fail(plan.status());
  return RunPlan(*plan, *out, /*is_new=*/false, *engine, flags, context);
}

int RunBatch(const ParsedFlags& flags, CommandContext& context) {
  if (const std::optional<std::string> out = flags.Get("status")) {
    if (!flags.positional().empty()) return context.Misused("--status OUT stands alone");
    return ShowStatus(*out, context);
  }
  if (const std::optional<std::string> out = flags.Get("resume")) return Resume(*out, flags, context);
  absl::StatusOr<batch::PlanOptions> options = PlanOptionsFrom(flags, context);
  if (!options.ok()) return context.Misused(options.status().message());
  if (flags.positional().size() != 1) return context.Misused("which run? give one directory");
  const std::string& directory = flags.positional()[0];
  const std::string out_flag = flags.Get("output").value_or("");
  if (out_flag.empty()) return context.Misused("where to? give a directory with -o OUT");
  const absl::StatusOr<Engine> engine = EngineFrom(flags);
  if (!engine.ok()) return context.Misused(engine.status().message());

  const absl::StatusOr<std::string> real = RealPath(directory);
  if (!real.ok()) return context.Fail(real.status());
  if (absl::Status status = CheckOut(out_flag, flags.Has("force")); !status.ok()) {
    return context.Misused(status.message());
  }
  if (const absl::StatusOr<std::string> real_out = RealPath(out_flag); real_out.ok()) {
    if (*real_out == *real) return context.Misused("the output can't go into the run directory itself");
    const std::string prefix = *real == "/" ? *real : absl::StrCat(*real, "/");
    if (absl::StartsWith(*real_out, prefix)) options->excluded = real_out->substr(prefix.size());
  }
  dataset::ScanOptions scan_options;
  scan_options.layout = flags.Get("layout").value_or("");
  const absl::StatusOr<dataset::Dataset> dataset =
      dataset::ScanDataset(*real, scan_options, context.formats, context.executor);
  if (!dataset.ok()) {
    return flags.Has("layout") && absl::IsInvalidArgument(dataset.status())
               ? context.Misused(dataset.status().message())
               : context.Fail(dataset.status());
  }
  const absl::StatusOr<batch::Plan> plan = batch::MakePlan(*dataset, *real, *options);
  if (!plan.ok())
    return context.Fail(absl::InvalidArgumentError(absl::StrCat(directory, ": ", plan.status().message())));
  for (const batch::Finding& finding : plan->findings) {
    if (finding.severity == "warning") context.Warn(absl::StrCat(finding.code, ": ", finding.detail));
  }
  for (const std::string& sentence : plan->not_converted) context.Warn(OneLine(sentence));

  if (absl::Status status = batch::MakeDirectories(out_flag); !status.ok()) return context.Fail(status);
  const absl::StatusOr<std::string> out = RealPath(out_flag);
  if (!out.ok()) return context.Fail(out.status());
  return RunPlan(*plan, *out, /*is_new=*/true, *engine, flags, context);
}

// The directory of the batch whose plan that is; empty if it is none.
std::string OutOfPlan(const ParsedFlags& flags) {
  const std::string path = flags.Get("plan").value_or("");
  return absl::EndsWith(path, kPlanEnd) ? path.substr(0, path.size() - kPlanEnd.size()) : "";
}

int RunWorker(const ParsedFlags& flags, CommandContext& context) {
  const std::string out = OutOfPlan(flags);
  if (out.empty()) return context.Misused("--plan OUT/.batch/plan.json is missing");
  const absl::StatusOr<batch::Plan> plan = batch::ReadPlan(batch::PlanPath(out));
  if (!plan.ok()) return context.Fail(plan.status());
  const std::string text = flags.Get("task").value_or("");
  const absl::StatusOr<batch::RankSet> range = batch::ParseRanks(text);
  if (!range.ok() || range->size() != 1 || range->front().second >= static_cast<int64_t>(plan->tasks.size())) {
    return context.Misused(absl::StrCat("--task takes a number or a range below ", plan->tasks.size()));
  }
  const size_t first = static_cast<size_t>(range->front().first);
  const size_t last = static_cast<size_t>(range->front().second);
  const bool is_child = flags.Has("child");  // of an engine that has the lock and reads descriptor 3
  batch::OutLock lock;
  if (!is_child) {
    if (absl::Status status = lock.Take(out, /*is_shared=*/true); !status.ok()) return context.Fail(status);
  }
  if (!is_child) {
    // Each task in a process of its own, one after the other.
    std::vector<size_t> tasks;
    for (size_t i = first; i <= last; ++i) {
      if (!batch::IsUpToDate(out, *plan, plan->tasks[i], /*verifies=*/false)) tasks.push_back(i);
    }
    batch::LocalOptions local;
    local.core_count = context.executor.concurrency();
    local.memory_bytes = 1;  // one at a time in any case
    local.is_interrupted = context.is_interrupted;
    local.err = context.err;
    std::map<std::string, batch::Result> lost;
    if (absl::Status status = batch::RunLocal(*plan, out, std::move(tasks), local, &lost); !status.ok()) {
      return context.Fail(status);
    }
    if (!lost.empty()) return context.Fail(absl::InternalError("results could not be written"));
    std::vector<int> codes;
    for (size_t i = first; i <= last; ++i) {
      const absl::StatusOr<batch::Result> result = batch::ReadResult(out, plan->tasks[i].name);
      codes.push_back(!result.ok() || result->state == batch::State::kFailed ? kFailed
                      : result->state == batch::State::kSalvaged             ? kDoneWithLosses
                                                                             : kDone);
    }
    return CombinedStatus(codes);
  }
  const batch::Task& task = plan->tasks[first];
  batch::ProgressPipe pipe(3);
  batch::WorkerOptions options;
  options.is_interrupted = context.is_interrupted;
  options.progress = [&](uint64_t done, uint64_t total, uint64_t events) { pipe.Write(done, total, events); };
  // That nobody can see who works is no reason not to.
  batch::MarkRunning(out, task.name).IgnoreError();
  const batch::Result result = batch::RunTask(*plan, task, out, context.formats, context.executor, options);
  batch::UnmarkRunning(out, task.name);
  if (result.error_kind == "interrupted") return kFailed;
  if (absl::Status status = batch::WriteResult(out, result); !status.ok()) return context.Fail(status);
  return result.state == batch::State::kDone       ? kDone
         : result.state == batch::State::kSalvaged ? kDoneWithLosses
                                                   : kFailed;
}

int RunMerge(const ParsedFlags& flags, CommandContext& context) {
  const std::string out = OutOfPlan(flags);
  if (out.empty()) return context.Misused("--plan OUT/.batch/plan.json is missing");
  const absl::StatusOr<batch::Plan> plan = batch::ReadPlan(batch::PlanPath(out));
  if (!plan.ok()) return context.Fail(plan.status());
  return Finish(*plan, out, {}, flags.Get("engine").value_or("local"), 0, context);
}

}  // namespace

const Command& BatchCommand() {
  static const Command* const command = [] {
    auto* c = new Command{
        "batch",
        "DIR --to FORMAT,… -o OUT",
        "convert all traces of a run directory",
        "Finds what belongs to which rank (tracekiln info DIR says it) and writes OUT/FORMAT/rank-N.EXT for all of\n"
        "them, several at once, each in a process of its own. OUT/manifest.json says of each rank what was read and\n"
        "written, and what failed. One broken rank stops no other: exit status 3, and a summary by kind of failure.\n"
        "The same command again continues an interrupted run, and skips what is done and unchanged. Chrome JSON is\n"
        "compressed unless --compress says otherwise.",
        "  tracekiln batch run7/ --to kiln -o run7-kiln\n"
        "  tracekiln batch run7/ --to pstats,chrome --ranks 0-7 -o first-node\n"
        "  tracekiln batch run7/ --to kiln -o run7-kiln --engine slurm --slurm-args '--partition=cpu "
        "--cpus-per-task=2'\n"
        "  tracekiln batch --status run7-kiln\n"
        "  tracekiln batch --resume run7-kiln",
        {},
        RunBatch};
    c->flags = {
        {"to", 't', "FORMAT[,FORMAT]", "formats to write; tracekiln formats lists them"},
        {"output", 'o', "OUT", "directory to write to: new, empty, or of an earlier batch"},
        {"ranks", 0, "LIST", "only these, such as 0,3,8-15"},
        {"layout", 0, "RE2", "rule for paths, with groups named rank, step, run or kind, instead of the known layouts"},
        {"memory", 0, "SIZE", "what all workers together may use: 8GB, or 80% of the machine's (default)"},
        {"jobs", 'j', "N", "traces at the same time; default: as many as --memory allows, at most one per core"},
        {"timeout", 0, "SECONDS", "end a trace that takes longer; default: never"},
        {"compress", 0, "HOW", "of Chrome JSON: none, gzip (default) or zstd, also with a level (zstd:9)"},
        {"force", 0, "", "do again what is done"},
        {"verify", 0, "", "compare digests, not times and sizes, to know whether something is done"},
        {"engine", 0, "local|slurm", "who does the work: this machine (default) or a Slurm cluster"},
        {"slurm-args", 0, "ARGS", "for sbatch, split at blanks, repeatable: '--partition=cpu --mem=4G'"},
        {"slurm-tasks", 0, "N", "traces per array task; default: 1, more for over 1,000 traces"},
        {"wait", 0, "", "with Slurm: wait for the end"},
        {"status", 0, "OUT", "say how far the batch in OUT is, and do nothing"},
        {"resume", 0, "OUT", "do what is left of the batch in OUT, also by another engine"},
    };
    for (const Flag& flag : ReadFlags()) {
      if (flag.name != "from") c->flags.push_back(flag);
    }
    return c;
  }();
  return *command;
}

const Command& BatchWorkerCommand() {
  static const Command* const command = [] {
    auto* c = new Command{"batch-worker",
                          "--plan OUT/.batch/plan.json --task K",
                          "do tasks of a batch; for engines",
                          "",
                          "  tracekiln batch-worker --plan out/.batch/plan.json --task 0-15",
                          {},
                          RunWorker};
    c->flags = {
        {"plan", 0, "PATH", "what batch wrote"},
        {"task", 0, "K|K-L", "numbers of tasks in the plan, from 0; those that are done are skipped"},
        {"child", 0, "", "started by an engine that has the lock; progress goes to descriptor 3"},
    };
    c->is_hidden = true;
    return c;
  }();
  return *command;
}

const Command& BatchMergeCommand() {
  static const Command* const command = [] {
    auto* c = new Command{"batch-merge",
                          "--plan OUT/.batch/plan.json",
                          "write the manifest of a batch from its results; for engines",
                          "",
                          "  tracekiln batch-merge --plan out/.batch/plan.json",
                          {},
                          RunMerge};
    c->flags = {
        {"plan", 0, "PATH", "what batch wrote"},
        {"engine", 0, "NAME", "who did the work, for the manifest"},
    };
    c->is_hidden = true;
    return c;
  }();
  return *command;
}

}  // namespace tracekiln::tools
