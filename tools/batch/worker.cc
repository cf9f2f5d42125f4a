#include "tools/batch/worker.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "formats/format/detect.h"
#include "formats/format/spool.h"
#include "formats/io/input.h"
#include "formats/io/output.h"
#include "formats/json/writer.h"
#include "tools/output_directory.h"
#include "tools/output_path.h"
#include "tools/report_json.h"

namespace tracekiln::batch {
namespace {

// Tells the progress, stops when interrupted, remembers how the source failed.
class WatchedSource final : public TraceSource {
 public:
  WatchedSource(std::unique_ptr<TraceSource> source, const WorkerOptions& options)
      : source_(std::move(source)), options_(options) {}

  absl::StatusOr<bool> Next(EventBatch* batch) override {
    if (options_.is_interrupted != nullptr && *options_.is_interrupted) return failure_ = absl::CancelledError();
    absl::StatusOr<bool> more = source_->Next(batch);
    if (!more.ok()) failure_ = more.status();
    if (more.ok() && *more) event_count_ += batch->rows();
    if (options_.progress) {
      const Progress progress = source_->progress();
      options_.progress(progress.done_bytes, progress.total_bytes, event_count_);
    }
    return more;
  }
  absl::Status Rewind() override {
    event_count_ = 0;
    return source_->Rewind();
  }
  bool can_rewind() const override { return source_->can_rewind(); }
  const TraceInfo& info() const override { return source_->info(); }
  const Profile* profile() const override { return source_->profile(); }
  const Graph* graph() const override { return source_->graph(); }
  Progress progress() const override { return source_->progress(); }

  const absl::Status& failure() const { return failure_; }

 private:
  const std::unique_ptr<TraceSource> source_;
  const WorkerOptions& options_;
  uint64_t event_count_ = 0;
  absl::Status failure_;
};

// Files of a task that makes several, with their paths.
class NotingDirectory final : public OutputDirectory {
 public:
  explicit NotingDirectory(tools::DirectoryOutput& to) : to_(to) {}
  absl::StatusOr<std::unique_ptr<io::ByteSink>> Create(absl::string_view name) override {
    absl::StatusOr<std::unique_ptr<io::ByteSink>> sink = to_.Create(name);
    if (sink.ok()) {
      names_.emplace(name);
    } else {
      failure_ = sink.status();
    }
    return sink;
  }
  const std::set<std::string>& names() const { return names_; }
  const absl::Status& failure() const { return failure_; }

 private:
  tools::DirectoryOutput& to_;
  std::set<std::string> names_;
  absl::Status failure_;
};

std::string InputKind(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kDataLoss: return "truncated";
    case absl::StatusCode::kInvalidArgument: return "damaged";
    case absl::StatusCode::kUnimplemented: return "unsupported";
    case absl::StatusCode::kResourceExhausted: return "too_big";
    case absl::StatusCode::kFailedPrecondition: return "not_convertible";
    case absl::StatusCode::kInternal: return "internal";
    case absl::StatusCode::kCancelled: return "interrupted";
    default: return "unreadable";
  }
}

std::string OutputKind(const absl::Status& status) {
  return status.code() == absl::StatusCode::kResourceExhausted ? "disk_full" : "unwritable";
}

class TaskRun {
 public:
  TaskRun(const Plan& plan, const Task& task, const std::string& out, absl::Span<const Format* const> formats,
          io::Executor& executor, const WorkerOptions& options)
      : plan_(plan),
        task_(task),
        out_(out),
        formats_(formats),
        executor_(executor),
        options_(options),
        input_path_(absl::StrCat(plan.directory, "/", task.input)) {}

  Result Run() {
    const auto start = std::chrono::steady_clock::now();
    result_.task = task_.name;
    result_.request = RequestText(plan_, task_);
    RemoveOutputs(out_, plan_, task_);
    if (Convert()) {
      result_.state = is_salvaged_ ? State::kSalvaged : State::kDone;
    } else {
      result_.state = State::kFailed;
      result_.outputs.clear();
      RemoveOutputs(out_, plan_, task_);
    }
    result_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    result_.peak_memory_bytes = PeakMemoryBytes();
    result_.thread_count = executor_.concurrency();
    char host[256] = {};
    if (gethostname(host, sizeof(host) - 1) == 0) result_.host = host;
    return std::move(result_);
  }

 private:
  bool Fail(absl::string_view kind, const absl::Status& status) {
    result_.error_kind = std::string(kind);
    result_.error = status.message().empty() ? status.ToString() : std::string(status.message());
    return false;
  }

