// EventBatch: some thousand events of one trace, as columns. The unit in which traces move through tracekiln.
//
// A batch is self-contained: names, categories, tracks and arg shapes are its own, so batches can be made, encoded and
// decoded on different threads without sharing anything. One block of a JSON file becomes one batch, one or
// several batches become one chunk of a .kiln file. Rows are in file order.
//
//   EventBatch batch;
//   TrackId track = batch.InternTrack({TrackPart::Int(1102), TrackPart::Int(1262)});
//   EventRow row;
//   row.ts_ns = 1000; row.dur_ns = 250; row.track = track;
//   row.name = batch.strings.Intern("aten::add");
//   batch.InternCategory(batch.strings.Intern("cpu_op"), &row.category);
//   batch.Append(row, ArgTable::kNoArgs, nullptr);
//
// Times are int64 nanoseconds from the trace's base (TraceInfo::base_ns). Memory of a row: kCoreBytesPerRow plus its
// args. Limits: kMaxRows rows, 65,535 shapes, 65,535 categories; whoever fills a batch ends it when one is reached.
// Thread-safety: const access from several threads; anything else needs one owner.
#ifndef TRACEKILN_FORMATS_INTERMEDIATE_EVENT_BATCH_H_
#define TRACEKILN_FORMATS_INTERMEDIATE_EVENT_BATCH_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "formats/intermediate/args.h"
#include "formats/intermediate/ids.h"
#include "formats/intermediate/string_pool.h"

namespace tracekiln {

// What a row is. Small and closed; what kind of work it stands for (kernel, operator, copy) is its category, an open
// set.
enum class EventKind : uint8_t {
  kSlice = 0,       // ts_ns and dur_ns; dur_ns == kUnfinished: never ended
  kInstant = 1,     // a point in time
  kCounter = 2,     // the values are the arguments
  kAsyncBegin = 3,  // Chrome's nestable async events b, n, e; key: category, "id" or "id2"
  kAsyncInstant = 4,
  kAsyncEnd = 5,
  kFlowStart = 6,  // Chrome's s, t, f as far as they are no restatement of a correlation, see kFlowOut
  kFlowStep = 7,
  kFlowEnd = 8,
  kMetadata = 9,     // Chrome's M: names and sort indices of tracks; the last of a kind counts
  kSample = 10,      // Chrome's P
  kObject = 11,      // Chrome's N, O, D
  kOther = 12,       // any other phase
  kSliceBegin = 13,  // Chrome's B and E. Importers pair them into kSlice: no trace outside an importer holds these two.
  kSliceEnd = 14,
};
inline constexpr int kEventKindCount = 15;

// If an event's phase letter is not the usual one of its kind (as "I" is for kInstant, whose usual one is "i"), it is
// kept as a string field "ph" with place kEvent. usual: X i C b n e s t f M P O - B E ("-": always kept).
char UsualPhase(EventKind kind);

inline constexpr int64_t kUnfinished = -1;

// Row flags. Kineto follows each launch and each kernel with a flow event that restates the correlation (11 to 32 % of
// all rows in real traces). Such a flow event is no row of its own but a flag of the slice before it:
//   kFlowOut: followed by {"ph":"s","id":CORRELATION,"cat":"ac2g","name":"ac2g"} with the slice's pid, tid and ts
//   kFlowIn:  followed by the same with "ph":"f" and "bp":"e"
// At most one of these two is set.
inline constexpr uint8_t kFlowOut = 1;
inline constexpr uint8_t kFlowIn = 2;
// The event had no timestamp (metadata only): ts_ns is 0 and is not written again.
inline constexpr uint8_t kNoTimestamp = 4;

// A pid or tid as the trace gave it. Numbers and texts differ: 7 is not "7".
struct TrackPart {
  enum class Type : uint8_t {
    kAbsent = 0,  // counts as the number 0 when tracks are shown or grouped
    kInt = 1,
    kText = 2,  // value is the StringId of the text
    kJson = 3,  // value is the StringId of any other JSON value (1.5, null, true, …)
  };
  Type type = Type::kAbsent;
  int64_t value = 0;

  static TrackPart Int(int64_t v) { return {Type::kInt, v}; }
  static TrackPart Text(StringId v) { return {Type::kText, Index(v)}; }
  friend bool operator==(const TrackPart& a, const TrackPart& b) { return a.type == b.type && a.value == b.value; }
};

// What a timeline row shows: a thread or a stream. Names come as kMetadata rows.
struct Track {
  TrackPart pid;
  TrackPart tid;
  friend bool operator==(const Track& a, const Track& b) { return a.pid == b.pid && a.tid == b.tid; }
};

// The core columns of one row.
struct EventRow {
  int64_t ts_ns = 0;
  int64_t dur_ns = 0;  // kSlice only, otherwise 0. May be negative in damaged traces; kUnfinished is special.
  int64_t correlation =
      0;  // host call <-> device work, from the argument "correlation"; 0: none. It stays in the args too.
  StringId name = kNoString;
  TrackId track{0};
  CategoryId category = kNoCategory;
  EventKind kind = EventKind::kSlice;
  uint8_t flags = 0;
};

class EventBatch {
 public:
  static constexpr size_t kMaxRows = 1 << 16;
  static constexpr size_t kCoreBytesPerRow = 8 + 8 + 8 + 4 + 4 + 4 + 2 + 2 + 1 + 1;

