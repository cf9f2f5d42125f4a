#include "tools/profile_check.h"

#include <algorithm>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analysis/profile_health/profile_repair.h"
#include "analysis/profile_table/function_text.h"
#include "formats/io/input.h"
#include "formats/io/output.h"
#include "formats/pstats/pstats_reader.h"
#include "formats/pstats/pstats_writer.h"
#include "re2/re2.h"
#include "tools/output_path.h"
#include "tools/text_table.h"

namespace tracekiln::tools {
namespace {

using profile_health::FunctionText;
using profile_health::ProfileFinding;
using profile_health::ProfileHealth;
using profile_health::RepairOptions;
using profile_health::RepairSummary;
using profile_health::Severity;

constexpr size_t kHeadBytes = 64 * 1024;

std::string Plural(uint64_t count, absl::string_view word) {
  return absl::StrCat(count, " ", word, count == 1 ? "" : "s");
}

// Rounded down to a tenth of a percent.
std::string PercentText(double share) {
  const int64_t tenths = static_cast<int64_t>(std::min(share, 1e9) * 1000);
  return absl::StrFormat("%d.%d %%", tenths / 10, tenths % 10);
}

// For terminals and UTF-8 files.
std::string ShownFunction(const Profile& profile, FunctionId function) {
  std::string text;
  profile_table::AppendPrintable(FunctionText(profile, function), &text);
  return Printable(text, 200);
}

std::string ViewersText(profile_health::ViewerSet viewers) { return absl::StrJoin(viewers.Names(), ", "); }

// The function whose text matches; of several, the one with the greatest cumulative time.
absl::StatusOr<FunctionId> FindRoot(const Profile& profile, const std::string& pattern) {
  const RE2 re(pattern, RE2::Quiet);
  std::optional<FunctionId> best;
  for (const FunctionId f : profile.rows()) {
    if (!RE2::PartialMatch(FunctionText(profile, f), re)) continue;
    if (!best || profile.function(f).stats.cumulative_ns > profile.function(*best).stats.cumulative_ns) best = f;
  }
  if (!best) return absl::NotFoundError(absl::StrCat("--root: no function matches \"", pattern, "\""));
  return *best;
}

}  // namespace

std::string FileHead(const std::string& path) {
  std::string head;
  if (path == "-" || IsDirectory(path)) return head;
  std::ifstream file(path, std::ios::binary);
  if (!file) return head;
  head.resize(kHeadBytes);
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<size_t>(file.gcount()));
  return head;
}

std::string ProfileHealthText(absl::string_view name, const Profile& profile, const ImportReport& report,
                              const ProfileHealth& health) {
  const size_t warnings = health.warning_count();
  std::string out =
      absl::StrCat(Printable(name), ": ", warnings == 0 ? "opens in every viewer" : Plural(warnings, "warning"), ", ",
                   Plural(health.findings.size() - warnings, "note"));
  if (warnings > 0) absl::StrAppend(&out, "; fails in ", ViewersText(health.FailingViewers()));
  const std::string import_text = report.ToText();
  const CallStats total = profile.Total();
  absl::StrAppend(&out, "\n  import: ", absl::string_view(import_text).substr(0, import_text.find('\n')), "\n  ",
                  Plural(profile.row_count(), "function"), ", ", Plural(total.call_count, "call"), ", ",
                  MicrosText(total.own_ns), " of own time\n");
  if (health.snakeviz_root) {
    absl::StrAppend(&out, "  SnakeViz starts at ", ShownFunction(profile, *health.snakeviz_root));
    if (health.snakeviz_share) absl::StrAppend(&out, ", ", PercentText(*health.snakeviz_share), " of the time");
    out += '\n';
  }
  for (const ProfileFinding& finding : health.findings) {
    absl::StrAppend(&out, finding.severity == Severity::kWarning ? "  warning  " : "  note     ", finding.code);
    if (!finding.viewers.empty()) absl::StrAppend(&out, " (", ViewersText(finding.viewers), ")");
    absl::StrAppend(&out, ": ", finding.count, "; ", finding.text, "\n");
    for (const FunctionId f : finding.first) {
      absl::StrAppend(&out, "             ", ShownFunction(profile, f), "\n");
    }
  }
  return out;
}

