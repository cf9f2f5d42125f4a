#include "formats/intermediate/profile_codec.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "formats/intermediate/part_codec.h"
#include "formats/intermediate/profile.h"
#include "formats/intermediate/testing/profile_equality.h"
#include "formats/intermediate/testing/profile_generator.h"
#include "formats/intermediate/wire.h"
#include "gtest/gtest.h"

namespace tracekiln::kiln {
namespace {

struct Chunk {
  ChunkHeader header;
  std::string parts;
};

std::vector<Chunk> MustEncode(const Profile& profile, int level = 1) {
  std::vector<Chunk> chunks;
  const absl::Status status =
      EncodeProfile(profile, {.zstd_level = level}, [&](const ChunkHeader& header, absl::string_view parts) {
        chunks.push_back({header, std::string(parts)});
      });
  EXPECT_EQ(status, absl::OkStatus());
  return chunks;
}

absl::StatusOr<Profile> Decode(const std::vector<Chunk>& chunks) {
  ProfileDecoder decoder;
  for (const Chunk& chunk : chunks) {
    // Headers as a reader sees them.
    ChunkHeader header;
    if (absl::Status s = DecodeChunkHeader(EncodeChunkHeader(chunk.header), &header); !s.ok()) return s;
    if (absl::Status s = decoder.Add(header, chunk.parts, "t.kiln", 1000); !s.ok()) return s;
  }
  return std::move(decoder).Finish("t.kiln");
}

void ExpectSame(const Profile& profile) {
  const std::vector<Chunk> chunks = MustEncode(profile);
  const absl::StatusOr<Profile> decoded = Decode(chunks);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  ASSERT_EQ(FirstDifference(profile, *decoded), "");
  // Ids are normal after decoding: the same bytes come out again.
  const std::vector<Chunk> again = MustEncode(*decoded);
  ASSERT_EQ(again.size(), chunks.size());
  for (size_t i = 0; i < chunks.size(); ++i) ASSERT_EQ(again[i].parts, chunks[i].parts) << i;
}

TEST(ProfileCodecTest, DecodesWhatWasEncoded) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    ASSERT_NO_FATAL_FAILURE(ExpectSame(GenerateProfile(seed, 1 + seed * 7 % 400))) << seed;
    ASSERT_NO_FATAL_FAILURE(ExpectSame(GenerateProgramProfile(seed, 1 + seed * 5))) << seed;
  }
}

TEST(ProfileCodecTest, AnEmptyProfileIsAChunk) {
  EXPECT_EQ(MustEncode(Profile()).size(), 1u);
  ExpectSame(Profile());
}

TEST(ProfileCodecTest, AFunctionWithoutRowOrEdgesComesBack) {
  Profile profile;
  profile.AddFunction("", INT64_MIN, "");
  ExpectSame(profile);
}

TEST(ProfileCodecTest, TheOrderOfRowsIsKeptBesideThatOfFunctions) {
  Profile profile;
  const FunctionId a = profile.AddFunction("a.py", 1, "a"), b = profile.AddFunction("a.py", 2, "b");
  const FunctionId c = profile.AddFunction("a.py", 3, "c");
  profile.AddStats(c, {});
  profile.AddStats(a, {INT64_MAX, INT64_MIN, INT64_MIN, INT64_MAX});
  profile.AddCallerStats(b, a, {1, 0, INT64_MAX, INT64_MIN});
  const absl::StatusOr<Profile> decoded = Decode(MustEncode(profile));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->rows(), (std::vector<FunctionId>{c, a}));
  EXPECT_EQ(FirstDifference(profile, *decoded), "");
}

