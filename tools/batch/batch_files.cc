#include "tools/batch/batch_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <re2/re2.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "formats/io/crc32c.h"
#include "formats/io/output.h"
#include "formats/json/canonical.h"
#include "formats/json/writer.h"
#include "tools/batch/json_fields.h"
#include "tools/output_path.h"

namespace tracekiln::batch {
namespace {

constexpr size_t kPieceBytes = 1 << 20;
constexpr int kFirstLockFd = 10;

absl::string_view StateName(State state) {
  return state == State::kDone ? "done" : state == State::kSalvaged ? "salvaged" : "failed";
}

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

std::string RunningPath(const std::string& out, const std::string& task) {
  return absl::StrCat(out, "/.batch/running/", task, ".json");
}

absl::Status FileError(const std::string& path, absl::string_view what) {
  return absl::ErrnoToStatus(errno, absl::StrCat(path, ": ", what));
}

// Calls use(bytes) for pieces of the file.
template <typename Use>
absl::Status ForEachPiece(const std::string& path, Use&& use) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return FileError(path, "cannot open");
  std::string piece(kPieceBytes, '\0');
  absl::Status status;
  for (;;) {
    const ssize_t size = read(fd, piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) status = FileError(path, "cannot read");
    if (size <= 0) break;
    use(absl::string_view(piece.data(), static_cast<size_t>(size)));
  }
  close(fd);
  return status;
}

void WriteFacts(const FileFacts& facts, json::Writer* w) {
  w->BeginObject();
  WritePath("path", facts.path, w);
  w->Key("size_bytes"), w->Uint(facts.size_bytes);
  if (facts.mtime_ns) w->Key("mtime_ns"), w->Int(*facts.mtime_ns);
  if (facts.crc32c) w->Key("crc32c"), w->String(absl::StrFormat("%08x", *facts.crc32c));
  w->EndObject();
}

FileFacts ReadFacts(absl::string_view canonical) {
  const Fields fields(canonical);
  FileFacts facts;
  facts.path = fields.Path("path");
  facts.size_bytes = static_cast<uint64_t>(fields.Int("size_bytes").value_or(0));
  facts.mtime_ns = fields.Int("mtime_ns");
  uint32_t crc = 0;
  const std::string digest = fields.Text("crc32c");
  if (digest.size() == 8 && absl::SimpleHexAtoi(digest, &crc)) facts.crc32c = crc;
  return facts;
}

// The members that depend on inputs, options and outcome only.
void WriteOutcome(const Result& result, json::Writer* w) {
  w->Key("state"), w->String(StateName(result.state));
  w->Key("inputs");
  w->BeginArray();
  if (result.input) WriteFacts(*result.input, w);
  w->EndArray();
  w->Key("outputs");
  w->BeginArray();
  for (const FileFacts& output : result.outputs) WriteFacts(output, w);
  w->EndArray();
  if (!result.report.empty()) w->Key("report"), w->Json(result.report);
  w->Key("notes");
  w->BeginArray();
  for (const std::string& note : result.notes) w->String(note);
  w->EndArray();
  if (result.state == State::kFailed) {
    w->Key("error");
    w->BeginObject();
    w->Key("kind"), w->String(result.error_kind);
    w->Key("message"), w->String(result.error);
    w->EndObject();
  }
}

void WriteMeasured(const Result& result, json::Writer* w) {
  w->BeginObject();
  w->Key("seconds"), w->Double(result.seconds);
  w->Key("peak_memory_bytes"), w->Uint(result.peak_memory_bytes);
  w->Key("host"), w->String(result.host);
  w->Key("threads"), w->Int(result.thread_count);
  w->EndObject();
}

bool IsTemporary(const std::string& name) {
  static const RE2* const pattern = new RE2(R"(\.tmp-\d+-\d+$)");
  return RE2::PartialMatch(name, *pattern);
}

// A process that has ended stays visible until its parent asks for its status, which some containers' first process
// never does.
bool IsAlive(int64_t pid) {
  if (pid <= 0 || (kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH)) return false;
  const absl::StatusOr<std::string> stat = ReadFile(absl::StrCat("/proc/", pid, "/stat"));
  if (!stat.ok()) return true;
  const size_t name_end = stat->rfind(") ");
  return name_end == std::string::npos || stat->compare(name_end + 2, 2, "Z ") != 0;
}

void EmptyDirectory(const std::string& path) {
  DIR* const dir = opendir(path.c_str());
  if (dir == nullptr) return;
  while (const dirent* entry = readdir(dir)) {
    const std::string file = absl::StrCat(path, "/", entry->d_name);
    struct stat st;
    if (lstat(file.c_str(), &st) == 0 && S_ISREG(st.st_mode)) unlink(file.c_str());
  }
  closedir(dir);
}

void RemoveTemporaries(const std::string& directory, int depth) {
  DIR* const dir = opendir(directory.c_str());
  if (dir == nullptr) return;
  while (const dirent* entry = readdir(dir)) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    const std::string path = absl::StrCat(directory, "/", name);
    struct stat st;
    if (lstat(path.c_str(), &st) != 0) continue;
    if (S_ISDIR(st.st_mode)) {
      if (depth > 0) RemoveTemporaries(path, depth - 1);
    } else if (S_ISREG(st.st_mode) && IsTemporary(name)) {
      unlink(path.c_str());
    }
  }
  closedir(dir);
}

}  // namespace

