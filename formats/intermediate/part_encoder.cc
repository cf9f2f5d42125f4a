#include <zstd.h>

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "formats/intermediate/part_codec.h"
#include "formats/intermediate/wire.h"
#include "formats/io/crc32c.h"

namespace tracekiln::kiln {
namespace {

// Which rows a sample looks at: `warm` rows to fill the predictor's memory, then `measured` rows.
constexpr size_t kSampleWarm = 192;
constexpr size_t kSampleMeasured = 192;

// Blocks smaller than this are not worth entropy tables of their own.
constexpr size_t kMinBlockBytes = 3000;

inline uint32_t BitWidth(uint64_t v) { return v == 0 ? 0 : 64 - static_cast<uint32_t>(__builtin_clzll(v)); }

// Rough cost of a residual in quarter bits.
inline uint32_t Cost(uint64_t residual) { return residual == 0 ? 1 : 6 + 4 * BitWidth(residual); }

}  // namespace

PartEncoder::PartEncoder(int zstd_level) : zstd_level_(zstd_level), zstd_(ZSTD_createCCtx()) {}
PartEncoder::~PartEncoder() { ZSTD_freeCCtx(zstd_); }

void PartEncoder::Begin() {
  raw_.clear();
  cuts_.clear();
}

void PartEncoder::EncodeCodes(ColumnId id, uint32_t shape, uint32_t field, const uint32_t* codes,
                              const ColumnContext& context) {
  const size_t n = context.rows;
  residuals_.resize(n);
  uint32_t differs = 0;
  for (size_t i = 0; i < n; ++i) differs |= codes[i] ^ codes[0];
  if (differs == 0) {
    Emit(id, shape, field, Predictor::kPrevious, n == 0 ? 0 : codes[0], nullptr, n, 0);
    return;
  }
  const size_t first = n <= kSampleWarm + kSampleMeasured ? 0 : n / 2;
  const size_t warm = first == 0 ? std::min<size_t>(n / 4, kSampleWarm) : first + kSampleWarm;
  const size_t last = first == 0 ? n : std::min(n, warm + kSampleMeasured);
  uint32_t cost_none = 0, cost_previous = 0;
  for (size_t i = std::max<size_t>(warm, 1); i < last; ++i) {
    cost_none += Cost(codes[i]);
    cost_previous += codes[i] == codes[i - 1] ? 1 : Cost(uint64_t{codes[i]} + 1);
  }
  const auto context_cost = [&](const uint32_t* key, uint32_t key_count) {
    last_codes_.assign(key_count, 0);
    for (size_t i = first; i < warm; ++i) last_codes_[key[i]] = codes[i];
    uint32_t cost = 0;
    for (size_t i = warm; i < last; ++i) {
      uint32_t& slot = last_codes_[key[i]];
      cost += codes[i] == slot ? 1 : Cost(uint64_t{codes[i]} + 1);
      slot = codes[i];
    }
    return cost;
  };
  Predictor best = Predictor::kNone;
  uint32_t best_cost = cost_none;
  if (cost_previous < best_cost) {
    best = Predictor::kPrevious;
    best_cost = cost_previous;
  }
  if (context.name != nullptr) {
    const uint32_t cost = context_cost(context.name, context.name_count);
    if (cost < best_cost) {
      best = Predictor::kSameName;
      best_cost = cost;
    }
  }
  if (context.track != nullptr) {
    const uint32_t cost = context_cost(context.track, context.track_count);
    if (cost < best_cost) {
      best = Predictor::kSameTrack;
      best_cost = cost;
    }
  }
  uint64_t bits = 0;
  int64_t base = 0;
  switch (best) {
    case Predictor::kNone:
      for (size_t i = 0; i < n; ++i) bits |= residuals_[i] = codes[i];
      break;
    case Predictor::kPrevious: {
      base = codes[0];
      uint32_t previous = codes[0];
      for (size_t i = 0; i < n; ++i) {
        bits |= residuals_[i] = codes[i] == previous ? 0 : uint64_t{codes[i]} + 1;
        previous = codes[i];
      }
      break;
    }
    default: {
      const uint32_t* key = best == Predictor::kSameName ? context.name : context.track;
      base = codes[0];
      last_codes_.assign(best == Predictor::kSameName ? context.name_count : context.track_count, codes[0]);
      for (size_t i = 0; i < n; ++i) {
        uint32_t& slot = last_codes_[key[i]];
        bits |= residuals_[i] = codes[i] == slot ? 0 : uint64_t{codes[i]} + 1;
        slot = codes[i];
      }
    }
  }
  Emit(id, shape, field, best, base, residuals_.data(), n, bits);
}

void PartEncoder::EncodeInts(ColumnId id, uint32_t shape, uint32_t field, const int64_t* values,
                             const ColumnContext& context) {
  const size_t n = context.rows;
  residuals_.resize(n);
  int64_t min = n == 0 ? 0 : values[0], max = min;
  for (size_t i = 0; i < n; ++i) {
    min = std::min(min, values[i]);
    max = std::max(max, values[i]);
  }
  if (min == max) {
    Emit(id, shape, field, Predictor::kPrevious, min, nullptr, n, 0);
    return;
  }
  if (context.correlation != nullptr && std::equal(values, values + n, context.correlation)) {
    Emit(id, shape, field, Predictor::kCorrelation, 0, nullptr, n, 0);
    return;
  }
  const auto difference = [](int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  };
  const size_t first = n <= kSampleWarm + kSampleMeasured ? 0 : n / 2;
  const size_t warm = first == 0 ? std::min<size_t>(n / 4, kSampleWarm) : first + kSampleWarm;
  const size_t last = first == 0 ? n : std::min(n, warm + kSampleMeasured);
  uint32_t cost_none = 0, cost_previous = 0, cost_nonzero = 0;
  int64_t nonzero = 0;
  for (size_t i = first; i < warm; ++i) nonzero = values[i] != 0 ? values[i] : nonzero;
  for (size_t i = std::max<size_t>(warm, 1); i < last; ++i) {
    cost_none += Cost(static_cast<uint64_t>(values[i]) - static_cast<uint64_t>(min));
    cost_previous += Cost(ZigZag(difference(values[i], values[i - 1])));
    if (values[i] == 0) {
      cost_nonzero += 1;
    } else {
      cost_nonzero += 4 + Cost(ZigZag(difference(values[i], nonzero)));
      nonzero = values[i];
    }
  }
  const auto context_cost = [&](const uint32_t* key, uint32_t key_count) {
    last_ints_.assign(key_count, 0);
    for (size_t i = first; i < warm; ++i) last_ints_[key[i]] = values[i];
    uint32_t cost = 0;
    for (size_t i = warm; i < last; ++i) {
      int64_t& slot = last_ints_[key[i]];
      cost += Cost(ZigZag(difference(values[i], slot)));
      slot = values[i];
    }
    return cost;
  };
  Predictor best = Predictor::kNone;
  uint32_t best_cost = cost_none;
  const auto consider = [&](Predictor predictor, uint32_t cost) {
    if (cost >= best_cost) return;
    best = predictor;
    best_cost = cost;
  };
  consider(Predictor::kPrevious, cost_previous);
  // ZigZag + 1 must not wrap.
  if (min > std::numeric_limits<int64_t>::min() / 4 && max < std::numeric_limits<int64_t>::max() / 4) {
    consider(Predictor::kPreviousNonZero, cost_nonzero);
  }
  if (context.name != nullptr) consider(Predictor::kSameName, context_cost(context.name, context.name_count));
  if (context.track != nullptr) consider(Predictor::kSameTrack, context_cost(context.track, context.track_count));

  uint64_t bits = 0;
  int64_t base = values[0];
  switch (best) {
    case Predictor::kNone:
      base = min;
      for (size_t i = 0; i < n; ++i) {
        bits |= residuals_[i] = static_cast<uint64_t>(values[i]) - static_cast<uint64_t>(min);
      }
      break;
    case Predictor::kPrevious:
      residuals_[0] = 0;
      for (size_t i = 1; i < n; ++i) bits |= residuals_[i] = ZigZag(difference(values[i], values[i - 1]));
      break;
    case Predictor::kPreviousNonZero:
      base = 0;
      nonzero = 0;
      for (size_t i = 0; i < n; ++i) {
        residuals_[i] = values[i] == 0 ? 0 : 1 + ZigZag(difference(values[i], nonzero));
        bits |= residuals_[i];
        if (values[i] != 0) nonzero = values[i];
      }
      break;
    default: {
      const uint32_t* key = best == Predictor::kSameName ? context.name : context.track;
      last_ints_.assign(best == Predictor::kSameName ? context.name_count : context.track_count, base);
      for (size_t i = 0; i < n; ++i) {
        int64_t& slot = last_ints_[key[i]];
        bits |= residuals_[i] = ZigZag(difference(values[i], slot));
        slot = values[i];
      }
    }
  }
  Emit(id, shape, field, best, base, residuals_.data(), n, bits);
}

void PartEncoder::Emit(ColumnId id, uint32_t shape, uint32_t field, Predictor predictor, int64_t base,
                       const uint64_t* residuals, size_t rows, uint64_t or_of_residuals) {
  const uint32_t width = (BitWidth(or_of_residuals) + 7) / 8;
  const size_t data_bytes = width * rows;
  std::string message;
  WireWriter w(&message);
  w.Varint(1, static_cast<uint64_t>(id));
  if (shape != 0) w.Varint(2, shape);
  if (field != 0) w.Varint(3, field);
  if (predictor != Predictor::kNone) w.Varint(4, static_cast<uint64_t>(predictor));
  if (width != 0) w.Varint(5, width);
  if (base != 0) w.Signed(6, base);
  if (data_bytes != 0) w.BytesHeader(7, data_bytes);
  if (data_bytes >= kMinBlockBytes) cuts_.push_back(raw_.size());
  WireWriter(&raw_).BytesHeader(1, message.size() + data_bytes);
  raw_ += message;
  const size_t start = raw_.size();
  raw_.resize(start + data_bytes);
  char* out = raw_.data() + start;
  for (uint32_t plane = 0; plane < width; ++plane) {
    const uint32_t shift = 8 * plane;
    for (size_t i = 0; i < rows; ++i) out[i] = static_cast<char>(residuals[i] >> shift);
    out += rows;
    if (rows >= kMinBlockBytes) cuts_.push_back(start + (plane + 1) * rows);
  }
}

void PartEncoder::EmitTable(ColumnId id, uint32_t shape, uint32_t field, absl::string_view data) {
  std::string message;
  WireWriter w(&message);
  w.Varint(1, static_cast<uint64_t>(id));
  if (shape != 0) w.Varint(2, shape);
  if (field != 0) w.Varint(3, field);
  w.BytesHeader(7, data.size());
  if (data.size() >= kMinBlockBytes) cuts_.push_back(raw_.size());
  WireWriter(&raw_).BytesHeader(1, message.size() + data.size());
  raw_ += message;
  raw_.append(data.data(), data.size());
  if (data.size() >= kMinBlockBytes) cuts_.push_back(raw_.size());
}

absl::Status PartEncoder::Finish(PartId id, ChunkHeader* header, std::string* parts) {
  if (raw_.size() > kMaxPartRawBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a part of a chunk may have ", kMaxPartRawBytes, " bytes, got ", raw_.size()));
  }
  const size_t start = parts->size();
  parts->resize(start + ZSTD_compressBound(raw_.size()) + 16 * cuts_.size() + 64);
  ZSTD_CCtx_reset(zstd_, ZSTD_reset_session_only);
  ZSTD_CCtx_setParameter(zstd_, ZSTD_c_compressionLevel, zstd_level_);
  ZSTD_CCtx_setPledgedSrcSize(zstd_, raw_.size());
  ZSTD_outBuffer out = {parts->data() + start, parts->size() - start, 0};
  size_t begin = 0;
  cuts_.push_back(raw_.size());
  for (size_t c = 0; c < cuts_.size(); ++c) {
    const bool is_last = c + 1 == cuts_.size();
    if (cuts_[c] == begin && !is_last) continue;
    ZSTD_inBuffer in = {raw_.data() + begin, cuts_[c] - begin, 0};
    const size_t left = ZSTD_compressStream2(zstd_, &out, &in, is_last ? ZSTD_e_end : ZSTD_e_flush);
    if (left != 0 || in.pos != in.size) {
      return absl::InternalError(absl::StrCat("zstd: ", ZSTD_isError(left) ? ZSTD_getErrorName(left) : "buffer full"));
    }
    begin = cuts_[c];
  }
  parts->resize(start + out.pos);
  PartInfo part;
  part.id = static_cast<uint32_t>(id);
  part.encoded_bytes = static_cast<uint32_t>(out.pos);
  part.raw_bytes = static_cast<uint32_t>(raw_.size());
  part.crc32c = io::Crc32c(absl::string_view(parts->data() + start, out.pos));
  header->parts.push_back(part);
  raw_.clear();
  cuts_.clear();
  return absl::OkStatus();
}

}  // namespace tracekiln::kiln