  // The core columns, all of rows() entries. args_row[i] is row i's number within its shape.
  // A reader that was asked for core columns only gives every row ArgTable::kNoArgs.
  std::vector<int64_t> ts_ns;
  std::vector<int64_t> dur_ns;
  std::vector<int64_t> correlation;
  std::vector<StringId> name;
  std::vector<TrackId> track;
  std::vector<uint32_t> args_row;
  std::vector<ShapeId> shape;
  std::vector<CategoryId> category;
  std::vector<EventKind> kind;
  std::vector<uint8_t> flags;

  StringPool strings;
  ArgTable args;

  size_t rows() const { return kind.size(); }
  bool empty() const { return kind.empty(); }

  const std::vector<Track>& tracks() const { return tracks_; }
  const std::vector<StringId>& categories() const { return categories_; }

  TrackId InternTrack(const Track& track);
  // False if the batch holds 65,535 categories already.
  [[nodiscard]] bool InternCategory(StringId text, CategoryId* id);

  // Appends a row. values[f] belongs to args.shape(shape).fields[f].
  void Append(const EventRow& row, ShapeId row_shape, const ArgValue* values) {
    ts_ns.push_back(row.ts_ns);
    dur_ns.push_back(row.dur_ns);
    correlation.push_back(row.correlation);
    name.push_back(row.name);
    track.push_back(row.track);
    args_row.push_back(args.AppendRow(row_shape, values));
    shape.push_back(row_shape);
    category.push_back(row.category);
    kind.push_back(row.kind);
    flags.push_back(row.flags);
  }

  EventRow Row(size_t row) const;
  // Name and category as text; empty if there is none.
  absl::string_view NameOf(size_t row) const { return Text(name[row]); }
  absl::string_view CategoryOf(size_t row) const {
    return category[row] == kNoCategory ? absl::string_view() : Text(categories_[Index(category[row])]);
  }
  absl::string_view Text(StringId id) const { return id == kNoString ? absl::string_view() : strings.Get(id); }

  // The position of a field in a shape, or -1. O(fields).
  int FindField(ShapeId shape_id, absl::string_view key, ArgPlace place = ArgPlace::kArgs) const;
  ArgValue Arg(size_t row, int field) const { return args.shape(shape[row]).columns[field].Get(args_row[row]); }
  // Convenience for code that is not hot: the argument if it is there and has that type.
  std::optional<int64_t> IntArg(size_t row, absl::string_view key, ArgPlace place = ArgPlace::kArgs) const;
  std::optional<absl::string_view> StringArg(size_t row, absl::string_view key, ArgPlace place = ArgPlace::kArgs) const;

  // The events this row stands for in a foreign trace: 1, or 2 with a merged flow.
  int ForeignEvents(size_t row) const { return (flags[row] & (kFlowOut | kFlowIn)) != 0 ? 2 : 1; }

  // Copies row `row` of `from` to the end of this batch, interning what it needs. False when a limit is reached
  // (nothing was appended then). O(fields) hash look-ups: for rare rewrites, not for hot paths.
  [[nodiscard]] bool AppendFrom(const EventBatch& from, size_t row);

  // Copies all rows of `from` to the end of this batch. False when a limit is reached (no row was appended then).
  // O(rows + strings), no look-up per row.
  [[nodiscard]] bool AppendAll(const EventBatch& from);

  // Renumbers the strings in the order in which the columns use them and drops those that nothing uses. Batches with
  // the same rows are then the same, however they were filled. O(rows).
  void RenumberStrings();

  void Clear();
  size_t AllocatedBytes() const;

  // For decoders, which fill the tables in bulk. False, with the tables empty, if two tracks or categories are equal.
  [[nodiscard]] bool AdoptTables(std::vector<Track> tracks, std::vector<StringId> categories);

 private:
  std::vector<Track> tracks_;
  std::vector<StringId> categories_;
  std::vector<uint32_t> track_index_;         // open addressing: track number + 1
  std::vector<CategoryId> category_of_text_;  // by StringId, as far as categories were interned; kNoCategory: none
};

}  // namespace tracekiln

#endif  // TRACEKILN_FORMATS_INTERMEDIATE_EVENT_BATCH_H_
