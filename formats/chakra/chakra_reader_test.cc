// Reader and writer against the classes that protoc makes of et_def.proto, and against files nobody should write.
#include "formats/chakra/chakra_reader.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "formats/chakra/chakra_writer.h"
#include "formats/chakra/et_def.pb.h"
#include "formats/intermediate/graph.h"
#include "formats/intermediate/ids.h"
#include "formats/intermediate/import_report.h"
#include "formats/intermediate/testing/graph_equality.h"
#include "formats/intermediate/testing/graph_generator.h"
#include "formats/intermediate/wire.h"
#include "formats/io/byte_sink.h"
#include "formats/io/byte_source.h"
#include "gtest/gtest.h"

namespace tracekiln::chakra {
namespace {

namespace wire = ChakraProtoMsg;

std::string Record(absl::string_view message) {
  std::string record;
  kiln::WireWriter(&record).Raw(message.size());
  return absl::StrCat(record, message);
}

std::string Record(const google::protobuf::Message& message) { return Record(message.SerializeAsString()); }

absl::StatusOr<Graph> Read(const std::string& bytes, const ReadChakraOptions& options = {},
                           ImportReport* report = nullptr) {
  const std::unique_ptr<io::ByteSource> source = io::MakeMemorySource(bytes, "t.et");
  return ReadChakra(*source, options, report);
}

std::string Write(const Graph& graph) {
  std::string bytes;
  io::StringSink sink(&bytes);
  EXPECT_EQ(WriteChakra(graph, sink), absl::OkStatus());
  return bytes;
}

std::string Header() {
  wire::GlobalMetadata metadata;
  metadata.set_version("0.0.4");
  return Record(metadata);
}

// The metadata and nodes of a file, by protobuf's own parser.
struct Parsed {
  wire::GlobalMetadata metadata;
  std::vector<wire::Node> nodes;
};

Parsed Parse(const std::string& bytes) {
  Parsed parsed;
  kiln::WireReader r(bytes);
  for (bool is_first = true; !r.at_end(); is_first = false) {
    const uint64_t size = r.RawVarint();
    const absl::string_view message(r.position(), size);
    for (uint64_t i = 0; i < size; ++i) {
      std::string skipped(r.position(), 1);
      r = kiln::WireReader(absl::string_view(r.position() + 1, bytes.data() + bytes.size() - r.position() - 1));
    }
    if (is_first) {
      EXPECT_TRUE(parsed.metadata.ParseFromArray(message.data(), static_cast<int>(size)));
    } else {
      EXPECT_TRUE(parsed.nodes.emplace_back().ParseFromArray(message.data(), static_cast<int>(size)));
    }
  }
  return parsed;
}

TEST(ChakraTest, ReadsWhatProtobufWrites) {
  wire::GlobalMetadata metadata;
  metadata.set_version("1.0.0");
  auto* attr = metadata.add_attr();
  attr->set_name("schema");
  attr->set_string_val("1.1.1");
  wire::Node node;
  node.set_id(7);
  node.set_name("aten::mm");
  node.set_type(wire::COMM_COLL_NODE);
  node.add_ctrl_deps(1);
  node.add_ctrl_deps(uint64_t{1} << 40);
  node.add_data_deps(3);
  node.set_start_time_micros(11);
  node.set_duration_micros(12);
  node.mutable_inputs()->set_values("v");
  node.mutable_inputs()->set_shapes("s");
  node.mutable_outputs()->set_types("t");
  attr = node.add_attr();
  attr->set_name("comm_type");
  attr->set_int64_val(0);
  const absl::StatusOr<Graph> graph = Read(Record(metadata) + Record(node));
  ASSERT_TRUE(graph.ok()) << graph.status();
  Graph want;
  want.version = want.strings.Intern("1.0.0");
  want.AddTextAttribute("schema", AttributeType::kString, "1.1.1");
  Graph::Node& n = want.AddNode(7, "aten::mm");
  n.type = NodeType::kCommColl;
  n.start_us = 11;
  n.duration_us = 12;
  n.inputs.values = want.strings.Intern("v");
  n.inputs.shapes = want.strings.Intern("s");
  n.outputs.values = want.strings.Intern("");
  n.outputs.types = want.strings.Intern("t");
  want.AddControlDep(1);
  want.AddControlDep(uint64_t{1} << 40);
  want.AddDataDep(3);
  want.AddAttribute("comm_type", AttributeType::kInt64, 0);
  EXPECT_EQ(FirstDifference(*graph, want), "");
}

// One node with an attribute of each type, at its limits.
wire::Node NodeOfAllTypes(bool extremes) {
  wire::Node node;
  node.set_id(1);
  const auto add = [&](const std::string& name) {
    auto* attr = node.add_attr();
    attr->set_name(name);
    return attr;
  };
  using L32 = std::numeric_limits<int32_t>;
  using L64 = std::numeric_limits<int64_t>;
  add("double")->set_double_val(extremes ? -1.5e300 : 0);
  add("float")->set_float_val(extremes ? -3.25f : 0);
  add("int32")->set_int32_val(extremes ? L32::min() : 0);
  add("int64")->set_int64_val(extremes ? L64::min() : 0);
  add("uint32")->set_uint32_val(extremes ? UINT32_MAX : 0);
  add("uint64")->set_uint64_val(extremes ? UINT64_MAX : 0);
  add("sint32")->set_sint32_val(extremes ? L32::min() : 0);
  add("sint64")->set_sint64_val(extremes ? L64::min() : 0);
  add("fixed32")->set_fixed32_val(extremes ? UINT32_MAX : 0);
  add("fixed64")->set_fixed64_val(extremes ? UINT64_MAX : 0);
  add("sfixed32")->set_sfixed32_val(extremes ? L32::min() : 0);
  add("sfixed64")->set_sfixed64_val(extremes ? L64::min() : 0);
  add("bool")->set_bool_val(extremes);
  add("string")->set_string_val(extremes ? "text" : "");
  add("bytes")->set_bytes_val(extremes ? std::string("\0\xff", 2) : "");
  const int count = extremes ? 3 : 0;
#define TRACEKILN_ADD_LIST(field, value)                     \
  {                                                          \
    auto* list = add(#field)->mutable_##field();             \
    for (int i = 0; i < count; ++i) list->add_values(value); \
  }
  TRACEKILN_ADD_LIST(double_list, 1.5)
  TRACEKILN_ADD_LIST(float_list, 1.5f)
  TRACEKILN_ADD_LIST(int32_list, -i)
  TRACEKILN_ADD_LIST(int64_list, L64::min() + i)
  TRACEKILN_ADD_LIST(uint32_list, static_cast<uint32_t>(i))
  TRACEKILN_ADD_LIST(uint64_list, UINT64_MAX)
  TRACEKILN_ADD_LIST(sint32_list, -i)
  TRACEKILN_ADD_LIST(sint64_list, -i)
  TRACEKILN_ADD_LIST(fixed32_list, static_cast<uint32_t>(i))
  TRACEKILN_ADD_LIST(fixed64_list, static_cast<uint64_t>(i))
  TRACEKILN_ADD_LIST(sfixed32_list, -i)
  TRACEKILN_ADD_LIST(sfixed64_list, -i)
  TRACEKILN_ADD_LIST(bool_list, i != 1)
  TRACEKILN_ADD_LIST(string_list, absl::StrCat("s", i))
  TRACEKILN_ADD_LIST(bytes_list, absl::StrCat("b", i))
#undef TRACEKILN_ADD_LIST
  return node;
}

TEST(ChakraTest, AttributesOfAllTypesAreWrittenAsProtobufDoes) {
  for (const bool extremes : {false, true}) {
    const std::string bytes = Header() + Record(NodeOfAllTypes(extremes));
    const absl::StatusOr<Graph> graph = Read(bytes);
    ASSERT_TRUE(graph.ok()) << graph.status();
    ASSERT_EQ(graph->attributes(0).size(), 30u);
    for (const Graph::Attribute& attribute : graph->attributes(0)) {
      EXPECT_EQ(AttributeTypeName(attribute.type), graph->Text(attribute.name));
    }
    EXPECT_EQ(Write(*graph), bytes);
  }
  const absl::StatusOr<Graph> graph = Read(Header() + Record(NodeOfAllTypes(true)));
  EXPECT_EQ(graph->IntAttribute(0, "int32", 0), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(graph->IntAttribute(0, "sint32", 0), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(graph->IntAttribute(0, "sfixed32", 0), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(graph->IntAttribute(0, "sint64", 0), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(graph->IntAttribute(0, "uint32", 0), int64_t{UINT32_MAX});
  EXPECT_EQ(graph->IntAttribute(0, "bool", 0), 1);
  double value;
  std::memcpy(&value, &graph->FindAttribute(0, "double")->value, 8);
  EXPECT_EQ(value, -1.5e300);
}

// What is written is read again, by us and by protobuf.
TEST(ChakraTest, RandomGraphsComeBack) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Graph graph = seed % 2 == 0 ? GenerateGraph(seed, seed) : GenerateOperatorGraph(seed, 4 + seed);
    // Generated unknown fields are no fields at all, and generated lists no lists; see the tests of both.
    const std::string bytes = [&] {
      Graph clean;
      clean.version = clean.strings.Intern("v");
      for (size_t i = 0; i < graph.nodes().size(); ++i) {
        const Graph::Node& from = graph.nodes()[i];
        Graph::Node& node = clean.AddNode(from.id + 1, graph.name(i));
        node.type = from.type;
        node.start_us = from.start_us;
        node.duration_us = from.duration_us;
        if (from.inputs.values != kNoString) node.inputs.values = clean.strings.Intern(graph.Text(from.inputs.values));
        for (const uint64_t dep : graph.control_deps(i)) clean.AddControlDep(dep);
        for (const uint64_t dep : graph.data_deps(i)) clean.AddDataDep(dep);
        for (const Graph::Attribute& a : graph.attributes(i)) {
          if (a.type == AttributeType::kString) {
            clean.AddTextAttribute(graph.Text(a.name), a.type, graph.Text(a.text()));
          } else if (a.type == AttributeType::kUint64 || a.type == AttributeType::kSint64) {
            clean.AddAttribute(graph.Text(a.name), a.type, a.value);
          }
        }
      }
      return Write(clean);
    }();
    const absl::StatusOr<Graph> read = Read(bytes);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(Write(*read), bytes);
    const Parsed parsed = Parse(bytes);
    ASSERT_EQ(parsed.nodes.size(), read->nodes().size());
    for (size_t i = 0; i < parsed.nodes.size(); ++i) {
      const wire::Node& node = parsed.nodes[i];
      EXPECT_EQ(node.id(), read->nodes()[i].id);
      EXPECT_EQ(node.name(), read->name(i));
      EXPECT_EQ(static_cast<int>(node.type()), static_cast<int>(read->nodes()[i].type));
      EXPECT_EQ(std::vector<uint64_t>(node.ctrl_deps().begin(), node.ctrl_deps().end()), read->control_deps(i));
      EXPECT_EQ(std::vector<uint64_t>(node.data_deps().begin(), node.data_deps().end()), read->data_deps(i));
      EXPECT_EQ(static_cast<size_t>(node.attr_size()), read->attributes(i).size());
    }
  }
}

std::string Field(uint32_t field, absl::string_view bytes) {
  std::string out;
  kiln::WireWriter(&out).Bytes(field, bytes);
  return out;
}

std::string Field(uint32_t field, uint64_t number) {
  std::string out;
  kiln::WireWriter(&out).Varint(field, number);
  return out;
}

TEST(ChakraTest, FieldsAndTypesOfNewerSchemasAreKept) {
  const std::string attribute = Field(1, "a") + Field(9, 5) + Field(40, "new value");
  const std::string io = Field(1, "v") + Field(4, "strides");
  const std::string node = Field(1, 3) + Field(3, 9) + Field(11, "storage") + Field(8, io) + Field(10, attribute);
  const std::string metadata = Field(1, "2.0.0") + Field(12, 7);
  const std::string bytes = Record(metadata) + Record(node);
  ImportReport report;
  const absl::StatusOr<Graph> graph = Read(bytes, {.strict = true}, &report);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(static_cast<int>(graph->nodes()[0].type), 9);
  ASSERT_NE(report.Find("unknown_field"), nullptr);
  EXPECT_EQ(report.Find("unknown_field")->count, 3u);
  ASSERT_NE(report.Find("unknown_node_type"), nullptr);
  // Protobuf sees the same in both: unknown fields move to the end, which means nothing.
  const Parsed before = Parse(bytes), after = Parse(Write(*graph));
  ASSERT_EQ(after.nodes.size(), 1u);
  EXPECT_EQ(before.metadata.SerializeAsString(), after.metadata.SerializeAsString());
  EXPECT_EQ(before.nodes[0].SerializeAsString(), after.nodes[0].SerializeAsString());
  EXPECT_NE(after.nodes[0].SerializeAsString().find("strides"), std::string::npos);
  EXPECT_NE(after.nodes[0].SerializeAsString().find("new value"), std::string::npos);
}

TEST(ChakraTest, TextsThatAreNotUtf8AreMended) {
  const std::string node = Field(1, 3) + Field(2, "a\xff") + Field(10, Field(1, "x") + Field(31, "\xff"));
  ImportReport report;
  const absl::StatusOr<Graph> graph = Read(Header() + Record(node), {}, &report);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->name(0), "a\xef\xbf\xbd");
  EXPECT_EQ(graph->Text(graph->attributes(0)[0].text()), "\xff");  // bytes
  ASSERT_NE(report.Find("invalid_utf8"), nullptr);
  EXPECT_EQ(report.Find("invalid_utf8")->count, 1u);
  EXPECT_EQ(report.Find("invalid_utf8")->first_offsets[0], Header().size());
  EXPECT_FALSE(Read(Header() + Record(node), {.strict = true}).ok());
  Graph made;
  made.AddNode(1, "\xc3(");
  EXPECT_EQ(Parse(Write(made)).nodes[0].name(), "\xef\xbf\xbd(");
}

TEST(ChakraTest, DependenciesMayStandOneByOne) {
  const std::string node = Field(1, 9) + Field(4, 1) + Field(5, 2) + Field(4, 3) + Field(4, std::string("\x05\x06"));
  const absl::StatusOr<Graph> graph = Read(Header() + Record(node));
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->control_deps(0), (std::vector<uint64_t>{1, 3, 5, 6}));
  EXPECT_EQ(graph->data_deps(0), (std::vector<uint64_t>{2}));
}

TEST(ChakraTest, TheLastValueOfAnAttributeCounts) {
  const std::string node = Field(1, 9) + Field(10, Field(1, "a") + Field(9, 4) + Field(29, "t") + Field(2, "doc"));
  const absl::StatusOr<Graph> graph = Read(Header() + Record(node));
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->attributes(0)[0].type, AttributeType::kString);
  EXPECT_EQ(graph->Text(graph->attributes(0)[0].text()), "t");
  EXPECT_EQ(graph->Text(graph->extras()[0].doc), "doc");
  // The same list twice has the elements of both.
  const std::string twice =
      Field(1, 9) + Field(10, Field(1, "a") + Field(10, Field(1, 1)) + Field(10, Field(1, std::string("\x02\x03"))));
  const absl::StatusOr<Graph> list = Read(Header() + Record(twice));
  ASSERT_TRUE(list.ok()) << list.status();
  const Parsed parsed = Parse(Write(*list));
  EXPECT_EQ(parsed.nodes[0].attr(0).int64_list().values_size(), 3);
}

TEST(ChakraTest, FilesWithoutMetadataOrNodesAreRead) {
  ImportReport report;
  absl::StatusOr<Graph> graph = Read(Record(Field(1, 1) + Field(2, "first")) + Record(Field(1, 2)), {}, &report);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->nodes().size(), 2u);
  EXPECT_NE(report.Find("no_metadata"), nullptr);
  ImportReport header_only;
  graph = Read(Header(), {}, &header_only);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->Text(graph->version), "0.0.4");
  EXPECT_TRUE(graph->empty());
  EXPECT_NE(header_only.Find("no_nodes"), nullptr);
  EXPECT_EQ(Read("").status().message(), "t.et:0: the file is empty (0 whole nodes precede)");
}

