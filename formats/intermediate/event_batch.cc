#include "formats/intermediate/event_batch.h"

#include <utility>

namespace tracekiln {
namespace {

uint32_t HashTrack(const Track& t) {
  uint64_t h = static_cast<uint64_t>(t.pid.value) * 0x9e3779b97f4a7c15u + static_cast<uint64_t>(t.pid.type);
  h ^= h >> 32;
  h = (h ^ static_cast<uint64_t>(t.tid.value)) * 0x9e3779b97f4a7c15u + static_cast<uint64_t>(t.tid.type);
  return static_cast<uint32_t>(h >> 32);
}

template <typename T>
size_t Bytes(const std::vector<T>& v) {
  return v.capacity() * sizeof(T);
}

}  // namespace

char UsualPhase(EventKind kind) {
  static constexpr char kPhases[kEventKindCount + 1] = "XiCbnestfMPO-BE";
  return kPhases[static_cast<int>(kind)];
}

TrackId EventBatch::InternTrack(const Track& track) {
  if ((tracks_.size() + 1) * 2 > track_index_.size()) {
    track_index_.assign(track_index_.empty() ? 64 : track_index_.size() * 2, 0);
    const size_t mask = track_index_.size() - 1;
    for (size_t i = 0; i < tracks_.size(); ++i) {
      size_t slot = HashTrack(tracks_[i]) & mask;
      while (track_index_[slot] != 0) slot = (slot + 1) & mask;
      track_index_[slot] = static_cast<uint32_t>(i + 1);
    }
  }
  const size_t mask = track_index_.size() - 1;
  size_t slot = HashTrack(track) & mask;
  for (; track_index_[slot] != 0; slot = (slot + 1) & mask) {
    if (tracks_[track_index_[slot] - 1] == track) return TrackId{track_index_[slot] - 1};
  }
  tracks_.push_back(track);
  track_index_[slot] = static_cast<uint32_t>(tracks_.size());
  return TrackId{static_cast<uint32_t>(tracks_.size() - 1)};
}

bool EventBatch::InternCategory(StringId text, CategoryId* id) {
  if (Index(text) < category_of_text_.size() && category_of_text_[Index(text)] != kNoCategory) {
    *id = category_of_text_[Index(text)];
    return true;
  }
  if (categories_.size() >= Index(kNoCategory)) return false;
  *id = CategoryId{static_cast<uint16_t>(categories_.size())};
  categories_.push_back(text);
  if (Index(text) >= category_of_text_.size()) category_of_text_.resize(Index(text) + 1, kNoCategory);
  category_of_text_[Index(text)] = *id;
  return true;
}

EventRow EventBatch::Row(size_t row) const {
  EventRow r;
  r.ts_ns = ts_ns[row];
  r.dur_ns = dur_ns[row];
  r.correlation = correlation[row];
  r.name = name[row];
  r.track = track[row];
  r.category = category[row];
  r.kind = kind[row];
  r.flags = flags[row];
  return r;
}

int EventBatch::FindField(ShapeId shape_id, absl::string_view key, ArgPlace place) const {
  const std::vector<ArgField>& fields = args.shape(shape_id).fields;
  for (size_t f = 0; f < fields.size(); ++f) {
    if (fields[f].place == place && strings.Get(fields[f].key) == key) return static_cast<int>(f);
  }
  return -1;
}

std::optional<int64_t> EventBatch::IntArg(size_t row, absl::string_view key, ArgPlace place) const {
  const int f = FindField(shape[row], key, place);
  if (f < 0 || args.shape(shape[row]).fields[f].type != ArgType::kInt) return std::nullopt;
  return Arg(row, f).i;
}

std::optional<absl::string_view> EventBatch::StringArg(size_t row, absl::string_view key, ArgPlace place) const {
  const int f = FindField(shape[row], key, place);
  if (f < 0 || args.shape(shape[row]).fields[f].type != ArgType::kString) return std::nullopt;
  return strings.Get(Arg(row, f).s);
}

bool EventBatch::AppendFrom(const EventBatch& from, size_t row) {
  if (rows() >= kMaxRows) return false;
  EventRow r = from.Row(row);
  const auto copy = [&](StringId id) { return id == kNoString ? kNoString : strings.Intern(from.strings.Get(id)); };
  if (r.name != kNoString) {
    r.name = copy(r.name);
    if (r.name == kNoString) return false;
  }
  if (r.category != kNoCategory && !InternCategory(copy(from.categories_[Index(r.category)]), &r.category))
    return false;
  Track t = from.tracks_[Index(r.track)];
  for (TrackPart* part : {&t.pid, &t.tid}) {
    if (part->type == TrackPart::Type::kText || part->type == TrackPart::Type::kJson) {
      part->value = Index(copy(StringId{static_cast<uint32_t>(part->value)}));
    }
  }
  r.track = InternTrack(t);
  const ArgShape& shape_from = from.args.shape(from.shape[row]);
  std::vector<ArgField> fields = shape_from.fields;
  std::vector<ArgValue> values(fields.size());
  for (size_t f = 0; f < fields.size(); ++f) {
    fields[f].key = copy(fields[f].key);
    values[f] = shape_from.columns[f].Get(from.args_row[row]);
    if (fields[f].type == ArgType::kString || fields[f].type == ArgType::kJson || fields[f].type == ArgType::kNumber) {
      values[f] = ArgValue::String(copy(values[f].s));
      if (values[f].s == kNoString) return false;
    }
  }
  ShapeId id;
  if (!args.InternShape(fields, shape_from.has_args_object, &id)) return false;
  Append(r, id, values.data());
  return true;
}

bool EventBatch::AppendAll(const EventBatch& from) {
  const size_t old_rows = rows();
  if (old_rows + from.rows() > kMaxRows) return false;
  std::vector<StringId> new_strings(from.strings.size());
  for (uint32_t i = 0; i < new_strings.size(); ++i) {
    new_strings[i] = strings.Intern(from.strings.Get(StringId{i}));
    if (new_strings[i] == kNoString) return false;
  }
  std::vector<TrackId> new_tracks;
  new_tracks.reserve(from.tracks_.size());
  for (Track t : from.tracks_) {
    for (TrackPart* part : {&t.pid, &t.tid}) {
      if (part->type == TrackPart::Type::kText || part->type == TrackPart::Type::kJson) {
        part->value = Index(new_strings[static_cast<size_t>(part->value)]);
      }
    }
    new_tracks.push_back(InternTrack(t));
  }
  std::vector<CategoryId> new_categories(from.categories_.size());
  for (size_t c = 0; c < new_categories.size(); ++c) {
    if (!InternCategory(new_strings[Index(from.categories_[c])], &new_categories[c])) return false;
  }
  const std::vector<ArgShape>& from_shapes = from.args.shapes();
  std::vector<ShapeId> new_shapes(from_shapes.size());
  std::vector<ArgField> fields;
  for (size_t s = 0; s < from_shapes.size(); ++s) {
    fields = from_shapes[s].fields;
    for (ArgField& field : fields) field.key = new_strings[Index(field.key)];
    if (!args.InternShape(fields, from_shapes[s].has_args_object, &new_shapes[s])) return false;
  }

  std::vector<uint32_t> first_args_row(from_shapes.size());
  for (size_t s = 0; s < from_shapes.size(); ++s) {
    ArgShape& shape = args.mutable_shapes()[Index(new_shapes[s])];
    first_args_row[s] = shape.rows;
    for (size_t f = 0; f < shape.columns.size(); ++f) {
      shape.columns[f].AppendAll(from_shapes[s].columns[f], new_strings.data());
    }
    shape.rows += from_shapes[s].rows;
  }
  const auto append = [](auto* to, const auto& values) { to->insert(to->end(), values.begin(), values.end()); };
  append(&ts_ns, from.ts_ns);
  append(&dur_ns, from.dur_ns);
  append(&correlation, from.correlation);
  append(&kind, from.kind);
  append(&flags, from.flags);
  const size_t new_rows = old_rows + from.rows();
  name.resize(new_rows);
  track.resize(new_rows);
  category.resize(new_rows);
  shape.resize(new_rows);
  args_row.resize(new_rows);
  for (size_t i = 0; i < from.rows(); ++i) {
    const size_t row = old_rows + i;
    name[row] = from.name[i] == kNoString ? kNoString : new_strings[Index(from.name[i])];
    track[row] = new_tracks[Index(from.track[i])];
    category[row] = from.category[i] == kNoCategory ? kNoCategory : new_categories[Index(from.category[i])];
    shape[row] = new_shapes[Index(from.shape[i])];
    args_row[row] = first_args_row[Index(from.shape[i])] + from.args_row[i];
  }
  return true;
}

void EventBatch::RenumberStrings() {
  StringPool renumbered;
  std::vector<StringId> new_ids(strings.size(), kNoString);
  const auto renumber = [&](StringId id) {
    if (id == kNoString) return id;
    StringId& new_id = new_ids[Index(id)];
    if (new_id == kNoString) new_id = renumbered.Intern(strings.Get(id));
    return new_id;
  };
  for (StringId& id : name) id = renumber(id);
  for (StringId& id : categories_) id = renumber(id);
  for (Track& t : tracks_) {
    for (TrackPart* part : {&t.pid, &t.tid}) {
      if (part->type == TrackPart::Type::kText || part->type == TrackPart::Type::kJson) {
        part->value = Index(renumber(StringId{static_cast<uint32_t>(part->value)}));
      }
    }
  }
  std::vector<ArgShape>& shapes = args.mutable_shapes();
  for (ArgShape& s : shapes) {
    for (ArgField& f : s.fields) f.key = renumber(f.key);
    for (ArgColumn& c : s.columns) {
      if (c.type() != ArgType::kString && c.type() != ArgType::kJson && c.type() != ArgType::kNumber) continue;
      for (uint32_t& id : c.mutable_narrow_values()) id = Index(renumber(StringId{id}));
    }
  }
  strings = std::move(renumbered);
  args.RebuildIndex();
  std::vector<Track> tracks = std::move(tracks_);
  std::vector<StringId> categories = std::move(categories_);
  (void)AdoptTables(std::move(tracks), std::move(categories));  // they were distinct before
}

void EventBatch::Clear() {
  ts_ns.clear();
  dur_ns.clear();
  correlation.clear();
  name.clear();
  track.clear();
  args_row.clear();
  shape.clear();
  category.clear();
  kind.clear();
  flags.clear();
  strings.Clear();
  args.Clear();
  tracks_.clear();
  categories_.clear();
  track_index_.clear();
  category_of_text_.clear();
}

size_t EventBatch::AllocatedBytes() const {
  return Bytes(ts_ns) + Bytes(dur_ns) + Bytes(correlation) + Bytes(name) + Bytes(track) + Bytes(args_row) +
         Bytes(shape) + Bytes(category) + Bytes(kind) + Bytes(flags) + Bytes(tracks_) + Bytes(categories_) +
         Bytes(track_index_) + Bytes(category_of_text_) + strings.AllocatedBytes() + args.AllocatedBytes();
}

bool EventBatch::AdoptTables(std::vector<Track> tracks, std::vector<StringId> categories) {
  tracks_ = std::move(tracks);
  categories_ = std::move(categories);
  category_of_text_.clear();
  track_index_.clear();
  bool is_distinct = true;
  for (size_t i = 0; i < categories_.size(); ++i) {
    const size_t text = Index(categories_[i]);
    if (text >= category_of_text_.size()) category_of_text_.resize(text + 1, kNoCategory);
    is_distinct &= category_of_text_[text] == kNoCategory;
    category_of_text_[text] = CategoryId{static_cast<uint16_t>(i)};
  }
  if (!tracks_.empty()) {
    size_t slots = 64;
    while (slots < tracks_.size() * 4) slots *= 2;
    track_index_.assign(slots, 0);
    for (size_t i = 0; i < tracks_.size(); ++i) {
      size_t slot = HashTrack(tracks_[i]) & (slots - 1);
      while (track_index_[slot] != 0) {
        is_distinct &= !(tracks_[track_index_[slot] - 1] == tracks_[i]);
        slot = (slot + 1) & (slots - 1);
      }
      track_index_[slot] = static_cast<uint32_t>(i + 1);
    }
  }
  if (!is_distinct) {
    tracks_.clear();
    categories_.clear();
    track_index_.clear();
    category_of_text_.clear();
  }
  return is_distinct;
}

}  // namespace tracekiln
