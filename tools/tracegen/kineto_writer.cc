#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "formats/json/writer.h"
#include "tools/tracegen/tracegen.h"

// Kineto's layouts, byte for byte as in real traces. json::Writer cannot do that (blanks and line breaks stand in odd
// places), so the skeleton is literal text; what could need escaping, the names, comes from json::Escaped.
namespace tracekiln::tracegen {
namespace {

// The multiple below which Kineto's baseTimeNanoseconds never changes: a quarter of a year.
constexpr int64_t kBaseNs = 7'889'238'000'000'000;
constexpr int kMetadataDevices = 8;
constexpr int kMultiprocessors = 132;
// At which event, counted from 0, a file is damaged.
constexpr int64_t kDamagedEvent = 40;
// Long enough that "nan" is not longer than the duration it replaces.
constexpr int64_t kDamagedDurNs = 1'000'000;

// Text on its way to a sink. Appending does not check for room: Reserve does, once an event.
class TextBuffer {
 public:
  explicit TextBuffer(io::ByteSink* sink) : sink_(*sink), text_(kSize, '\0') {}

  // Makes room for `size` bytes.
  void Reserve(size_t size) {
    if (text_.size() - size_ >= size) return;
    Flush();
    if (text_.size() < size) text_.resize(size);
  }
  void Flush() {
    if (!is_sealed_) sink_.Write(absl::string_view(text_.data(), size_));
    size_ = 0;
  }
  // Drops everything from `size` on, now and later.
  void Seal(size_t size) {
    size_ = size;
    Flush();
    is_sealed_ = true;
  }
  // What is not flushed yet.
  size_t size() const { return size_; }
  char* data() { return text_.data(); }

  template <size_t n>
  void Add(const char (&literal)[n]) {
    std::memcpy(&text_[size_], literal, n - 1);
    size_ += n - 1;
  }
  void AddText(absl::string_view text) {
    std::memcpy(&text_[size_], text.data(), text.size());
    size_ += text.size();
  }
  void AddInt(int64_t value) {
    size_ = static_cast<size_t>(std::to_chars(&text_[size_], &text_[size_] + 24, value).ptr - text_.data());
  }
  // The shortest text of the same double.
  void AddDouble(double value) {
    size_ = static_cast<size_t>(std::to_chars(&text_[size_], &text_[size_] + 40, value).ptr - text_.data());
  }
  // Microseconds with three decimals. REQUIRES: ns >= 0.
  void AddMicros(int64_t ns) {
    AddInt(ns / 1000);
    const int rest = static_cast<int>(ns % 1000);
    const char decimals[4] = {'.', static_cast<char>('0' + rest / 100), static_cast<char>('0' + rest / 10 % 10),
                              static_cast<char>('0' + rest % 10)};
    AddText(absl::string_view(decimals, 4));
  }

 private:
  static constexpr size_t kSize = 1 << 20;

  io::ByteSink& sink_;
  std::string text_;
  size_t size_ = 0;
  bool is_sealed_ = false;
};

struct CategoryNames {
  const char* since_2023;
  const char* in_2021;  // null: not written
};
constexpr CategoryNames kCategoryNames[kCategoryCount] = {
    {"cpu_op", "Operator"},
    {"user_annotation", "Operator"},
    {"python_function", nullptr},
    {"cpu_instant_event", ""},
    {"cuda_runtime", "Runtime"},
    {"cuda_driver", "Runtime"},
    {"kernel", "Kernel"},
    {"gpu_memcpy", "Memcpy"},
    {"gpu_memset", "Memset"},
    {"gpu_user_annotation", nullptr},
    {"cuda_sync", nullptr},
    {"overhead", nullptr},
    {"ac2g", "async"},
    {"fwdbwd", nullptr},
};

std::string Shortest(float value) {
  char text[40];
  return std::string(text, std::to_chars(text, text + sizeof(text), value).ptr);
}

std::string SixDecimals(float value) {
  const int64_t millionths = std::llround(static_cast<double>(value) * 1e6);
  const std::string rest = std::to_string(1'000'000 + millionths % 1'000'000);
  return absl::StrCat(millionths / 1'000'000, ".", rest.substr(1));
}

class KinetoWriter final : public EventVisitor {
 public:
  KinetoWriter(const RunOptions& run, const KinetoOptions& options, const RankModel& model, io::ByteSink* sink)
      : run_(run),
        options_(options),
        dialect_(options.dialect),
        has_decimals_(options.dialect >= Dialect::k2024),
        info_(model.info()),
        text_(sink) {
    for (const std::string& name : model.names()) {
      names_.emplace_back(name);
      longest_name_ = std::max(longest_name_, names_.back().text().size());
    }
    if (dialect_ >= Dialect::k2025) base_ns_ = info_.start_ns / kBaseNs * kBaseNs;
  }

