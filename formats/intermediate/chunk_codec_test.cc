#include "formats/intermediate/chunk_codec.h"

#include <zstd.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "formats/intermediate/event_batch.h"
#include "formats/intermediate/testing/batch_equality.h"
#include "formats/intermediate/testing/batch_generator.h"
#include "formats/io/crc32c.h"
#include "gtest/gtest.h"

namespace tracekiln::kiln {
namespace {

struct Chunk {
  ChunkHeader header;
  std::string parts;
};

Chunk MustEncode(const EventBatch& batch) {
  ChunkEncoder encoder;
  Chunk chunk;
  const absl::Status status = encoder.Encode(batch, &chunk.header, &chunk.parts);
  EXPECT_TRUE(status.ok()) << status;
  return chunk;
}

absl::Status Decode(const Chunk& chunk, ColumnSelection selection, EventBatch* batch) {
  ChunkDecoder decoder;
  return decoder.Decode(chunk.header, chunk.parts, selection, "t.kiln", 1000, batch);
}

TEST(ChunkCodecTest, DecodesWhatWasEncoded) {
  ChunkEncoder encoder;
  ChunkDecoder decoder;
  EventBatch decoded;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    const EventBatch batch = GenerateBatch(seed, 1 + seed * 37 % 1500);
    Chunk chunk;
    ASSERT_TRUE(encoder.Encode(batch, &chunk.header, &chunk.parts).ok());
    ASSERT_EQ(decoder.Decode(chunk.header, chunk.parts, ColumnSelection::kAll, "t", 0, &decoded), absl::OkStatus());
    ASSERT_EQ(FirstDifference(batch, decoded), "") << "seed " << seed;

    // Ids are normal after decoding: the same bytes come out again, in a fresh encoder as well.
    const Chunk again = MustEncode(decoded);
    ASSERT_EQ(again.parts, chunk.parts) << "seed " << seed;
    ASSERT_EQ(EncodeChunkHeader(again.header), EncodeChunkHeader(chunk.header));

    ASSERT_EQ(decoder.Decode(chunk.header, chunk.parts, ColumnSelection::kCore, "t", 0, &decoded), absl::OkStatus());
    ASSERT_EQ(FirstDifference(batch, decoded, /*with_args=*/false), "") << "seed " << seed;
  }
}

TEST(ChunkCodecTest, DecodesKinetoBatchesAtEveryLevel) {
  const EventBatch batch = GenerateKinetoBatch(7, 20000);
  for (int level : {-3, 1, 3, 9}) {
    ChunkEncoder encoder({.zstd_level = level});
    Chunk chunk;
    ASSERT_TRUE(encoder.Encode(batch, &chunk.header, &chunk.parts).ok());
    EventBatch decoded;
    ASSERT_EQ(Decode(chunk, ColumnSelection::kAll, &decoded), absl::OkStatus());
    ASSERT_EQ(FirstDifference(batch, decoded), "") << level;
  }
}

// Generated events are more random than real ones, which take 1.3 to 4.6 bytes (README.md).
TEST(ChunkCodecTest, GeneratedEventsTakeAFewBytes) {
  for (size_t rows : {size_t{16384}, EventBatch::kMaxRows}) {
    const Chunk chunk = MustEncode(GenerateKinetoBatch(1, rows));
    const double bytes = static_cast<double>(chunk.parts.size() + EncodeChunkHeader(chunk.header).size());
    EXPECT_LE(bytes / static_cast<double>(chunk.header.foreign_events), 6.5) << rows;
  }
}

TEST(ChunkCodecTest, DecodedBatchTakes64BytesPerEventAtMost) {
  const Chunk chunk = MustEncode(GenerateKinetoBatch(1, 32768));
  EventBatch decoded;
  ASSERT_TRUE(Decode(chunk, ColumnSelection::kAll, &decoded).ok());
  EXPECT_LE(static_cast<double>(decoded.AllocatedBytes()) / static_cast<double>(chunk.header.foreign_events), 64.0);
}

// As after filtering rows: some rows of each shape are gone, and those left are in another order.
TEST(ChunkCodecTest, EncodesRowsWhoseArgumentsAreOutOfOrder) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const EventBatch whole = GenerateBatch(seed, 500);
    EventBatch mixed = whole;
    std::vector<size_t> rows;
    std::mt19937_64 random(seed);
    for (size_t i = 0; i < whole.rows(); ++i) {
      if (random() % 3 != 0) rows.push_back(i);
    }
    for (size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[random() % i]);
    const auto pick = [&](auto* column, const auto& from) {
      column->resize(rows.size());
      for (size_t i = 0; i < rows.size(); ++i) (*column)[i] = from[rows[i]];
    };
    pick(&mixed.ts_ns, whole.ts_ns);
    pick(&mixed.dur_ns, whole.dur_ns);
    pick(&mixed.correlation, whole.correlation);
    pick(&mixed.name, whole.name);
    pick(&mixed.track, whole.track);
    pick(&mixed.args_row, whole.args_row);
    pick(&mixed.shape, whole.shape);
    pick(&mixed.category, whole.category);
    pick(&mixed.kind, whole.kind);
    pick(&mixed.flags, whole.flags);
    EventBatch decoded;
    ASSERT_TRUE(Decode(MustEncode(mixed), ColumnSelection::kAll, &decoded).ok());
    ASSERT_EQ(FirstDifference(mixed, decoded), "") << "seed " << seed;
  }
}

