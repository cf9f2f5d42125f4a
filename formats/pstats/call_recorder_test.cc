#include "formats/pstats/call_recorder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "formats/pstats/call_recorder_reference.h"
#include "gtest/gtest.h"

namespace tracekiln {

void PrintTo(const CallStats& s, std::ostream* out) {
  *out << '{' << s.call_count << ", " << s.primitive_call_count << ", " << s.own_ns << ", " << s.cumulative_ns << '}';
}

namespace pstats {
namespace {

using Threads = std::vector<std::vector<ReferenceCall>>;

// Functions 0 … count - 1 of a profile, each with a line of its own.
std::vector<FunctionId> AddFunctions(uint32_t count, Profile* profile) {
  std::vector<FunctionId> ids;
  for (uint32_t i = 0; i < count; ++i) ids.push_back(profile->AddFunction("a.py", i, "f"));
  return ids;
}

void Record(const ReferenceCall& call, const std::vector<FunctionId>& ids, CallRecorder* recorder) {
  recorder->Enter(ids[call.function]);
  for (const ReferenceCall& inner : call.calls) Record(inner, ids, recorder);
  recorder->Leave(call.inclusive_ns, call.own_ns);
}

ReferenceProfile AsMaps(const Profile& profile) {
  ReferenceProfile maps;
  for (const Profile::Function& f : profile.functions()) {
    if (f.is_row) maps.functions[static_cast<uint32_t>(f.line)] = f.stats;
  }
  for (const Profile::Edge& e : profile.edges()) {
    const uint32_t caller = static_cast<uint32_t>(profile.function(e.caller).line);
    const uint32_t callee = static_cast<uint32_t>(profile.function(e.callee).line);
    EXPECT_TRUE(maps.edges.insert({{caller, callee}, e.stats}).second) << "two edges " << caller << " -> " << callee;
  }
  return maps;
}

ReferenceProfile Recorded(const Threads& threads, uint32_t function_count) {
  Profile profile;
  const std::vector<FunctionId> ids = AddFunctions(function_count, &profile);
  CallRecorder recorder(&profile);
  for (const std::vector<ReferenceCall>& thread : threads) {
    for (const ReferenceCall& call : thread) Record(call, ids, &recorder);
    EXPECT_EQ(recorder.depth(), 0u);
  }
  return AsMaps(profile);
}

// Times of a call whose own time is `own_ns`: inclusive is the sum.
ReferenceCall Call(uint32_t function, int64_t own_ns, std::vector<ReferenceCall> calls = {}) {
  ReferenceCall call{function, own_ns, own_ns, std::move(calls)};
  for (const ReferenceCall& inner : call.calls) call.inclusive_ns += inner.inclusive_ns;
  return call;
}

TEST(CallRecorderTest, ACallCountsOnceInItsFunctionAndOnceInItsEdge) {
  const ReferenceProfile got = Recorded({{Call(0, 70, {Call(1, 30), Call(1, 5)})}}, 2);
  EXPECT_EQ(got.functions.at(0), (CallStats{1, 1, 70, 105}));
  EXPECT_EQ(got.functions.at(1), (CallStats{2, 2, 35, 35}));
  ASSERT_EQ(got.edges.size(), 1u);
  EXPECT_EQ(got.edges.at({0, 1}), (CallStats{2, 2, 35, 35}));
}

TEST(CallRecorderTest, OnlyTheOutermostCallOfARecursiveFunctionIsPrimitive) {
  // f(1) -> f(2) -> f(4) -> f(8). The edge f -> f is opened three times, one within the other.
  const ReferenceProfile got = Recorded({{Call(0, 1, {Call(0, 2, {Call(0, 4, {Call(0, 8)})})})}}, 1);
  EXPECT_EQ(got.functions.at(0), (CallStats{4, 1, 15, 15}));
  EXPECT_EQ(got.edges.at({0, 0}), (CallStats{3, 1, 14, 14}));
}

TEST(CallRecorderTest, AnEdgeIsJudgedByItsOwnLevelNotByThatOfTheFunction) {
  // f(1) -> g(2) -> f(4) -> g(8): f and g are each called twice, once primitively. The inner f is not primitive, but
  // the only call over g -> f is; g's second call over f -> g is not.
  const ReferenceProfile got = Recorded({{Call(0, 1, {Call(1, 2, {Call(0, 4, {Call(1, 8)})})})}}, 2);
  EXPECT_EQ(got.functions.at(0), (CallStats{2, 1, 5, 15}));
  EXPECT_EQ(got.functions.at(1), (CallStats{2, 1, 10, 14}));
  EXPECT_EQ(got.edges.at({0, 1}), (CallStats{2, 1, 10, 14}));
  EXPECT_EQ(got.edges.at({1, 0}), (CallStats{1, 1, 4, 12}));
}

TEST(CallRecorderTest, ALevelEndsWithItsCall) {
  // A function called twice in a row is primitive both times, in its row and on its edge.
  const ReferenceProfile got = Recorded({{Call(0, 0, {Call(1, 3, {Call(1, 1)}), Call(1, 5)})}}, 2);
  EXPECT_EQ(got.functions.at(1), (CallStats{3, 2, 9, 9}));
  EXPECT_EQ(got.edges.at({0, 1}), (CallStats{2, 2, 8, 9}));
  EXPECT_EQ(got.edges.at({1, 1}), (CallStats{1, 1, 1, 1}));
}

TEST(CallRecorderTest, OpenCallsHaveNoNumbers) {
  Profile profile;
  const std::vector<FunctionId> ids = AddFunctions(2, &profile);
  CallRecorder recorder(&profile);
  recorder.Enter(ids[0]);
  recorder.Enter(ids[1]);
  recorder.Leave(5, 5);
  EXPECT_EQ(recorder.depth(), 1u);
  EXPECT_FALSE(profile.function(ids[0]).is_row);
  EXPECT_TRUE(profile.function(ids[1]).is_row);
}

TEST(CallRecorderTest, OthersMayAddToTheProfileMeanwhile) {
  Profile profile;
  const FunctionId f = profile.AddFunction("a.py", 0, "f");
  CallRecorder recorder(&profile);
  recorder.Enter(f);
  std::vector<FunctionId> more;
  for (int i = 1; i <= 1000; ++i) {
    more.push_back(profile.AddFunction("a.py", i, "f"));
    profile.AddCallerStats(f, more.back(), {1, 1, 1, 1});
  }
  recorder.Enter(more.back());
  recorder.Leave(7, 7);
  recorder.Leave(10, 3);
  EXPECT_EQ(profile.function(f).stats, (CallStats{1, 1, 3, 10}));
  EXPECT_EQ(profile.function(more.back()).stats, (CallStats{1, 1, 7, 7}));
  EXPECT_EQ(profile.edges().size(), 1000u);
  EXPECT_EQ(profile.edges().back().stats, (CallStats{2, 2, 8, 8}));
}

TEST(CallRecorderTest, AMillionOpenCallsAreFine) {
  constexpr int64_t kDepth = 1'000'000;
  Profile profile;
  const std::vector<FunctionId> ids = AddFunctions(2, &profile);
  CallRecorder recorder(&profile);
  for (int64_t i = 0; i < kDepth; ++i) recorder.Enter(ids[i % 2]);
  EXPECT_EQ(recorder.depth(), static_cast<size_t>(kDepth));
  for (int64_t i = 1; i <= kDepth; ++i) recorder.Leave(i, 1);
  EXPECT_EQ(profile.function(ids[0]).stats, (CallStats{kDepth / 2, 1, kDepth / 2, kDepth}));
  EXPECT_EQ(profile.function(ids[1]).stats, (CallStats{kDepth / 2, 1, kDepth / 2, kDepth - 1}));
}

// A random forest of at most `budget` calls. What a forest looks like (deep or wide, few functions or many, small times
// or such that sums overflow) is drawn once per forest.
class ForestGenerator {
 public:
  explicit ForestGenerator(uint32_t seed) : random_(seed) {
    function_count_ = Below(4) == 0 ? 1 + Below(200) : 1 + Below(8);
    down_percent_ = 10 + Below(85);
    times_ = static_cast<Times>(Below(4));
  }

