// A path is read from both ends. The directories at its end that a framework makes (torch_profile/, iteration_10/,
// rank_3/) belong to the layout and not to the run: they are taken off, and may say a step, a rank or a role. The file
// is then tried against the table of names, from the most particular rule to the most general; the first that matches
// counts. What is left of the path is the directory of the run.
#include "analysis/dataset/layout_rules.h"

#include <re2/re2.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace tracekiln::dataset {
namespace {

struct NameRule {
  const char* name;
  // Searched in the path; matches up to its end. Groups: rank, step, series, worker, stamp, stage, action, role. What
  // stands in front of the match is the directory.
  const char* pattern;
  bool series_parts_runs = false;
  bool rank_is_local = false;
};

// Ends of file names.
#define PACKED R"((?:\.gz|\.zst|\.zip)?$)"
#define JSON R"(\.json)" PACKED
#define TB_JSON R"((?:\.(?P<stamp>\d{10,20}))?\.pt\.trace\.json)" PACKED
// The beginning of a file name.
#define BEGIN R"((?:^|/))"

constexpr NameRule kNameRules[] = {
    // vLLM: the API server's process records as well, and is no rank.
    // Source: vllm v1/engine/async_llm.py, worker_name "<host>_<pid>.async_llm".
    {"vllm_coordinator", BEGIN R"((?P<worker>[^/]*\.(?P<role>async_llm))\b[^/]*$)"},
    // vLLM and SGLang: one trace of capturing CUDA graphs, one (per batch size) of each; the replays beside them.
    // Source: TraceLens tests/traces/inference @171dd747 (capture_traces/graph_capture_rank_0…, bs_32_rank0.json.gz).
    {"graph_capture", BEGIN R"((?:graph_(?P<role>capture)|bs_\d+)_rank_?(?P<rank>\d+)(?:\.\d+)?(?:\.pt\.trace)?)" JSON},
    {"graph_execution", BEGIN R"(graph_(?P<role>execution)(?:_rank_?(?P<rank>\d+))?)" JSON},
    // Lightning's AdvancedProfiler: {stage}-{filename}-{local rank}-{action}.prof, parts that are empty left out.
    // Before
    // 2.6.1 a slash in an action became a directory, hence actions over several parts of the path.
    // Source: lightning/pytorch/profilers/advanced.py and profiler.py, 2.6.6.
    {"lightning",
     BEGIN
     R"((?P<stage>fit|validate|test|predict|tune|sanity_check)-(?P<series>[^/\[]*?)-(?P<rank>\d+)-(?P<action>\[.*|[^/]*)\.prof$)",
     false, true},
    {"lightning", BEGIN
     R"((?P<stage>fit|validate|test|predict|tune|sanity_check)-(?P<series>[^/\[]*)-(?P<action>\[.*|[^/-]*)\.prof$)"},
    {"lightning", BEGIN R"((?P<series>[^/\[]*?)-(?P<rank>\d+)-(?P<action>\[.*)\.prof$)", false, true},
    {"lightning", BEGIN R"((?P<series>[^/\[]*)-(?P<action>\[.*)\.prof$)"},
    // Chakra's and NeMo's samples: host.N.json, device_N.json, linked.N.json, chakra_trace.N.et, kineto_trace_N.json,
    // chakra_host_et_N.json, with the workload in front: dlrm_host_3.json.gz.
    // Source: mlcommons/chakra @21585d8f README and wiki; NVIDIA/NeMo PR 11115; MLSys 26 tutorial.
    {"chakra",
     BEGIN
     R"((?:(?P<series>[^/]*?)[._-])??(?P<role>chakra_host_et|chakra_host|host_et|pytorch_et|host|chakra_device|device|linked|chakra_trace|kineto_trace|kineto)[._-]?(?P<rank>\d+)(?:\.json|\.et))" PACKED,
     true},
    // TensorBoard's handler: {worker}.{time in ms or ns}.pt.trace.json; the worker is host_pid unless it was given, and
    // frameworks give it a rank. Source: torch/profiler/profiler.py tensorboard_trace_handler.
    {"tensorboard_rank", BEGIN R"((?P<worker>(?:[^/]*[^/a-zA-Z])?rank[-_]?(?P<rank>\d+)(?:[._-][^/]*?)?))" TB_JSON},
    {"tensorboard_worker", BEGIN R"((?P<worker>(?:[^/]*[._-])?worker[-_]?(?P<rank>\d+)(?:[._-][^/]*?)?))" TB_JSON},
    {"tensorboard", BEGIN R"((?P<worker>[^/]+?))" TB_JSON},
    // TorchTitan: iteration_N/rankN_trace.json, memory snapshots as iteration_N/rankN_memory_snapshot.pickle.
    // Source: torchtitan torchtitan/tools/profiling.py.
    {"torchtitan", BEGIN R"(rank(?P<rank>\d+)_(?:trace\.json|memory_snapshot\.pickle))" PACKED},
    // Megatron-LM: torch_profile/rank-N.json.gz (pytorch_profile/ in the PR's text) and chakra/rank-N.json.gz.
    // Source: NVIDIA/Megatron-LM @d98e8a64 megatron/training/training.py, PR 3273.
    {"megatron", BEGIN R"(rank-(?P<rank>\d+))" JSON},
    // Everybody else who writes a rank: rank0.json, profile_trace_rank_0.json.gz, rank_3.kiln, job.rank2.prof.
    {"rank", BEGIN R"((?:(?P<series>[^/]*?)[^/a-zA-Z])??[rR]ank[-_.=]?(?P<rank>\d+)(?:[^\d/][^/]*)?$)"},
    // astra-sim's workloads: NAME.N.et. Source: astra-sim @518bd513 examples/workload.
    {"astra_sim", BEGIN R"((?P<series>[^/]+)\.(?P<rank>\d+)\.et)" PACKED, true},
    // Pairs without a rank: X_et.json and X_kineto.json or X_trace.json.
    // Source: facebookresearch/param et_replay/tests/inputs; HTA tests/data/execution_trace.
    {"pair", BEGIN R"((?P<series>[^/]+?)[._-](?:et|trace|kineto))" JSON},
};
#undef PACKED
#undef JSON
#undef TB_JSON
#undef BEGIN

struct DirectoryRule {
  const char* pattern;  // of one part of the path, as a whole; groups as above
};
constexpr DirectoryRule kDirectoryRules[] = {
    {"torch_profile|pytorch_profile|chakra"},                              // Megatron-LM
    {"profile_traces?|memory_snapshots?"},                                 // TorchTitan
    {"(?:iteration|iter|step|global_step)[-_]?(?P<step>\\d+)(?:_exit)?"},  // TorchTitan and others
    {"(?P<role>capture)_traces"},                                          // vLLM, SGLang
    {"(?P<role>host|device|linked)"},                                      // NeMo
    {"execution_traces?|kineto"},
    {"rank[-_]?(?P<rank>\\d+)"},
};

// A step that the table's rule has not said: worker2_step_12.….
constexpr char kStepPattern[] = R"((?:^|[/._-])(?:iteration|iter|step)[-_]?(?P<step>\d+)(?:[/._-]|$))";

FileRole RoleOf(absl::string_view word) {
  if (word == "async_llm") return FileRole::kCoordinator;
  if (word == "capture") return FileRole::kCapture;
  if (word == "execution") return FileRole::kExecution;
  if (word == "linked") return FileRole::kLinked;
  if (absl::StartsWith(word, "kineto") || absl::StrContains(word, "device")) return FileRole::kDevice;
  if (absl::StrContains(word, "host") || word == "pytorch_et") return FileRole::kHost;
  return FileRole::kUnsaid;
}

struct Group {
  std::string name;
  int number = 0;
};

// An expression with its named groups, by name.
struct Expression {
  std::unique_ptr<re2::RE2> re;
  std::vector<Group> groups;
};

// Paths are bytes, not text: nothing in them may be what "." does not match.
Expression Compile(absl::string_view pattern) {
  re2::RE2::Options options(re2::RE2::Quiet);
  options.set_encoding(re2::RE2::Options::EncodingLatin1);
  options.set_dot_nl(true);
  Expression expression;
  expression.re = std::make_unique<re2::RE2>(re2::StringPiece(pattern.data(), pattern.size()), options);
  for (const auto& [name, number] : expression.re->NamedCapturingGroups()) expression.groups.push_back({name, number});
  return expression;
}

std::optional<int64_t> Number(absl::string_view digits) {
  int64_t number = 0;
  if (!absl::SimpleAtoi(digits, &number)) return std::nullopt;
  return number;
}

absl::string_view View(const re2::StringPiece& piece) { return {piece.data(), piece.size()}; }

constexpr int kMaxGroups = 16;

// Searches `text`; on_group(name, text of the group) for the groups that took part. The place of the whole match, or
// nullopt.
template <typename OnGroup>
std::optional<absl::string_view> Search(const Expression& expression, absl::string_view text, re2::RE2::Anchor anchor,
                                        OnGroup on_group) {
  re2::StringPiece found[kMaxGroups];
  const int count = std::min(1 + expression.re->NumberOfCapturingGroups(), kMaxGroups);
  if (!expression.re->Match(re2::StringPiece(text.data(), text.size()), 0, text.size(), anchor, found, count)) {
    return std::nullopt;
  }
  for (const Group& group : expression.groups) {
    if (group.number < count && found[group.number].data() != nullptr) on_group(group.name, View(found[group.number]));
  }
  return View(found[0]);
}

absl::string_view Parent(absl::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == absl::string_view::npos ? absl::string_view() : path.substr(0, slash);
}

}  // namespace

