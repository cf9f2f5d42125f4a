#include <zstd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "formats/intermediate/part_codec.h"
#include "formats/intermediate/wire.h"
#include "formats/io/crc32c.h"

namespace tracekiln::kiln {
namespace {

bool ParseColumn(absl::string_view message, Column* column) {
  WireReader r(message);
  uint64_t numbers[5] = {};
  while (r.NextField()) {
    const uint32_t field = r.field();
    if (field <= 5) {
      numbers[field - 1] = r.Varint();
      if (numbers[field - 1] > 0xffffffffu) return false;
    } else if (field == 6) {
      column->base = r.Signed();
    } else if (field == 7) {
      column->data = r.Bytes();
    } else {
      r.Skip();
    }
  }
  column->id = static_cast<uint32_t>(numbers[0]);
  column->shape = static_cast<uint32_t>(numbers[1]);
  column->field = static_cast<uint32_t>(numbers[2]);
  column->predictor = static_cast<uint32_t>(numbers[3]);
  column->width = static_cast<uint32_t>(numbers[4]);
  return r.ok() && column->id != 0 && column->width <= 8;
}

template <int kWidth, typename T>
void JoinPlanes(const uint8_t* planes, size_t n, T* out) {
  for (size_t i = 0; i < n; ++i) {
    T v = planes[i];
    for (int p = 1; p < kWidth; ++p) v |= static_cast<T>(planes[p * n + i]) << (8 * p);
    out[i] = v;
  }
}

// out[0, n) = the residuals. REQUIRES: data has width * n bytes; width <= sizeof(T).
template <typename T>
void Join(const Column& column, size_t n, T* out) {
  const uint8_t* planes = reinterpret_cast<const uint8_t*>(column.data.data());
  switch (column.width) {
    case 0: std::fill(out, out + n, T{0}); break;
    case 1: JoinPlanes<1>(planes, n, out); break;
    case 2: JoinPlanes<2>(planes, n, out); break;
    case 3: JoinPlanes<3>(planes, n, out); break;
    case 4: JoinPlanes<4>(planes, n, out); break;
    default:
      if constexpr (sizeof(T) == 8) {
        switch (column.width) {
          case 5: JoinPlanes<5>(planes, n, out); break;
          case 6: JoinPlanes<6>(planes, n, out); break;
          case 7: JoinPlanes<7>(planes, n, out); break;
          default: JoinPlanes<8>(planes, n, out); break;
        }
      }
  }
}

inline int64_t Add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

}  // namespace

PartDecoder::PartDecoder() : zstd_(ZSTD_createDCtx()) {}
PartDecoder::~PartDecoder() { ZSTD_freeDCtx(zstd_); }

const Column* PartDecoder::Find(ColumnId id) const {
  for (const Column& column : columns_) {
    if (column.id == static_cast<uint32_t>(id)) return &column;
  }
  return nullptr;
}

const char* PartDecoder::Load(const PartInfo& part, absl::string_view bytes) {
  if (ZSTD_getFrameContentSize(bytes.data(), bytes.size()) != part.raw_bytes) return "a part's size is not the stated";
  if (raw_.capacity() < part.raw_bytes) {
    raw_ = std::string();
    raw_.reserve(part.raw_bytes);
  }
  raw_.resize(part.raw_bytes);
  if (ZSTD_decompressDCtx(zstd_, raw_.data(), raw_.size(), bytes.data(), bytes.size()) != part.raw_bytes) {
    return "a part is no valid zstd frame";
  }
  columns_.clear();
  WireReader r(absl::string_view(raw_.data(), raw_.size()));
  while (r.NextField()) {
    if (r.field() != 1) {
      r.Skip();
      continue;
    }
    if (columns_.size() >= kMaxColumns) return "too many columns";
    if (!ParseColumn(r.Bytes(), &columns_.emplace_back())) return "malformed column";
  }
  return r.ok() ? nullptr : "malformed columns";
}

absl::Status PartDecoder::LoadOf(const ChunkHeader& header, uint32_t section, PartId id, absl::string_view bytes,
                                 absl::string_view name, uint64_t offset) {
  const auto where = [&](uint64_t at) { return absl::StrCat(name, ":", offset + at, ": "); };
  if (header.section != section) {
    return absl::UnimplementedError(
        absl::StrCat(where(0), "expected a chunk of section ", section, ", got one of section ", header.section));
  }
  if ((header.required_features & ~kKnownFeatures) != 0) {
    return absl::UnimplementedError(absl::StrCat(where(0), "the chunk needs features that this version does not know (",
                                                 "bits ", header.required_features, ")"));
  }
  Clear();
  uint64_t at = 0;
  bool is_there = false;
  for (const PartInfo& part : header.parts) {
    if (part.id == static_cast<uint32_t>(id)) {
      if (at + part.encoded_bytes > bytes.size()) {
        return absl::DataLossError(
            absl::StrCat(where(at), "expected a part of ", part.encoded_bytes, " bytes, got the end of the file"));
      }
      const absl::string_view encoded = bytes.substr(at, part.encoded_bytes);
      if (io::Crc32c(encoded) != part.crc32c) {
        return absl::DataLossError(absl::StrCat(where(at), "the part's checksum does not match its bytes"));
      }
      if (const char* error = Load(part, encoded)) return absl::InvalidArgumentError(absl::StrCat(where(at), error));
      is_there = true;
    }
    at += part.encoded_bytes;
  }
  if (!is_there) return absl::InvalidArgumentError(absl::StrCat(where(0), "the chunk lacks a part"));
  return absl::OkStatus();
}

const char* PartDecoder::DecodeCodes(const Column* column, const ColumnContext& context, uint64_t limit,
                                     uint32_t* out) {
  const size_t n = context.rows;
  if (column == nullptr) return "a column is missing";
  if (column->width > 4 || column->data.size() != column->width * n) return "a column's size does not fit its rows";
  if (n == 0) return nullptr;
  if (column->predictor != 0 && (column->base < 0 || static_cast<uint64_t>(column->base) >= limit)) {
    return "a column's base is out of range";
  }
  const uint32_t base = static_cast<uint32_t>(column->base);
  const Predictor predictor = static_cast<Predictor>(column->predictor);
  if (column->width == 0 && predictor != Predictor::kNone) {
    std::fill(out, out + n, base);
    return nullptr;
  }
  Join(*column, n, out);
  switch (predictor) {
    case Predictor::kNone: break;
    case Predictor::kPrevious: {
      uint32_t previous = base;
      for (size_t i = 0; i < n; ++i) out[i] = previous = out[i] == 0 ? previous : out[i] - 1;
      break;
    }
    case Predictor::kSameName:
    case Predictor::kSameTrack: {
      const bool by_name = predictor == Predictor::kSameName;
      const uint32_t* key = by_name ? context.name : context.track;
      if (key == nullptr) return "a column's predictor is not possible";
      last_codes_.assign(by_name ? context.name_count : context.track_count, base);
      for (size_t i = 0; i < n; ++i) {
        uint32_t& slot = last_codes_[key[i]];
        if (out[i] != 0) slot = out[i] - 1;
        out[i] = slot;
      }
      break;
    }
    default: return "a column has an unknown predictor";
  }
  uint32_t max = 0;
  for (size_t i = 0; i < n; ++i) max = std::max(max, out[i]);
  return max < limit ? nullptr : "a column names an entry that its table does not have";
}

const char* PartDecoder::DecodeInts(const Column* column, const ColumnContext& context, int64_t* out) {
  const size_t n = context.rows;
  if (column == nullptr) return "a column is missing";
  if (column->data.size() != column->width * n) return "a column's size does not fit its rows";
  const int64_t base = column->base;
  const Predictor predictor = static_cast<Predictor>(column->predictor);
  if (predictor == Predictor::kCorrelation) {
    if (context.correlation == nullptr || column->width != 0) return "a column's predictor is not possible";
    std::copy(context.correlation, context.correlation + n, out);
    return nullptr;
  }
  if (column->width == 0) {
    std::fill(out, out + n, base);
    return predictor <= Predictor::kSameTrack ? nullptr : "a column has an unknown predictor";
  }
  residuals_.resize(n);
  Join(*column, n, residuals_.data());
  switch (predictor) {
    case Predictor::kNone:
      for (size_t i = 0; i < n; ++i) out[i] = static_cast<int64_t>(residuals_[i] + static_cast<uint64_t>(base));
      return nullptr;
    case Predictor::kPrevious: {
      int64_t previous = base;
      for (size_t i = 0; i < n; ++i) out[i] = previous = Add(previous, UnZigZag(residuals_[i]));
      return nullptr;
    }
    case Predictor::kPreviousNonZero: {
      int64_t previous = base;
      for (size_t i = 0; i < n; ++i) {
        if (residuals_[i] == 0) {
          out[i] = 0;
        } else {
          out[i] = previous = Add(previous, UnZigZag(residuals_[i] - 1));
        }
      }
      return nullptr;
    }
    case Predictor::kSameName:
    case Predictor::kSameTrack: {
      const bool by_name = predictor == Predictor::kSameName;
      const uint32_t* key = by_name ? context.name : context.track;
      if (key == nullptr) return "a column's predictor is not possible";
      last_ints_.assign(by_name ? context.name_count : context.track_count, base);
      for (size_t i = 0; i < n; ++i) {
        int64_t& slot = last_ints_[key[i]];
        out[i] = slot = Add(slot, UnZigZag(residuals_[i]));
      }
      return nullptr;
    }
    case Predictor::kCorrelation: break;
  }
  return "a column has an unknown predictor";
}

const char* PartDecoder::DecodeStrings(ColumnId sizes, ColumnId bytes, std::string* text, std::vector<uint32_t>* ends) {
  const Column* size_column = Find(sizes);
  const Column* byte_column = Find(bytes);
  if (size_column == nullptr || byte_column == nullptr) return "the strings are missing";
  ColumnContext context;
  context.rows = size_column->field;
  // A string takes at least a byte somewhere, but for one empty string.
  if (context.rows > byte_column->data.size() + 1) return "more strings than bytes of strings";
  ints_.resize(context.rows);
  if (const char* error = DecodeInts(size_column, context, ints_.data())) return error;
  uint64_t end = text->size();
  const uint64_t limit = end + byte_column->data.size();
  ends->reserve(ends->size() + context.rows);
  for (int64_t size : ints_) {
    if (size < 0 || static_cast<uint64_t>(size) > limit - end) return "a string's size is out of range";
    end += static_cast<uint64_t>(size);
    ends->push_back(static_cast<uint32_t>(end));
  }
  if (end != limit || limit > 0xfffffffeu) return "the strings don't fill their bytes";
  text->append(byte_column->data.data(), byte_column->data.size());
  return nullptr;
}

}  // namespace tracekiln::kiln
