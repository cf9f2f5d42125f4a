#include "formats/intermediate/field_catalog.h"

namespace tracekiln {
namespace {

constexpr FieldPlace kArg = FieldPlace::kArgument;
constexpr FieldPlace kTop = FieldPlace::kTopLevel;
constexpr FieldPlace kIn = FieldPlace::kInside;
constexpr FieldType kI = FieldType::kInt;
constexpr FieldType kD = FieldType::kDouble;
constexpr FieldType kB = FieldType::kBool;
constexpr FieldType kS = FieldType::kString;
constexpr FieldType kL = FieldType::kList;
constexpr FieldType kO = FieldType::kObject;

using namespace fields;  // NOLINT(google-build-using-namespace): the table is all of it

constexpr Field kFields[] = {
    {"correlation_id", kCorrelation, kArg, kI, "", "host call <-> device work; 0: none", ""},
    {"external_id", kExternalId, kArg, kI, "", "framework operator <-> host call; another number space",
     kExternalIdOld},
    {"record_function_id", kRecordFunctionId, kArg, kI, "", "operator <-> node of the execution trace", ""},
    {"event_index", kEvIdx, kArg, kI, "", "running number of the event in the profiler's result", kProfilerEventIndex},
    {"sequence_number", kSequenceNumber, kArg, kI, "", "autograd: joins forward and backward; -1: none", ""},
    {"forward_thread_id", kFwdThreadId, kArg, kI, "", "autograd's number of the thread of the forward operator", ""},
    {"cuda_callback_id", kCbid, kArg, kI, "", "which CUDA function was called", ""},
    {"rocm_callback_id", kCid, kArg, kI, "", "which ROCm function was called", ""},
    {"graph_id", kGraphId, kArg, kI, "", "CUDA graph that the work belongs to; 0: none", ""},
    {"graph_node_id", kGraphNodeId, kArg, kI, "", "node within the CUDA graph; 0: none", ""},

    {"input_shapes", kInputDims, kArg, kL, "", "shape of each input, [] for what is no tensor", ""},
    {"input_types", kInputType, kArg, kL, "", "type of each input", ""},
    {"input_strides", kInputStrides, kArg, kL, "elements", "strides of each input", ""},
    {"input_values", kConcreteInputs, kArg, kL, "", "value of each scalar input as text", ""},
    {"call_stack", kCallStack, kArg, kS, "", "Python frames, joined by ';', innermost first", ""},
    {"module_hierarchy", kModuleHierarchy, kArg, kS, "", "path of modules", ""},
    {"trace_name", kTraceName, kArg, kS, "", "name of the profiler's trace", ""},
    {"trace_iteration", kTraceIteration, kArg, kI, "", "number of the profiler's iteration", ""},
    {"is_finished", kFinished, kArg, kB, "", "false: the operator was still running when recording ended", ""},
    {"kernel_hash", kKernelHash, kArg, kS, "", "Triton: hash of the kernel's source", ""},
    {"kernel_file", kKernelFile, kArg, kS, "", "Triton: where the kernel's source is", ""},
    {"kernel_backend", kKernelBackend, kArg, kS, "", "Triton: compiler backend", ""},
    {"kernel_kwargs", kKernelKwargs, kArg, kS, "", "Triton: keyword arguments of the launch", ""},
    {"num_warps", kNumWarps, kArg, kI, "", "Triton: warps per block", ""},
    {"num_stages", kNumStages, kArg, kI, "", "Triton: pipeline stages", ""},
    {"operator_count", kOpCount, kArg, kI, "", "operators recorded in the trace", ""},

    {"collective", kCollectiveName, kArg, kS, "", "all_reduce, allgather, …", ""},
    {"dtype", kDtype, kArg, kS, "", "element type of the message", ""},
    {"input_elements", kInMsgNelems, kArg, kI, "elements", "size of this rank's input", ""},
    {"output_elements", kOutMsgNelems, kArg, kI, "elements", "size of this rank's output", ""},
    {"input_split", kInSplitSize, kArg, kS, "elements", "all_to_all: input per rank, list as text", ""},
    {"output_split", kOutSplitSize, kArg, kS, "elements", "all_to_all: output per rank, list as text", ""},
    {"global_rank_start", kGlobalRankStart, kArg, kI, "", "first rank of the group", ""},
    {"global_rank_stride", kGlobalRankStride, kArg, kI, "", "distance of the group's ranks", ""},
    {"process_group_size", kGroupSize, kArg, kI, "ranks", "ranks in the process group", ""},
    {"process_group_name", kProcessGroupName, kArg, kS, "", "name of the process group", ""},
    {"process_group_description", kProcessGroupDescription, kArg, kS, "", "purpose of the process group", ""},
    {"process_group_ranks", kProcessGroupRanks, kArg, kS, "", "ranks of the process group, list as text", ""},
    {"collective_sequence", kSeq, kArg, kI, "", "number of the collective in its process group", ""},
    {"communicator_id", kCommsId, kArg, kI, "", "communicator; may exceed int64", ""},
    {"rank_in_group", kRankArg, kArg, kI, "", "this rank within the group; point to point: the other one", ""},
    {"is_async", kIsAsync, kArg, kB, "", "collective: false: the caller waits for its end", ""},
    {"source_rank", kSrcRank, kArg, kI, "", "point to point: sender", ""},
    {"destination_rank", kDstRank, kArg, kI, "", "point to point: receiver", ""},

    {"queued", kQueued, kArg, kI, "us", "when the work was queued; usually 0", ""},
    {"device", kDevice, kArg, kI, "", "number of the device", ""},
    {"context", kContext, kArg, kI, "", "number of the device context", ""},
    {"stream", kStream, kArg, kI, "", "stream that the work ran on", ""},
    {"channel", kChannel, kArg, kI, "", "hardware channel", ""},
    {"priority", kPriority, kArg, kI, "", "priority of the stream", ""},
    {"registers_per_thread", kRegistersPerThread, kArg, kI, "registers", "registers of one thread", ""},
    {"shared_memory_bytes", kSharedMemory, kArg, kI, "bytes", "shared memory of one block", ""},
    {"blocks_per_sm", kBlocksPerSm, kArg, kD, "", "blocks of the grid per multiprocessor", ""},
    {"warps_per_sm", kWarpsPerSm, kArg, kD, "", "warps of the grid per multiprocessor", ""},
    {"grid", kGrid, kArg, kL, "blocks", "[x, y, z]", ""},
    {"block", kBlock, kArg, kL, "threads", "[x, y, z]", ""},
    {"occupancy_percent", kOccupancyPercent, kArg, kI, "%", "estimated achieved occupancy", ""},
    {"bytes", kBytes, kArg, kI, "bytes", "size of the copy or fill", ""},
    {"bandwidth", kMemoryBandwidth, kArg, kD, "GB/s", "bytes / dur; a text when dur was 0", ""},
    {"from_device", kFromDevice, kArg, kI, "", "peer copy: source device", ""},
    {"in_device", kInDevice, kArg, kI, "", "peer copy: device whose stream ran it", ""},
    {"to_device", kToDevice, kArg, kI, "", "peer copy: destination device", ""},
    {"kernel", kKernel, kArg, kS, "", "ROCm: name of the launched kernel", ""},
    {"sync_kind", kCudaSyncKind, kArg, kS, "", "Event Sync, Stream Sync, Stream Wait Event, Context Sync", ""},
    {"wait_on_stream", kWaitOnStream, kArg, kI, "", "stream waited for", ""},
    {"wait_on_event_id", kWaitOnCudaEventId, kArg, kI, "", "CUDA event waited for", ""},
    {"wait_on_correlation_id", kWaitOnCudaEventRecordCorrId, kArg, kI, "",
     "correlation of the call that recorded the CUDA event waited for", ""},
    {"event_id", kEventId, kArg, kI, "", "CUDA event", ""},

    {"python_id", kPythonId, kArg, kI, "", "number of the Python call", ""},
    {"python_parent_id", kPythonParentId, kArg, kI, "", "python_id of the caller; null at a root", ""},
    {"python_module_id", kPythonModuleId, kArg, kI, "", "number of the nn.Module instance among those of its name", ""},
    {"python_thread", kPythonThread, kArg, kI, "", "the profiler's number of the Python thread", ""},

    {"address", kAddr, kArg, kI, "", "address of the allocation", ""},
    {"allocated_bytes", kMemoryBytes, kArg, kI, "bytes", "size of the allocation, negative when it is freed", ""},
    {"total_allocated_bytes", kTotalAllocated, kArg, kI, "bytes", "allocated after the event", ""},
    {"total_reserved_bytes", kTotalReserved, kArg, kI, "bytes", "reserved by the allocator after the event", ""},
    {"device_type", kDeviceType, kArg, kI, "", "0 CPU, 1 CUDA, …", ""},
    {"device_id", kDeviceId, kArg, kI, "", "number of the device, -1 for the CPU", ""},

    {"name", kNameArg, kArg, kS, "", "metadata event: name of the process or thread", ""},
    {"labels", kLabels, kArg, kS, "", "metadata event: labels of the process", ""},
    {"sort_index", kSortIndex, kArg, kI, "", "metadata event: position among its siblings", ""},

    {"events", kTraceEvents, kTop, kL, "", "the events", ""},
    {"schema_version", kSchemaVersion, kTop, kI, "", "1", ""},
    {"base_ns", kBaseTimeNanoseconds, kTop, kI, "ns", "zero point of all times, since the epoch", ""},
    {"display_unit", kDisplayTimeUnit, kTop, kS, "", "ms or ns; of the display only", ""},
    {"devices", kDeviceProperties, kTop, kL, "", "properties of each device", ""},
    {"distributed", kDistributedInfo, kTop, kO, "", "the rank, its job and its process groups", ""},
    {"file_name", kTopTraceName, kTop, kS, "", "path the trace was written to", ""},
    {"trace_id", kTraceId, kTop, kS, "", "random id of the recording", ""},
    {"stack_frames", kStackFrames, kTop, kO, "", "Chrome: frames that events refer to", ""},
    {"samples", kSamples, kTop, kL, "", "Chrome: samples of a CPU profiler", ""},
    {"system_events", kSystemTraceEvents, kTop, kS, "", "Chrome: ftrace text", ""},
    {"other_data", kOtherData, kTop, kO, "", "Chrome: anything", ""},
    {"metadata", kTopMetadata, kTop, kO, "", "Chrome: clock domain, command line, …", ""},
    {"has_shapes", kRecordShapes, kTop, kI, "", "1: shapes were recorded", ""},
    {"has_stacks", kWithStack, kTop, kI, "", "1: Python stacks were recorded", ""},
    {"has_modules", kWithModules, kTop, kI, "", "1: modules were recorded", ""},
    {"has_flops", kWithFlops, kTop, kI, "", "1: floating point operations were counted", ""},
    {"has_memory", kProfileMemory, kTop, kI, "", "1: allocations were recorded", ""},

    {"backend", kBackend, kIn, kS, "", "distributedInfo: nccl, gloo, …", ""},
    {"rank", kRank, kIn, kI, "", "distributedInfo: this process", ""},
    {"world_size", kWorldSize, kIn, kI, "ranks", "distributedInfo: processes of the job", ""},
    {"process_group_count", kPgCount, kIn, kI, "", "distributedInfo: process groups", ""},
    {"process_groups", kPgConfig, kIn, kL, "", "distributedInfo: one object per process group", ""},
    {"process_group_name", kPgName, kIn, kS, "", "pg_config: as in the collectives' arguments", ""},
    {"process_group_description", kPgDesc, kIn, kS, "", "pg_config: purpose", ""},
    {"process_group_size", kPgSize, kIn, kI, "ranks", "pg_config: ranks in the group", ""},
    {"process_group_ranks", kPgRanks, kIn, kL, "", "pg_config: ranks of the group; a text in on-demand traces", ""},
    {"backend_config", kBackendConfig, kIn, kS, "", "pg_config: backend per device type", ""},
    {"nccl_version", kNcclVersion, kIn, kS, "", "distributedInfo: version of NCCL", ""},
};

}  // namespace

absl::Span<const Field> AllFields() { return kFields; }

const Field* FindField(absl::string_view spelling, FieldPlace place) {
  for (const Field& field : kFields) {
    if (field.place == place && (field.spelling == spelling || field.older_spelling == spelling) && !spelling.empty()) {
      return &field;
    }
  }
  return nullptr;
}

}  // namespace tracekiln
