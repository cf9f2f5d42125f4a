// tracekiln stats: what a profile says, as `python -m pstats` prints it or as data.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/folded_stacks/folded_stacks.h"
#include "analysis/profile_table/function_text.h"
#include "analysis/profile_table/profile_table.h"
#include "analysis/profile_table/pstats_text.h"
#include "analysis/profile_table/rename_functions.h"
#include "formats/json/writer.h"
#include "formats/pstats/action_file_name.h"
#include "tools/commands.h"
#include "tools/csv.h"
#include "tools/load_profile.h"
#include "tools/open_trace.h"
#include "tools/profile_fields.h"
#include "tools/report_json.h"

namespace tracekiln::tools {
namespace {

using profile_table::Restriction;
using profile_table::Selection;
using profile_table::SortOrder;

constexpr size_t kBlockBytes = 1 << 16;

struct Wanted {
  std::string format;
  SortOrder order;
  bool is_reverse = false;
  std::vector<Restriction> restrictions;
  bool has_callers = false;
  bool has_callees = false;
  folded_stacks::FoldOptions fold;
};

absl::StatusOr<Wanted> ParseWanted(const ParsedFlags& flags) {
  Wanted wanted;
  wanted.format = flags.Get("format").value_or("text");
  if (wanted.format != "text" && wanted.format != "json" && wanted.format != "csv" && wanted.format != "collapsed") {
    return absl::InvalidArgumentError("--format is text, json, csv or collapsed");
  }
  absl::StatusOr<SortOrder> order = profile_table::ParseSortOrder(flags.Get("sort").value_or("cumulative"));
  if (!order.ok()) return absl::InvalidArgumentError(absl::StrCat("--sort: ", order.status().message()));
  wanted.order = *std::move(order);
  wanted.is_reverse = flags.Has("reverse");
  for (const auto& [flag, value] : flags.GetInOrder({"limit", "filter"})) {
    absl::StatusOr<Restriction> restriction =
        flag == "limit" ? profile_table::ParseLimit(value) : profile_table::ParseFilter(value);
    if (!restriction.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--", flag, ": ", restriction.status().message()));
    }
    wanted.restrictions.push_back(*std::move(restriction));
  }
  wanted.has_callers = flags.Has("callers");
  wanted.has_callees = flags.Has("callees");
  const absl::StatusOr<int64_t> max_stacks = flags.GetInt("max-stacks", 999, 2, 10'000'000);
  if (!max_stacks.ok()) return max_stacks.status();
  const absl::StatusOr<int64_t> max_depth = flags.GetInt("max-depth", 256, 1, 100'000);
  if (!max_depth.ok()) return max_depth.status();
  wanted.fold.max_stacks = static_cast<size_t>(*max_stacks);
  wanted.fold.max_depth = static_cast<size_t>(*max_depth);

  const bool is_collapsed = wanted.format == "collapsed";
  for (const char* flag : {"sort", "reverse", "limit", "filter", "callers", "callees"}) {
    if (is_collapsed && flags.Has(flag)) {
      return absl::InvalidArgumentError(absl::StrCat("--", flag, " has no meaning with --format collapsed"));
    }
  }
  for (const char* flag : {"max-stacks", "max-depth"}) {
    if (!is_collapsed && flags.Has(flag)) {
      return absl::InvalidArgumentError(absl::StrCat("--", flag, " is for --format collapsed"));
    }
  }
  if (wanted.format == "csv" && wanted.has_callers && wanted.has_callees) {
    return absl::InvalidArgumentError("--format csv has callers or callees, not both in one table");
  }
  return wanted;
}

// `loaded` is the profile before directories were stripped: pstats adds up the total of its rows when it loads them,
// and adding in another order can round to another last digit.
void WriteText(const Profile& loaded, const Profile& profile, const Selection& selection, const Wanted& wanted,
               absl::Span<const std::string> paths, io::ByteSink* out) {
  if (!wanted.has_callers && !wanted.has_callees) {
    std::vector<std::string> lines;
    for (const std::string& path : paths) lines.push_back(profile_table::PstatsFileLine(path));
    profile_table::WriteHeader(loaded, lines, out);
    profile_table::WriteTable(profile, selection, out);
    return;
  }
  const CallGraph graph(profile);
  if (wanted.has_callers) profile_table::WriteCallers(profile, graph, selection, out);
  if (wanted.has_callees) profile_table::WriteCallees(profile, graph, selection, out);
}

void WriteNeighboursJson(const Profile& profile, absl::Span<const uint32_t> edges, bool is_callers, json::Writer* w) {
  w->BeginArray();
  for (const uint32_t e : edges) {
    const Profile::Edge& edge = profile.edges()[e];
    w->BeginObject();
    WriteFunctionName(profile, is_callers ? edge.caller : edge.callee, w);
    WriteCallStats(edge.stats, w);
    w->EndObject();
  }
  w->EndArray();
}

// Members "stage", "rank" and "action" of the object that is open, if the file's name is one of a profiled action.
void WriteActionName(const std::optional<pstats::ActionFileName>& name, json::Writer* w) {
  if (!name.has_value() || (name->stage.empty() && !name->rank.has_value() && name->action[0] != '[')) return;
  w->Key("stage"), w->String(name->stage);
  w->Key("rank");
  if (name->rank.has_value()) {
    w->Int(*name->rank);
  } else {
    w->Null();
  }
  w->Key("action"), w->String(name->action);
}

void WriteJson(const Profile& profile, const Selection& selection, const Wanted& wanted,
               absl::Span<const std::string> paths, absl::Span<const ImportReport> reports, io::ByteSink* out) {
  constexpr json::Layout kRowPerLine{2};
  std::string block;
  {
    json::Writer w(&block, kRowPerLine);
    w.BeginObject();
    const std::vector<std::optional<pstats::ActionFileName>> actions =
        pstats::ParseActionFileNames(absl::MakeConstSpan(paths.data(), paths.size()));
    w.Key("files");
    w.BeginArray();
    for (size_t i = 0; i < paths.size(); ++i) {
      w.BeginObject();
      w.Key("file"), w.String(paths[i]);
      WriteActionName(actions[i], &w);
      w.Key("report"), WriteReport(reports[i], &w);
      w.EndObject();
    }
    w.EndArray();
    const CallStats total = profile.Total();
    uint64_t negative_count = 0;
    CallStats negative;
    for (const FunctionId row : profile.rows()) {
      const CallStats& stats = profile.function(row).stats;
      if (stats.own_ns >= 0) continue;
      ++negative_count;
      negative.Add({0, 0, stats.own_ns, 0});
    }
    w.Key("functions"), w.Uint(profile.row_count());
    w.Key("total_calls"), w.Int(total.call_count);
    w.Key("total_primitive_calls"), w.Int(total.primitive_call_count);
    w.Key("total_own_ns"), w.Int(total.own_ns);
    w.Key("total_own_rule");
    w.String("sum of the own times of all functions, negative ones included; a time that is no number counts as 0");
    w.Key("negative_own_functions"), w.Uint(negative_count);
    w.Key("negative_own_ns"), w.Int(negative.own_ns);
    w.Key("order"), w.String(selection.order.empty() ? "none" : absl::string_view(selection.order));
    w.Key("rows");
    w.BeginArray();
  }
  const CallGraph graph(profile);
  bool is_first = true;
  for (const FunctionId row : selection.rows) {
    {
      json::Writer w(&block, kRowPerLine, 2, !is_first);
      is_first = false;
      const CallStats& stats = profile.function(row).stats;
      w.BeginObject();
      WriteFunctionName(profile, row, &w);
      WriteCallStats(stats, &w);
      w.Key("own_per_call_ns"), WriteRatio(stats.own_ns, stats.call_count, &w);
      w.Key("cumulative_per_call_ns"), WriteRatio(stats.cumulative_ns, stats.primitive_call_count, &w);
      w.Key("callers"), WriteNeighboursJson(profile, graph.CallersOf(row), true, &w);
      if (wanted.has_callees) w.Key("callees"), WriteNeighboursJson(profile, graph.CalleesOf(row), false, &w);
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

void AddStats(const CallStats& stats, CsvLine* line) {
  line->Int(stats.call_count).Int(stats.primitive_call_count).Int(stats.own_ns).Int(stats.cumulative_ns);
}

void AddRatio(int64_t ns, int64_t count, CsvLine* line) {
  if (count == 0) {
    line->Empty();
  } else {
    line->Double(static_cast<double>(ns) / static_cast<double>(count));
  }
}

// A line per function or, with callers or callees, per call from one to another.
void WriteCsv(const Profile& profile, const Selection& selection, const Wanted& wanted, io::ByteSink* out) {
  const bool has_edges = wanted.has_callers || wanted.has_callees;
  std::string block = "file,line,name,";
  if (has_edges) {
    const absl::string_view other = wanted.has_callers ? "caller" : "callee";
    absl::StrAppend(&block, other, "_file,", other, "_line,", other, "_name,");
  }
  absl::StrAppend(&block, "calls,primitive_calls,own_ns,cumulative_ns",
                  has_edges ? "" : ",own_per_call_ns,cumulative_per_call_ns", "\n");
  std::optional<CallGraph> graph;
  if (has_edges) graph.emplace(profile);
  CsvLine line;
  const auto finish = [&] {
    const absl::string_view text = line.Finish();
    block.append(text.data(), text.size());
    if (block.size() < kBlockBytes) return;
    out->Write(block);
    block.clear();
  };
  for (const FunctionId row : selection.rows) {
    if (!has_edges) {
      const CallStats& stats = profile.function(row).stats;
      AppendFunctionCells(profile, row, &line);
      AddStats(stats, &line);
      AddRatio(stats.own_ns, stats.call_count, &line);
      AddRatio(stats.cumulative_ns, stats.primitive_call_count, &line);
      finish();
      continue;
    }
    for (const uint32_t e : wanted.has_callers ? graph->CallersOf(row) : graph->CalleesOf(row)) {
      const Profile::Edge& edge = profile.edges()[e];
      AppendFunctionCells(profile, row, &line);
      AppendFunctionCells(profile, wanted.has_callers ? edge.caller : edge.callee, &line);
      AddStats(edge.stats, &line);
      finish();
    }
  }
  out->Write(block);
}

void WriteCollapsed(const Profile& profile, const Wanted& wanted, CommandContext& context) {
  const folded_stacks::FoldedStacks folded = folded_stacks::FoldStacks(profile, wanted.fold);
  for (const folded_stacks::FoldedStack& stack : folded.stacks) {
    context.out.Write(folded_stacks::FoldedLine(profile, stack));
  }
  std::string note = absl::StrCat(
      "stacks are reconstructed: a profile says who called whom, so each caller gets its share of what the called "
      "function did; values are nanoseconds");
  if (folded.cut_edge_count > 0) {
    absl::StrAppend(&note, "; ", folded.cut_edge_count,
                    folded.cut_edge_count == 1 ? " recursive call is folded" : " recursive calls are folded");
  }
  if (folded.more_ns > 0) {
    absl::StrAppend(&note, "; ", folded.more_ns, " ns are in \"(more)\", see --max-stacks and --max-depth");
  }
  if (folded.negative_row_count > 0) {
    absl::StrAppend(&note, "; ", folded.negative_row_count, folded.negative_row_count == 1 ? " function" : " functions",
                    " with negative own time (", folded.negative_ns, " ns) left out");
  }
  context.Warn(note);
}

int Run(const ParsedFlags& flags, CommandContext& context) {
  if (const absl::Status status = CheckReadFlags(flags, context.formats); !status.ok()) {
    return context.Misused(status.message());
  }
  const absl::StatusOr<Wanted> wanted = ParseWanted(flags);
  if (!wanted.ok()) return context.Misused(wanted.status().message());
  const std::vector<std::string>& paths = flags.positional();
  if (paths.empty()) return context.Misused("which profile? give at least one file, or - for standard input");

  const absl::StatusOr<LoadedProfile> loaded = LoadProfiles(paths, flags, context);
  if (!loaded.ok()) return context.Fail(loaded.status());
  std::optional<Profile> stripped;
  if (flags.Has("strip-dirs")) stripped = profile_table::StripDirectories(loaded->profile());
  const Profile& profile = stripped ? *stripped : loaded->profile();

  if (wanted->format == "collapsed") {
    WriteCollapsed(profile, *wanted, context);
  } else {
    const Selection selection = profile_table::Select(profile, wanted->order, wanted->is_reverse, wanted->restrictions);
    if (wanted->format == "text") {
      WriteText(loaded->profile(), profile, selection, *wanted, paths, &context.out);
    }
    if (wanted->format == "json") WriteJson(profile, selection, *wanted, paths, loaded->reports(), &context.out);
    if (wanted->format == "csv") WriteCsv(profile, selection, *wanted, &context.out);
  }
  return loaded->is_salvaged() ? kDoneWithLosses : kDone;
}

}  // namespace

const Command& StatsCommand() {
  static const Command* const command = [] {
    auto* c = new Command{
        "stats",
        "PROFILE…",
        "the functions of a profile as Python's pstats prints them, as JSON, CSV or folded stacks",
        "Several profiles are added up. Text is what pstats prints for the same file: calls (\"15/1\": 15 calls, 1 of "
        "them not\nrecursive), own time (tottime) and cumulative time in seconds, each also per call; --callers and "
        "--callees print who\ncalled whom instead. JSON and CSV have exact nanoseconds; JSON rows have their callers. "
        "Built-ins have no file there.\n"
        "Sort keys are those of pstats: calls, ncalls, cumtime, cumulative, filename, line, module, name, nfl (name, "
        "file, line),\npcalls, stdname, time, tottime, and none for the order of the file.\n"
        "Folded stacks (--format collapsed) are reconstructed, since a profile has no stacks, and bounded.\n"
        "A timeline is made a profile first, by the options of convert --to pstats: frames=, gpu=, step=, paths=on, …",
        "  tracekiln stats --sort tottime --limit 20 run.prof\n"
        "  tracekiln stats --option step=7 --option gpu=only rank-0.json.gz\n"
        "  tracekiln stats --sort cumtime --filter 'torch/nn' --limit 0.1 --callers rank0.prof rank1.prof\n"
        "  tracekiln stats --strip-dirs --format csv run.prof > run.csv\n"
        "  tracekiln stats --format json run.prof | jq '.rows[] | select(.own_ns > 1000000) | .name'\n"
        "  tracekiln stats --format collapsed run.prof | flamegraph.pl --countname ns > run.svg",
        ReadFlags(),
        Run};
    for (const Flag& flag : std::initializer_list<Flag>{
             {"format", 'f', "text|json|csv|collapsed", "how to print it"},
             {"sort", 's', "KEY[,KEY]", "sort keys, the first one counts most; default: cumulative"},
             {"reverse", 0, "", "the other way round"},
             {"limit", 'l', "N|SHARE", "only the first N rows, or a share of them (0.1: a tenth)"},
             {"filter", 0, "RE2",
              "only rows in whose \"file:line(name)\" this regular expression is found; --limit and "
              "--filter apply in the order given"},
             {"callers", 0, "", "who called each function"},
             {"callees", 0, "", "whom each function called"},
             {"strip-dirs", 0, "", "file names without directories"},
             {"max-stacks", 0, "N", "collapsed: at most so many stacks; default: 999"},
             {"max-depth", 0, "N", "collapsed: at most so many frames in a stack; default: 256"},
         }) {
      c->flags.push_back(flag);
    }
    return c;
  }();
  return *command;
}

}  // namespace tracekiln::tools
