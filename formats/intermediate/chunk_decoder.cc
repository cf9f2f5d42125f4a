// The reverse of chunk_encoder.cc, on bytes that nobody vouches for: checksums first, then every length, count and id
// is checked before it is used.
#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "formats/intermediate/chunk_codec.h"
#include "formats/intermediate/chunk_columns.h"
#include "formats/intermediate/part_codec.h"
#include "formats/intermediate/wire.h"
#include "formats/io/crc32c.h"

namespace tracekiln::kiln {

static_assert(kMaxColumns >= 2 * kMaxArgFields + 64);

class ChunkDecoder::Impl {
 public:
  absl::Status Decode(const ChunkHeader& header, absl::string_view bytes, ColumnSelection selection,
                      absl::string_view name, uint64_t offset, EventBatch* batch);

 private:
  // These return nullptr, or what is wrong.
  const char* DecodeCore(const ChunkHeader& header, EventBatch* batch);
  const char* DecodeArgs(const ChunkHeader& header, EventBatch* batch);

  PartDecoder core_, args_;
  std::vector<uint32_t> codes_, names_, tracks_, local_names_, local_tracks_;
  std::vector<uint32_t> order_, shape_start_, fill_;
  std::vector<int64_t> ints_, correlations_;
};

const char* ChunkDecoder::Impl::DecodeCore(const ChunkHeader& header, EventBatch* batch) {
  const size_t n = header.rows;
  const uint32_t strings = static_cast<uint32_t>(batch->strings.size());

  std::vector<Track> tracks;
  std::vector<StringId> categories;
  {
    const Column* column = core_.Find(ColumnId::kTracks);
    if (column == nullptr || column->field > column->data.size()) return "malformed tracks";
    WireReader r(column->data);
    tracks.reserve(column->field);
    for (uint32_t t = 0; t < column->field; ++t) {
      Track track;
      for (TrackPart* part : {&track.pid, &track.tid}) {
        const uint64_t type = r.RawVarint();
        if (type > static_cast<uint64_t>(TrackPart::Type::kJson)) return "malformed tracks";
        part->type = static_cast<TrackPart::Type>(type);
        if (part->type == TrackPart::Type::kInt) part->value = UnZigZag(r.RawVarint());
        if (part->type == TrackPart::Type::kText || part->type == TrackPart::Type::kJson) {
          const uint64_t text = r.RawVarint();
          if (text >= strings) return "malformed tracks";
          part->value = static_cast<int64_t>(text);
        }
      }
      tracks.push_back(track);
    }
    if (!r.ok() || !r.at_end()) return "malformed tracks";
  }
  {
    const Column* column = core_.Find(ColumnId::kCategories);
    if (column == nullptr || column->field > column->data.size() || column->field >= Index(kNoCategory)) {
      return "malformed categories";
    }
    WireReader r(column->data);
    categories.reserve(column->field);
    for (uint32_t c = 0; c < column->field; ++c) {
      const uint64_t text = r.RawVarint();
      if (text >= strings) return "malformed categories";
      categories.push_back(StringId{static_cast<uint32_t>(text)});
    }
    if (!r.ok() || !r.at_end()) return "malformed categories";
  }
  const uint32_t track_count = static_cast<uint32_t>(tracks.size());
  const uint32_t category_count = static_cast<uint32_t>(categories.size());
  if (!batch->AdoptTables(std::move(tracks), std::move(categories))) return "a track or category stands twice";

  ColumnContext context;
  context.rows = n;
  names_.resize(n);
  if (const char* e = core_.DecodeCodes(core_.Find(ColumnId::kName), context, uint64_t{strings} + 1, names_.data()))
    return e;
  context.name = names_.data();
  context.name_count = strings + 1;
  batch->name.resize(n);
  for (size_t i = 0; i < n; ++i) batch->name[i] = StringId{names_[i] - 1};

  tracks_.resize(n);
  if (const char* e = core_.DecodeCodes(core_.Find(ColumnId::kTrack), context, track_count, tracks_.data())) return e;
  context.track = tracks_.data();
  context.track_count = track_count;
  batch->track.resize(n);
  for (size_t i = 0; i < n; ++i) batch->track[i] = TrackId{tracks_[i]};

  codes_.resize(n);
  if (const char* e =
          core_.DecodeCodes(core_.Find(ColumnId::kCategory), context, uint64_t{category_count} + 1, codes_.data()))
    return e;
  batch->category.resize(n);
  for (size_t i = 0; i < n; ++i) batch->category[i] = CategoryId{static_cast<uint16_t>(codes_[i] - 1)};

  constexpr uint32_t kKindLimit = static_cast<uint32_t>(EventKind::kSliceBegin);
  if (const char* e = core_.DecodeCodes(core_.Find(ColumnId::kKind), context, kKindLimit, codes_.data())) return e;
  batch->kind.resize(n);
  for (size_t i = 0; i < n; ++i) batch->kind[i] = static_cast<EventKind>(codes_[i]);

  constexpr uint32_t kFlagLimit = 2 * kNoTimestamp;
  if (const char* e = core_.DecodeCodes(core_.Find(ColumnId::kFlags), context, kFlagLimit, codes_.data())) return e;
  batch->flags.resize(n);
  bool has_both = false;
  for (size_t i = 0; i < n; ++i) {
    batch->flags[i] = static_cast<uint8_t>(codes_[i]);
    has_both |= (codes_[i] & (kFlowOut | kFlowIn)) == (kFlowOut | kFlowIn);
  }
  if (has_both) return "a row has both flow flags";

  batch->ts_ns.resize(n);
  if (const char* e = core_.DecodeInts(core_.Find(ColumnId::kTs), context, batch->ts_ns.data())) return e;
  batch->dur_ns.resize(n);
  if (const char* e = core_.DecodeInts(core_.Find(ColumnId::kDur), context, batch->dur_ns.data())) return e;
  batch->correlation.resize(n);
  return core_.DecodeInts(core_.Find(ColumnId::kCorrelation), context, batch->correlation.data());
}

const char* ChunkDecoder::Impl::DecodeArgs(const ChunkHeader& header, EventBatch* batch) {
  const size_t n = header.rows;
  const uint32_t strings = static_cast<uint32_t>(batch->strings.size());

  // Shapes.
  size_t field_count = 0;
  {
    const Column* column = args_.Find(ColumnId::kShapes);
    if (column == nullptr || column->field >= ArgTable::kMaxShapes || column->field > column->data.size()) {
      return "malformed argument shapes";
    }
    WireReader r(column->data);
    std::vector<ArgField> fields;
    std::vector<uint64_t> seen;
    for (uint32_t s = 1; s <= column->field; ++s) {
      const uint64_t count_and_flag = r.RawVarint();
      const uint64_t count = count_and_flag / 2;
      if (count > column->data.size()) return "malformed argument shapes";
      fields.clear();
      seen.clear();
      for (uint64_t f = 0; f < count; ++f) {
        const uint64_t key = r.RawVarint();
        const uint64_t kind = r.RawVarint();
        if (!r.ok() || key >= strings || kind % 8 > static_cast<uint64_t>(ArgType::kNumber) || kind / 8 > 1) {
          return "malformed argument shapes";
        }
        ArgField field;
        field.key = StringId{static_cast<uint32_t>(key)};
        field.type = static_cast<ArgType>(kind % 8);
        field.place = static_cast<ArgPlace>(kind / 8);
        fields.push_back(field);
        seen.push_back(key * 2 + kind / 8);
      }
      std::sort(seen.begin(), seen.end());
      if (std::adjacent_find(seen.begin(), seen.end()) != seen.end()) return "an argument stands twice in a shape";
      ShapeId id;
      if (!batch->args.InternShape(fields, (count_and_flag & 1) != 0, &id) || Index(id) != s) {
        return "an argument shape stands twice";
      }
      field_count += fields.size();
    }
    if (!r.ok() || !r.at_end()) return "malformed argument shapes";
  }
  std::vector<ArgShape>& shapes = batch->args.mutable_shapes();

  ColumnContext context;
  context.rows = n;
  context.name = names_.data();
  context.name_count = strings + 1;
  context.track = tracks_.data();
  context.track_count = static_cast<uint32_t>(batch->tracks().size());
  codes_.resize(n);
  if (const char* e = args_.DecodeCodes(args_.Find(ColumnId::kShape), context, shapes.size(), codes_.data())) return e;
  batch->shape.resize(n);
  batch->args_row.resize(n);
  shape_start_.assign(shapes.size() + 1, 0);
  for (size_t i = 0; i < n; ++i) {
    ArgShape& shape = shapes[codes_[i]];
    batch->shape[i] = ShapeId{static_cast<uint16_t>(codes_[i])};
    batch->args_row[i] = shape.rows++;
  }
  uint64_t values = 0;
  for (size_t s = 0; s < shapes.size(); ++s) {
    shape_start_[s + 1] = shape_start_[s] + shapes[s].rows;
    values += uint64_t{shapes[s].rows} * shapes[s].fields.size();
  }
  if (values > kMaxArgValues) return "too many argument values";
  order_.resize(n);
  for (size_t i = 0; i < n; ++i) order_[shape_start_[codes_[i]] + batch->args_row[i]] = static_cast<uint32_t>(i);

  // Which column holds which field: the encoder writes them in this order, so that look-ups rarely search.
  std::vector<const Column*> by_field, tables;
  {
    std::vector<uint32_t> first(shapes.size() + 1, 0);
    for (size_t s = 0; s < shapes.size(); ++s) {
      first[s + 1] = first[s] + static_cast<uint32_t>(shapes[s].fields.size());
    }
    by_field.assign(field_count, nullptr);
    tables.assign(field_count, nullptr);
    for (const Column& column : args_.columns()) {
      if (column.id < static_cast<uint32_t>(ColumnId::kArgInt) ||
          column.id > static_cast<uint32_t>(ColumnId::kArgDoubleTable)) {
        continue;
      }
      if (column.shape >= shapes.size() || column.field >= shapes[column.shape].fields.size()) {
        return "an argument column without its field";
      }
      std::vector<const Column*>& list =
          column.id == static_cast<uint32_t>(ColumnId::kArgDoubleTable) ? tables : by_field;
      list[first[column.shape] + column.field] = &column;
    }
  }

  LocalNumbers number_names(strings + 1), number_tracks(batch->tracks().size());
  size_t next_field = 0;
  for (size_t s = 0; s < shapes.size(); ++s) {
    ArgShape& shape = shapes[s];
    const size_t count = shape.rows;
    const uint32_t* rows = order_.data() + shape_start_[s];
    context.rows = count;
    bool is_local = false;
    for (size_t f = 0; f < shape.fields.size(); ++f, ++next_field) {
      const ArgType type = shape.fields[f].type;
      ArgColumn& out = shape.columns[f];
      if (type == ArgType::kNull) continue;
      const Column* column = by_field[next_field];
      const ColumnId wanted = type == ArgType::kInt      ? ColumnId::kArgInt
                              : type == ArgType::kDouble ? ColumnId::kArgDouble
                                                         : ColumnId::kArgCode;
      if (column == nullptr || column->id != static_cast<uint32_t>(wanted)) return "an argument column is missing";
      // Local numbers are needed by few columns.
      const Predictor predictor = static_cast<Predictor>(column->predictor);
      if (!is_local && column->width != 0 &&
          (predictor == Predictor::kSameName || predictor == Predictor::kSameTrack)) {
        is_local = true;
        context.name_count = number_names.Assign(names_.data(), rows, count, &local_names_);
        context.name = local_names_.data();
        context.track_count = number_tracks.Assign(tracks_.data(), rows, count, &local_tracks_);
        context.track = local_tracks_.data();
      }
      switch (type) {
        case ArgType::kNull: break;
        case ArgType::kInt: {
          if (predictor == Predictor::kCorrelation) {
            correlations_.resize(count);
            for (size_t i = 0; i < count; ++i) correlations_[i] = batch->correlation[rows[i]];
            context.correlation = correlations_.data();
          }
          ints_.resize(count);
          if (const char* e = args_.DecodeInts(column, context, ints_.data())) return e;
          bool is_wide = false;
          for (size_t i = 0; i < count; ++i) is_wide |= ints_[i] != static_cast<int32_t>(ints_[i]);
          if (is_wide) {
            out.AdoptWide(std::vector<uint64_t>(ints_.begin(), ints_.end()));
          } else {
            out.AdoptNarrow(std::vector<uint32_t>(ints_.begin(), ints_.end()));
          }
          break;
        }
        case ArgType::kBool:
        case ArgType::kString:
        case ArgType::kJson:
        case ArgType::kNumber: {
          std::vector<uint32_t> values(count);
          if (const char* e = args_.DecodeCodes(column, context, type == ArgType::kBool ? 2 : strings, values.data())) {
            return e;
          }
          out.AdoptNarrow(std::move(values));
          break;
        }
        case ArgType::kDouble: {
          const Column* table = tables[next_field];
          if (table == nullptr || table->data.size() % 8 != 0) return "a table of numbers is missing";
          const size_t distinct = table->data.size() / 8;
          codes_.resize(count);
          if (const char* e = args_.DecodeCodes(column, context, distinct, codes_.data())) return e;
          std::vector<uint64_t> bits(count);
          bool is_finite = true;
          for (size_t i = 0; i < count; ++i) {
            std::memcpy(&bits[i], table->data.data() + 8 * size_t{codes_[i]}, 8);
            is_finite &= (bits[i] >> 52 & 0x7ff) != 0x7ff;
          }
          if (!is_finite) return "a number is not finite";
          out.AdoptWide(std::move(bits));
          break;
        }
      }
    }
  }
  return nullptr;
}

absl::Status ChunkDecoder::Impl::Decode(const ChunkHeader& header, absl::string_view bytes, ColumnSelection selection,
                                        absl::string_view name, uint64_t offset, EventBatch* batch) {
  batch->Clear();
  const auto where = [&] { return absl::StrCat(name, ":", offset, ": "); };
  if (header.section != kTimelineSection) {
    return absl::UnimplementedError(absl::StrCat(where(), "expected a timeline chunk, got section ", header.section));
  }
  if ((header.required_features & ~kKnownFeatures) != 0) {
    return absl::UnimplementedError(absl::StrCat(where(), "the chunk needs features that this version does not know (",
                                                 "bits ", header.required_features, ")"));
  }
  bool has_core = false, has_args = false;
  uint64_t at = 0;
  core_.Clear();
  args_.Clear();
  for (const PartInfo& part : header.parts) {
    const bool is_core = part.id == static_cast<uint32_t>(PartId::kCore);
    const bool is_args = part.id == static_cast<uint32_t>(PartId::kArgs) && selection == ColumnSelection::kAll;
    if (is_core || is_args) {
      if (at + part.encoded_bytes > bytes.size()) {
        return absl::DataLossError(absl::StrCat(where(), "expected a part of ", part.encoded_bytes, " bytes at offset ",
                                                offset + at, ", got the end of the file"));
      }
      const absl::string_view encoded = bytes.substr(at, part.encoded_bytes);
      if (io::Crc32c(encoded) != part.crc32c) {
        return absl::DataLossError(
            absl::StrCat(name, ":", offset + at, ": the part's checksum does not match its bytes"));
      }
      if (const char* error = (is_core ? core_ : args_).Load(part, encoded)) {
        return absl::InvalidArgumentError(absl::StrCat(name, ":", offset + at, ": ", error));
      }
      (is_core ? has_core : has_args) = true;
    }
    at += part.encoded_bytes;
  }
  if (!has_core || (selection == ColumnSelection::kAll && !has_args)) {
    return absl::InvalidArgumentError(absl::StrCat(where(), "the chunk lacks a part"));
  }
  const char* error = [&]() -> const char* {
    std::string text;
    std::vector<uint32_t> ends = {0};
    if (const char* e = core_.DecodeStrings(ColumnId::kStringSizes, ColumnId::kStringBytes, &text, &ends)) {
      return e;
    }
    if (selection == ColumnSelection::kAll) {
      if (const char* e = args_.DecodeStrings(ColumnId::kArgStringSizes, ColumnId::kArgStringBytes, &text, &ends)) {
        return e;
      }
    }
    if (!batch->strings.Adopt(std::move(text), std::move(ends))) return "a string stands twice";
    if (const char* e = DecodeCore(header, batch)) return e;
    if (selection == ColumnSelection::kAll) return DecodeArgs(header, batch);
    batch->shape.assign(header.rows, ArgTable::kNoArgs);
    batch->args_row.assign(header.rows, 0);
    return nullptr;
  }();
  if (error != nullptr) {
    batch->Clear();
    return absl::InvalidArgumentError(absl::StrCat(where(), error));
  }
  return absl::OkStatus();
}

ChunkDecoder::ChunkDecoder() : impl_(std::make_unique<Impl>()) {}
ChunkDecoder::~ChunkDecoder() = default;

uint64_t ChunkDecoder::BytesNeeded(const ChunkHeader& header, ColumnSelection selection) {
  uint64_t at = 0, needed = 0;
  for (const PartInfo& part : header.parts) {
    at += part.encoded_bytes;
    if (part.id == static_cast<uint32_t>(PartId::kCore) ||
        (part.id == static_cast<uint32_t>(PartId::kArgs) && selection == ColumnSelection::kAll)) {
      needed = at;
    }
  }
  return needed;
}

absl::Status ChunkDecoder::Decode(const ChunkHeader& header, absl::string_view bytes, ColumnSelection selection,
                                  absl::string_view name, uint64_t offset, EventBatch* batch) {
  return impl_->Decode(header, bytes, selection, name, offset, batch);
}

}  // namespace tracekiln::kiln
