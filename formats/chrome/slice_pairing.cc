#include "formats/chrome/slice_pairing.h"

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "formats/intermediate/field_catalog.h"
#include "formats/intermediate/nanos.h"

namespace tracekiln::chrome {
namespace {

std::string TrackKey(const EventBatch& batch, size_t row) {
  const Track& track = batch.tracks()[Index(batch.track[row])];
  std::string key;
  for (const TrackPart& part : {track.pid, track.tid}) {
    switch (part.type) {
      case TrackPart::Type::kAbsent: key += "0/"; break;  // the same thread as 0
      case TrackPart::Type::kInt: absl::StrAppend(&key, part.value, "/"); break;
      default: {
        const absl::string_view text = batch.strings.Get(StringId{static_cast<uint32_t>(part.value)});
        absl::StrAppend(&key, part.type == TrackPart::Type::kText ? "\"" : "j", text.size(), ":", text, "/");
        break;
      }
    }
  }
  return key;
}

std::string Describe(const EventBatch& batch, size_t row) {
  std::string text;
  if (batch.name[row] != kNoString) {
    absl::string_view name = batch.NameOf(row);
    if (name.size() > 100) {
      size_t size = 100;
      while (size > 0 && (static_cast<unsigned char>(name[size]) & 0xc0) == 0x80) --size;  // no half character
      name = name.substr(0, size);
    }
    absl::StrAppend(&text, name, " ");
  }
  text += "at ts ";
  AppendMicros(batch.ts_ns[row], &text);
  return text;
}

bool HasStringValue(ArgType type) {
  return type == ArgType::kString || type == ArgType::kJson || type == ArgType::kNumber;
}

// Appends row `row` of `from` to the last batch of `out`, or to a new one when that is full.
void CopyRow(const EventBatch& from, size_t row, EventBatch* to, std::deque<EventBatch>* out) {
  if (to->AppendFrom(from, row)) return;
  out->push_back(std::exchange(*to, EventBatch()));
  (void)to->AppendFrom(from, row);
}

// Gives the only row of `to` the category of the E if it has none. True if both have one and they differ.
bool MergeCategory(const EventBatch& batch, size_t row, EventBatch* to) {
  if (batch.category[row] == kNoCategory) return false;
  if (to->category[0] != kNoCategory) return to->CategoryOf(0) != batch.CategoryOf(row);
  (void)to->InternCategory(to->strings.Intern(batch.CategoryOf(row)), &to->category[0]);
  return false;
}

// Adds the category (if it is another one) and the arguments of the E in `row` of `batch` to the only row of `to`.
void MergeArgs(const EventBatch& batch, size_t row, EventBatch* to, ImportReport* report) {
  const ArgShape& end_shape = batch.args.shape(batch.shape[row]);
  const bool has_other_category = MergeCategory(batch, row, to);
  if (end_shape.fields.empty() && !has_other_category) return;
  // Rebuild the row's shape with the E's fields.
  const ArgShape& begin_shape = to->args.shape(to->shape[0]);
  std::vector<ArgField> fields = begin_shape.fields;
  std::vector<ArgValue> values;
  for (const ArgColumn& column : begin_shape.columns) values.push_back(column.Get(to->args_row[0]));
  absl::flat_hash_map<uint64_t, size_t> place_of;
  const auto key_of = [](const ArgField& f) { return uint64_t{Index(f.key)} * 2 + static_cast<uint64_t>(f.place); };
  const auto find = [&](const ArgField& f) {
    const auto found = place_of.find(key_of(f));
    return found == place_of.end() ? fields.size() : found->second;
  };
  for (size_t f = 0; f < fields.size(); ++f) place_of[key_of(fields[f])] = f;
  for (size_t f = 0; f < end_shape.fields.size(); ++f) {
    ArgField field = end_shape.fields[f];
    ArgValue value = end_shape.columns[f].Get(batch.args_row[row]);
    if (HasStringValue(field.type)) value = ArgValue::String(to->strings.Intern(batch.strings.Get(value.s)));
    std::string key(batch.strings.Get(field.key));
    field.key = to->strings.Intern(key);
    size_t same = find(field);
    if (same < fields.size() && field.place == ArgPlace::kEvent) {
      // Such as "tts": the begin's and the end's are two facts.
      field.key = to->strings.Intern(absl::StrCat("end ", key));
      same = find(field);
    }
    if (same < fields.size()) {
      report->Note("end_argument_replaces_begins", ImportReport::kNoOffset, key);
      fields[same] = field;
      values[same] = value;
    } else {
      place_of[key_of(field)] = fields.size();
      fields.push_back(field);
      values.push_back(value);
    }
  }
  if (has_other_category) {
    const ArgField field{to->strings.Intern("end cat"), ArgType::kString, ArgPlace::kEvent};
    if (find(field) == fields.size()) {
      fields.push_back(field);
      values.push_back(ArgValue::String(to->strings.Intern(batch.CategoryOf(row))));
    }
  }
  ShapeId shape;
  if (!to->args.InternShape(fields, begin_shape.has_args_object || end_shape.has_args_object, &shape)) return;
  to->shape[0] = shape;
  to->args_row[0] = to->args.AppendRow(shape, values.data());
  const int correlation = to->FindField(shape, fields::kCorrelation);
  if (correlation >= 0 && to->args.shape(shape).fields[static_cast<size_t>(correlation)].type == ArgType::kInt) {
    to->correlation[0] = std::max<int64_t>(to->Arg(0, correlation).i, 0);
  }
}

}  // namespace

bool SlicePairing::Begin(const EventBatch& batch, size_t row) {
  if (open_.size() >= EventBatch::kMaxRows / 2 && ended_ > open_.size() / 2) Compact();
  return open_.size() < kMaxOpen && Push(batch, row);
}

bool SlicePairing::Push(const EventBatch& batch, size_t row) {
  if (segments_.empty() || !segments_.back().AppendFrom(batch, row)) {
    if (segments_.size() >= kMaxSegments) return false;
    segments_.emplace_back();
    if (!segments_.back().AppendFrom(batch, row)) return false;
  }
  const uint32_t place = static_cast<uint32_t>(open_.size());
  open_.push_back({static_cast<uint32_t>(segments_.size() - 1), static_cast<uint32_t>(segments_.back().rows() - 1)});
  std::string key = TrackKey(batch, row);
  by_track_[key].push_back(place);
  const absl::string_view name = batch.NameOf(row);
  by_name_[key.append(name.data(), name.size())].push_back(place);
  return true;
}

void SlicePairing::Compact() {
  const std::deque<EventBatch> segments = std::exchange(segments_, {});
  const std::vector<Open> open = std::exchange(open_, {});
  by_track_.clear();
  by_name_.clear();
  ended_ = 0;
  for (const Open& o : open) {
    if (!o.is_ended) (void)Push(segments[o.segment], o.row);  // it fitted before
  }
}

void SlicePairing::End(const EventBatch& batch, size_t row, EventBatch* to, std::deque<EventBatch>* out,
                       ImportReport* report) {
  --report->imported;
  std::string key = TrackKey(batch, row);
  const bool has_name = batch.name[row] != kNoString;
  if (has_name) key.append(batch.NameOf(row).data(), batch.NameOf(row).size());
  absl::flat_hash_map<std::string, Stack>& stacks = has_name ? by_name_ : by_track_;
  const auto found = stacks.find(key);
  if (found != stacks.end()) {
    while (!found->second.empty() && open_[found->second.back()].is_ended) found->second.pop_back();
  }
  if (found == stacks.end() || found->second.empty()) {
    report->Skip("end_without_begin", ImportReport::kNoOffset, Describe(batch, row));
    return;
  }
  ++report->merged;
  Open& begin = open_[found->second.back()];
  found->second.pop_back();
  begin.is_ended = true;
  ++ended_;
  merged_.Clear();
  (void)merged_.AppendFrom(segments_[begin.segment], begin.row);  // it fitted before
  merged_.kind[0] = EventKind::kSlice;
  if (__builtin_sub_overflow(batch.ts_ns[row], merged_.ts_ns[0], &merged_.dur_ns[0])) {
    merged_.dur_ns[0] = kUnfinished;
    report->Note("duration_out_of_range_counts_as_unfinished", ImportReport::kNoOffset, Describe(batch, row));
  } else if (merged_.dur_ns[0] == kUnfinished) {
    report->Note("slice_of_minus_1_ns_counts_as_unfinished", ImportReport::kNoOffset);
  }
  MergeArgs(batch, row, &merged_, report);
  CopyRow(merged_, 0, to, out);
}

void SlicePairing::Process(EventBatch batch, std::deque<EventBatch>* out, ImportReport* report) {
  const auto is_half = [](EventKind kind) { return kind == EventKind::kSliceBegin || kind == EventKind::kSliceEnd; };
  if (std::none_of(batch.kind.begin(), batch.kind.end(), is_half)) {
    if (!batch.empty()) out->push_back(std::move(batch));
    return;
  }
  EventBatch to;
  for (size_t row = 0; row < batch.rows(); ++row) {
    if (batch.kind[row] == EventKind::kSliceBegin) {
      if (Begin(batch, row)) continue;
      CopyRow(batch, row, &to, out);
      to.kind.back() = EventKind::kSlice;
      to.dur_ns.back() = kUnfinished;
      report->Note("begin_without_end", ImportReport::kNoOffset, Describe(batch, row));
    } else if (batch.kind[row] == EventKind::kSliceEnd) {
      End(batch, row, &to, out, report);
    } else {
      CopyRow(batch, row, &to, out);
    }
  }
  if (!to.empty()) out->push_back(std::move(to));
}

void SlicePairing::Finish(std::deque<EventBatch>* out, ImportReport* report) {
  EventBatch to;
  for (const Open& o : open_) {
    if (o.is_ended) continue;
    const EventBatch& segment = segments_[o.segment];
    CopyRow(segment, o.row, &to, out);
    to.kind.back() = EventKind::kSlice;
    to.dur_ns.back() = kUnfinished;
    report->Note("begin_without_end", ImportReport::kNoOffset, Describe(segment, o.row));
  }
  if (!to.empty()) out->push_back(std::move(to));
  segments_.clear();
  open_.clear();
  by_track_.clear();
  by_name_.clear();
}

void FlowCensus::Count(uint64_t id, bool is_start) {
  const uint64_t page_number = id / kPageIds;
  if (page_number != last_page_number_) {
    auto found = pages_.find(page_number);
    if (found == pages_.end()) {
      if (pages_.size() >= kMaxPages) {
        CountOther(absl::HashOf(id), is_start);
        return;
      }
      found = pages_.emplace(page_number, std::make_unique<uint8_t[]>(kPageIds)).first;
    }
    last_page_number_ = page_number;
    last_page_ = found->second.get();
  }
  uint8_t& entry = last_page_[id % kPageIds];
  if (is_start) {
    entry |= kStarted;
  } else if ((entry & ~kStarted) < kStarted - 1) {
    ++entry;
  }
}

void FlowCensus::CountOther(uint64_t key, bool is_start) {
  if (other_.size() >= kMaxOther) {
    is_incomplete_ = true;
    return;
  }
  uint8_t& entry = other_[key];
  if (is_start) {
    entry |= kStarted;
  } else if ((entry & ~kStarted) < kStarted - 1) {
    ++entry;
  }
}

void FlowCensus::Process(const EventBatch& batch) {
  for (size_t row = 0; row < batch.rows(); ++row) {
    if ((batch.flags[row] & (kFlowOut | kFlowIn)) != 0) {
      Count(static_cast<uint64_t>(batch.correlation[row]), (batch.flags[row] & kFlowOut) != 0);
      continue;
    }
    const EventKind kind = batch.kind[row];
    if (kind != EventKind::kFlowStart && kind != EventKind::kFlowEnd) continue;
    const bool is_start = kind == EventKind::kFlowStart;
    const absl::string_view category = batch.CategoryOf(row);
    const absl::string_view name = batch.NameOf(row);
    const std::optional<int64_t> id = batch.IntArg(row, "id", ArgPlace::kEvent);
    if (id.has_value() && *id >= 0 && category == fields::kAc2g && name == category) {
      Count(static_cast<uint64_t>(*id), is_start);
      continue;
    }
    absl::string_view text_id;
    if (!id.has_value()) {
      const int f = batch.FindField(batch.shape[row], "id", ArgPlace::kEvent);
      if (f >= 0 && HasStringValue(batch.args.shape(batch.shape[row]).fields[static_cast<size_t>(f)].type)) {
        text_id = batch.Text(batch.Arg(row, f).s);
      }
    }
    CountOther(absl::HashOf(category, name, id.value_or(-1), text_id), is_start);
  }
}

void FlowCensus::Finish(ImportReport* report) const {
  uint64_t dangling = 0;
  for (const auto& [number, page] : pages_) {
    for (uint64_t i = 0; i < kPageIds; ++i) {
      if ((page[i] & kStarted) == 0) dangling += page[i];
    }
  }
  for (const auto& [key, entry] : other_) {
    if ((entry & kStarted) == 0) dangling += entry;
  }
  if (dangling > 0) {
    report->Add(ImportReport::Severity::kNote, "flow_end_without_start", ImportReport::kNoOffset, {}, dangling);
  }
  if (is_incomplete_) report->Note("too_many_flow_ids_to_count_all", ImportReport::kNoOffset);
}

}  // namespace tracekiln::chrome