std::string PlanPath(const std::string& out) { return absl::StrCat(out, "/.batch/plan.json"); }
std::string ResultPath(const std::string& out, const std::string& task) {
  return absl::StrCat(out, "/.batch/results/", task, ".json");
}
std::string ManifestPath(const std::string& out) { return absl::StrCat(out, "/manifest.json"); }

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::string text;
  if (absl::Status status =
          ForEachPiece(path, [&](absl::string_view piece) { text.append(piece.data(), piece.size()); });
      !status.ok()) {
    return status;
  }
  return text;
}

absl::Status WriteFile(const std::string& path, absl::string_view text) {
  io::OutputOptions options;
  options.is_durable = false;
  absl::StatusOr<std::unique_ptr<io::ByteSink>> sink = io::CreateOutput(path, options);
  if (!sink.ok()) return sink.status();
  (*sink)->Write(text);
  return (*sink)->Close();
}

absl::Status MakeDirectories(const std::string& path) {
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (mkdir(part.c_str(), 0777) != 0) {
      const int error = errno;
      struct stat st;
      if (stat(part.c_str(), &st) != 0 || !S_ISDIR(st.st_mode)) {
        errno = error == EEXIST ? ENOTDIR : error;
        return FileError(part, "cannot make this directory");
      }
    }
    if (slash == std::string::npos) return absl::OkStatus();
  }
}

absl::StatusOr<bool> IsEmptyDirectory(const std::string& path) {
  DIR* const dir = opendir(path.c_str());
  if (dir == nullptr) return FileError(path, "cannot open");
  size_t name_count = 0;
  while (readdir(dir) != nullptr) ++name_count;
  closedir(dir);
  return name_count <= 2;  // "." and ".."
}

absl::StatusOr<FileFacts> StatFile(const std::string& path) {
  struct stat st;
  if (stat(path.c_str(), &st) != 0) return FileError(path, "cannot open");
  // To open a pipe would be to wait for somebody who writes into it.
  if (!S_ISREG(st.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": expected a file, got a ", S_ISDIR(st.st_mode) ? "directory" : "device, pipe or socket"));
  }
  FileFacts facts;
  facts.path = path;
  facts.size_bytes = static_cast<uint64_t>(st.st_size);
  facts.mtime_ns = static_cast<int64_t>(st.st_mtim.tv_sec) * 1'000'000'000 + st.st_mtim.tv_nsec;
  return facts;
}

absl::StatusOr<uint32_t> DigestFile(const std::string& path) {
  uint32_t crc = 0;
  if (absl::Status status = ForEachPiece(path, [&](absl::string_view piece) { crc = io::ExtendCrc32c(crc, piece); });
      !status.ok()) {
    return status;
  }
  return crc;
}

absl::StatusOr<Plan> ReadPlan(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) return text.status();
  absl::StatusOr<Plan> plan = PlanFromJson(*text);
  if (!plan.ok()) return absl::InvalidArgumentError(absl::StrCat(path, ": ", plan.status().message()));
  return plan;
}

absl::Status WriteResult(const std::string& out, const Result& result) {
  std::string text;
  {
    json::Writer w(&text, {.break_depth = 1, .indent = 1, .blank_after_colon = true});
    w.BeginObject();
    w.Key("task"), w.String(result.task);
    w.Key("request"), w.String(result.request);
    WriteOutcome(result, &w);
    w.Key("measured"), WriteMeasured(result, &w);
    w.EndObject();
  }
  text.push_back('\n');
  return WriteFile(ResultPath(out, result.task), text);
}

