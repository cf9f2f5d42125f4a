#include "formats/intermediate/graph_faults.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "formats/intermediate/graph.h"
#include "formats/intermediate/import_report.h"
#include "gtest/gtest.h"

namespace tracekiln {
namespace {

std::string Detail(const Graph& graph, absl::string_view reason) {
  ImportReport report;
  NoteGraphFaults(graph, FindGraphFaults(graph), &report);
  const ImportReport::Entry* const entry = report.Find(reason);
  return entry == nullptr ? "none" : entry->detail;
}

void Add(Graph* graph, uint64_t id, const std::vector<uint64_t>& deps, absl::string_view name = "n") {
  graph->AddNode(id, name);
  for (const uint64_t dep : deps) graph->AddControlDep(dep);
}

TEST(GraphFaultsTest, TheProcessNodeIsItsOwnParent) {
  Graph graph;
  Add(&graph, 2, {1}, "[pytorch|profiler|execution_trace|thread]");
  Add(&graph, 1, {1}, "[pytorch|profiler|execution_trace|process]");
  const GraphFaults faults = FindGraphFaults(graph);
  EXPECT_TRUE(faults.empty());
  EXPECT_EQ(faults.roots, (std::vector<uint32_t>{1}));
}

TEST(GraphFaultsTest, CyclesAreNamed) {
  Graph graph;
  Add(&graph, 1, {1}, "[pytorch|profiler|execution_graph|process]");
  Add(&graph, 5, {6});
  Add(&graph, 6, {5});
  Add(&graph, 7, {7});
  Add(&graph, 8, {7, 5});
  EXPECT_EQ(Detail(graph, "dependency_cycle"), "5 -> 6 -> 5, 7 -> 7");
  EXPECT_EQ(FindGraphFaults(graph).cycles.size(), 2u);
}

TEST(GraphFaultsTest, DataDependenciesCount) {
  Graph graph;
  graph.AddNode(1, "a");
  graph.AddDataDep(2);
  graph.AddNode(2, "b");
  graph.AddControlDep(1);
  EXPECT_EQ(FindGraphFaults(graph).cycles.size(), 1u);
}

TEST(GraphFaultsTest, MissingAndDuplicateIdsAreListed) {
  Graph graph;
  Add(&graph, 7, {2}, "aten::conv2d");
  Add(&graph, 7, {2}, "aten::bias");
  Add(&graph, 8, {7, 3});
  Add(&graph, 9, {2, 2});
  EXPECT_EQ(Detail(graph, "duplicate_node_id"), "id 7 is that of \"aten::conv2d\", \"aten::bias\"");
  EXPECT_EQ(Detail(graph, "ambiguous_dependency"),
            "nodes that depend on an id which several nodes have, taken for the first of them: 8");
  EXPECT_EQ(Detail(graph, "missing_node"),
            "no node has the id 2, on which 4 depend: 7, 7, 9, 9, no node has the id 3, on which 1 depends: 8");
  EXPECT_EQ(FindGraphFaults(graph).roots, (std::vector<uint32_t>{0, 1, 3}));
}

TEST(GraphFaultsTest, LongListsAreCut) {
  Graph graph;
  for (uint64_t id = 0; id < 1000; ++id) Add(&graph, id, {(id + 1) % 1000});
  Add(&graph, 5000, {4000});
  EXPECT_EQ(
      Detail(graph, "dependency_cycle"),
      "0 -> 1 -> 2 -> 3 -> 4 -> 5 -> 6 -> 7 -> … (984 more) … -> 992 -> 993 -> 994 -> 995 -> 996 -> 997 -> 998 -> "
      "999 -> 0");
  for (uint64_t id = 6000; id < 6020; ++id) Add(&graph, id, {4000});
  EXPECT_EQ(Detail(graph, "missing_node"),
            "no node has the id 4000, on which 21 depend: 5000, 6000, 6001, 6002, 6003, 6004, 6005, 6006 and 13 more");
}

TEST(GraphFaultsTest, LongNamesAreCutBetweenCharacters) {
  Graph graph;
  const std::string name = std::string(79, 'x') + "\xe6\xbc\xa2" + std::string(1'000'000, 'y');
  Add(&graph, 1, {}, name);
  Add(&graph, 1, {}, name);
  const std::string shown = "\"" + std::string(79, 'x') + "…\"";
  EXPECT_EQ(Detail(graph, "duplicate_node_id"), "id 1 is that of " + shown + ", " + shown);
}

TEST(GraphFaultsTest, DeepChainsNeedNoStack) {
  Graph graph;
  for (uint64_t id = 1'000'000; id > 0; --id) Add(&graph, id, {id - 1});
  const GraphFaults faults = FindGraphFaults(graph);
  EXPECT_TRUE(faults.cycles.empty());
  EXPECT_EQ(faults.missing.size(), 1u);
}

// Oracle: a node is on a cycle if it can be reached from itself.
TEST(GraphFaultsTest, AgreesWithReachabilityOnRandomGraphs) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const uint32_t count = 1 + random() % 12;
    Graph graph;
    std::vector<std::vector<char>> reach(count, std::vector<char>(count, 0));
    for (uint32_t node = 0; node < count; ++node) {
      std::vector<uint64_t> deps;
      for (uint32_t n = random() % 3; n > 0; --n) deps.push_back(random() % count);
      for (const uint64_t dep : deps) reach[node][dep] = 1;
      Add(&graph, node, deps);
    }
    for (uint32_t k = 0; k < count; ++k) {
      for (uint32_t i = 0; i < count; ++i) {
        for (uint32_t j = 0; j < count; ++j) reach[i][j] |= reach[i][k] & reach[k][j];
      }
    }
    const GraphFaults faults = FindGraphFaults(graph);
    // Each cycle is one, and each set of mutually reachable nodes has exactly one.
    std::vector<int> of_set(count, 0);
    for (const std::vector<uint32_t>& cycle : faults.cycles) {
      for (size_t i = 0; i < cycle.size(); ++i) {
        const auto deps = graph.control_deps(cycle[i]);
        const uint64_t next = cycle[(i + 1) % cycle.size()];
        EXPECT_NE(std::find(deps.begin(), deps.end(), next), deps.end());
      }
      for (uint32_t node = 0; node < count; ++node) {
        if (node == cycle[0] || (reach[node][cycle[0]] && reach[cycle[0]][node])) ++of_set[node];
      }
    }
    for (uint32_t node = 0; node < count; ++node) ASSERT_EQ(of_set[node], reach[node][node]) << round << " " << node;
  }
}

}  // namespace
}  // namespace tracekiln
