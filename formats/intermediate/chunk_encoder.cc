// How a chunk is encoded.
//
// 1. Find what the rows use. Only those tracks, categories, shapes and strings are written, renumbered in order;
//    strings of core columns come first, so that a core-only reader gets a prefix of the numbering.
// 2. Each column becomes residuals against the predictor that looks cheapest on a sample, and the residuals become
//    byte planes (all lowest bytes, then all second bytes, …), as many as the largest residual needs. Predictors do
//    what zstd can't: see that an argument is a function of the event's name, that a counter counts, that one column
//    repeats another.
// 3. The columns of a part go through zstd as one frame, flushed at the end of larger columns so that each gets
//    entropy tables of its own.
#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "formats/intermediate/chunk_codec.h"
#include "formats/intermediate/chunk_columns.h"
#include "formats/intermediate/part_codec.h"
#include "formats/intermediate/wire.h"

namespace tracekiln::kiln {
namespace {

constexpr uint32_t kUnused = 0xffffffffu;

}  // namespace

class ChunkEncoder::Impl {
 public:
  explicit Impl(const EncodeOptions& options) : part_(options.zstd_level) {}

  absl::Status Encode(const EventBatch& batch, ChunkHeader* header, std::string* parts);

 private:
  absl::Status FindUsed(const EventBatch& batch);
  void Describe(const EventBatch& batch, ChunkHeader* header);
  void EncodeCore(const EventBatch& batch);
  absl::Status EncodeArgs(const EventBatch& batch);
  void EncodeStrings(const EventBatch& batch, ColumnId sizes, ColumnId bytes, uint32_t first, uint32_t count);

  void EncodeDoubles(uint32_t shape, uint32_t field, const std::vector<uint64_t>& bits, const ColumnContext& context);
  PartEncoder part_;

  // New number of each string, track, category and shape, or kUnused; and the old numbers in new order.
  std::vector<uint32_t> string_map_, track_map_, category_map_, shape_map_;
  std::vector<uint32_t> strings_, tracks_, categories_, shapes_;
  uint32_t core_strings_ = 0;

  // Rows by shape: those of shape s are order_[shape_start_[s], shape_start_[s + 1]), in row order.
  std::vector<uint32_t> order_, shape_start_;

