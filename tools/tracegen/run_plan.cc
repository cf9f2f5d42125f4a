#include "tools/tracegen/run_plan.h"

#include <algorithm>

// The times are planned from above: first how long each part of a step takes on each rank (draws that every rank can
// repeat), then when collectives meet, and only later, in the model, which operators and kernels fill the parts. So one
// rank can be generated without generating the others.
//
// That the host is always ahead of the device follows from the ranges of the draws: the device begins the first layer
// only when the host has finished launching it, and every later part takes the device longer than the host needs for
// the part after it.
namespace tracekiln::tracegen {
namespace {

enum What {
  kPrelude,
  kForwardHost,
  kBackwardHost,
  kLossHost,
  kNormHost,
  kOptimizer,
  kForward,
  kBackward,
  kLoss,
  kNorm,
  kSync,
  kPause,
  kGather,
  kScatter,
  kExchange,
  kReduce
};

constexpr int64_t kMicrosecond = 1000;
// From the end of a launch to the start of the kernel, at least.
constexpr int64_t kLaunchLatencyNs = 5 * kMicrosecond;
// Between two operations of a communication stream: room for their annotations, which are 1 ns longer at both ends.
constexpr int64_t kStreamGapNs = 1500;
constexpr int64_t kEpochNs = 1'767'225'600'000'000'000;  // 2026-01-01

}  // namespace

uint64_t Mix(uint64_t seed, uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
  uint64_t x = seed;
  for (uint64_t word : {a, b, c, d}) {
    x += 0x9e3779b97f4a7c15 + word;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    x ^= x >> 31;
  }
  return x;
}

bool HasSendRecv(const RunOptions& run, int rank, int layer) { return layer % 4 == 1 && (rank ^ 1) < run.rank_count; }

int64_t ClockOffsetNs(const RunOptions& run, int rank) {
  if (rank == 0 || run.max_clock_skew_ns == 0) return 0;
  const uint64_t width = 2 * static_cast<uint64_t>(run.max_clock_skew_ns) + 1;
  return static_cast<int64_t>(Mix(run.seed, 77, rank) % width) - run.max_clock_skew_ns;
}

RunPlan::RunPlan(const RunOptions& run, int rank)
    : run_(run),
      rank_(rank),
      // Some day of 2026, so that seeds differ in every digit.
      start_ns_(kEpochNs + static_cast<int64_t>(Mix(run.seed, 1, 2) % (300ull * 86400 * 1'000'000'000))),
      host_(run.rank_count) {
  for (int r = 0; r < run.rank_count; ++r)
    host_[r] = start_ns_ + Draw(r, kPause, 1, 900 * kMicrosecond, 1200 * kMicrosecond);
  for (auto* parts : {&plan_.forward, &plan_.backward, &plan_.all_gather, &plan_.reduce_scatter, &plan_.send_recv}) {
    parts->resize(run.layer_count);
  }
  plan_.forward_host_ns.resize(run.layer_count);
  plan_.backward_host_ns.resize(run.layer_count);
}

int64_t RunPlan::Draw(int rank, int what, int layer, int64_t low, int64_t high) const {
  const uint64_t hash = Mix(run_.seed, static_cast<uint64_t>(rank) << 32 | static_cast<uint32_t>(step_), what, layer);
  return low + static_cast<int64_t>(hash % static_cast<uint64_t>(high - low + 1));
}

int64_t RunPlan::DrawCompute(int rank, int what, int layer, int64_t ns) const {
  const int64_t drawn = Draw(rank, what, layer, ns - ns / 40, ns + ns / 40);
  return rank == run_.slow_rank ? drawn + drawn * run_.slow_percent / 100 : drawn;
}

void RunPlan::Meet(int group_size, int64_t transfer_ns, const std::vector<int64_t>& ready,
                   std::vector<int64_t>* ends) const {
  const int rank_count = run_.rank_count;
  for (int first = 0; first < rank_count; first += group_size) {
    const int last = std::min(first + group_size, rank_count);
    const int64_t end = *std::max_element(ready.begin() + first, ready.begin() + last) + transfer_ns;
    std::fill(ends->begin() + first, ends->begin() + last, end);
  }
}

const StepPlan& RunPlan::Next() {
  const int rank_count = run_.rank_count;
  const int layer_count = run_.layer_count;
  // What a transfer takes is the group's, not the rank's.
  const auto transfer_ns = [this](int what, int layer, int64_t us) {
    return Draw(0, what, layer, us * 900, us * 1100);
  };
  std::vector<int64_t> compute(rank_count), host(rank_count), ready(rank_count), ends(rank_count);
  std::vector<int64_t> gathered(rank_count), scattered(rank_count), exchanged(rank_count);

  plan_.host_start_ns = host_[rank_];
  for (int r = 0; r < rank_count; ++r) {
    const int64_t prelude = Draw(r, kPrelude, 0, 500 * kMicrosecond, 900 * kMicrosecond);
    const int64_t first = Draw(r, kForwardHost, 0, 1100 * kMicrosecond, 1400 * kMicrosecond);
    host[r] = host_[r] + prelude;
    ready[r] = host[r] + kLaunchLatencyNs;
    compute[r] = host[r] + first + kLaunchLatencyNs;
    if (r == rank_) plan_.prelude_host_ns = prelude;
  }
  Meet(kShardSize, transfer_ns(kGather, 0, 220), ready, &gathered);
  plan_.all_gather[0] = {ready[rank_], gathered[rank_]};

  for (int layer = 0; layer < layer_count; ++layer) {
    plan_.forward_host_ns[layer] = Draw(rank_, kForwardHost, layer, 1100 * kMicrosecond, 1400 * kMicrosecond);
    for (int r = 0; r < rank_count; ++r) {
      const int64_t start = std::max({compute[r], gathered[r] + kStreamGapNs, exchanged[r] + kStreamGapNs});
      compute[r] = start + DrawCompute(r, kForward, layer, 2500 * kMicrosecond);
      if (r == rank_) plan_.forward[layer] = {start, compute[r]};
      // The next layer's parameters are gathered from here on.
      ready[r] = std::max(gathered[r] + kStreamGapNs, start);
      host[r] = start + 7 * kMicrosecond;
    }
    plan_.send_recv[layer] = {};
    if (HasSendRecv(run_, 0, layer)) {
      Meet(2, transfer_ns(kExchange, layer, 600), host, &exchanged);
      if (HasSendRecv(run_, rank_, layer)) {
        plan_.send_recv[layer] = {host[rank_], exchanged[rank_]};
      }
      // A rank without a partner waits for nothing.
      if (rank_count % 2 == 1) exchanged[rank_count - 1] = 0;
    }
    if (layer + 1 < layer_count) {
      Meet(kShardSize, transfer_ns(kGather, layer + 1, 1200), ready, &gathered);
      plan_.all_gather[layer + 1] = {ready[rank_], gathered[rank_]};
    }
  }

  plan_.loss_host_ns = Draw(rank_, kLossHost, 0, 200 * kMicrosecond, 260 * kMicrosecond);
  for (int r = 0; r < rank_count; ++r) {
    const int64_t start = std::max(compute[r], exchanged[r]) + 2 * kMicrosecond;
    compute[r] = start + DrawCompute(r, kLoss, 0, 900 * kMicrosecond);
    if (r == rank_) plan_.loss = {start, compute[r]};
  }

  for (int layer = layer_count - 1; layer >= 0; --layer) {
    plan_.backward_host_ns[layer] = Draw(rank_, kBackwardHost, layer, 1300 * kMicrosecond, 1700 * kMicrosecond);
    for (int r = 0; r < rank_count; ++r) {
      const int64_t start = compute[r] + 1 * kMicrosecond;
      compute[r] = start + DrawCompute(r, kBackward, layer, 5000 * kMicrosecond);
      if (r == rank_) plan_.backward[layer] = {start, compute[r]};
      ready[r] = std::max(scattered[r] + kStreamGapNs, compute[r] + 2 * kMicrosecond);
    }
    Meet(kShardSize, transfer_ns(kScatter, layer, 2400), ready, &scattered);
    plan_.reduce_scatter[layer] = {ready[rank_], scattered[rank_]};
  }

  plan_.norm_host_ns = Draw(rank_, kNormHost, 0, 300 * kMicrosecond, 400 * kMicrosecond);
  for (int r = 0; r < rank_count; ++r) {
    const int64_t start = std::max(compute[r], scattered[r]) + 2 * kMicrosecond;
    compute[r] = start + DrawCompute(r, kNorm, 0, 300 * kMicrosecond);
    if (r == rank_) plan_.norm = {start, compute[r]};
    ready[r] = compute[r] + 2 * kMicrosecond;
  }
  Meet(rank_count, transfer_ns(kReduce, 0, 60), ready, &ends);
  plan_.all_reduce = {ready[rank_], ends[rank_]};

  for (int r = 0; r < rank_count; ++r) {
    const int64_t sync_end = ends[r] + Draw(r, kSync, 0, 12 * kMicrosecond, 20 * kMicrosecond);
    const int64_t optimizer = Draw(r, kOptimizer, 0, 1500 * kMicrosecond, 1900 * kMicrosecond);
    const int64_t host_end = sync_end + optimizer + 30 * kMicrosecond;
    if (r == rank_) {
      plan_.sync_end_ns = sync_end;
      plan_.optimizer_host_ns = optimizer;
      plan_.host_end_ns = host_end;
    }
    host_[r] = host_end + Draw(r, kPause, 0, 20 * kMicrosecond, 60 * kMicrosecond);
  }
  ++step_;
  return plan_;
}

}  // namespace tracekiln::tracegen