struct LayoutRules::Rule {
  Expression expression;
  std::string name;
  bool series_parts_runs = false;
  bool rank_is_local = false;
};

struct LayoutRules::Tables {
  std::vector<Rule> names;
  std::vector<Expression> directories;
  Expression step;
  bool is_users = false;
};

LayoutRules::LayoutRules(std::unique_ptr<Tables> tables) : tables_(std::move(tables)) {}
LayoutRules::LayoutRules(LayoutRules&&) noexcept = default;
LayoutRules& LayoutRules::operator=(LayoutRules&&) noexcept = default;
LayoutRules::~LayoutRules() = default;

absl::StatusOr<LayoutRules> LayoutRules::Make(const std::string& layout) {
  auto tables = std::make_unique<Tables>();
  for (const DirectoryRule& rule : kDirectoryRules) tables->directories.push_back(Compile(rule.pattern));
  tables->step = Compile(kStepPattern);
  if (layout.empty()) {
    for (const NameRule& rule : kNameRules) {
      tables->names.push_back({Compile(rule.pattern), rule.name, rule.series_parts_runs, rule.rank_is_local});
    }
    return LayoutRules(std::move(tables));
  }
  tables->is_users = true;
  Expression expression = Compile(layout);
  if (!expression.re->ok()) {
    return absl::InvalidArgumentError(absl::StrCat("layout: no RE2: ", expression.re->error()));
  }
  for (const Group& group : expression.groups) {
    if (group.name != "rank" && group.name != "step" && group.name != "run" && group.name != "kind") {
      return absl::InvalidArgumentError(
          absl::StrCat("layout: expected the named groups rank, step, run, kind, got \"", group.name, "\""));
    }
  }
  if (expression.groups.empty()) {
    return absl::InvalidArgumentError(
        "layout: expected at least one of the named groups rank, step, run, kind, as in (?P<rank>\\d+)");
  }
  if (expression.re->NumberOfCapturingGroups() >= kMaxGroups) {
    return absl::InvalidArgumentError(absl::StrCat("layout: more than ", kMaxGroups - 1, " groups"));
  }
  tables->names.push_back({std::move(expression), "layout", false, false});
  return LayoutRules(std::move(tables));
}

