#include "formats/intermediate/kiln_records.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "formats/intermediate/wire.h"
#include "formats/io/crc32c.h"

namespace tracekiln::kiln {
namespace {

// A zstd block of at most 128 KiB takes at least 4 bytes.
constexpr uint64_t kMaxZstdRatio = (128 << 10) / 4;

uint32_t LoadU32(const char* p) {
  uint32_t value;
  std::memcpy(&value, p, 4);
  return value;
}

void StoreU32(uint32_t value, char* p) { std::memcpy(p, &value, 4); }

absl::Status Malformed(absl::string_view what) { return absl::InvalidArgumentError(what); }

void EncodeTrackKeyPart(const TrackKeyPart& part, uint32_t field, WireWriter* w) {
  std::string message;
  WireWriter p(&message);
  if (part.type != TrackPart::Type::kAbsent) p.Varint(1, static_cast<uint64_t>(part.type));
  if (part.number != 0) p.Signed(2, part.number);
  if (!part.text.empty()) p.Bytes(3, part.text);
  w->Bytes(field, message);
}

bool DecodeTrackKeyPart(absl::string_view message, TrackKeyPart* part) {
  WireReader r(message);
  while (r.NextField()) {
    switch (r.field()) {
      case 1: {
        const uint64_t type = r.Varint();
        if (type > static_cast<uint64_t>(TrackPart::Type::kJson)) return false;
        part->type = static_cast<TrackPart::Type>(type);
        break;
      }
      case 2: part->number = r.Signed(); break;
      case 3: part->text = std::string(r.Bytes()); break;
      default: r.Skip();
    }
  }
  return r.ok();
}

bool DecodeTrackKey(absl::string_view message, TrackKey* key) {
  WireReader r(message);
  while (r.NextField()) {
    switch (r.field()) {
      case 1:
        if (!DecodeTrackKeyPart(r.Bytes(), &key->pid)) return false;
        break;
      case 2:
        if (!DecodeTrackKeyPart(r.Bytes(), &key->tid)) return false;
        break;
      default: r.Skip();
    }
  }
  return r.ok();
}

bool DecodePart(absl::string_view message, PartInfo* part) {
  WireReader r(message);
  uint64_t id = 0, encoded = 0, raw = 0;
  while (r.NextField()) {
    switch (r.field()) {
      case 1: id = r.Varint(); break;
      case 2: encoded = r.Varint(); break;
      case 3: raw = r.Varint(); break;
      case 4: part->crc32c = r.Fixed32(); break;
      default: r.Skip();
    }
  }
  if (!r.ok() || id == 0 || id > 0xffffffffu || encoded > kMaxPartRawBytes || raw > kMaxPartRawBytes) return false;
  if (raw > encoded * kMaxZstdRatio) return false;
  part->id = static_cast<uint32_t>(id);
  part->encoded_bytes = static_cast<uint32_t>(encoded);
  part->raw_bytes = static_cast<uint32_t>(raw);
  return true;
}

bool DecodeCategory(absl::string_view message, ChunkHeader::Category* category) {
  WireReader r(message);
  while (r.NextField()) {
    switch (r.field()) {
      case 1: category->name = std::string(r.Bytes()); break;
      case 2: {
        const uint64_t rows = r.Varint();
        if (rows > EventBatch::kMaxRows) return false;
        category->rows = static_cast<uint32_t>(rows);
        break;
      }
      default: r.Skip();
    }
  }
  return r.ok();
}

std::string EncodeReport(const ImportReport& report) {
  std::string message;
  WireWriter w(&message);
  if (report.seen != 0) w.Varint(1, report.seen);
  if (report.imported != 0) w.Varint(2, report.imported);
  if (report.merged != 0) w.Varint(3, report.merged);
  if (report.salvaged) w.Varint(4, 1);
  if (report.input_bytes != 0) w.Varint(5, report.input_bytes);
  for (const ImportReport::Entry& entry : report.entries()) {
    std::string text;
    WireWriter e(&text);
    e.Bytes(1, entry.reason);
    e.Varint(2, static_cast<uint64_t>(entry.severity) + 1);
    e.Varint(3, entry.count);
    std::string offsets;
    for (uint64_t offset : entry.first_offsets) WireWriter(&offsets).Raw(offset);
    if (!offsets.empty()) e.Bytes(4, offsets);
    if (!entry.detail.empty()) e.Bytes(5, entry.detail);
    w.Bytes(6, text);
  }
  return message;
}

bool DecodeReportEntry(absl::string_view message, ImportReport::Entry* entry) {
  WireReader r(message);
  uint64_t severity = 0;
  while (r.NextField()) {
    switch (r.field()) {
      case 1: entry->reason = std::string(r.Bytes()); break;
      case 2: severity = r.Varint(); break;
      case 3: entry->count = r.Varint(); break;
      case 4: {
        WireReader offsets(r.Bytes());
        while (offsets.ok() && !offsets.at_end()) {
          const uint64_t offset = offsets.RawVarint();
          if (offsets.ok() && entry->first_offsets.size() < ImportReport::kMaxOffsets) {
            entry->first_offsets.push_back(offset);
          }
        }
        if (!offsets.ok()) return false;
        break;
      }
      case 5: entry->detail = std::string(r.Bytes()); break;
      default: r.Skip();
    }
  }
  if (!r.ok() || severity < 1 || severity > 3) return false;
  entry->severity = static_cast<ImportReport::Severity>(severity - 1);
  return true;
}

bool DecodeReport(absl::string_view message, ImportReport* report) {
  WireReader r(message);
  while (r.NextField()) {
    switch (r.field()) {
      case 1: report->seen = r.Varint(); break;
      case 2: report->imported = r.Varint(); break;
      case 3: report->merged = r.Varint(); break;
      case 4: report->salvaged = r.Varint() != 0; break;
      case 5: report->input_bytes = r.Varint(); break;
      case 6: {
        ImportReport::Entry entry;
        if (!DecodeReportEntry(r.Bytes(), &entry)) return false;
        report->AddEntry(std::move(entry));
        break;
      }
      default: r.Skip();
    }
  }
  return r.ok();
}

bool DecodeMetadata(absl::string_view message, MetadataEntry* entry) {
  WireReader r(message);
  while (r.NextField()) {
    switch (r.field()) {
      case 1: entry->key = std::string(r.Bytes()); break;
      case 2: entry->json = std::string(r.Bytes()); break;
      case 3: entry->after_events = r.Varint() != 0; break;
      default: r.Skip();
    }
  }
  return r.ok();
}

}  // namespace

void AppendRecord(RecordKind kind, absl::string_view message, std::string* out) {
  char prefix[kRecordPrefixBytes];
  StoreU32(kRecordMagic, prefix);
  StoreU32(static_cast<uint32_t>(kRecordPrefixBytes - 8 + message.size()), prefix + 4);
  std::memcpy(prefix + 8, kRecordMark.data(), 4);
  prefix[12] = static_cast<char>(kind);
  prefix[13] = static_cast<char>(kVersion);
  prefix[14] = prefix[15] = 0;
  const uint32_t crc = io::ExtendCrc32c(io::Crc32c(absl::string_view(prefix + 12, 4)), message);
  StoreU32(crc, prefix + 16);
  out->append(prefix, sizeof(prefix));
  out->append(message.data(), message.size());
}

absl::Status ParseRecordPrefix(absl::string_view prefix, absl::string_view name, uint64_t offset, Record* record) {
  const auto where = [&] { return absl::StrCat(name, ":", offset, ": "); };
  if (prefix.size() < kRecordPrefixBytes) {
    return absl::DataLossError(absl::StrCat(where(), "expected a record, got the end of the file"));
  }
  const uint32_t size = LoadU32(prefix.data() + 4);
  if (LoadU32(prefix.data()) != kRecordMagic || prefix.substr(8, 4) != kRecordMark || size < kRecordPrefixBytes - 8 ||
      size > kMaxRecordBytes) {
    return absl::InvalidArgumentError(absl::StrCat(where(), "expected a .kiln record, got something else"));
  }
  const uint8_t version = static_cast<uint8_t>(prefix[13]);
  if (version != kVersion) {
    return absl::UnimplementedError(
        absl::StrCat(where(), "expected version ", int{kVersion}, " of the .kiln format, got version ", int{version}));
  }
  record->kind = static_cast<RecordKind>(prefix[12]);
  record->total_bytes = uint64_t{size} + 8;
  record->message = {};
  return absl::OkStatus();
}

absl::Status ParseRecord(absl::string_view bytes, absl::string_view name, uint64_t offset, Record* record) {
  if (absl::Status status = ParseRecordPrefix(bytes, name, offset, record); !status.ok()) return status;
  if (bytes.size() < record->total_bytes) {
    return absl::DataLossError(
        absl::StrCat(name, ":", offset, ": expected a record of ", record->total_bytes, " bytes, got ", bytes.size()));
  }
  record->message = bytes.substr(kRecordPrefixBytes, record->total_bytes - kRecordPrefixBytes);
  const uint32_t crc = io::ExtendCrc32c(io::Crc32c(bytes.substr(12, 4)), record->message);
  if (crc != LoadU32(bytes.data() + 16)) {
    return absl::DataLossError(absl::StrCat(name, ":", offset, ": the record's checksum does not match its bytes"));
  }
  return absl::OkStatus();
}

TrackKey KeyOf(const EventBatch& batch, const Track& track) {
  const auto part = [&](const TrackPart& p) {
    TrackKeyPart key;
    key.type = p.type;
    if (p.type == TrackPart::Type::kInt) key.number = p.value;
    if (p.type == TrackPart::Type::kText || p.type == TrackPart::Type::kJson) {
      key.text = std::string(batch.strings.Get(StringId{static_cast<uint32_t>(p.value)}));
    }
    return key;
  };
  return {part(track.pid), part(track.tid)};
}

std::string EncodeChunkHeader(const ChunkHeader& header) {
  std::string message;
  WireWriter w(&message);
  w.Varint(1, header.section);
  if (header.required_features != 0) w.Varint(2, header.required_features);
  if (header.first_row != 0) w.Varint(3, header.first_row);
  w.Varint(4, header.rows);
  w.Varint(5, header.foreign_events);
  if (header.min_ts_ns != 0) w.Signed(6, header.min_ts_ns);
  if (header.max_end_ns != 0) w.Signed(7, header.max_end_ns);
  std::string packed;
  size_t kinds = header.rows_by_kind.size();
  while (kinds > 0 && header.rows_by_kind[kinds - 1] == 0) --kinds;
  for (size_t k = 0; k < kinds; ++k) WireWriter(&packed).Raw(header.rows_by_kind[k]);
  w.Bytes(8, packed);
  std::string text;
  for (const ChunkHeader::Category& category : header.categories) {
    text.clear();
    WireWriter c(&text);
    c.Bytes(1, category.name);
    c.Varint(2, category.rows);
    w.Bytes(9, text);
  }
  if (header.has_all_categories) w.Varint(10, 1);
  for (const TrackKey& track : header.tracks) {
    text.clear();
    WireWriter t(&text);
    EncodeTrackKeyPart(track.pid, 1, &t);
    EncodeTrackKeyPart(track.tid, 2, &t);
    w.Bytes(11, text);
  }
  if (header.has_all_tracks) w.Varint(12, 1);
  for (const PartInfo& part : header.parts) {
    text.clear();
    WireWriter p(&text);
    p.Varint(1, part.id);
    p.Varint(2, part.encoded_bytes);
    p.Varint(3, part.raw_bytes);
    p.Fixed32(4, part.crc32c);
    w.Bytes(13, text);
  }
  return message;
}

absl::Status DecodeChunkHeader(absl::string_view message, ChunkHeader* header) {
  *header = ChunkHeader();
  header->section = 0;
  header->has_all_categories = header->has_all_tracks = false;
  WireReader r(message);
  uint64_t section = 0, rows = 0, kind = 0;
  while (r.NextField()) {
    switch (r.field()) {
      case 1: section = r.Varint(); break;
      case 2: header->required_features = r.Varint(); break;
      case 3: header->first_row = r.Varint(); break;
      case 4: rows = r.Varint(); break;
      case 5: header->foreign_events = r.Varint(); break;
      case 6: header->min_ts_ns = r.Signed(); break;
      case 7: header->max_end_ns = r.Signed(); break;
      case 8: {
        WireReader packed(r.Bytes());
        for (; packed.ok() && !packed.at_end(); ++kind) {
          const uint64_t count = packed.RawVarint();
          if (count > EventBatch::kMaxRows) return Malformed("row count of a kind out of range");
          if (kind < header->rows_by_kind.size()) header->rows_by_kind[kind] = static_cast<uint32_t>(count);
        }
        if (!packed.ok()) return Malformed("malformed chunk header");
        break;
      }
      case 9:
        if (header->categories.size() >= ChunkHeader::kMaxListed) return Malformed("too many categories listed");
        if (!DecodeCategory(r.Bytes(), &header->categories.emplace_back())) return Malformed("malformed category");
        break;
      case 10: header->has_all_categories = r.Varint() != 0; break;
      case 11:
        if (header->tracks.size() >= ChunkHeader::kMaxListed) return Malformed("too many tracks listed");
        if (!DecodeTrackKey(r.Bytes(), &header->tracks.emplace_back())) return Malformed("malformed track");
        break;
      case 12: header->has_all_tracks = r.Varint() != 0; break;
      case 13:
        if (header->parts.size() >= kMaxParts) return Malformed("too many parts");
        if (!DecodePart(r.Bytes(), &header->parts.emplace_back())) return Malformed("malformed part");
        break;
      default: r.Skip();
    }
  }
  if (!r.ok()) return Malformed("malformed chunk header");
  if (section == 0 || section > 0xffffffffu) return Malformed("chunk without a section");
  if (rows == 0 || rows > EventBatch::kMaxRows) return Malformed("row count out of range");
  if (header->foreign_events < rows || header->foreign_events > 2 * rows) return Malformed("event count out of range");
  if (header->first_row > (uint64_t{1} << 62)) return Malformed("row number out of range");
  for (size_t i = 0; i < header->parts.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (header->parts[i].id == header->parts[j].id) return Malformed("part listed twice");
    }
  }
  header->section = static_cast<uint32_t>(section);
  header->rows = static_cast<uint32_t>(rows);
  return absl::OkStatus();
}

