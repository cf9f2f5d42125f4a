#include "formats/pytorch_et/pytorch_et_reader.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "formats/intermediate/graph.h"
#include "formats/intermediate/ids.h"
#include "formats/intermediate/import_report.h"
#include "formats/intermediate/testing/graph_equality.h"
#include "formats/io/byte_source.h"
#include "formats/io/testing/slow_source.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tracekiln::pytorch_et {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<Graph> Read(absl::string_view text, const ReadOptions& options = {}, ImportReport* report = nullptr) {
  io::SlowSource source(text, 1 << 16, "t.json");
  return ReadPytorchEt(source, options, report);
}

// A file as PyTorch lays it out.
std::string File(const std::vector<std::string>& nodes) {
  std::string text =
      "{\n  \"schema\": \"1.1.1-chakra.0.0.4\", \"pid\": 10, \"time\": \"2024-05-01 10:00:00\", \"start_ts\": 1000,\n"
      "  \"nodes\": [";
  for (size_t i = 0; i < nodes.size(); ++i) absl::StrAppend(&text, i == 0 ? "\n" : ",\n", nodes[i]);
  return text + "\n  ],\n  \"finish_ts\": 2000\n}\n";
}

std::string Node(uint64_t id, absl::string_view raw_name, uint64_t parent) {
  return absl::StrCat(
      "      {\n        \"id\": ", id, ", \"name\": \"", raw_name, "\", \"ctrl_deps\": ", parent,
      ",\n        \"inputs\": {\"values\": [[7,8,0,64,4,\"cuda:0\"],[-1],1.500000], \"shapes\": [[64],[[]],[]], "
      "\"types\": [\"Tensor(float)\",\"GenericList[Int]\",\"Double\"], \"strides\": [[1],[[]],[]]},\n"
      "        \"outputs\": {\"values\": [], \"shapes\": [], \"types\": [], \"strides\": []},\n"
      "        \"attrs\": [{\"name\": \"rf_id\", \"type\": \"uint64\", \"value\": 6},"
      "{\"name\": \"seq_id\", \"type\": \"int64\", \"value\": -1},"
      "{\"name\": \"op_schema\", \"type\": \"string\", \"value\": \"aten::view(Tensor(a) self) -> Tensor(a)\"}]\n      "
      "}");
}

std::string Root() { return Node(1, "[pytorch|profiler|execution_trace|process]", 1); }

TEST(PytorchEtTest, ReadsNestedNodes) {
  ImportReport report;
  const absl::StatusOr<Graph> graph = Read(File({Node(5, "aten::view", 1), Root()}), {.strict = true}, &report);
  ASSERT_TRUE(graph.ok()) << graph.status();
  Graph want;
  want.AddTextAttribute("schema", AttributeType::kString, "1.1.1-chakra.0.0.4");
  want.AddAttribute("pid", AttributeType::kUint64, 10);
  want.AddTextAttribute("time", AttributeType::kString, "2024-05-01 10:00:00");
  want.AddAttribute("start_ts", AttributeType::kUint64, 1000);
  want.AddAttribute("finish_ts", AttributeType::kUint64, 2000);
  const auto add = [&](uint64_t id, absl::string_view name) {
    Graph::Node& node = want.AddNode(id, name);
    node.inputs.values = want.strings.Intern("[[7,8,0,64,4,\"cuda:0\"],[-1],1.500000]");
    node.inputs.shapes = want.strings.Intern("[[64],[[]],[]]");
    node.inputs.types = want.strings.Intern("[\"Tensor(float)\",\"GenericList[Int]\",\"Double\"]");
    node.inputs.strides = want.strings.Intern("[[1],[[]],[]]");
    const StringId empty = want.strings.Intern("[]");
    node.outputs = {empty, empty, empty, empty};
    want.AddControlDep(1);
    want.AddAttribute("rf_id", AttributeType::kUint64, 6);
    want.AddAttribute("seq_id", AttributeType::kInt64, static_cast<uint64_t>(-1));
    want.AddTextAttribute("op_schema", AttributeType::kString, "aten::view(Tensor(a) self) -> Tensor(a)");
  };
  add(5, "aten::view");
  add(1, "[pytorch|profiler|execution_trace|process]");
  EXPECT_EQ(FirstDifference(*graph, want), "");
  EXPECT_EQ(report.seen, 2u);
  EXPECT_EQ(report.imported, 2u);
  EXPECT_TRUE(report.entries().empty()) << report.ToText();
}

