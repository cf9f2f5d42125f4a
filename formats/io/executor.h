#ifndef TRACEKILN_FORMATS_IO_EXECUTOR_H_
#define TRACEKILN_FORMATS_IO_EXECUTOR_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tracekiln::io {

// Where work runs. Libraries never start threads for computing: they take an Executor, so that the program decides
// once how many cores it uses. A file read ahead of its consumer is the one exception (OpenOptions::read_ahead).
//
//   io::ThreadPool pool(8);
//   pool.Schedule([&] { EncodeChunk(...); });
//
// Work may not throw, and may not block on work scheduled later on the same executor (with one thread that never ends).
class Executor {
 public:
  virtual ~Executor();

  // Runs `work` some time, on some thread, possibly before Schedule returns (InlineExecutor). Thread-safe; work may
  // schedule more work.
  virtual void Schedule(std::function<void()> work) = 0;

  // How many pieces of work can run at the same time, at least 1. Callers use it to bound what they have in flight.
  virtual int concurrency() const = 0;
};

// Runs work on `thread_count` threads of its own, first come first served. The destructor runs everything that was
// scheduled (also what that work schedules in turn) and joins the threads.
class ThreadPool final : public Executor {
 public:
  // A thread_count below 1 counts as 1.
  explicit ThreadPool(int thread_count);
  ~ThreadPool() override;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  void Schedule(std::function<void()> work) override;
  int concurrency() const override { return static_cast<int>(threads_.size()); }

 private:
  void Run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;  // guarded by mutex_
  int running_count_ = 0;                    // guarded by mutex_: work that may still schedule more
  bool is_stopping_ = false;                 // guarded by mutex_
  std::vector<std::thread> threads_;
};

// Runs work at once, in the thread that schedules it.
class InlineExecutor final : public Executor {
 public:
  void Schedule(std::function<void()> work) override { work(); }
  int concurrency() const override { return 1; }
};

}  // namespace tracekiln::io

#endif  // TRACEKILN_FORMATS_IO_EXECUTOR_H_