std::string EncodeTraceInfo(const TraceInfo& info) {
  std::string message;
  WireWriter w(&message);
  if (!info.source_format.empty()) w.Bytes(1, info.source_format);
  if (!info.source_name.empty()) w.Bytes(2, info.source_name);
  if (info.base_ns != 0) w.Signed(3, info.base_ns);
  if (info.has_base) w.Varint(4, 1);
  if (info.array_form) w.Varint(5, 1);
  if (info.rank) w.Signed(6, *info.rank);
  if (info.world_size) w.Signed(7, *info.world_size);
  std::string text;
  for (const MetadataEntry& entry : info.metadata) {
    text.clear();
    WireWriter m(&text);
    m.Bytes(1, entry.key);
    m.Bytes(2, entry.json);
    if (entry.after_events) m.Varint(3, 1);
    w.Bytes(8, text);
  }
  w.Bytes(9, EncodeReport(info.report));
  return message;
}

absl::Status DecodeTraceInfo(absl::string_view message, TraceInfo* info) {
  *info = TraceInfo();
  WireReader r(message);
  while (r.NextField()) {
    switch (r.field()) {
      case 1: info->source_format = std::string(r.Bytes()); break;
      case 2: info->source_name = std::string(r.Bytes()); break;
      case 3: info->base_ns = r.Signed(); break;
      case 4: info->has_base = r.Varint() != 0; break;
      case 5: info->array_form = r.Varint() != 0; break;
      case 6: info->rank = r.Signed(); break;
      case 7: info->world_size = r.Signed(); break;
      case 8:
        if (!DecodeMetadata(r.Bytes(), &info->metadata.emplace_back())) return Malformed("malformed metadata entry");
        break;
      case 9:
        if (!DecodeReport(r.Bytes(), &info->report)) return Malformed("malformed import report");
        break;
      default: r.Skip();
    }
  }
  return r.ok() ? absl::OkStatus() : Malformed("malformed trace info");
}

