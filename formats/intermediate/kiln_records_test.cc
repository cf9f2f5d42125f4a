#include "formats/intermediate/kiln_records.h"

#include <zstd.h>

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "formats/intermediate/chunk_codec.h"
#include "formats/intermediate/chunk_columns.h"
#include "formats/intermediate/profile_codec.h"
#include "formats/intermediate/testing/batch_generator.h"
#include "formats/intermediate/testing/profile_generator.h"
#include "formats/intermediate/trace.pb.h"
#include "gtest/gtest.h"

namespace tracekiln::kiln {
namespace {

TraceInfo MakeInfo() {
  TraceInfo info;
  info.source_format = "chrome";
  info.source_name = "dir/rank-0.json";
  info.base_ns = -1712345678901234567;
  info.has_base = true;
  info.array_form = true;
  info.rank = 0;
  info.world_size = 1024;
  info.metadata = {{"schemaVersion", "1", false}, {"traceName", "\"x\"", true}, {"", "", false}};
  info.report.seen = 10;
  info.report.imported = 6;
  info.report.merged = 2;
  info.report.salvaged = true;
  info.report.input_bytes = uint64_t{1} << 40;
  info.report.Skip("no_ts", 5, "expected a number");
  info.report.Skip("no_ts", 77);
  info.report.Note("zero_ts", uint64_t{1} << 63);
  return info;
}

void ExpectSameInfo(const TraceInfo& a, const TraceInfo& b) {
  EXPECT_EQ(a.source_format, b.source_format);
  EXPECT_EQ(a.source_name, b.source_name);
  EXPECT_EQ(a.base_ns, b.base_ns);
  EXPECT_EQ(a.has_base, b.has_base);
  EXPECT_EQ(a.array_form, b.array_form);
  EXPECT_EQ(a.rank, b.rank);
  EXPECT_EQ(a.world_size, b.world_size);
  EXPECT_EQ(a.metadata, b.metadata);
  EXPECT_EQ(a.report.ToText(), b.report.ToText());
  EXPECT_EQ(a.report.input_bytes, b.report.input_bytes);
}

TEST(KilnRecordsTest, InfoComesBack) {
  TraceInfo info;
  ASSERT_EQ(DecodeTraceInfo(EncodeTraceInfo(MakeInfo()), &info), absl::OkStatus());
  ExpectSameInfo(info, MakeInfo());
  ASSERT_EQ(DecodeFileHeader(EncodeFileHeader(MakeInfo()), &info), absl::OkStatus());
  ExpectSameInfo(info, MakeInfo());
  ASSERT_EQ(DecodeTraceInfo(EncodeTraceInfo(TraceInfo()), &info), absl::OkStatus());
  EXPECT_FALSE(info.rank.has_value()) << "absent is not 0";
}

TEST(KilnRecordsTest, GeneratedClassesReadTheInfo) {
  wire::TraceInfo pb;
  ASSERT_TRUE(pb.ParseFromString(EncodeTraceInfo(MakeInfo())));
  EXPECT_EQ(pb.source_format(), "chrome");
  EXPECT_EQ(pb.base_ns(), -1712345678901234567);
  EXPECT_TRUE(pb.has_rank());
  EXPECT_EQ(pb.rank(), 0);
  ASSERT_EQ(pb.metadata_size(), 3);
  EXPECT_EQ(pb.metadata(1).key(), "traceName");
  EXPECT_TRUE(pb.metadata(1).after_events());
  ASSERT_EQ(pb.report().entries_size(), 2);
  EXPECT_EQ(pb.report().entries(0).severity(), wire::ReportEntry::SEVERITY_SKIPPED);
  EXPECT_EQ(pb.report().entries(0).count(), 2u);
  EXPECT_EQ(pb.report().entries(0).first_offsets(1), 77u);
  EXPECT_EQ(pb.report().entries(1).severity(), wire::ReportEntry::SEVERITY_NOTE);
  // And what they write is read: other order of bytes, same meaning.
  TraceInfo info;
  ASSERT_EQ(DecodeTraceInfo(pb.SerializeAsString(), &info), absl::OkStatus());
  ExpectSameInfo(info, MakeInfo());
}

TEST(KilnRecordsTest, GeneratedClassesReadChunkHeadersFootersAndColumns) {
  ChunkEncoder encoder;
  IndexEntry entry;
  std::string parts;
  const EventBatch batch = GenerateKinetoBatch(1, 500);
  ASSERT_TRUE(encoder.Encode(batch, &entry.header, &parts).ok());
  entry.offset = 123;
  entry.parts_offset = 456;
  entry.header.first_row = 789;

  Footer footer;
  footer.chunks = {entry};
  footer.info_offset = 99999;
  wire::Footer pb;
  ASSERT_TRUE(pb.ParseFromString(EncodeFooter(footer)));
  EXPECT_EQ(pb.info_offset(), 99999u);
  ASSERT_EQ(pb.chunks_size(), 1);
  EXPECT_EQ(pb.chunks(0).offset(), 123u);
  EXPECT_EQ(pb.chunks(0).parts_offset(), 456u);
  const wire::ChunkHeader& header = pb.chunks(0).header();
  EXPECT_EQ(header.section(), 1u);
  EXPECT_EQ(header.first_row(), 789u);
  EXPECT_EQ(header.rows(), 500u);
  EXPECT_EQ(header.min_ts_ns(), entry.header.min_ts_ns);
  EXPECT_EQ(header.max_end_ns(), entry.header.max_end_ns);
  uint32_t rows = 0;
  for (uint32_t count : header.rows_by_kind()) rows += count;
  EXPECT_EQ(rows, 500u);
  EXPECT_TRUE(header.has_all_categories());
  EXPECT_EQ(header.categories_size(), static_cast<int>(batch.categories().size()));
  EXPECT_EQ(header.tracks_size(), static_cast<int>(batch.tracks().size()));
  EXPECT_EQ(header.tracks(0).pid().type(), wire::TrackPart::TYPE_INT);
  ASSERT_EQ(header.parts_size(), 2);

  // The core part: the column of times, decoded the plain way.
  std::string raw(header.parts(0).raw_bytes(), '\0');
  ASSERT_EQ(ZSTD_decompress(raw.data(), raw.size(), parts.data(), header.parts(0).encoded_bytes()), raw.size());
  wire::Columns columns;
  ASSERT_TRUE(columns.ParseFromString(raw));
  bool found = false;
  for (const wire::Column& column : columns.columns()) {
    if (column.id() != static_cast<uint32_t>(ColumnId::kTs)) continue;
    found = true;
    const Predictor predictor = static_cast<Predictor>(column.predictor());
    ASSERT_TRUE(predictor == Predictor::kPrevious || predictor == Predictor::kSameName ||
                predictor == Predictor::kSameTrack);
    ASSERT_EQ(column.data().size(), column.width() * 500);
    std::map<uint32_t, int64_t> last;  // by what the predictor looks at
    for (size_t i = 0; i < 500; ++i) {
      uint64_t residual = 0;
      for (uint32_t plane = 0; plane < column.width(); ++plane) {
        residual |= uint64_t{static_cast<uint8_t>(column.data()[plane * 500 + i])} << (8 * plane);
      }
      const uint32_t key = predictor == Predictor::kSameName    ? Index(batch.name[i])
                           : predictor == Predictor::kSameTrack ? Index(batch.track[i])
                                                                : 0;
      int64_t& ts = last.emplace(key, column.base()).first->second;
      ts += static_cast<int64_t>(residual >> 1) ^ -static_cast<int64_t>(residual & 1);
      ASSERT_EQ(ts, batch.ts_ns[i]) << i;
    }
  }
  EXPECT_TRUE(found);

  Footer back;
  ASSERT_EQ(DecodeFooter(pb.SerializeAsString(), &back), absl::OkStatus());
  ASSERT_EQ(back.chunks.size(), 1u);
  EXPECT_EQ(EncodeChunkHeader(back.chunks[0].header), EncodeChunkHeader(entry.header));

  wire::Trailer trailer;
  ASSERT_TRUE(trailer.ParseFromString(EncodeTrailer(77)));
  EXPECT_EQ(trailer.footer_offset(), 77u);
}

// The residuals of a column with predictors 0, 1 and 4 undone the plain way.
std::vector<int64_t> PlainInts(const wire::Column& column, size_t rows) {
  std::vector<int64_t> values;
  int64_t last = column.base();
  for (size_t i = 0; i < rows; ++i) {
    uint64_t residual = 0;
    for (uint32_t plane = 0; plane < column.width(); ++plane) {
      residual |= uint64_t{static_cast<uint8_t>(column.data()[plane * rows + i])} << (8 * plane);
    }
    if (column.predictor() == 0) {
      values.push_back(static_cast<int64_t>(residual + static_cast<uint64_t>(column.base())));
    } else if (column.predictor() == 4 && residual == 0 && column.width() > 0) {
      values.push_back(0);
    } else {
      if (column.predictor() == 4 && column.width() > 0) --residual;
      last += static_cast<int64_t>(residual >> 1) ^ -static_cast<int64_t>(residual & 1);
      values.push_back(last);
    }
  }
  return values;
}

TEST(KilnRecordsTest, GeneratedClassesReadProfiles) {
  const Profile profile = GenerateProgramProfile(1, 400);
  int chunk_count = 0;
  const absl::Status status = EncodeProfile(profile, {}, [&](const ChunkHeader& header, absl::string_view parts) {
    ++chunk_count;
    wire::ChunkHeader pb;
    ASSERT_TRUE(pb.ParseFromString(EncodeChunkHeader(header)));
    EXPECT_EQ(pb.section(), 3u);
    EXPECT_EQ(pb.rows(), profile.functions().size() + profile.edges().size());
    EXPECT_EQ(pb.foreign_events(), pb.rows());
    EXPECT_EQ(pb.rows_by_kind_size(), 0);
    ASSERT_EQ(pb.parts_size(), 1);
    EXPECT_EQ(pb.parts(0).id(), 3u);
    std::string raw(pb.parts(0).raw_bytes(), '\0');
    ASSERT_EQ(ZSTD_decompress(raw.data(), raw.size(), parts.data(), parts.size()), raw.size());
    wire::Columns columns;
    ASSERT_TRUE(columns.ParseFromString(raw));
    std::map<uint32_t, const wire::Column*> by_id;
    for (const wire::Column& column : columns.columns()) by_id[column.id()] = &column;
    ASSERT_EQ(by_id.size(), 17u);
    const size_t functions = profile.functions().size(), edges = profile.edges().size();
    const std::vector<int64_t> calls = PlainInts(*by_id[133], functions),
                               recursions = PlainInts(*by_id[134], functions), own = PlainInts(*by_id[135], functions),
                               below = PlainInts(*by_id[136], functions), places = PlainInts(*by_id[132], functions),
                               lines = PlainInts(*by_id[131], functions);
    std::vector<int64_t> left = own;
    for (size_t f = 0; f < functions; ++f) {
      const Profile::Function& function = profile.functions()[f];
      ASSERT_EQ(lines[f], function.line) << f;
      ASSERT_EQ(places[f], static_cast<int64_t>(f) + 1);
      ASSERT_EQ(calls[f], function.stats.call_count);
      ASSERT_EQ(recursions[f], function.stats.call_count - function.stats.primitive_call_count);
      ASSERT_EQ(own[f], function.stats.own_ns);
      ASSERT_EQ(below[f], function.stats.cumulative_ns - function.stats.own_ns);
    }
    const std::vector<int64_t> callees = PlainInts(*by_id[137], edges), callers = PlainInts(*by_id[138], edges),
                               left_own = PlainInts(*by_id[141], edges);
    for (size_t e = 0; e < edges; ++e) {
      const Profile::Edge& edge = profile.edges()[e];
      ASSERT_EQ(callees[e], Index(edge.callee));
      ASSERT_EQ(callers[e], Index(edge.caller));
      ASSERT_EQ(left[callees[e]] - left_own[e], edge.stats.own_ns) << e;
      left[callees[e]] = left_own[e];
    }
  });
  EXPECT_EQ(status, absl::OkStatus());
  EXPECT_EQ(chunk_count, 1);
}

TEST(KilnRecordsTest, RecordsAreZstdSkippableFrames) {
  std::string bytes;
  AppendRecord(RecordKind::kInfo, "message", &bytes);
  EXPECT_EQ(ZSTD_findFrameCompressedSize(bytes.data(), bytes.size()), bytes.size());
  EXPECT_EQ(ZSTD_decompress(nullptr, 0, bytes.data(), bytes.size()), 0u);
  EXPECT_EQ(bytes.substr(8, 4), "KILN");
  bytes += "behind";
  Record record;
  ASSERT_EQ(ParseRecord(bytes, "t", 0, &record), absl::OkStatus());
  EXPECT_EQ(record.kind, RecordKind::kInfo);
  EXPECT_EQ(record.message, "message");
  EXPECT_EQ(record.total_bytes, bytes.size() - 6);
}

TEST(KilnRecordsTest, DamagedRecordsAreErrorsThatNameTheirPlace) {
  std::string good;
  AppendRecord(RecordKind::kInfo, "message", &good);
  Record record;
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_TRUE(absl::IsDataLoss(ParseRecord(good.substr(0, size), "t", 0, &record))) << size;
  }
  for (size_t i = 0; i < good.size() * 8; ++i) {
    std::string bad = good;
    bad[i / 8] = static_cast<char>(bad[i / 8] ^ (1 << i % 8));
    const absl::Status status = ParseRecord(bad, "file", 4711, &record);
    EXPECT_FALSE(status.ok()) << "bit " << i;
    EXPECT_EQ(status.message().substr(0, 10), "file:4711:") << status;
    if (i / 8 == 13) {
      EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
    }
  }
}

TEST(KilnRecordsTest, ChunkHeadersOutOfRangeAreRefused) {
  ChunkEncoder encoder;
  ChunkHeader good;
  std::string parts;
  ASSERT_TRUE(encoder.Encode(GenerateKinetoBatch(1, 100), &good, &parts).ok());
  const auto refuses = [&](auto change) {
    ChunkHeader header = good, decoded;
    change(&header);
    return absl::IsInvalidArgument(DecodeChunkHeader(EncodeChunkHeader(header), &decoded));
  };
  EXPECT_FALSE(refuses([](ChunkHeader*) {}));
  EXPECT_TRUE(refuses([](ChunkHeader* h) { h->rows = 0; }));
  EXPECT_TRUE(refuses([](ChunkHeader* h) { h->rows = EventBatch::kMaxRows + 1; }));
  EXPECT_TRUE(refuses([](ChunkHeader* h) { h->section = 0; }));
  EXPECT_TRUE(refuses([](ChunkHeader* h) { h->foreign_events = h->rows - 1; }));
  EXPECT_TRUE(refuses([](ChunkHeader* h) { h->foreign_events = 2 * h->rows + 1; }));
  EXPECT_TRUE(refuses([](ChunkHeader* h) { h->parts[1].id = h->parts[0].id; }));
  EXPECT_TRUE(refuses([](ChunkHeader* h) { h->parts[0].id = 0; }));
  EXPECT_TRUE(refuses([](ChunkHeader* h) { h->parts[0].raw_bytes = kMaxPartRawBytes + 1; }));
  EXPECT_TRUE(refuses([](ChunkHeader* h) { h->parts[0].encoded_bytes = 10, h->parts[0].raw_bytes = 1 << 20; }))
      << "more than zstd can make of 10 bytes";
  EXPECT_TRUE(refuses([](ChunkHeader* h) { h->parts.resize(kMaxParts + 1, h->parts[0]); }));
  EXPECT_TRUE(refuses([](ChunkHeader* h) { h->categories.resize(ChunkHeader::kMaxListed + 1); }));
  EXPECT_TRUE(refuses([](ChunkHeader* h) { h->tracks.resize(ChunkHeader::kMaxListed + 1); }));
}

}  // namespace
}  // namespace tracekiln::kiln
