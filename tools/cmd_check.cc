// tracekiln check: is a trace fit to be analysed, and what is odd about it; which viewers choke on a profile, and
// --repair; whether the links of a graph are sound. The findings are those of analysis/health,
// analysis/profile_health and formats/intermediate/graph_faults.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analysis/health/health.h"
#include "analysis/profile_health/profile_health.h"
#include "formats/intermediate/graph.h"
#include "formats/intermediate/graph_faults.h"
#include "formats/json/writer.h"
#include "tools/commands.h"
#include "tools/graph_summary.h"
#include "tools/open_trace.h"
#include "tools/profile_check.h"
#include "tools/progress.h"
#include "tools/report_json.h"
#include "tools/text_table.h"

namespace tracekiln::tools {
namespace {

using health::DeviceHealth;
using health::Finding;
using health::HealthReport;
using health::Place;
using profile_health::ProfileHealth;

// Kinds of faults.
uint64_t WarningCount(const GraphFaults& faults) {
  return (faults.duplicates.empty() ? 0u : 1u) + (faults.ambiguous.empty() ? 0u : 1u) +
         (faults.missing.empty() ? 0u : 1u) + (faults.cycles.empty() ? 0u : 1u);
}

std::string Plural(uint64_t count, absl::string_view word) {
  return absl::StrCat(count, " ", word, count == 1 ? "" : "s");
}

std::string ValueText(int64_t value, health::Unit unit) {
  return unit == health::Unit::kNanoseconds ? MicrosText(value) : absl::StrCat(value);
}

// Rounded down to a tenth of a percent: 99.99 % is not 100 %.
std::string UtilisationText(const DeviceHealth& device) {
  const int tenths = static_cast<int>(device.utilisation() * 1000);
  return absl::StrFormat("%d.%d %%", tenths / 10, tenths % 10);
}

std::string PlaceText(const Place& place) {
  if (place.byte_offset) return absl::StrCat("byte ", *place.byte_offset);
  std::vector<std::string> parts = {absl::StrCat("row ", place.row.value_or(0), " at ", MicrosText(place.ts_ns))};
  if (!place.track.empty()) parts.push_back(absl::StrCat("on ", Printable(place.track, 60)));
  if (!place.name.empty()) parts.push_back(Printable(place.name, 80));
  if (!place.detail.empty()) parts.push_back(Printable(place.detail));
  return absl::StrJoin(parts, ", ");
}

std::string ReportText(absl::string_view name, const TraceInfo& info, const HealthReport& report) {
  const uint64_t warnings = report.warning_count();
  std::string out = absl::StrCat(Printable(name), ": ", warnings == 0 ? "healthy" : Plural(warnings, "warning"), ", ",
                                 Plural(report.findings.size() - warnings, "note"), "\n");
  const std::string import_text = info.report.ToText();
  absl::StrAppend(&out, "  import: ", absl::string_view(import_text).substr(0, import_text.find('\n')), "\n  ",
                  Plural(report.row_count, "event"), ", ", Plural(report.slice_count, "slice"), ", ",
                  Plural(report.step_count, "step"));
  if (report.first_activity_ns) {
    absl::StrAppend(&out, "; activity from ", MicrosText(*report.first_activity_ns), " to ",
                    MicrosText(*report.last_activity_ns));
  }
  out += '\n';
  for (const DeviceHealth& device : report.devices) {
    absl::StrAppend(&out, "  device ", Printable(device.device, 40), ": busy ", MicrosText(device.busy_ns),
                    " of a span of ", MicrosText(device.span_ns));
    if (device.span_ns > 0) absl::StrAppend(&out, " (", UtilisationText(device), ")");
    absl::StrAppend(&out, "; ", device.work_count, " kernels and copies, sum of durations ", MicrosText(device.sum_ns),
                    "\n");
  }
  const health::LaunchHealth& launches = report.launches;
  if (launches.linked_launch_count > 0) {
    absl::StrAppend(&out, "  ", Plural(launches.linked_launch_count, "launch call"), " linked to ",
                    launches.linked_work_count, " kernels and copies; mean delay to the first ",
                    launches.mean_delay_ns ? MicrosText(*launches.mean_delay_ns) : "n/a", " over ",
                    Plural(launches.delay_count, "launch call"));
    if (launches.negative_delay_count > 0) {
      absl::StrAppend(&out, " (", Plural(launches.negative_delay_count, "negative delay"), " left out)");
    }
    absl::StrAppend(&out, "\n");
  }
  for (const Finding& finding : report.findings) {
    absl::StrAppend(&out, finding.severity == health::Severity::kWarning ? "  warning  " : "  note     ",
                    Printable(finding.code), ": ", finding.count);
    if (finding.worst) absl::StrAppend(&out, ", worst ", ValueText(*finding.worst, finding.worst_unit));
    if (!finding.text.empty()) absl::StrAppend(&out, "; ", Printable(finding.text, 300));
    absl::StrAppend(&out, "\n");
    for (const Place& place : finding.first) absl::StrAppend(&out, "             ", PlaceText(place), "\n");
  }
  return out;
}

// The faults of a graph are in the report, by their ids.
std::string GraphText(absl::string_view name, const Graph& graph, const GraphFaults& faults,
                      const ImportReport& report) {
  const uint64_t warnings = WarningCount(faults);
  std::string out = absl::StrCat(Printable(name), ": ", warnings == 0 ? "healthy" : Plural(warnings, "warning"), "\n");
  AppendGraphText(graph, faults, &out);
  absl::StrAppend(&out, "  import: ", PrintableLines(report.ToText()));
  return out;
}

void WritePlace(const Place& place, json::Writer* w) {
  w->BeginObject();
  if (place.byte_offset) {
    w->Key("byte_offset");
    w->Uint(*place.byte_offset);
  } else {
    w->Key("row");
    w->Uint(place.row.value_or(0));
    w->Key("ts_us");
    w->MicrosFromNanos(place.ts_ns);
    w->Key("name");
    w->String(place.name);
    if (!place.track.empty()) {
      w->Key("track");
      w->String(place.track);
    }
    if (!place.detail.empty()) {
      w->Key("detail");
      w->String(place.detail);
    }
  }
  w->EndObject();
}

// What `check` found in one input. `profile` may be null, and `has_timeline` false, but not both.
struct Findings {
  const HealthReport& timeline;
  bool has_timeline;
  const Profile* profile;
  const ProfileHealth& profile_health;
  const Graph* graph;  // may be null
  const GraphFaults& graph_faults;
};

void WriteTimeline(const HealthReport& report, json::Writer& w) {
  w.Key("events"), w.Uint(report.row_count);
  w.Key("slices"), w.Uint(report.slice_count);
  w.Key("steps"), w.Uint(report.step_count);
  w.Key("activity");
  if (report.first_activity_ns) {
    w.BeginObject();
    w.Key("first_ns"), w.Int(*report.first_activity_ns);
    w.Key("last_ns"), w.Int(*report.last_activity_ns);
    w.EndObject();
  } else {
    w.Null();
  }
  w.Key("devices");
  w.BeginArray();
  for (const DeviceHealth& device : report.devices) {
    w.BeginObject();
    w.Key("device"), w.String(device.device);
    w.Key("work"), w.Uint(device.work_count);
    w.Key("sum_ns"), w.Int(device.sum_ns);
    w.Key("busy_ns"), w.Int(device.busy_ns);
    w.Key("span_ns"), w.Int(device.span_ns);
    w.Key("utilisation");
    if (device.span_ns > 0) {
      w.Double(device.utilisation());
    } else {
      w.Null();
    }
    w.EndObject();
  }
  w.EndArray();
  w.Key("launches");
  w.BeginObject();
  w.Key("linked_launches"), w.Uint(report.launches.linked_launch_count);
  w.Key("linked_work"), w.Uint(report.launches.linked_work_count);
  w.Key("delays"), w.Uint(report.launches.delay_count);
  w.Key("negative_delays"), w.Uint(report.launches.negative_delay_count);
  w.Key("mean_delay_ns");
  if (report.launches.mean_delay_ns) {
    w.Int(*report.launches.mean_delay_ns);
  } else {
    w.Null();
  }
  w.EndObject();
  w.Key("findings");
  w.BeginArray();
  for (const Finding& finding : report.findings) {
    w.BeginObject();
    w.Key("code"), w.String(finding.code);
    w.Key("severity"), w.String(finding.severity == health::Severity::kWarning ? "warning" : "note");
    w.Key("count"), w.Uint(finding.count);
    if (finding.worst) {
      w.Key(finding.worst_unit == health::Unit::kNanoseconds ? "worst_ns" : "worst"), w.Int(*finding.worst);
    }
    w.Key("first");
    w.BeginArray();
    for (const Place& place : finding.first) WritePlace(place, &w);
    w.EndArray();
    w.Key("text"), w.String(finding.text);
    w.EndObject();
  }
  w.EndArray();
}

void WriteJson(absl::string_view name, const TraceInfo& info, const Findings& found, std::string* out) {
  uint64_t warnings = 0;
  uint64_t all = 0;
  if (found.has_timeline) {
    warnings += found.timeline.warning_count();
    all += found.timeline.findings.size();
  }
  if (found.profile != nullptr) {
    warnings += found.profile_health.warning_count();
    all += found.profile_health.findings.size();
  }
  warnings += WarningCount(found.graph_faults);
  all += WarningCount(found.graph_faults);
  json::Writer w(out);
  w.BeginObject();
  w.Key("file"), w.String(name);
  w.Key("warnings"), w.Uint(warnings);
  w.Key("notes"), w.Uint(all - warnings);
  if (found.has_timeline) WriteTimeline(found.timeline, w);
  if (found.profile != nullptr) {
    w.Key("profile");
    WriteProfileHealth(*found.profile, found.profile_health, &w);
  }
  if (found.graph != nullptr) {
    w.Key("graph");
    WriteGraph(*found.graph, found.graph_faults, &w);
    w.Key("graph_faults");
    WriteGraphFaults(*found.graph, found.graph_faults, &w);
  }
  w.Key("report");
  WriteReport(info.report, &w);
  w.EndObject();
}

int RunOne(const std::string& path, const ParsedFlags& flags, CommandContext& context, bool is_json) {
  absl::StatusOr<OpenedTrace> trace = OpenTrace(path, flags, context);
  if (!trace.ok()) return context.Fail(trace.status());
  ProgressMeter meter(context.shows_progress, context.err);
  ProgressSource source(*trace->source, &meter, context.is_interrupted);
  const absl::StatusOr<HealthReport> report = health::AnalyzeHealth(source);
  meter.Finish();
  if (!report.ok()) return context.Fail(report.status());
  const TraceInfo& info = source.info();
  const Profile* const profile = source.profile();
  ProfileHealth profile_health;
  if (profile != nullptr) {
    const bool is_profile_file = trace->format->name == "pstats" && trace->container == io::Container::kPlain;
    profile_health = profile_health::AnalyzeProfile(*profile, info.report, is_profile_file ? FileHead(path) : "");
  }
  const Graph* const graph = source.graph();
  const GraphFaults graph_faults = graph != nullptr ? FindGraphFaults(*graph) : GraphFaults();
  const Findings found{*report, report->row_count > 0 || (profile == nullptr && graph == nullptr),
                       profile, profile_health,
                       graph,   graph_faults};
  std::string out;
  if (is_json) {
    WriteJson(path, info, found, &out);
    out += '\n';
  } else {
    if (found.has_timeline) out += ReportText(path, info, *report);
    if (profile != nullptr) out += ProfileHealthText(path, *profile, info.report, profile_health);
    if (graph != nullptr) out += GraphText(path, *graph, graph_faults, info.report);
  }
  int status = info.report.salvaged ? kDoneWithLosses : kDone;
  if (flags.Has("repair")) {
    if (profile == nullptr) {
      return context.Fail(absl::InvalidArgumentError(
          absl::StrCat(path, ": a ", trace->format->name, " trace without a profile, so there is nothing to repair")));
    }
    std::string repair_text;
    status = std::max(status, RepairToFile(*profile, flags, context, &repair_text));
    if (is_json) {
      context.Warn(repair_text);
    } else {
      out += repair_text;
    }
  }
  context.out.Write(out);
  return status;
}

int Run(const ParsedFlags& flags, CommandContext& context) {
  if (const absl::Status status = CheckReadFlags(flags, context.formats); !status.ok()) {
    return context.Misused(status.message());
  }
  if (flags.positional().empty())
    return context.Misused("which trace? give at least one file, or - for standard input");
  const std::string how = flags.Get("format").value_or("text");
  if (how != "text" && how != "json") return context.Misused("--format is text or json");
  if (const absl::Status status = CheckRepairFlags(flags); !status.ok()) return context.Misused(status.message());
  std::vector<int> codes;
  for (const std::string& path : flags.positional()) codes.push_back(RunOne(path, flags, context, how == "json"));
  return CombinedStatus(codes);
}

}  // namespace

const Command& CheckCommand() {
  static const Command* const command = [] {
    auto* c = new Command{
        "check",
        "IN…",
        "a health report: damage, impossible times, nesting, orphan kernels, clocks, steps; which viewers open a .prof",
        "Prints warnings and notes with counts, the worst value and the first three places. Exit status 0 also with\n"
        "warnings; 1 if the trace can't be read; 3 after --salvage. Places are rows as `tracekiln cat` counts them,\n"
        "times are microseconds from the trace's base. With --format json: one line per input.\n"
        "\n"
        "Of a profile (.prof) it says with which of pstats, SnakeViz, tuna, gprof2dot, flameprof and pyprof2calltree "
        "it\n"
        "fails and why (warnings), and what a chart will hide (notes). --repair writes a copy that all of them open, "
        "with\n"
        "the smallest changes that do, and says which.",
        "  tracekiln check rank0.json.gz\n"
        "  tracekiln check --format json *.json.gz > health.jsonl\n"
        "  tracekiln check --salvage truncated.json\n"
        "  tracekiln check run.prof --repair -o repaired.prof",
        ReadFlags(),
        Run};
    c->flags.push_back({"format", 'f', "text|json", "how to print it"});
    c->flags.push_back({"repair", 0, "", "write a copy of a profile that every viewer opens"});
    c->flags.push_back({"output", 'o', "FILE.prof", "where to; never the input"});
    c->flags.push_back(
        {"max-depth", 0, "N", "at most so many functions below each other; default: as many as viewers bear"});
    c->flags.push_back({"root", 0, "RE2", "keep what this function (file:line(name)) calls, and nothing above it"});
    return c;
  }();
  return *command;
}

}  // namespace tracekiln::tools