std::string EncodeFileHeader(const TraceInfo& known_at_start) {
  std::string message;
  WireWriter(&message).Bytes(2, EncodeTraceInfo(known_at_start));
  return message;
}

absl::Status DecodeFileHeader(absl::string_view message, TraceInfo* known_at_start) {
  *known_at_start = TraceInfo();
  WireReader r(message);
  uint64_t features = 0;
  absl::string_view info;
  while (r.NextField()) {
    switch (r.field()) {
      case 1: features = r.Varint(); break;
      case 2: info = r.Bytes(); break;
      default: r.Skip();
    }
  }
  if (!r.ok()) return Malformed("malformed file header");
  if ((features & ~kKnownFeatures) != 0) {
    return absl::UnimplementedError(
        absl::StrCat("the file needs features that this version does not know (bits ", features, ")"));
  }
  return DecodeTraceInfo(info, known_at_start);
}

std::string EncodeFooter(const Footer& footer) {
  std::string message;
  WireWriter w(&message);
  for (const IndexEntry& entry : footer.chunks) {
    std::string text;
    WireWriter e(&text);
    e.Varint(1, entry.offset);
    e.Bytes(2, EncodeChunkHeader(entry.header));
    e.Varint(3, entry.parts_offset);
    w.Bytes(1, text);
  }
  w.Varint(2, footer.info_offset);
  return message;
}

