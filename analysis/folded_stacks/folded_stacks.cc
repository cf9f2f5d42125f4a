// A walk from the functions without callers, the greatest calls first, finds the calls that close a cycle; without them
// the call graph has no cycles. On what is left every call f -> g has a share of g: of g's calls of others by
// cumulative time, of g's own time by the own time that the file notes for the call. Shares of one function add up to
// 1, so if a stack that ends in f stands for the part s of f, its extension by f -> g stands for the part s * share of
// g, and over all stacks the parts of each function add up to 1: no time is lost or counted twice.
//
// All that hangs below a stack is thus known before it is expanded: s times a constant of the function ("flow"). The
// tree, which can be exponential, is expanded from its greatest branch down until enough stacks are there; what is not
// expanded is known as well. The children of a function have the same order in all stacks, so each stack keeps one
// candidate in the heap, its next child.
#include "analysis/folded_stacks/folded_stacks.h"

#include <algorithm>
#include <cmath>
#include <queue>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "analysis/profile_table/function_text.h"

namespace tracekiln::folded_stacks {
namespace {

constexpr uint32_t kNone = 0xffffffffu;
constexpr size_t kMaxFrameBytes = 480;

double Positive(int64_t value) { return value > 0 ? static_cast<double>(value) : 0; }

// Edges that close a cycle, and the functions in an order in which callees come before callers but for these edges.
struct Walk {
  std::vector<bool> is_cut;
  std::vector<uint32_t> callees_first;
};

class Walker {
 public:
  Walker(const Profile& profile, const CallGraph& graph) : profile_(profile), graph_(graph) {
    walk_.is_cut.resize(profile.edges().size());
    walk_.callees_first.reserve(profile.functions().size());
    state_.resize(profile.functions().size(), State::kNew);
  }

  Walk Run() && {
    std::vector<uint32_t> others;
    for (uint32_t f = 0; f < state_.size(); ++f) {
      const absl::Span<const uint32_t> callers = graph_.CallersOf(FunctionId{f});
      const bool is_root = std::all_of(callers.begin(), callers.end(),
                                       [&](uint32_t e) { return Index(profile_.edges()[e].caller) == f; });
      if (is_root) {
        WalkFrom(f);
      } else {
        others.push_back(f);
      }
    }
    // What only cycles lead to.
    std::stable_sort(others.begin(), others.end(), [&](uint32_t a, uint32_t b) {
      return profile_.functions()[a].stats.cumulative_ns > profile_.functions()[b].stats.cumulative_ns;
    });
    for (const uint32_t f : others) {
      if (state_[f] == State::kNew) WalkFrom(f);
    }
    return std::move(walk_);
  }

 private:
  enum class State : uint8_t { kNew, kOpen, kDone };
  struct Open {
    uint32_t function;
    std::vector<uint32_t> calls;  // the greatest last
  };

  Open Enter(uint32_t function) {
    state_[function] = State::kOpen;
    const absl::Span<const uint32_t> callees = graph_.CalleesOf(FunctionId{function});
    Open open{function, {callees.begin(), callees.end()}};
    std::sort(open.calls.begin(), open.calls.end(), [&](uint32_t a, uint32_t b) {
      const int64_t ns_a = profile_.edges()[a].stats.cumulative_ns, ns_b = profile_.edges()[b].stats.cumulative_ns;
      return ns_a != ns_b ? ns_a < ns_b : a > b;
    });
    return open;
  }

  void WalkFrom(uint32_t root) {
    std::vector<Open> stack;
    stack.push_back(Enter(root));
    while (!stack.empty()) {
      Open& top = stack.back();
      if (top.calls.empty()) {
        state_[top.function] = State::kDone;
        walk_.callees_first.push_back(top.function);
        stack.pop_back();
        continue;
      }
      const uint32_t edge = top.calls.back();
      top.calls.pop_back();
      const uint32_t callee = Index(profile_.edges()[edge].callee);
      if (state_[callee] == State::kOpen) {
        walk_.is_cut[edge] = true;
      } else if (state_[callee] == State::kNew) {
        stack.push_back(Enter(callee));
      }
    }
  }

