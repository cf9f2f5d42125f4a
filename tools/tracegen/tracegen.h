#ifndef TRACEKILN_TOOLS_TRACEGEN_TRACEGEN_H_
#define TRACEKILN_TOOLS_TRACEGEN_TRACEGEN_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/io/byte_sink.h"

namespace tracekiln::tracegen {

// Made-up traces of a sharded data-parallel training run, as PyTorch's profiler would write them: any number of ranks,
// any size, known contents. They are for tests and benchmarks that need more data, or better known data, than real
// traces give.
//
//   tracegen::RunOptions run;
//   run.rank_count = 8;
//   run.slow_rank = 3;
//   tracegen::KinetoOptions kineto;                       // the dialect
//   tracegen::FitToSize(50'000'000, kineto, &run);        // or set step_count
//   for (int rank = 0; rank < run.rank_count; ++rank) {
//     auto sink = io::CreateOutput(absl::StrCat("run/rank-", rank, ".json"));
//     absl::StatusOr<Totals> totals = tracegen::WriteKineto(run, rank, kineto, sink->get());  // closes the sink
//   }
//
// What happens (RankModel) is apart from how it is written (WriteKineto): give RankModel another EventVisitor to
// get the same run in another form. Everything is a function of the options: same options, same bytes, on any machine,
// whichever ranks are generated and in whatever order. Memory is O(events of one step), about 2 MB, plus O(rank_count).
//
// The run. Ranks form shards of eight neighbours. A step loads a batch, runs forward and backward over the layers (the
// parameters of a layer are gathered within the shard one layer ahead, its gradients scattered behind), exchanges
// activations with a partner rank in some layers, sums the squared gradient norm over all ranks, waits for it on the
// host, and updates the parameters. What holds, so that tests can rely on it:
// - A collective ends at the same moment on all ranks of its group, when the last of them arrived plus the transfer;
//   on a rank it starts when that rank is ready: a slow rank shows as short collectives there and long ones elsewhere.
// - Slices of a host thread are properly nested. Kernels of a stream do not overlap. (cuda_sync slices do overlap
//   kernels, as in real traces.)
// - A kernel starts after the end of the call that launched it; each correlation id has one call, and one device slice,
// several if the call
//   launches a graph, or none if the call does no device work.
// - Each flow start has at least one flow end, save those of the dialects before 2025, which end flows at calls without
//   device work, too.
struct RunOptions {
  int rank_count = 1;    // 1 to kMaxRankCount
  int step_count = 3;    // at least 1
  int layer_count = 24;  // 1 to kMaxLayerCount; events per step grow with it
  uint64_t seed = 1;
  bool has_python_stacks = true;
  int slow_rank = -1;     // its kernels take slow_percent longer; -1: none
  int slow_percent = 30;  // 0 to 1000
  // Each rank's clock is off by a constant of at most this much either way; 0: all clocks agree. Rank 0 is never off.
  int64_t max_clock_skew_ns = 0;
};
inline constexpr int kMaxRankCount = 65536;
inline constexpr int kMaxLayerCount = 512;

// InvalidArgument, saying which field, if an option is out of its range.
[[nodiscard]] absl::Status CheckOptions(const RunOptions& run);

// The clock of `rank` minus true time.
int64_t ClockOffsetNs(const RunOptions& run, int rank);

enum class Phase : char { kComplete = 'X', kInstant = 'i', kFlowStart = 's', kFlowEnd = 'f' };

enum class Category : uint8_t {
  kCpuOp,
  kUserAnnotation,
  kPythonFunction,
  kMemory,  // instants: an allocation (bytes > 0) or a release (bytes < 0)
  kCudaRuntime,
  kCudaDriver,
  kKernel,
  kGpuMemcpy,
  kGpuMemset,
  kGpuUserAnnotation,
  kCudaSync,
  kOverhead,
  kLaunchFlow,   // from a call to its device work; id = correlation
  kForwardFlow,  // from a forward operator to its backward node
};
inline constexpr int kCategoryCount = static_cast<int>(Category::kForwardFlow) + 1;

// What an operator was given, each as the JSON text of an array with one element per input.
struct TensorArgs {
  std::string dims, types, strides, concrete;
};

// How a kernel is launched.
struct KernelShape {
  int32_t name_id = 0;
  int registers_per_thread = 0;
  int shared_memory_bytes = 0;
  std::array<int, 3> grid = {1, 1, 1}, block = {1, 1, 1};
  int occupancy_percent = 0;
};

struct Collective {
  std::string name, dtype;  // "_allgather_base", "BFloat16"
  int64_t in_element_count = 0, out_element_count = 0;
  int group_size = 1;
  std::string group_name, group_description;
  std::string group_ranks;  // "[0, 1]"; from 30 on with an ellipsis, as the profiler does
  int first_rank = 0, rank_stride = 1;
};

// One thing that happened. Ids are absent if -1. Pointers and views stay valid as long as the RankModel.
struct Event {
  Phase phase = Phase::kComplete;
  Category category = Category::kCpuOp;
  bool is_dangling = false;  // flow end at a call that has no device work and no flow start
  int32_t name_id = -1;      // dense, same name same id; -1 for names made up on the way (valid during the visit only)
  absl::string_view name;
  int64_t ts_ns = 0;         // since 1970, by the rank's clock
  int64_t dur_ns = 0;        // kComplete only
  int64_t pid = 0, tid = 0;  // of device work: the device and the stream
  int64_t ev_idx = -1, external_id = -1, record_function_id = -1;
  int64_t sequence_number = -1, forward_thread = 0;  // autograd
  int64_t correlation = -1;                          // or the id of a flow
  int64_t python_id = -1, python_parent_id = -1, python_module_id = -1;
  int32_t cbid = -1;  // of the call, or of the call that a kLaunchFlow belongs to
  int64_t graph_node_id = -1;
  int64_t bytes = 0, address = 0, total_allocated_bytes = 0, total_reserved_bytes = 0;
  const TensorArgs* tensors = nullptr;
  const KernelShape* kernel = nullptr;
  const Collective* collective = nullptr;
};

class EventVisitor {
 public:
  virtual ~EventVisitor() = default;
  // The events of one step (the last call brings the Python frames around all steps), in the order in which the
  // profiler writes them: not by time.
  virtual void OnEvents(const std::vector<Event>& events) = 0;
};

// A row of the timeline.
struct Track {
  int64_t pid = 0, tid = 0;
  std::string name;
};

struct ProcessGroup {
  std::string name, description;
  std::vector<int> ranks;
};

// What is known about a rank before its first event.
struct RankInfo {
  int rank = 0, world_size = 1;
  int device = 0;
  int64_t pid = 0;
  std::string host, trace_id;
  int64_t start_ns = 0;  // before any event, by the rank's clock
  std::vector<ProcessGroup> groups;
  std::vector<Track> tracks;
};

// One rank of a run. Not thread-safe; different ranks are independent.
class RankModel {
 public:
  // REQUIRES: CheckOptions(run) is OK, 0 <= rank < run.rank_count.
  RankModel(const RunOptions& run, int rank);
  ~RankModel();
  RankModel(const RankModel&) = delete;
  RankModel& operator=(const RankModel&) = delete;