absl::StatusOr<Result> ReadResult(const std::string& out, const std::string& task) {
  const std::string path = ResultPath(out, task);
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) return text.status();
  const absl::StatusOr<std::string> canonical = Canonical(*text);
  if (!canonical.ok()) return absl::InvalidArgumentError(absl::StrCat(path, ": ", canonical.status().message()));
  const Fields fields(*canonical);
  Result result;
  result.task = fields.Text("task");
  result.request = fields.Text("request");
  const std::string state = fields.Text("state");
  if (result.task != task || (state != "done" && state != "salvaged" && state != "failed")) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": this is no result of ", task));
  }
  result.state = state == "done" ? State::kDone : state == "salvaged" ? State::kSalvaged : State::kFailed;
  for (absl::string_view input : fields.Array("inputs")) result.input = ReadFacts(input);
  for (absl::string_view output : fields.Array("outputs")) result.outputs.push_back(ReadFacts(output));
  result.report = std::string(fields.Raw("report"));
  for (absl::string_view note : fields.Array("notes")) {
    result.notes.push_back(json::AsString(note).value_or(""));
  }
  const Fields error(fields.Raw("error"));
  result.error_kind = error.Text("kind");
  result.error = error.Text("message");
  const Fields measured(fields.Raw("measured"));
  double seconds = 0;
  if (absl::SimpleAtod(measured.Raw("seconds"), &seconds)) result.seconds = seconds;
  result.peak_memory_bytes = static_cast<uint64_t>(measured.Int("peak_memory_bytes").value_or(0));
  result.host = measured.Text("host");
  result.thread_count = static_cast<int>(measured.Int("threads").value_or(0));
  return result;
}

bool IsUpToDate(const std::string& out, const Plan& plan, const Task& task, bool verifies) {
  const absl::StatusOr<Result> result = ReadResult(out, task.name);
  if (!result.ok() || result->state == State::kFailed || !result->input || result->outputs.empty()) return false;
  if (result->request != RequestText(plan, task)) return false;
  const std::string input = absl::StrCat(plan.directory, "/", task.input);
  const absl::StatusOr<FileFacts> now = StatFile(input);
  if (!now.ok() || now->size_bytes != result->input->size_bytes) return false;
  // With digests the time does not matter: a copy of the same bytes is the same input.
  if (!verifies && now->mtime_ns != result->input->mtime_ns) return false;
  if (verifies) {
    const absl::StatusOr<uint32_t> crc = DigestFile(input);
    if (!crc.ok() || result->input->crc32c != *crc) return false;
  }
  for (const FileFacts& output : result->outputs) {
    const std::string path = absl::StrCat(out, "/", output.path);
    const absl::StatusOr<FileFacts> there = StatFile(path);
    if (!there.ok() || there->size_bytes != output.size_bytes) return false;
    if (verifies) {
      const absl::StatusOr<uint32_t> crc = DigestFile(path);
      if (!crc.ok() || output.crc32c != *crc) return false;
    }
  }
  return true;
}

void RemoveOutputs(const std::string& out, const Plan& plan, const Task& task) {
  const std::string input = absl::StrCat(plan.directory, "/", task.input);
  for (const Output& output : task.outputs) {
    const std::string path = absl::StrCat(out, "/", output.path);
    if (output.is_directory) {
      EmptyDirectory(path);
      rmdir(path.c_str());
    } else if (!tools::IsSameFile(path, input)) {
      unlink(path.c_str());
    }
  }
}

void RemoveStaleFiles(const std::string& out) {
  RemoveTemporaries(out, 4);
  const std::string running = absl::StrCat(out, "/.batch/running");
  DIR* const dir = opendir(running.c_str());
  if (dir == nullptr) return;
  while (const dirent* entry = readdir(dir)) {
    if (absl::EndsWith(entry->d_name, ".json")) unlink(absl::StrCat(running, "/", entry->d_name).c_str());
  }
  closedir(dir);
}

absl::Status MarkRunning(const std::string& out, const std::string& task) {
  std::string text;
  {
    json::Writer w(&text);
    w.BeginObject();
    w.Key("host"), w.String(HostName());
    w.Key("pid"), w.Int(getpid());
    w.EndObject();
  }
  return WriteFile(RunningPath(out, task), text);
}

void UnmarkRunning(const std::string& out, const std::string& task) { unlink(RunningPath(out, task).c_str()); }

std::vector<std::string> RunningTasks(const std::string& out, const Plan& plan) {
  std::vector<std::string> running;
  for (const Task& task : plan.tasks) {
    const absl::StatusOr<std::string> text = ReadFile(RunningPath(out, task.name));
    if (!text.ok()) continue;
    const absl::StatusOr<std::string> canonical = Canonical(*text);
    if (!canonical.ok()) continue;
    const Fields fields(*canonical);
    const int64_t pid = fields.Int("pid").value_or(0);
    const bool is_here = fields.Text("host") == HostName();
    if (is_here && !IsAlive(pid)) continue;
    running.push_back(task.name);
  }
  return running;
}

OutLock::~OutLock() {
  if (fd_ >= 0) close(fd_);
}

