// The field catalog: the one place that knows how other tools spell the arguments and keys of their traces.
//
// Everywhere else in the tree a foreign argument is named by a constant of this header, so that a spelling, its type,
// its unit and its meaning are written down once. Older spellings of the same thing ("external id") are listed with
// their field; the batch keeps whichever the trace used.
//
//   std::optional<int64_t> bytes = batch.IntArg(row, fields::kBytes);
//   const Field* field = FindField("External id");   // field->name == "external_id"
//
// Source: kineto libkineto/src/output_json.cpp and MetadataFieldCatalog.h, PyTorch torch/csrc/profiler, and the keys
// seen in public traces. Chrome's own grammar ("ph", "ts", "args", …) is not here: it belongs to formats/chrome.
#ifndef TRACEKILN_FORMATS_INTERMEDIATE_FIELD_CATALOG_H_
#define TRACEKILN_FORMATS_INTERMEDIATE_FIELD_CATALOG_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tracekiln {

enum class FieldType : uint8_t { kInt, kDouble, kBool, kString, kList, kObject };
enum class FieldPlace : uint8_t {
  kArgument,  // inside an event's arguments
  kTopLevel,  // beside the events
  kInside,    // inside the object of another field, see `meaning`
};

struct Field {
  absl::string_view name;      // ours, in the words of the house style: "external_id"
  absl::string_view spelling;  // the usual foreign one: "External id"
  FieldPlace place;
  FieldType type;          // the usual one; traces deviate, so look at the type of the argument's shape
  absl::string_view unit;  // "bytes", "GB/s", "us", …; empty: none
  absl::string_view meaning;
  absl::string_view older_spelling;  // empty: none
};

// All fields, each spelling once per place.
absl::Span<const Field> AllFields();

// The field with this foreign spelling (or older spelling), or nullptr. O(fields): not for hot paths.
const Field* FindField(absl::string_view spelling, FieldPlace place = FieldPlace::kArgument);

