// OrderedTasks: pieces of work that run on an executor, in any order and in parallel, and are taken back in the order
// in which they were given.
//
//   OrderedTasks tasks(executor);
//   tasks.Push([slot] { slot->Decode(); });
//   …
//   tasks.Pop();   // the oldest work is done now
//
// Pop runs work itself that no thread of the executor has begun. So it never waits for work that waits for it, even
// when it is called from work on the same executor. Used by one thread; the work may not use the object.
#ifndef TRACEKILN_FORMATS_INTERMEDIATE_ORDERED_TASKS_H_
#define TRACEKILN_FORMATS_INTERMEDIATE_ORDERED_TASKS_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "formats/io/executor.h"

namespace tracekiln::kiln {

class OrderedTasks {
 public:
  // `executor` must outlive the object.
  explicit OrderedTasks(io::Executor& executor) : executor_(executor) {}
  ~OrderedTasks() { Clear(); }
  OrderedTasks(const OrderedTasks&) = delete;
  OrderedTasks& operator=(const OrderedTasks&) = delete;

  // Work that was pushed and not popped yet.
  size_t size() const { return tasks_.size(); }

  void Push(std::function<void()> work) {
    auto task = std::make_shared<Task>();
    task->work = std::move(work);
    tasks_.push_back(task);
    executor_.Schedule([task] { task->RunIfPending(); });
  }

  // Waits for the oldest work. REQUIRES: size() > 0.
  void Pop() {
    tasks_.front()->RunIfPending();
    tasks_.front()->Wait();
    tasks_.pop_front();
  }

  // Drops work that has not begun and waits for the rest.
  void Clear() {
    for (const std::shared_ptr<Task>& task : tasks_) task->Cancel();
    for (const std::shared_ptr<Task>& task : tasks_) task->Wait();
    tasks_.clear();
  }

 private:
  enum class State { kPending, kRunning, kDone };
  struct Task {
    void RunIfPending() {
      {
        std::lock_guard<std::mutex> lock(mutex);
        if (state != State::kPending) return;
        state = State::kRunning;
      }
      work();
      work = nullptr;
      std::lock_guard<std::mutex> lock(mutex);
      state = State::kDone;
      is_done.notify_all();
    }
    void Cancel() {
      std::lock_guard<std::mutex> lock(mutex);
      if (state == State::kPending) state = State::kDone;
    }
    void Wait() {
      std::unique_lock<std::mutex> lock(mutex);
      is_done.wait(lock, [this] { return state == State::kDone; });
    }

    std::mutex mutex;
    std::condition_variable is_done;
    State state = State::kPending;  // guarded by mutex
    std::function<void()> work;
  };

  io::Executor& executor_;
  std::deque<std::shared_ptr<Task>> tasks_;
};

}  // namespace tracekiln::kiln

#endif  // TRACEKILN_FORMATS_INTERMEDIATE_ORDERED_TASKS_H_
