#include "analysis/profile_health/profile_repair.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "analysis/profile_health/viewer_walks.h"
#include "formats/pstats/viewer_root.h"

namespace tracekiln::profile_health {
namespace {

constexpr int64_t kPaddingShare = 500;  // one in so many: twice flameprof's threshold
constexpr uint32_t kLeastDepth = 2;
constexpr uint32_t kSnakeVizLevels = 11;

// A profile whose rows and edges can be changed and left out.
struct Graph {
  struct Node {
    StringId file;
    StringId name;
    int64_t line = 0;
    CallStats stats;
    bool is_row = false;
    bool is_kept = true;
  };
  struct Edge {
    uint32_t caller;
    uint32_t callee;
    CallStats stats;
    bool is_kept = true;
  };

  // Rows come first, in their order.
  explicit Graph(const Profile& profile) : strings(profile.strings) {
    const size_t count = profile.functions().size();
    number_of.resize(count);
    const auto add = [&](FunctionId f) {
      const Profile::Function& function = profile.function(f);
      number_of[Index(f)] = static_cast<uint32_t>(nodes.size());
      nodes.push_back({function.file, function.name, function.line, function.stats, function.is_row});
    };
    nodes.reserve(count);
    for (const FunctionId f : profile.rows()) add(f);
    for (uint32_t i = 0; i < count; ++i) {
      if (!profile.functions()[i].is_row) add(FunctionId{i});
    }
    edges.reserve(profile.edges().size());
    for (const Profile::Edge& e : profile.edges()) {
      edges.push_back({number_of[Index(e.caller)], number_of[Index(e.callee)], e.stats});
    }
  }

  uint32_t AddNode(absl::string_view file, absl::string_view name, const CallStats& stats) {
    nodes.push_back({strings.Intern(file), strings.Intern(name), 0, stats, true});
    return static_cast<uint32_t>(nodes.size() - 1);
  }

  Profile Build() const {
    Profile profile;
    profile.strings = strings;
    profile.Reserve(nodes.size(), edges.size());
    std::vector<FunctionId> ids(nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) {
      const Node& node = nodes[i];
      if (!node.is_kept) continue;
      ids[i] = profile.AddFunction(node.file, node.line, node.name);
      if (node.is_row) profile.AddStats(ids[i], node.stats);
    }
    for (const Edge& e : edges) {
      if (e.is_kept) profile.AddCallerStats(ids[e.caller], ids[e.callee], e.stats);
    }
    return profile;
  }

