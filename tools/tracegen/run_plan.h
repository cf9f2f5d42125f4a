#ifndef TRACEKILN_TOOLS_TRACEGEN_RUN_PLAN_H_
#define TRACEKILN_TOOLS_TRACEGEN_RUN_PLAN_H_

#include <cstdint>
#include <vector>

#include "tools/tracegen/tracegen.h"

namespace tracekiln::tracegen {

// Ranks per shard, the group that gathers parameters and scatters gradients.
inline constexpr int kShardSize = 8;

// A hash of its arguments, for draws that any rank can repeat.
uint64_t Mix(uint64_t seed, uint64_t a, uint64_t b, uint64_t c = 0, uint64_t d = 0);

// Device work, in true time.
struct Interval {
  int64_t start_ns = 0, end_ns = 0;
};

// The frame of one step of one rank, in true time: how long the host takes for each part (it runs ahead of the device,
// one part after the other, until it waits for the norm), and when the device does it.
struct StepPlan {
  int64_t host_start_ns = 0;
  int64_t prelude_host_ns = 0, loss_host_ns = 0, norm_host_ns = 0, optimizer_host_ns = 0;
  std::vector<int64_t> forward_host_ns, backward_host_ns;  // by layer
  std::vector<Interval> forward, backward;                 // compute, by layer
  Interval loss, norm;
  std::vector<Interval> all_gather, reduce_scatter;  // by layer
  std::vector<Interval> send_recv;                   // by layer; empty interval where there is none
  Interval all_reduce;
  int64_t sync_end_ns = 0;  // the host goes on
  int64_t host_end_ns = 0;
};

// Whether `rank` exchanges activations with rank ^ 1 in this layer.
bool HasSendRecv(const RunOptions& run, int rank, int layer);

// Plans a run step by step. Looks at all ranks, because a collective ends when its last rank has come: a step costs
// O(rank_count * layer_count).
class RunPlan {
 public:
  // REQUIRES: CheckOptions(run) is OK.
  RunPlan(const RunOptions& run, int rank);

  // When the recording begins, in true time, the same for all ranks.
  int64_t start_ns() const { return start_ns_; }

  // The next step of `rank`; valid until the next call.
  const StepPlan& Next();

 private:
  int64_t Draw(int rank, int what, int layer, int64_t low, int64_t high) const;
  int64_t DrawCompute(int rank, int what, int layer, int64_t ns) const;
  // Lets all ranks of each group meet: on return ends[r] = the common end of r's group. `ready` by rank.
  void Meet(int group_size, int64_t transfer_ns, const std::vector<int64_t>& ready, std::vector<int64_t>* ends) const;

  const RunOptions run_;
  const int rank_;
  const int64_t start_ns_;
  int step_ = 0;
  std::vector<int64_t> host_;  // where the host of each rank stands
  StepPlan plan_;
};

}  // namespace tracekiln::tracegen

#endif  // TRACEKILN_TOOLS_TRACEGEN_RUN_PLAN_H_