  void Begin() {
    const bool is_2026 = dialect_ == Dialect::k2026;
    std::string top = is_2026 ? " {\n" : dialect_ == Dialect::k2025 ? "\n  {\n" : "\n{\n";
    // The newer writers indent the first keys by two more.
    const std::string indent = dialect_ >= Dialect::k2025 ? "    " : "  ";
    absl::StrAppend(&top, indent, "\"schemaVersion\": 1,\n", indent, "\"deviceProperties\": [\n");
    for (int device = 0; device < kMetadataDevices; ++device) {
      absl::StrAppend(&top, device == 0 ? "" : ",\n", "    {\n      \"id\": ", device,
                      ", \"name\": \"NVIDIA H100 80GB HBM3\", \"totalGlobalMem\": 85017493504,\n"
                      "      \"computeMajor\": 9, \"computeMinor\": 0,\n"
                      "      \"maxThreadsPerBlock\": 1024, \"maxThreadsPerMultiprocessor\": 2048,\n");
      if (dialect_ <= Dialect::k2024) {
        absl::StrAppend(&top,
                        "      \"regsPerBlock\": 65536, \"regsPerMultiprocessor\": 65536, \"warpSize\": 32,\n"
                        "      \"sharedMemPerBlock\": 49152, \"sharedMemPerMultiprocessor\": 233472,\n"
                        "      \"numSms\": ",
                        kMultiprocessors, ", \"sharedMemPerBlockOptin\": 232448\n    }");
      } else {
        absl::StrAppend(&top,
                        "      \"regsPerBlock\": 65536, \"warpSize\": 32,\n"
                        "      \"sharedMemPerBlock\": 49152, \"numSms\": ",
                        kMultiprocessors,
                        "\n    , \"regsPerMultiprocessor\": 65536, \"sharedMemPerBlockOptin\": 232448, "
                        "\"sharedMemPerMultiprocessor\": 233472\n    }");
      }
    }
    absl::StrAppend(&top, "\n", dialect_ >= Dialect::k2025 ? "    " : "  ", "],\n");
    if (is_2026) top += "    \n";
    const std::string key_indent = dialect_ >= Dialect::k2025 ? "      " : "  ";
    std::vector<std::string> metadata;
    if (dialect_ >= Dialect::k2025) {
      metadata = {"\"cupti_version\": 26",
                  "\"cuda_runtime_version\": 12080",
                  "\"cuda_driver_version\": 12090",
                  "\"with_flops\": 0",
                  DistributedInfo(),
                  "\"record_shapes\": 1",
                  "\"profile_memory\": 1",
                  "\"with_stack\": " + std::to_string(run_.has_python_stacks),
                  TraceId(),
                  "\"host_name\": \"" + info_.host + "\""};
    } else if (dialect_ == Dialect::k2024) {
      metadata = {DistributedInfo(), TraceId(), "\"record_shapes\": 1", "\"profile_memory\": 1",
                  "\"host_name\": \"" + info_.host + "\""};
    } else {
      metadata = {DistributedInfo()};
      if (dialect_ == Dialect::k2023)
        metadata.insert(metadata.end(), {"\"record_shapes\": 1", "\"profile_memory\": 1"});
    }
    for (const std::string& line : metadata) absl::StrAppend(&top, key_indent, line, ",\n");
    const std::string last_indent = is_2026 ? "    " : "  ";
    if (dialect_ >= Dialect::k2025) {
      absl::StrAppend(&top, last_indent, "\"displayTimeUnit\": \"ms\",\n", last_indent,
                      "\"baseTimeNanoseconds\": ", base_ns_, ",\n");
    }
    absl::StrAppend(&top, last_indent, "\"traceEvents\": [", is_2026 ? "\n    " : "");
    text_.Reserve(top.size());
    text_.AddText(top);
    if (is_2026) Metadata();
  }

  void OnEvents(const std::vector<Event>& events) override {
    const bool is_last_step = ++batch_count_ == run_.step_count;
    for (size_t i = 0; i < events.size(); ++i) {
      Write(events[i]);
      if (options_.damage == Damage::kTruncate && is_last_step && i == events.size() / 2) Truncate();
    }
  }

  // After the last event.
  void End(int64_t end_ns) {
    if (dialect_ != Dialect::k2026) Metadata();
    Spans(end_ns);
    text_.Reserve(1000);
    if (options_.damage == Damage::kTrailingComma) text_.Add(",");
    if (options_.damage != Damage::kUnclosed) {
      switch (dialect_) {
        case Dialect::k2021: text_.Add("\n]}"); break;
        case Dialect::k2026: text_.Add("\n  ],\"traceName\": \"trace.json\" }"); break;
        default:
          text_.Add("\n  ],\n  \"traceName\": \"/tmp/libkineto_activities_");
          text_.AddInt(info_.pid);
          text_.Add(".json\"");
          if (dialect_ == Dialect::k2024) text_.Add(",\n  \"displayTimeUnit\": \"ns\"");
          text_.Add("\n}");
      }
    }
    text_.Flush();
  }

  Totals TakeTotals() {
    Totals totals;
    const auto add = [&totals](char phase, std::string category, int64_t count, int64_t dur_ns) {
      if (count == 0) return;
      totals.event_count += count;
      for (Totals::Row& row : totals.rows) {
        if (row.phase != phase || row.category != category) continue;
        row.event_count += count;
        row.dur_ns += dur_ns;
        return;
      }
      totals.rows.push_back({phase, std::move(category), count, dur_ns});
    };
    for (int category = 0; category < kCategoryCount; ++category) {
      const auto& [complete, instant, start, end] = counts_[category];
      if (CategoryName(static_cast<Category>(category)) == nullptr) continue;
      const std::string name = CategoryName(static_cast<Category>(category));
      add('X', name, complete.event_count, complete.dur_ns);
      add('i', name, instant.event_count, 0);
      add('s', name, start.event_count, 0);
      add('f', name, end.event_count, 0);
    }
    add('X', "Trace", 1, span_dur_ns_);
    add('i', "", 2, 0);
    add('M', "", metadata_count_, 0);
    std::sort(totals.rows.begin(), totals.rows.end(), [](const Totals::Row& a, const Totals::Row& b) {
      return std::tie(a.phase, a.category) < std::tie(b.phase, b.category);
    });
    return totals;
  }

 private:
  struct Count {
    int64_t event_count = 0, dur_ns = 0;
  };
  struct Counts {
    Count complete, instant, flow_start, flow_end;
  };
  struct KernelText {
    const KernelShape* kernel;
    std::string text;
  };

