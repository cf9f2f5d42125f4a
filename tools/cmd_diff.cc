// tracekiln diff: what changed between two profiles, function by function.
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/profile_diff/profile_diff.h"
#include "analysis/profile_table/function_text.h"
#include "analysis/profile_table/rename_functions.h"
#include "formats/json/writer.h"
#include "re2/re2.h"
#include "tools/commands.h"
#include "tools/csv.h"
#include "tools/load_profile.h"
#include "tools/open_trace.h"
#include "tools/profile_fields.h"
#include "tools/report_json.h"
#include "tools/text_table.h"

namespace tracekiln::tools {
namespace {

using profile_diff::FunctionChange;
using profile_diff::Impact;
using profile_diff::ProfileDiff;

constexpr size_t kBlockBytes = 1 << 16;

struct Wanted {
  std::string format;
  Impact impact = Impact::kOwn;
  bool ignores_lines = false;
  bool strips_dirs = false;
  bool has_unchanged = false;
  uint64_t limit = UINT64_MAX;
  std::unique_ptr<const re2::RE2> filter;
};

// One side of the comparison.
struct Side {
  std::string path;
  LoadedProfile loaded;
  std::optional<Profile> renamed;
  const Profile& profile() const { return renamed ? *renamed : loaded.profile(); }
};

struct Comparison {
  const Profile& before;
  const Profile& after;
  const ProfileDiff& diff;
  std::vector<const FunctionChange*> rows;  // those wanted

  const Profile& ProfileOf(const FunctionChange& change) const { return change.in_before ? before : after; }
  static FunctionId FunctionOf(const FunctionChange& change) {
    return change.in_before ? *change.in_before : *change.in_after;
  }
};

absl::StatusOr<Wanted> ParseWanted(const ParsedFlags& flags) {
  Wanted wanted;
  wanted.format = flags.Get("format").value_or("text");
  if (wanted.format != "text" && wanted.format != "json" && wanted.format != "csv") {
    return absl::InvalidArgumentError("--format is text, json or csv");
  }
  const std::string sort = flags.Get("sort").value_or("own");
  if (sort != "own" && sort != "cumulative") return absl::InvalidArgumentError("--sort is own or cumulative");
  wanted.impact = sort == "own" ? Impact::kOwn : Impact::kCumulative;
  wanted.ignores_lines = flags.Has("ignore-lines");
  wanted.strips_dirs = flags.Has("strip-dirs");
  wanted.has_unchanged = flags.Has("all");
  const absl::StatusOr<int64_t> limit = flags.GetInt("limit", INT64_MAX, 0, INT64_MAX);
  if (!limit.ok()) return limit.status();
  wanted.limit = static_cast<uint64_t>(*limit);
  if (const std::optional<std::string> pattern = flags.Get("filter")) {
    wanted.filter = std::make_unique<re2::RE2>(*pattern, re2::RE2::Quiet);
    if (!wanted.filter->ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--filter: \"", *pattern, "\": ", wanted.filter->error()));
    }
  }
  return wanted;
}

// "file:line(name)", without the line if lines are ignored.
void AppendName(const Profile& profile, FunctionId function, bool ignores_lines, std::string* out) {
  if (ignores_lines && profile.file(function) != "~") {
    absl::StrAppend(out, profile.file(function), "(", profile.name(function), ")");
  } else {
    profile_table::AppendStandardName(profile, function, out);
  }
}

void AppendRight(absl::string_view text, size_t width, std::string* out) {
  if (text.size() < width) out->append(width - text.size(), ' ');
  absl::StrAppend(out, text);
}

