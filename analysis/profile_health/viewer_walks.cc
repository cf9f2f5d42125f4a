#include "analysis/profile_health/viewer_walks.h"

#include <algorithm>
#include <array>
#include <vector>

#include "absl/strings/string_view.h"

namespace tracekiln::profile_health {
namespace {

constexpr int kSnakeVizDepth = 10;
constexpr double kSnakeVizCutoff = 0.001;
constexpr double kFlameprofThreshold = 0.001;

double Double(int64_t ns) { return static_cast<double>(ns); }

class SnakeVizWalk {
 public:
  SnakeVizWalk(const Profile& profile, const CallGraph& graph) : profile_(profile), graph_(graph) {}

  void Visit(FunctionId function, int depth, double time_ns, uint64_t parent_bytes) {
    const absl::string_view file = profile_.file(function);
    const uint64_t name_bytes = file.size() + profile_.name(function).size() + 6;
    const size_t slash = file.rfind('/');
    const uint64_t shown_bytes = name_bytes - (slash == absl::string_view::npos ? 0 : slash + 1);
    // {"name":"","display_name":"","time":,"cumulative":,"parent_name":"","children":[]}, and two numbers.
    const uint64_t node_bytes = 115 + name_bytes + shown_bytes + parent_bytes;
    tree.json_bytes += node_bytes;
    ++tree.node_count;
    if (tree.node_count > SnakeVizTree::kMaxNodes || tree.json_bytes > SnakeVizTree::kMaxJsonBytes) {
      tree.is_too_large = true;
    }
    const absl::Span<const uint32_t> edges = graph_.CalleesOf(function);
    if (depth == kSnakeVizDepth || edges.empty() || tree.is_too_large) return;
    path_[depth] = function;
    steps_ += edges.size();
    if (steps_ > SnakeVizTree::kMaxSteps) {
      tree.is_too_large = true;
      return;
    }
    double total_ns = 0;
    for (const uint32_t e : edges) {
      const Profile::Edge& edge = profile_.edges()[e];
      if (!IsOnPath(edge.callee, depth)) total_ns += Double(edge.stats.cumulative_ns);
    }
    const double scale = total_ns > time_ns ? time_ns / total_ns : 1;
    for (const uint32_t e : edges) {
      const Profile::Edge& edge = profile_.edges()[e];
      if (IsOnPath(edge.callee, depth)) continue;
      const double child_ns = Double(edge.stats.cumulative_ns) * scale;
      if (child_ns / time_ns > kSnakeVizCutoff) {
        Visit(edge.callee, depth + 1, child_ns, name_bytes);
        if (tree.is_too_large) return;
      }
    }
    if (total_ns < time_ns) {  // a box for the own time
      ++tree.node_count;
      tree.json_bytes += node_bytes;
    }
  }

  SnakeVizTree tree;

 private:
  bool IsOnPath(FunctionId function, int depth) const {
    return std::find(path_.begin(), path_.begin() + depth + 1, function) != path_.begin() + depth + 1;
  }

  const Profile& profile_;
  const CallGraph& graph_;
  std::array<FunctionId, kSnakeVizDepth> path_ = {};
  uint64_t steps_ = 0;
};

// flameprof's calc_callers() and prepare(). Its recursions are recursions here, too, which kMaxDepth bounds.
class FlameprofWalk {
 public:
  using Failure = FlameprofPicture::Failure;

  FlameprofWalk(const Profile& profile, const CallGraph& graph)
      : profile_(profile), graph_(graph), path_count_(profile.edges().size()), is_on_path_(profile.edges().size()) {}