  std::string TraceId() const { return "\"trace_id\": \"" + info_.trace_id + "\""; }
  std::string DistributedInfo() const {
    std::string text = absl::StrCat("\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": ", info_.rank,
                                    ", \"world_size\": ", info_.world_size);
    if (dialect_ >= Dialect::k2024) {
      absl::StrAppend(&text, ", \"pg_count\": ", info_.groups.size(), ", \"pg_config\": [");
      for (size_t i = 0; i < info_.groups.size(); ++i) {
        const ProcessGroup& group = info_.groups[i];
        absl::StrAppend(&text, i == 0 ? "" : ", ", "{\"pg_name\": \"", group.name, "\", \"pg_desc\": \"",
                        group.description, "\", \"backend_config\": \"cuda:nccl\", \"pg_size\": ", group.ranks.size(),
                        ", \"ranks\": [");
        for (size_t k = 0; k < group.ranks.size(); ++k) absl::StrAppend(&text, k == 0 ? "" : ", ", group.ranks[k]);
        text += "]}";
      }
      text += "], \"nccl_version\": \"2.27.3\"";
    }
    return text + "}";
  }

  const char* CategoryName(Category category) const {
    const CategoryNames& names = kCategoryNames[static_cast<int>(category)];
    return dialect_ == Dialect::k2021 ? names.in_2021 : names.since_2023;
  }

  bool IsWritten(const Event& event) const {
    if (event.is_dangling && (dialect_ == Dialect::k2021 || dialect_ >= Dialect::k2025)) return false;
    if (dialect_ != Dialect::k2021) return true;
    // No row stands for the wait, so its call has no flow either.
    constexpr int kStreamSynchronizeCbid = 131;
    if (event.category == Category::kLaunchFlow && event.cbid == kStreamSynchronizeCbid) return false;
    return CategoryName(event.category) != nullptr;
  }

  // --- Pieces of text.

  void Comma() {
    if (is_first_) {
      text_.Add("\n");
      is_first_ = false;
    } else {
      text_.Add(",\n");
    }
  }
  void AddTime(int64_t ns) {
    if (has_decimals_) {
      text_.AddMicros(std::max<int64_t>(ns - base_ns_, 0));
    } else {
      text_.AddInt(ns / 1000);
    }
  }
  // As written: without decimals it is the difference of the written ends.
  int64_t WrittenDurNs(int64_t ts_ns, int64_t dur_ns) const {
    return has_decimals_ ? dur_ns : ((ts_ns + dur_ns) / 1000 - ts_ns / 1000) * 1000;
  }
  void AddDur(int64_t ts_ns, int64_t dur_ns) {
    if (has_decimals_) {
      text_.AddMicros(dur_ns);
    } else {
      text_.AddInt((ts_ns + dur_ns) / 1000 - ts_ns / 1000);
    }
  }
  // Between two args of calls and device work.
  void ArgBreak() {
    if (dialect_ <= Dialect::k2023) {
      text_.Add(",\n      ");
    } else {
      text_.Add(",      ");
    }
  }
  void AddName(const Event& event) {
    if (event.name_id >= 0) {
      text_.AddText(names_[event.name_id].text());
    } else {
      text_.AddText(json::Escaped(event.name).text());
    }
  }
  static bool IsOnDevice(Category category) {
    return category == Category::kKernel || category == Category::kGpuMemcpy || category == Category::kGpuMemset;
  }
  void AddTextTid(const Event& event) {
    text_.Add("\"");
    if (IsOnDevice(event.category) || (event.category == Category::kLaunchFlow && event.phase == Phase::kFlowEnd)) {
      text_.Add("stream ");
    }
    text_.AddInt(event.tid);
    text_.Add("\"");
  }
  int64_t Tid(const Event& event) const {
    // Since 2026 waits have rows of their own.
    return event.tid + (event.category == Category::kCudaSync && dialect_ == Dialect::k2026 ? 1'000'000 : 0);
  }

  void Write(const Event& event) {
    if (!IsWritten(event)) return;
    const int64_t nested = event.tensors == nullptr
                               ? 0
                               : event.tensors->dims.size() + event.tensors->types.size() +
                                     event.tensors->strides.size() + event.tensors->concrete.size();
    text_.Reserve(4096 + nested + std::max(longest_name_, 6 * event.name.size()) +
                  (event.collective == nullptr ? 0 : event.collective->group_ranks.size()));
    Comma();
    const size_t begin = text_.size();
    Counts& counts = counts_[static_cast<int>(event.category)];
    switch (event.phase) {
      case Phase::kComplete:
        ++counts.complete.event_count;
        counts.complete.dur_ns += WrittenDurNs(event.ts_ns, event.dur_ns);
        Slice(event);
        break;
      case Phase::kInstant:
        ++counts.instant.event_count;
        Instant(event);
        break;
      case Phase::kFlowStart:
        ++counts.flow_start.event_count;
        Flow(event);
        break;
      case Phase::kFlowEnd:
        ++counts.flow_end.event_count;
        Flow(event);
        break;
    }
    if (options_.damage != Damage::kNone && ++seen_count_ > kDamagedEvent) DamageEvent(event, begin);
  }

