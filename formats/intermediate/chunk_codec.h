// EventBatch <-> the parts of one chunk of a .kiln file. FORMAT.md has the encodings with their reasons.
//
//   kiln::ChunkEncoder encoder({.zstd_level = 1});
//   kiln::ChunkHeader header;
//   std::string parts;
//   absl::Status status = encoder.Encode(batch, &header, &parts);
//
//   kiln::ChunkDecoder decoder;
//   status = decoder.Decode(header, parts, kiln::ColumnSelection::kAll, "x.kiln", offset, &batch);
//
// Decoding gives what was encoded: the same rows in the same order, with equal texts, tracks and arguments. Ids may
// differ, since tables keep only what some row uses: strings of names, categories and tracks are numbered first, then
// those of arguments, else in the old order. Encoding a decoded batch again gives the same bytes.
//
// Encoders and decoders keep scratch memory: use one for many chunks, on one thread at a time. Neither is
// thread-safe. Encoding depends only on the batch and the options.
#ifndef TRACEKILN_FORMATS_INTERMEDIATE_CHUNK_CODEC_H_
#define TRACEKILN_FORMATS_INTERMEDIATE_CHUNK_CODEC_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "formats/intermediate/event_batch.h"
#include "formats/intermediate/kiln_records.h"

namespace tracekiln::kiln {

struct EncodeOptions {
  int zstd_level = 1;  // -7 to 19
};

class ChunkEncoder {
 public:
  explicit ChunkEncoder(const EncodeOptions& options = {});
  ~ChunkEncoder();
  ChunkEncoder(const ChunkEncoder&) = delete;
  ChunkEncoder& operator=(const ChunkEncoder&) = delete;

  // Appends the chunk's parts to *parts and sets *header, all but first_row. REQUIRES: all columns have
  // batch.rows() entries and all ids are valid.
  // FailedPrecondition: no rows or more than EventBatch::kMaxRows, or rows of kind kSliceBegin or kSliceEnd.
  // ResourceExhausted: over kMaxArgValues, kMaxArgFields or kMaxPartRawBytes.
  absl::Status Encode(const EventBatch& batch, ChunkHeader* header, std::string* parts);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Argument values of one chunk (sum over its rows of the fields of the row's shape), and fields of all its shapes.
inline constexpr uint64_t kMaxArgValues = uint64_t{1} << 26;
inline constexpr uint64_t kMaxArgFields = uint64_t{1} << 20;

enum class ColumnSelection : uint8_t {
  kCore,  // every row gets ArgTable::kNoArgs, strings that only arguments use are not there
  kAll,
};

class ChunkDecoder {
 public:
  ChunkDecoder();
  ~ChunkDecoder();
  ChunkDecoder(const ChunkDecoder&) = delete;
  ChunkDecoder& operator=(const ChunkDecoder&) = delete;

  // How many of the bytes behind the chunk's record Decode needs for a selection.
  static uint64_t BytesNeeded(const ChunkHeader& header, ColumnSelection selection);

  // Replaces *batch by the chunk. `bytes` are the first BytesNeeded() bytes behind the chunk's record; `name` and
  // `offset` (of these bytes) are for messages. The batch can be used without further checks: all ids are within
  // their tables. Its arrays are of exact size if it was empty before.
  // DataLoss: a part is missing, cut off or fails its checksum. InvalidArgument: intact but no valid chunk.
  // Unimplemented: the chunk needs features that this code does not know, or is no timeline.
  absl::Status Decode(const ChunkHeader& header, absl::string_view bytes, ColumnSelection selection,
                      absl::string_view name, uint64_t offset, EventBatch* batch);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracekiln::kiln

#endif  // TRACEKILN_FORMATS_INTERMEDIATE_CHUNK_CODEC_H_
