#include "tools/batch/batch_plan.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "formats/format/detect.h"
#include "formats/json/writer.h"
#include "tools/batch/json_fields.h"

namespace tracekiln::batch {
namespace {

constexpr int64_t kPlanVersion = 1;

bool Contains(const RankSet& ranks, std::optional<int64_t> rank) {
  if (ranks.empty()) return true;
  if (!rank) return false;
  return std::any_of(ranks.begin(), ranks.end(),
                     [&](const auto& range) { return range.first <= *rank && *rank <= range.second; });
}

// A trace as the dataset has it, before it has a name.
struct Candidate {
  size_t file = 0;
  std::optional<int64_t> rank;
  std::string run;
  std::optional<int64_t> step;
  int64_t window = 0;
  absl::string_view suffix;  // for what is not the rank's timeline
  bool holds_events = true;  // false: a profile, which most formats can't hold
  std::vector<size_t> execution_traces;
};

bool IsBelow(absl::string_view path, absl::string_view directory) {
  return !directory.empty() && absl::StartsWith(path, directory) &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

// The last part of a path without all that looks like extensions of traces and containers.
std::string Stem(absl::string_view path) {
  absl::string_view name = path.substr(path.rfind('/') == absl::string_view::npos ? 0 : path.rfind('/') + 1);
  for (bool is_shorter = true; is_shorter;) {
    is_shorter = false;
    for (absl::string_view end : {".gz", ".zst", ".zip", ".json", ".trace", ".pt", ".kiln", ".prof"}) {
      if (name.size() > end.size() && absl::EndsWith(name, end)) {
        name.remove_suffix(end.size());
        is_shorter = true;
      }
    }
  }
  return std::string(name);
}

// Files that would be some rank's trace by their names, and hold nothing that was recognised.
bool IsBrokenTrace(const dataset::DatasetFile& file) {
  if (!file.name_rank || file.role == dataset::FileRole::kHost || file.role == dataset::FileRole::kLinked) return false;
  const absl::string_view name = absl::string_view(file.path).substr(file.path.rfind('/') + 1);
  if (absl::EndsWith(name, ".et") || absl::EndsWith(name, ".pickle")) return false;
  switch (file.kind) {
    case dataset::FileKind::kUnreadable: return true;
    // Nothing in it, or in its container; other leftovers are so by their names.
    case dataset::FileKind::kLeftover: return file.size_bytes == 0 || file.container != io::Container::kPlain;
    case dataset::FileKind::kStranger:
    case dataset::FileKind::kText:
      return absl::StrContains(name, ".json") || absl::EndsWith(name, ".kiln") || absl::EndsWith(name, ".prof");
    default: return false;
  }
}

// Directories whose files are no input: OUT, and those that earlier batches wrote to.
std::vector<std::string> BatchDirectories(const dataset::Dataset& dataset, const PlanOptions& options) {
  constexpr absl::string_view kPlanEnd = "/.batch/plan.json";
  std::vector<std::string> directories;
  if (!options.excluded.empty()) directories.push_back(options.excluded);
  for (const dataset::DatasetFile& file : dataset.files) {
    if (absl::EndsWith(file.path, kPlanEnd)) {
      directories.push_back(file.path.substr(0, file.path.size() - kPlanEnd.size()));
    }
  }
  return directories;
}

bool IsBelowAny(absl::string_view path, absl::Span<const std::string> directories) {
  return std::any_of(directories.begin(), directories.end(),
                     [&](const std::string& directory) { return IsBelow(path, directory); });
}

std::vector<Candidate> FindCandidates(const dataset::Dataset& dataset, absl::Span<const std::string> excluded) {
  std::vector<Candidate> candidates;
  for (const dataset::RankFiles& rank : dataset.ranks) {
    const size_t first = candidates.size();
    const auto add = [&](const std::vector<size_t>& files, absl::string_view suffix, bool holds_events) {
      const bool is_only = candidates.size() == first;
      for (size_t file : files) {
        if (IsBelowAny(dataset.files[file].path, excluded)) continue;
        candidates.push_back({file, rank.rank, rank.run, rank.step, rank.window, is_only ? absl::string_view() : suffix,
                              holds_events, rank.execution_traces});
      }
    };
    add(rank.timelines, "", true);
    add(rank.kilns, "-kiln", true);
    add(rank.profiles, "-profile", false);
    const bool is_only = candidates.size() == first;
    add(rank.captures, "-capture", true);
    if (is_only) {
      for (size_t i = first; i < candidates.size(); ++i) candidates[i].suffix = "-capture";
    }
  }
  for (size_t i = 0; i < dataset.files.size(); ++i) {
    const dataset::DatasetFile& file = dataset.files[i];
    if (!IsBrokenTrace(file) || IsBelowAny(file.path, excluded)) continue;
    candidates.push_back({i, file.rank ? file.rank : file.name_rank, file.run, file.step, 0, "", true, {}});
  }
  return candidates;
}

// A path below a directory that leads nowhere else: a plan is a file, and files can be edited.
bool IsInside(absl::string_view path) {
  for (absl::string_view part : absl::StrSplit(path, '/')) {
    if (part.empty() || part == "." || part == "..") return false;
  }
  return true;
}

std::string DirectoryPart(absl::string_view run) {
  std::vector<std::string> parts;
  for (absl::string_view part : absl::StrSplit(run, '/', absl::SkipEmpty())) parts.push_back(SafeName(part));
  return SafeName(absl::StrJoin(parts, "-"));
}

}  // namespace

absl::StatusOr<RankSet> ParseRanks(absl::string_view text) {
  RankSet ranks;
  for (absl::string_view piece : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    const std::vector<absl::string_view> ends = absl::StrSplit(piece, '-');
    int64_t first, last;
    if (ends.size() > 2 || !absl::SimpleAtoi(ends.front(), &first) || !absl::SimpleAtoi(ends.back(), &last) ||
        first < 0 || last < first) {
      return absl::InvalidArgumentError(
          absl::StrCat("ranks are numbers and ranges such as 0,3,8-15, not \"", text, "\""));
    }
    ranks.emplace_back(first, last);
  }
  return ranks;
}

std::string SafeName(absl::string_view text) {
  std::string name;
  for (char c : text.substr(0, 100)) {
    const bool is_safe =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
    name.push_back(is_safe ? c : '_');
  }
  if (name.empty() || name[0] == '.' || name[0] == '-') name.insert(0, "_");
  return name;
}

FormatOptions OptionsFor(absl::Span<const std::string> options, absl::Span<const OptionSpec> specs) {
  FormatOptions chosen;
  for (const std::string& option : options) {
    const size_t equals = option.find('=');
    if (equals == std::string::npos) continue;
    const std::string key = option.substr(0, equals);
    const bool has = std::any_of(specs.begin(), specs.end(),
                                 [&](const OptionSpec& spec) { return spec.key == absl::string_view(key); });
    if (has) chosen.emplace_back(key, option.substr(equals + 1));
  }
  return chosen;
}

absl::StatusOr<Plan> MakePlan(const dataset::Dataset& dataset, const std::string& directory,
                              const PlanOptions& options) {
  Plan plan;
  plan.directory = directory;
  plan.options = options.options;
  plan.is_strict = options.is_strict;
  plan.is_salvaging = options.is_salvaging;
  plan.compress = options.compress;

  const std::vector<std::string> excluded = BatchDirectories(dataset, options);
  std::vector<Candidate> candidates = FindCandidates(dataset, excluded);
  candidates.erase(std::remove_if(candidates.begin(), candidates.end(),
                                  [&](const Candidate& c) { return !Contains(options.ranks, c.rank); }),
                   candidates.end());
  for (const auto& [first, last] : options.ranks) {
    const bool is_there = std::any_of(
        candidates.begin(), candidates.end(),
        [first = first, last = last](const auto& c) { return c.rank && *c.rank >= first && *c.rank <= last; });
    if (!is_there) {
      return absl::InvalidArgumentError(first == last ? absl::StrCat("there is no trace of rank ", first)
                                                      : absl::StrCat("there is no trace of ranks ", first, "-", last));
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    const auto key = [](const Candidate& c) {
      return std::make_tuple(absl::string_view(c.run), !c.rank, c.rank.value_or(0), c.step.value_or(-1), c.window);
    };
    return key(a) < key(b);
  });

  std::set<std::string> runs;
  std::set<int64_t> steps;
  bool has_windows = false;
  for (const Candidate& c : candidates) {
    runs.insert(c.run);
    steps.insert(c.step.value_or(-1));
    has_windows = has_windows || c.window > 0;
  }
  // Directories of runs: two runs may become one when their names are made safe.
  std::map<std::string, std::string> directories;
  std::set<std::string> taken_directories;
  for (const std::string& run : runs) {
    std::string part = run.empty() ? "" : DirectoryPart(run);
    for (int n = 2; !taken_directories.insert(part).second; ++n) part = absl::StrCat(DirectoryPart(run), ".", n);
    directories[run] = part;
  }

  std::set<std::string> taken_names;
  for (const Candidate& c : candidates) {
    const dataset::DatasetFile& file = dataset.files[c.file];
    std::vector<const Format*> to;
    for (const Format* format : options.to) {
      if (c.holds_events || (format->capabilities & kProfile) != 0) to.push_back(format);
    }
    if (to.size() < options.to.size()) {
      std::vector<absl::string_view> lost;
      for (const Format* format : options.to) {
        if ((format->capabilities & kProfile) == 0) lost.push_back(format->name);
      }
      plan.not_converted.push_back(
          absl::StrCat(file.path, " is a profile, without events: not written as ", absl::StrJoin(lost, ", ")));
    }
    if (to.empty()) continue;

    Task task;
    task.rank = c.rank;
    task.run = c.run;
    task.step = c.step;
    task.window = c.window;
    task.input = file.path;
    task.size_bytes = file.size_bytes;
    task.is_compressed = file.container != io::Container::kPlain;
    for (size_t i : c.execution_traces) task.execution_traces.push_back(dataset.files[i].path);
    std::string name = c.rank ? absl::StrCat("rank-", *c.rank) : SafeName(Stem(file.path));
    if (steps.size() > 1 && c.step) absl::StrAppend(&name, "-step-", *c.step);
    if (has_windows && c.window > 0) absl::StrAppend(&name, "-window-", c.window);
    absl::StrAppend(&name, c.suffix);
    const std::string run_part = runs.size() > 1 ? directories[c.run] : "";
    const auto task_name = [&](const std::string& leaf) {
      return absl::StrCat(run_part, run_part.empty() ? "" : "@", leaf);
    };
    std::string leaf = name;
    for (int n = 2; !taken_names.insert(task_name(leaf)).second; ++n) leaf = absl::StrCat(name, ".", n);
    task.name = task_name(leaf);
    for (const Format* format : to) {
      const ExportOptions export_options{OptionsFor(options.options, format->export_options), nullptr};
      Output output;
      output.format = std::string(format->name);
      output.is_directory = format->writes_directory != nullptr && format->writes_directory(export_options);
      output.path = absl::StrCat(SafeName(format->name), "/", run_part, run_part.empty() ? "" : "/", leaf);
      if (!output.is_directory) {
        absl::StrAppend(&output.path, format->extension);
        if (format->extension == ".json" && absl::StartsWith(plan.compress, "gzip"))
          absl::StrAppend(&output.path, ".gz");
        if (format->extension == ".json" && absl::StartsWith(plan.compress, "zstd"))
          absl::StrAppend(&output.path, ".zst");
      }
      task.outputs.push_back(std::move(output));
    }
    plan.tasks.push_back(std::move(task));
  }

  for (const dataset::Finding& finding : dataset.findings) {
    const bool is_ours =
        !finding.files.empty() && std::all_of(finding.files.begin(), finding.files.end(),
                                              [&](size_t i) { return IsBelowAny(dataset.files[i].path, excluded); });
    if (is_ours || IsBelowAny(finding.run, excluded)) continue;
    plan.findings.push_back(
        {finding.code, std::string(dataset::SeverityName(finding.severity)), finding.detail, finding.run});
  }
  if (plan.tasks.empty()) {
    return absl::InvalidArgumentError(plan.not_converted.empty()
                                          ? "there is no trace in this directory"
                                          : absl::StrCat("there is nothing to do: ", plan.not_converted.front()));
  }
  return plan;
}

std::string PlanToJson(const Plan& plan) {
  std::string out;
  {
    json::Writer w(&out, {.break_depth = 2, .indent = 1, .blank_after_colon = true});
    w.BeginObject();
    w.Key("plan_version"), w.Int(kPlanVersion);
    WritePath("directory", plan.directory, &w);
    w.Key("options");
    w.BeginArray();
    for (const std::string& option : plan.options) w.String(option);
    w.EndArray();
    w.Key("strict"), w.Bool(plan.is_strict);
    w.Key("salvage"), w.Bool(plan.is_salvaging);
    w.Key("compress"), w.String(plan.compress);
    w.Key("findings");
    w.BeginArray();
    for (const Finding& finding : plan.findings) {
      w.BeginObject();
      w.Key("code"), w.String(finding.code);
      w.Key("severity"), w.String(finding.severity);
      w.Key("detail"), w.String(finding.detail);
      w.Key("run"), w.String(finding.run);
      w.EndObject();
    }
    w.EndArray();
    w.Key("not_converted");
    w.BeginArray();
    for (const std::string& sentence : plan.not_converted) w.String(sentence);
    w.EndArray();
    w.Key("tasks");
    w.BeginArray();
    for (const Task& task : plan.tasks) {
      w.BeginObject();
      w.Key("name"), w.String(task.name);
      if (task.rank) w.Key("rank"), w.Int(*task.rank);
      WritePath("run", task.run, &w);
      if (task.step) w.Key("step"), w.Int(*task.step);
      w.Key("window"), w.Int(task.window);
      WritePath("input", task.input, &w);
      w.Key("size_bytes"), w.Uint(task.size_bytes);
      w.Key("compressed"), w.Bool(task.is_compressed);
      w.Key("execution_traces");
      w.BeginArray();
      for (const std::string& path : task.execution_traces) {
        w.BeginObject();
        WritePath("path", path, &w);
        w.EndObject();
      }
      w.EndArray();
      w.Key("outputs");
      w.BeginArray();
      for (const Output& output : task.outputs) {
        w.BeginObject();
        w.Key("format"), w.String(output.format);
        w.Key("path"), w.String(output.path);
        w.Key("directory"), w.Bool(output.is_directory);
        w.EndObject();
      }
      w.EndArray();
      w.EndObject();
    }
    w.EndArray();
    w.EndObject();
  }
  out.push_back('\n');
  return out;
}

absl::StatusOr<Plan> PlanFromJson(absl::string_view json) {
  const absl::StatusOr<std::string> canonical = Canonical(json);
  if (!canonical.ok()) return canonical.status();
  const Fields fields(*canonical);
  if (fields.Int("plan_version") != kPlanVersion) {
    return absl::InvalidArgumentError("this is no plan of a batch that this version of tracekiln can read");
  }
  const auto text = [](absl::string_view element) {
    const std::string object = absl::StrCat("{\"x\":", element, "}");
    return Fields(object).Text("x");
  };
  Plan plan;
  plan.directory = fields.Path("directory");
  for (absl::string_view option : fields.Array("options")) plan.options.push_back(text(option));
  plan.is_strict = fields.Bool("strict");
  plan.is_salvaging = fields.Bool("salvage");
  plan.compress = fields.Text("compress");
  for (absl::string_view element : fields.Array("findings")) {
    const Fields f(element);
    plan.findings.push_back({f.Text("code"), f.Text("severity"), f.Text("detail"), f.Text("run")});
  }
  for (absl::string_view sentence : fields.Array("not_converted")) plan.not_converted.push_back(text(sentence));
  for (absl::string_view element : fields.Array("tasks")) {
    const Fields f(element);
    Task task;
    task.name = f.Text("name");
    task.rank = f.Int("rank");
    task.run = f.Path("run");
    task.step = f.Int("step");
    task.window = f.Int("window").value_or(0);
    task.input = f.Path("input");
    task.size_bytes = static_cast<uint64_t>(std::max<int64_t>(0, f.Int("size_bytes").value_or(0)));
    task.is_compressed = f.Bool("compressed");
    for (absl::string_view trace : f.Array("execution_traces")) {
      task.execution_traces.push_back(Fields(trace).Path("path"));
    }
    for (absl::string_view output : f.Array("outputs")) {
      const Fields o(output);
      task.outputs.push_back({o.Text("format"), o.Text("path"), o.Bool("directory")});
      if (!IsInside(task.outputs.back().path)) {
        return absl::InvalidArgumentError("an output of this plan lies outside of its directory");
      }
    }
    if (task.name.empty() || task.name.find('/') != std::string::npos || task.input.empty() || task.outputs.empty()) {
      return absl::InvalidArgumentError("a task of this plan has no name, no input or no output");
    }
    plan.tasks.push_back(std::move(task));
  }
  return plan;
}

std::string RequestText(const Plan& plan, const Task& task) {
  std::string out;
  {
    json::Writer w(&out);
    w.BeginObject();
    WritePath("input", absl::StrCat(plan.directory, "/", task.input), &w);
    w.Key("options");
    w.BeginArray();
    for (const std::string& option : plan.options) w.String(option);
    w.EndArray();
    w.Key("strict"), w.Bool(plan.is_strict);
    w.Key("salvage"), w.Bool(plan.is_salvaging);
    w.Key("compress"), w.String(plan.compress);
    w.Key("outputs");
    w.BeginArray();
    for (const Output& output : task.outputs) w.String(output.path);
    w.EndArray();
    w.EndObject();
  }
  return out;
}

}  // namespace tracekiln::batch