  // Spoils, once, the event that was just written at `begin`.
  void DamageEvent(const Event& event, size_t begin) {
    if (is_damaged_ || event.phase != Phase::kComplete || event.dur_ns < kDamagedDurNs) return;
    const absl::string_view text(text_.data() + begin, text_.size() - begin);
    constexpr absl::string_view kName = "\"name\": \"", kDur = "\"dur\": ";
    char* const name = text_.data() + begin + text.find(kName) + kName.size();
    char* dur = text_.data() + begin + text.find(kDur) + kDur.size();
    switch (options_.damage) {
      case Damage::kUtf8: *name = '\xff'; break;
      case Damage::kControl: *name = '\x01'; break;
      case Damage::kQuote: name[1] = '"'; break;
      case Damage::kNan:
        std::memcpy(dur, "nan", 3);
        for (dur += 3; *dur == '.' || (*dur >= '0' && *dur <= '9'); ++dur) *dur = ' ';
        break;
      case Damage::kNone:
      case Damage::kTruncate:
      case Damage::kTrailingComma:
      case Damage::kUnclosed: return;
    }
    is_damaged_ = true;
  }

  // Ends the file within what was just written.
  void Truncate() { text_.Seal(text_.size() - std::min<size_t>(text_.size(), 40)); }

  void Slice(const Event& event) {
    const char* category = CategoryName(event.category);
    const bool has_args = event.category != Category::kOverhead;
    if (dialect_ == Dialect::k2026) {
      text_.Add("  {\n    \"ph\": \"X\",\n    \"cat\": \"");
      text_.AddText(category);
      text_.Add("\",\n    \"name\": ");
      AddName(event);
      text_.Add(",\n    \"pid\": ");
      text_.AddInt(event.pid);
      text_.Add(",\n    \"tid\": ");
      text_.AddInt(Tid(event));
      text_.Add(",\n    \"ts\": ");
      AddTime(event.ts_ns);
      text_.Add(",\n    \"dur\": ");
      AddDur(event.ts_ns, event.dur_ns);
      text_.Add("\n    ");
      if (has_args) text_.Add(",\n    \"args\": {\n      ");
    } else {
      text_.Add("  {\n    \"ph\": \"X\", \"cat\": \"");
      text_.AddText(category);
      if (dialect_ == Dialect::k2021) {
        text_.Add("\", \n    \"name\": ");
      } else {
        text_.Add("\", \"name\": ");
      }
      AddName(event);
      text_.Add(", \"pid\": ");
      text_.AddInt(event.pid);
      text_.Add(", \"tid\": ");
      if (dialect_ == Dialect::k2021) {
        AddTextTid(event);
      } else {
        text_.AddInt(event.tid);
      }
      text_.Add(",\n    \"ts\": ");
      AddTime(event.ts_ns);
      text_.Add(", \"dur\": ");
      AddDur(event.ts_ns, event.dur_ns);
      if (has_args) text_.Add(",\n    \"args\": {\n      ");
    }
    if (has_args) {
      Args(event);
      text_.Add("\n    }");
    }
    text_.Add("\n  }");
  }

  void Args(const Event& event) {
    switch (event.category) {
      case Category::kCpuOp:
      case Category::kUserAnnotation: OperatorArgs(event); break;
      case Category::kPythonFunction:
        text_.Add("\"Python parent id\": ");
        if (event.python_parent_id < 0) {
          text_.Add("null");
        } else {
          text_.AddInt(event.python_parent_id);
        }
        text_.Add(", \"Python id\": ");
        text_.AddInt(event.python_id);
        if (event.python_module_id >= 0) {
          text_.Add(", \"Python module id\": ");
          text_.AddInt(event.python_module_id);
        }
        text_.Add(", \"Ev Idx\": ");
        text_.AddInt(event.ev_idx);
        break;
      case Category::kCudaRuntime:
      case Category::kCudaDriver:
        ExternalId(event);
        text_.Add("\"cbid\": ");
        text_.AddInt(event.cbid);
        text_.Add(", \"correlation\": ");
        text_.AddInt(event.correlation);
        if (dialect_ == Dialect::k2021 && event.external_id >= 0) {
          text_.Add(",\n      \"external id\": ");
          text_.AddInt(event.external_id);
          text_.Add(", \"external ts\": ");
          AddTime(event.ts_ns);
        }
        break;
      case Category::kKernel: KernelArgs(event); break;
      case Category::kGpuMemcpy:
      case Category::kGpuMemset:
        ExternalId(event);
        DeviceArgs(event);
        ArgBreak();
        text_.Add("\"bytes\": ");
        text_.AddInt(event.bytes);
        text_.Add(", \"memory bandwidth (GB/s)\": ");
        text_.AddDouble(static_cast<double>(event.bytes) / static_cast<double>(event.dur_ns));
        break;
      case Category::kGpuUserAnnotation:
        text_.Add("\"External id\": ");
        text_.AddInt(event.external_id);
        break;
      case Category::kCudaSync:
        ExternalId(event);
        text_.Add("\"cuda_sync_kind\": \"Stream Sync\"");
        ArgBreak();
        text_.Add("\"stream\": ");
        text_.AddInt(event.tid);
        text_.Add(", \"correlation\": ");
        text_.AddInt(event.correlation);
        ArgBreak();
        text_.Add("\"device\": ");
        text_.AddInt(event.pid);
        text_.Add(", \"context\": 1");
        break;
      case Category::kMemory:
      case Category::kOverhead:
      case Category::kLaunchFlow:
      case Category::kForwardFlow: break;
    }
  }

  void ExternalId(const Event& event) {
    if (dialect_ == Dialect::k2021 || event.external_id < 0) return;
    text_.Add("\"External id\": ");
    text_.AddInt(event.external_id);
    ArgBreak();
  }

