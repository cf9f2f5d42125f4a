// One loop: start what fits, wait for anything to happen, look at it. Each worker has a pipe to us on which it tells
// its progress; that the pipe ends means that the worker has ended. There is no other signalling.
#include "tools/batch/local_engine.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tools/batch/admission.h"

namespace tracekiln::batch {
namespace {

constexpr int kProgressFd = 3;
constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kGraceNs = 5 * kSecondNs;

int64_t SteadyNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// How many processes the kernel has killed for want of memory since it was started; -1 if it does not say.
int64_t OomKillCount() {
  const absl::StatusOr<std::string> text = ReadFile("/proc/vmstat");
  if (!text.ok()) return -1;
  const size_t at = text->find("\noom_kill ");
  if (at == std::string::npos) return -1;
  int64_t count = -1;
  const absl::string_view rest = absl::string_view(*text).substr(at + 10);
  return absl::SimpleAtoi(rest.substr(0, rest.find('\n')), &count) ? count : -1;
}

struct Worker {
  pid_t pid = -1;
  int pipe_fd = -1;
  size_t task = 0;
  uint64_t peak_bytes = 0;
  int thread_count = 1;
  int64_t start_ns = 0;
  int64_t oom_kill_count = -1;
  bool is_timed_out = false;
  std::string unread;  // of the pipe, up to a line's end
  uint64_t done_bytes = 0;
  uint64_t total_bytes = 0;
  uint64_t event_count = 0;
};

class Engine {
 public:
  Engine(const Plan& plan, const std::string& out, std::vector<size_t> tasks, const LocalOptions& options,
         std::map<std::string, Result>* lost)
      : plan_(plan),
        out_(out),
        options_(options),
        lost_(*lost),
        waiting_(std::move(tasks)),
        admission_(options.memory_bytes),
        progress_(options.style, options.err, waiting_.size(), TotalBytes()) {}

  absl::Status Run() {
    std::stable_sort(waiting_.begin(), waiting_.end(),
                     [&](size_t a, size_t b) { return plan_.tasks[a].size_bytes > plan_.tasks[b].size_bytes; });
    thread_count_ = std::max<int>(
        1, options_.core_count / static_cast<int>(std::max<size_t>(
                                     1, std::min<size_t>(static_cast<size_t>(options_.jobs), waiting_.size()))));
    absl::Status status;
    while (!waiting_.empty() || !workers_.empty()) {
      if (IsInterrupted()) {
        waiting_.clear();
        StopAll();
        status = absl::CancelledError("interrupted");
        break;
      }
      status = StartWhatFits();
      if (!status.ok()) {
        StopAll();
        break;
      }
      Wait();
      CheckTimeouts();
      ShowProgress();
    }
    progress_.Finish();
    return status;
  }

 private:
  uint64_t TotalBytes() const {
    uint64_t bytes = 0;
    for (size_t task : waiting_) bytes += plan_.tasks[task].size_bytes;
    return bytes;
  }

  bool IsInterrupted() const { return options_.is_interrupted != nullptr && *options_.is_interrupted; }

