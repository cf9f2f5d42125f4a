#include "formats/io/executor.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "gtest/gtest.h"

namespace tracekiln::io {
namespace {

TEST(ThreadPoolTest, RunsEverythingBeforeTheDestructorReturns) {
  std::atomic<int> done_count{0};
  {
    ThreadPool pool(3);
    EXPECT_EQ(pool.concurrency(), 3);
    for (int i = 0; i < 1000; ++i) pool.Schedule([&] { ++done_count; });
  }
  EXPECT_EQ(done_count, 1000);
}

TEST(ThreadPoolTest, RunsWorkThatWorkSchedulesDuringShutdown) {
  std::atomic<int> done_count{0};
  std::function<void(int)> spawn;
  {
    ThreadPool pool(2);
    spawn = [&](int depth) {
      ++done_count;
      if (depth > 0) pool.Schedule([&, depth] { spawn(depth - 1); });
    };
    pool.Schedule([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));  // the destructor has begun
      spawn(100);
    });
  }
  EXPECT_EQ(done_count, 101);
}

TEST(ThreadPoolTest, RunsTwoPiecesAtTheSameTime) {
  std::mutex mutex;
  std::condition_variable changed;
  int arrived_count = 0;
  bool met = false;
  {
    ThreadPool pool(2);
    for (int i = 0; i < 2; ++i) {
      pool.Schedule([&] {
        std::unique_lock<std::mutex> lock(mutex);
        ++arrived_count;
        changed.notify_all();
        if (changed.wait_for(lock, std::chrono::seconds(20), [&] { return arrived_count == 2; })) met = true;
      });
    }
  }
  EXPECT_TRUE(met);
}

TEST(ThreadPoolTest, CountsLessThanOneThreadAsOne) {
  std::atomic<int> done_count{0};
  {
    ThreadPool pool(-5);
    EXPECT_EQ(pool.concurrency(), 1);
    pool.Schedule([&] { ++done_count; });
  }
  EXPECT_EQ(done_count, 1);
}

TEST(InlineExecutorTest, RunsAtOnceInTheCallingThread) {
  InlineExecutor executor;
  std::thread::id id;
  executor.Schedule([&] { id = std::this_thread::get_id(); });
  EXPECT_EQ(id, std::this_thread::get_id());
  EXPECT_EQ(executor.concurrency(), 1);
}

}  // namespace
}  // namespace tracekiln::io