  void Autograd(const Event& event, bool thread_first) {
    if (event.sequence_number < 0) return;
    if (!thread_first) {
      text_.Add("\"Sequence number\": ");
      text_.AddInt(event.sequence_number);
      text_.Add(", \"Fwd thread id\": ");
      text_.AddInt(event.forward_thread);
      text_.Add(", ");
    } else {
      text_.Add(", \"Fwd thread id\": ");
      text_.AddInt(event.forward_thread);
      text_.Add(", \"Sequence number\": ");
      text_.AddInt(event.sequence_number);
    }
  }

  void OperatorArgs(const Event& event) {
    const TensorArgs* tensors = event.tensors;
    if (dialect_ == Dialect::k2021) {
      text_.Add("\"Device\": ");
      text_.AddInt(event.pid);
      text_.Add(", \"External id\": ");
      text_.AddInt(event.external_id);
      text_.Add(",\n      \"Trace name\": \"PyTorch Profiler\", \"Trace iteration\": 0 ");
      if (tensors != nullptr) {
        text_.Add(",\n      \"Input Dims\": ");
        text_.AddText(tensors->dims);
        text_.Add(", \"Input type\": ");
        text_.AddText(tensors->types);
      } else if (event.tid == info_.pid && run_.has_python_stacks) {
        // Where newer writers have frames, this one has the names of those around.
        text_.Add(
            ",\n      \"Call stack\": \"train.py(118): train_step;train.py(151): train;train.py(203): "
            "main;train.py(1): "
            "<module>\"");
      } else {
        text_.Add(",\n      \"Input Dims\": [], \"Input type\": []");
      }
      Autograd(event, true);
      return;
    }
    text_.Add("\"External id\": ");
    text_.AddInt(event.external_id);
    text_.Add(",");
    if (dialect_ == Dialect::k2023) {
      text_.Add("\"Ev Idx\": ");
      text_.AddInt(event.ev_idx);
      if (tensors != nullptr) {
        text_.Add(", \"Input Dims\": ");
        text_.AddText(tensors->dims);
        text_.Add(", \"Input type\": ");
        text_.AddText(tensors->types);
      }
      Autograd(event, true);
      return;
    }
    const bool is_node = event.forward_thread > 0;
    if (!is_node) Autograd(event, false);
    if (dialect_ >= Dialect::k2025) {
      text_.Add("\"Record function id\": ");
      text_.AddInt(event.record_function_id);
      text_.Add(", ");
    }
    if (is_node) Autograd(event, false);
    if (event.collective != nullptr) {
      CollectiveArgs(*event.collective);
      text_.Add(", \"Global rank start\": ");
      text_.AddInt(event.collective->first_rank);
      text_.Add(", \"Global rank stride\": ");
      text_.AddInt(event.collective->rank_stride);
      text_.Add(", ");
    }
    if (tensors != nullptr) {
      if (dialect_ >= Dialect::k2025) {
        text_.Add("\"Concrete Inputs\": ");
        text_.AddText(tensors->concrete);
        text_.Add(", ");
      }
      text_.Add("\"Input type\": ");
      text_.AddText(tensors->types);
      if (dialect_ >= Dialect::k2025) {
        text_.Add(", \"Input Strides\": ");
        text_.AddText(tensors->strides);
      }
      text_.Add(", \"Input Dims\": ");
      text_.AddText(tensors->dims);
      text_.Add(", ");
    }
    text_.Add("\"Ev Idx\": ");
    text_.AddInt(event.ev_idx);
  }

  void CollectiveArgs(const Collective& collective) {
    text_.Add("\"Collective name\": \"");
    text_.AddText(collective.name);
    text_.Add("\", \"In msg nelems\": ");
    text_.AddInt(collective.in_element_count);
    text_.Add(", \"Out msg nelems\": ");
    text_.AddInt(collective.out_element_count);
    text_.Add(", \"Group size\": ");
    text_.AddInt(collective.group_size);
    text_.Add(", \"dtype\": \"");
    text_.AddText(collective.dtype);
    text_.Add("\", \"In split size\": \"[]\", \"Out split size\": \"[]\", \"Process Group Name\": \"");
    text_.AddText(collective.group_name);
    text_.Add("\", \"Process Group Description\": \"");
    text_.AddText(collective.group_description);
    text_.Add("\", \"Process Group Ranks\": \"");
    text_.AddText(collective.group_ranks);
    text_.Add("\"");
  }

  void DeviceArgs(const Event& event) {
    if (event.category == Category::kKernel) text_.Add("\"queued\": 0, ");
    text_.Add("\"device\": ");
    text_.AddInt(event.pid);
    text_.Add(", \"context\": 1");
    ArgBreak();
    text_.Add("\"stream\": ");
    text_.AddInt(event.tid);
    text_.Add(", \"correlation\": ");
    text_.AddInt(event.correlation);
    if (dialect_ == Dialect::k2021 && event.external_id >= 0) {
      text_.Add(", \"external id\": ");
      text_.AddInt(event.external_id);
    }
  }

  void KernelArgs(const Event& event) {
    ExternalId(event);
    DeviceArgs(event);
    text_.AddText(KernelLimits(*event.kernel));
    if (event.graph_node_id >= 0 && dialect_ >= Dialect::k2025) {
      text_.Add(",      \"graph id\": 3,      \"graph node id\": ");
      text_.AddInt(event.graph_node_id);
    }
    if (event.collective != nullptr && dialect_ >= Dialect::k2024) {
      text_.Add(", ");
      CollectiveArgs(*event.collective);
    }
  }