TEST(PytorchEtTest, ReadsFlatNodes) {
  const absl::StatusOr<Graph> graph = Read(
      R"json({"schema": "1.0.1", "nodes": [
        {"name": "aten::add", "id": 12, "rf_id": 3, "parent": 2, "fw_parent": 0, "seq_id": -1, "scope": 0, "tid": 1,
         "fw_tid": 0, "op_schema": "aten::add", "inputs": [[5, 6, 0, 2, 4, "cpu"]], "input_shapes": [[2]],
         "input_types": ["Tensor(float)"], "outputs": [], "output_shapes": [], "output_types": []}]
})json");
  ASSERT_TRUE(graph.ok()) << graph.status();
  ASSERT_EQ(graph->nodes().size(), 1u);
  const Graph::Node& node = graph->nodes()[0];
  EXPECT_EQ(node.id, 12u);
  EXPECT_EQ(graph->name(0), "aten::add");
  EXPECT_EQ(graph->control_deps(0), (std::vector<uint64_t>{2}));
  EXPECT_EQ(graph->Text(node.inputs.values), "[[5,6,0,2,4,\"cpu\"]]");
  EXPECT_EQ(graph->Text(node.inputs.shapes), "[[2]]");
  EXPECT_EQ(graph->Text(node.inputs.types), "[\"Tensor(float)\"]");
  EXPECT_EQ(node.inputs.strides, kNoString);
  EXPECT_EQ(graph->Text(node.outputs.types), "[]");
  EXPECT_EQ(graph->FindAttribute(0, "rf_id")->type, AttributeType::kUint64);
  EXPECT_EQ(graph->FindAttribute(0, "seq_id")->type, AttributeType::kInt64);
  EXPECT_EQ(graph->IntAttribute(0, "seq_id", 7), -1);
  EXPECT_EQ(graph->FindAttribute(0, "op_schema")->type, AttributeType::kString);
}

TEST(PytorchEtTest, KeysThatAreNotKnownBecomeAttributes) {
  const absl::StatusOr<Graph> graph = Read(
      R"json({"schema": "x", "nodes": [{"id": 1, "name": "a", "ctrl_deps": null, "ts": 18446744073709551615, "dur": 1.5,
          "sync": [1, 2], "cat": "kernel", "is": true, "none": null, "phase": {"a" : 1}}]})json");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto type = [&](absl::string_view name) { return graph->FindAttribute(0, name)->type; };
  EXPECT_TRUE(graph->control_deps(0).empty());
  EXPECT_EQ(type("ts"), AttributeType::kUint64);
  EXPECT_EQ(graph->FindAttribute(0, "ts")->value, UINT64_MAX);
  EXPECT_EQ(type("dur"), AttributeType::kDouble);
  EXPECT_EQ(type("sync"), AttributeType::kString);
  EXPECT_EQ(graph->Text(graph->FindAttribute(0, "sync")->text()), "[1,2]");
  EXPECT_EQ(type("cat"), AttributeType::kString);
  EXPECT_EQ(type("is"), AttributeType::kBool);
  EXPECT_EQ(type("none"), AttributeType::kNone);
  EXPECT_EQ(graph->Text(graph->FindAttribute(0, "phase")->text()), "{\"a\":1}");
}

