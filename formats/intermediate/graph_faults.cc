#include "formats/intermediate/graph_faults.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace tracekiln {
namespace {

// A detail names so many at most.
constexpr size_t kShown = 8;

// Dependencies as nodes, without those of the process node on itself.
struct Edges {
  std::vector<uint32_t> begin;  // of each node, and the end of the last
  std::vector<uint32_t> to;
};

// Finds one cycle in each set of mutually dependent nodes: Tarjan's algorithm with a stack of its own (R. Tarjan,
// "Depth-first search and linear graph algorithms", 1972), then a walk inside the set.
class CycleFinder {
 public:
  explicit CycleFinder(const Edges& edges)
      : edges_(edges), number_(edges.begin.size() - 1, 0), low_(number_.size(), 0), set_(number_.size(), 0) {}

  std::vector<std::vector<uint32_t>> Find() {
    for (uint32_t node = 0; node < number_.size(); ++node) {
      if (number_[node] == 0) Visit(node);
    }
    return std::move(cycles_);
  }

 private:
  struct Frame {
    uint32_t node;
    uint32_t next;  // index into edges_.to
  };

  void Open(uint32_t node) {
    number_[node] = low_[node] = ++last_number_;
    open_.push_back(node);
    frames_.push_back({node, edges_.begin[node]});
  }

  void Visit(uint32_t root) {
    Open(root);
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      const uint32_t node = frame.node;
      if (frame.next < edges_.begin[node + 1]) {
        const uint32_t to = edges_.to[frame.next++];
        if (number_[to] == 0) {
          Open(to);
        } else if (set_[to] == 0) {
          low_[node] = std::min(low_[node], number_[to]);
        }
        continue;
      }
      frames_.pop_back();
      if (!frames_.empty()) low_[frames_.back().node] = std::min(low_[frames_.back().node], low_[node]);
      if (low_[node] == number_[node]) Close(node);
    }
  }

  // The nodes opened since `first` are a set.
  void Close(uint32_t first) {
    ++last_set_;
    size_t begin = open_.size();
    do {
      set_[open_[--begin]] = last_set_;
    } while (open_[begin] != first);
    const bool is_alone = open_.size() - begin == 1;
    open_.resize(begin);
    if (is_alone) {
      for (uint32_t e = edges_.begin[first]; e < edges_.begin[first + 1]; ++e) {
        if (edges_.to[e] != first) continue;
        cycles_.push_back({first});
        break;
      }
      return;
    }
    // In a set every node has an edge within it: follow them until a node comes again.
    std::vector<uint32_t> path;
    place_.resize(set_.size(), 0);
    uint32_t node = first;
    while (place_[node] == 0) {
      path.push_back(node);
      place_[node] = static_cast<uint32_t>(path.size());
      for (uint32_t e = edges_.begin[node]; e < edges_.begin[node + 1]; ++e) {
        if (set_[edges_.to[e]] == last_set_) {
          node = edges_.to[e];
          break;
        }
      }
    }
    cycles_.emplace_back(path.begin() + (place_[node] - 1), path.end());
    for (const uint32_t seen : path) place_[seen] = 0;
  }

  const Edges& edges_;
  std::vector<uint32_t> number_;  // in the order of visits, from 1; 0: not visited
  std::vector<uint32_t> low_;
  std::vector<uint32_t> set_;    // 0: none yet
  std::vector<uint32_t> place_;  // in the path of Close, + 1
  std::vector<uint32_t> open_;
  std::vector<Frame> frames_;
  uint32_t last_number_ = 0, last_set_ = 0;
  std::vector<std::vector<uint32_t>> cycles_;
};

// A name in quotes, cut if it is long.
std::string Quoted(absl::string_view name) {
  constexpr size_t kMaxBytes = 80;
  if (name.size() <= kMaxBytes) return absl::StrCat("\"", name, "\"");
  size_t size = kMaxBytes;
  while (size > 0 && (static_cast<unsigned char>(name[size]) & 0xc0) == 0x80) --size;
  return absl::StrCat("\"", name.substr(0, size), "…\"");
}

// "1, 3 and 12 more"
template <typename Items, typename Text>
std::string Listed(const Items& items, Text text) {
  std::string list;
  for (size_t i = 0; i < std::min(items.size(), kShown); ++i) {
    absl::StrAppend(&list, i == 0 ? "" : ", ", text(items[i]));
  }
  if (items.size() > kShown) absl::StrAppend(&list, " and ", items.size() - kShown, " more");
  return list;
}

}  // namespace

bool IsPytorchProcessNode(const Graph& graph, size_t node) {
  const absl::string_view name = graph.name(node);
  return absl::StartsWith(name, "[pytorch|profiler|") && absl::EndsWith(name, "|process]");
}

