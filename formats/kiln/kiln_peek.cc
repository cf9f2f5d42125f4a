#include "formats/kiln/kiln_peek.h"

#include <memory>
#include <string>

#include "formats/intermediate/kiln_records.h"
#include "formats/io/random_access.h"

namespace tracekiln::kiln {
namespace {

constexpr uint64_t kMaxRead = 64 << 20;

// Reads the record at `offset` into *bytes; false if there is no whole record of that kind.
bool ReadRecord(const io::RandomAccessFile& file, uint64_t offset, RecordKind kind, std::string* bytes,
                Record* record) {
  bytes->resize(kRecordPrefixBytes);
  if (!file.ReadAt(offset, bytes->size(), bytes->data()).ok()) return false;
  if (!ParseRecordPrefix(*bytes, file.name(), offset, record).ok()) return false;
  if (record->kind != kind || record->total_bytes > kMaxRead) return false;
  if (record->total_bytes > file.size() || offset > file.size() - record->total_bytes) return false;
  bytes->resize(record->total_bytes);
  if (!file.ReadAt(offset, bytes->size(), bytes->data()).ok()) return false;
  return ParseRecord(*bytes, file.name(), offset, record).ok();
}

void Take(const TraceInfo& from, TraceInfo* info) {
  if (from.rank) info->rank = from.rank;
  if (from.world_size) info->world_size = from.world_size;
}

}  // namespace

void PeekKiln(const io::Input& input, TraceInfo* info) {
  Record record;
  TraceInfo known;
  if (ParseRecord(input.Head(), input.name(), 0, &record).ok() && record.kind == RecordKind::kHeader &&
      DecodeFileHeader(record.message, &known).ok()) {
    Take(known, info);
    if (known.rank && known.world_size) return;
  }
  std::shared_ptr<const io::RandomAccessFile> file = input.random_access();
  // Out of a container, but so small that the head is all of it.
  if (file == nullptr && input.Head().size() < io::kHeadBytes) {
    file = io::MakeMemoryFile(std::string(input.Head()), input.name());
  }
  if (file == nullptr || file->size() < kTrailerBytes) return;
  std::string bytes;
  uint64_t footer_offset = 0;
  if (!ReadRecord(*file, file->size() - kTrailerBytes, RecordKind::kTrailer, &bytes, &record)) return;
  if (!DecodeTrailer(record.message, &footer_offset).ok()) return;
  Footer footer;
  if (!ReadRecord(*file, footer_offset, RecordKind::kFooter, &bytes, &record)) return;
  if (!DecodeFooter(record.message, &footer).ok()) return;
  if (!ReadRecord(*file, footer.info_offset, RecordKind::kInfo, &bytes, &record)) return;
  if (DecodeTraceInfo(record.message, &known).ok()) Take(known, info);
}

}  // namespace tracekiln::kiln