  FlameprofPicture Walk() {
    double roots_ns = 0;
    double own_ns = 0;
    std::optional<FunctionId> largest_called;
    for (const FunctionId f : profile_.rows()) {
      const CallStats& stats = profile_.function(f).stats;
      own_ns += Double(stats.own_ns);
      if (graph_.CallersOf(f).empty()) {
        roots_.push_back(f);
        roots_ns += Double(stats.cumulative_ns);
      } else if (!largest_called || stats.cumulative_ns > profile_.function(*largest_called).stats.cumulative_ns) {
        largest_called = f;
      }
    }
    if (own_ns == 0) return Failed(Failure::kNoTime, std::nullopt);
    picture_.root_ratio = roots_ns / own_ns;
    if (!largest_called) return Failed(Failure::kNoCalls, std::nullopt);
    const double with_called_ns = roots_ns + Double(profile_.function(*largest_called).stats.cumulative_ns);
    if (0.8 < with_called_ns / own_ns && with_called_ns / own_ns < 1.2) {
      roots_.push_back(*largest_called);
      whole_ns_ = with_called_ns;
    } else {
      whole_ns_ = own_ns;
    }

    for (const FunctionId root : roots_) CountPaths(root, 1);
    for (const FunctionId root : roots_) {
      const CallStats& stats = profile_.function(root).stats;
      const double time_ns = Double(stats.cumulative_ns);
      if (IsDrawn(time_ns)) Draw(root, Double(stats.own_ns), time_ns, 1, 1);
    }
    bool has_large = false;
    for (const FunctionId f : profile_.rows()) {
      const double time_ns = Double(profile_.function(f).stats.own_ns);
      if (!IsDrawn(time_ns)) continue;
      has_large = true;
      DrawCallers(f, time_ns, 1);
    }
    if (!has_large) Failed(Failure::kNothingLarge, std::nullopt);
    return picture_;
  }

 private:
  bool IsDrawn(double time_ns) const { return time_ns / whole_ns_ > kFlameprofThreshold; }
  bool has_failed() const { return picture_.failure != Failure::kNone; }

  FlameprofPicture Failed(Failure failure, std::optional<FunctionId> where) {
    if (!has_failed()) {
      picture_.failure = failure;
      picture_.where = where;
    }
    return picture_;
  }

  // Whether to go on at a function at this depth (its first is 1), of which so many edges are looked at.
  bool Enter(FunctionId function, size_t depth, size_t edge_count) {
    if (has_failed()) return false;
    picture_.depth = std::max(picture_.depth, depth);
    steps_ += edge_count + 1;
    if (depth > FlameprofPicture::kMaxDepth) {
      Failed(Failure::kTooDeep, function);
    } else if (steps_ > FlameprofPicture::kMaxSteps) {
      Failed(Failure::kTooLarge, function);
    }
    return !has_failed();
  }

  // _counts(): goes along each edge once.
  void CountPaths(FunctionId function, size_t depth) {
    const absl::Span<const uint32_t> edges = graph_.CalleesOf(function);
    if (!Enter(function, depth, edges.size())) return;
    for (const uint32_t e : edges) {
      if (path_count_[e] < 2) ++path_count_[e];  // flameprof asks only whether it is 1
      if (path_count_[e] < 2) CountPaths(profile_.edges()[e].callee, depth + 1);
    }
  }

  // _calc()
  void Draw(FunctionId function, double own_ns, double time_ns, int path_count, size_t depth) {
    const absl::Span<const uint32_t> edges = graph_.CalleesOf(function);
    if (!Enter(function, depth, edges.size())) return;
    double single_ns = 0;
    double shared_ns = 0;
    for (const uint32_t e : edges) {
      const double child_ns = Double(profile_.edges()[e].stats.cumulative_ns);
      (std::max<int>(path_count_[e], path_count) == 1 ? single_ns : shared_ns) += child_ns;
    }
    const double factor = shared_ns > 0 ? (time_ns - own_ns - single_ns) / shared_ns : 1;
    for (const uint32_t e : edges) {
      const Profile::Edge& edge = profile_.edges()[e];
      const int child_path_count = std::max<int>(path_count_[e], path_count);
      const double scale = child_path_count == 1 ? 1 : factor;
      const double child_ns = Double(edge.stats.cumulative_ns) * scale;
      if (!IsDrawn(child_ns) || is_on_path_[e]) continue;
      is_on_path_[e] = true;
      Draw(edge.callee, Double(edge.stats.own_ns) * scale, child_ns, child_path_count, depth + 1);
      is_on_path_[e] = false;
      if (has_failed()) return;
    }
  }