  // The args that are the same whenever a kernel runs.
  const std::string& KernelLimits(const KernelShape& kernel) {
    const auto id = static_cast<size_t>(kernel.name_id);
    if (kernel_texts_.size() <= id) kernel_texts_.resize(id + 1);
    std::string& text = kernel_texts_[id];
    if (!text.empty()) return text;
    const auto [grid_x, grid_y, grid_z] = kernel.grid;
    const auto [block_x, block_y, block_z] = kernel.block;
    const float blocks = static_cast<float>(grid_x * grid_y * grid_z) / kMultiprocessors;
    const float warps = blocks * static_cast<float>(block_x * block_y * block_z) / 32;
    const auto decimal = [this](float value) {
      return dialect_ <= Dialect::k2023 ? Shortest(value) : SixDecimals(value);
    };
    const char* line = dialect_ <= Dialect::k2023 ? ",\n      " : ",      ";
    text = absl::StrCat(line, "\"registers per thread\": ", kernel.registers_per_thread, line,
                        "\"shared memory\": ", kernel.shared_memory_bytes, line, "\"blocks per SM\": ", decimal(blocks),
                        line, "\"warps per SM\": ", decimal(warps));
    absl::StrAppend(&text, line, "\"grid\": [", grid_x, ", ", grid_y, ", ", grid_z, "]", line, "\"block\": [", block_x,
                    ", ", block_y, ", ", block_z, "]", line,
                    "\"est. achieved occupancy %\": ", kernel.occupancy_percent);
    return text;
  }

  void Instant(const Event& event) {
    if (dialect_ == Dialect::k2026) {
      text_.Add("  {\n    \"ph\": \"i\",\n    \"cat\": \"cpu_instant_event\",\n    \"s\": \"t\",\n    \"name\": ");
      AddName(event);
      text_.Add(",\n    \"pid\": ");
      text_.AddInt(event.pid);
      text_.Add(",\n    \"tid\": ");
      text_.AddInt(event.tid);
      text_.Add(",\n    \"ts\": ");
      AddTime(event.ts_ns);
      text_.Add("\n    ,\n    \"args\": {\n      ");
    } else {
      text_.Add("  {\n    \"ph\": \"i\", ");
      if (dialect_ != Dialect::k2021) text_.Add("\"cat\": \"cpu_instant_event\", ");
      text_.Add("\"s\": \"t\", \"name\": ");
      AddName(event);
      text_.Add(",\n    \"pid\": ");
      text_.AddInt(event.pid);
      text_.Add(", \"tid\": ");
      text_.AddInt(event.tid);
      text_.Add(",\n    \"ts\": ");
      AddTime(event.ts_ns);
      text_.Add(",\n    \"args\": {\n      ");
    }
    if (dialect_ == Dialect::k2021) {
      text_.Add("\"Device Type\": 1, \"Device Id\": ");
      text_.AddInt(info_.device);
      text_.Add(", \"Bytes\": ");
      text_.AddInt(event.bytes);
    } else if (dialect_ == Dialect::k2023) {
      text_.Add("\"Ev Idx\": ");
      text_.AddInt(event.ev_idx);
      text_.Add(", \"Device Type\": 1, \"Device Id\": ");
      text_.AddInt(info_.device);
      text_.Add(", \"Addr\": ");
      text_.AddInt(event.address);
      text_.Add(", \"Bytes\": ");
      text_.AddInt(event.bytes);
      text_.Add(", \"Total Allocated\": ");
      text_.AddInt(event.total_allocated_bytes);
      text_.Add(", \"Total Reserved\": ");
      text_.AddInt(event.total_reserved_bytes);
    } else {
      text_.Add("\"Total Reserved\": ");
      text_.AddInt(event.total_reserved_bytes);
      text_.Add(", \"Total Allocated\": ");
      text_.AddInt(event.total_allocated_bytes);
      text_.Add(", \"Bytes\": ");
      text_.AddInt(event.bytes);
      text_.Add(", \"Addr\": ");
      text_.AddInt(event.address);
      text_.Add(", \"Device Id\": ");
      text_.AddInt(info_.device);
      text_.Add(", \"Device Type\": 1, \"Ev Idx\": ");
      text_.AddInt(event.ev_idx);
    }
    text_.Add("\n    }\n  }");
  }

  void Flow(const Event& event) {
    const bool is_end = event.phase == Phase::kFlowEnd;
    const char phase = static_cast<char>(event.phase);
    const char* category = CategoryName(event.category);
    if (dialect_ == Dialect::k2026) {
      text_.Add("  {\n    \"ph\": \"");
      text_.AddText(absl::string_view(&phase, 1));
      text_.Add("\",\n    \"id\": ");
      text_.AddInt(event.correlation);
      text_.Add(",\n    \"pid\": ");
      text_.AddInt(event.pid);
      text_.Add(",\n    \"tid\": ");
      text_.AddInt(FlowTid(event));
      text_.Add(",\n    \"ts\": ");
      AddTime(event.ts_ns);
      text_.Add(",\n    \"cat\": \"");
      text_.AddText(category);
      text_.Add("\",\n    \"name\": \"");
      text_.AddText(category);
      if (is_end) {
        text_.Add("\"\n    , \"bp\": \"e\"\n  }");
      } else {
        text_.Add("\"\n    \n  }");
      }
      return;
    }
    text_.Add("  {\n    \"ph\": \"");
    text_.AddText(absl::string_view(&phase, 1));
    text_.Add("\", \"id\": ");
    text_.AddInt(event.correlation);
    text_.Add(", \"pid\": ");
    text_.AddInt(event.pid);
    text_.Add(", \"tid\": ");
    if (dialect_ == Dialect::k2021 && is_end) {
      AddTextTid(event);
    } else {
      text_.AddInt(event.tid);
    }
    text_.Add(", \"ts\": ");
    AddTime(event.ts_ns);
    text_.Add(",\n    \"cat\": \"");
    text_.AddText(category);
    text_.Add("\", \"name\": \"");
    text_.AddText(dialect_ == Dialect::k2021 ? "launch" : category);
    if (is_end) {
      text_.Add("\", \"bp\": \"e\"\n  }");
    } else {
      text_.Add("\"\n  }");
    }
  }
  int64_t FlowTid(const Event& event) const {
    constexpr int kStreamSynchronizeCbid = 131;
    const bool is_wait = event.phase == Phase::kFlowEnd && event.cbid == kStreamSynchronizeCbid && !event.is_dangling;
    return event.tid + (is_wait ? 1'000'000 : 0);
  }