  StringPool strings;
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<uint32_t> number_of;  // by FunctionId of the profile that this was made from
};

int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? INT64_MIN : INT64_MAX;
}

// floor(amount * part / whole); whole > 0.
int64_t Share(int64_t amount, int64_t part, int64_t whole) {
  return static_cast<int64_t>(absl::int128(amount) * part / whole);
}

void RaiseNegativeTimes(Graph* graph, RepairSummary* summary) {
  const auto raise = [summary](int64_t* ns) {
    if (*ns >= 0) return;
    *ns = 0;
    ++summary->negative_time_count;
  };
  for (Graph::Node& node : graph->nodes) raise(&node.stats.own_ns), raise(&node.stats.cumulative_ns);
  for (Graph::Edge& edge : graph->edges) raise(&edge.stats.own_ns), raise(&edge.stats.cumulative_ns);
}

void ShareOutTimes(Graph* graph, RepairSummary* summary) {
  struct Sums {
    CallStats callers;
    int64_t caller_count = 0;
    CallStats callees;
    int64_t given_calls = 0;
    int64_t given_edges = 0;
  };
  std::vector<Sums> sums(graph->nodes.size());
  for (const Graph::Edge& e : graph->edges) {
    sums[e.callee].callers.Add(e.stats);
    ++sums[e.callee].caller_count;
    sums[e.caller].callees.Add(e.stats);
  }
  for (Graph::Edge& e : graph->edges) {
    Sums& s = sums[e.callee];
    if (s.callers.cumulative_ns != 0) continue;
    const CallStats& stats = graph->nodes[e.callee].stats;
    const int64_t cumulative_ns =
        std::max({stats.cumulative_ns, stats.own_ns, stats.cumulative_ns > 0 ? 0 : s.callees.cumulative_ns});
    if (cumulative_ns == 0) continue;
    const bool has_calls = s.callers.call_count > 0;
    int64_t whole = has_calls ? std::max(stats.call_count, s.callers.call_count) : s.caller_count;
    const int64_t all = has_calls ? s.callers.call_count : s.caller_count;
    if (Share(cumulative_ns, all, whole) == 0) whole = all;
    const int64_t before = has_calls ? s.given_calls : s.given_edges;
    s.given_calls = SaturatingAdd(s.given_calls, std::max<int64_t>(0, e.stats.call_count));
    ++s.given_edges;
    const int64_t after = std::min(has_calls ? s.given_calls : s.given_edges, all);
    e.stats.cumulative_ns = Share(cumulative_ns, after, whole) - Share(cumulative_ns, before, whole);
    e.stats.own_ns = Share(stats.own_ns, after, whole) - Share(stats.own_ns, before, whole);
    ++summary->timed_edge_count;
  }
}

void AddMissingRows(Graph* graph, RepairSummary* summary) {
  for (Graph::Node& node : graph->nodes) {
    if (node.is_row) continue;
    node.stats = {1, 1, 0, 0};
  }
  for (const Graph::Edge& e : graph->edges) {
    Graph::Node& caller = graph->nodes[e.caller];
    if (!caller.is_row) caller.stats.Add({0, 0, 0, e.stats.cumulative_ns});
  }
  for (Graph::Node& node : graph->nodes) {
    if (node.is_row) continue;
    node.is_row = true;
    ++summary->added_row_count;
  }
}

void LengthenRoots(Graph* graph, RepairSummary* summary) {
  std::vector<bool> has_caller(graph->nodes.size());
  std::vector<CallStats> callees(graph->nodes.size());
  for (const Graph::Edge& e : graph->edges) {
    has_caller[e.callee] = true;
    callees[e.caller].Add(e.stats);
  }
  for (size_t i = 0; i < graph->nodes.size(); ++i) {
    CallStats& stats = graph->nodes[i].stats;
    if (has_caller[i] || (stats.cumulative_ns > 0 && stats.cumulative_ns >= stats.own_ns)) continue;
    const int64_t whole_ns = SaturatingAdd(stats.own_ns, callees[i].cumulative_ns);
    if (whole_ns == stats.cumulative_ns) continue;
    stats.cumulative_ns = whole_ns;
    ++summary->lengthened_root_count;
  }
}

// Distances from `starts` (1: a start itself; 0: not reached) along the edges of a profile.
void AddLevels(const Profile& profile, const CallGraph& graph, std::vector<FunctionId> starts,
               std::vector<uint32_t>* levels) {
  for (const FunctionId f : starts) (*levels)[Index(f)] = 1;
  for (size_t i = 0; i < starts.size(); ++i) {
    for (const uint32_t e : graph.CalleesOf(starts[i])) {
      const FunctionId callee = profile.edges()[e].callee;
      if ((*levels)[Index(callee)] != 0) continue;
      (*levels)[Index(callee)] = (*levels)[Index(starts[i])] + 1;
      starts.push_back(callee);
    }
  }
}

Profile UnderRoot(const Profile& profile, FunctionId root, RepairSummary* summary) {
  const CallGraph calls(profile);
  std::vector<uint32_t> levels(profile.functions().size());
  AddLevels(profile, calls, {root}, &levels);
  Graph graph(profile);
  std::vector<CallStats> lost(graph.nodes.size());
  std::vector<CallStats> kept(graph.nodes.size());
  for (uint32_t i = 0; i < levels.size(); ++i) {
    Graph::Node& node = graph.nodes[graph.number_of[i]];
    node.is_kept = levels[i] != 0;
    if (!node.is_kept) ++summary->dropped_row_count;
  }
  const uint32_t root_number = graph.number_of[Index(root)];
  for (Graph::Edge& e : graph.edges) {
    e.is_kept = graph.nodes[e.caller].is_kept && e.callee != root_number;
    (e.is_kept ? kept : lost)[e.callee].Add(e.stats);
  }
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    Graph::Node& node = graph.nodes[i];
    CallStats& stats = node.stats;
    // Calls from outside of the recording are not calls from the root either.
    if (!node.is_kept || i == root_number || kept[i].call_count == stats.call_count) continue;
    stats.call_count = kept[i].call_count;
    stats.primitive_call_count = std::min(stats.primitive_call_count, kept[i].primitive_call_count);
    stats.own_ns = std::min(stats.own_ns, kept[i].own_ns);
    stats.cumulative_ns = std::max(stats.own_ns, std::min(stats.cumulative_ns, kept[i].cumulative_ns));
  }
  return graph.Build();
}

