// Reads any bytes as a .kiln file, in all ways: as they are, and with the checksums mended, so that a fuzzer gets past
// them.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "formats/intermediate/chunk_codec.h"
#include "formats/intermediate/event_batch.h"
#include "formats/intermediate/graph.h"
#include "formats/intermediate/graph_codec.h"
#include "formats/intermediate/kiln_reader.h"
#include "formats/intermediate/kiln_records.h"
#include "formats/intermediate/profile.h"
#include "formats/intermediate/profile_codec.h"
#include "formats/intermediate/testing/batch_equality.h"
#include "formats/intermediate/testing/graph_equality.h"
#include "formats/intermediate/testing/profile_equality.h"
#include "formats/io/crc32c.h"
#include "formats/io/executor.h"
#include "formats/io/random_access.h"

namespace tracekiln::kiln {
namespace {

// Gives every record that can be walked to, and every part of its chunks, the right checksum.
std::string Mended(std::string bytes) {
  size_t at = 0;
  Record record;
  while (at < bytes.size() && ParseRecordPrefix(absl::string_view(bytes).substr(at), "", at, &record).ok() &&
         record.total_bytes <= bytes.size() - at) {
    const absl::string_view message =
        absl::string_view(bytes).substr(at + kRecordPrefixBytes, record.total_bytes - kRecordPrefixBytes);
    ChunkHeader header;
    std::string mended;
    size_t next = at + record.total_bytes;
    if (record.kind == RecordKind::kChunk && DecodeChunkHeader(message, &header).ok() &&
        header.parts_bytes() <= bytes.size() - next) {
      size_t part_at = next;
      for (PartInfo& part : header.parts) {
        part.crc32c = io::Crc32c(absl::string_view(bytes).substr(part_at, part.encoded_bytes));
        part_at += part.encoded_bytes;
      }
      AppendRecord(record.kind, EncodeChunkHeader(header), &mended);
      next = at + mended.size() + (part_at - next);
    } else {
      AppendRecord(record.kind, std::string(message), &mended);
      next = at + mended.size();
    }
    bytes.replace(at, record.total_bytes, mended);
    at = next;
  }
  return bytes;
}

void ReadInAllWays(const std::string& bytes) {
  io::InlineExecutor executor;
  const std::shared_ptr<io::RandomAccessFile> file = io::MakeMemoryFile(bytes, "fuzz");
  ReadOptions all, core, some;
  core.columns = ColumnSelection::kCore;
  core.salvage = true;
  some.window = TimeWindow{0, 1000};
  some.categories = {"kernel"};
  some.strict = true;
  for (const ReadOptions& options : {all, core, some}) {
    auto reader = KilnReader::Open(file, options, executor);
    if (!reader.ok()) continue;
    if (const Profile* profile = (*reader)->profile(); profile != nullptr) {
      ProfileDecoder decoder;
      const auto add = [&](const ChunkHeader& header, absl::string_view parts) {
        if (!decoder.Add(header, parts, "", 0).ok()) std::abort();
      };
      if (!EncodeProfile(*profile, {}, add).ok()) std::abort();
      const absl::StatusOr<Profile> again = std::move(decoder).Finish("");
      if (!again.ok() || !FirstDifference(*again, *profile).empty()) std::abort();
    }
    if (const Graph* graph = (*reader)->graph(); graph != nullptr) {
      GraphDecoder decoder;
      const auto add = [&](const ChunkHeader& header, absl::string_view parts) {
        if (!decoder.Add(header, parts, "", 0).ok()) std::abort();
      };
      if (!EncodeGraph(*graph, {}, add).ok()) std::abort();
      const absl::StatusOr<Graph> again = std::move(decoder).Finish("");
      if (!again.ok() || !FirstDifference(*again, *graph).empty()) std::abort();
    }
    EventBatch batch;
    for (;;) {
      absl::StatusOr<bool> more = (*reader)->Next(&batch);
      if (!more.ok() || !*more) break;
      for (size_t i = 0; i < batch.rows(); ++i) (void)RowText(batch, i);
      // What was accepted can be written and read again.
      const EventBatch before = batch;
      ChunkEncoder encoder;
      ChunkDecoder decoder;
      ChunkHeader header;
      std::string parts;
      EventBatch after;
      if (!encoder.Encode(before, &header, &parts).ok()) std::abort();
      if (!decoder.Decode(header, parts, ColumnSelection::kAll, "", 0, &after).ok()) std::abort();
      if (!FirstDifference(before, after).empty()) std::abort();
    }
  }
}

}  // namespace
}  // namespace tracekiln::kiln

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  tracekiln::kiln::ReadInAllWays(bytes);
  tracekiln::kiln::ReadInAllWays(tracekiln::kiln::Mended(bytes));
  return 0;
}