NameFacts LayoutRules::Match(absl::string_view path) const {
  NameFacts facts;
  absl::string_view directory = Parent(path);
  bool has_run = false;
  for (const Rule& rule : tables_->names) {
    const std::optional<absl::string_view> match =
        Search(rule.expression, path, re2::RE2::UNANCHORED, [&](absl::string_view group, absl::string_view text) {
          if (group == "rank") facts.rank = Number(text);
          if (group == "step") facts.step = Number(text);
          if (group == "series") facts.series = std::string(text);
          if (group == "worker") facts.worker = std::string(text);
          if (group == "stage") facts.stage = std::string(text);
          if (group == "action") facts.action = std::string(text);
          if (group == "role") facts.role = RoleOf(text);
          if (group == "kind") facts.kind = KindFromName(text);
          if (group == "run") {
            facts.run = std::string(text);
            has_run = true;
          }
          if (group == "stamp") {
            uint64_t stamp = 0;
            if (absl::SimpleAtoi(text, &stamp)) facts.stamp = stamp;
          }
        });
    if (!match) continue;
    facts.rule = rule.name;
    facts.series_parts_runs = rule.series_parts_runs;
    facts.rank_is_local = rule.rank_is_local && facts.rank.has_value();
    if (!tables_->is_users) directory = path.substr(0, static_cast<size_t>(match->data() - path.data()));
    break;
  }
  const bool takes_ranks = !tables_->is_users && facts.role != FileRole::kCoordinator;
  // Directories of the layout, from the inside out.
  bool is_peeled = true;
  while (is_peeled && !directory.empty()) {
    is_peeled = false;
    const size_t slash = directory.rfind('/');
    const absl::string_view part = slash == absl::string_view::npos ? directory : directory.substr(slash + 1);
    for (const Expression& rule : tables_->directories) {
      const auto found =
          Search(rule, part, re2::RE2::ANCHOR_BOTH, [&](absl::string_view group, absl::string_view text) {
            if (group == "rank" && takes_ranks && !facts.rank) {
              facts.rank = Number(text);
              if (facts.rank && facts.rule.empty()) facts.rule = "rank_directory";
            }
            if (group == "step" && !facts.step && !tables_->is_users) facts.step = Number(text);
            if (group == "role" && facts.role == FileRole::kUnsaid) facts.role = RoleOf(text);
          });
      if (!found) continue;
      directory = Parent(directory);
      is_peeled = true;
      break;
    }
  }
  if (!has_run) facts.run = std::string(directory);
  if (!facts.step && !tables_->is_users && facts.action.empty()) {
    Search(tables_->step, path, re2::RE2::UNANCHORED,
           [&](absl::string_view, absl::string_view text) { facts.step = Number(text); });
  }
  return facts;
}

}  // namespace tracekiln::dataset
