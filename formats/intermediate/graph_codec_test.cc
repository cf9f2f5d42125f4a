#include "formats/intermediate/graph_codec.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "formats/intermediate/chunk_codec.h"
#include "formats/intermediate/graph.h"
#include "formats/intermediate/kiln_records.h"
#include "formats/intermediate/part_codec.h"
#include "formats/intermediate/testing/graph_equality.h"
#include "formats/intermediate/testing/graph_generator.h"
#include "formats/intermediate/wire.h"
#include "gtest/gtest.h"

namespace tracekiln::kiln {
namespace {

struct Chunk {
  ChunkHeader header;
  std::string parts;
};

std::vector<Chunk> MustEncode(const Graph& graph) {
  std::vector<Chunk> chunks;
  const absl::Status status =
      EncodeGraph(graph, {.zstd_level = 1}, [&](const ChunkHeader& header, absl::string_view parts) {
        chunks.push_back({header, std::string(parts)});
      });
  EXPECT_EQ(status, absl::OkStatus());
  return chunks;
}

absl::StatusOr<Graph> Decode(const std::vector<Chunk>& chunks) {
  GraphDecoder decoder;
  for (const Chunk& chunk : chunks) {
    // Headers as a reader sees them.
    ChunkHeader header;
    if (absl::Status s = DecodeChunkHeader(EncodeChunkHeader(chunk.header), &header); !s.ok()) return s;
    if (absl::Status s = decoder.Add(header, chunk.parts, "t.kiln", 1000); !s.ok()) return s;
  }
  return std::move(decoder).Finish("t.kiln");
}

void ExpectSame(const Graph& graph) {
  const std::vector<Chunk> chunks = MustEncode(graph);
  const absl::StatusOr<Graph> decoded = Decode(chunks);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  ASSERT_EQ(FirstDifference(graph, *decoded), "");
  // Ids are normal after decoding: the same bytes come out again.
  const std::vector<Chunk> again = MustEncode(*decoded);
  ASSERT_EQ(again.size(), chunks.size());
  for (size_t i = 0; i < chunks.size(); ++i) ASSERT_EQ(again[i].parts, chunks[i].parts) << i;
}

TEST(GraphCodecTest, DecodesWhatWasEncoded) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    ASSERT_NO_FATAL_FAILURE(ExpectSame(GenerateGraph(seed, seed * 7 % 200))) << seed;
    ASSERT_NO_FATAL_FAILURE(ExpectSame(GenerateOperatorGraph(seed, 4 + seed * 3))) << seed;
  }
}

TEST(GraphCodecTest, AnEmptyGraphIsAChunk) {
  EXPECT_EQ(MustEncode(Graph()).size(), 1u);
  ExpectSame(Graph());
}

// Few nodes with much text: `chunks` of them.
Graph GraphOfChunks(size_t chunks) {
  Graph graph;
  graph.AddAttribute("pid", AttributeType::kUint64, 1);
  for (uint64_t i = 0; i < chunks; ++i) {
    graph.AddNode(i, "small");
    graph.AddNode(100 + i, "large").inputs.values =
        graph.strings.Intern(std::string(5 << 20, static_cast<char>('a' + i)));
    graph.AddControlDep(i);
    graph.AddAttribute("i", AttributeType::kInt64, i);
  }
  return graph;
}