TEST(ChunkCodecTest, HeaderDescribesTheRows) {
  EventBatch batch;
  CategoryId kernel;
  ASSERT_TRUE(batch.InternCategory(batch.strings.Intern("kernel"), &kernel));
  CategoryId unused;
  ASSERT_TRUE(batch.InternCategory(batch.strings.Intern("unused"), &unused));
  EventRow row;
  row.track = batch.InternTrack({TrackPart::Int(0), TrackPart::Text(batch.strings.Intern("stream 7"))});
  row.ts_ns = -50;
  row.dur_ns = 200;
  row.flags = kFlowIn;
  row.category = kernel;
  batch.Append(row, ArgTable::kNoArgs, nullptr);
  row.ts_ns = 100;
  row.dur_ns = -30;
  row.flags = 0;
  batch.Append(row, ArgTable::kNoArgs, nullptr);
  row.kind = EventKind::kMetadata;
  row.category = kNoCategory;
  row.ts_ns = 0;
  row.dur_ns = 0;
  row.flags = kNoTimestamp;
  batch.Append(row, ArgTable::kNoArgs, nullptr);
  ChunkHeader header = MustEncode(batch).header;
  EXPECT_EQ(header.rows, 3u);
  EXPECT_EQ(header.foreign_events, 4u);
  EXPECT_EQ(header.min_ts_ns, -50);
  EXPECT_EQ(header.max_end_ns, 150);
  EXPECT_EQ(header.rows_by_kind[static_cast<int>(EventKind::kSlice)], 2u);
  EXPECT_EQ(header.rows_by_kind[static_cast<int>(EventKind::kMetadata)], 1u);
  ASSERT_EQ(header.categories.size(), 1u);
  EXPECT_EQ(header.categories[0].name, "kernel");
  EXPECT_EQ(header.categories[0].rows, 2u);
  ASSERT_EQ(header.tracks.size(), 1u);
  EXPECT_EQ(header.tracks[0].tid.text, "stream 7");

  row.kind = EventKind::kSlice;
  row.dur_ns = kUnfinished;
  batch.Append(row, ArgTable::kNoArgs, nullptr);
  EXPECT_EQ(MustEncode(batch).header.max_end_ns, INT64_MAX);
}

TEST(ChunkCodecTest, CoreOnlyNeedsTheFirstPartOnly) {
  const Chunk chunk = MustEncode(GenerateKinetoBatch(1, 5000));
  const uint64_t core = ChunkDecoder::BytesNeeded(chunk.header, ColumnSelection::kCore);
  EXPECT_LT(core, ChunkDecoder::BytesNeeded(chunk.header, ColumnSelection::kAll));
  ChunkDecoder decoder;
  EventBatch batch;
  EXPECT_TRUE(
      decoder.Decode(chunk.header, absl::string_view(chunk.parts.data(), core), ColumnSelection::kCore, "t", 0, &batch)
          .ok());
  EXPECT_EQ(batch.args.shapes().size(), 1u);
  EXPECT_EQ(batch.IntArg(0, "correlation"), std::nullopt);
  const absl::Status status =
      decoder.Decode(chunk.header, absl::string_view(chunk.parts.data(), core), ColumnSelection::kAll, "t", 0, &batch);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
}

TEST(ChunkCodecTest, RefusesWhatIsNoChunk) {
  ChunkEncoder encoder;
  Chunk chunk;
  EventBatch batch;
  EXPECT_TRUE(absl::IsFailedPrecondition(encoder.Encode(batch, &chunk.header, &chunk.parts)));
  EventRow row;
  row.track = batch.InternTrack({});
  row.kind = EventKind::kSliceBegin;
  batch.Append(row, ArgTable::kNoArgs, nullptr);
  EXPECT_TRUE(absl::IsFailedPrecondition(encoder.Encode(batch, &chunk.header, &chunk.parts)));
  EXPECT_TRUE(chunk.parts.empty());
}