// Levels of all functions: from those without callers, then from the longest of those not reached yet.
std::vector<uint32_t> LevelsOf(const Profile& profile, const CallGraph& graph) {
  std::vector<uint32_t> levels(profile.functions().size());
  std::vector<FunctionId> roots;
  for (const FunctionId f : profile.rows()) {
    if (graph.CallersOf(f).empty()) roots.push_back(f);
  }
  AddLevels(profile, graph, std::move(roots), &levels);
  std::vector<FunctionId> others;
  for (const FunctionId f : profile.rows()) {
    if (levels[Index(f)] == 0) others.push_back(f);
  }
  std::stable_sort(others.begin(), others.end(), [&profile](FunctionId a, FunctionId b) {
    return profile.function(a).stats.cumulative_ns > profile.function(b).stats.cumulative_ns;
  });
  for (const FunctionId f : others) {
    if (levels[Index(f)] == 0) AddLevels(profile, graph, {f}, &levels);
  }
  return levels;
}

// Step 6 of the header. `is_layered`: also what doesn't go to the next layer.
Profile CutAt(const Profile& profile, const std::vector<uint32_t>& level_of, uint32_t max_depth, bool is_layered,
              RepairSummary* summary) {
  Graph graph(profile);
  const size_t count = graph.nodes.size();
  std::vector<uint32_t> levels(count);
  for (size_t i = 0; i < level_of.size(); ++i) levels[graph.number_of[i]] = level_of[i];
  summary->max_depth = max_depth;
  summary->deeper_row_count = 0;
  summary->deeper_edge_count = 0;

  CallStats deeper;
  for (uint32_t i = 0; i < count; ++i) {
    if (levels[i] < max_depth) continue;
    graph.nodes[i].is_kept = false;
    deeper.own_ns = SaturatingAdd(deeper.own_ns, graph.nodes[i].stats.own_ns);
    ++summary->deeper_row_count;
  }
  std::vector<CallStats> into_deeper(count);  // by caller
  std::vector<bool> calls_deeper(count);
  std::vector<CallStats> kept(count);  // by callee
  std::vector<bool> has_lost(count);
  for (Graph::Edge& e : graph.edges) {
    const bool has_caller = graph.nodes[e.caller].is_kept;
    const bool has_callee = graph.nodes[e.callee].is_kept;
    e.is_kept = has_caller && has_callee && (!is_layered || levels[e.callee] == levels[e.caller] + 1);
    if (e.is_kept) {
      kept[e.callee].Add(e.stats);
      continue;
    }
    if (has_caller) {
      into_deeper[e.caller].Add(e.stats);
      calls_deeper[e.caller] = true;
    }
    if (has_callee) {  // its calls from here are calls of '<deeper>'
      CallStats& stats = graph.nodes[e.callee].stats;
      const int64_t moved_ns = std::min(stats.own_ns, e.stats.own_ns);
      stats.own_ns -= moved_ns;
      deeper.own_ns = SaturatingAdd(deeper.own_ns, moved_ns);
      stats.call_count =
          std::max<int64_t>(1, SaturatingAdd(stats.call_count, -std::max<int64_t>(0, e.stats.call_count)));
      stats.primitive_call_count = std::min(stats.primitive_call_count, stats.call_count);
      has_lost[e.callee] = true;
      if (has_caller) ++summary->deeper_edge_count;
    }
  }
  if (summary->deeper_row_count == 0 && summary->deeper_edge_count == 0) {
    summary->max_depth = 0;
    return profile;
  }
  for (uint32_t i = 0; i < count; ++i) {
    CallStats& stats = graph.nodes[i].stats;
    if (!has_lost[i] || kept[i].call_count == 0) continue;
    stats.cumulative_ns = std::max(stats.own_ns, std::min(stats.cumulative_ns, kept[i].cumulative_ns));
  }

  // Shares of the own time by cumulative time, so that they add up.
  CallStats all;
  for (uint32_t i = 0; i < count; ++i) {
    CallStats& stats = into_deeper[i];
    if (!calls_deeper[i]) continue;
    stats.cumulative_ns = std::min(stats.cumulative_ns, graph.nodes[i].stats.cumulative_ns);
    all.Add(stats);
  }
  deeper.call_count = std::max<int64_t>(1, all.call_count);
  deeper.primitive_call_count = deeper.call_count;
  deeper.cumulative_ns = std::max(all.cumulative_ns, deeper.own_ns);
  const uint32_t number = graph.AddNode("~", kDeeperName, deeper);
  int64_t before_ns = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (!calls_deeper[i]) continue;
    CallStats stats = into_deeper[i];
    const int64_t after_ns = SaturatingAdd(before_ns, stats.cumulative_ns);
    const int64_t whole_ns = std::max<int64_t>(1, all.cumulative_ns);
    stats.own_ns = Share(deeper.own_ns, after_ns, whole_ns) - Share(deeper.own_ns, before_ns, whole_ns);
    stats.cumulative_ns = std::max(stats.cumulative_ns, stats.own_ns);
    stats.primitive_call_count = stats.call_count;
    before_ns = after_ns;
    graph.edges.push_back({i, number, stats});
  }
  return graph.Build();
}

