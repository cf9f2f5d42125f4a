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
        absl::StrAppend(&key, "\"", text.size(), ":", text, "/");
        break;
      }
    }
  }
  return key;
}

std::string Describe(const EventBatch& batch, size_t row) {
  std::string text;
  if (batch.name[row] != kNoString) absl::StrAppend(&text, batch.NameOf(row).substr(0, 100), " ");
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

}  // namespace

void SlicePairing::Begin(const EventBatch& batch, size_t row) {
  if (open_.rows() >= EventBatch::kMaxRows / 2 && ended_ > open_.rows() / 2) Compact();
  if (!open_.AppendFrom(batch, row)) return;
  stacks_[TrackKey(batch, row)].push_back(static_cast<uint32_t>(open_.rows() - 1));
}

void SlicePairing::Compact() {
  EventBatch kept;
  for (auto& [key, stack] : stacks_) {
    for (uint32_t& row : stack) {
      (void)kept.AppendFrom(open_, row);
      row = static_cast<uint32_t>(kept.rows() - 1);
    }
  }
  open_ = std::move(kept);
  ended_ = 0;
}

void SlicePairing::End(const EventBatch& batch, size_t row, EventBatch* to, std::deque<EventBatch>* out,
                       ImportReport* report) {
  --report->imported;
  Stack* stack = nullptr;
  size_t position = 0;
  if (const auto found = stacks_.find(TrackKey(batch, row)); found != stacks_.end() && !found->second.empty()) {
    stack = &found->second;
    position = stack->size() - 1;
    if (batch.name[row] != kNoString) {
      while (open_.NameOf((*stack)[position]) != batch.NameOf(row)) {
        if (position == 0) {
          stack = nullptr;
          break;
        }
        --position;
      }
    }
  }
  if (stack == nullptr) {
    report->Skip("end_without_begin", ImportReport::kNoOffset, Describe(batch, row));
    return;
  }
  ++report->merged;
  const uint32_t begin = (*stack)[position];
  stack->erase(stack->begin() + static_cast<int64_t>(position));
  ++ended_;
  CopyRow(open_, begin, to, out);
  const size_t last = to->rows() - 1;
  to->kind[last] = EventKind::kSlice;
  to->dur_ns[last] = batch.ts_ns[row] - open_.ts_ns[begin];
  if (to->dur_ns[last] == kUnfinished)
    report->Note("slice_of_minus_1_ns_counts_as_unfinished", ImportReport::kNoOffset);

  const ArgShape& end_shape = batch.args.shape(batch.shape[row]);
  if (end_shape.fields.empty()) return;
  // Rebuild the row's shape with the E's fields.
  const ArgShape& begin_shape = to->args.shape(to->shape[last]);
  std::vector<ArgField> fields = begin_shape.fields;
  std::vector<ArgValue> values;
  for (const ArgColumn& column : begin_shape.columns) values.push_back(column.Get(to->args_row[last]));
  for (size_t f = 0; f < end_shape.fields.size(); ++f) {
    ArgField field = end_shape.fields[f];
    ArgValue value = end_shape.columns[f].Get(batch.args_row[row]);
    if (HasStringValue(field.type)) value = ArgValue::String(to->strings.Intern(batch.strings.Get(value.s)));
    std::string key(batch.strings.Get(field.key));
    field.key = to->strings.Intern(key);
    size_t same = 0;
    while (same < fields.size() && !(fields[same].key == field.key && fields[same].place == field.place)) ++same;
    if (same < fields.size() && field.place == ArgPlace::kEvent) {
      // Such as "tts": the begin's and the end's are two facts.
      field.key = to->strings.Intern(absl::StrCat("end ", key));
      same = 0;
      while (same < fields.size() && !(fields[same].key == field.key && fields[same].place == field.place)) ++same;
    }
    if (same < fields.size()) {
      report->Note("end_argument_replaces_begins", ImportReport::kNoOffset, key);
      fields[same] = field;
      values[same] = value;
    } else {
      fields.push_back(field);
      values.push_back(value);
    }
  }
  ShapeId shape;
  if (!to->args.InternShape(fields, begin_shape.has_args_object || end_shape.has_args_object, &shape)) return;
  to->shape[last] = shape;
  to->args_row[last] = to->args.AppendRow(shape, values.data());
  const int correlation = to->FindField(shape, fields::kCorrelation);
  if (correlation >= 0 && to->args.shape(shape).fields[static_cast<size_t>(correlation)].type == ArgType::kInt) {
    to->correlation[last] = std::max<int64_t>(to->Arg(last, correlation).i, 0);
  }
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
      if (open_.rows() >= EventBatch::kMaxRows && ended_ == 0) {
        // More open slices than can be waited for: this one counts as unfinished at once.
        CopyRow(batch, row, &to, out);
        to.kind.back() = EventKind::kSlice;
        to.dur_ns.back() = kUnfinished;
        report->Note("begin_without_end", ImportReport::kNoOffset, Describe(batch, row));
        continue;
      }
      Begin(batch, row);
    } else if (batch.kind[row] == EventKind::kSliceEnd) {
      End(batch, row, &to, out, report);
    } else {
      CopyRow(batch, row, &to, out);
    }
  }
  if (!to.empty()) out->push_back(std::move(to));
}

void SlicePairing::Finish(std::deque<EventBatch>* out, ImportReport* report) {
  std::vector<uint32_t> rows;
  for (const auto& [key, stack] : stacks_) rows.insert(rows.end(), stack.begin(), stack.end());
  std::sort(rows.begin(), rows.end());
  EventBatch to;
  for (const uint32_t row : rows) {
    CopyRow(open_, row, &to, out);
    to.kind.back() = EventKind::kSlice;
    to.dur_ns.back() = kUnfinished;
    report->Note("begin_without_end", ImportReport::kNoOffset, Describe(open_, row));
  }
  if (!to.empty()) out->push_back(std::move(to));
  stacks_.clear();
}

void FlowCensus::Count(uint64_t id, bool is_start) {
  const uint64_t page_number = id / kPageIds;
  if (page_number != last_page_number_) {
    std::unique_ptr<uint8_t[]>& page = pages_[page_number];
    if (page == nullptr) {
      if (pages_.size() > kMaxOther / 64) {
        is_incomplete_ = true;
        pages_.erase(page_number);
        return;
      }
      page = std::make_unique<uint8_t[]>(kPageIds);
    }
    last_page_number_ = page_number;
    last_page_ = page.get();
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
    const absl::string_view text_id = batch.StringArg(row, "id", ArgPlace::kEvent).value_or("");
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