// Seconds with six digits behind the point, halves away from zero; "+" before what is greater than 0, if told to.
std::string SecondsText(int64_t ns, bool has_plus) {
  const uint64_t magnitude = ns < 0 ? ~static_cast<uint64_t>(ns) + 1 : static_cast<uint64_t>(ns);
  const uint64_t micros = magnitude / 1000 + (magnitude % 1000 >= 500);
  std::string digits = absl::StrCat(micros % 1'000'000);
  digits.insert(0, 6 - digits.size(), '0');
  return absl::StrCat(ns < 0 && micros > 0 ? "-" : has_plus && micros > 0 ? "+" : "", micros / 1'000'000, ".", digits);
}

std::string SignedText(int64_t value) { return absl::StrCat(value > 0 ? "+" : "", value); }

// The change of own time in percent of what it was; "-" where it was nothing.
std::string PercentText(const CallStats& before, const CallStats& change) {
  if (before.own_ns <= 0) return "-";
  const double tenths = static_cast<double>(change.own_ns) / static_cast<double>(before.own_ns) * 1000;
  if (tenths >= 1e7) return ">+999999";
  const int64_t rounded = static_cast<int64_t>(tenths + (tenths < 0 ? -0.5 : 0.5));
  return absl::StrCat(rounded > 0   ? "+"
                      : rounded < 0 ? "-"
                                    : "",
                      std::llabs(rounded) / 10, ".", std::llabs(rounded) % 10);
}

std::string TotalLine(const Profile& profile, absl::string_view path) {
  const CallStats total = profile.Total();
  return absl::StrCat(Printable(path, SIZE_MAX), ": ", profile.row_count(), " functions, ", total.call_count,
                      " calls in ", SecondsText(total.own_ns, false), " seconds\n");
}

void WriteText(const Comparison& c, const Side& before, const Side& after, const Wanted& wanted, io::ByteSink* out) {
  const ProfileDiff& diff = c.diff;
  std::string block =
      absl::StrCat("before  ", TotalLine(c.before, before.path), "after   ", TotalLine(c.after, after.path), "change  ",
                   SignedText(diff.change.call_count), " calls, ", SecondsText(diff.change.own_ns, true), " seconds");
  const std::string percent = PercentText(diff.before, diff.change);
  if (percent != "-") absl::StrAppend(&block, " (", percent, " %)");
  absl::StrAppend(&block, "\n\nOrdered by change of ", wanted.impact == Impact::kOwn ? "own" : "cumulative", " time");
  if (c.rows.size() < diff.changes.size()) {
    absl::StrAppend(&block, "; ", c.rows.size(), " of ", diff.changes.size(), " functions shown");
  }
  if (diff.unchanged_count > 0 && !wanted.has_unchanged) {
    absl::StrAppend(&block, "; ", diff.unchanged_count, " unchanged left out");
  }
  absl::StrAppend(
      &block,
      "\n\n"
      "                  calls                        own seconds                                  "
      "cumulative seconds\n"
      "   before     after      before       after      change        %      before       after      change  "
      "function\n");
  std::string name;
  for (const FunctionChange* row : c.rows) {
    AppendRight(row->in_before ? absl::StrCat(row->before.call_count) : "-", 9, &block);
    AppendRight(row->in_after ? absl::StrCat(row->after.call_count) : "-", 10, &block);
    AppendRight(row->in_before ? SecondsText(row->before.own_ns, false) : "-", 12, &block);
    AppendRight(row->in_after ? SecondsText(row->after.own_ns, false) : "-", 12, &block);
    AppendRight(SecondsText(row->change.own_ns, true), 12, &block);
    AppendRight(!row->in_before ? "new" : !row->in_after ? "gone" : PercentText(row->before, row->change), 9, &block);
    AppendRight(row->in_before ? SecondsText(row->before.cumulative_ns, false) : "-", 12, &block);
    AppendRight(row->in_after ? SecondsText(row->after.cumulative_ns, false) : "-", 12, &block);
    AppendRight(SecondsText(row->change.cumulative_ns, true), 12, &block);
    block += "  ";
    name.clear();
    AppendName(c.ProfileOf(*row), c.FunctionOf(*row), wanted.ignores_lines, &name);
    profile_table::AppendPrintable(name, &block);
    block += '\n';
    if (block.size() < kBlockBytes) continue;
    out->Write(block);
    block.clear();
  }
  out->Write(block);
}

