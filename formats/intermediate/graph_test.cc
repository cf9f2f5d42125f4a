#include "formats/intermediate/graph.h"

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "formats/intermediate/ids.h"
#include "gtest/gtest.h"

namespace tracekiln {
namespace {

TEST(GraphTest, WhatIsAddedBelongsToTheNodeAddedLast) {
  Graph graph;
  EXPECT_TRUE(graph.empty());
  graph.AddAttribute("pid", AttributeType::kUint64, 5);
  EXPECT_EQ(graph.graph_attributes().size(), 1u);
  graph.AddNode(7, "a").duration_us = 3;
  graph.AddControlDep(1);
  graph.AddAttribute("x", AttributeType::kInt64, static_cast<uint64_t>(-4));
  graph.AddNode(7, "b");
  graph.AddNode(9, "c");
  graph.AddControlDep(7);
  graph.AddControlDep(8);
  graph.AddDataDep(100);
  graph.AddTextAttribute("x", AttributeType::kString, "t");
  ASSERT_EQ(graph.nodes().size(), 3u);
  EXPECT_EQ(graph.graph_attributes().size(), 1u);
  EXPECT_EQ(graph.nodes()[0].duration_us, 3u);
  EXPECT_EQ(graph.control_deps(0), (std::vector<uint64_t>{1}));
  EXPECT_TRUE(graph.control_deps(1).empty());
  EXPECT_TRUE(graph.attributes(1).empty());
  EXPECT_EQ(graph.control_deps(2), (std::vector<uint64_t>{7, 8}));
  EXPECT_EQ(graph.data_deps(2), (std::vector<uint64_t>{100}));
  EXPECT_EQ(graph.IntAttribute(0, "x", 0), -4);
  EXPECT_EQ(graph.IntAttribute(1, "x", 11), 11);
  EXPECT_EQ(graph.IntAttribute(2, "x", 11), 11);  // a text
  ASSERT_NE(graph.FindAttribute(2, "x"), nullptr);
  EXPECT_EQ(graph.Text(graph.FindAttribute(2, "x")->text()), "t");
  EXPECT_EQ(graph.Text(kNoString), "");
}

TEST(GraphTest, NodesCanBeTakenOffAtTheEnd) {
  Graph graph;
  for (uint64_t id = 0; id < 3; ++id) {
    graph.AddNode(id, "n");
    graph.AddControlDep(id);
    graph.AddDataDep(id);
    graph.AddAttribute("a", AttributeType::kInt64, id);
    graph.AddExtra({static_cast<uint32_t>(id), graph.strings.Intern("doc"), kNoString});
  }
  graph.Truncate(5);
  EXPECT_EQ(graph.nodes().size(), 3u);
  graph.Truncate(1);
  EXPECT_EQ(graph.nodes().size(), 1u);
  EXPECT_EQ(graph.control_deps(0).size(), 1u);
  EXPECT_EQ(graph.data_deps(0).size(), 1u);
  EXPECT_EQ(graph.attributes(0).size(), 1u);
  EXPECT_EQ(graph.extras().size(), 1u);
  graph.Truncate(0);
  EXPECT_TRUE(graph.empty());
  EXPECT_TRUE(graph.attributes().empty());
}

TEST(GraphTest, TheGraphGetsAttributesBehindItsNodes) {
  Graph graph;
  const StringId name = graph.strings.Intern("a");
  graph.AddGraphAttribute({1, name, AttributeType::kInt64});
  graph.AddNode(1, "n");
  graph.AddNode(2, "n");
  graph.AddAttribute("b", AttributeType::kInt64, 2);
  graph.AddExtra({1, graph.strings.Intern("doc"), kNoString});
  graph.AddGraphAttribute({3, name, AttributeType::kInt64});
  ASSERT_EQ(graph.graph_attributes().size(), 2u);
  EXPECT_EQ(graph.graph_attributes()[1].value, 3u);
  EXPECT_TRUE(graph.attributes(0).empty());
  ASSERT_EQ(graph.attributes(1).size(), 1u);
  EXPECT_EQ(graph.attributes(1)[0].value, 2u);
  EXPECT_EQ(graph.extras()[0].attribute, 2u);
}

TEST(GraphTest, NodesAreFoundByIdWhateverTheirOrder) {
  for (const std::vector<uint64_t>& ids :
       {std::vector<uint64_t>{0, 1, 2, 3}, {5, 3, 900, 1}, {4, 4, 5, 6, 7}, {2, 2, 2}, {~uint64_t{0}, 0}, {}}) {
    Graph graph;
    for (const uint64_t id : ids) graph.AddNode(id, "n");
    const NodeIndex index(graph);
    for (uint64_t id = 0; id < 1000; ++id) {
      uint32_t first = NodeIndex::kNotThere;
      size_t count = 0;
      for (uint32_t i = 0; i < ids.size(); ++i) {
        if (ids[i] != id) continue;
        if (count++ == 0) first = i;
      }
      ASSERT_EQ(index.Find(id), first) << id;
      ASSERT_EQ(index.Count(id), count) << id;
    }
  }
  Graph graph;
  for (const uint64_t id : {7, 3, 7, 3, 7, 1}) graph.AddNode(id, "n");
  EXPECT_EQ(NodeIndex(graph).DuplicateIds(), (std::vector<uint64_t>{3, 7}));
}

// The numbers are the file format's: they must not move.
TEST(GraphTest, TypesHaveTheNumbersAndNamesOfChakra) {
  EXPECT_EQ(static_cast<int>(AttributeType::kBool), 27);
  EXPECT_EQ(AttributeTypeName(AttributeType::kInt64), "int64");
  EXPECT_EQ(AttributeTypeName(static_cast<AttributeType>(28)), "bool_list");
  EXPECT_EQ(AttributeTypeName(AttributeType::kBytesList), "bytes_list");
  EXPECT_EQ(AttributeTypeName(AttributeType::kNone), "");
  for (uint64_t n = 3; n <= 32; ++n) {
    EXPECT_TRUE(IsAttributeType(n));
    const AttributeType type = static_cast<AttributeType>(n);
    EXPECT_EQ(AttributeTypeOf(AttributeTypeName(type)), type);
    EXPECT_EQ(IsList(type), n % 2 == 0);
  }
  EXPECT_EQ(AttributeTypeOf(""), AttributeType::kNone);
  EXPECT_EQ(AttributeTypeOf("int128"), AttributeType::kNone);
  EXPECT_FALSE(IsAttributeType(2));
  EXPECT_FALSE(IsAttributeType(33));
  EXPECT_EQ(NodeTypeName(NodeType::kCommColl), "COMM_COLL");
  EXPECT_EQ(NodeTypeName(static_cast<NodeType>(8)), "");
}

}  // namespace
}  // namespace tracekiln
