#include "tools/rank_inputs.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tools/open_trace.h"
#include "tools/progress.h"
#include "tools/text_table.h"

namespace tracekiln::tools {
namespace {

constexpr int64_t kMaxListedRanks = 1'000'000;

std::string Joined(const std::string& directory, const std::string& path) {
  return absl::StrCat(directory, directory.empty() || directory.back() == '/' ? "" : "/", path);
}

// Of the entries of one rank and step the file that is meant; several are the user's to choose from.
absl::StatusOr<std::string> FileOf(const dataset::Dataset& found, const dataset::RankFiles& files) {
  const std::vector<size_t>& candidates = files.timelines.empty() ? files.kilns : files.timelines;
  if (candidates.size() > 1) {
    std::vector<std::string> names;
    for (size_t i : candidates) names.push_back(Printable(found.files[i].path));
    return absl::InvalidArgumentError(absl::StrCat("rank ", files.rank.value_or(-1), " has ", candidates.size(),
                                                   " traces (", absl::StrJoin(names, ", "),
                                                   "): choose with --run, --step or --layout, or take one away"));
  }
  return found.files[candidates[0]].path;
}

}  // namespace

std::vector<Flag> RankFlags() {
  return {
      {"ranks", 0, "LIST", "only these ranks, such as 0,3,8-15; default: all"},
      {"run", 0, "NAME", "which run, where the directory holds several"},
      {"step", 0, "N", "which step or iteration, where there are several"},
      {"layout", 0, "RE2", "how file names tell rank, step, run and kind: named groups of these names"},
  };
}

absl::StatusOr<std::vector<int64_t>> ParseRanks(absl::string_view text) {
  std::set<int64_t> ranks;
  for (absl::string_view part : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    const std::vector<absl::string_view> ends = absl::StrSplit(part, absl::MaxSplits('-', 1));
    int64_t first = 0;
    int64_t last = 0;
    if (!absl::SimpleAtoi(ends[0], &first) || first < 0 || !absl::SimpleAtoi(ends.back(), &last) || last < first ||
        last - first >= kMaxListedRanks) {
      return absl::InvalidArgumentError(absl::StrCat("--ranks: \"", part, "\" is neither a rank nor a range of ranks"));
    }
    for (int64_t rank = first; rank <= last; ++rank) ranks.insert(rank);
  }
  return std::vector<int64_t>(ranks.begin(), ranks.end());
}

absl::StatusOr<std::vector<RankInput>> FindRankInputs(const std::string& directory, const ParsedFlags& flags,
                                                      CommandContext& context) {
  const absl::StatusOr<std::vector<int64_t>> wanted = ParseRanks(flags.Get("ranks").value_or(""));
  if (!wanted.ok()) return wanted.status();
  std::optional<int64_t> step;
  if (flags.Has("step")) {
    const absl::StatusOr<int64_t> value = flags.GetInt("step", 0, 0, INT64_MAX);
    if (!value.ok()) return value.status();
    step = *value;
  }
  const std::optional<std::string> run = flags.Get("run");
  dataset::ScanOptions scan;
  scan.layout = flags.Get("layout").value_or("");
  const absl::StatusOr<dataset::Dataset> found =
      dataset::ScanDataset(directory, scan, context.formats, context.executor);
  if (!found.ok()) return found.status();

  std::map<int64_t, std::vector<const dataset::RankFiles*>> by_rank;
  std::set<std::string> runs;
  std::set<std::string> steps;
  for (const dataset::RankFiles& files : found->ranks) {
    if (files.timelines.empty() && files.kilns.empty()) continue;
    if (run.has_value() && files.run != *run) continue;
    if (step.has_value() && files.step != step) continue;
    if (!files.rank.has_value()) continue;
    if (!wanted->empty() && !std::binary_search(wanted->begin(), wanted->end(), *files.rank)) continue;
    by_rank[*files.rank].push_back(&files);
    runs.insert(files.run);
    steps.insert(absl::StrCat(files.step.value_or(-1), "/", files.window));
  }
  for (const dataset::Finding& finding : found->findings) {
    if (finding.severity != dataset::Severity::kWarning) continue;
    if (run.has_value() && !finding.run.empty() && finding.run != *run) continue;
    context.Warn(absl::StrCat(Printable(directory), ": ", finding.code, ": ", Printable(finding.detail, 300)));
  }
  if (by_rank.empty()) {
    return absl::NotFoundError(absl::StrCat(directory, ": holds no trace of a known rank",
                                            wanted->empty() ? "" : " that was asked for",
                                            " (tracekiln info lists what is there)"));
  }
  if (runs.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        directory, ": holds several runs: choose one with --run: ", Printable(absl::StrJoin(runs, ", "), 300)));
  }
  for (int64_t rank : *wanted) {
    if (by_rank.find(rank) == by_rank.end()) {
      return absl::InvalidArgumentError(absl::StrCat(directory, ": holds no trace of rank ", rank));
    }
  }
  std::vector<RankInput> inputs;
  for (const auto& [rank, files] : by_rank) {
    if (files.size() > 1) {
      return absl::InvalidArgumentError(absl::StrCat(directory, ": rank ", rank, " has traces of ", files.size(),
                                                     " steps or windows: choose with --step or --layout"));
    }
    absl::StatusOr<std::string> path = FileOf(*found, *files[0]);
    if (!path.ok()) return path.status();
    inputs.push_back({rank, Joined(directory, *path)});
  }
  return inputs;
}

absl::StatusOr<dataset::ClockAlignment> ReadClocks(const std::vector<RankInput>& inputs, const ParsedFlags& flags,
                                                   CommandContext& context,
                                                   absl::Span<const OptionSpec> other_options) {
  std::vector<dataset::RankCollectives> ranks;
  ProgressMeter meter(context.shows_progress, context.err);
  for (const RankInput& input : inputs) {
    absl::StatusOr<OpenedTrace> trace = OpenTrace(input.path, flags, context, other_options);
    if (!trace.ok()) return trace.status();
    ProgressSource source(std::move(trace->source), &meter, context.is_interrupted);
    dataset::CollectiveCollector collector;
    const absl::Status status = ForEachBatch(source, [&](const EventBatch& batch) {
      collector.Add(batch);
      return true;
    });
    if (!status.ok()) return status;
    ranks.push_back(std::move(collector).Finish(input.rank, source.info()));
  }
  meter.Finish();
  return dataset::AlignClocks(ranks);
}

}  // namespace tracekiln::tools
