#include "formats/io/executor.h"

#include <algorithm>
#include <utility>

namespace tracekiln::io {

Executor::~Executor() = default;

ThreadPool::ThreadPool(int thread_count) {
  thread_count = std::max(thread_count, 1);
  threads_.reserve(thread_count);
  for (int i = 0; i < thread_count; ++i) threads_.emplace_back([this] { Run(); });
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    is_stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::Schedule(std::function<void()> work) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    queue_.push_back(std::move(work));
  }
  wake_.notify_one();
}

void ThreadPool::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    // A thread leaves only when nothing is queued and nothing runs that could still queue more.
    wake_.wait(lock, [this] { return !queue_.empty() || (is_stopping_ && running_count_ == 0); });
    if (queue_.empty()) return;
    std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    ++running_count_;
    lock.unlock();
    work();
    work = nullptr;  // what the closure owns dies outside the lock
    lock.lock();
    --running_count_;
    if (is_stopping_ && running_count_ == 0) wake_.notify_all();
  }
}

}  // namespace tracekiln::io