absl::Status OutLock::Take(const std::string& out, bool is_shared) {
  const std::string path = absl::StrCat(out, "/.batch/lock");
  // Not closed on exec: workers shall inherit it, under a number that nothing else is put on.
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) return FileError(path, "cannot open for writing");
  fd_ = fcntl(fd, F_DUPFD, kFirstLockFd);
  close(fd);
  if (fd_ < 0) return FileError(path, "cannot open for writing");
  for (int i = 0;; ++i) {
    if (flock(fd_, (is_shared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0) return absl::OkStatus();
    if (errno == ENOLCK || errno == EOPNOTSUPP || errno == ENOSYS) return absl::OkStatus();
    if (errno != EWOULDBLOCK && errno != EINTR) return FileError(path, "cannot lock");
    if (i == 100) return absl::UnavailableError(absl::StrCat(out, ": another batch is working here"));
    usleep(100'000);
  }
}

std::vector<std::optional<Result>> ReadResults(const std::string& out, const Plan& plan,
                                               const std::map<std::string, Result>& known) {
  std::vector<std::optional<Result>> results;
  for (const Task& task : plan.tasks) {
    const auto it = known.find(task.name);
    if (it != known.end()) {
      results.emplace_back(it->second);
      continue;
    }
    absl::StatusOr<Result> result = ReadResult(out, task.name);
    // One of an older request says nothing about this one.
    if (result.ok() && result->request == RequestText(plan, task)) {
      results.emplace_back(*std::move(result));
    } else {
      results.emplace_back(std::nullopt);
    }
  }
  return results;
}

Summary Summarize(const Plan& plan, const std::vector<std::optional<Result>>& results) {
  Summary summary;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i]) {
      ++summary.missing;
    } else if (results[i]->state == State::kDone) {
      ++summary.done;
    } else if (results[i]->state == State::kSalvaged) {
      ++summary.salvaged;
    } else {
      ++summary.failed;
      summary.failures[results[i]->error_kind].push_back(plan.tasks[i].name);
      summary.failed_ranks[results[i]->error_kind].push_back(plan.tasks[i].rank);
    }
  }
  return summary;
}

std::string ManifestJson(const Plan& plan, const std::vector<std::optional<Result>>& results,
                         absl::string_view engine) {
  std::string text;
  {
    json::Writer w(&text, {.break_depth = 2, .indent = 1, .blank_after_colon = true});
    const Summary summary = Summarize(plan, results);
    w.BeginObject();
    w.Key("manifest_version"), w.Int(1);
    WritePath("directory", plan.directory, &w);
    w.Key("options");
    w.BeginArray();
    for (const std::string& option : plan.options) w.String(option);
    w.EndArray();
    w.Key("strict"), w.Bool(plan.is_strict);
    w.Key("salvage"), w.Bool(plan.is_salvaging);
    w.Key("summary");
    w.BeginObject();
    w.Key("done"), w.Uint(summary.done);
    w.Key("salvaged"), w.Uint(summary.salvaged);
    w.Key("failed"), w.Uint(summary.failed);
    w.Key("missing"), w.Uint(summary.missing);
    w.EndObject();
    w.Key("findings");
    w.BeginArray();
    for (const Finding& finding : plan.findings) {
      w.BeginObject();
      w.Key("code"), w.String(finding.code);
      w.Key("severity"), w.String(finding.severity);
      w.Key("detail"), w.String(finding.detail);
      if (!finding.run.empty()) w.Key("run"), w.String(finding.run);
      w.EndObject();
    }
    w.EndArray();
    w.Key("not_converted");
    w.BeginArray();
    for (const std::string& sentence : plan.not_converted) w.String(sentence);
    w.EndArray();
    w.Key("ranks");
    w.BeginArray();
    for (size_t i = 0; i < plan.tasks.size(); ++i) {
      const Task& task = plan.tasks[i];
      w.BeginObject();
      w.Key("task"), w.String(task.name);
      w.Key("rank");
      if (task.rank) {
        w.Int(*task.rank);
      } else {
        w.Null();
      }
      if (!task.run.empty()) WritePath("run", task.run, &w);
      if (task.step) w.Key("step"), w.Int(*task.step);
      if (task.window != 0) w.Key("window"), w.Int(task.window);
      WritePath("input", task.input, &w);
      if (results[i]) {
        WriteOutcome(*results[i], &w);
      } else {
        w.Key("state"), w.String("missing");
      }
      w.EndObject();
    }
    w.EndArray();
    w.Key("measured");
    w.BeginObject();
    w.Key("engine"), w.String(engine);
    w.Key("tasks");
    w.BeginObject();
    for (size_t i = 0; i < plan.tasks.size(); ++i) {
      if (results[i]) w.Key(plan.tasks[i].name), WriteMeasured(*results[i], &w);
    }
    w.EndObject();
    w.EndObject();
    w.EndObject();
  }
  text.push_back('\n');
  return text;
}

}  // namespace tracekiln::batch