TEST(PytorchEtTest, ValuesThatAreNotOfTheirTypeGetTheirOwn) {
  ImportReport report;
  const absl::StatusOr<Graph> graph = Read(
      R"json({"schema": "x", "nodes": [{"id": 1, "name": "a", "ctrl_deps": 1, "attrs": [
          {"name": "a", "type": "uint64", "value": -1}, {"name": "b", "type": "int64", "value": "text"},
          {"name": "c", "type": "tensor", "value": 3}, {"name": "d", "type": "double", "value": 3},
          {"name": "e", "type": "bool", "value": 1}, {"name": "f", "type": "uint32", "value": 4294967296},
          {"name": "g", "type": "uint32", "value": 4294967295}]}]})json",
      {}, &report);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const std::vector<AttributeType> want = {AttributeType::kInt64,  AttributeType::kString, AttributeType::kInt64,
                                           AttributeType::kDouble, AttributeType::kBool,   AttributeType::kInt64,
                                           AttributeType::kUint32};
  for (size_t i = 0; i < want.size(); ++i) EXPECT_EQ(graph->attributes(0)[i].type, want[i]) << i;
  double d;
  std::memcpy(&d, &graph->attributes(0)[3].value, sizeof d);
  EXPECT_EQ(d, 3.0);
  ASSERT_NE(report.Find("attribute_type_mismatch"), nullptr);
  EXPECT_EQ(report.Find("attribute_type_mismatch")->count, 4u);
}

TEST(PytorchEtTest, NamesThatAreNotEscapedAreTakenAsTheyStand) {
  for (const absl::string_view name : {
           "load \"train\" split",
           "C:\\data",         // no escape of JSON
           "ends with \\",     // would escape the quote
           "\"",               //
           "a\", \"b\": \"c",  // valid JSON, but of another node
           "a\", \"ctrl_deps\": 5, b",
           "{\"id\": 3}",
           "two\nlines and a \"quote\"",
           "\\",
       }) {
    const std::string text = File({Node(2, "before", 1), Node(3, name, 1), Node(4, "behind", 3), Root()});
    ImportReport report;
    const absl::StatusOr<Graph> graph = Read(text, {}, &report);
    ASSERT_TRUE(graph.ok()) << name << ": " << graph.status();
    ASSERT_EQ(graph->nodes().size(), 4u) << name;
    EXPECT_EQ(graph->name(1), name);
    EXPECT_EQ(graph->control_deps(1), (std::vector<uint64_t>{1}));
    EXPECT_EQ(graph->attributes(1).size(), 3u) << name;
    const ImportReport::Entry* const entry = report.Find("unescaped_name");
    ASSERT_NE(entry, nullptr) << name;
    EXPECT_EQ(entry->count, 1u);
    EXPECT_EQ(text.substr(entry->first_offsets[0], name.size()), name);
    const absl::Status strict = Read(text, {.strict = true}).status();
    EXPECT_TRUE(absl::IsInvalidArgument(strict)) << strict;
    EXPECT_THAT(std::string(strict.message()), HasSubstr("unescaped_name"));
    // However the bytes arrive.
    io::SlowSource slow(text, 13, "t.json");
    const absl::StatusOr<Graph> again = ReadPytorchEt(slow, {}, nullptr);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(FirstDifference(*graph, *again), "");
  }
}

TEST(PytorchEtTest, NamesThatAreEscapedAreRead) {
  ImportReport report;
  const absl::StatusOr<Graph> graph = Read(File({Node(3, "a \\\"quoted\\\" \\\\ \\u00e4", 1), Root()}), {}, &report);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->name(0), "a \"quoted\" \\ \xc3\xa4");
  EXPECT_EQ(report.Find("unescaped_name"), nullptr);
}

