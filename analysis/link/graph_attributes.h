// Names of the attributes of graph nodes: PyTorch's, Chakra's and our own. The one place that spells them.
//
// Types are those of AttributeType that a linked graph has. "PyTorch" means the execution trace's own attributes, kept
// with their types; "Chakra" what the reference converter writes or ASTRA-sim's feeders read; "ours" the rest.
#ifndef TRACEKILN_ANALYSIS_LINK_GRAPH_ATTRIBUTES_H_
#define TRACEKILN_ANALYSIS_LINK_GRAPH_ATTRIBUTES_H_

#include "absl/strings/string_view.h"

namespace tracekiln::graph_attributes {

// PyTorch.
inline constexpr absl::string_view kRfId = "rf_id";          // RecordFunction handle; 0 on markers
inline constexpr absl::string_view kFwParent = "fw_parent";  // node on top of the forward thread's stack, else 0
inline constexpr absl::string_view kSeqId = "seq_id";        // autograd sequence number, -1: none
inline constexpr absl::string_view kScope = "scope";         // RecordScope: 1 backward function, 7 user scope, …
inline constexpr absl::string_view kTid = "tid";             // PyTorch's small logical thread number
inline constexpr absl::string_view kFwTid = "fw_tid";
inline constexpr absl::string_view kOpSchema = "op_schema";
inline constexpr absl::string_view kCollectiveName = "collective_name";  // 1.1.0 and later, as the next ones
inline constexpr absl::string_view kDtype = "dtype";
inline constexpr absl::string_view kInMsgNelems = "in_msg_nelems";
inline constexpr absl::string_view kOutMsgNelems = "out_msg_nelems";
inline constexpr absl::string_view kInSplitSize = "in_split_size";
inline constexpr absl::string_view kOutSplitSize = "out_split_size";
inline constexpr absl::string_view kGlobalRankStart = "global_rank_start";
inline constexpr absl::string_view kGlobalRankStride = "global_rank_stride";

// PyTorch and Chakra.
inline constexpr absl::string_view kPgName = "pg_name";  // string
inline constexpr absl::string_view kPgDesc = "pg_desc";  // string
inline constexpr absl::string_view kPgSize = "pg_size";  // int64

// Chakra.
inline constexpr absl::string_view kIsCpuOp = "is_cpu_op";       // bool
inline constexpr absl::string_view kStream = "stream";           // int64
inline constexpr absl::string_view kCommType = "comm_type";      // int64: CollectiveCommType; of COMM_COLL only
inline constexpr absl::string_view kCommSize = "comm_size";      // int64: bytes that go in
inline constexpr absl::string_view kCommSrc = "comm_src";        // int32: global rank
inline constexpr absl::string_view kCommDst = "comm_dst";        // int32: global rank
inline constexpr absl::string_view kCommTag = "comm_tag";        // int32
inline constexpr absl::string_view kTensorSize = "tensor_size";  // uint64: bytes, of MEM nodes
inline constexpr absl::string_view kSchema = "schema";           // string, of the graph, as the next ones
inline constexpr absl::string_view kPid = "pid";                 // uint64
inline constexpr absl::string_view kTime = "time";               // string
inline constexpr absl::string_view kStartTs = "start_ts";        // uint64: ms of a steady clock
inline constexpr absl::string_view kFinishTs = "finish_ts";      // uint64

// Ours.
inline constexpr absl::string_view kEtId = "et_id";                    // uint64: id in the execution trace
inline constexpr absl::string_view kStartNs = "start_ns";              // int64: from the trace's base
inline constexpr absl::string_view kDurationNs = "duration_ns";        // int64: host: without children; device: all
inline constexpr absl::string_view kInclusiveNs = "inclusive_ns";      // int64: host, with children
inline constexpr absl::string_view kThread = "thread";                 // int64: the system's thread id
inline constexpr absl::string_view kExternalId = "external_id";        // int64: of the timeline
inline constexpr absl::string_view kSync = "sync";                     // string: "device", "stream", "event" or "copy"
inline constexpr absl::string_view kCat = "cat";                       // string: "kernel", "gpu_memcpy", "gpu_memset"
inline constexpr absl::string_view kDevice = "device";                 // int64
inline constexpr absl::string_view kCorrelation = "correlation";       // int64
inline constexpr absl::string_view kLaunchNs = "launch_ns";            // int64: start of the call that launched it
inline constexpr absl::string_view kBytes = "bytes";                   // int64: of copies and sets
inline constexpr absl::string_view kCommOutSize = "comm_out_size";     // int64: bytes that come out
inline constexpr absl::string_view kCommDtype = "comm_dtype";          // string
inline constexpr absl::string_view kInSplit = "in_split";              // string: JSON list of elements per rank
inline constexpr absl::string_view kOutSplit = "out_split";            // string
inline constexpr absl::string_view kPgRanks = "pg_ranks";              // string: JSON list of global ranks, whole
inline constexpr absl::string_view kCommSeq = "comm_seq";              // int64: number within the process group
inline constexpr absl::string_view kCommName = "comm_name";            // string: the collective as the trace names it
inline constexpr absl::string_view kCoalesced = "coalesced";           // bool
inline constexpr absl::string_view kBaseNs = "base_ns";                // int64, of the graph: zero point of start_ns
inline constexpr absl::string_view kRank = "rank";                     // int64, of the graph
inline constexpr absl::string_view kWorldSize = "world_size";          // int64, of the graph
inline constexpr absl::string_view kProcessGroups = "process_groups";  // string, of the graph: JSON as in pg_config

}  // namespace tracekiln::graph_attributes

#endif  // TRACEKILN_ANALYSIS_LINK_GRAPH_ATTRIBUTES_H_