TEST(ChakraTest, ANodeOfNothingButZerosIsANode) {
  Graph graph;
  graph.AddNode(0, "");
  graph.AddNode(0, kNoString);
  const absl::StatusOr<Graph> read = Read(Write(graph));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->nodes().size(), 2u);
  EXPECT_EQ(Parse(Write(graph)).nodes.size(), 2u);
}

TEST(ChakraTest, ZerosBehindTheLastNodeArePadding) {
  const std::string bytes = Header() + Record(Field(1, 2));
  ImportReport report;
  const absl::StatusOr<Graph> graph = Read(bytes + std::string(3'000'000, '\0'), {}, &report);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->nodes().size(), 1u);
  ASSERT_NE(report.Find("zero_padding"), nullptr);
  EXPECT_EQ(report.Find("zero_padding")->first_offsets[0], bytes.size());
  EXPECT_FALSE(Read(bytes + std::string(9, '\0'), {.strict = true}).ok());
  EXPECT_FALSE(Read(bytes + std::string(9, '\0') + Record(Field(1, 3))).ok());
}

TEST(ChakraTest, ACutFileIsAnErrorOrEndsWithItsLastWholeNode) {
  const std::string first = Header() + Record(Field(1, 1) + Field(2, "one"));
  const std::string whole = first + Record(Field(1, 2) + Field(2, std::string(300, 'x')));
  for (size_t size = 1; size < whole.size(); ++size) {
    const std::string cut = whole.substr(0, size);
    const bool is_whole = size == Header().size() || size == first.size();
    const absl::StatusOr<Graph> graph = Read(cut);
    ASSERT_EQ(graph.ok(), is_whole) << size;
    if (is_whole) continue;
    EXPECT_TRUE(absl::IsDataLoss(graph.status())) << graph.status();
    ImportReport report;
    const absl::StatusOr<Graph> salvaged = Read(cut, {.salvage = true}, &report);
    ASSERT_EQ(salvaged.ok(), size > first.size()) << size;
    if (!salvaged.ok()) continue;
    EXPECT_EQ(salvaged->nodes().size(), 1u);
    EXPECT_TRUE(report.salvaged);
    ASSERT_NE(report.Find("trailing_damage"), nullptr);
    EXPECT_EQ(report.Find("trailing_damage")->first_offsets[0], first.size());
    EXPECT_TRUE(report.IsBalanced());
  }
  EXPECT_EQ(Read(whole.substr(0, whole.size() - 1)).status().message(),
            absl::StrCat("t.et:", first.size(), ": expected a record of 305 bytes, got 304 and the end of the file (1 ",
                         "whole node precedes)"));
}