struct Walks {
  explicit Walks(const Profile& profile) {
    const CallGraph graph(profile);
    tuna = WalkTunaTree(profile, graph);
    flameprof = WalkFlameprofPicture(profile, graph);
    if (const std::optional<FunctionId> root = SnakeVizRoot(profile, graph)) {
      snakeviz = WalkSnakeVizTree(profile, graph, *root);
    }
  }
  bool IsTooDeep() const {
    return tuna.depth > TunaTree::kMaxDepth || flameprof.failure == FlameprofPicture::Failure::kTooDeep;
  }
  bool HasTooManyPaths() const {
    return snakeviz.is_too_large || flameprof.failure == FlameprofPicture::Failure::kTooLarge;
  }

  TunaTree tuna;
  FlameprofPicture flameprof;
  SnakeVizTree snakeviz;
};

Profile CutChains(Profile profile, std::optional<uint32_t> max_depth, RepairSummary* summary) {
  if (max_depth == 0u) return profile;
  const Walks walks(profile);
  const auto chain_of = [](const Walks& w) { return std::max(w.tuna.depth, w.flameprof.depth); };
  if (max_depth && chain_of(walks) <= std::max(*max_depth, kLeastDepth)) return profile;
  if (!max_depth && !walks.IsTooDeep() && !walks.HasTooManyPaths()) return profile;
  const std::vector<uint32_t> levels = LevelsOf(profile, CallGraph(profile));
  if (max_depth) {
    const uint32_t depth = std::max(*max_depth, kLeastDepth);
    Profile cut = CutAt(profile, levels, depth, false, summary);
    const Walks after(cut);
    if (chain_of(after) <= depth) return cut;
    return CutAt(profile, levels, depth, true, summary);
  }
  // Too many paths show in the first levels of all.
  uint32_t depth = walks.HasTooManyPaths() ? kSnakeVizLevels : TunaTree::kMaxDepth;
  for (;;) {
    for (const bool is_layered : {false, true}) {
      Profile cut = CutAt(profile, levels, depth, is_layered, summary);
      const Walks after(cut);
      if ((!after.IsTooDeep() && !after.HasTooManyPaths()) || (is_layered && depth == kLeastDepth)) return cut;
    }
    depth = depth > kSnakeVizLevels ? kSnakeVizLevels : depth - 1;
  }
}

Profile WithPadding(Profile profile, RepairSummary* summary) {
  const CallGraph graph(profile);
  if (WalkFlameprofPicture(profile, graph).failure != FlameprofPicture::Failure::kNothingLarge) return profile;
  const std::optional<FunctionId> root = SnakeVizRoot(profile, graph);
  if (!root) return profile;
  const int64_t padding_ns =
      std::max(profile.Total().own_ns, profile.function(*root).stats.cumulative_ns) / kPaddingShare + 1;
  const CallStats stats{1, 1, padding_ns, padding_ns};
  const FunctionId padding = profile.AddFunction("~", 0, kPaddingName);
  profile.AddStats(padding, stats);
  profile.AddCallerStats(*root, padding, stats);
  summary->padding_ns = padding_ns;
  return profile;
}

