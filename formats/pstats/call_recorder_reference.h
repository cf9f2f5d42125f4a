// The rows and caller edges of a call forest, the slow and plain way: the oracle of CallRecorder.
#ifndef TRACEKILN_FORMATS_PSTATS_CALL_RECORDER_REFERENCE_H_
#define TRACEKILN_FORMATS_PSTATS_CALL_RECORDER_REFERENCE_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "formats/intermediate/profile.h"

namespace tracekiln::pstats {

struct ReferenceCall {
  uint32_t function = 0;
  int64_t inclusive_ns = 0;
  int64_t own_ns = 0;
  std::vector<ReferenceCall> calls;
};

struct ReferenceProfile {
  std::map<uint32_t, CallStats> functions;
  std::map<std::pair<uint32_t, uint32_t>, CallStats> edges;  // (caller, callee)
};

// The calls of each thread, one thread after the other. Whether a function or an edge is active further out is looked
// up on the stack itself; sums are exact and cut to int64 at the end. O(calls * depth).
ReferenceProfile RecordByReference(const std::vector<std::vector<ReferenceCall>>& threads);

}  // namespace tracekiln::pstats

#endif  // TRACEKILN_FORMATS_PSTATS_CALL_RECORDER_REFERENCE_H_