  const Profile& profile_;
  const CallGraph& graph_;
  Walk walk_;
  std::vector<State> state_;
};

// How a function is reached: by a call or, as a root, by none. Numbers are for a caller's part of 1.
struct Arrival {
  uint32_t function = kNone;
  double share = 0;    // of the function's calls of others, and of its own time that no call accounts for
  double own_ns = 0;   // own time of the function through this arrival
  double flow_ns = 0;  // that and all below
  double rest_ns = 0;  // flow of this arrival and the smaller ones of the same caller
};

// The arrivals from each function, the greatest first, and behind them those from nowhere.
class Flows {
 public:
  Flows(const Profile& profile, const CallGraph& graph, const Walk& walk) : begin_(profile.functions().size() + 2, 0) {
    const std::vector<Profile::Edge>& edges = profile.edges();
    const size_t function_count = profile.functions().size();
    std::vector<Arrival> by_edge(edges.size());
    std::vector<Arrival> roots(function_count);
    for (uint32_t f = 0; f < function_count; ++f) Divide(profile, graph, walk, f, &by_edge, &roots[f]);

    std::vector<double> below(function_count, 0);
    const auto finish = [&](Arrival* arrival) {
      arrival->flow_ns = arrival->own_ns + arrival->share * below[arrival->function];
    };
    for (const uint32_t f : walk.callees_first) {
      for (const uint32_t e : graph.CalleesOf(FunctionId{f})) {
        if (walk.is_cut[e]) continue;
        finish(&by_edge[e]);
        below[f] += by_edge[e].flow_ns;
      }
    }
    for (uint32_t f = 0; f < function_count; ++f) {
      begin_[f] = static_cast<uint32_t>(arrivals_.size());
      for (const uint32_t e : graph.CalleesOf(FunctionId{f})) {
        if (by_edge[e].flow_ns > 0) arrivals_.push_back(by_edge[e]);
      }
      SortFrom(begin_[f]);
    }
    begin_[function_count] = static_cast<uint32_t>(arrivals_.size());
    for (Arrival& root : roots) {
      if (root.function == kNone) continue;
      finish(&root);
      if (root.flow_ns > 0) arrivals_.push_back(root);
    }
    SortFrom(begin_[function_count]);
    begin_[function_count + 1] = static_cast<uint32_t>(arrivals_.size());
  }

  absl::Span<const Arrival> From(uint32_t function) const {
    return absl::MakeConstSpan(arrivals_).subspan(begin_[function], begin_[function + 1] - begin_[function]);
  }
  absl::Span<const Arrival> Roots() const { return From(static_cast<uint32_t>(begin_.size() - 2)); }