TEST(ChakraTest, MalformedMessagesAreErrorsWithTheirPlace) {
  struct Case {
    absl::string_view want;
    std::string node;
    size_t at;  // in the message
  };
  const std::vector<Case> cases = {
      {"malformed field of a node", Field(1, 1) + "\x12\xff\xff\xff\xff\x07" + "abc", 2},
      {"malformed field of a node", Field(1, 1) + std::string("\x0f"), 2},         // wire type 7
      {"malformed field of a node", Field(1, 1) + std::string("\x00\x01", 2), 2},  // field 0
      {"malformed field of a node", Field(1, "text"), 0},
      {"malformed field of a node", Field(1, 1) + Field(4, std::string("\xff")), 2},
      {"malformed field of a node", Field(1, 1) + std::string("\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), 2},
      {"malformed inputs or outputs of a node", Field(1, 1) + Field(8, std::string("\x0a\x05")), 2},
      {"malformed attribute", Field(1, 1) + Field(10, Field(1, "a") + Field(9, "text")), 7},
      {"malformed attribute", Field(1, 1) + Field(10, Field(1, "a") + Field(10, std::string("\x0f"))), 7},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    const std::string bytes = Header() + Record(Field(1, 5)) + Record(cases[i].node);
    const absl::Status status = Read(bytes).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << i << status;
    EXPECT_EQ(status.message(), absl::StrCat("t.et:", bytes.size() - cases[i].node.size() + cases[i].at, ": ",
                                             cases[i].want, " (1 whole node precedes)"))
        << i;
  }
}

TEST(ChakraTest, SalvagePassesOverRecordsThatAreNoNode) {
  const std::string bytes =
      Header() + Record(Field(1, 1)) + Record(Field(1, 2) + std::string("\x0f")) + Record(Field(1, 3));
  EXPECT_TRUE(absl::IsInvalidArgument(Read(bytes).status()));
  ImportReport report;
  const absl::StatusOr<Graph> graph = Read(bytes, {.salvage = true}, &report);
  ASSERT_TRUE(graph.ok()) << graph.status();
  ASSERT_EQ(graph->nodes().size(), 2u);
  EXPECT_EQ(graph->nodes()[1].id, 3u);
  EXPECT_EQ(report.seen, 3u);
  EXPECT_EQ(report.skipped(), 1u);
  EXPECT_TRUE(report.IsBalanced());
  EXPECT_TRUE(report.salvaged);
}

TEST(ChakraTest, HostileSizesCostNothing) {
  const std::string start = Header() + Record(Field(1, 5));
  std::string size;
  kiln::WireWriter(&size).Raw(uint64_t{1} << 62);
  absl::Status status = Read(start + size + "abc").status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_EQ(status.message().substr(0, 8), absl::StrCat("t.et:", start.size(), ":").substr(0, 8));
  status = Read(start + std::string(10, '\xff') + "\x01").status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  std::string large;
  kiln::WireWriter(&large).Raw(kMaxRecordBytes);
  status = Read(start + large + "abc").status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  std::string many = Field(1, 6);
  for (size_t i = 0; i <= Graph::kMaxAttributes; ++i) many += Field(10, "");
  status = Read(start + Record(many)).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
}

TEST(ChakraTest, LargeRecordsCrossTheBuffer) {
  Graph graph;
  graph.version = graph.strings.Intern("v");
  for (uint64_t i = 1; i < 9; ++i) {
    graph.AddNode(i, "n").inputs.values = graph.strings.Intern(std::string(700'000 * i, static_cast<char>('a' + i)));
  }
  const absl::StatusOr<Graph> read = Read(Write(graph));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(Write(*read), Write(graph));
}

TEST(ChakraTest, SniffsItsOwnAndNothingElse) {
  EXPECT_EQ(SniffChakra(Header()), 85);
  EXPECT_EQ(SniffChakra(Header() + Record(Field(1, 1) + Field(2, "n"))), 85);
  EXPECT_EQ(SniffChakra(Header() + std::string(10, '\xff')), 60);
  EXPECT_EQ(SniffChakra(Record("") + Record(Field(1, 1) + Field(2, "n"))), 85);
  for (const absl::string_view other :
       {"", "{\"traceEvents\": []}", "\n", "\x0a\x05plain", "\x05hello", "[\n", "{}", "plain text, nothing more"}) {
    EXPECT_EQ(SniffChakra(other), 0) << other;
  }
}

}  // namespace
}  // namespace tracekiln::chakra