  // --- What is not an event of the model.

  // `pid`, `tid` and `value` are JSON texts.
  void MetadataEvent(absl::string_view name, absl::string_view pid, absl::string_view tid, absl::string_view key,
                     absl::string_view value) {
    text_.Reserve(1000 + value.size());
    Comma();
    ++metadata_count_;
    if (dialect_ == Dialect::k2026) {
      text_.Add("  {\n    \"ph\": \"M\",\n    \"name\": \"");
      text_.AddText(name);
      text_.Add("\",\n    \"ts\": ");
      AddTime(info_.start_ns);
      text_.Add(",\n    \"pid\": ");
      text_.AddText(pid);
      text_.Add(",\n    \"tid\": ");
      text_.AddText(tid);
    } else {
      text_.Add("  {\n    \"name\": \"");
      text_.AddText(name);
      text_.Add("\", \"ph\": \"M\", \"ts\": ");
      AddTime(info_.start_ns);
      if (pid == "\"Spans\"") {
        text_.Add(",\n    \"pid\": ");
      } else {
        text_.Add(", \"pid\": ");
      }
      text_.AddText(pid);
      text_.Add(", \"tid\": ");
      text_.AddText(tid);
    }
    text_.Add(",\n    \"args\": {\n      \"");
    text_.AddText(key);
    text_.Add("\": ");
    text_.AddText(value);
    text_.Add("\n    }\n  }");
  }

  void Process(int64_t pid, absl::string_view label, int64_t sort_index) {
    const std::string id = std::to_string(pid);
    MetadataEvent("process_name", id, "0", "name", "\"python3\"");
    MetadataEvent("process_labels", id, "0", "labels", absl::StrCat("\"", label, "\""));
    if (dialect_ != Dialect::k2021)
      MetadataEvent("process_sort_index", id, "0", "sort_index", std::to_string(sort_index));
  }

  void Metadata() {
    Process(info_.pid, "CPU", info_.pid);
    for (int device = 0; device < (dialect_ >= Dialect::k2025 ? 16 : 8); ++device) {
      Process(device, absl::StrCat("GPU ", device), 5'000'000 + device);
    }
    for (const Track& track : info_.tracks) {
      if (dialect_ == Dialect::k2021) {
        // Only threads have names; a stream is its own.
        if (track.pid != info_.pid) continue;
        MetadataEvent("thread_name", std::to_string(track.pid), absl::StrCat("\"", track.tid, "\""), "name",
                      json::Escaped(track.name).text());
        continue;
      }
      const std::string pid = std::to_string(track.pid), tid = std::to_string(track.tid);
      MetadataEvent("thread_name", pid, tid, "name", json::Escaped(track.name).text());
      MetadataEvent("thread_sort_index", pid, tid, "sort_index", tid);
    }
    if (dialect_ == Dialect::k2026) {
      const std::string pid = std::to_string(info_.device);
      MetadataEvent("thread_name", pid, "1000007", "name", "\"stream 7 (sync)\"");
      MetadataEvent("thread_sort_index", pid, "1000007", "sort_index", "1000007");
    }
  }

  void Spans(int64_t end_ns) {
    text_.Reserve(4000);
    const int64_t start_ns = info_.start_ns;
    span_dur_ns_ = WrittenDurNs(start_ns, end_ns - start_ns);
    Comma();
    if (dialect_ == Dialect::k2026) {
      text_.Add(
          "  {\n    \"ph\": \"X\",\n    \"cat\": \"Trace\",\n    \"name\": \"PyTorch Profiler (0)\",\n    \"pid\": "
          "\"Spans\",\n    \"tid\": \"PyTorch Profiler\",\n    \"ts\": ");
      AddTime(start_ns);
      text_.Add(",\n    \"dur\": ");
      AddDur(start_ns, end_ns - start_ns);
      text_.Add("\n    ,\n    \"args\": {\n      \"Op count\": 0\n    }\n  }");
    } else {
      text_.Add("  {\n    \"ph\": \"X\", \"cat\": \"Trace\", \"ts\": ");
      AddTime(start_ns);
      text_.Add(", \"dur\": ");
      AddDur(start_ns, end_ns - start_ns);
      text_.Add(",\n    \"pid\": \"");
      if (dialect_ == Dialect::k2021) {
        text_.Add("Traces");
      } else {
        text_.Add("Spans");
      }
      text_.Add(
          "\", \"tid\": \"PyTorch Profiler\",\n    \"name\": \"PyTorch Profiler (0)\",\n    \"args\": {\n      \"Op "
          "count\": 0\n    }\n  }");
    }
    if (dialect_ != Dialect::k2021) MetadataEvent("process_sort_index", "\"Spans\"", "0", "sort_index", "536870912");
    Mark("Iteration Start: PyTorch Profiler", "Traces", "Trace PyTorch Profiler", start_ns);
    Mark("Record Window End", "", "", end_ns);
  }