  std::vector<uint32_t> codes_, name_codes_, track_codes_, local_names_, local_tracks_;
  std::vector<int64_t> ints_, correlations_;
  std::vector<uint64_t> doubles_, distinct_doubles_;
};

absl::Status ChunkEncoder::Impl::FindUsed(const EventBatch& batch) {
  const size_t n = batch.rows();
  const std::vector<ArgShape>& shapes = batch.args.shapes();

  shape_start_.assign(shapes.size() + 1, 0);
  for (ShapeId s : batch.shape) ++shape_start_[Index(s) + 1];
  uint64_t values = 0, fields = 0;
  for (size_t s = 0; s < shapes.size(); ++s) {
    values += uint64_t{shape_start_[s + 1]} * shapes[s].fields.size();
    fields += shape_start_[s + 1] != 0 ? shapes[s].fields.size() : 0;
    shape_start_[s + 1] += shape_start_[s];
  }
  if (fields > kMaxArgFields) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the shapes of a chunk may have ", kMaxArgFields, " fields, got ", fields));
  }
  if (values > kMaxArgValues) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a chunk may hold ", kMaxArgValues, " argument values, got ", values));
  }
  order_.resize(n);
  codes_.assign(shape_start_.begin(), shape_start_.end() - 1);
  for (size_t i = 0; i < n; ++i) order_[codes_[Index(batch.shape[i])]++] = static_cast<uint32_t>(i);

  shape_map_.assign(shapes.size(), kUnused);
  shapes_.clear();
  for (size_t s = 0; s < shapes.size(); ++s) {
    if (s != 0 && shape_start_[s] == shape_start_[s + 1]) continue;
    shape_map_[s] = static_cast<uint32_t>(shapes_.size());
    shapes_.push_back(static_cast<uint32_t>(s));
  }

  const auto number = [](std::vector<uint32_t>* map, std::vector<uint32_t>* used) {
    used->clear();
    for (size_t i = 0; i < map->size(); ++i) {
      if ((*map)[i] == kUnused) continue;
      (*map)[i] = static_cast<uint32_t>(used->size());
      used->push_back(static_cast<uint32_t>(i));
    }
  };
  track_map_.assign(batch.tracks().size(), kUnused);
  for (TrackId t : batch.track) track_map_[Index(t)] = 0;
  number(&track_map_, &tracks_);
  category_map_.assign(batch.categories().size(), kUnused);
  for (CategoryId c : batch.category) {
    if (c != kNoCategory) category_map_[Index(c)] = 0;
  }
  number(&category_map_, &categories_);

  // Strings: marked 0 if a core column uses them, 1 if only arguments do.
  string_map_.assign(batch.strings.size(), kUnused);
  for (StringId s : batch.name) {
    if (s != kNoString) string_map_[Index(s)] = 0;
  }
  for (uint32_t c : categories_) string_map_[Index(batch.categories()[c])] = 0;
  for (uint32_t t : tracks_) {
    for (const TrackPart& part : {batch.tracks()[t].pid, batch.tracks()[t].tid}) {
      if (part.type == TrackPart::Type::kText || part.type == TrackPart::Type::kJson) string_map_[part.value] = 0;
    }
  }
  const auto mark = [&](uint32_t s) {
    if (string_map_[s] == kUnused) string_map_[s] = 1;
  };
  for (uint32_t s : shapes_) {
    const ArgShape& shape = shapes[s];
    const bool is_whole = shape_start_[s + 1] - shape_start_[s] == shape.rows;
    for (size_t f = 0; f < shape.fields.size(); ++f) {
      mark(Index(shape.fields[f].key));
      const ArgType type = shape.fields[f].type;
      if (type != ArgType::kString && type != ArgType::kJson && type != ArgType::kNumber) continue;
      const std::vector<uint32_t>& column = shape.columns[f].narrow_values();
      if (is_whole) {
        for (uint32_t v : column) mark(v);
      } else {
        for (uint32_t i = shape_start_[s]; i < shape_start_[s + 1]; ++i) mark(column[batch.args_row[order_[i]]]);
      }
    }
  }
  strings_.clear();
  for (uint32_t wanted = 0; wanted < 2; ++wanted) {
    for (size_t s = 0; s < string_map_.size(); ++s) {
      if (string_map_[s] == wanted) strings_.push_back(static_cast<uint32_t>(s));
    }
    if (wanted == 0) core_strings_ = static_cast<uint32_t>(strings_.size());
  }
  for (size_t i = 0; i < strings_.size(); ++i) string_map_[strings_[i]] = static_cast<uint32_t>(i);
  return absl::OkStatus();
}

void ChunkEncoder::Impl::Describe(const EventBatch& batch, ChunkHeader* header) {
  const size_t n = batch.rows();
  *header = ChunkHeader();
  header->rows = static_cast<uint32_t>(n);
  int64_t min_ts = std::numeric_limits<int64_t>::max();
  int64_t max_end = std::numeric_limits<int64_t>::min();
  uint64_t flows = 0;
  for (size_t i = 0; i < n; ++i) {
    const int64_t ts = batch.ts_ns[i];
    min_ts = std::min(min_ts, ts);
    int64_t end = ts;
    if (batch.kind[i] == EventKind::kSlice) {
      const int64_t dur = batch.dur_ns[i];
      if (dur == kUnfinished || (dur > 0 && __builtin_add_overflow(ts, dur, &end))) {
        end = std::numeric_limits<int64_t>::max();
      }
    }
    max_end = std::max(max_end, end);
    ++header->rows_by_kind[static_cast<size_t>(batch.kind[i])];
    flows += (batch.flags[i] & (kFlowOut | kFlowIn)) != 0;
  }
  header->min_ts_ns = min_ts;
  header->max_end_ns = max_end;
  header->foreign_events = n + flows;
  if (categories_.size() <= ChunkHeader::kMaxListed) {
    for (uint32_t c : categories_) {
      header->categories.push_back({std::string(batch.Text(batch.categories()[c])), 0});
    }
    for (CategoryId c : batch.category) {
      if (c != kNoCategory) ++header->categories[category_map_[Index(c)]].rows;
    }
  } else {
    header->has_all_categories = false;
  }
  if (tracks_.size() <= ChunkHeader::kMaxListed) {
    for (uint32_t t : tracks_) header->tracks.push_back(KeyOf(batch, batch.tracks()[t]));
  } else {
    header->has_all_tracks = false;
  }
}