namespace fields {

// Ids and links.
inline constexpr absl::string_view kCorrelation = "correlation";
inline constexpr absl::string_view kExternalId = "External id";
inline constexpr absl::string_view kExternalIdOld = "external id";
inline constexpr absl::string_view kRecordFunctionId = "Record function id";
inline constexpr absl::string_view kEvIdx = "Ev Idx";
inline constexpr absl::string_view kProfilerEventIndex = "Profiler Event Index";
inline constexpr absl::string_view kSequenceNumber = "Sequence number";
inline constexpr absl::string_view kFwdThreadId = "Fwd thread id";
inline constexpr absl::string_view kCbid = "cbid";
inline constexpr absl::string_view kCid = "cid";
inline constexpr absl::string_view kGraphId = "graph id";
inline constexpr absl::string_view kGraphNodeId = "graph node id";

// Operators.
inline constexpr absl::string_view kInputDims = "Input Dims";
inline constexpr absl::string_view kInputType = "Input type";
inline constexpr absl::string_view kInputStrides = "Input Strides";
inline constexpr absl::string_view kConcreteInputs = "Concrete Inputs";
inline constexpr absl::string_view kCallStack = "Call stack";
inline constexpr absl::string_view kModuleHierarchy = "Module Hierarchy";
inline constexpr absl::string_view kTraceName = "Trace name";
inline constexpr absl::string_view kTraceIteration = "Trace iteration";
inline constexpr absl::string_view kFinished = "finished";
inline constexpr absl::string_view kKernelHash = "kernel_hash";
inline constexpr absl::string_view kKernelFile = "kernel_file";
inline constexpr absl::string_view kKernelBackend = "kernel_backend";
inline constexpr absl::string_view kKernelKwargs = "kernel_kwargs";
inline constexpr absl::string_view kNumWarps = "num_warps";
inline constexpr absl::string_view kNumStages = "num_stages";
inline constexpr absl::string_view kOpCount = "Op count";

// Collectives.
inline constexpr absl::string_view kCollectiveName = "Collective name";
inline constexpr absl::string_view kDtype = "dtype";
inline constexpr absl::string_view kInMsgNelems = "In msg nelems";
inline constexpr absl::string_view kOutMsgNelems = "Out msg nelems";
inline constexpr absl::string_view kInSplitSize = "In split size";
inline constexpr absl::string_view kOutSplitSize = "Out split size";
inline constexpr absl::string_view kGlobalRankStart = "Global rank start";
inline constexpr absl::string_view kGlobalRankStride = "Global rank stride";
inline constexpr absl::string_view kGroupSize = "Group size";
inline constexpr absl::string_view kProcessGroupName = "Process Group Name";
inline constexpr absl::string_view kProcessGroupDescription = "Process Group Description";
inline constexpr absl::string_view kProcessGroupRanks = "Process Group Ranks";
inline constexpr absl::string_view kSeq = "Seq";
inline constexpr absl::string_view kCommsId = "Comms Id";
inline constexpr absl::string_view kRankArg = "Rank";
inline constexpr absl::string_view kIsAsync = "Is asynchronized op";
inline constexpr absl::string_view kSrcRank = "Src Rank";
inline constexpr absl::string_view kDstRank = "Dst Rank";

// Device work.
inline constexpr absl::string_view kQueued = "queued";
inline constexpr absl::string_view kDevice = "device";
inline constexpr absl::string_view kContext = "context";
inline constexpr absl::string_view kStream = "stream";
inline constexpr absl::string_view kChannel = "channel";
inline constexpr absl::string_view kPriority = "priority";
inline constexpr absl::string_view kRegistersPerThread = "registers per thread";
inline constexpr absl::string_view kSharedMemory = "shared memory";
inline constexpr absl::string_view kBlocksPerSm = "blocks per SM";
inline constexpr absl::string_view kWarpsPerSm = "warps per SM";
inline constexpr absl::string_view kGrid = "grid";
inline constexpr absl::string_view kBlock = "block";
inline constexpr absl::string_view kOccupancyPercent = "est. achieved occupancy %";
inline constexpr absl::string_view kBytes = "bytes";
inline constexpr absl::string_view kMemoryBandwidth = "memory bandwidth (GB/s)";
inline constexpr absl::string_view kFromDevice = "fromDevice";
inline constexpr absl::string_view kInDevice = "inDevice";
inline constexpr absl::string_view kToDevice = "toDevice";
inline constexpr absl::string_view kKernel = "kernel";
inline constexpr absl::string_view kCudaSyncKind = "cuda_sync_kind";
inline constexpr absl::string_view kWaitOnStream = "wait_on_stream";
inline constexpr absl::string_view kWaitOnCudaEventId = "wait_on_cuda_event_id";
inline constexpr absl::string_view kWaitOnCudaEventRecordCorrId = "wait_on_cuda_event_record_corr_id";
inline constexpr absl::string_view kEventId = "event_id";

// Python.
inline constexpr absl::string_view kPythonId = "Python id";
inline constexpr absl::string_view kPythonParentId = "Python parent id";
inline constexpr absl::string_view kPythonModuleId = "Python module id";
inline constexpr absl::string_view kPythonThread = "Python thread";

// Memory events.
inline constexpr absl::string_view kAddr = "Addr";
inline constexpr absl::string_view kMemoryBytes = "Bytes";
inline constexpr absl::string_view kTotalAllocated = "Total Allocated";
inline constexpr absl::string_view kTotalReserved = "Total Reserved";
inline constexpr absl::string_view kDeviceType = "Device Type";
inline constexpr absl::string_view kDeviceId = "Device Id";

// Arguments of metadata events.
inline constexpr absl::string_view kNameArg = "name";
inline constexpr absl::string_view kLabels = "labels";
inline constexpr absl::string_view kSortIndex = "sort_index";

// Keys beside the events.
inline constexpr absl::string_view kTraceEvents = "traceEvents";
inline constexpr absl::string_view kSchemaVersion = "schemaVersion";
inline constexpr absl::string_view kBaseTimeNanoseconds = "baseTimeNanoseconds";
inline constexpr absl::string_view kDisplayTimeUnit = "displayTimeUnit";
inline constexpr absl::string_view kDeviceProperties = "deviceProperties";
inline constexpr absl::string_view kDistributedInfo = "distributedInfo";
inline constexpr absl::string_view kTopTraceName = "traceName";
inline constexpr absl::string_view kTraceId = "trace_id";
inline constexpr absl::string_view kStackFrames = "stackFrames";
inline constexpr absl::string_view kSamples = "samples";
inline constexpr absl::string_view kSystemTraceEvents = "systemTraceEvents";
inline constexpr absl::string_view kOtherData = "otherData";
inline constexpr absl::string_view kTopMetadata = "metadata";
inline constexpr absl::string_view kRecordShapes = "record_shapes";
inline constexpr absl::string_view kWithStack = "with_stack";
inline constexpr absl::string_view kWithModules = "with_modules";
inline constexpr absl::string_view kWithFlops = "with_flops";
inline constexpr absl::string_view kProfileMemory = "profile_memory";

// Inside "distributedInfo" and its "pg_config".
inline constexpr absl::string_view kBackend = "backend";
inline constexpr absl::string_view kRank = "rank";
inline constexpr absl::string_view kWorldSize = "world_size";
inline constexpr absl::string_view kPgCount = "pg_count";
inline constexpr absl::string_view kPgConfig = "pg_config";
inline constexpr absl::string_view kPgName = "pg_name";
inline constexpr absl::string_view kPgDesc = "pg_desc";
inline constexpr absl::string_view kPgSize = "pg_size";
inline constexpr absl::string_view kPgRanks = "ranks";
inline constexpr absl::string_view kBackendConfig = "backend_config";
inline constexpr absl::string_view kNcclVersion = "nccl_version";

// Categories that are treated specially. All others are an open set that only analysis/views interprets.
inline constexpr absl::string_view kAc2g = "ac2g";      // flow that restates a correlation
inline constexpr absl::string_view kFwdBwd = "fwdbwd";  // flow from forward to backward operator

}  // namespace fields
}  // namespace tracekiln

#endif  // TRACEKILN_FORMATS_INTERMEDIATE_FIELD_CATALOG_H_