TEST(ProfileCodecTest, LargeProfilesAreCutIntoChunksWithinTheLimits) {
  for (const size_t functions : {size_t{65'535}, size_t{65'536}, size_t{65'537}}) {
    const Profile profile = GenerateProgramProfile(1, functions);
    const std::vector<Chunk> chunks = MustEncode(profile);
    EXPECT_EQ(chunks.size(), (profile.functions().size() + profile.edges().size() + 65'535) / 65'536);
    const absl::StatusOr<Profile> decoded = Decode(chunks);
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    ASSERT_EQ(FirstDifference(profile, *decoded), "");
  }
}

TEST(ProfileCodecTest, LongTextsMakeMoreChunks) {
  Profile profile;
  for (int i = 0; i < 5; ++i) {
    profile.AddStats(profile.AddFunction("f", i, std::string(3 << 20, static_cast<char>('a' + i))), {1, 1, 1, 1});
  }
  EXPECT_EQ(MustEncode(profile).size(), 3u);
  ExpectSame(profile);
}

// A table in pstats' own format takes 45 to 60 bytes for each of these rows with its name.
TEST(ProfileCodecTest, ARowTakesAFewBytes) {
  const Profile profile = GenerateProgramProfile(3, 20'000);
  size_t bytes = 0;
  for (const Chunk& chunk : MustEncode(profile)) bytes += chunk.parts.size();
  EXPECT_LT(bytes, 13 * (profile.functions().size() + profile.edges().size()));
}

TEST(ProfileCodecTest, ChunksThatAreMissingOrOutOfOrderAreErrors) {
  const std::vector<Chunk> chunks = MustEncode(GenerateProgramProfile(2, 70'000));
  ASSERT_GE(chunks.size(), 3u);
  std::vector<Chunk> without_last(chunks.begin(), chunks.end() - 1);
  EXPECT_EQ(Decode(without_last).status().code(), absl::StatusCode::kDataLoss);
  std::vector<Chunk> without_first(chunks.begin() + 1, chunks.end());
  EXPECT_EQ(Decode(without_first).status().code(), absl::StatusCode::kInvalidArgument);
  std::vector<Chunk> swapped = chunks;
  std::swap(swapped[0], swapped[1]);
  EXPECT_EQ(Decode(swapped).status().code(), absl::StatusCode::kInvalidArgument);
  std::vector<Chunk> twice = chunks;
  twice.push_back(chunks.back());
  EXPECT_EQ(Decode(twice).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Decode({}).status().code(), absl::StatusCode::kDataLoss);
  // Of two profiles.
  std::vector<Chunk> mixed = {chunks[0]};
  for (const Chunk& chunk : MustEncode(GenerateProgramProfile(5, 80'000))) {
    if (chunk.header.first_row == 65'536) mixed.push_back(chunk);
  }
  ASSERT_EQ(mixed.size(), 2u);
  EXPECT_EQ(Decode(mixed).status().message(), "t.kiln:1000: a chunk of another profile");
}

TEST(ProfileCodecTest, DamageIsAnErrorOfTheChecksum) {
  const std::vector<Chunk> chunks = MustEncode(GenerateProfile(4, 12));
  ASSERT_EQ(chunks.size(), 1u);
  for (size_t i = 0; i < chunks[0].parts.size(); ++i) {
    std::vector<Chunk> bad = chunks;
    bad[0].parts[i] = static_cast<char>(bad[0].parts[i] ^ 0x10);
    EXPECT_EQ(Decode(bad).status().code(), absl::StatusCode::kDataLoss) << i;
    bad[0].parts = chunks[0].parts.substr(0, i);
    EXPECT_EQ(Decode(bad).status().code(), absl::StatusCode::kDataLoss) << i;
  }
}

TEST(ProfileCodecTest, OtherSectionsFeaturesAndMissingPartsAreErrors) {
  Chunk chunk = MustEncode(GenerateProfile(4, 12))[0];
  chunk.header.required_features = 4;
  EXPECT_EQ(Decode({chunk}).status().code(), absl::StatusCode::kUnimplemented);
  chunk.header.required_features = 0;
  chunk.header.section = kGraphSection;
  EXPECT_EQ(Decode({chunk}).status().code(), absl::StatusCode::kUnimplemented);
  chunk.header.section = kProfileSection;
  chunk.header.parts[0].id = 9;
  EXPECT_EQ(Decode({chunk}).status().message(), "t.kiln:1000: the chunk lacks a part");
}

// What a chunk says, for chunks that an honest encoder does not make: two functions a:1 f, a:2 g, and g called by f.
struct Spec {
  std::vector<uint64_t> counts = {2, 1, 2};
  std::vector<int64_t> sizes = {1, 1, 1};
  std::string text = "afg";
  std::vector<uint32_t> files = {0, 1};
  std::vector<uint32_t> names = {0, 0};
  std::vector<int64_t> lines = {1, 2};
  std::vector<int64_t> places = {1, 2};
  std::vector<int64_t> calls = {5, 7};
  std::vector<int64_t> callees = {1};
  std::vector<int64_t> callers = {0};
  std::vector<int64_t> edge_calls = {0};
  uint32_t rows = 3;
  uint64_t first_row = 0;
  ColumnId left_out = ColumnId{0};
};

Chunk Make(const Spec& spec) {
  PartEncoder part(1);
  part.Begin();
  ColumnContext context;
  std::string counts;
  for (const uint64_t count : spec.counts) WireWriter(&counts).Raw(count);
  const auto ints = [&](ColumnId id, const std::vector<int64_t>& values, uint32_t field = 0) {
    context.rows = values.size();
    if (id != spec.left_out) part.EncodeInts(id, 0, field, values.data(), context);
  };
  if (spec.left_out != ColumnId::kProfileCounts) part.EmitTable(ColumnId::kProfileCounts, 0, 0, counts);
  ints(ColumnId::kStringSizes, spec.sizes, static_cast<uint32_t>(spec.sizes.size()));
  if (spec.left_out != ColumnId::kStringBytes) part.EmitTable(ColumnId::kStringBytes, 0, 0, spec.text);
  context.rows = spec.files.size();
  if (spec.left_out != ColumnId::kFunctionFile) {
    part.EncodeCodes(ColumnId::kFunctionFile, 0, 0, spec.files.data(), context);
  }
  if (spec.left_out != ColumnId::kFunctionName) {
    part.EncodeCodes(ColumnId::kFunctionName, 0, 0, spec.names.data(), context);
  }
  const std::vector<int64_t> no_time(spec.files.size(), 0), no_edge_time(spec.callees.size(), 0);
  ints(ColumnId::kFunctionLine, spec.lines);
  ints(ColumnId::kFunctionRow, spec.places);
  ints(ColumnId::kFunctionCalls, spec.calls);
  ints(ColumnId::kFunctionRecursions, no_time);
  ints(ColumnId::kFunctionOwn, no_time);
  ints(ColumnId::kFunctionBelow, no_time);
  ints(ColumnId::kEdgeCallee, spec.callees);
  ints(ColumnId::kEdgeCaller, spec.callers);
  ints(ColumnId::kEdgeCalls, spec.edge_calls);
  ints(ColumnId::kEdgeRecursions, no_edge_time);
  ints(ColumnId::kEdgeOwn, no_edge_time);
  ints(ColumnId::kEdgeBelow, no_edge_time);
  Chunk chunk;
  chunk.header.section = kProfileSection;
  chunk.header.first_row = spec.first_row;
  chunk.header.rows = spec.rows;
  chunk.header.foreign_events = spec.rows;
  EXPECT_EQ(part.Finish(PartId::kProfile, &chunk.header, &chunk.parts), absl::OkStatus());
  return chunk;
}

TEST(ProfileCodecTest, ReadsTheBytesThatTheSpecificationDescribes) {
  const absl::StatusOr<Profile> decoded = Decode({Make(Spec())});
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  Profile want;
  const FunctionId f = want.AddFunction("a", 1, "f"), g = want.AddFunction("a", 2, "g");
  want.AddStats(f, {5, 5, 0, 0});
  want.AddStats(g, {7, 7, 0, 0});
  want.AddCallerStats(f, g, {7, 7, 0, 0});
  EXPECT_EQ(FirstDifference(*decoded, want), "");
}

TEST(ProfileCodecTest, ChunksThatSayImpossibleThingsAreRefused) {
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
  const char* const kCounts = "the counts of a profile are out of range";
  add(kCounts, [](Spec* s) { s->counts = {kMaxProfileRows + 1, 1, 2}; });
  add(kCounts, [](Spec* s) { s->counts = {2, kMaxProfileRows + 1, 2}; });
  add(kCounts, [](Spec* s) { s->counts = {2, 1, 4}; });
  add(kCounts, [](Spec* s) { s->counts = {2, 1}; });
  add(kCounts, [](Spec* s) { s->counts = {2, 1, 2, 0}; });
  add(kCounts, [](Spec* s) { s->counts = {2, UINT64_MAX, 2}; });
  add("a chunk of the profile is missing", [](Spec* s) { s->first_row = 1; });
  add("a chunk has more rows than the profile", [](Spec* s) { s->counts = {1, 1, 2}; });
  add("a chunk has more rows than the profile", [](Spec* s) { s->counts = {2, 0, 2}; });
  add("an edge before the last function", [](Spec* s) { s->counts = {3, 1, 2}; });
  add("a column's size does not fit its rows", [](Spec* s) { s->counts = {2, 2, 1}; });
  add("a column's size does not fit its rows", [](Spec* s) { s->lines = {1, 2, 3}; });
  add("a column's size does not fit its rows", [](Spec* s) { s->calls = {1, 5, 9}; });
  add("a column's size does not fit its rows", [](Spec* s) { s->callers = {0, 1}; });
  add("a string's size is out of range", [](Spec* s) { s->sizes = {1, -1, 3}; });
  add("a string's size is out of range", [](Spec* s) { s->sizes = {1, 1, 2}; });
  add("the strings don't fill their bytes", [](Spec* s) { s->sizes = {1, 1, 0}; });
  add("more strings than bytes of strings", [](Spec* s) { s->sizes = {1, 1, 1, 0, 0}; });
  add("a text that no function uses", [](Spec* s) { s->sizes = {1, 1, 1, 0}; });
  add("a column names an entry that its table does not have", [](Spec* s) { s->files = {0, 4}; });
  add("a function names a text that is not there", [](Spec* s) { s->files = {3, 0}; });
  add("a function names a text that is not there", [](Spec* s) { s->files = {0, 0}; });
  add("a function stands twice", [](Spec* s) {
    s->sizes = {1, 1};
    s->text = "af";
    s->names = {0, 2};
    s->lines = {1, 1};
  });
  add("a text of the profile stands twice", [](Spec* s) { s->text = "aff"; });
  add("a row's place is out of range", [](Spec* s) { s->places = {1, 3}; });
  add("a row's place is out of range", [](Spec* s) { s->places = {1, -1}; });
  add("a row's place is out of range", [](Spec* s) {
    s->places = {0, 2};
    s->calls = {0, 7};
  });
  add("two rows have the same place", [](Spec* s) { s->places = {2, 2}; });
  add("a function that is no row has numbers", [](Spec* s) { s->places = {0, 1}; });
  add("an edge names a function that is not there", [](Spec* s) { s->callees = {2}; });
  add("an edge names a function that is not there", [](Spec* s) { s->callees = {-1}; });
  add("an edge names a function that is not there", [](Spec* s) { s->callers = {INT64_MAX}; });
  add("an edge stands twice", [](Spec* s) {
    s->counts = {2, 2, 2};
    s->rows = 4;
    s->callees = {1, 1};
    s->callers = {0, 0};
    s->edge_calls = {0, 0};
  });
  for (const ColumnId id :
       {ColumnId::kProfileCounts, ColumnId::kFunctionFile, ColumnId::kFunctionName, ColumnId::kFunctionLine,
        ColumnId::kFunctionRow, ColumnId::kFunctionCalls, ColumnId::kFunctionRecursions, ColumnId::kFunctionOwn,
        ColumnId::kFunctionBelow, ColumnId::kEdgeCallee, ColumnId::kEdgeCaller, ColumnId::kEdgeCalls,
        ColumnId::kEdgeRecursions, ColumnId::kEdgeOwn, ColumnId::kEdgeBelow}) {
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