TEST(GraphCodecTest, LargeGraphsAreCutIntoChunksWithinTheLimits) {
  const Graph graph = GenerateOperatorGraph(1, 66'000);
  const std::vector<Chunk> chunks = MustEncode(graph);
  EXPECT_EQ(chunks.size(), 2u);
  uint64_t row = 0;
  for (const Chunk& chunk : chunks) {
    EXPECT_LE(chunk.header.rows, 65'536u);
    EXPECT_EQ(chunk.header.first_row, row);
    row += chunk.header.rows;
  }
  const absl::StatusOr<Graph> decoded = Decode(chunks);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  ASSERT_EQ(decoded->nodes().size(), graph.nodes().size());
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    ASSERT_EQ(decoded->name(i), graph.name(i));
    ASSERT_EQ(decoded->Text(decoded->nodes()[i].inputs.values), graph.Text(graph.nodes()[i].inputs.values));
    ASSERT_EQ(decoded->control_deps(i), graph.control_deps(i));
    ASSERT_EQ(decoded->IntAttribute(i, "seq_id", 7), graph.IntAttribute(i, "seq_id", 8));
  }
}

TEST(GraphCodecTest, LongTextsAndManyDependenciesMakeMoreChunks) {
  Graph graph;
  for (uint64_t i = 0; i < 5; ++i) {
    graph.AddNode(i, "n");
    for (int n = 0; n < 400'000; ++n) graph.AddDataDep(i);
  }
  EXPECT_EQ(MustEncode(graph).size(), 2u);
  ExpectSame(graph);
  EXPECT_EQ(MustEncode(GraphOfChunks(3)).size(), 3u);
  ExpectSame(GraphOfChunks(3));
}

TEST(GraphCodecTest, EveryNodeMayHaveAttributesOfItsOwn) {
  Graph graph;
  for (uint64_t i = 0; i < 1000; ++i) {
    graph.AddNode(i, "n");
    for (int n = 0; n < 3; ++n) graph.AddAttribute(absl::StrCat("a", i, " ", n), AttributeType::kInt64, i);
  }
  ExpectSame(graph);
}

TEST(GraphCodecTest, ANodeTakesAFewBytes) {
  const Graph graph = GenerateOperatorGraph(3, 5'000);
  size_t bytes = 0;
  for (const Chunk& chunk : MustEncode(graph)) bytes += chunk.parts.size();
  EXPECT_LT(bytes, 20 * graph.nodes().size());
}

TEST(GraphCodecTest, MoreAttributesThanAllowedAreAnError) {
  Graph graph;
  graph.AddNode(1, "n");
  for (size_t i = 0; i <= Graph::kMaxAttributes; ++i) graph.AddAttribute("a", AttributeType::kInt64, i);
  EXPECT_EQ(EncodeGraph(graph, {}, [](const ChunkHeader&, absl::string_view) {}).code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(GraphCodecTest, ChunksThatAreMissingOrOutOfOrderAreErrors) {
  const std::vector<Chunk> chunks = MustEncode(GraphOfChunks(3));
  ASSERT_EQ(chunks.size(), 3u);
  EXPECT_EQ(Decode({chunks.begin(), chunks.end() - 1}).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Decode({chunks.begin() + 1, chunks.end()}).status().code(), absl::StatusCode::kInvalidArgument);
  std::vector<Chunk> swapped = chunks;
  std::swap(swapped[0], swapped[1]);
  EXPECT_EQ(Decode(swapped).status().code(), absl::StatusCode::kInvalidArgument);
  std::vector<Chunk> twice = chunks;
  twice.push_back(chunks.back());
  EXPECT_EQ(Decode(twice).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Decode({}).status().code(), absl::StatusCode::kDataLoss);
  std::vector<Chunk> mixed = {chunks[0], MustEncode(GraphOfChunks(4))[1]};
  EXPECT_EQ(Decode(mixed).status().message(), "t.kiln:1000: a chunk of another graph");
}

TEST(GraphCodecTest, DamageIsAnErrorOfTheChecksum) {
  const std::vector<Chunk> chunks = MustEncode(GenerateGraph(4, 12));
  ASSERT_EQ(chunks.size(), 1u);
  for (size_t i = 0; i < chunks[0].parts.size(); ++i) {
    std::vector<Chunk> bad = chunks;
    bad[0].parts[i] = static_cast<char>(bad[0].parts[i] ^ 0x10);
    EXPECT_EQ(Decode(bad).status().code(), absl::StatusCode::kDataLoss) << i;
    bad[0].parts = chunks[0].parts.substr(0, i);
    EXPECT_EQ(Decode(bad).status().code(), absl::StatusCode::kDataLoss) << i;
  }
}

TEST(GraphCodecTest, OtherSectionsFeaturesAndMissingPartsAreErrors) {
  Chunk chunk = MustEncode(GenerateGraph(4, 12))[0];
  chunk.header.required_features = 4;
  EXPECT_EQ(Decode({chunk}).status().code(), absl::StatusCode::kUnimplemented);
  chunk.header.required_features = 0;
  chunk.header.section = kProfileSection;
  EXPECT_EQ(Decode({chunk}).status().code(), absl::StatusCode::kUnimplemented);
  chunk.header.section = kGraphSection;
  chunk.header.parts[0].id = 9;
  EXPECT_EQ(Decode({chunk}).status().message(), "t.kiln:1000: the chunk lacks a part");
}

// What a chunk says, for chunks that an honest encoder does not make: nodes 5 "n" and 6 "n", 6 depends on 5, and has an
// attribute a = 9 and an attribute t = "u".
struct Spec {
  std::vector<uint64_t> counts = {2, 1, 0, 2};
  std::vector<uint64_t> head = {1, 1};
  std::vector<uint64_t> extras;
  std::vector<int64_t> sizes = {1, 1, 1, 1};
  std::string text = "natu";
  std::vector<int64_t> ids = {5, 6};
  std::vector<int64_t> types = {4, 4};
  std::vector<uint32_t> names = {0, 2};
  std::vector<uint32_t> shapes_of_nodes = {0, 1};
  std::vector<int64_t> control_counts = {0, 1};
  std::vector<int64_t> control = {1};
  std::vector<uint64_t> shapes = {2, 0, 2, 0, 9, 0, 29};
  std::vector<uint32_t> attribute_texts = {0};
  uint32_t rows = 2;
  uint64_t first_row = 0;
  ColumnId left_out = ColumnId{0};
};

Chunk Make(const Spec& spec) {
  PartEncoder part(1);
  part.Begin();
  ColumnContext context;
  const auto table = [&](ColumnId id, const std::vector<uint64_t>& values) {
    std::string bytes;
    for (const uint64_t value : values) WireWriter(&bytes).Raw(value);
    if (id != spec.left_out) part.EmitTable(id, 0, 0, bytes);
  };
  const auto ints = [&](ColumnId id, const std::vector<int64_t>& values, uint32_t shape = 0, uint32_t field = 0) {
    context.rows = values.size();
    if (id != spec.left_out) part.EncodeInts(id, shape, field, values.data(), context);
  };
  const auto codes = [&](ColumnId id, const std::vector<uint32_t>& values, uint32_t shape = 0, uint32_t field = 0) {
    context.rows = values.size();
    if (id != spec.left_out) part.EncodeCodes(id, shape, field, values.data(), context);
  };
  table(ColumnId::kGraphCounts, spec.counts);
  table(ColumnId::kGraphHead, spec.head);
  if (!spec.extras.empty()) table(ColumnId::kAttributeExtras, spec.extras);
  ints(ColumnId::kNodeId, spec.ids);
  ints(ColumnId::kNodeType, spec.types);
  const std::vector<int64_t> zeros(spec.ids.size(), 0);
  ints(ColumnId::kNodeStart, zeros);
  ints(ColumnId::kNodeDuration, zeros);
  codes(ColumnId::kNodeName, spec.names);
  for (uint32_t id = static_cast<uint32_t>(ColumnId::kNodeInputValues);
       id <= static_cast<uint32_t>(ColumnId::kNodeUnknownFields); ++id) {
    codes(static_cast<ColumnId>(id), std::vector<uint32_t>(spec.ids.size(), 1));
  }
  ints(ColumnId::kControlDepCount, spec.control_counts);
  ints(ColumnId::kControlDep, spec.control);
  ints(ColumnId::kDataDepCount, zeros);
  table(ColumnId::kNodeShapes, spec.shapes);
  codes(ColumnId::kNodeShape, spec.shapes_of_nodes);
  ints(ColumnId::kAttributeNumber, {9}, 1, 0);
  codes(ColumnId::kAttributeText, spec.attribute_texts, 1, 1);
  ints(ColumnId::kStringSizes, spec.sizes, 0, static_cast<uint32_t>(spec.sizes.size()));
  if (spec.left_out != ColumnId::kStringBytes) part.EmitTable(ColumnId::kStringBytes, 0, 0, spec.text);
  Chunk chunk;
  chunk.header.section = kGraphSection;
  chunk.header.first_row = spec.first_row;
  chunk.header.rows = spec.rows;
  chunk.header.foreign_events = spec.rows;
  EXPECT_EQ(part.Finish(PartId::kGraph, &chunk.header, &chunk.parts), absl::OkStatus());
  return chunk;
}

TEST(GraphCodecTest, ReadsTheBytesThatTheSpecificationDescribes) {
  Spec spec;
  spec.extras = {1, 1, 0};
  spec.names = {2, 2};
  const absl::StatusOr<Graph> decoded = Decode({Make(spec)});
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  Graph want;
  want.AddNode(5, "n").type = NodeType::kComp;
  want.AddNode(6, "n").type = NodeType::kComp;
  want.AddControlDep(5);
  want.AddAttribute("a", AttributeType::kInt64, 9);
  want.AddTextAttribute("t", AttributeType::kString, "u");
  want.AddExtra({1, kNoString, want.strings.Intern("n")});
  EXPECT_EQ(FirstDifference(*decoded, want), "");
}

TEST(GraphCodecTest, ChunksThatSayImpossibleThingsAreRefused) {
  struct Case {
    const char* want;
    Spec spec;
  };
  std::vector<Case> cases;
  const auto add = [&](const char* want, auto change) {
    Spec spec;
    change(&spec);
    cases.push_back({want, spec});
  };
  const char* const kCounts = "the counts of a graph are out of range";
  add(kCounts, [](Spec* s) { s->counts = {kMaxGraphRows + 1, 1, 0, 2}; });
  add(kCounts, [](Spec* s) { s->counts = {2, 1, 0, UINT64_MAX}; });
  add(kCounts, [](Spec* s) { s->counts = {2, 1, 0}; });
  add(kCounts, [](Spec* s) { s->counts = {2, 1, 0, 2, 0}; });
  add("a chunk of the graph is missing", [](Spec* s) { s->first_row = 1; });
  add("a chunk has more rows than the graph", [](Spec* s) { s->counts = {1, 1, 0, 2}; });
  add("the counts of a graph don't fit its nodes", [](Spec* s) { s->counts = {2, 2, 0, 2}; });
  add("the counts of a graph don't fit its nodes", [](Spec* s) { s->counts = {2, 1, 1, 2}; });
  add("the counts of a graph don't fit its nodes", [](Spec* s) { s->counts = {2, 1, 0, 3}; });
  add("a node has more dependencies than the graph", [](Spec* s) { s->counts = {2, 0, 0, 2}; });
  add("a node has more dependencies than the graph", [](Spec* s) { s->control_counts = {-1, 1}; });
  add("a node has more dependencies than the graph", [](Spec* s) { s->control_counts = {INT64_MAX, INT64_MAX}; });
  add("a node has more attributes than the graph", [](Spec* s) { s->counts = {2, 1, 0, 1}; });
  add("a column's size does not fit its rows", [](Spec* s) { s->ids = {5, 6, 8}; });
  add("a column's size does not fit its rows", [](Spec* s) { s->control_counts = {1, 1, 5}; });
  add("a column's size does not fit its rows", [](Spec* s) { s->attribute_texts = {0, 3, 2, 4}; });
  add("a node's type is out of range", [](Spec* s) { s->types = {4, int64_t{1} << 31}; });
  add("a string's size is out of range", [](Spec* s) { s->sizes = {1, 1, 1, -1}; });
  add("a text that nothing uses", [](Spec* s) { s->sizes = {1, 1, 1, 1, 0}; });
  add("a text of the graph stands twice", [](Spec* s) { s->text = "nnnn"; });
  add("a column names a text that is not there", [](Spec* s) { s->names = {0, 3}; });
  add("a column names an entry that its table does not have", [](Spec* s) { s->names = {0, 9}; });
  add("a column names a text that is not there", [](Spec* s) { s->sizes = {1, 1, 2}; });
  add("an attribute lacks its text", [](Spec* s) { s->attribute_texts = {1}; });
  add("malformed shapes of nodes", [](Spec* s) { s->shapes = {3, 0, 2, 0, 9, 0, 29}; });
  add("malformed shapes of nodes", [](Spec* s) { s->shapes = {2, 0, 2, 0, 9, 0, 29, 0}; });
  add("malformed shapes of nodes", [](Spec* s) { s->shapes = {2, 0, 1 << 20, 0, 9, 0, 29}; });
  add("an attribute's name or type is out of range", [](Spec* s) { s->shapes = {2, 0, 3, 0, 9, 0, 29}; });
  add("an attribute's name or type is out of range", [](Spec* s) { s->shapes = {2, 0, 2, 0, 9, 0, 33}; });
  add("an attribute's name or type is out of range", [](Spec* s) { s->shapes = {2, 0, 2, 1, 9, 0, 29}; });
  add("a column names an entry that its table does not have", [](Spec* s) { s->shapes_of_nodes = {0, 2}; });
  add("a shape that no node has", [](Spec* s) { s->shapes_of_nodes = {1, 1}; });
  add("a column is missing", [](Spec* s) { s->shapes = {2, 0, 2, 0, 9, 0, 9}; });
  add("malformed head of a graph", [](Spec* s) { s->head = {1}; });
  add("an attribute's name or type is out of range", [](Spec* s) { s->head = {1, 1, 1, 9, 4}; });
  add("malformed head of a graph", [](Spec* s) { s->head = {1, 1, 0, 9}; });
  add("an attribute that is not there has a doc string", [](Spec* s) { s->extras = {2, 1, 1}; });
  add("malformed doc strings", [](Spec* s) { s->extras = {1, 1, 1, 1, 1, 1}; });
  add("malformed doc strings", [](Spec* s) { s->extras = {1, 1, 4}; });
  add("malformed doc strings", [](Spec* s) { s->extras = {1, 1}; });
  for (const ColumnId id :
       {ColumnId::kGraphCounts, ColumnId::kGraphHead, ColumnId::kNodeId, ColumnId::kNodeType, ColumnId::kNodeStart,
        ColumnId::kNodeDuration, ColumnId::kNodeName, ColumnId::kNodeInputValues, ColumnId::kNodeUnknownFields,
        ColumnId::kControlDepCount, ColumnId::kControlDep, ColumnId::kDataDepCount, ColumnId::kNodeShapes,
        ColumnId::kNodeShape, ColumnId::kAttributeNumber, ColumnId::kAttributeText}) {
    add("a column is missing", [&](Spec* s) { s->left_out = id; });
  }
  add("the strings are missing", [](Spec* s) { s->left_out = ColumnId::kStringBytes; });
  for (size_t i = 0; i < cases.size(); ++i) {
    const absl::Status status = Decode({Make(cases[i].spec)}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << i << ": " << cases[i].want;
    EXPECT_NE(std::string(status.message()).find(cases[i].want), std::string::npos)
        << i << ": want " << cases[i].want << ", got " << status;
  }
}

}  // namespace
}  // namespace tracekiln::kiln