TEST(PytorchEtTest, ConfinedDamageIsMended) {
  std::string text = File({Node(3, "line\nfeed", 1), Node(4, "not utf-8 \xff", 1), Root() + ","});
  ImportReport report;
  const absl::StatusOr<Graph> graph = Read(text, {}, &report);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->nodes().size(), 3u);
  EXPECT_EQ(graph->name(0), "line\nfeed");
  EXPECT_EQ(graph->name(1), "not utf-8 \xef\xbf\xbd");
  for (const absl::string_view reason : {"control_character", "invalid_utf8", "trailing_comma"}) {
    ASSERT_NE(report.Find(reason), nullptr) << reason;
    EXPECT_EQ(report.Find(reason)->count, 1u) << reason;
  }
  EXPECT_FALSE(Read(text, {.strict = true}).ok());
}

TEST(PytorchEtTest, OddLinksAreNoted) {
  ImportReport report;
  const absl::StatusOr<Graph> graph = Read(File({Node(3, "orphan", 2), Node(7, "one", 1), Node(7, "other", 1),
                                                 Node(8, "child", 7), Node(9, "a", 10), Node(10, "b", 9), Root()}),
                                           {}, &report);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->nodes().size(), 7u);
  for (const absl::string_view reason :
       {"missing_node", "duplicate_node_id", "ambiguous_dependency", "dependency_cycle"}) {
    EXPECT_NE(report.Find(reason), nullptr) << reason;
  }
}

TEST(PytorchEtTest, ListsThatPytorchCutAndUnequalOnesAreNoted) {
  std::string list = "[";
  for (int i = 0; i < 4096; ++i) absl::StrAppend(&list, i == 0 ? "" : ",", i);
  list += "]";
  const std::string text = File({absl::StrReplaceAll(Node(3, "a", 1), {{"[-1]", list}}),
                                 absl::StrReplaceAll(Node(4, "b", 1), {{"[-1],", ""}}), Root()});
  ImportReport report;
  ASSERT_TRUE(Read(text, {}, &report).ok());
  ASSERT_NE(report.Find("truncated_list"), nullptr);
  EXPECT_EQ(report.Find("truncated_list")->count, 1u);
  ASSERT_NE(report.Find("unequal_lists"), nullptr);
  EXPECT_EQ(report.Find("unequal_lists")->count, 1u);
}

TEST(PytorchEtTest, ACutFileIsAnErrorOrEndsWithItsLastWholeNode) {
  const std::string whole = File({Node(3, "one", 1), Node(4, "two", 1), Root()});
  const size_t first_end = whole.find("      }") + 7;
  for (size_t size = 0; size + 1 < whole.size(); ++size) {
    const absl::StatusOr<Graph> graph = Read(whole.substr(0, size));
    ASSERT_FALSE(graph.ok()) << size;
    EXPECT_EQ(absl::IsDataLoss(graph.status()), size > 0) << size << graph.status();
    ImportReport report;
    const absl::StatusOr<Graph> salvaged = Read(whole.substr(0, size), {.salvage = true}, &report);
    ASSERT_EQ(salvaged.ok(), size >= first_end) << size << salvaged.status();
    if (!salvaged.ok()) continue;
    EXPECT_GE(salvaged->nodes().size(), 1u);
    EXPECT_TRUE(report.salvaged);
    EXPECT_TRUE(report.IsBalanced());
  }
  EXPECT_THAT(std::string(Read(whole.substr(0, first_end + 100)).status().message()),
              HasSubstr("(1 whole node precedes)"));
}

TEST(PytorchEtTest, SalvageSkipsNodesThatCantBeRead) {
  const std::string good = File({Node(3, "one", 1), Node(4, "two", 1), Node(5, "three", 1), Root()});
  const size_t at = good.find("\"id\": 4");
  // A second writer's text in the middle of a node.
  const std::string bad = good.substr(0, at + 200) + "\n#!garbage\"" + good.substr(at + 200);
  const absl::Status status = Read(bad).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("(1 whole node precedes)"));
  ImportReport report;
  const absl::StatusOr<Graph> graph = Read(bad, {.salvage = true}, &report);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->nodes().size(), 3u);
  EXPECT_EQ(report.seen, 4u);
  EXPECT_EQ(report.skipped(), 1u);
  EXPECT_TRUE(report.IsBalanced());
  EXPECT_TRUE(report.salvaged);
}