  // Whether the input is still the file whose digest was taken.
  bool CheckUnchanged() {
    const absl::StatusOr<FileFacts> now = StatFile(input_path_);
    if (!now.ok()) return Fail("changed", now.status());
    if (now->size_bytes == result_.input->size_bytes && now->mtime_ns == result_.input->mtime_ns) return true;
    return Fail("changed", absl::AbortedError(absl::StrCat(input_path_, ": was changed while it was being read")));
  }

  bool OpenSource() {
    absl::StatusOr<FileFacts> facts = StatFile(input_path_);
    if (!facts.ok()) return Fail("unreadable", facts.status());
    facts->path = task_.input;
    const absl::StatusOr<uint32_t> crc = DigestFile(input_path_);
    if (!crc.ok()) return Fail("unreadable", crc.status());
    facts->crc32c = *crc;
    result_.input = *facts;

    absl::StatusOr<std::unique_ptr<io::Input>> input = io::OpenInput(input_path_);
    if (!input.ok()) {
      return Fail(input.status().code() == absl::StatusCode::kDataLoss ? "truncated" : "unreadable", input.status());
    }
    for (const std::string& note : (*input)->notes()) result_.notes.push_back(note);
    const absl::StatusOr<const Format*> format = DetectFormat(formats_, (*input)->Head(), (*input)->name());
    if (!format.ok()) return Fail("no_trace", format.status());
    if ((*format)->open == nullptr) {
      return Fail("no_trace",
                  absl::UnimplementedError(absl::StrCat(input_path_, ": ", (*format)->name, " can't be read")));
    }
    ImportOptions import_options;
    import_options.strict = plan_.is_strict;
    import_options.salvage = plan_.is_salvaging;
    import_options.format = OptionsFor(plan_.options, (*format)->import_options);
    absl::StatusOr<std::unique_ptr<TraceSource>> source = (*format)->open(*std::move(input), import_options, executor_);
    if (!source.ok()) return Fail(InputKind(source.status()), source.status());
    auto watched = std::make_unique<WatchedSource>(*std::move(source), options_);
    watched_ = watched.get();
    source_ = std::move(watched);
    return true;
  }

  // Outputs in the order of the plan, but the .kiln first.
  std::vector<const Output*> Ordered() const {
    std::vector<const Output*> outputs;
    for (const Output& output : task_.outputs) outputs.push_back(&output);
    std::stable_partition(outputs.begin(), outputs.end(), [](const Output* o) { return o->format == "kiln"; });
    return outputs;
  }

  bool Convert() {
    if (!OpenSource()) return false;
    const std::vector<const Output*> outputs = Ordered();
    bool is_first = true;
    for (const Output* output : outputs) {
      const Format* const to = FindFormatByName(formats_, output->format);
      if (to == nullptr || to->write == nullptr) {
        return Fail("internal", absl::InternalError(absl::StrCat("no format ", output->format)));
      }
      const bool is_kiln_pass = is_first && outputs.size() > 1 && output->format == "kiln";
      const bool is_read_again = outputs.size() > 1 && !is_kiln_pass;
      if ((to->needs_rewind || is_read_again) && !source_->can_rewind()) {
        absl::StatusOr<std::unique_ptr<TraceSource>> rewindable = MakeRewindable(std::move(source_), executor_);
        if (!rewindable.ok()) return Fail(InputKind(rewindable.status()), rewindable.status());
        Replace(*std::move(rewindable));
        if (!CheckUnchanged()) return false;
      }
      if (!is_first) {
        if (absl::Status status = source_->Rewind(); !status.ok()) return Fail("internal", status);
      }
      if (!Write(*to, *output)) return false;
      if (is_first) TakeReport();
      if ((to->capabilities & kProfile) == 0 && source_->profile() != nullptr) {
        result_.notes.push_back(absl::StrCat("its profile section is not in the ", to->name, " file"));
      }
      is_first = false;
      if (is_kiln_pass && !source_->can_rewind()) {
        // The others read what was just written instead of the input.
        const std::string path = absl::StrCat(out_, "/", output->path);
        absl::StatusOr<std::unique_ptr<io::Input>> input = io::OpenInput(path);
        if (!input.ok()) return Fail("unwritable", input.status());
        absl::StatusOr<std::unique_ptr<TraceSource>> again = to->open(*std::move(input), {}, executor_);
        if (!again.ok()) return Fail("internal", again.status());
        Replace(*std::move(again));
      }
    }
    std::sort(result_.outputs.begin(), result_.outputs.end(),
              [](const FileFacts& a, const FileFacts& b) { return a.path < b.path; });
    return true;
  }

  void Replace(std::unique_ptr<TraceSource> source) {
    auto watched = std::make_unique<WatchedSource>(std::move(source), options_);
    watched_ = watched.get();
    source_ = std::move(watched);
  }

