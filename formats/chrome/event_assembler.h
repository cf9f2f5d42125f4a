// EventAssembler: from the members of one Chrome event to one row of a batch.
//
// The parsers fill an EventScratch, the assembler decides what it means: which kind of row a phase makes, what has no
// place in a trace and is skipped with a reason, which flow event only restates the correlation of the slice before it.
#ifndef TRACEKILN_FORMATS_CHROME_EVENT_ASSEMBLER_H_
#define TRACEKILN_FORMATS_CHROME_EVENT_ASSEMBLER_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "formats/intermediate/event_batch.h"
#include "formats/intermediate/import_report.h"

namespace tracekiln::chrome {

// The members of one event, strings interned in the assembler's batch.
struct EventScratch {
  char phase = 0;                   // first character of "ph"; 0: absent or no text
  StringId phase_text = kNoString;  // set if "ph" is longer than one character
  bool has_ts = false;
  bool has_bad_ts = false;  // there, but no number that fits
  bool has_dur = false;
  bool has_args = false;
  int64_t ts_ns = 0;
  int64_t dur_ns = 0;
  StringId name = kNoString;
  StringId category = kNoString;
  TrackPart pid;
  TrackPart tid;
  int64_t correlation = 0;
  // Everything else, the two in step.
  std::vector<ArgField> fields;
  std::vector<ArgValue> values;

  void Clear() {
    phase = 0;
    phase_text = kNoString;
    has_ts = has_bad_ts = has_dur = has_args = false;
    ts_ns = dur_ns = 0;
    name = category = kNoString;
    pid = tid = TrackPart();
    correlation = 0;
    fields.clear();
    values.clear();
  }
};

// The kind of a phase letter.
EventKind KindOfPhase(char phase);

class EventAssembler {
 public:
  EventAssembler();

  // The batch to intern strings in. Changes when StartEvent finds it full.
  EventBatch& batch() { return batches_.back(); }
  // A number that is different for every batch, to validate cached ids.
  uint32_t epoch() const { return epoch_; }

  // Call before the strings of an event are interned: starts another batch if one more row might not fit.
  void StartEvent() {
    const EventBatch& b = batches_.back();
    if (b.rows() >= EventBatch::kMaxRows || b.args.shapes().size() >= ArgTable::kMaxShapes ||
        b.args.field_count() >= kMaxFields || b.categories().size() + 1 >= Index(kNoCategory)) {
      NewBatch();
    }
  }

  // Appends the event as a row, or merges or skips it, and counts it in report(). `offset` is its place in the file.
  // The scratch may be changed.
  void Finish(EventScratch& scratch, uint64_t offset);

  // Appends a row that was taken apart already. `category` and `shape` are ids of the current batch, `values` are the
  // shape's.
  void AppendRow(EventRow row, const TrackPart& pid, const TrackPart& tid, ShapeId shape, const ArgValue* values) {
    ++report_.seen;
    ++report_.imported;
    row.track = InternTrack(pid, tid);
    batches_.back().Append(row, shape, values);
  }

  // If a flow event with these properties only restates the slice before it, marks that slice, counts the event as
  // merged and returns true.
  bool MergeFlow(char phase, int64_t id, int64_t ts_ns, const TrackPart& pid, const TrackPart& tid);

  // Interns what a string with escapes means. A raw string may be looked up in the pool only with FindClean: the pool
  // may hold the same bytes because they were written as escapes (`\n`), while raw ones below 0x20 are damage.
  StringId InternDecoded(absl::string_view text);
  // The id of `raw` if it is in the pool and free of bytes below 0x20.
  StringId FindClean(absl::string_view raw) const {
    const StringId id = batches_.back().strings.Find(raw);
    if (id != kNoString && Index(id) < has_control_.size() && has_control_[Index(id)]) return kNoString;
    return id;
  }

  // Counts an element of the event list that is no object.
  void SkipElement(absl::string_view reason, uint64_t offset);

  ImportReport& report() { return report_; }

  // Hands out what was assembled (empty batches left out) and starts afresh.
  std::vector<EventBatch> TakeBatches();
  ImportReport TakeReport() { return std::exchange(report_, ImportReport()); }

 private:
  // Beyond so many a batch is full: a chunk of a .kiln file may have twice as many.
  static constexpr size_t kMaxFields = size_t{1} << 19;

  void NewBatch();
  TrackId InternTrack(const TrackPart& pid, const TrackPart& tid) {
    if (has_last_track_ && pid == last_track_.pid && tid == last_track_.tid) return last_track_id_;
    last_track_ = Track{pid, tid};
    last_track_id_ = batches_.back().InternTrack(last_track_);
    has_last_track_ = true;
    return last_track_id_;
  }
  bool IsRestatedFlow(const EventScratch& scratch, int64_t* id);

  std::vector<EventBatch> batches_;
  uint32_t epoch_ = 1;
  std::vector<bool> has_control_;  // by StringId, as far as there are decoded strings with control characters
  bool has_last_track_ = false;
  Track last_track_;
  TrackId last_track_id_{0};
  ImportReport report_;
};

}  // namespace tracekiln::chrome

#endif  // TRACEKILN_FORMATS_CHROME_EVENT_ASSEMBLER_H_
