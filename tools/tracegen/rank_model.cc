#include <algorithm>
#include <cassert>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "tools/tracegen/run_plan.h"
#include "tools/tracegen/script.h"
#include "tools/tracegen/tracegen.h"

// Fills the parts that RunPlan laid out with what their scripts say: on the host each instruction gets its share of
// the part's time, on the device each kernel its share of the part's interval.
namespace tracekiln::tracegen {
namespace {

constexpr int64_t kComputeStream = 7, kCopyStream = 16;
constexpr int64_t kCollectiveStreams[kCollectiveKindCount] = {20, 24, 28, 32};
constexpr int64_t kLaunchLatencyNs = 4000;
constexpr int64_t kReservedBytes = 64ll << 30;
constexpr int64_t kParameterBytes = 21ll << 30;
constexpr int64_t kHeapBegin = 0x7f2c'0000'0000;

// A fast sequence for what no other rank needs to know.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed | 1) {}
  // In [low, high).
  int64_t Between(int64_t low, int64_t high) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return low + static_cast<int64_t>((state_ >> 11) % static_cast<uint64_t>(high - low));
  }

 private:
  uint64_t state_;
};

}  // namespace

absl::Status CheckOptions(const RunOptions& run) {
  const auto check = [](absl::string_view name, int64_t value, int64_t low, int64_t high) -> absl::Status {
    if (value >= low && value <= high) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(name, ": want ", low, " to ", high, ", got ", value));
  };
  for (const absl::Status& status :
       {check("rank_count", run.rank_count, 1, kMaxRankCount), check("step_count", run.step_count, 1, 1'000'000'000),
        check("layer_count", run.layer_count, 1, kMaxLayerCount),
        check("slow_rank", run.slow_rank, -1, run.rank_count - 1), check("slow_percent", run.slow_percent, 0, 1000),
        check("max_clock_skew_ns", run.max_clock_skew_ns, 0, 1'000'000'000'000)}) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

class RankModel::Impl {
 public:
  Impl(const RunOptions& run, int rank)
      : run_(run), plan_(run, rank), info_(MakeInfo(run, rank, plan_.start_ns())), catalog_(run, info_) {
    main_.tid = info_.pid;
    autograd_.tid = info_.pid + kAutogradTidDelta;
    clock_offset_ns_ = ClockOffsetNs(run, rank);
    correlation_ = 1000 + static_cast<int64_t>(Mix(run.seed, 5, rank) % 100'000);
    record_function_id_ = 1;
    total_allocated_ = kParameterBytes;
    annotation_names_[kAllGather] = Name("nccl:_all_gather_base");
    annotation_names_[kReduceScatter] = Name("nccl:_reduce_scatter_base");
    annotation_names_[kSendRecv] = Name("nccl:send");
    annotation_names_[kAllReduce] = Name("nccl:all_reduce");
    copy_in_name_ = Name("Memcpy HtoD (Pinned -> Device)");
    copy_out_name_ = Name("Memcpy DtoH (Device -> Pinned)");
    fill_name_ = Name("Memset (Device)");
    memory_name_ = Name("[memory]");
    sync_name_ = Name("Stream Sync");
    launch_flow_name_ = Name("ac2g");
    forward_flow_name_ = Name("fwdbwd");
    synchronize_name_ = Name("cudaStreamSynchronize");
    copy_call_name_ = Name("cudaMemcpyAsync");
    train_step_name_ = Name("train.py(118): train_step");
    model_name_ = Name("nn.Module: LlamaForCausalLM_0");
    backward_name_ = Name("torch/_tensor.py(570): backward");
    engine_name_ = Name("<built-in method run_backward of torch._C._EngineBase object at 0x7f3a5bf10c40>");
    optimizer_name_ = Name("Optimizer.step#AdamW.step");
    item_name_ = Name("aten::item");
    scalar_name_ = Name("aten::_local_scalar_dense");
    buffer_name_ = Name("Activity Buffer Request");
    flush_name_ = Name("Buffer Flush");
    lazy_name_ = Name("Lazy Function Loading");
    for (const char* name : {"train.py(1): <module>", "train.py(203): main", "train.py(151): train"}) {
      root_names_.push_back(Name(name));
    }
  }

  const RankInfo& info() const { return info_; }
  const std::vector<std::string>& names() const { return catalog_.names.names(); }

  int64_t Run(EventVisitor* visitor) {
    if (run_.has_python_stacks) {
      for (size_t i = 0; i < root_names_.size(); ++i) ++python_id_;
    }
    int64_t end_ns = 0;
    for (int step = 0; step < run_.step_count; ++step) {
      random_ = Random(Mix(run_.seed, 9, info_.rank, step));
      end_ns = RunStep(step, plan_.Next());
      Flush(visitor);
    }
    end_ns += 400'000;
    if (run_.has_python_stacks) {
      for (size_t i = 0; i < root_names_.size(); ++i) {
        const int64_t inset = 20'000 * static_cast<int64_t>(i + 1);
        Event event = Complete(Category::kPythonFunction, root_names_[i], plan_.start_ns() + inset, end_ns - inset);
        event.pid = info_.pid;
        event.tid = main_.tid;
        event.python_id = static_cast<int64_t>(i) + 1;
        event.python_parent_id = i == 0 ? -1 : static_cast<int64_t>(i);
        frames_.push_back(event);
      }
    }
    Flush(visitor);
    return end_ns + clock_offset_ns_;
  }

 private:
  static constexpr int64_t kAutogradTidDelta = 311;

  struct Open {
    std::vector<Event>* events;
    size_t index;
    int64_t external_id, python_id;  // -1 if it has none
  };
  struct Thread {
    int64_t tid = 0;
    std::vector<Open> open;
  };
  // Where and when a part of a step runs. Without a device interval the kernels start as soon as they are launched.
  struct Part {
    int64_t host_start_ns, host_ns;
    const Interval* device = nullptr;
    int layer = 0;
  };

  static RankInfo MakeInfo(const RunOptions& run, int rank, int64_t start_ns) {
    RankInfo info;
    info.rank = rank;
    info.world_size = run.rank_count;
    info.device = rank % kShardSize;
    info.pid = 20'480 + 977 * static_cast<int64_t>(rank % kShardSize) + rank / kShardSize % 900;
    info.host = absl::StrCat("node", rank / kShardSize);
    info.trace_id =
        absl::StrCat(absl::Hex(Mix(run.seed, 3, rank) | 1ull << 63), absl::Hex(Mix(run.seed, 4, rank) | 1ull << 63));
    for (char& c : info.trace_id) c = static_cast<char>(c >= 'a' ? c - 'a' + 'A' : c);
    info.start_ns = start_ns + ClockOffsetNs(run, rank);
    const auto group = [&info](const char* description, int first, int count) {
      ProcessGroup group{std::to_string(info.groups.size()), description, {}};
      for (int i = 0; i < count; ++i) group.ranks.push_back(first + i);
      info.groups.push_back(std::move(group));
    };
    group("default_pg", 0, run.rank_count);
    const int first = rank / kShardSize * kShardSize;
    group("mesh_fsdp", first, std::min(kShardSize, run.rank_count - first));
    if ((rank ^ 1) < run.rank_count) group("mesh_cp", rank & ~1, 2);
    for (const int64_t tid : {info.pid, info.pid + kAutogradTidDelta}) {
      info.tracks.push_back({info.pid, tid, absl::StrCat("thread ", tid, " (python3)")});
    }
    for (const int64_t stream : {kComputeStream, kCopyStream, kCollectiveStreams[0], kCollectiveStreams[1],
                                 kCollectiveStreams[2], kCollectiveStreams[3]}) {
      info.tracks.push_back({info.device, stream, absl::StrCat("stream ", stream, " ")});
    }
    return info;
  }

  int32_t Name(const std::string& name) { return catalog_.names.Intern(name); }

  Event Complete(Category category, int32_t name_id, int64_t start_ns, int64_t end_ns) const {
    Event event;
    event.category = category;
    event.name_id = name_id;
    event.name = names()[name_id];
    event.ts_ns = start_ns;
    event.dur_ns = end_ns - start_ns;
    event.pid = info_.pid;
    return event;
  }

  // --- Nested slices of the host.

  void Push(Thread* thread, std::vector<Event>* events, const Event& event) {
    events->push_back(event);
    thread->open.push_back({events, events->size() - 1, event.external_id, event.python_id});
  }
  Event* OpenOp(Thread* thread, Category category, int32_t name_id, int64_t now_ns) {
    Event event = Complete(category, name_id, now_ns, now_ns);
    event.tid = thread->tid;
    event.external_id = ++external_id_;
    event.record_function_id = ++record_function_id_;
    Push(thread, &ops_, event);
    return &ops_.back();
  }
  void OpenFrame(Thread* thread, int32_t name_id, int32_t module, int64_t now_ns) {
    if (!run_.has_python_stacks) {
      thread->open.push_back({nullptr, 0, -1, -1});
      return;
    }
    Event event = Complete(Category::kPythonFunction, name_id, now_ns, now_ns);
    event.tid = thread->tid;
    event.python_id = ++python_id_;
    event.python_parent_id = static_cast<int64_t>(root_names_.size());
    for (auto open = thread->open.rbegin(); open != thread->open.rend(); ++open) {
      if (open->python_id < 0) continue;
      event.python_parent_id = open->python_id;
      break;
    }
    event.python_module_id = module;
    Push(thread, &frames_, event);
  }
  void Close(Thread* thread, int64_t now_ns) {
    const Open open = thread->open.back();
    thread->open.pop_back();
    if (open.events == nullptr) return;
    Event& event = (*open.events)[open.index];
    event.dur_ns = now_ns - event.ts_ns;
  }
  // The innermost operator or annotation.
  static int64_t CurrentExternalId(const Thread& thread) {
    for (auto open = thread.open.rbegin(); open != thread.open.rend(); ++open) {
      if (open->external_id >= 0) return open->external_id;
    }
    return -1;
  }

  // --- Calls and device work.

  // A runtime or driver call; *work, if any, gets its correlation and external id.
  void Call(const Thread& thread, int32_t name_id, int32_t cbid, bool is_driver, int64_t start_ns, int64_t end_ns,
            Event* works, int work_count) {
    Event call = Complete(is_driver ? Category::kCudaDriver : Category::kCudaRuntime, name_id, start_ns, end_ns);
    call.tid = thread.tid;
    call.cbid = cbid;
    call.correlation = ++correlation_;
    call.external_id = CurrentExternalId(thread);
    activities_.push_back(call);
    Event flow = Complete(Category::kLaunchFlow, launch_flow_name_, start_ns, start_ns);
    flow.phase = work_count == 0 ? Phase::kFlowEnd : Phase::kFlowStart;
    flow.is_dangling = work_count == 0;
    flow.cbid = cbid;
    flow.tid = thread.tid;
    flow.correlation = call.correlation;
    activities_.push_back(flow);
    flow.phase = Phase::kFlowEnd;
    for (int i = 0; i < work_count; ++i) {
      Event& work = works[i];
      assert(work.category == Category::kCudaSync || work.ts_ns >= end_ns);
      work.pid = info_.device;
      work.correlation = call.correlation;
      work.external_id = call.external_id;
      activities_.push_back(work);
      flow.ts_ns = work.ts_ns;
      flow.pid = work.pid;
      flow.tid = work.tid;
      activities_.push_back(flow);
    }
  }
  void AnnotateDevice(int32_t name_id, absl::string_view name, int64_t external_id, int64_t stream, Interval span) {
    Event event;
    event.category = Category::kGpuUserAnnotation;
    event.name_id = name_id;
    event.name = name;
    event.ts_ns = span.start_ns - 1;
    event.dur_ns = span.end_ns - span.start_ns + 2;
    event.pid = info_.device;
    event.tid = stream;
    event.external_id = external_id;
    annotations_.push_back(event);
  }
  // Keeps the order of the compute stream.
  Event OnComputeStream(Category category, int32_t name_id, int64_t earliest_ns, int64_t dur_ns) {
    const int64_t start = std::max(compute_end_ns_ + 300, earliest_ns);
    Event event = Complete(category, name_id, start, start + dur_ns);
    event.tid = kComputeStream;
    compute_end_ns_ = start + dur_ns;
    if (first_compute_ns_ == 0) first_compute_ns_ = start;
    return event;
  }

  // --- Memory.

  void Memory(int64_t tid, int64_t now_ns, int64_t address, int64_t bytes) {
    total_allocated_ += bytes;
    Event event = Complete(Category::kMemory, memory_name_, now_ns, now_ns);
    event.phase = Phase::kInstant;
    event.tid = tid;
    event.address = address;
    event.bytes = bytes;
    event.total_allocated_bytes = total_allocated_;
    event.total_reserved_bytes = kReservedBytes;
    memory_.push_back(event);
  }
  void Allocate(int64_t tid, int64_t now_ns, int64_t bytes) {
    bytes = (bytes + 511) / 512 * 512;
    held_.push_back({heap_top_, bytes});
    Memory(tid, now_ns, heap_top_, bytes);
    heap_top_ += bytes;
  }
  void Release(int64_t tid, int64_t now_ns) {
    if (held_.empty()) return;
    const auto [address, bytes] = held_.back();
    held_.pop_back();
    heap_top_ = address;
    Memory(tid, now_ns, address, -bytes);
  }

  // --- Parts.

  // Lays a script out. `intervals` by CollectiveKind.
  void RunPart(Thread* thread, const Script& script, const Part& part, const Interval* const* intervals) {
    // Host: the time of instruction i is [edges_[i], edges_[i + 1]).
    int64_t total = 0;
    edges_.clear();
    for (const Instruction& instruction : script) {
      edges_.push_back(total);
      total += instruction.cost * random_.Between(70, 130) / 100;
    }
    for (int64_t& edge : edges_) edge = part.host_start_ns + edge * part.host_ns / total;
    edges_.push_back(part.host_start_ns + part.host_ns);

    // Device: shares of the interval, with gaps of 600 to 1600 ns.
    int64_t kernel_cursor = 0, shares_left = 0;
    size_t kernels_left = 0;
    shares_.clear();
    if (part.device != nullptr) {
      kernel_cursor = part.device->start_ns;
      for (const Instruction& instruction : script) {
        if (instruction.code != Instruction::kLaunch && instruction.code != Instruction::kFill) continue;
        shares_.push_back(instruction.weight * random_.Between(90, 110));
        shares_left += shares_.back();
      }
      kernels_left = shares_.size();
    }
    const auto device_work = [&](Category category, int32_t name_id, int64_t launched_ns, int64_t weight) {
      if (part.device == nullptr) {
        return OnComputeStream(category, name_id, launched_ns + kLaunchLatencyNs + random_.Between(0, 4000),
                               weight * random_.Between(900, 1100));
      }
      const int64_t share = shares_[shares_.size() - kernels_left];
      const int64_t gap = kernels_left == shares_.size() ? 0 : random_.Between(600, 1600);
      const int64_t left = part.device->end_ns - kernel_cursor - 1600 * static_cast<int64_t>(kernels_left);
      const int64_t dur = kernels_left == 1 ? part.device->end_ns - kernel_cursor - gap
                                            : static_cast<int64_t>(static_cast<double>(left) * share / shares_left);
      shares_left -= share;
      --kernels_left;
      Event event = Complete(category, name_id, kernel_cursor + gap, kernel_cursor + gap + dur);
      event.tid = kComputeStream;
      kernel_cursor += gap + dur;
      compute_end_ns_ = kernel_cursor;
      if (first_compute_ns_ == 0) first_compute_ns_ = event.ts_ns;
      return event;
    };

    const int64_t tid = thread->tid;
    const int64_t first_sequence = sequence_ + static_cast<int64_t>(part.layer) * catalog_.forward_grad_count;
    for (size_t i = 0; i < script.size(); ++i) {
      const Instruction& instruction = script[i];
      const int64_t now = edges_[i];
      // A call takes most of its instruction's time, so that it stays within what surrounds it.
      const int64_t call_start = now + (edges_[i + 1] - now) / 8;
      const int64_t call_end = edges_[i + 1] - (edges_[i + 1] - now) / 8;
      switch (instruction.code) {
        case Instruction::kOpenFrame:
          OpenFrame(thread, instruction.name_id + part.layer * instruction.name_stride,
                    instruction.module < 0 ? -1 : instruction.module + part.layer * catalog_.module_count, now);
          break;
        case Instruction::kOpenAnnotation: OpenOp(thread, Category::kUserAnnotation, instruction.name_id, now); break;
        case Instruction::kOpenOp: {
          Event* event = OpenOp(thread, Category::kCpuOp, instruction.name_id, now);
          event->tensors = instruction.tensors;
          if (instruction.collective >= 0) event->collective = &catalog_.collectives[instruction.collective];
          if (instruction.autograd == Instruction::kNoGrad) break;
          event->sequence_number = first_sequence + instruction.grad_index;
          const bool is_forward = instruction.autograd == Instruction::kForward;
          event->forward_thread = is_forward ? 0 : 1;
          // A node has two operators; the flow goes to the inner one.
          if (!is_forward && (i == 0 || script[i - 1].autograd != Instruction::kBackward)) break;
          Event flow = Complete(Category::kForwardFlow, forward_flow_name_, now, now);
          flow.phase = is_forward ? Phase::kFlowStart : Phase::kFlowEnd;
          flow.tid = tid;
          flow.correlation = event->sequence_number - first_sequence_ + 1;
          ops_.push_back(flow);
          break;
        }
        case Instruction::kClose: Close(thread, now); break;
        case Instruction::kCall:
          Call(*thread, instruction.name_id, instruction.cbid, false, call_start, call_end, nullptr, 0);
          break;
        case Instruction::kLaunch: {
          Event work = device_work(Category::kKernel, instruction.kernel->name_id, call_end, instruction.weight);
          work.kernel = instruction.kernel;
          Call(*thread, instruction.name_id, instruction.cbid, instruction.is_driver, call_start, call_end, &work, 1);
          break;
        }
        case Instruction::kLaunchGraph: {
          std::vector<Event> works;
          for (const KernelShape* kernel : catalog_.graph_kernels) {
            works.push_back(OnComputeStream(Category::kKernel, kernel->name_id, call_end + kLaunchLatencyNs,
                                            random_.Between(4'000, 9'000)));
            works.back().kernel = kernel;
            works.back().graph_node_id = static_cast<int64_t>(works.size());
          }
          Call(*thread, instruction.name_id, instruction.cbid, false, call_start, call_end, works.data(),
               static_cast<int>(works.size()));
          break;
        }
        case Instruction::kFill: {
          Event work = device_work(Category::kGpuMemset, fill_name_, call_end, 1);
          work.bytes = instruction.bytes;
          Call(*thread, instruction.name_id, instruction.cbid, false, call_start, call_end, &work, 1);
          break;
        }
        case Instruction::kCopy: {
          const int64_t start = call_end + kLaunchLatencyNs;
          Event work = Complete(Category::kGpuMemcpy, copy_in_name_, start, start + random_.Between(3000, 5000));
          work.tid = kCopyStream;
          work.bytes = instruction.bytes;
          Call(*thread, instruction.name_id, instruction.cbid, false, call_start, call_end, &work, 1);
          break;
        }
        case Instruction::kCollective: {
          const int kind = instruction.collective;
          const Interval span = *intervals[kind];
          Event work = Complete(Category::kKernel, instruction.kernel->name_id, span.start_ns, span.end_ns);
          work.tid = kCollectiveStreams[kind];
          work.kernel = instruction.kernel;
          work.collective = &catalog_.collectives[kind];
          const int64_t external_id = CurrentExternalId(*thread);
          Call(*thread, instruction.name_id, instruction.cbid, false, call_start, call_end, &work, 1);
          AnnotateDevice(annotation_names_[kind], names()[annotation_names_[kind]], external_id, work.tid, span);
          break;
        }
        case Instruction::kAllocate: Allocate(tid, now, instruction.bytes); break;
        case Instruction::kRelease: Release(tid, now); break;
      }
    }
  }

  int64_t RunStep(int step, const StepPlan& plan) {
    const int layer_count = run_.layer_count;
    step_name_ = absl::StrCat("ProfilerStep#", step);
    first_compute_ns_ = 0;
    if (step == 0) first_sequence_ = sequence_;
    int64_t host = plan.host_start_ns;

    Event* step_event = OpenOp(&main_, Category::kUserAnnotation, memory_name_, host);
    step_event->name_id = -1;
    step_event->name = step_name_;
    const int64_t step_external_id = step_event->external_id;
    OpenFrame(&main_, train_step_name_, -1, host + 400);

    const Interval* intervals[kCollectiveKindCount] = {};
    intervals[kAllGather] = &plan.all_gather[0];
    RunPart(&main_, catalog_.prelude, {host + 800, plan.prelude_host_ns - 1600}, intervals);
    host += plan.prelude_host_ns;

    OpenFrame(&main_, model_name_, 0, host - 400);
    for (int layer = 0; layer < layer_count; ++layer) {
      const bool gathers = layer + 1 < layer_count;
      const bool exchanges = HasSendRecv(run_, info_.rank, layer);
      intervals[kAllGather] = gathers ? &plan.all_gather[layer + 1] : nullptr;
      intervals[kSendRecv] = &plan.send_recv[layer];
      RunPart(&main_, catalog_.forward[gathers][exchanges],
              {host, plan.forward_host_ns[layer], &plan.forward[layer], layer}, intervals);
      host += plan.forward_host_ns[layer];
    }
    RunPart(&main_, catalog_.loss, {host + 300, plan.loss_host_ns - 900, &plan.loss, layer_count - 1}, intervals);
    host += plan.loss_host_ns;
    Close(&main_, host - 300);  // the model

    OpenFrame(&main_, backward_name_, -1, host);
    OpenFrame(&main_, engine_name_, -1, host + 200);
    int64_t autograd = host + 12'000;
    for (int layer = layer_count - 1; layer >= 0; --layer) {
      intervals[kReduceScatter] = &plan.reduce_scatter[layer];
      RunPart(&autograd_, layer == layer_count - 1 ? catalog_.backward_last : catalog_.backward,
              {autograd, plan.backward_host_ns[layer], &plan.backward[layer], layer}, intervals);
      autograd += plan.backward_host_ns[layer];
    }
    host = autograd + 9'000;
    Close(&main_, host);
    Close(&main_, host + 200);
    sequence_ += static_cast<int64_t>(layer_count) * catalog_.forward_grad_count + catalog_.loss_grad_count;

    intervals[kAllReduce] = &plan.all_reduce;
    RunPart(&main_, catalog_.norm, {host + 500, plan.norm_host_ns, &plan.norm}, intervals);
    host += plan.norm_host_ns + 1'000;
    WaitForNorm(plan, host);

    Event* annotation = OpenOp(&main_, Category::kUserAnnotation, optimizer_name_, plan.sync_end_ns + 9'000);
    const int64_t optimizer_external_id = annotation->external_id;
    const size_t first_activity = activities_.size();
    RunPart(&main_, catalog_.optimizer, {plan.sync_end_ns + 9'500, plan.optimizer_host_ns}, intervals);
    Close(&main_, plan.sync_end_ns + plan.optimizer_host_ns + 10'000);
    while (!held_.empty()) Release(main_.tid, plan.host_end_ns - 2'000);

    Close(&main_, plan.host_end_ns - 1'000);
    Close(&main_, plan.host_end_ns);

    AnnotateDevice(-1, step_name_, step_external_id, kComputeStream, {first_compute_ns_, compute_end_ns_});
    for (size_t i = first_activity; i < activities_.size(); ++i) {
      if (activities_[i].category != Category::kKernel) continue;
      AnnotateDevice(optimizer_name_, names()[optimizer_name_], optimizer_external_id, kComputeStream,
                     {activities_[i].ts_ns, compute_end_ns_});
      break;
    }
    Overhead(step, plan);
    return plan.host_end_ns;
  }

  // The host asks for the norm: a copy that waits for all of the step, and the call that waits for the copy.
  void WaitForNorm(const StepPlan& plan, int64_t host) {
    OpenOp(&main_, Category::kCpuOp, item_name_, host);
    OpenOp(&main_, Category::kCpuOp, scalar_name_, host + 1'500);
    const int64_t call_end = host + 9'000;
    Event copy = OnComputeStream(Category::kGpuMemcpy, copy_out_name_,
                                 std::max(plan.all_reduce.end_ns + 1'200, call_end + kLaunchLatencyNs), 1'504);
    copy.bytes = 4;
    Call(main_, copy_call_name_, 41, false, host + 3'000, call_end, &copy, 1);
    const int64_t sync_start = host + 10'500;
    Event sync = Complete(Category::kCudaSync, sync_name_, sync_start + 500, plan.sync_end_ns - 500);
    sync.tid = kComputeStream;
    Call(main_, synchronize_name_, 131, false, sync_start, plan.sync_end_ns, &sync, 1);
    Close(&main_, plan.sync_end_ns + 2'000);
    Close(&main_, plan.sync_end_ns + 4'000);
  }

  // The profiler's own work, one after the other on the row of process -1.
  void Overhead(int step, const StepPlan& plan) {
    int64_t now = plan.host_start_ns + 100'000;
    const auto overhead = [&](int32_t name_id, int64_t dur_ns) {
      Event event = Complete(Category::kOverhead, name_id, now, now + dur_ns);
      event.pid = -1;
      annotations_.push_back(event);
      now += dur_ns + 50'000;
    };
    if (step == 0) overhead(lazy_name_, random_.Between(80'000, 120'000));
    overhead(buffer_name_, random_.Between(150'000, 300'000));
    overhead(flush_name_, random_.Between(20'000, 60'000));
  }

  void Flush(EventVisitor* visitor) {
    for (const std::vector<Event>* events : {&ops_, &memory_, &frames_, &activities_, &annotations_}) {
      batch_.insert(batch_.end(), events->begin(), events->end());
    }
    for (Event& event : batch_) {
      event.ts_ns += clock_offset_ns_;
      const bool is_recorded_by_torch = event.category <= Category::kMemory;
      if (is_recorded_by_torch) event.ev_idx = ev_idx_++;
    }
    visitor->OnEvents(batch_);
    for (std::vector<Event>* events : {&ops_, &memory_, &frames_, &activities_, &annotations_, &batch_}) {
      events->clear();
    }
  }

  const RunOptions run_;
  RunPlan plan_;
  const RankInfo info_;
  Catalog catalog_;
  int64_t clock_offset_ns_ = 0;
  Random random_{1};
  Thread main_, autograd_;

  // Of the current step.
  std::vector<Event> ops_, memory_, frames_, activities_, annotations_, batch_;
  std::string step_name_;
  int64_t first_compute_ns_ = 0;
  // Of the current part.
  std::vector<int64_t> edges_, shares_;

  int64_t ev_idx_ = 0, external_id_ = 0, record_function_id_ = 0, correlation_ = 0, python_id_ = 0;
  int64_t sequence_ = 1000, first_sequence_ = 0;
  int64_t compute_end_ns_ = 0;
  int64_t heap_top_ = kHeapBegin, total_allocated_ = 0;
  std::vector<std::pair<int64_t, int64_t>> held_;  // address, bytes; a stack

  int32_t annotation_names_[kCollectiveKindCount] = {};
  int32_t copy_in_name_, copy_out_name_, fill_name_, memory_name_, sync_name_, launch_flow_name_, forward_flow_name_,
      synchronize_name_, copy_call_name_, train_step_name_, model_name_, backward_name_, engine_name_, optimizer_name_,
      item_name_, scalar_name_, buffer_name_, flush_name_, lazy_name_;
  std::vector<int32_t> root_names_;
};

RankModel::RankModel(const RunOptions& run, int rank) : impl_(std::make_unique<Impl>(run, rank)) {}
RankModel::~RankModel() = default;
const RankInfo& RankModel::info() const { return impl_->info(); }
const std::vector<std::string>& RankModel::names() const { return impl_->names(); }
int64_t RankModel::Run(EventVisitor* visitor) { return impl_->Run(visitor); }

}  // namespace tracekiln::tracegen