  void TakeReport() {
    const ImportReport& report = source_->info().report;
    is_salvaged_ = report.salvaged;
    json::Writer w(&result_.report);
    tools::WriteReport(report, &w);
  }

  bool AddOutput(const std::string& path) {
    absl::StatusOr<FileFacts> facts = StatFile(absl::StrCat(out_, "/", path));
    if (!facts.ok()) return Fail("unwritable", facts.status());
    facts->path = path;
    facts->mtime_ns.reset();
    const absl::StatusOr<uint32_t> crc = DigestFile(absl::StrCat(out_, "/", path));
    if (!crc.ok()) return Fail("unwritable", crc.status());
    facts->crc32c = *crc;
    result_.outputs.push_back(*std::move(facts));
    return true;
  }

  bool Write(const Format& to, const Output& output) {
    ExportOptions options;
    options.format = OptionsFor(plan_.options, to.export_options);
    options.note = [&](absl::string_view sentence) { result_.notes.push_back(absl::StrCat(to.name, ": ", sentence)); };
    const std::string path = absl::StrCat(out_, "/", output.path);
    const std::string parent = output.is_directory ? path : path.substr(0, path.rfind('/'));
    if (absl::Status status = MakeDirectories(parent); !status.ok()) return Fail(OutputKind(status), status);

    if (output.is_directory) {
      tools::DirectoryOutput files(path, {.replaces = true, .never = {input_path_}});
      NotingDirectory directory(files);
      const absl::Status status = to.write_directory(*source_, options, directory, executor_);
      if (!status.ok()) return FailWriting(status, directory.failure());
      if (!CheckUnchanged()) return false;
      for (const std::string& name : directory.names()) {
        if (!AddOutput(absl::StrCat(output.path, "/", name))) return false;
      }
      return true;
    }
    if (tools::IsSameFile(path, input_path_)) {
      return Fail("unwritable", absl::AlreadyExistsError(absl::StrCat(path, ": is the input itself")));
    }
    io::OutputOptions output_options;
    output_options.compression = io::CompressionForPath(path);
    const size_t colon = plan_.compress.find(':');
    int level = 0;
    if (output_options.compression != io::Compression::kNone && colon != std::string::npos &&
        absl::SimpleAtoi(plan_.compress.substr(colon + 1), &level)) {
      output_options.level = level;
    }
    output_options.executor = &executor_;
    absl::StatusOr<std::unique_ptr<io::ByteSink>> sink = io::CreateOutput(path, output_options);
    if (!sink.ok()) return Fail(OutputKind(sink.status()), sink.status());
    const absl::Status status = to.write(*source_, options, **sink, executor_);
    if (!status.ok()) return FailWriting(status, (*sink)->status());
    if (!CheckUnchanged()) return false;
    const absl::Status closed = (*sink)->Close();
    return closed.ok() ? AddOutput(output.path) : Fail(OutputKind(closed), closed);
  }

  // A failure of `write` is the source's, the output's, or the format's own.
  bool FailWriting(const absl::Status& status, const absl::Status& output) {
    if (!watched_->failure().ok()) return Fail(InputKind(watched_->failure()), status);
    if (!output.ok() || status.code() == absl::StatusCode::kResourceExhausted ||
        status.code() == absl::StatusCode::kPermissionDenied) {
      return Fail(OutputKind(status), status);
    }
    return Fail(status.code() == absl::StatusCode::kFailedPrecondition ? "not_convertible" : InputKind(status), status);
  }

  const Plan& plan_;
  const Task& task_;
  const std::string& out_;
  const absl::Span<const Format* const> formats_;
  io::Executor& executor_;
  const WorkerOptions& options_;
  const std::string input_path_;
  Result result_;
  bool is_salvaged_ = false;
  std::unique_ptr<TraceSource> source_;
  WatchedSource* watched_ = nullptr;  // source_
};

}  // namespace

Result RunTask(const Plan& plan, const Task& task, const std::string& out, absl::Span<const Format* const> formats,
               io::Executor& executor, const WorkerOptions& options) {
  return TaskRun(plan, task, out, formats, executor, options).Run();
}

uint64_t PeakMemoryBytes() {
  const absl::StatusOr<std::string> text = ReadFile("/proc/self/status");
  if (!text.ok()) return 0;
  const size_t at = text->find("VmHWM:");
  if (at == std::string::npos) return 0;
  absl::string_view rest = absl::string_view(*text).substr(at + 6);
  rest = rest.substr(0, rest.find("kB"));
  uint64_t kilobytes = 0;
  return absl::SimpleAtoi(rest, &kilobytes) ? kilobytes * 1024 : 0;
}

}  // namespace tracekiln::batch