void ChunkEncoder::Impl::EncodeStrings(const EventBatch& batch, ColumnId sizes, ColumnId bytes, uint32_t first,
                                       uint32_t count) {
  ints_.resize(count);
  std::string text;
  for (uint32_t i = 0; i < count; ++i) {
    const absl::string_view s = batch.strings.Get(StringId{strings_[first + i]});
    ints_[i] = static_cast<int64_t>(s.size());
    text.append(s.data(), s.size());
  }
  ColumnContext context;
  context.rows = count;
  part_.EncodeInts(sizes, 0, count, ints_.data(), context);
  part_.EmitTable(bytes, 0, 0, text);
}

void ChunkEncoder::Impl::EncodeCore(const EventBatch& batch) {
  const size_t n = batch.rows();
  EncodeStrings(batch, ColumnId::kStringSizes, ColumnId::kStringBytes, 0, core_strings_);
  std::string table;
  WireWriter w(&table);
  for (uint32_t t : tracks_) {
    for (const TrackPart& part : {batch.tracks()[t].pid, batch.tracks()[t].tid}) {
      w.Raw(static_cast<uint64_t>(part.type));
      if (part.type == TrackPart::Type::kInt) w.Raw(ZigZag(part.value));
      if (part.type == TrackPart::Type::kText || part.type == TrackPart::Type::kJson) w.Raw(string_map_[part.value]);
    }
  }
  part_.EmitTable(ColumnId::kTracks, 0, static_cast<uint32_t>(tracks_.size()), table);
  table.clear();
  for (uint32_t c : categories_) w.Raw(string_map_[Index(batch.categories()[c])]);
  part_.EmitTable(ColumnId::kCategories, 0, static_cast<uint32_t>(categories_.size()), table);

  ColumnContext context;
  context.rows = n;
  name_codes_.resize(n);
  for (size_t i = 0; i < n; ++i) {
    name_codes_[i] = batch.name[i] == kNoString ? 0 : string_map_[Index(batch.name[i])] + 1;
  }
  part_.EncodeCodes(ColumnId::kName, 0, 0, name_codes_.data(), context);
  context.name = name_codes_.data();
  context.name_count = core_strings_ + 1;

  track_codes_.resize(n);
  for (size_t i = 0; i < n; ++i) track_codes_[i] = track_map_[Index(batch.track[i])];
  part_.EncodeCodes(ColumnId::kTrack, 0, 0, track_codes_.data(), context);
  context.track = track_codes_.data();
  context.track_count = static_cast<uint32_t>(tracks_.size());

  codes_.resize(n);
  for (size_t i = 0; i < n; ++i) {
    codes_[i] = batch.category[i] == kNoCategory ? 0 : category_map_[Index(batch.category[i])] + 1;
  }
  part_.EncodeCodes(ColumnId::kCategory, 0, 0, codes_.data(), context);
  for (size_t i = 0; i < n; ++i) codes_[i] = static_cast<uint32_t>(batch.kind[i]);
  part_.EncodeCodes(ColumnId::kKind, 0, 0, codes_.data(), context);
  for (size_t i = 0; i < n; ++i) codes_[i] = batch.flags[i];
  part_.EncodeCodes(ColumnId::kFlags, 0, 0, codes_.data(), context);
  part_.EncodeInts(ColumnId::kTs, 0, 0, batch.ts_ns.data(), context);
  part_.EncodeInts(ColumnId::kDur, 0, 0, batch.dur_ns.data(), context);
  part_.EncodeInts(ColumnId::kCorrelation, 0, 0, batch.correlation.data(), context);
}