TEST(ChunkCodecTest, UnknownFeaturesAndSectionsAreUnimplemented) {
  Chunk chunk = MustEncode(GenerateBatch(1, 10));
  EventBatch batch;
  chunk.header.required_features = uint64_t{1} << 40;
  EXPECT_TRUE(absl::IsUnimplemented(Decode(chunk, ColumnSelection::kAll, &batch)));
  chunk.header.required_features = 0;
  chunk.header.section = kGraphSection;
  EXPECT_TRUE(absl::IsUnimplemented(Decode(chunk, ColumnSelection::kAll, &batch)));
}

TEST(ChunkCodecTest, ChecksumComesFirst) {
  Chunk chunk = MustEncode(GenerateBatch(1, 100));
  chunk.parts[chunk.parts.size() / 2] ^= 1;
  EventBatch batch;
  const absl::Status status = Decode(chunk, ColumnSelection::kAll, &batch);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_NE(status.message().find("t.kiln:"), absl::string_view::npos) << status;
}

// Compresses `raw` into part `p` with a fitting checksum: damage that only the decoder's own checks can find.
void ReplacePart(Chunk* chunk, size_t p, const std::string& raw) {
  std::string encoded(ZSTD_compressBound(raw.size()), '\0');
  encoded.resize(ZSTD_compress(encoded.data(), encoded.size(), raw.data(), raw.size(), 1));
  size_t at = 0;
  for (size_t i = 0; i < p; ++i) at += chunk->header.parts[i].encoded_bytes;
  PartInfo& part = chunk->header.parts[p];
  chunk->parts.replace(at, part.encoded_bytes, encoded);
  part.encoded_bytes = static_cast<uint32_t>(encoded.size());
  part.raw_bytes = static_cast<uint32_t>(raw.size());
  part.crc32c = io::Crc32c(encoded);
}

std::string RawPart(const Chunk& chunk, size_t p) {
  size_t at = 0;
  for (size_t i = 0; i < p; ++i) at += chunk.header.parts[i].encoded_bytes;
  std::string raw(chunk.header.parts[p].raw_bytes, '\0');
  EXPECT_EQ(ZSTD_decompress(raw.data(), raw.size(), chunk.parts.data() + at, chunk.header.parts[p].encoded_bytes),
            raw.size());
  return raw;
}

// Flips, cuts and inserts in the columns themselves. Whatever decodes must be usable: RowText touches every id.
TEST(ChunkCodecTest, MalformedColumnsAreAnErrorOrAValidBatch) {
  std::mt19937_64 random(5);
  int refused = 0, accepted = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const Chunk good = MustEncode(GenerateBatch(seed, 60));
    for (size_t p = 0; p < 2; ++p) {
      const std::string raw = RawPart(good, p);
      for (int i = 0; i < 60; ++i) {
        std::string bad = raw;
        const size_t at = random() % bad.size();
        switch (random() % 4) {
          case 0: bad[at] = static_cast<char>(random()); break;
          case 1: bad[at] = static_cast<char>(bad[at] ^ (1 << random() % 8)); break;
          case 2: bad.resize(at); break;
          default: bad.insert(at, 1 + random() % 3, static_cast<char>(random()));
        }
        Chunk chunk = good;
        ReplacePart(&chunk, p, bad);
        EventBatch batch;
        const absl::Status status = Decode(chunk, ColumnSelection::kAll, &batch);
        if (status.ok()) {
          ++accepted;
          for (size_t row = 0; row < batch.rows(); ++row) ASSERT_FALSE(RowText(batch, row).empty());
        } else {
          ++refused;
          ASSERT_TRUE(absl::IsInvalidArgument(status)) << status;
          ASSERT_TRUE(batch.empty());
        }
      }
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(accepted, 100);
}

TEST(ChunkCodecTest, UnknownColumnsAndPartsAreSkipped) {
  const EventBatch batch = GenerateBatch(3, 100);
  Chunk chunk = MustEncode(batch);
  for (size_t p = 0; p < 2; ++p) {
    // Column 63 of each part, with a field 15 that no version knows, then a field 2 of the part.
    ReplacePart(&chunk, p, RawPart(chunk, p) + std::string("\x0a\x07\x08\x3f\x3a\x01x\x78\x05\x12\x02zz", 13));
  }
  PartInfo part;
  part.id = 60;
  part.encoded_bytes = 4;
  chunk.header.parts.insert(chunk.header.parts.begin() + 1, part);
  chunk.parts.insert(chunk.header.parts[0].encoded_bytes, "????");
  EventBatch decoded;
  ASSERT_EQ(Decode(chunk, ColumnSelection::kAll, &decoded), absl::OkStatus());
  EXPECT_EQ(FirstDifference(batch, decoded), "");
}

}  // namespace
}  // namespace tracekiln::kiln