  uint32_t function_count() const { return function_count_; }

  Threads Make() {
    Threads threads(1 + Below(3));
    for (std::vector<ReferenceCall>& thread : threads) {
      budget_ = Below(4) == 0 ? Below(2000) : Below(60);
      while (budget_ > 0) thread.push_back(MakeCall(0));
    }
    return threads;
  }

 private:
  enum class Times { kNone, kSmall, kHuge, kOfAnySign };

  uint32_t Below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }

  ReferenceCall MakeCall(int depth) {
    --budget_;
    ReferenceCall call;
    // Walks forward mostly, so that chains of mutual recursion are long.
    last_ = Below(3) == 0 ? Below(function_count_) : (last_ + Below(2)) % function_count_;
    call.function = last_;
    int64_t inner_ns = 0;
    while (budget_ > 0 && depth < 500 && Below(100) < down_percent_) {
      call.calls.push_back(MakeCall(depth + 1));
      if (times_ == Times::kSmall) inner_ns += call.calls.back().inclusive_ns;
    }
    switch (times_) {
      case Times::kNone: break;
      case Times::kSmall:
        call.own_ns = Below(1000);
        call.inclusive_ns = inner_ns + call.own_ns;
        break;
      case Times::kHuge:  // of one sign: only then the order of saturating sums doesn't matter
        call.own_ns = static_cast<int64_t>(random_() >> (1 + Below(40)));
        call.inclusive_ns = Below(8) == 0 ? INT64_MAX : static_cast<int64_t>(random_() >> 1);
        break;
      case Times::kOfAnySign:
        call.own_ns = int64_t{Below(1000)} - 500;
        call.inclusive_ns = int64_t{Below(1000)} - 500;
        break;
    }
    return call;
  }