absl::Status ChunkEncoder::Impl::EncodeArgs(const EventBatch& batch) {
  const size_t n = batch.rows();
  const std::vector<ArgShape>& shapes = batch.args.shapes();
  EncodeStrings(batch, ColumnId::kArgStringSizes, ColumnId::kArgStringBytes, core_strings_,
                static_cast<uint32_t>(strings_.size()) - core_strings_);
  std::string table;
  WireWriter w(&table);
  for (size_t s = 1; s < shapes_.size(); ++s) {
    const ArgShape& shape = shapes[shapes_[s]];
    w.Raw(2 * shape.fields.size() + (shape.has_args_object ? 1 : 0));
    for (const ArgField& field : shape.fields) {
      w.Raw(string_map_[Index(field.key)]);
      w.Raw(8 * static_cast<uint64_t>(field.place) + static_cast<uint64_t>(field.type));
    }
  }
  part_.EmitTable(ColumnId::kShapes, 0, static_cast<uint32_t>(shapes_.size() - 1), table);

  ColumnContext context;
  context.rows = n;
  context.name = name_codes_.data();
  context.name_count = core_strings_ + 1;
  context.track = track_codes_.data();
  context.track_count = static_cast<uint32_t>(tracks_.size());
  codes_.resize(n);
  for (size_t i = 0; i < n; ++i) codes_[i] = shape_map_[Index(batch.shape[i])];
  part_.EncodeCodes(ColumnId::kShape, 0, 0, codes_.data(), context);

  // Local numbers of names and tracks within a shape, by order of appearance.
  LocalNumbers number_names(core_strings_ + 1), number_tracks(static_cast<uint32_t>(tracks_.size()));
  for (uint32_t new_id = 1; new_id < shapes_.size(); ++new_id) {
    const uint32_t s = shapes_[new_id];
    const ArgShape& shape = shapes[s];
    if (shape.fields.empty()) continue;
    const uint32_t* rows = order_.data() + shape_start_[s];
    const size_t count = shape_start_[s + 1] - shape_start_[s];
    context.rows = count;
    context.name_count = number_names.Assign(name_codes_.data(), rows, count, &local_names_);
    context.name = local_names_.data();
    context.track_count = number_tracks.Assign(track_codes_.data(), rows, count, &local_tracks_);
    context.track = local_tracks_.data();
    correlations_.resize(count);
    bool in_order = true;
    for (size_t i = 0; i < count; ++i) {
      correlations_[i] = batch.correlation[rows[i]];
      in_order &= batch.args_row[rows[i]] == i;
    }
    context.correlation = correlations_.data();
    const auto source = [&](size_t i) -> size_t { return in_order ? i : batch.args_row[rows[i]]; };
    for (uint32_t f = 0; f < shape.fields.size(); ++f) {
      const ArgColumn& column = shape.columns[f];
      switch (shape.fields[f].type) {
        case ArgType::kNull: break;
        case ArgType::kInt:
          ints_.resize(count);
          if (column.is_wide()) {
            for (size_t i = 0; i < count; ++i) ints_[i] = static_cast<int64_t>(column.wide_values()[source(i)]);
          } else if (in_order) {
            for (size_t i = 0; i < count; ++i) ints_[i] = static_cast<int32_t>(column.narrow_values()[i]);
          } else {
            for (size_t i = 0; i < count; ++i) ints_[i] = static_cast<int32_t>(column.narrow_values()[source(i)]);
          }
          part_.EncodeInts(ColumnId::kArgInt, new_id, f, ints_.data(), context);
          break;
        case ArgType::kBool:
          codes_.resize(count);
          for (size_t i = 0; i < count; ++i) codes_[i] = column.Get(static_cast<uint32_t>(source(i))).i != 0;
          part_.EncodeCodes(ColumnId::kArgCode, new_id, f, codes_.data(), context);
          break;
        case ArgType::kString:
        case ArgType::kJson:
        case ArgType::kNumber:
          codes_.resize(count);
          if (in_order) {
            for (size_t i = 0; i < count; ++i) codes_[i] = string_map_[column.narrow_values()[i]];
          } else {
            for (size_t i = 0; i < count; ++i) codes_[i] = string_map_[column.narrow_values()[source(i)]];
          }
          part_.EncodeCodes(ColumnId::kArgCode, new_id, f, codes_.data(), context);
          break;
        case ArgType::kDouble:
          doubles_.resize(count);
          for (size_t i = 0; i < count; ++i) doubles_[i] = column.wide_values()[source(i)];
          EncodeDoubles(new_id, f, doubles_, context);
          break;
      }
    }
  }
  return absl::OkStatus();
}

