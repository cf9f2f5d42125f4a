#include "formats/pstats/call_recorder_reference.h"

#include <cstddef>

namespace tracekiln::pstats {
namespace {

__extension__ using Wide = __int128;

struct Sums {
  Wide calls = 0, primitive_calls = 0, own = 0, cumulative = 0;

  void Add(const ReferenceCall& call, bool is_primitive) {
    calls += 1;
    own += call.own_ns;
    if (!is_primitive) return;
    primitive_calls += 1;
    cumulative += call.inclusive_ns;
  }

  CallStats Stats() const { return {Cut(calls), Cut(primitive_calls), Cut(own), Cut(cumulative)}; }

  static int64_t Cut(Wide value) {
    if (value > INT64_MAX) return INT64_MAX;
    if (value < INT64_MIN) return INT64_MIN;
    return static_cast<int64_t>(value);
  }
};

struct Walk {
  std::vector<uint32_t> stack;  // functions, outermost first
  std::map<uint32_t, Sums> functions;
  std::map<std::pair<uint32_t, uint32_t>, Sums> edges;

  bool IsActive(uint32_t function) const {
    for (const uint32_t open : stack) {
      if (open == function) return true;
    }
    return false;
  }

  bool IsActive(uint32_t caller, uint32_t callee) const {
    for (size_t i = 1; i < stack.size(); ++i) {
      if (stack[i - 1] == caller && stack[i] == callee) return true;
    }
    return false;
  }

  void Visit(const ReferenceCall& call) {
    functions[call.function].Add(call, !IsActive(call.function));
    if (!stack.empty()) {
      edges[{stack.back(), call.function}].Add(call, !IsActive(stack.back(), call.function));
    }
    stack.push_back(call.function);
    for (const ReferenceCall& inner : call.calls) Visit(inner);
    stack.pop_back();
  }
};

}  // namespace

ReferenceProfile RecordByReference(const std::vector<std::vector<ReferenceCall>>& threads) {
  Walk walk;
  for (const std::vector<ReferenceCall>& thread : threads) {
    for (const ReferenceCall& call : thread) walk.Visit(call);
  }
  ReferenceProfile profile;
  for (const auto& [function, sums] : walk.functions) profile.functions[function] = sums.Stats();
  for (const auto& [edge, sums] : walk.edges) profile.edges[edge] = sums.Stats();
  return profile;
}

}  // namespace tracekiln::pstats