  // _calc_back()
  void DrawCallers(FunctionId function, double time_ns, size_t depth) {
    const absl::Span<const uint32_t> edges = graph_.CallersOf(function);
    if (!Enter(function, depth, edges.size()) || edges.empty()) return;
    double callers_ns = 0;
    for (const uint32_t e : edges) callers_ns += Double(profile_.edges()[e].stats.cumulative_ns);
    if (callers_ns == 0) {
      Failed(Failure::kEdgesWithoutTime, function);
      return;
    }
    const double factor = time_ns / callers_ns;
    for (const uint32_t e : edges) {
      const Profile::Edge& edge = profile_.edges()[e];
      const double caller_ns = Double(edge.stats.cumulative_ns) * factor;
      if (!IsDrawn(caller_ns) || is_on_path_[e]) continue;
      is_on_path_[e] = true;
      DrawCallers(edge.caller, caller_ns, depth + 1);
      is_on_path_[e] = false;
      if (has_failed()) return;
    }
  }

  const Profile& profile_;
  const CallGraph& graph_;
  std::vector<uint8_t> path_count_;
  std::vector<bool> is_on_path_;
  std::vector<FunctionId> roots_;
  double whole_ns_ = 0;
  uint64_t steps_ = 0;
  FlameprofPicture picture_;
};

}  // namespace

std::optional<FunctionId> SnakeVizRoot(const Profile& profile, const CallGraph& graph) {
  std::optional<FunctionId> uncalled;
  std::optional<FunctionId> any;
  const auto take_larger = [&profile](FunctionId f, std::optional<FunctionId>* best) {
    if (!*best || profile.function(f).stats.cumulative_ns > profile.function(**best).stats.cumulative_ns) *best = f;
  };
  for (const FunctionId f : profile.rows()) {
    const bool is_called = !graph.CallersOf(f).empty();
    if (!is_called && graph.CalleesOf(f).empty()) continue;
    take_larger(f, &any);
    if (!is_called) take_larger(f, &uncalled);
  }
  return uncalled ? uncalled : any;
}

SnakeVizTree WalkSnakeVizTree(const Profile& profile, const CallGraph& graph, FunctionId root) {
  SnakeVizWalk walk(profile, graph);
  walk.Visit(root, 0, Double(profile.function(root).stats.cumulative_ns), 4);
  return walk.tree;
}

TunaTree WalkTunaTree(const Profile& profile, const CallGraph& graph) {
  TunaTree tree;
  struct Place {
    FunctionId function;
    size_t next;  // among its callees
  };
  std::vector<Place> path;
  std::vector<bool> is_on_path(profile.functions().size());
  for (const FunctionId root : profile.rows()) {
    const absl::string_view name = profile.name(root);
    const bool is_exec = (name == "<built-in method builtins.exec>" || name == "<built-in method exec>") &&
                         profile.file(root) == "~" && profile.function(root).line == 0;
    const bool is_root =
        graph.CallersOf(root).empty() && profile.function(root).stats.cumulative_ns > TunaTree::kMinRootNs;
    if (!is_root && !is_exec) continue;
    ++tree.root_count;
    path.push_back({root, 0});
    is_on_path[Index(root)] = true;
    while (!path.empty()) {
      const size_t depth = path.size();
      if (depth > tree.depth) {
        tree.depth = depth;
        tree.deepest = path.back().function;
      }
      const FunctionId function = path.back().function;
      const absl::Span<const uint32_t> callees = graph.CalleesOf(function);
      // Under a caller, one with several callers ends the branch. Each other function has one caller, so is here once
      // (and once more below exec).
      const bool is_cut = depth > 1 && graph.CallersOf(function).size() > 1;
      if (is_cut && !callees.empty()) ++tree.cut_count;
      if (is_cut || path.back().next == callees.size()) {
        is_on_path[Index(function)] = false;
        path.pop_back();
        continue;
      }
      const FunctionId callee = profile.edges()[callees[path.back().next++]].callee;
      if (is_on_path[Index(callee)]) continue;
      is_on_path[Index(callee)] = true;
      path.push_back({callee, 0});
    }
  }
  return tree;
}

FlameprofPicture WalkFlameprofPicture(const Profile& profile, const CallGraph& graph) {
  return FlameprofWalk(profile, graph).Walk();
}

}  // namespace tracekiln::profile_health