  absl::Status StartWhatFits() {
    for (size_t i = 0; i < waiting_.size() && workers_.size() < static_cast<size_t>(options_.jobs);) {
      const uint64_t peak = ExpectedPeakBytes(plan_.tasks[waiting_[i]], thread_count_);
      if (!admission_.Fits(peak)) {
        ++i;
        continue;
      }
      const size_t task = waiting_[i];
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
      if (absl::Status status = Start(task, peak); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status Start(size_t task, uint64_t peak) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "cannot make a pipe");
    const std::string log = absl::StrCat(out_, "/.batch/workers.log");
    std::vector<std::string> args = {"tracekiln", "batch-worker",     "--plan", PlanPath(out_),
                                     "--task",    absl::StrCat(task), "--jobs", absl::StrCat(thread_count_),
                                     "--child",   "--quiet"};
    std::vector<char*> argv;
    for (std::string& arg : args) argv.push_back(arg.data());
    argv.push_back(nullptr);
    // The result of an earlier run must not be taken for this one's.
    unlink(ResultPath(out_, plan_.tasks[task].name).c_str());
    const pid_t parent = getpid();
    Worker worker;
    worker.oom_kill_count = OomKillCount();
    const pid_t pid = fork();
    if (pid < 0) {
      close(ends[0]);
      close(ends[1]);
      return absl::ErrnoToStatus(errno, "cannot start a process");
    }
    if (pid == 0) {
      // Only async-signal-safe calls: this program has threads.
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(1);
      const int null_fd = open("/dev/null", O_RDWR);
      const int log_fd = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
      // The pipe may itself be descriptor 3, which dup2 would leave closed on exec.
      if (ends[1] == kProgressFd) {
        fcntl(kProgressFd, F_SETFD, 0);
      } else {
        dup2(ends[1], kProgressFd);
      }
      dup2(null_fd, 0);
      dup2(null_fd, 1);
      dup2(log_fd < 0 ? null_fd : log_fd, 2);
      execv(options_.program.c_str(), argv.data());
      _exit(127);
    }
    close(ends[1]);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    worker.pid = pid;
    worker.pipe_fd = ends[0];
    worker.task = task;
    worker.peak_bytes = peak;
    worker.thread_count = thread_count_;
    worker.start_ns = SteadyNs();
    admission_.Start(peak);
    workers_.push_back(std::move(worker));
    return absl::OkStatus();
  }

  // Waits until a worker says something or ends, or for a fifth of a second.
  void Wait() {
    std::vector<pollfd> fds;
    for (const Worker& worker : workers_) fds.push_back({worker.pipe_fd, POLLIN, 0});
    if (poll(fds.data(), fds.size(), 200) <= 0) return;
    std::vector<Worker> still;
    for (size_t i = 0; i < workers_.size(); ++i) {
      if (fds[i].revents == 0 || !HasEnded(&workers_[i])) {
        still.push_back(std::move(workers_[i]));
      } else {
        Reap(workers_[i]);
      }
    }
    workers_ = std::move(still);
  }

  // Reads what is in the pipe; true at its end.
  bool HasEnded(Worker* worker) {
    char bytes[4096];
    for (;;) {
      const ssize_t size = read(worker->pipe_fd, bytes, sizeof(bytes));
      if (size == 0) return true;
      if (size < 0 && errno == EINTR) continue;
      if (size < 0) return errno != EAGAIN && errno != EWOULDBLOCK;
      worker->unread.append(bytes, static_cast<size_t>(size));
      const size_t end = worker->unread.rfind('\n');
      if (end == std::string::npos) continue;
      const size_t before = end == 0 ? std::string::npos : worker->unread.rfind('\n', end - 1);
      const size_t begin = before == std::string::npos ? 0 : before + 1;
      const std::vector<std::string> words = absl::StrSplit(worker->unread.substr(begin, end - begin), ' ');
      if (words.size() == 3) {
        (void)absl::SimpleAtoi(words[0], &worker->done_bytes);
        (void)absl::SimpleAtoi(words[1], &worker->total_bytes);
        (void)absl::SimpleAtoi(words[2], &worker->event_count);
      }
      worker->unread.erase(0, end + 1);
    }
  }

  void Reap(const Worker& worker) {
    close(worker.pipe_fd);
    int wait_status = 0;
    struct rusage usage = {};
    while (wait4(worker.pid, &wait_status, 0, &usage) < 0 && errno == EINTR) {
    }
    admission_.End(worker.peak_bytes);
    const Task& task = plan_.tasks[worker.task];
    UnmarkRunning(out_, task.name);
    done_bytes_ += task.size_bytes;
    ++done_count_;
    const absl::StatusOr<Result> result = ReadResult(out_, task.name);
    if (result.ok()) {
      if (result->state == State::kFailed) ++failed_count_;
      return;
    }
    // A task without a result has no outputs, though some may have been whole already.
    RemoveOutputs(out_, plan_, task);
    if (IsInterrupted() || is_stopping_) return;
    ++failed_count_;
    Result failure;
    failure.task = task.name;
    failure.request = RequestText(plan_, task);
    failure.state = State::kFailed;
    failure.seconds = static_cast<double>(SteadyNs() - worker.start_ns) / kSecondNs;
    failure.peak_memory_bytes = static_cast<uint64_t>(usage.ru_maxrss) * 1024;
    failure.thread_count = worker.thread_count;
    char host[256] = {};
    if (gethostname(host, sizeof(host) - 1) == 0) failure.host = host;
    if (worker.is_timed_out) {
      failure.error_kind = "timed_out";
      failure.error = absl::StrCat("took longer than ", options_.timeout_seconds, " s");
    } else if (WIFSIGNALED(wait_status)) {
      const int signal_number = WTERMSIG(wait_status);
      const bool is_out_of_memory =
          signal_number == SIGKILL && worker.oom_kill_count >= 0 && OomKillCount() > worker.oom_kill_count;
      failure.error_kind = is_out_of_memory ? "out_of_memory" : "killed";
      failure.error = absl::StrCat("the worker was ended by signal ", signal_number, " (", strsignal(signal_number),
                                   ")", is_out_of_memory ? ", and the kernel ran out of memory meanwhile" : "");
    } else {
      failure.error_kind = "internal";
      failure.error = absl::StrCat("the worker ended with status ", WEXITSTATUS(wait_status),
                                   " and without a result; .batch/workers.log may say why");
    }
    if (!WriteResult(out_, failure).ok()) lost_[task.name] = failure;
  }

  void CheckTimeouts() {
    if (options_.timeout_seconds <= 0) return;
    const int64_t now = SteadyNs();
    for (Worker& worker : workers_) {
      if (worker.is_timed_out || static_cast<double>(now - worker.start_ns) < options_.timeout_seconds * kSecondNs) {
        continue;
      }
      worker.is_timed_out = true;
      kill(worker.pid, SIGKILL);
    }
  }

  // Asks all workers to end, which removes what they have begun to write; after a while it no longer asks.
  void StopAll() {
    is_stopping_ = true;
    const int64_t start = SteadyNs();
    for (const Worker& worker : workers_) kill(worker.pid, SIGTERM);
    while (!workers_.empty()) {
      if (SteadyNs() - start > kGraceNs) {
        for (const Worker& worker : workers_) kill(worker.pid, SIGKILL);
      }
      Wait();
    }
  }

  void ShowProgress() {
    if (options_.style == BatchProgress::Style::kQuiet) return;
    std::vector<BatchProgress::Running> running;
    for (const Worker& worker : workers_) {
      running.push_back({plan_.tasks[worker.task].name, worker.done_bytes, worker.total_bytes, worker.event_count,
                         static_cast<double>(SteadyNs() - worker.start_ns) / kSecondNs});
    }
    progress_.Update(done_count_, failed_count_, done_bytes_, running);
  }

  const Plan& plan_;
  const std::string& out_;
  const LocalOptions& options_;
  std::map<std::string, Result>& lost_;
  std::vector<size_t> waiting_;
  Admission admission_;
  BatchProgress progress_;
  int thread_count_ = 1;
  std::vector<Worker> workers_;
  size_t done_count_ = 0;
  size_t failed_count_ = 0;
  uint64_t done_bytes_ = 0;
  bool is_stopping_ = false;
};

}  // namespace

absl::Status RunLocal(const Plan& plan, const std::string& out, std::vector<size_t> tasks, const LocalOptions& options,
                      std::map<std::string, Result>* lost) {
  return Engine(plan, out, std::move(tasks), options, lost).Run();
}

void ProgressPipe::Write(uint64_t done_bytes, uint64_t total_bytes, uint64_t event_count) {
  const int64_t now = SteadyNs();
  if (now < next_ns_) return;
  next_ns_ = now + kSecondNs / 10;
  const std::string line = absl::StrCat(done_bytes, " ", total_bytes, " ", event_count, "\n");
  // A line is less than PIPE_BUF: it goes whole or not at all. Nobody reading is no reason to stop.
  (void)!write(fd_, line.data(), line.size());
}

}  // namespace tracekiln::batch
