#include "formats/chrome/event_assembler.h"

#include <algorithm>
#include "absl/strings/str_cat.h"

#include "formats/intermediate/field_catalog.h"

namespace tracekiln::chrome {

EventKind KindOfPhase(char phase) {
  switch (phase) {
    case 'X': return EventKind::kSlice;
    case 'i':
    case 'I':
    case 'R': return EventKind::kInstant;
    case 'C': return EventKind::kCounter;
    case 'b': return EventKind::kAsyncBegin;
    case 'n': return EventKind::kAsyncInstant;
    case 'e': return EventKind::kAsyncEnd;
    case 's': return EventKind::kFlowStart;
    case 't': return EventKind::kFlowStep;
    case 'f': return EventKind::kFlowEnd;
    case 'M': return EventKind::kMetadata;
    case 'P': return EventKind::kSample;
    case 'N':
    case 'O':
    case 'D': return EventKind::kObject;
    case 'B': return EventKind::kSliceBegin;
    case 'E': return EventKind::kSliceEnd;
    default: return EventKind::kOther;
  }
}

EventAssembler::EventAssembler() : batches_(1) {}

void EventAssembler::NewBatch() {
  batches_.emplace_back();
  ++epoch_;
  has_last_track_ = false;
  has_control_.clear();
}

StringId EventAssembler::InternDecoded(absl::string_view text) {
  const StringId id = batches_.back().strings.Intern(text);
  if (id != kNoString && std::any_of(text.begin(), text.end(), [](char c) { return c >= 0 && c < ' '; })) {
    if (has_control_.size() <= Index(id)) has_control_.resize(Index(id) + 1, false);
    has_control_[Index(id)] = true;
  }
  return id;
}

std::vector<EventBatch> EventAssembler::TakeBatches() {
  std::vector<EventBatch> taken;
  for (EventBatch& b : batches_) {
    if (!b.empty()) taken.push_back(std::move(b));
  }
  batches_.clear();
  NewBatch();
  return taken;
}

void EventAssembler::SkipElement(absl::string_view reason, uint64_t offset) {
  ++report_.seen;
  report_.Skip(reason, offset);
}

bool EventAssembler::MergeFlow(char phase, int64_t id, int64_t ts_ns, const TrackPart& pid, const TrackPart& tid) {
  EventBatch& b = batches_.back();
  if (b.empty() || id <= 0) return false;
  const size_t last = b.rows() - 1;
  if (b.kind[last] != EventKind::kSlice || b.flags[last] != 0 || b.correlation[last] != id || b.ts_ns[last] != ts_ns) {
    return false;
  }
  const Track& track = b.tracks()[Index(b.track[last])];
  if (!(track.pid == pid) || !(track.tid == tid)) return false;
  b.flags[last] = phase == 's' ? kFlowOut : kFlowIn;
  ++report_.seen;
  ++report_.merged;
  return true;
}

// {"ph": "s", "id": 7, "cat": "ac2g", "name": "ac2g", pid, tid, ts} or the same with "ph": "f" and "bp": "e", and
// nothing else.
bool EventAssembler::IsRestatedFlow(const EventScratch& scratch, int64_t* id) {
  if (scratch.has_args || scratch.has_dur || scratch.name == kNoString || scratch.name != scratch.category)
    return false;
  const StringPool& strings = batches_.back().strings;
  if (strings.Get(scratch.name) != fields::kAc2g) return false;
  bool has_id = false;
  bool has_bp = false;
  for (size_t f = 0; f < scratch.fields.size(); ++f) {
    const ArgField& field = scratch.fields[f];
    const absl::string_view key = strings.Get(field.key);
    if (key == "id" && field.type == ArgType::kInt) {
      has_id = true;
      *id = scratch.values[f].i;
    } else if (key == "bp" && field.type == ArgType::kString && strings.Get(scratch.values[f].s) == "e") {
      has_bp = true;
    } else {
      return false;
    }
  }
  return has_id && has_bp == (scratch.phase == 'f');
}

void EventAssembler::Finish(EventScratch& scratch, uint64_t offset) {
  if (scratch.phase == 0) {
    const bool empty = scratch.fields.empty() && !scratch.has_args && !scratch.has_ts && !scratch.has_dur &&
                       scratch.name == kNoString && scratch.category == kNoString;
    SkipElement(empty ? "empty_object" : "no_phase", offset);
    return;
  }
  const EventKind kind = KindOfPhase(scratch.phase);
  if (!scratch.has_ts && kind != EventKind::kMetadata) {
    SkipElement(scratch.has_bad_ts ? "bad_timestamp" : "no_timestamp", offset);
    return;
  }
  int64_t id = 0;
  if ((kind == EventKind::kFlowStart || kind == EventKind::kFlowEnd) && scratch.phase_text == kNoString &&
      IsRestatedFlow(scratch, &id) && MergeFlow(scratch.phase, id, scratch.ts_ns, scratch.pid, scratch.tid)) {
    return;
  }
  EventBatch& b = batches_.back();
  const bool is_half = kind == EventKind::kSliceBegin || kind == EventKind::kSliceEnd;
  if (is_half) {
    // The pair becomes a slice, which has a duration and args of its own.
    for (const absl::string_view key : {"dur", "args"}) {
      const StringId id = b.strings.Find(key);
      if (id == kNoString) continue;
      for (ArgField& f : scratch.fields) {
        if (f.key == id && f.place == ArgPlace::kEvent) f.key = b.strings.Intern(absl::StrCat("original ", key));
      }
    }
  }
  if (scratch.phase_text != kNoString || scratch.phase != UsualPhase(kind)) {
    const StringId text =
        scratch.phase_text != kNoString ? scratch.phase_text : b.strings.Intern(absl::string_view(&scratch.phase, 1));
    scratch.fields.push_back({b.strings.Intern("ph"), ArgType::kString, ArgPlace::kEvent});
    scratch.values.push_back(ArgValue::String(text));
  }
  if (kind == EventKind::kSlice && !scratch.has_dur) {
    scratch.dur_ns = kUnfinished;
    report_.Note("slice_without_duration", offset);
  }
  CategoryId category = kNoCategory;
  ShapeId shape = ArgTable::kNoArgs;
  // StartEvent made sure that both fit.
  if (scratch.category != kNoString) (void)b.InternCategory(scratch.category, &category);
  (void)b.args.InternShape(scratch.fields, scratch.has_args, &shape);
  EventRow row;
  row.ts_ns = scratch.ts_ns;
  row.dur_ns = scratch.dur_ns;
  row.correlation = scratch.correlation;
  row.name = scratch.name;
  row.category = category;
  row.kind = kind;
  row.flags = scratch.has_ts ? 0 : kNoTimestamp;
  AppendRow(row, scratch.pid, scratch.tid, shape, scratch.values.data());
}

}  // namespace tracekiln::chrome
