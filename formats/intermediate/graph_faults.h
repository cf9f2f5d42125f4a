// What is wrong with the links of a graph: ids that stand twice, dependencies on ids that no node has, cycles.
//
//   GraphFaults faults = FindGraphFaults(graph);
//   NoteGraphFaults(graph, faults, &report);
//
// All of it is odd but real data (an observer that was started inside a function, racing writers): it is kept. The node
// that PyTorch writes for the process is its own parent by design and no fault. O(nodes log nodes + dependencies), no
// recursion.
#ifndef TRACEKILN_FORMATS_INTERMEDIATE_GRAPH_FAULTS_H_
#define TRACEKILN_FORMATS_INTERMEDIATE_GRAPH_FAULTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "formats/intermediate/graph.h"
#include "formats/intermediate/import_report.h"

namespace tracekiln {

struct GraphFaults {
  struct Duplicate {
    uint64_t id;
    std::vector<uint32_t> nodes;  // at least two, in file order
  };
  struct Missing {
    uint64_t id;
    std::vector<uint32_t> needed_by;  // nodes, in file order; one that needs it twice stands twice
  };
  std::vector<Duplicate> duplicates;  // by id
  std::vector<Missing> missing;       // by id
  // Nodes with a dependency on an id that several nodes have: it is taken for the first of them.
  std::vector<uint32_t> ambiguous;
  // One cycle for each set of nodes that all depend on each other: nodes, each of which depends on the next and the
  // last on the first. A node that depends on itself is a cycle of one.
  std::vector<std::vector<uint32_t>> cycles;
  // Nodes without any dependency on another node, in file order.
  std::vector<uint32_t> roots;

  bool empty() const { return duplicates.empty() && missing.empty() && cycles.empty(); }
};

GraphFaults FindGraphFaults(const Graph& graph);

// Whether the node is the one that stands for the process in PyTorch's execution traces, which names itself as its
// parent: "[pytorch|profiler|execution_trace|process]", in 2023 "execution_graph".
bool IsPytorchProcessNode(const Graph& graph, size_t node);

// "5 -> 6 -> 5"; long ones are cut in the middle.
std::string CycleText(const Graph& graph, const std::vector<uint32_t>& cycle);

// Adds notes, with the ids in their details: duplicate_node_id, ambiguous_dependency, missing_node, dependency_cycle.
void NoteGraphFaults(const Graph& graph, const GraphFaults& faults, ImportReport* report);

}  // namespace tracekiln

#endif  // TRACEKILN_FORMATS_INTERMEDIATE_GRAPH_FAULTS_H_
