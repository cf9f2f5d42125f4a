// Graphs in .kiln files, alone and beside rows and a profile.

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/intermediate/graph.h"
#include "formats/intermediate/kiln_reader.h"
#include "formats/intermediate/kiln_records.h"
#include "formats/intermediate/kiln_writer.h"
#include "formats/intermediate/profile.h"
#include "formats/intermediate/testing/graph_equality.h"
#include "formats/intermediate/testing/graph_generator.h"
#include "formats/intermediate/testing/profile_equality.h"
#include "formats/intermediate/testing/profile_generator.h"
#include "formats/intermediate/trace_source.h"
#include "formats/io/byte_sink.h"
#include "formats/io/executor.h"
#include "formats/io/random_access.h"
#include "gtest/gtest.h"

namespace tracekiln::kiln {
namespace {

std::string Write(const Graph* graph, const Profile* profile, bool finish = true) {
  std::string bytes;
  io::StringSink sink(&bytes);
  io::InlineExecutor executor;
  {
    KilnWriter writer(sink, {}, executor);
    if (graph != nullptr) {
      EXPECT_EQ(writer.WriteGraph(*graph), absl::OkStatus());
    }
    if (profile != nullptr) {
      EXPECT_EQ(writer.WriteProfile(*profile), absl::OkStatus());
    }
    if (finish) {
      EXPECT_EQ(writer.Finish(TraceInfo()), absl::OkStatus());
    }
  }
  EXPECT_EQ(sink.Close(), absl::OkStatus());
  return bytes;
}

absl::StatusOr<std::unique_ptr<KilnReader>> Read(const std::string& bytes, const ReadOptions& options = {}) {
  static io::InlineExecutor executor;
  return KilnReader::Open(io::MakeMemoryFile(bytes, "t.kiln"), options, executor);
}

TEST(GraphFileTest, GraphAndProfileComeBack) {
  const Profile profile = GenerateProfile(3, 40);
  for (const Graph& graph : {GenerateGraph(1, 300), GenerateOperatorGraph(2, 2'000), Graph()}) {
    for (const Profile* with : {static_cast<const Profile*>(nullptr), &profile}) {
      const std::string bytes = Write(&graph, with);
      const auto reader = Read(bytes, {.strict = true});
      ASSERT_TRUE(reader.ok()) << reader.status();
      ASSERT_NE((*reader)->graph(), nullptr);
      EXPECT_EQ(FirstDifference(*(*reader)->graph(), graph), "");
      ASSERT_EQ((*reader)->profile() != nullptr, with != nullptr);
      if (with != nullptr) {
        EXPECT_EQ(FirstDifference(*(*reader)->profile(), profile), "");
      }
      EXPECT_EQ((*reader)->info().report.imported, 0u) << "nodes are no events of a timeline";
      // A source with a graph is written with it.
      std::string again;
      io::StringSink sink(&again);
      io::InlineExecutor executor;
      ASSERT_EQ(WriteKiln(**reader, {}, sink, executor), absl::OkStatus());
      ASSERT_EQ(sink.Close(), absl::OkStatus());
      const auto copy = Read(again, {.strict = true});
      ASSERT_TRUE(copy.ok()) << copy.status();
      ASSERT_NE((*copy)->graph(), nullptr);
      EXPECT_EQ(FirstDifference(*(*copy)->graph(), graph), "");
    }
  }
  const auto without = Read(Write(nullptr, &profile));
  ASSERT_TRUE(without.ok());
  EXPECT_EQ((*without)->graph(), nullptr);
}

TEST(GraphFileTest, ASecondGraphIsRefused) {
  std::string bytes;
  io::StringSink sink(&bytes);
  io::InlineExecutor executor;
  KilnWriter writer(sink, {}, executor);
  const Graph graph = GenerateGraph(6, 4);
  EXPECT_EQ(writer.WriteGraph(graph), absl::OkStatus());
  EXPECT_TRUE(absl::IsFailedPrecondition(writer.WriteGraph(graph)));
}

TEST(GraphFileTest, ATornGraphIsNone) {
  Graph graph;
  for (uint64_t i = 0; i < 3; ++i) {
    graph.AddNode(i, "n").inputs.values = graph.strings.Intern(std::string(5 << 20, static_cast<char>('a' + i)));
  }
  const std::string whole = Write(&graph, nullptr);
  const auto reader = Read(whole);
  ASSERT_TRUE(reader.ok());
  ASSERT_GE((*reader)->chunks().size(), 3u);
  const IndexEntry first = (*reader)->chunks()[0], last = (*reader)->chunks().back();
  for (const uint64_t size :
       {first.parts_offset + first.header.parts_bytes(), last.offset + 9, last.parts_offset + 1}) {
    const auto torn = Read(whole.substr(0, size));
    ASSERT_TRUE(torn.ok()) << torn.status();
    EXPECT_EQ((*torn)->graph(), nullptr);
    const ImportReport::Entry* const entry = (*torn)->info().report.Find("torn_graph");
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(entry->first_offsets[0], first.offset);
    EXPECT_FALSE(Read(whole.substr(0, size), {.strict = true}).ok());
  }
  // Whole, but for the index.
  const auto unfinished = Read(Write(&graph, nullptr, /*finish=*/false));
  ASSERT_TRUE(unfinished.ok());
  ASSERT_NE((*unfinished)->graph(), nullptr);
  EXPECT_EQ(FirstDifference(*(*unfinished)->graph(), graph), "");
}

TEST(GraphFileTest, ADamagedGraphIsAnErrorOrLeftOutAsAWhole) {
  const Graph graph = GenerateGraph(8, 60);
  const Profile profile = GenerateProfile(8, 60);
  std::string bytes = Write(&graph, &profile);
  const auto reader = Read(bytes);
  ASSERT_TRUE(reader.ok());
  const IndexEntry entry = (*reader)->chunks()[0];
  ASSERT_EQ(entry.header.section, kGraphSection);
  char& byte = bytes[entry.parts_offset + entry.header.parts_bytes() / 2];
  byte = static_cast<char>(byte ^ 4);
  EXPECT_TRUE(absl::IsDataLoss(Read(bytes).status()));
  const auto salvaged = Read(bytes, {.salvage = true});
  ASSERT_TRUE(salvaged.ok()) << salvaged.status();
  EXPECT_EQ((*salvaged)->graph(), nullptr);
  ASSERT_NE((*salvaged)->profile(), nullptr);
  EXPECT_EQ(FirstDifference(*(*salvaged)->profile(), profile), "");
  EXPECT_TRUE((*salvaged)->info().report.salvaged);
  EXPECT_NE((*salvaged)->info().report.Find("damaged_graph"), nullptr);
}

}  // namespace
}  // namespace tracekiln::kiln
