// CallRecorder: a walk over calls -> rows and caller edges of a Profile, by cProfile's own recursion rule.
//
//   CallRecorder recorder(&profile);
//   recorder.Enter(f);
//   recorder.Enter(g);
//   recorder.Leave(/*inclusive_ns=*/30, /*own_ns=*/30);
//   recorder.Leave(/*inclusive_ns=*/100, /*own_ns=*/70);
//
// The rule: every call counts in call_count and own_ns of its function, and of its edge (caller -> function). It counts
// in primitive_call_count and cumulative_ns of the function only if the function is not active further out, and of the
// edge only if the same *edge* is not active further out. So the calls of a function are the sum over its callers plus
// its calls from nowhere, and so are own times; primitive calls and cumulative times of edges can exceed the
// function's under mutual recursion. A resumed generator is a call of its own, as in cProfile.
//
// Times are given when a call ends, since who calls knows them: own_ns is usually inclusive_ns minus that of the calls
// made, but need not be. Sums saturate. One recorder walks one thread after the other; rows of threads add up.
// Cost: one hash look-up per call, O(depth) memory. Not thread-safe.
// Source: CPython Modules/_lsprof.c, ptrace_enter_call and Stop.
#ifndef TRACEKILN_FORMATS_PSTATS_CALL_RECORDER_H_
#define TRACEKILN_FORMATS_PSTATS_CALL_RECORDER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "formats/intermediate/profile.h"

namespace tracekiln::pstats {

class CallRecorder {
 public:
  // The profile must outlive the recorder; others may add to it meanwhile.
  explicit CallRecorder(Profile* profile) : profile_(*profile) {}

  // A call of `function` begins, made by the innermost open one.
  void Enter(FunctionId function);

  // The innermost open call ends. REQUIRES: depth() > 0.
  void Leave(int64_t inclusive_ns, int64_t own_ns);

  // Open calls.
  size_t depth() const { return stack_.size(); }

 private:
  static constexpr uint32_t kNoEdge = 0xffffffffu;
  struct Open {
    FunctionId function;
    uint32_t edge;
  };

  Profile& profile_;
  std::vector<Open> stack_;
  std::vector<uint32_t> function_level_;  // open calls of each function
  std::vector<uint32_t> edge_level_;      // open calls over each edge
};

}  // namespace tracekiln::pstats

#endif  // TRACEKILN_FORMATS_PSTATS_CALL_RECORDER_H_