 private:
  // Divides a function among its callers.
  static void Divide(const Profile& profile, const CallGraph& graph, const Walk& walk, uint32_t f,
                     std::vector<Arrival>* by_edge, Arrival* root) {
    const Profile::Function& function = profile.functions()[f];
    const double own_ns = function.is_row ? Positive(function.stats.own_ns) : 0;
    std::vector<uint32_t> kept;
    double calls = 0, kept_calls = 0, kept_cumulative_ns = 0, edges_own_ns = 0, kept_own_ns = 0;
    for (const uint32_t e : graph.CallersOf(FunctionId{f})) {
      const CallStats& stats = profile.edges()[e].stats;
      calls += Positive(stats.call_count);
      edges_own_ns += Positive(stats.own_ns);
      if (walk.is_cut[e]) continue;
      kept.push_back(e);
      kept_calls += Positive(stats.call_count);
      kept_cumulative_ns += Positive(stats.cumulative_ns);
      kept_own_ns += Positive(stats.own_ns);
    }
    if (kept.empty()) {
      *root = {f, 1, own_ns, 0, 0};
      return;
    }
    // Some calls of a function with callers may come from nowhere: made when the profiler was switched on inside.
    const double root_calls = function.is_row ? std::max(0.0, Positive(function.stats.call_count) - calls) : 0;
    double root_own_ns = 0, root_cumulative_ns = 0;
    if (root_calls > 0) {
      if (edges_own_ns > 0) root_own_ns = std::max(0.0, own_ns - edges_own_ns);
      if (kept_cumulative_ns > 0) {
        root_cumulative_ns = std::max(0.0, Positive(function.stats.cumulative_ns) - kept_cumulative_ns);
      }
    }
    // By cumulative time; by calls where no time is known; else alike.
    const bool by_time = kept_cumulative_ns > 0;
    const bool by_calls = !by_time && kept_calls + root_calls > 0;
    const double sum = by_time    ? kept_cumulative_ns + root_cumulative_ns
                       : by_calls ? kept_calls + root_calls
                                  : static_cast<double>(kept.size());
    // Own time as the calls say; what is missing (that of cut calls, of inexact files) by shares.
    const double noted_own_ns = kept_own_ns + root_own_ns;
    const double scale = noted_own_ns > own_ns ? own_ns / noted_own_ns : 1;
    const double missing_own_ns = std::max(0.0, own_ns - scale * noted_own_ns);
    const auto arrive = [&](double weight, double noted_ns) {
      Arrival arrival;
      arrival.function = f;
      arrival.share = weight / sum;
      arrival.own_ns = scale * noted_ns + arrival.share * missing_own_ns;
      return arrival;
    };
    for (const uint32_t e : kept) {
      const CallStats& stats = profile.edges()[e].stats;
      (*by_edge)[e] = arrive(by_time    ? Positive(stats.cumulative_ns)
                             : by_calls ? Positive(stats.call_count)
                                        : 1,
                             Positive(stats.own_ns));
    }
    if (root_calls > 0) *root = arrive(by_time ? root_cumulative_ns : by_calls ? root_calls : 0, root_own_ns);
  }

  void SortFrom(size_t begin) {
    std::sort(arrivals_.begin() + static_cast<ptrdiff_t>(begin), arrivals_.end(),
              [](const Arrival& a, const Arrival& b) {
                return a.flow_ns != b.flow_ns ? a.flow_ns > b.flow_ns : a.function < b.function;
              });
    double rest_ns = 0;
    for (size_t i = arrivals_.size(); i-- > begin;) arrivals_[i].rest_ns = rest_ns += arrivals_[i].flow_ns;
  }

