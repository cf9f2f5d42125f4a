// Communication: what a collective, a send or a receive is, of whatever a trace has of it.
//
//   ProcessGroups groups = …;
//   std::optional<Communication> c = CommunicationOfRow(batch, row);            // arguments of a kernel or operator
//   std::optional<Communication> host = CommunicationOfNode(execution_trace, node);
//   std::optional<Communication> named = CommunicationOfKernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(…)");
//   Communication all = Merge({c, host, named});                                // first come, first served
//   CompleteGroup(groups, own_rank, &all);
//   node.type = CommunicationNodeType(all);
//   AppendCommunicationAttributes(all, &graph);
//
// Sources, best first:
//  1. Kineto's arguments ("Collective name", …), on the kernel and on the host's record_param_comms.
//  2. The execution trace's record_param_comms: attributes from schema 1.1.0 on, else its positional inputs (three
//     generations of them, told apart by what stands there). "wait" is one too, of kind kWait: no communication.
//  3. The operator around it (c10d::send has peer and tag, c10d::alltoall_base_ the splits) and the annotation
//     ("gloo:all_reduce", "nccl:send 0->1"), whose input is the tensor: CPU back ends have nothing else.
//  4. The name of the kernel. "SendRecv" is an all_to_all, or sends and receives: kSendRecv until a better source
//     knows. "Generic" is anything: kUnknown.
//
// What stays unknown: which sends and receives a coalesced group (batch_isend_irecv) makes, since NCCL runs them in one
// kernel and PyTorch records neither peers nor sizes of the single ones on it. Such a one is kSendRecv with
// `coalesced`. A coalesced group of collectives has the kind of its kernel, its name, or else is kUnknown with
// `coalesced`. Nothing is ever an error: text that makes no sense leaves its field unknown.
//
// Source: PyTorch torch/csrc/distributed/c10d/{ParamCommsUtils.hpp,ProcessGroupNCCL.cpp,Ops.cpp},
// torch/csrc/profiler/util.cpp (saveNcclMeta), execution_trace_observer.cpp.
#ifndef TRACEKILN_ANALYSIS_LINK_COMMUNICATION_H_
#define TRACEKILN_ANALYSIS_LINK_COMMUNICATION_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "analysis/link/process_groups.h"
#include "formats/intermediate/event_batch.h"
#include "formats/intermediate/graph.h"

namespace tracekiln {

// The first ten are Chakra's CollectiveCommType, by number.
enum class CommunicationKind : uint8_t {
  kAllReduce = 0,
  kReduce = 1,
  kAllGather = 2,
  kGather = 3,
  kScatter = 4,
  kBroadcast = 5,
  kAllToAll = 6,
  kReduceScatter = 7,
  kReduceScatterBlock = 8,
  kBarrier = 9,
  kSend = 10,
  kRecv = 11,
  kSendRecv = 12,  // sends, receives or both in one piece of work; or an all_to_all that doesn't say so
  kUnknown = 13,   // communication of a kind that we can't tell
  kWait = 14,      // the record of a wait for a collective: none itself
};

constexpr bool IsCollective(CommunicationKind kind) { return kind <= CommunicationKind::kBarrier; }
// "ALL_REDUCE" as in et_def.proto; "SEND", "RECV", "SEND_RECV", "UNKNOWN", "WAIT".
absl::string_view CommunicationKindName(CommunicationKind kind);
// Whatever the spelling: "_allgather_base", "all_to_allv", "c10d::recv_", "nccl:send 0->1". See CollectiveKindOf.
CommunicationKind CommunicationKindOf(absl::string_view name);

struct Communication {
  CommunicationKind kind = CommunicationKind::kUnknown;
  bool coalesced = false;
  std::optional<bool> is_async;
  std::string name;  // as the trace said it: "all_to_allv", "_allgather_base"
  // Of this rank; -1: not known. Bytes are elements times the element's size where only elements are said.
  int64_t in_bytes = -1;
  int64_t out_bytes = -1;
  int64_t in_elements = -1;
  int64_t out_elements = -1;
  std::string dtype;  // as the trace said it: "Float", "c10::BFloat16", "f32"
  // Elements to and from each rank, JSON lists; empty: not said, or even. Lists that the trace cut off are left out.
  std::string in_split;
  std::string out_split;
  // The process group.
  std::string group;
  std::string group_description;
  int64_t group_size = -1;
  std::string group_ranks;  // JSON list of global ranks, whole; empty: not known
  int64_t group_start = -1;
  int64_t group_stride = -1;  // of the global ranks, where it is even
  // Sends and receives. Ranks are global, -1: not known.
  int64_t src_rank = -1;
  int64_t dst_rank = -1;
  int64_t peer = -1;                // the other one as a rank within the group: what records say
  std::optional<int64_t> tag;       // CPU back ends; NCCL has none
  std::optional<int64_t> seq;       // number within the group, Kineto's
  std::optional<int64_t> sequence;  // of record_param_comms: what its "wait" repeats
};

// From the row's arguments: it has "Collective name" (kernels, record_param_comms), or is a c10d:: operator or an
// annotation of a communication back end. O(arguments).
std::optional<Communication> CommunicationOfRow(const EventBatch& batch, size_t row);

// From a node of PyTorch's execution trace: record_param_comms, a c10d:: operator or such an annotation. O(inputs).
std::optional<Communication> CommunicationOfNode(const Graph& graph, size_t node);

// From the name of device work alone. nullopt: no communication, as far as names tell.
std::optional<Communication> CommunicationOfKernel(absl::string_view name);

// All that `primary` knows, and what only `secondary` knows. A kind is replaced by one that says more: kUnknown by any,
// kSendRecv by kSend, kRecv and kAllToAll. Sizes come together with their dtype.
Communication Merge(Communication primary, const Communication& secondary);
// Of several, best first; those that are not there are passed over. REQUIRES: nothing.
Communication Merge(std::initializer_list<std::optional<Communication>> sources);

// Fills in the group's ranks, size and description (by name, else from start, stride and size) and the global ranks of
// peers. `own_rank`: of this trace.
void CompleteGroup(const ProcessGroups& groups, std::optional<int64_t> own_rank, Communication* communication);

// Of the node: kCommSend, kCommRecv, for kWait kComp, else kCommColl.
NodeType CommunicationNodeType(const Communication& communication);

// Adds the attributes of communication to the node added last: comm_type (of the ten kinds; there is none for kSendRecv
// and kUnknown), comm_size, comm_out_size, comm_dtype, in_split, out_split, pg_name, pg_desc, pg_ranks, pg_size,
// comm_src, comm_dst, comm_tag, comm_seq, coalesced, comm_name. Those that are not known are not there. Of a receive
// comm_size is what comes out. Does nothing for kWait.
void AppendCommunicationAttributes(const Communication& communication, Graph* graph);

// Bytes of an element: "Float" and "f32" 4, "c10::BFloat16" 2, …; 0 for names not known here.
int64_t ElementBytes(absl::string_view dtype);

}  // namespace tracekiln

#endif  // TRACEKILN_ANALYSIS_LINK_COMMUNICATION_H_
