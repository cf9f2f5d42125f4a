// One part of a chunk: columns and tables <-> a zstd frame. What the codecs of all sections share. Private to this
// package.
//
//   PartEncoder part(zstd_level);
//   part.Begin();
//   part.EncodeInts(ColumnId::kTs, 0, 0, ts_ns.data(), context);
//   absl::Status status = part.Finish(PartId::kCore, &header, &parts);
//
//   PartDecoder part;
//   if (const char* error = part.Load(header.parts[0], bytes)) …
//   if (const char* error = part.DecodeInts(part.Find(ColumnId::kTs), context, ts_ns.data())) …
//
// The encoder tries the predictors that the context allows on a sample and takes the cheapest. The decoder takes bytes
// that nobody vouches for; its functions return nullptr, or what is wrong. Both keep scratch memory; neither is
// thread-safe.
#ifndef TRACEKILN_FORMATS_INTERMEDIATE_PART_CODEC_H_
#define TRACEKILN_FORMATS_INTERMEDIATE_PART_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "formats/intermediate/chunk_columns.h"
#include "formats/intermediate/kiln_records.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace tracekiln::kiln {

class PartEncoder {
 public:
  explicit PartEncoder(int zstd_level);
  ~PartEncoder();
  PartEncoder(const PartEncoder&) = delete;
  PartEncoder& operator=(const PartEncoder&) = delete;

  // Starts an empty part.
  void Begin();

  // One column of codes (below 2^32 - 1) or numbers, context.rows of them.
  void EncodeCodes(ColumnId id, uint32_t shape, uint32_t field, const uint32_t* codes, const ColumnContext& context);
  void EncodeInts(ColumnId id, uint32_t shape, uint32_t field, const int64_t* values, const ColumnContext& context);
  void EmitTable(ColumnId id, uint32_t shape, uint32_t field, absl::string_view data);

  // Appends the frame to *parts and its description to header->parts. ResourceExhausted: over kMaxPartRawBytes.
  absl::Status Finish(PartId id, ChunkHeader* header, std::string* parts);

 private:
  void Emit(ColumnId id, uint32_t shape, uint32_t field, Predictor predictor, int64_t base, const uint64_t* residuals,
            size_t rows, uint64_t or_of_residuals);

  const int zstd_level_;
  ZSTD_CCtx_s* const zstd_;
  std::string raw_;           // of the part in the making
  std::vector<size_t> cuts_;  // offsets in raw_ where zstd is flushed
  std::vector<uint32_t> last_codes_;
  std::vector<int64_t> last_ints_;
  std::vector<uint64_t> residuals_;
};

// A part with more is refused.
inline constexpr size_t kMaxColumns = (size_t{1} << 21) + 64;

struct Column {
  uint32_t id = 0;
  uint32_t shape = 0;
  uint32_t field = 0;
  uint32_t predictor = 0;
  uint32_t width = 0;
  int64_t base = 0;
  absl::string_view data;  // in the decoder that loaded it
};

class PartDecoder {
 public:
  PartDecoder();
  ~PartDecoder();
  PartDecoder(const PartDecoder&) = delete;
  PartDecoder& operator=(const PartDecoder&) = delete;

  // Forgets all columns.
  void Clear() { columns_.clear(); }
  // Replaces the columns by those of a part. REQUIRES: the checksum was verified.
  const char* Load(const PartInfo& part, absl::string_view bytes);
  // The same for the one part of a chunk that this section reads, with all checks of chunk and part. `bytes` are those
  // behind the chunk's record; `name` and `offset` (of these bytes) are for messages. DataLoss: cut off, or the
  // checksum fails. InvalidArgument: no such part, or no valid one. Unimplemented: another section, or features that
  // this code does not know.
  absl::Status LoadOf(const ChunkHeader& header, uint32_t section, PartId id, absl::string_view bytes,
                      absl::string_view name, uint64_t offset);

  const std::vector<Column>& columns() const { return columns_; }
  // The first column of this id, or null.
  const Column* Find(ColumnId id) const;

  // out[0, context.rows) = the codes of a column, all below `limit`. A null column is an error, here and below.
  const char* DecodeCodes(const Column* column, const ColumnContext& context, uint64_t limit, uint32_t* out);
  const char* DecodeInts(const Column* column, const ColumnContext& context, int64_t* out);
  // Appends strings to *text and their ends to *ends; the text stays below 2^32 - 1 bytes.
  const char* DecodeStrings(ColumnId sizes, ColumnId bytes, std::string* text, std::vector<uint32_t>* ends);

 private:
  ZSTD_DCtx_s* const zstd_;
  std::string raw_;
  std::vector<Column> columns_;
  std::vector<uint32_t> last_codes_;
  std::vector<int64_t> ints_, last_ints_;
  std::vector<uint64_t> residuals_;
};

}  // namespace tracekiln::kiln

#endif  // TRACEKILN_FORMATS_INTERMEDIATE_PART_CODEC_H_