  std::mt19937_64 random_;
  uint32_t function_count_;
  uint32_t down_percent_;
  Times times_;
  uint32_t budget_ = 0;
  uint32_t last_ = 0;
};

TEST(CallRecorderTest, RandomForestsGiveWhatTheSlowOracleGives) {
  int64_t calls = 0, recursive_calls = 0, saturated = 0;
  for (uint32_t seed = 0; seed < 4000; ++seed) {
    ForestGenerator generator(seed);
    const Threads threads = generator.Make();
    const ReferenceProfile want = RecordByReference(threads);
    const ReferenceProfile got = Recorded(threads, generator.function_count());
    ASSERT_EQ(got.functions, want.functions) << "seed " << seed;
    ASSERT_EQ(got.edges, want.edges) << "seed " << seed;
    for (const auto& [function, stats] : want.functions) {
      calls += stats.call_count;
      recursive_calls += stats.call_count - stats.primitive_call_count;
      saturated += stats.cumulative_ns == INT64_MAX;
    }
  }
  // The forests are of the kinds that matter.
  EXPECT_GT(calls, 100'000);
  EXPECT_GT(recursive_calls, calls / 4);
  EXPECT_GT(saturated, 1000);
}

// All calls of a function are made by someone or by nobody.
TEST(CallRecorderTest, CallsAndOwnTimesOfAFunctionAreTheSumOverItsCallersAndItsRootCalls) {
  for (uint32_t seed = 5000; seed < 5500; ++seed) {
    ForestGenerator generator(seed);
    const Threads threads = generator.Make();
    Threads roots = threads;
    for (std::vector<ReferenceCall>& thread : roots) {
      for (ReferenceCall& root : thread) root.calls.clear();
    }
    const ReferenceProfile got = Recorded(threads, generator.function_count());
    std::map<uint32_t, CallStats> sums = Recorded(roots, generator.function_count()).functions;
    for (const auto& [edge, stats] : got.edges) sums[edge.second].Add(stats);
    ASSERT_EQ(sums.size(), got.functions.size()) << "seed " << seed;
    for (const auto& [function, stats] : got.functions) {
      EXPECT_EQ(sums[function].call_count, stats.call_count) << "seed " << seed;
      EXPECT_EQ(sums[function].own_ns, stats.own_ns) << "seed " << seed;
      EXPECT_GE(sums[function].primitive_call_count, stats.primitive_call_count) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace pstats
}  // namespace tracekiln
