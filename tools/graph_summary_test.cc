#include "tools/graph_summary.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "formats/intermediate/graph.h"
#include "formats/intermediate/graph_faults.h"
#include "formats/intermediate/ids.h"
#include "formats/intermediate/testing/graph_generator.h"
#include "formats/json/canonical.h"
#include "formats/json/writer.h"
#include "gtest/gtest.h"

namespace tracekiln::tools {
namespace {

GraphSummary Summary(const Graph& graph) { return SummarizeGraph(graph, FindGraphFaults(graph)); }

void Add(Graph* graph, uint64_t id, uint64_t parent, absl::string_view name) {
  graph->AddNode(id, name);
  graph->AddControlDep(parent);
}

TEST(GraphSummaryTest, CountsOperatorsAndDepth) {
  Graph graph;
  Add(&graph, 2, 1, "[pytorch|profiler|execution_trace|thread]");
  Add(&graph, 4, 3, "aten::addmm");
  Add(&graph, 3, 2, "aten::linear");
  Add(&graph, 1, 1, "[pytorch|profiler|execution_trace|process]");
  const GraphSummary summary = Summary(graph);
  EXPECT_EQ(summary.node_count, 4u);
  EXPECT_EQ(summary.operator_count, 2u);
  EXPECT_EQ(summary.root_count, 1u);
  EXPECT_EQ(summary.depth, 4u);
  EXPECT_EQ(summary.detached_count, 0u);
}

TEST(GraphSummaryTest, NodesOfCyclesAndOrphansAreDetached) {
  Graph graph;
  Add(&graph, 1, 1, "[pytorch|profiler|execution_trace|process]");
  Add(&graph, 5, 6, "a");
  Add(&graph, 6, 5, "b");
  Add(&graph, 7, 7, "c");
  Add(&graph, 8, 99, "orphan");
  Add(&graph, 9, 8, "child of the orphan");
  const GraphSummary summary = Summary(graph);
  EXPECT_EQ(summary.detached_count, 5u);
  EXPECT_EQ(summary.depth, 1u);
}

TEST(GraphSummaryTest, LongChainsNeedNoStack) {
  Graph graph;
  for (uint64_t id = 300'000; id > 0; --id) Add(&graph, id, id - 1, "n");
  graph.AddNode(0, "root");
  EXPECT_EQ(Summary(graph).depth, 300'001u);
}

TEST(GraphSummaryTest, NodesAreValidJsonWhateverTheyHold) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const Graph graph = GenerateGraph(seed, 60);
    std::string whole, faults;
    {
      json::Writer w(&whole);
      WriteGraph(graph, FindGraphFaults(graph), &w);
    }
    {
      json::Writer w(&faults);
      WriteGraphFaults(graph, FindGraphFaults(graph), &w);
    }
    EXPECT_TRUE(json::IsJson(whole)) << whole;
    EXPECT_TRUE(json::IsJson(faults)) << faults;
    for (size_t node = 0; node < graph.nodes().size(); ++node) {
      std::string line;
      {
        json::Writer w(&line);
        WriteGraphNode(graph, node, "x.et", &w);
      }
      EXPECT_TRUE(json::IsJson(line)) << line;
    }
    std::string text;
    AppendGraphText(graph, FindGraphFaults(graph), &text);
    EXPECT_NE(text.find("60 nodes"), std::string::npos);
  }
}

TEST(GraphSummaryTest, WritesOneNode) {
  Graph graph;
  Graph::Node& node = graph.AddNode(7, "aten::mm");
  node.type = NodeType::kComp;
  node.duration_us = 5;
  node.inputs.values = graph.strings.Intern("[[1,2],\"x\"]");
  node.inputs.types = graph.strings.Intern("['not json']");
  graph.AddControlDep(3);
  graph.AddAttribute("is_cpu_op", AttributeType::kBool, 0);
  graph.AddAttribute("comm_size", AttributeType::kUint64, UINT64_MAX);
  graph.AddAttribute("seq_id", AttributeType::kInt64, static_cast<uint64_t>(-1));
  graph.AddTextAttribute("dims", static_cast<AttributeType>(28), absl::string_view("\x0a\x03\x01\x00\x01", 5));
  graph.AddTextAttribute("deltas", static_cast<AttributeType>(16), absl::string_view("\x08\x01\x08\x02", 4));
  std::string line;
  {
    json::Writer w(&line);
    WriteGraphNode(graph, 0, "", &w);
  }
  EXPECT_EQ(line,
            R"({"id":7,"name":"aten::mm","type":"COMP","start_us":0,"duration_us":5,"control_deps":[3],"data_deps":[],)"
            R"("inputs":{"values":[[1,2],"x"],"types":"['not json']"},"outputs":{},"attributes":[)"
            R"({"name":"is_cpu_op","type":"bool","value":false},)"
            R"({"name":"comm_size","type":"uint64","value":18446744073709551615},)"
            R"({"name":"seq_id","type":"int64","value":-1},)"
            R"({"name":"dims","type":"bool_list","value":[true,false,true]},)"
            R"({"name":"deltas","type":"sint32_list","value":[-1,1]}]})");
}

}  // namespace
}  // namespace tracekiln::tools