void WriteProfileHealth(const Profile& profile, const ProfileHealth& health, json::Writer* w) {
  const auto write_text = [&](absl::string_view text) {
    std::string clean;
    profile_table::AppendWithoutSurrogates(text, &clean);
    w->String(clean);
  };
  const auto write_function = [&](FunctionId f) {
    w->BeginObject();
    w->Key("file"), write_text(profile.file(f));
    w->Key("line"), w->Int(profile.function(f).line);
    w->Key("name"), write_text(profile.name(f));
    w->EndObject();
  };
  const auto write_viewers = [&](profile_health::ViewerSet viewers) {
    w->BeginArray();
    for (const absl::string_view viewer : viewers.Names()) w->String(viewer);
    w->EndArray();
  };
  const CallStats total = profile.Total();
  w->BeginObject();
  w->Key("functions"), w->Uint(profile.row_count());
  w->Key("edges"), w->Uint(profile.edges().size());
  w->Key("calls"), w->Int(total.call_count);
  w->Key("own_ns"), w->Int(total.own_ns);
  w->Key("failing_viewers"), write_viewers(health.FailingViewers());
  w->Key("snakeviz_root");
  if (health.snakeviz_root) {
    write_function(*health.snakeviz_root);
  } else {
    w->Null();
  }
  w->Key("snakeviz_share");
  if (health.snakeviz_share) {
    w->Double(*health.snakeviz_share);
  } else {
    w->Null();
  }
  w->Key("findings");
  w->BeginArray();
  for (const ProfileFinding& finding : health.findings) {
    w->BeginObject();
    w->Key("code"), w->String(finding.code);
    w->Key("severity"), w->String(finding.severity == Severity::kWarning ? "warning" : "note");
    w->Key("viewers"), write_viewers(finding.viewers);
    w->Key("count"), w->Uint(finding.count);
    w->Key("first");
    w->BeginArray();
    for (const FunctionId f : finding.first) write_function(f);
    w->EndArray();
    w->Key("text"), w->String(finding.text);
    w->EndObject();
  }
  w->EndArray();
  w->EndObject();
}

absl::Status CheckRepairFlags(const ParsedFlags& flags) {
  if (!flags.Has("repair")) {
    for (const char* name : {"output", "max-depth", "root"}) {
      if (flags.Has(name)) return absl::InvalidArgumentError(absl::StrCat("--", name, " goes with --repair"));
    }
    return absl::OkStatus();
  }
  const std::optional<std::string> output = flags.Get("output");
  if (!output || output->empty() || *output == "-") {
    return absl::InvalidArgumentError("--repair needs -o FILE.prof to write to");
  }
  if (flags.positional().size() != 1) return absl::InvalidArgumentError("--repair takes one profile");
  if (IsSameFile(flags.positional()[0], *output)) {
    return absl::InvalidArgumentError(absl::StrCat("\"", *output, "\" is the input itself"));
  }
  if (const absl::StatusOr<int64_t> depth = flags.GetInt("max-depth", 2, 2, 1'000'000); !depth.ok()) {
    return depth.status();
  }
  if (const std::optional<std::string> root = flags.Get("root")) {
    const RE2 re(*root, RE2::Quiet);
    if (!re.ok()) return absl::InvalidArgumentError(absl::StrCat("--root: ", re.error()));
  }
  return absl::OkStatus();
}

int RepairToFile(const Profile& profile, const ParsedFlags& flags, const CommandContext& context, std::string* text) {
  RepairOptions options;
  if (flags.Has("max-depth")) options.max_depth = static_cast<uint32_t>(*flags.GetInt("max-depth", 2, 2, 1'000'000));
  if (const std::optional<std::string> pattern = flags.Get("root")) {
    const absl::StatusOr<FunctionId> root = FindRoot(profile, *pattern);
    if (!root.ok()) return context.Fail(root.status());
    options.root = *root;
    context.Warn(absl::StrCat("the root is ", ShownFunction(profile, *root)));
  }
  RepairSummary summary;
  const Profile repaired = profile_health::RepairProfile(profile, options, &summary);

  const std::string output = *flags.Get("output");
  absl::StatusOr<std::unique_ptr<io::ByteSink>> sink = io::CreateOutput(output);
  if (!sink.ok()) return context.Fail(sink.status());
  absl::Status status = pstats::WritePstats(repaired, {}, **sink);
  if (status.ok()) status = (*sink)->Close();
  if (!status.ok()) return context.Fail(status);

  // What counts is what others will read.
  absl::StatusOr<std::unique_ptr<io::Input>> input = io::OpenInput(output);
  if (!input.ok()) return context.Fail(input.status());
  ImportReport report;
  const std::unique_ptr<io::ByteSource> stream = (*input)->Stream();
  const absl::StatusOr<Profile> written = pstats::ReadPstats(*stream, {}, &report);
  if (!written.ok()) return context.Fail(written.status());
  const ProfileHealth health = profile_health::AnalyzeProfile(*written, report, FileHead(output));
  std::vector<std::string> done = summary.Sentences();
  if (health.warning_count() > 0) {
    *text = ProfileHealthText(output, *written, report, health);
    context.Say(absl::StrCat(output, ": still fails in ", ViewersText(health.FailingViewers())));
  } else {
    if (done.empty()) done.push_back("nothing but names and the form of the file had to change, if anything");
    *text = absl::StrCat(Printable(output), ": opens in every viewer; ", absl::StrJoin(done, "; "), "\n");
  }
  return health.warning_count() > 0 ? kDoneWithLosses : kDone;
}

}  // namespace tracekiln::tools