Profile WithDistinctTexts(Profile profile, RepairSummary* summary) {
  std::unordered_set<std::string> texts;
  Graph graph(profile);
  const auto text_of = [&graph](const Graph::Node& node, absl::string_view name) {
    return absl::StrCat(graph.strings.Get(node.file), ":", node.line, "(", name, ")");
  };
  std::vector<uint32_t> doubles;
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (!texts.insert(text_of(graph.nodes[i], graph.strings.Get(graph.nodes[i].name))).second) doubles.push_back(i);
  }
  if (doubles.empty()) return profile;
  for (const uint32_t i : doubles) {
    const std::string name(graph.strings.Get(graph.nodes[i].name));
    std::string changed;
    int number = 2;
    do {
      changed = absl::StrCat(name, " #", number++);
    } while (!texts.insert(text_of(graph.nodes[i], changed)).second);
    graph.nodes[i].name = graph.strings.Intern(changed);
    ++summary->renamed_count;
  }
  return graph.Build();
}

std::string Count(uint64_t count, absl::string_view one, absl::string_view many) {
  return absl::StrCat(count, " ", count == 1 ? one : many);
}

}  // namespace

std::vector<std::string> RepairSummary::Sentences() const {
  std::vector<std::string> out;
  if (negative_time_count > 0) {
    out.push_back(absl::StrCat(Count(negative_time_count, "time", "times"), " below 0 set to 0"));
  }
  if (timed_edge_count > 0) {
    out.push_back(absl::StrCat("times shared out by calls to ", Count(timed_edge_count, "caller", "callers")));
  }
  if (added_row_count > 0) {
    out.push_back(absl::StrCat("rows added for ", Count(added_row_count, "caller", "callers"), " without one"));
  }
  if (lengthened_root_count > 0) {
    out.push_back(absl::StrCat("as long as what they call: ", Count(lengthened_root_count, "function", "functions"),
                               " that nothing calls"));
  }
  if (dropped_row_count > 0) {
    out.push_back(
        absl::StrCat(Count(dropped_row_count, "function", "functions"), " not reached from the root dropped"));
  }
  if (has_viewer_root) {
    out.push_back(absl::StrCat("a row ", pstats::kViewerRootName, " added above, which calls the rest"));
  }
  if (max_depth > 0) {
    out.push_back(absl::StrCat(
        "cut at ", max_depth, " functions below each other: ", Count(deeper_row_count, "function", "functions"),
        " and the calls of ", Count(deeper_edge_count, "caller", "callers"), " are in ", kDeeperName));
  }
  if (padding_ns > 0) out.push_back(absl::StrCat("a row ", kPaddingName, " of ", padding_ns, " ns added"));
  if (renamed_count > 0) {
    out.push_back(absl::StrCat(Count(renamed_count, "function", "functions"), " told apart from another by a number"));
  }
  return out;
}

Profile RepairProfile(const Profile& profile, const RepairOptions& options, RepairSummary* summary) {
  RepairSummary own_summary;
  if (!summary) summary = &own_summary;
  *summary = RepairSummary();
  Graph graph(profile);
  std::optional<uint32_t> root;
  if (options.root) root = graph.number_of[Index(*options.root)];
  RaiseNegativeTimes(&graph, summary);
  ShareOutTimes(&graph, summary);
  AddMissingRows(&graph, summary);
  LengthenRoots(&graph, summary);
  if (graph.nodes.empty()) graph.AddNode("~", kNothingName, {1, 1, 0, 0});
  Profile repaired = graph.Build();
  if (root) repaired = UnderRoot(repaired, FunctionId{*root}, summary);
  if (WalkTunaTree(repaired, CallGraph(repaired)).root_count == 0 || repaired.edges().empty() ||
      repaired.Total().own_ns == 0) {
    summary->has_viewer_root = pstats::AddViewerRoot(&repaired);
  }
  repaired = CutChains(std::move(repaired), options.max_depth, summary);
  repaired = WithPadding(std::move(repaired), summary);
  return WithDistinctTexts(std::move(repaired), summary);
}

}  // namespace tracekiln::profile_health
