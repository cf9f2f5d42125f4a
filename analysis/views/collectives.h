// Collectives: which slices of a trace are collective operations, of what kind, in which process group.
//
//   CollectiveReader reader;
//   for (const CollectiveSlice& c : reader.Read(batch)) {
//     … batch.ts_ns[c.row], c.kind, c.group, c.seq …
//   }
//
// A slice is one if it is device work with the argument "Collective name", or a kernel of a communication library by
// its name, or a host annotation "BACKEND:NAME" such as "gloo:all_reduce": CPU back ends have nothing else. What was
// said by arguments is more exact than what a kernel's name says: a kernel of older traces has neither group nor
// number, and "SendRecv" may be an all-to-all. Sources: PyTorch torch/csrc/distributed/c10d/ParamCommsUtils.hpp
// (arguments), NCCL src/device (names of kernels).
#ifndef TRACEKILN_ANALYSIS_VIEWS_COLLECTIVES_H_
#define TRACEKILN_ANALYSIS_VIEWS_COLLECTIVES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "formats/intermediate/event_batch.h"

namespace tracekiln {

enum class CollectiveKind : uint8_t {
  kUnknown,  // a collective whose name says nothing to us
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast,
  kReduce,
  kGather,
  kScatter,
  kBarrier,
  kSendRecv,  // both, or what NCCL makes of an all_to_all
  kSend,
  kRecv,
  kReduceScatterBlock,
};

// "all_reduce", "send_recv", …
absl::string_view CollectiveKindName(CollectiveKind kind);

// The kind that a name stands for, whatever its spelling: "_allgather_base", "ncclDevKernel_AllGather_RING_LL(…)",
// "all_gather_into_tensor_coalesced" are all kAllGather.
CollectiveKind CollectiveKindOf(absl::string_view name);

// Whether a kernel of that name communicates: those of NCCL, RCCL, MSCCL, NVSHMEM, HCCL, oneCCL and DeepEP, and the
// all-reduces and so on that serving engines and symmetric memory bring along. "pack_for_nccl_buffer" does not.
// `kind`, if not null, is set to what the name says, kUnknown for "ncclDevKernel_Generic".
bool IsCollectiveKernelName(absl::string_view name, CollectiveKind* kind = nullptr);

// "gloo:all_reduce" -> "all_reduce": what a communication back end annotates on the host. Empty if it is no such thing.
absl::string_view AnnotatedCollective(absl::string_view name);

// Whether members leave such a collective at about the same time, since each needs something from all others.
constexpr bool EndsTogether(CollectiveKind kind) {
  return kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kAllGather ||
         kind == CollectiveKind::kReduceScatter || kind == CollectiveKind::kReduceScatterBlock ||
         kind == CollectiveKind::kAllToAll || kind == CollectiveKind::kBarrier;
}

// Between two ranks, not in a whole group.
constexpr bool IsPointToPoint(CollectiveKind kind) {
  return kind == CollectiveKind::kSendRecv || kind == CollectiveKind::kSend || kind == CollectiveKind::kRecv;
}

struct CollectiveSlice {
  size_t row = 0;
  CollectiveKind kind = CollectiveKind::kUnknown;
  bool is_on_device = false;
  absl::string_view group;        // name of the process group; empty: not said
  absl::string_view group_ranks;  // "[0, 1]" as in the trace, perhaps elided; empty: not said
  std::optional<int64_t> seq;     // number within the group
};

class CollectiveReader {
 public:
  // The collectives among the finished slices of a batch, in its order. Valid until the next call, and the texts as
  // long as the batch. Each name is looked at once per batch.
  const std::vector<CollectiveSlice>& Read(const EventBatch& batch);

 private:
  std::vector<CollectiveSlice> found_;
};

}  // namespace tracekiln

#endif  // TRACEKILN_ANALYSIS_VIEWS_COLLECTIVES_H_