void ChunkEncoder::Impl::EncodeDoubles(uint32_t shape, uint32_t field, const std::vector<uint64_t>& bits,
                                       const ColumnContext& context) {
  distinct_doubles_ = bits;
  std::sort(distinct_doubles_.begin(), distinct_doubles_.end());
  distinct_doubles_.erase(std::unique(distinct_doubles_.begin(), distinct_doubles_.end()), distinct_doubles_.end());
  codes_.resize(bits.size());
  for (size_t i = 0; i < bits.size(); ++i) {
    codes_[i] = static_cast<uint32_t>(std::lower_bound(distinct_doubles_.begin(), distinct_doubles_.end(), bits[i]) -
                                      distinct_doubles_.begin());
  }
  part_.EncodeCodes(ColumnId::kArgDouble, shape, field, codes_.data(), context);
  part_.EmitTable(
      ColumnId::kArgDoubleTable, shape, field,
      absl::string_view(reinterpret_cast<const char*>(distinct_doubles_.data()), distinct_doubles_.size() * 8));
}

absl::Status ChunkEncoder::Impl::Encode(const EventBatch& batch, ChunkHeader* header, std::string* parts) {
  const size_t n = batch.rows();
  if (n == 0 || n > EventBatch::kMaxRows) {
    return absl::FailedPreconditionError(
        absl::StrCat("a chunk has 1 to ", EventBatch::kMaxRows, " rows, the batch has ", n));
  }
  for (size_t size :
       {batch.ts_ns.size(), batch.dur_ns.size(), batch.correlation.size(), batch.name.size(), batch.track.size(),
        batch.args_row.size(), batch.shape.size(), batch.category.size(), batch.flags.size()}) {
    if (size != n) return absl::FailedPreconditionError("the batch lacks columns");
  }
  if (absl::Status status = FindUsed(batch); !status.ok()) return status;
  Describe(batch, header);
  if (header->rows_by_kind[static_cast<size_t>(EventKind::kSliceBegin)] != 0 ||
      header->rows_by_kind[static_cast<size_t>(EventKind::kSliceEnd)] != 0) {
    return absl::FailedPreconditionError("the batch holds slice begins or ends that were not paired");
  }
  part_.Begin();
  EncodeCore(batch);
  if (absl::Status status = part_.Finish(PartId::kCore, header, parts); !status.ok()) return status;
  if (absl::Status status = EncodeArgs(batch); !status.ok()) return status;
  return part_.Finish(PartId::kArgs, header, parts);
}

ChunkEncoder::ChunkEncoder(const EncodeOptions& options) : impl_(std::make_unique<Impl>(options)) {}
ChunkEncoder::~ChunkEncoder() = default;

absl::Status ChunkEncoder::Encode(const EventBatch& batch, ChunkHeader* header, std::string* parts) {
  return impl_->Encode(batch, header, parts);
}

}  // namespace tracekiln::kiln