GraphFaults FindGraphFaults(const Graph& graph) {
  GraphFaults faults;
  const NodeIndex index(graph);
  const size_t count = graph.nodes().size();
  std::vector<uint64_t> twice = index.DuplicateIds();
  for (const uint64_t id : twice) faults.duplicates.push_back({id, {}});
  const auto duplicate_of = [&](uint64_t id) -> GraphFaults::Duplicate* {
    const auto at = std::lower_bound(twice.begin(), twice.end(), id);
    return at != twice.end() && *at == id ? &faults.duplicates[static_cast<size_t>(at - twice.begin())] : nullptr;
  };
  std::vector<std::pair<uint64_t, uint32_t>> missing;  // id, node
  Edges edges;
  edges.begin.reserve(count + 1);
  edges.to.reserve(graph.control_dep_count() + graph.data_dep_count());
  for (uint32_t node = 0; node < count; ++node) {
    edges.begin.push_back(static_cast<uint32_t>(edges.to.size()));
    const uint64_t own_id = graph.nodes()[node].id;
    if (!twice.empty()) {
      if (GraphFaults::Duplicate* const duplicate = duplicate_of(own_id)) duplicate->nodes.push_back(node);
    }
    const bool is_process = IsPytorchProcessNode(graph, node);
    bool is_ambiguous = false;
    for (const bool is_data : {false, true}) {
      for (const uint64_t id : is_data ? graph.data_deps(node) : graph.control_deps(node)) {
        if (is_process && id == own_id) continue;
        const uint32_t to = index.Find(id);
        if (to == NodeIndex::kNotThere) {
          missing.emplace_back(id, node);
          continue;
        }
        if (!twice.empty()) is_ambiguous |= duplicate_of(id) != nullptr;
        edges.to.push_back(to);
      }
    }
    if (is_ambiguous) faults.ambiguous.push_back(node);
    const uint32_t begin = edges.begin.back();
    const bool is_root = std::all_of(edges.to.begin() + begin, edges.to.end(), [&](uint32_t to) { return to == node; });
    if (is_root) faults.roots.push_back(node);
  }
  edges.begin.push_back(static_cast<uint32_t>(edges.to.size()));
  std::sort(missing.begin(), missing.end());
  for (const auto& [id, node] : missing) {
    if (faults.missing.empty() || faults.missing.back().id != id) faults.missing.push_back({id, {}});
    faults.missing.back().needed_by.push_back(node);
  }
  faults.cycles = CycleFinder(edges).Find();
  return faults;
}

std::string CycleText(const Graph& graph, const std::vector<uint32_t>& cycle) {
  std::string text;
  for (size_t i = 0; i < cycle.size(); ++i) {
    if (cycle.size() > 2 * kShown && i == kShown) {
      absl::StrAppend(&text, "… (", cycle.size() - 2 * kShown, " more) … -> ");
      i = cycle.size() - kShown;
    }
    absl::StrAppend(&text, graph.nodes()[cycle[i]].id, " -> ");
  }
  return absl::StrCat(text, graph.nodes()[cycle[0]].id);
}

void NoteGraphFaults(const Graph& graph, const GraphFaults& faults, ImportReport* report) {
  const auto id_of = [&](uint32_t node) { return absl::StrCat(graph.nodes()[node].id); };
  const auto add = [&](absl::string_view reason, size_t count, const std::string& detail) {
    if (count > 0) report->Add(ImportReport::Severity::kNote, reason, ImportReport::kNoOffset, detail, count);
  };
  add("duplicate_node_id", faults.duplicates.size(),
      Listed(faults.duplicates, [&](const GraphFaults::Duplicate& duplicate) {
        return absl::StrCat("id ", duplicate.id, " is that of ",
                            Listed(duplicate.nodes, [&](uint32_t node) { return Quoted(graph.name(node)); }));
      }));
  add("ambiguous_dependency", faults.ambiguous.size(),
      absl::StrCat("nodes that depend on an id which several nodes have, taken for the first of them: ",
                   Listed(faults.ambiguous, id_of)));
  size_t references = 0;
  for (const GraphFaults::Missing& missing : faults.missing) references += missing.needed_by.size();
  add("missing_node", references, Listed(faults.missing, [&](const GraphFaults::Missing& missing) {
        return absl::StrCat(
            "no node has the id ", missing.id, ", on which ", missing.needed_by.size(),
            missing.needed_by.size() == 1 ? " depends: " : " depend: ", Listed(missing.needed_by, id_of));
      }));
  add("dependency_cycle", faults.cycles.size(),
      Listed(faults.cycles, [&](const std::vector<uint32_t>& cycle) { return CycleText(graph, cycle); }));
}

}  // namespace tracekiln