void WriteStatsOrNull(bool is_there, const CallStats& stats, json::Writer* w) {
  if (!is_there) {
    w->Null();
    return;
  }
  w->BeginObject();
  WriteCallStats(stats, w);
  w->EndObject();
}

void WriteSide(const Side& side, const CallStats& total, json::Writer* w) {
  w->BeginObject();
  w->Key("file"), w->String(side.path);
  w->Key("functions"), w->Uint(side.profile().row_count());
  w->Key("total_calls"), w->Int(total.call_count);
  w->Key("total_primitive_calls"), w->Int(total.primitive_call_count);
  w->Key("total_own_ns"), w->Int(total.own_ns);
  w->Key("report"), WriteReport(side.loaded.reports().front(), w);
  w->EndObject();
}

void WriteJson(const Comparison& c, const Side& before, const Side& after, const Wanted& wanted, io::ByteSink* out) {
  constexpr json::Layout kRowPerLine{2};
  std::string block;
  {
    json::Writer w(&block, kRowPerLine);
    w.BeginObject();
    w.Key("before"), WriteSide(before, c.diff.before, &w);
    w.Key("after"), WriteSide(after, c.diff.after, &w);
    w.Key("change");
    w.BeginObject();
    w.Key("total_calls"), w.Int(c.diff.change.call_count);
    w.Key("total_primitive_calls"), w.Int(c.diff.change.primitive_call_count);
    w.Key("total_own_ns"), w.Int(c.diff.change.own_ns);
    w.EndObject();
    w.Key("unchanged_functions"), w.Uint(c.diff.unchanged_count);
    w.Key("changed_functions"), w.Uint(c.diff.changes.size() - (wanted.has_unchanged ? c.diff.unchanged_count : 0));
    w.Key("rows");
    w.BeginArray();
  }
  bool is_first = true;
  for (const FunctionChange* row : c.rows) {
    {
      json::Writer w(&block, kRowPerLine, 2, !is_first);
      is_first = false;
      w.BeginObject();
      WriteFunctionName(c.ProfileOf(*row), c.FunctionOf(*row), &w);
      w.Key("before"), WriteStatsOrNull(row->in_before.has_value(), row->before, &w);
      w.Key("after"), WriteStatsOrNull(row->in_after.has_value(), row->after, &w);
      w.Key("change"), WriteStatsOrNull(true, row->change, &w);
      w.EndObject();
    }
    if (block.size() < kBlockBytes) continue;
    out->Write(block);
    block.clear();
  }
  {
    json::Writer w(&block, kRowPerLine, 2, !is_first);
    w.EndArray();
    w.EndObject();
  }
  block += '\n';
  out->Write(block);
}

void WriteCsv(const Comparison& c, io::ByteSink* out) {
  std::string block = "file,line,name";
  for (const char* number : {"calls", "primitive_calls", "own_ns", "cumulative_ns"}) {
    for (const char* when : {"before", "after", "change"}) absl::StrAppend(&block, ",", number, "_", when);
  }
  block += '\n';
  CsvLine line;
  for (const FunctionChange* row : c.rows) {
    AppendFunctionCells(c.ProfileOf(*row), c.FunctionOf(*row), &line);
    for (int64_t CallStats::*number :
         {&CallStats::call_count, &CallStats::primitive_call_count, &CallStats::own_ns, &CallStats::cumulative_ns}) {
      row->in_before ? line.Int(row->before.*number) : line.Empty();
      row->in_after ? line.Int(row->after.*number) : line.Empty();
      line.Int(row->change.*number);
    }
    const absl::string_view text = line.Finish();
    block.append(text.data(), text.size());
    if (block.size() < kBlockBytes) continue;
    out->Write(block);
    block.clear();
  }
  out->Write(block);
}