  std::vector<uint32_t> begin_;
  std::vector<Arrival> arrivals_;
};

// A stack, as the last frame of a path to the root of the tree (node 0, which is no frame).
struct Node {
  uint32_t function;
  uint32_t parent;
  uint32_t depth;
  double part;  // of the function
  double own_ns;
  absl::Span<const Arrival> children;
  size_t expanded = 0;  // children that are nodes
};

std::vector<Node> Expand(const Flows& flows, const FoldOptions& options) {
  std::vector<Node> nodes = {{kNone, kNone, 0, 1, 0, flows.Roots()}};
  struct Candidate {
    double flow_ns;
    uint32_t parent;
    bool operator<(const Candidate& other) const {
      return flow_ns != other.flow_ns ? flow_ns < other.flow_ns : parent > other.parent;
    }
  };
  std::priority_queue<Candidate> candidates;
  const auto push_next_child = [&](uint32_t parent) {
    const Node& node = nodes[parent];
    if (node.expanded == node.children.size() || node.depth >= options.max_depth) return;
    candidates.push({node.part * node.children[node.expanded].flow_ns, parent});
  };
  push_next_child(0);
  size_t stack_count = nodes[0].children.empty() ? 0 : 1;  // "(more)"
  while (!candidates.empty()) {
    const uint32_t parent = candidates.top().parent;
    candidates.pop();
    const Arrival& arrival = nodes[parent].children[nodes[parent].expanded];
    Node child;
    child.function = arrival.function;
    child.parent = parent;
    child.depth = nodes[parent].depth + 1;
    child.part = nodes[parent].part * arrival.share;
    child.own_ns = nodes[parent].part * arrival.own_ns;
    if (child.part > 0) child.children = flows.From(arrival.function);
    // Its own stack and its "(more)" come, that of its parent goes with the last child.
    const bool is_last = nodes[parent].expanded + 1 == nodes[parent].children.size();
    const size_t new_count = stack_count + (child.own_ns > 0) + !child.children.empty() - is_last;
    if (new_count > options.max_stacks) break;
    stack_count = new_count;
    ++nodes[parent].expanded;
    nodes.push_back(child);
    push_next_child(parent);
    push_next_child(static_cast<uint32_t>(nodes.size() - 1));
  }
  return nodes;
}

}  // namespace

FoldedStacks FoldStacks(const Profile& profile, const FoldOptions& options) {
  FoldedStacks folded;
  const CallGraph graph(profile);
  const Walk walk = Walker(profile, graph).Run();
  folded.cut_edge_count = static_cast<uint64_t>(std::count(walk.is_cut.begin(), walk.is_cut.end(), true));
  CallStats negative;
  for (const FunctionId row : profile.rows()) {
    if (profile.function(row).stats.own_ns >= 0) continue;
    ++folded.negative_row_count;
    negative.Add({0, 0, profile.function(row).stats.own_ns, 0});
  }
  folded.negative_ns = negative.own_ns;

  const Flows flows(profile, graph, walk);
  const std::vector<Node> nodes = Expand(flows, options);
  double carried_ns = 0;  // so that the whole values add up to the exact sum
  const auto add = [&](const Node& node, bool has_more, double value_ns) {
    carried_ns += value_ns;
    constexpr double kMost = 9223372036854774784.0;  // the greatest double within int64
    const double rounded_ns = std::min(std::floor(carried_ns + 0.5), kMost);
    if (!(rounded_ns >= 1)) return;
    carried_ns -= rounded_ns;
    FoldedStack stack;
    stack.has_more = has_more;
    stack.value_ns = static_cast<int64_t>(rounded_ns);
    for (const Node* n = &node; n->parent != kNone; n = &nodes[n->parent])
      stack.frames.push_back(FunctionId{n->function});
    std::reverse(stack.frames.begin(), stack.frames.end());
    if (has_more) {
      CallStats more{0, 0, folded.more_ns, 0};
      more.Add({0, 0, stack.value_ns, 0});
      folded.more_ns = more.own_ns;
    }
    folded.stacks.push_back(std::move(stack));
  };
  for (const Node& node : nodes) {
    add(node, false, node.own_ns);
    if (node.expanded < node.children.size()) add(node, true, node.part * node.children[node.expanded].rest_ns);
  }
  return folded;
}

std::string FoldedLine(const Profile& profile, const FoldedStack& stack) {
  std::string line, name;
  for (const FunctionId frame : stack.frames) {
    if (frame != stack.frames.front()) line += ';';
    name.clear();
    profile_table::AppendStandardName(profile, frame, &name);
    if (name.empty()) name = "(no name)";
    if (name.size() > kMaxFrameBytes) {
      size_t end = kMaxFrameBytes;
      while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80) --end;
      name.resize(end);
      name += "…";
    }
    profile_table::AppendPrintable(name, &line, ";");
  }
  if (stack.has_more) absl::StrAppend(&line, stack.frames.empty() ? "" : ";", "(more)");
  absl::StrAppend(&line, " ", stack.value_ns, "\n");
  return line;
}

}  // namespace tracekiln::folded_stacks