absl::Status DecodeFooter(absl::string_view message, Footer* footer) {
  *footer = Footer();
  WireReader r(message);
  while (r.NextField()) {
    switch (r.field()) {
      case 1: {
        IndexEntry entry;
        WireReader e(r.Bytes());
        absl::string_view header;
        while (e.NextField()) {
          switch (e.field()) {
            case 1: entry.offset = e.Varint(); break;
            case 2: header = e.Bytes(); break;
            case 3: entry.parts_offset = e.Varint(); break;
            default: e.Skip();
          }
        }
        if (!e.ok()) return Malformed("malformed index entry");
        if (absl::Status status = DecodeChunkHeader(header, &entry.header); !status.ok()) return status;
        footer->chunks.push_back(std::move(entry));
        break;
      }
      case 2: footer->info_offset = r.Varint(); break;
      default: r.Skip();
    }
  }
  return r.ok() ? absl::OkStatus() : Malformed("malformed footer");
}

std::string EncodeTrailer(uint64_t footer_offset) {
  std::string message;
  WireWriter(&message).Fixed64(1, footer_offset);
  return message;
}

absl::Status DecodeTrailer(absl::string_view message, uint64_t* footer_offset) {
  *footer_offset = 0;
  WireReader r(message);
  while (r.NextField()) {
    if (r.field() == 1) {
      *footer_offset = r.Fixed64();
    } else {
      r.Skip();
    }
  }
  return r.ok() && *footer_offset != 0 ? absl::OkStatus() : Malformed("malformed trailer");
}

}  // namespace tracekiln::kiln
