// tracekiln info: what is in a trace.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analysis/profile_table/function_text.h"
#include "formats/intermediate/field_catalog.h"
#include "formats/intermediate/graph.h"
#include "formats/intermediate/graph_faults.h"
#include "formats/intermediate/profile.h"
#include "formats/json/canonical.h"
#include "formats/json/scan.h"
#include "formats/json/writer.h"
#include "tools/commands.h"
#include "tools/dataset_summary.h"
#include "tools/graph_summary.h"
#include "tools/open_trace.h"
#include "tools/output_path.h"
#include "tools/profile_fields.h"
#include "tools/progress.h"
#include "tools/report_json.h"
#include "tools/text_table.h"
#include "tools/trace_summary.h"

namespace tracekiln::tools {
namespace {

struct Device {
  int64_t id;
  std::string name;
};

// The devices that the trace's metadata lists.
std::vector<Device> DevicesOf(const TraceInfo& info) {
  std::vector<Device> devices;
  for (const MetadataEntry& entry : info.metadata) {
    if (absl::string_view(entry.key) != fields::kDeviceProperties) continue;
    // An array of objects in canonical JSON.
    std::string text = entry.json;
    const size_t size = text.size();
    text.append(json::kPadding, ' ');
    const char* const end = text.data() + size;
    const char* p = text.data();
    if (size == 0 || *p != '[') continue;
    for (++p; p < end && *p == '{';) {
      const char* const object_end = json::FindNestedEnd(p, end);
      if (object_end == nullptr) break;
      const absl::string_view object(p, static_cast<size_t>(object_end - p));
      const std::optional<absl::string_view> id = json::Member(object, "id");
      const std::optional<absl::string_view> name = json::Member(object, fields::kNameArg);
      Device device{static_cast<int64_t>(devices.size()), ""};
      if (id) device.id = json::AsInt(*id).value_or(device.id);
      if (name) device.name = json::AsString(*name).value_or("");
      devices.push_back(std::move(device));
      p = object_end;
      if (p < end && *p == ',') ++p;
    }
  }
  return devices;
}

struct FileFacts {
  std::string name;
  std::string format;
  std::string container;
  std::string member;
  uint64_t file_bytes = 0;  // 0: unknown
};

std::string BytesPerEvent(const FileFacts& file, uint64_t row_count) {
  if (file.file_bytes == 0 || row_count == 0) return "";
  return absl::StrFormat("%.2f", static_cast<double>(file.file_bytes) / static_cast<double>(row_count));
}

// The rows with the most own time, at most five; the first ones of equals.
std::vector<FunctionId> TopRows(const Profile& profile) {
  std::vector<FunctionId> rows = profile.rows();
  const size_t count = std::min<size_t>(5, rows.size());
  std::vector<uint32_t> order(rows.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto own_ns = [&](uint32_t i) { return profile.function(rows[i]).stats.own_ns; };
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(count), order.end(),
                    [&](uint32_t a, uint32_t b) { return own_ns(a) != own_ns(b) ? own_ns(a) > own_ns(b) : a < b; });
  std::vector<FunctionId> top;
  for (size_t i = 0; i < count; ++i) top.push_back(rows[order[i]]);
  return top;
}

std::string CountText(size_t count, absl::string_view what) {
  return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
}

void PrintProfile(const Profile& profile, std::string* out) {
  const CallStats total = profile.Total();
  const size_t callers_only = profile.functions().size() - profile.row_count();
  absl::StrAppend(out, "  profile     ", CountText(profile.row_count(), "row"), ", ",
                  CountText(profile.edges().size(), "edge"),
                  callers_only == 0 ? "" : absl::StrCat(", ", CountText(callers_only, "caller"), " without a row"),
                  "\n  calls       ", total.call_count, ", ", total.primitive_call_count, " of them primitive\n",
                  "  own time    ", MicrosText(total.own_ns), "\n");
  const std::vector<FunctionId> top = TopRows(profile);
  if (top.empty()) return;
  std::vector<std::vector<std::string>> rows = {{"own time", "cumulative", "calls", "function"}};
  for (const FunctionId f : top) {
    const CallStats& stats = profile.function(f).stats;
    std::string name, shown;
    profile_table::AppendStandardName(profile, f, &name);
    profile_table::AppendPrintable(name, &shown);
    rows.push_back(
        {MicrosText(stats.own_ns), MicrosText(stats.cumulative_ns), absl::StrCat(stats.call_count), Printable(shown)});
  }
  absl::StrAppend(out, "\n", TextTable(rows, "  "));
}

void PrintProfileJson(const Profile& profile, json::Writer* w) {
  const CallStats total = profile.Total();
  w->BeginObject();
  w->Key("rows"), w->Uint(profile.row_count());
  w->Key("functions"), w->Uint(profile.functions().size());
  w->Key("edges"), w->Uint(profile.edges().size());
  w->Key("calls"), w->Int(total.call_count);
  w->Key("primitive_calls"), w->Int(total.primitive_call_count);
  w->Key("own_ns"), w->Int(total.own_ns);
  w->Key("top");
  w->BeginArray();
  for (const FunctionId f : TopRows(profile)) {
    w->BeginObject();
    WriteFunctionName(profile, f, w);
    WriteCallStats(profile.function(f).stats, w);
    w->EndObject();
  }
  w->EndArray();
  w->EndObject();
}

// `profile` and `graph` may be null, here and below.
void PrintText(const FileFacts& file, const TraceInfo& info, const TraceSummary& summary, const Profile* profile,
               const Graph* graph, std::string* out) {
  absl::StrAppend(out, Printable(file.name), "\n  format      ", file.format,
                  file.container == "plain" ? "" : absl::StrCat(" in ", file.container),
                  file.member.empty() ? "" : absl::StrCat(" (", Printable(file.member), ")"),
                  info.source_format.empty() || info.source_format == file.format
                      ? ""
                      : absl::StrCat(", imported from ", Printable(info.source_format)),
                  "\n");
  if (file.file_bytes > 0) {
    absl::StrAppend(out, "  size        ", file.file_bytes, " bytes");
    if (summary.row_count > 0) absl::StrAppend(out, ", ", BytesPerEvent(file, summary.row_count), " bytes per event");
    absl::StrAppend(out, "\n");
  }
  if (info.rank || info.world_size) {
    absl::StrAppend(out, "  rank        ", info.rank ? absl::StrCat(*info.rank) : "unknown",
                    info.world_size ? absl::StrCat(" of ", *info.world_size) : "", "\n");
  }
  absl::StrAppend(out, "  base        ", info.has_base ? absl::StrCat(info.base_ns, " ns since the epoch") : "none",
                  "\n");
  if (summary.first_ns) {
    const absl::int128 span_ns = absl::int128(*summary.last_ns) - *summary.first_ns;
    absl::StrAppend(out, "  time span   ",
                    span_ns <= INT64_MAX ? MicrosText(static_cast<int64_t>(span_ns)) : "more than 292 years", ", from ",
                    MicrosText(*summary.first_ns), " to ", MicrosText(*summary.last_ns), "\n");
  } else {
    absl::StrAppend(out, "  time span   none: the trace has no events",
                    summary.row_count > 0 ? " but metadata"
                    : profile != nullptr  ? " but a profile"
                    : graph != nullptr    ? " but a graph"
                                          : "",
                    "\n");
  }
  absl::StrAppend(out, "  events      ", summary.row_count);
  if (summary.merged_flow_count > 0) {
    absl::StrAppend(out, ", and ", summary.merged_flow_count, " flow events kept as links");
  }
  absl::StrAppend(out, "\n");
  if (profile != nullptr) PrintProfile(*profile, out);
  if (graph != nullptr) AppendGraphText(*graph, FindGraphFaults(*graph), out);

  if (!summary.categories.empty()) {
    std::vector<std::vector<std::string>> rows = {{"kind", "category", "events", "sum of durations"}};
    for (const CategorySummary& c : summary.categories) {
      std::string category = c.has_category ? Printable(c.category) : "(none)";
      if (c.unfinished_count > 0) absl::StrAppend(&category, " (", c.unfinished_count, " unfinished)");
      rows.push_back({std::string(KindName(c.kind)), std::move(category), absl::StrCat(c.count),
                      c.kind == EventKind::kSlice ? MicrosText(c.sum_dur_ns) : "-"});
    }
    absl::StrAppend(out, "\n", TextTable(rows, "  "));
  }
  if (!summary.tracks.empty()) {
    std::vector<std::vector<std::string>> rows = {{"pid", "tid", "events", "sum of durations", "process", "thread"}};
    for (const TrackSummary& t : summary.tracks) {
      rows.push_back({Printable(t.pid, 40), Printable(t.tid, 40), absl::StrCat(t.count), MicrosText(t.sum_dur_ns),
                      Printable(t.process_name, 60), Printable(t.thread_name, 60)});
    }
    absl::StrAppend(out, "\n", TextTable(rows, "  "));
  }
  const std::vector<Device> devices = DevicesOf(info);
  if (!devices.empty()) {
    absl::StrAppend(out, "\n  devices\n");
    for (const Device& device : devices) absl::StrAppend(out, "    ", device.id, "  ", Printable(device.name), "\n");
  }
  if (!info.metadata.empty()) {
    absl::StrAppend(out, "\n  metadata\n");
    for (const MetadataEntry& entry : info.metadata) {
      absl::StrAppend(out, "    ", Printable(entry.key, 60), "  ", Printable(entry.json, 80), "\n");
    }
  }
  absl::StrAppend(out, "\n  import: ", PrintableLines(info.report.ToText()));
}

void PrintJson(const FileFacts& file, const TraceInfo& info, const TraceSummary& summary, const Profile* profile,
               const Graph* graph, json::Writer* w) {
  auto optional_int = [&](absl::string_view key, const std::optional<int64_t>& value) {
    w->Key(key);
    if (value) {
      w->Int(*value);
    } else {
      w->Null();
    }
  };
  w->BeginObject();
  w->Key("file"), w->String(file.name);
  w->Key("format"), w->String(file.format);
  w->Key("container"), w->String(file.container);
  if (!file.member.empty()) w->Key("member"), w->String(file.member);
  w->Key("source_format"), w->String(info.source_format);
  w->Key("file_bytes");
  if (file.file_bytes > 0) {
    w->Uint(file.file_bytes);
  } else {
    w->Null();
  }
  w->Key("bytes_per_event");
  if (file.file_bytes > 0 && summary.row_count > 0) {
    w->Double(static_cast<double>(file.file_bytes) / static_cast<double>(summary.row_count));
  } else {
    w->Null();
  }
  optional_int("rank", info.rank);
  optional_int("world_size", info.world_size);
  optional_int("base_ns", info.has_base ? std::optional<int64_t>(info.base_ns) : std::nullopt);
  optional_int("first_ns", summary.first_ns);
  optional_int("last_ns", summary.last_ns);
  w->Key("events"), w->Uint(summary.row_count);
  w->Key("merged_flows"), w->Uint(summary.merged_flow_count);
  w->Key("profile");
  if (profile != nullptr) {
    PrintProfileJson(*profile, w);
  } else {
    w->Null();
  }
  w->Key("graph");
  if (graph != nullptr) {
    WriteGraph(*graph, FindGraphFaults(*graph), w);
  } else {
    w->Null();
  }
  w->Key("categories");
  w->BeginArray();
  for (const CategorySummary& c : summary.categories) {
    w->BeginObject();
    w->Key("kind"), w->String(KindName(c.kind));
    w->Key("category");
    if (c.has_category) {
      w->String(c.category);
    } else {
      w->Null();
    }
    w->Key("events"), w->Uint(c.count);
    if (c.kind == EventKind::kSlice) {
      w->Key("sum_dur_ns"), w->Int(c.sum_dur_ns);
      w->Key("unfinished"), w->Uint(c.unfinished_count);
    }
    w->EndObject();
  }
  w->EndArray();
  w->Key("tracks");
  w->BeginArray();
  for (const TrackSummary& t : summary.tracks) {
    w->BeginObject();
    w->Key("pid"), w->String(t.pid);
    w->Key("tid"), w->String(t.tid);
    w->Key("process_name"), w->String(t.process_name);
    w->Key("thread_name"), w->String(t.thread_name);
    w->Key("events"), w->Uint(t.count);
    w->Key("sum_dur_ns"), w->Int(t.sum_dur_ns);
    w->EndObject();
  }
  w->EndArray();
  w->Key("devices");
  w->BeginArray();
  for (const Device& device : DevicesOf(info)) {
    w->BeginObject();
    w->Key("id"), w->Int(device.id);
    w->Key("name"), w->String(device.name);
    w->EndObject();
  }
  w->EndArray();
  w->Key("metadata");
  w->BeginArray();
  for (const MetadataEntry& entry : info.metadata) {
    w->BeginObject();
    w->Key("key"), w->String(entry.key);
    w->Key("value"), w->Json(entry.json);
    w->EndObject();
  }
  w->EndArray();
  w->Key("report");
  WriteReport(info.report, w);
  w->EndObject();
}

int RunOne(const std::string& path, const ParsedFlags& flags, CommandContext& context, bool is_json, std::string* out) {
  absl::StatusOr<OpenedTrace> trace = OpenTrace(path, flags, context);
  if (!trace.ok()) return context.Fail(trace.status());
  ProgressMeter meter(context.shows_progress, context.err);
  ProgressSource source(*trace->source, &meter, context.is_interrupted);
  TraceSummarizer summarizer;
  const absl::Status status = ForEachBatch(source, [&](const EventBatch& batch) {
    summarizer.Add(batch);
    return true;
  });
  meter.Finish();
  if (!status.ok()) return context.Fail(status);
  const TraceSummary summary = std::move(summarizer).Finish();

  FileFacts file;
  file.name = path;
  file.format = std::string(trace->format->name);
  file.container = std::string(io::ContainerName(trace->container));
  file.member = trace->member;
  file.file_bytes = source.progress().total_bytes;
  if (is_json) {
    json::Writer w(out);
    PrintJson(file, source.info(), summary, source.profile(), source.graph(), &w);
  } else {
    if (!out->empty()) *out += '\n';
    PrintText(file, source.info(), summary, source.profile(), source.graph(), out);
  }
  if (is_json) *out += '\n';
  return source.info().report.salvaged ? kDoneWithLosses : kDone;
}

int Run(const ParsedFlags& flags, CommandContext& context) {
  if (const absl::Status status = CheckReadFlags(flags, context.formats); !status.ok()) {
    return context.Misused(status.message());
  }
  if (flags.positional().empty())
    return context.Misused("which trace? give at least one file, or - for standard input");
  const std::string how = flags.Get("format").value_or("text");
  if (how != "text" && how != "json") return context.Misused("--format is text or json");
  std::vector<int> codes;
  for (const std::string& path : flags.positional()) {
    std::string out;
    codes.push_back(IsDirectory(path) ? DescribeDirectory(path, flags, context, how == "json", &out)
                                      : RunOne(path, flags, context, how == "json", &out));
    if (codes.size() > 1 && how == "text" && !out.empty()) out.insert(0, "\n");
    context.out.Write(out);
  }
  return CombinedStatus(codes);
}

}  // namespace

const Command& InfoCommand() {
  static const Command* const command = [] {
    auto* c =
        new Command{"info",
                    "IN…",
                    "what is in a trace: format, rank, time span, events by category, tracks, metadata, profile, graph",
                    "Times are microseconds from the trace's base. With --format json: one line per input. Of a "
                    "profile: sums, and the\n"
                    "five functions with the most own time. Of a directory: which file is which rank's, without "
                    "reading them whole.",
                    "  tracekiln info rank0.json.gz\n"
                    "  tracekiln info --format json trace.kiln\n"
                    "  tracekiln info run7\n"
                    "  tracekiln info --layout 'r(?P<rank>\\d+)' run7",
                    ReadFlags(),
                    Run};
    c->flags.push_back({"format", 'f', "text|json", "how to print it"});
    c->flags.push_back({"layout", '\0', "RE2",
                        "of a directory: finds rank, step, run or kind, its named groups, in the paths of the files"});
    return c;
  }();
  return *command;
}

}  // namespace tracekiln::tools