TEST(PytorchEtTest, ErrorsSayTheByte) {
  const std::string good = File({Node(3, "one", 1), Node(4, "two", 1), Root()});
  for (const absl::string_view number : {"18446744073709551616", "-1", "\"x\""}) {
    const size_t at = good.find("\"id\": 4") + 6;
    const std::string bad = good.substr(0, at) + std::string(number) + good.substr(at + 1);
    const absl::Status status = Read(bad).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_EQ(std::string(status.message()).substr(0, 8 + absl::StrCat(at).size()), absl::StrCat("t.json:", at, ":"))
        << status;
  }
}

TEST(PytorchEtTest, SalvageIsLinearInBrokenNodes) {
  // None of them is laid out so that its name could be mended. A search to the end of the text for each would take
  // hours.
  std::string text = "{\"schema\": \"x\", \"nodes\": [{\"id\":1,\"name\":\"whole\",\"ctrl_deps\":1}";
  for (int i = 0; i < 100'000; ++i) text += ",{\"id\":2,\"name\":\"x\"1\"y\",\"ctrl_deps\":0}";
  ImportReport report;
  const absl::StatusOr<Graph> graph = Read(text + "]}", {.salvage = true}, &report);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->nodes().size(), 1u);
  // Behind the last there is none to go on with.
  EXPECT_EQ(report.skipped(), 99'999u);
  EXPECT_NE(report.Find("trailing_damage"), nullptr);
}

TEST(PytorchEtTest, OtherFilesAreRefused) {
  for (const absl::string_view text :
       {"", "[]", "{", "{}", "{\"schema\": \"x\"}", "{\"schema\": \"x\", \"nodes\": {}}", "{\"nodes\": [1]}",
        "{\"nodes\": [{\"name\": \"no id\"}]}", "{\"nodes\": [{\"id\": -1}]}", "{\"nodes\": [{\"id\": 1.5}]}",
        "{\"nodes\": []} {}", "{\"nodes\": [{\"id\": 99999999999999999999}]}"}) {
    const absl::Status status = Read(text).status();
    EXPECT_FALSE(status.ok()) << text;
    EXPECT_EQ(std::string(status.message()).substr(0, 7), "t.json:") << status;
  }
  EXPECT_TRUE(Read("{\"nodes\": []}").ok());
}

TEST(PytorchEtTest, LargeNodesCrossTheBuffer) {
  std::vector<std::string> nodes;
  for (uint64_t id = 2; id < 8; ++id) {
    nodes.push_back(Node(id, std::string(400'000 * id, static_cast<char>('a' + id)), 1));
  }
  nodes.push_back(Root());
  const absl::StatusOr<Graph> graph = Read(File(nodes));
  ASSERT_TRUE(graph.ok()) << graph.status();
  for (uint64_t id = 2; id < 8; ++id) EXPECT_EQ(graph->name(id - 2).size(), 400'000 * id);
}

TEST(PytorchEtTest, SniffsItsOwn) {
  EXPECT_EQ(SniffPytorchEt(File({Root()})), 95);
  EXPECT_EQ(SniffPytorchEt("{\"schema\": \"1.0.1\", \"nodes\": ["), 95);
  EXPECT_EQ(SniffPytorchEt("{\"schemaVersion\": 1, \"nodes\": ["), 0);
  EXPECT_EQ(SniffPytorchEt("{\"traceEvents\": [{\"schema\": 1"), 0);
  EXPECT_EQ(SniffPytorchEt("{\"nodes\": [{\"id\": 1}]}"), 0);
  EXPECT_EQ(SniffPytorchEt(""), 0);
  EXPECT_EQ(SniffPytorchEt("{\"schema\": \"x\""), 0);
}

}  // namespace
}  // namespace tracekiln::pytorch_et