  const RankInfo& info() const;
  // Names by Event::name_id.
  const std::vector<std::string>& names() const;
  // Runs all steps. Call once. Returns the end of the recording, by the rank's clock.
  int64_t Run(EventVisitor* visitor);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// The writers differ from year to year, in layout, spellings and clocks. Taken from real traces:
enum class Dialect {
  // Kineto of mid 2021: "Operator" and "Kernel", text thread ids, whole epoch microseconds; no annotations, frames nor
  // overhead; operators are the only rows of the host.
  k2021,
  k2023,  // whole epoch microseconds; one arg per line
  k2024,  // epoch microseconds with three decimals; args in one line
  k2025,  // microseconds since baseTimeNanoseconds
  k2026,  // one key per line, metadata first
};

// Something wrong with the file, for tests of importers. All strike in the middle of the first step but truncation.
enum class Damage {
  kNone,
  kTruncate,       // the file ends within an event of the last step
  kUtf8,           // a name has a byte that is not UTF-8
  kControl,        // a name has a raw control character
  kNan,            // a duration is a bare nan
  kQuote,          // a name has an unescaped quote
  kTrailingComma,  // one comma too many before the end of the events
  kUnclosed,       // the last brackets are missing
};

struct KinetoOptions {
  Dialect dialect = Dialect::k2025;
  Damage damage = Damage::kNone;
};

// "2021" … "2026"; "none", "truncate", "utf8", "control", "nan", "quote", "trailing-comma", "unclosed". InvalidArgument
// lists them.
[[nodiscard]] absl::StatusOr<Dialect> ParseDialect(absl::string_view text);
[[nodiscard]] absl::StatusOr<Damage> ParseDamage(absl::string_view text);

// What a file holds, by phase and category as spelled in it (metadata events have none).
struct Totals {
  struct Row {
    char phase = 0;
    std::string category;
    int64_t event_count = 0;
    int64_t dur_ns = 0;  // as written: of whole microseconds in the dialects that have only those
  };
  std::vector<Row> rows;  // sorted by phase, category; none with event_count 0
  int64_t event_count = 0;
  uint64_t json_bytes = 0;
};

// Writes one rank as Kineto JSON and closes the sink. The totals are those of the undamaged file. InvalidArgument as
// CheckOptions, also for a rank out of range; else the status of the sink.
[[nodiscard]] absl::StatusOr<Totals> WriteKineto(const RunOptions& run, int rank, const KinetoOptions& options,
                                                 io::ByteSink* sink);

// Sets step_count, and layer_count if steps are too long for so small a file, such that a rank's JSON has about
// json_bytes: within 10 % from 1 MB on. Costs a run of a few steps.
void FitToSize(int64_t json_bytes, const KinetoOptions& options, RunOptions* run);

// "50MB" -> 50'000'000. Units B, kB, MB, GB (powers of 1000, any case), none = bytes; whole numbers. InvalidArgument
// otherwise.
[[nodiscard]] absl::StatusOr<int64_t> ParseSize(absl::string_view text);

}  // namespace tracekiln::tracegen

#endif  // TRACEKILN_TOOLS_TRACEGEN_TRACEGEN_H_