int Run(const ParsedFlags& flags, CommandContext& context) {
  if (const absl::Status status = CheckReadFlags(flags, context.formats); !status.ok()) {
    return context.Misused(status.message());
  }
  const absl::StatusOr<Wanted> wanted = ParseWanted(flags);
  if (!wanted.ok()) return context.Misused(wanted.status().message());
  const std::vector<std::string>& paths = flags.positional();
  if (paths.size() != 2) return context.Misused("give two profiles: the one before, and the one after");
  if (paths[0] == "-" && paths[1] == "-") return context.Misused("standard input can't be both profiles");

  Side sides[2];
  bool is_salvaged = false;
  for (int i = 0; i < 2; ++i) {
    sides[i].path = paths[static_cast<size_t>(i)];
    absl::StatusOr<LoadedProfile> loaded = LoadProfile(sides[i].path, flags, context);
    if (!loaded.ok()) return context.Fail(loaded.status());
    is_salvaged |= loaded->is_salvaged();
    sides[i].loaded = *std::move(loaded);
    if (wanted->strips_dirs) sides[i].renamed = profile_table::StripDirectories(sides[i].profile());
    if (wanted->ignores_lines) sides[i].renamed = profile_table::IgnoreLines(sides[i].profile());
  }
  const ProfileDiff diff =
      profile_diff::DiffProfiles(sides[0].profile(), sides[1].profile(), wanted->impact, wanted->has_unchanged);
  Comparison comparison{sides[0].profile(), sides[1].profile(), diff, {}};
  std::string name;
  for (const FunctionChange& change : diff.changes) {
    if (comparison.rows.size() >= wanted->limit) break;
    if (wanted->filter != nullptr) {
      name.clear();
      AppendName(comparison.ProfileOf(change), comparison.FunctionOf(change), wanted->ignores_lines, &name);
      if (!re2::RE2::PartialMatch(name, *wanted->filter)) continue;
    }
    comparison.rows.push_back(&change);
  }
  if (wanted->format == "text") WriteText(comparison, sides[0], sides[1], *wanted, &context.out);
  if (wanted->format == "json") WriteJson(comparison, sides[0], sides[1], *wanted, &context.out);
  if (wanted->format == "csv") WriteCsv(comparison, &context.out);
  return is_salvaged ? kDoneWithLosses : kDone;
}

}  // namespace

const Command& DiffCommand() {
  static const Command* const command = [] {
    auto* c = new Command{
        "diff",
        "BEFORE AFTER",
        "what changed between two profiles, function by function, the greatest change first",
        "Calls, own and cumulative time of every function before and after. Functions are matched by file, line and "
        "name;\n--ignore-lines matches them after edits, --strip-dirs across installations. \"new\" and \"gone\": only "
        "in one of the two.\nJSON and CSV have exact nanoseconds; what is only in one has null, or an empty cell, for "
        "the "
        "other.",
        "  tracekiln diff before.prof after.prof --limit 20\n"
        "  tracekiln diff --ignore-lines --sort cumulative --filter mymodule before.prof after.prof\n"
        "  tracekiln diff --format csv before.prof after.prof > changes.csv",
        ReadFlags(),
        Run};
    for (const Flag& flag : std::initializer_list<Flag>{
             {"format", 'f', "text|json|csv", "how to print it"},
             {"sort", 's', "own|cumulative", "which change makes a function come first; default: own"},
             {"ignore-lines", 0, "", "match functions by file and name; those of the same name become one"},
             {"strip-dirs", 0, "", "match files by their names without directories"},
             {"all", 'a', "", "also functions whose numbers are the same"},
             {"limit", 'l', "N", "only the first N rows"},
             {"filter", 0, "RE2", "only rows in whose \"file:line(name)\" this regular expression is found"},
         }) {
      c->flags.push_back(flag);
    }
    return c;
  }();
  return *command;
}

}  // namespace tracekiln::tools
