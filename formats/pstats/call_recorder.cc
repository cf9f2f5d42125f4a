#include "formats/pstats/call_recorder.h"

namespace tracekiln::pstats {

void CallRecorder::Enter(FunctionId function) {
  uint32_t edge = kNoEdge;
  if (!stack_.empty()) {
    edge = profile_.AddEdge(stack_.back().function, function);
    if (edge >= edge_level_.size()) edge_level_.resize(edge + edge / 2 + 64, 0);
    ++edge_level_[edge];
  }
  const size_t f = Index(function);
  if (f >= function_level_.size()) function_level_.resize(f + f / 2 + 64, 0);
  ++function_level_[f];
  stack_.push_back({function, edge});
}

void CallRecorder::Leave(int64_t inclusive_ns, int64_t own_ns) {
  const Open call = stack_.back();
  stack_.pop_back();
  const bool is_primitive = --function_level_[Index(call.function)] == 0;
  profile_.AddStats(call.function, {1, is_primitive ? 1 : 0, own_ns, is_primitive ? inclusive_ns : 0});
  if (call.edge == kNoEdge) return;
  const bool is_edge_primitive = --edge_level_[call.edge] == 0;
  profile_.edge_stats(call.edge).Add({1, is_edge_primitive ? 1 : 0, own_ns, is_edge_primitive ? inclusive_ns : 0});
}

}  // namespace tracekiln::pstats