  void Mark(absl::string_view name, absl::string_view pid, absl::string_view tid, int64_t ts_ns) {
    text_.Reserve(1000);
    Comma();
    if (dialect_ == Dialect::k2026) {
      text_.Add("  {\n    \"ph\": \"i\",\n    \n    \"s\": \"g\",\n    \"name\": \"");
      text_.AddText(name);
      text_.Add("\",\n    \"pid\": \"");
      text_.AddText(pid);
      text_.Add("\",\n    \"tid\": \"");
      text_.AddText(tid);
      text_.Add("\",\n    \"ts\": ");
      AddTime(ts_ns);
      text_.Add("\n    \n  }");
      return;
    }
    text_.Add("  {\n    \"name\": \"");
    text_.AddText(name);
    text_.Add("\", \"ph\": \"i\", \"s\": \"g\",\n    \"pid\": \"");
    text_.AddText(pid);
    text_.Add("\", \"tid\": \"");
    text_.AddText(tid);
    text_.Add("\", \"ts\": ");
    AddTime(ts_ns);
    text_.Add("\n  }");
  }

  const RunOptions run_;
  const KinetoOptions options_;
  const Dialect dialect_;
  const bool has_decimals_;
  const RankInfo& info_;
  TextBuffer text_;
  int64_t base_ns_ = 0;
  bool is_first_ = true;
  std::vector<json::Escaped> names_;
  size_t longest_name_ = 0;
  std::vector<std::string> kernel_texts_;  // by name id
  Counts counts_[kCategoryCount] = {};
  int64_t batch_count_ = 0, seen_count_ = 0;
  bool is_damaged_ = false;
  int64_t metadata_count_ = 0, span_dur_ns_ = 0;
};

// Counts bytes.
class CountingSink final : public io::ByteSink {
 public:
  CountingSink() : ByteSink("<nothing>") {}

 private:
  void WriteSome(absl::string_view) override {}
  void Finish() override {}
};

int64_t JsonBytes(const RunOptions& run, const KinetoOptions& options) {
  CountingSink sink;
  const absl::StatusOr<Totals> totals = WriteKineto(run, 0, options, &sink);
  return totals.ok() ? static_cast<int64_t>(totals->json_bytes) : 0;
}

}  // namespace

absl::StatusOr<Dialect> ParseDialect(absl::string_view text) {
  constexpr absl::string_view kNames[] = {"2021", "2023", "2024", "2025", "2026"};
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (text == kNames[i]) return static_cast<Dialect>(i);
  }
  return absl::InvalidArgumentError(absl::StrCat("kineto version: want 2021, 2023, 2024, 2025 or 2026, got ", text));
}

absl::StatusOr<Damage> ParseDamage(absl::string_view text) {
  constexpr absl::string_view kNames[] = {"none", "truncate", "utf8",           "control",
                                          "nan",  "quote",    "trailing-comma", "unclosed"};
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (text == kNames[i]) return static_cast<Damage>(i);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("damage: want none, truncate, utf8, control, nan, quote, trailing-comma or unclosed, got ", text));
}

absl::StatusOr<int64_t> ParseSize(absl::string_view text) {
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [unit_begin, error] = std::from_chars(text.data(), end, value);
  std::string unit(unit_begin, end);
  for (char& c : unit) c = absl::ascii_tolower(c);
  int64_t factor = 0;
  if (unit.empty() || unit == "b") factor = 1;
  if (unit == "kb") factor = 1'000;
  if (unit == "mb") factor = 1'000'000;
  if (unit == "gb") factor = 1'000'000'000;
  int64_t size = 0;
  if (error != std::errc() || value <= 0 || factor == 0 || __builtin_mul_overflow(value, factor, &size)) {
    return absl::InvalidArgumentError(absl::StrCat("size: want a whole number and B, kB, MB or GB, got ", text));
  }
  return size;
}

absl::StatusOr<Totals> WriteKineto(const RunOptions& run, int rank, const KinetoOptions& options, io::ByteSink* sink) {
  if (absl::Status status = CheckOptions(run); !status.ok()) return status;
  if (rank < 0 || rank >= run.rank_count) {
    return absl::InvalidArgumentError(absl::StrCat("rank: want 0 to ", run.rank_count - 1, ", got ", rank));
  }
  RankModel model(run, rank);
  KinetoWriter writer(run, options, model, sink);
  writer.Begin();
  writer.End(model.Run(&writer));
  Totals totals = writer.TakeTotals();
  totals.json_bytes = sink->bytes_written();
  if (absl::Status status = sink->Close(); !status.ok()) return status;
  return totals;
}

void FitToSize(int64_t json_bytes, const KinetoOptions& options, RunOptions* run) {
  // At least eight steps, so that rounding to whole steps stays within a few percent.
  constexpr int64_t kMinStepCount = 8;
  RunOptions probe = *run;
  int64_t step_bytes = 0, other_bytes = 0;
  for (;;) {
    probe.step_count = 1;
    const int64_t one = JsonBytes(probe, options);
    probe.step_count = 3;
    step_bytes = std::max<int64_t>((JsonBytes(probe, options) - one) / 2, 1);
    other_bytes = one - step_bytes;
    if (probe.layer_count == 1 || (json_bytes - other_bytes) / step_bytes >= kMinStepCount) break;
    probe.layer_count = std::max(
        1, std::min(probe.layer_count - 1,
                    static_cast<int>(probe.layer_count * (json_bytes - other_bytes) / (step_bytes * kMinStepCount))));
  }
  run->layer_count = probe.layer_count;
  const int64_t steps = (json_bytes - other_bytes + step_bytes / 2) / step_bytes;
  run->step_count = static_cast<int>(std::clamp<int64_t>(steps, 1, 1'000'000'000));
}

}  // namespace tracekiln::tracegen
