// The records of a .kiln file: everything in it but the columns themselves. FORMAT.md is the specification, trace.proto
// the schema; this is the code for both directions.
//
// A record is one zstd skippable frame: magic, size, "KILN", kind, version, crc32c, then one protobuf message. Stock
// zstd tools skip it. A chunk is a record of kind kChunk followed by its parts, ordinary zstd frames.
//
//   std::string out;
//   AppendRecord(RecordKind::kInfo, EncodeTraceInfo(info), &out);
//   …
//   Record record;
//   absl::Status status = ParseRecord(bytes, name, offset, &record);
//   if (status.ok()) status = DecodeTraceInfo(record.message, &info);
//
// Everything read is checked: a parsed ChunkHeader is within all limits, so that a reader may allocate by it.
#ifndef TRACEKILN_FORMATS_INTERMEDIATE_KILN_RECORDS_H_
#define TRACEKILN_FORMATS_INTERMEDIATE_KILN_RECORDS_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "formats/intermediate/event_batch.h"
#include "formats/intermediate/trace_source.h"

namespace tracekiln::kiln {

inline constexpr uint8_t kVersion = 1;
inline constexpr uint32_t kRecordMagic = 0x184D2A5B;  // one of the sixteen that zstd skips
inline constexpr absl::string_view kRecordMark = "KILN";
inline constexpr size_t kRecordPrefixBytes = 20;  // magic, size, "KILN", kind, version, two zeros, crc32c
inline constexpr uint32_t kMaxRecordBytes = uint32_t{1} << 30;

// Feature bits that this code knows. A file or chunk that requires others is Unimplemented.
inline constexpr uint64_t kKnownFeatures = 0;

enum class RecordKind : uint8_t { kHeader = 'H', kChunk = 'C', kInfo = 'I', kFooter = 'F', kTrailer = 'T' };

struct Record {
  RecordKind kind = RecordKind::kHeader;
  absl::string_view message;  // points into the bytes parsed
  uint64_t total_bytes = 0;   // prefix and message
};

void AppendRecord(RecordKind kind, absl::string_view message, std::string* out);

// The size of the record that starts with `prefix`, or an error that tells that there is none: DataLoss if `prefix` has
// fewer than kRecordPrefixBytes, InvalidArgument otherwise, Unimplemented for another version. `name` and `offset` are
// for messages only, here and below.
absl::Status ParseRecordPrefix(absl::string_view prefix, absl::string_view name, uint64_t offset, Record* record);
// The same for a whole record, with its checksum verified (DataLoss). `bytes` may go on behind the record.
absl::Status ParseRecord(absl::string_view bytes, absl::string_view name, uint64_t offset, Record* record);

// Parts of a chunk. Numbers above are reserved; readers skip parts they don't know.
enum class PartId : uint32_t { kCore = 1, kArgs = 2, kProfile = 3, kGraph = 4 };
inline constexpr uint32_t kMaxPartRawBytes = uint32_t{1} << 30;
inline constexpr uint32_t kMaxParts = 64;

struct PartInfo {
  uint32_t id = 0;
  uint32_t encoded_bytes = 0;  // the zstd frame, as it lies behind the chunk header
  uint32_t raw_bytes = 0;      // decompressed; at most kMaxPartRawBytes and what zstd can make of encoded_bytes
  uint32_t crc32c = 0;         // of the encoded bytes
};

// A pid or tid outside of any batch.
struct TrackKeyPart {
  TrackPart::Type type = TrackPart::Type::kAbsent;
  int64_t number = 0;  // kInt
  std::string text;    // kText, kJson
  friend bool operator==(const TrackKeyPart& a, const TrackKeyPart& b) {
    return a.type == b.type && a.number == b.number && a.text == b.text;
  }
};
struct TrackKey {
  TrackKeyPart pid;
  TrackKeyPart tid;
  friend bool operator==(const TrackKey& a, const TrackKey& b) { return a.pid == b.pid && a.tid == b.tid; }
};
TrackKey KeyOf(const EventBatch& batch, const Track& track);

inline constexpr uint32_t kTimelineSection = 1;
inline constexpr uint32_t kGraphSection = 2;
inline constexpr uint32_t kProfileSection = 3;

// What is known of a chunk without reading it.
struct ChunkHeader {
  struct Category {
    std::string name;
    uint32_t rows = 0;
  };
  // More tracks or categories than this are not listed; then the list is empty and is_complete false.
  static constexpr size_t kMaxListed = 512;

  uint32_t section = kTimelineSection;
  uint64_t required_features = 0;
  uint64_t first_row = 0;  // rows of the section before this chunk
  uint32_t rows = 0;       // 1 to EventBatch::kMaxRows
  uint64_t foreign_events = 0;
  int64_t min_ts_ns = 0;
  int64_t max_end_ns = 0;  // greatest ts + dur; INT64_MAX if a slice is unfinished
  std::array<uint32_t, kEventKindCount> rows_by_kind = {};
  std::vector<Category> categories;  // rows without a category are in none
  bool has_all_categories = true;
  std::vector<TrackKey> tracks;
  bool has_all_tracks = true;
  std::vector<PartInfo> parts;

  uint64_t parts_bytes() const {
    uint64_t bytes = 0;
    for (const PartInfo& part : parts) bytes += part.encoded_bytes;
    return bytes;
  }
};

std::string EncodeChunkHeader(const ChunkHeader& header);
absl::Status DecodeChunkHeader(absl::string_view message, ChunkHeader* header);

std::string EncodeTraceInfo(const TraceInfo& info);
absl::Status DecodeTraceInfo(absl::string_view message, TraceInfo* info);

std::string EncodeFileHeader(const TraceInfo& known_at_start);
absl::Status DecodeFileHeader(absl::string_view message, TraceInfo* known_at_start);

struct IndexEntry {
  uint64_t offset = 0;        // of the chunk's record
  uint64_t parts_offset = 0;  // of its first part: the end of the record
  ChunkHeader header;
};
struct Footer {
  std::vector<IndexEntry> chunks;  // in file order
  uint64_t info_offset = 0;
};
std::string EncodeFooter(const Footer& footer);
absl::Status DecodeFooter(absl::string_view message, Footer* footer);

// The trailer is the last record and of fixed size: it says where the footer is.
inline constexpr size_t kTrailerBytes = kRecordPrefixBytes + 9;
std::string EncodeTrailer(uint64_t footer_offset);
absl::Status DecodeTrailer(absl::string_view message, uint64_t* footer_offset);

}  // namespace tracekiln::kiln

#endif  // TRACEKILN_FORMATS_INTERMEDIATE_KILN_RECORDS_H_
