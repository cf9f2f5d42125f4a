#include "formats/chrome/event_writer.h"

#include <algorithm>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "formats/intermediate/field_catalog.h"
#include "formats/json/canonical.h"

namespace tracekiln::chrome {
namespace {

// Event fields that the exporter for viewers decides itself; a field of that name (of an odd type, such as args that
// are no object) gets another name.
bool IsOwnField(absl::string_view key) {
  return key == "ph" || key == "name" || key == "cat" || key == "args" || key == "dur" || key == "ts" || key == "pid" ||
         key == "tid";
}

// A walk over a list sorted by row, in step with the rows of a batch.
template <typename Pair>
class Cursor {
 public:
  Cursor(const std::vector<Pair>& list, uint32_t first_row)
      : next_(std::lower_bound(list.begin(), list.end(), first_row,
                               [](const Pair& entry, uint32_t row) { return entry.first < row; })),
        end_(list.end()) {}
  // The entry of `row`, if there is one. REQUIRES: rows ascend.
  const Pair* At(uint32_t row) {
    while (next_ != end_ && next_->first < row) ++next_;
    return next_ != end_ && next_->first == row ? &*next_ : nullptr;
  }

 private:
  typename std::vector<Pair>::const_iterator next_, end_;
};

}  // namespace

// The grammar of an event, escaped once.
struct EventWriter::Words {
  json::Escaped ph{"ph"}, cat{"cat"}, name{"name"}, pid{"pid"}, tid{"tid"}, ts{"ts"}, dur{"dur"}, args{"args"},
      id{"id"}, bp{"bp"};
  json::Escaped e{"e"}, ac2g{fields::kAc2g}, no_name{"[No name]"};
};

// One batch being rendered.
class EventWriter::OnBatch {
 public:
  OnBatch(const EventWriter& parent, const EventBatch& batch, uint64_t first_row, int depth)
      : parent_(parent),
        batch_(batch),
        first_row_(first_row),
        depth_(depth),
        layout_(parent.LayoutOfEvents(depth)),
        keys_(batch.args.shapes().size()),
        texts_(batch.strings.size()),
        json_texts_(batch.strings.size()),
        keeps_(parent.filter_, batch) {}

  void RenderAsImported(BatchText* out);
  void RenderForViewers(const ExportPlan& plan, BatchText* out);

 private:
  void WriteFields(json::Writer& w, size_t row, bool for_viewers);
  // With a prefix for the keys, for rare rows.
  void WriteArgs(json::Writer& w, size_t row, absl::string_view prefix = {});
  void WriteCounterArgs(json::Writer& w, size_t row);
  void WriteValue(json::Writer& w, ArgType type, ArgValue value);
  void WriteTrackPart(json::Writer& w, const json::Escaped& key, const TrackPart& part);
  void WriteViewerEvent(json::Writer& w, size_t row, uint32_t pid, uint32_t tid);
  void WriteArrowEnd(json::Writer& w, size_t row, bool is_start, int64_t id, int64_t ts_ns, uint32_t pid, uint32_t tid);
  void WriteName(json::Writer& w, size_t row);
  // The phase of a row; empty if it has none.
  absl::string_view PhaseOf(size_t row);

  // A string of the batch as JSON, rendered at its first use.
  absl::string_view Quoted(StringId id) {
    Span& span = texts_[Index(id)];
    if (span.size == 0) {
      json::Writer w(&arena_);
      span.begin = w.size();
      w.String(batch_.strings.Get(id));
      span.size = w.size() - span.begin;
    }
    return absl::string_view(arena_.data() + span.begin, span.size);
  }
  // A string of the batch that should be JSON, rendered at its first use. If it is none (only a file of bad will or one
  // that was made by hand holds such), it becomes a JSON string, so that the output stays valid.
  absl::string_view Json(StringId id) {
    Span& span = json_texts_[Index(id)];
    if (span.size == 0) {
      const absl::string_view text = batch_.strings.Get(id);
      json::Writer w(&arena_);
      span.begin = w.size();
      if (json::IsJson(text)) {
        w.Json(text);
      } else {
        w.String(text);
      }
      span.size = w.size() - span.begin;
    }
    return absl::string_view(arena_.data() + span.begin, span.size);
  }
  const std::vector<json::Escaped>& KeysOf(size_t shape_index) {
    std::vector<json::Escaped>& keys = keys_[shape_index];
    const std::vector<ArgField>& fields = batch_.args.shapes()[shape_index].fields;
    if (keys.empty()) {
      keys.reserve(fields.size());
      for (const ArgField& f : fields) keys.emplace_back(batch_.strings.Get(f.key));
    }
    return keys;
  }

  struct Span {
    size_t begin = 0;
    size_t size = 0;  // 0: not rendered yet
  };

  const EventWriter& parent_;
  const EventBatch& batch_;
  const uint64_t first_row_;
  const int depth_;
  const json::Layout layout_;
  std::vector<std::vector<json::Escaped>> keys_;  // by shape
  std::vector<Span> texts_;                       // by StringId
  std::vector<Span> json_texts_;                  // by StringId
  std::string arena_;
  RowFilter::OnBatch keeps_;
};

void EventWriter::OnBatch::WriteValue(json::Writer& w, ArgType type, ArgValue value) {
  switch (type) {
    case ArgType::kNull: w.Null(); break;
    case ArgType::kBool: w.Bool(value.i != 0); break;
    case ArgType::kInt: w.Int(value.i); break;
    case ArgType::kDouble: w.Double(value.d); break;
    case ArgType::kString: w.Raw(Quoted(value.s)); break;
    case ArgType::kJson:
    case ArgType::kNumber: w.Raw(Json(value.s)); break;
  }
}

void EventWriter::OnBatch::WriteTrackPart(json::Writer& w, const json::Escaped& key, const TrackPart& part) {
  if (part.type == TrackPart::Type::kAbsent) return;
  w.Key(key);
  switch (part.type) {
    case TrackPart::Type::kText: w.Raw(Quoted(StringId{static_cast<uint32_t>(part.value)})); break;
    case TrackPart::Type::kJson: w.Raw(Json(StringId{static_cast<uint32_t>(part.value)})); break;
    default: w.Int(part.value); break;
  }
}

void EventWriter::OnBatch::WriteFields(json::Writer& w, size_t row, bool for_viewers) {
  const size_t s = Index(batch_.shape[row]);
  const ArgShape& shape = batch_.args.shapes()[s];
  for (size_t f = 0; f < shape.fields.size(); ++f) {
    const ArgField& field = shape.fields[f];
    if (field.place != ArgPlace::kEvent) continue;
    const absl::string_view key = batch_.strings.Get(field.key);
    if (key == "ph") continue;
    // Perfetto refuses the whole file for a time that is no number.
    const bool is_bad_time =
        (key == "tts" || key == "tdur") && field.type != ArgType::kInt && field.type != ArgType::kDouble;
    if (for_viewers && (IsOwnField(key) || is_bad_time)) {
      w.Key(absl::StrCat("original ", key));
    } else {
      w.Key(KeysOf(s)[f]);
    }
    WriteValue(w, field.type, shape.columns[f].Get(batch_.args_row[row]));
  }
}

void EventWriter::OnBatch::WriteArgs(json::Writer& w, size_t row, absl::string_view prefix) {
  const size_t s = Index(batch_.shape[row]);
  const ArgShape& shape = batch_.args.shapes()[s];
  const auto is_argument = [](const ArgField& f) { return f.place == ArgPlace::kArgs; };
  if (!shape.has_args_object && std::none_of(shape.fields.begin(), shape.fields.end(), is_argument)) return;
  w.Key(parent_.words_->args);
  w.BeginObject();
  const std::vector<json::Escaped>& keys = KeysOf(s);
  const uint32_t args_row = batch_.args_row[row];
  for (size_t f = 0; f < shape.fields.size(); ++f) {
    if (shape.fields[f].place != ArgPlace::kArgs) continue;
    if (prefix.empty()) {
      w.Key(keys[f]);
    } else {
      w.Key(absl::StrCat(prefix, batch_.strings.Get(shape.fields[f].key)));
    }
    WriteValue(w, shape.fields[f].type, shape.columns[f].Get(args_row));
  }
  w.EndObject();
}

void EventWriter::OnBatch::WriteCounterArgs(json::Writer& w, size_t row) {
  const size_t s = Index(batch_.shape[row]);
  const ArgShape& shape = batch_.args.shapes()[s];
  w.Key(parent_.words_->args);
  w.BeginObject();
  for (size_t f = 0; f < shape.fields.size(); ++f) {
    const ArgField& field = shape.fields[f];
    if (field.place != ArgPlace::kArgs) continue;
    const ArgValue value = shape.columns[f].Get(batch_.args_row[row]);
    if (!IsCounterValue(batch_, field.type, value)) continue;
    w.Key(KeysOf(s)[f]);
    double number;
    if (field.type == ArgType::kString && absl::SimpleAtod(batch_.Text(value.s), &number)) {
      w.Double(number);
    } else {
      WriteValue(w, field.type, value);
    }
  }
  w.EndObject();
}

absl::string_view EventWriter::OnBatch::PhaseOf(size_t row) {
  const ArgShape& shape = batch_.args.shape(batch_.shape[row]);
  for (size_t f = 0; f < shape.fields.size(); ++f) {
    const ArgField& field = shape.fields[f];
    if (field.place == ArgPlace::kEvent && field.type == ArgType::kString && batch_.strings.Get(field.key) == "ph") {
      return batch_.Text(shape.columns[f].Get(batch_.args_row[row]).s);
    }
  }
  static constexpr char kPhases[] = "X i C b n e s t f M P O - B E";
  return absl::string_view(&kPhases[2 * static_cast<size_t>(batch_.kind[row])], 1);
}

void EventWriter::OnBatch::RenderAsImported(BatchText* out) {
  const Words& words = *parent_.words_;
  json::Writer w(&out->text, layout_, depth_, /*comma_first=*/true);
  for (size_t row = 0; row < batch_.rows(); ++row) {
    if (!keeps_.Keeps(row)) continue;
    const Track& track = batch_.tracks()[Index(batch_.track[row])];
    const EventKind kind = batch_.kind[row];
    w.BeginObject();
    w.Key(words.ph);
    w.String(PhaseOf(row));
    if (batch_.category[row] != kNoCategory) {
      w.Key(words.cat);
      w.Raw(Quoted(batch_.categories()[Index(batch_.category[row])]));
    }
    if (batch_.name[row] != kNoString) {
      w.Key(words.name);
      w.Raw(Quoted(batch_.name[row]));
    }
    WriteTrackPart(w, words.pid, track.pid);
    WriteTrackPart(w, words.tid, track.tid);
    if ((batch_.flags[row] & kNoTimestamp) == 0) {
      w.Key(words.ts);
      w.MicrosFromNanos(batch_.ts_ns[row]);
    }
    if (kind == EventKind::kSlice && batch_.dur_ns[row] != kUnfinished) {
      w.Key(words.dur);
      w.MicrosFromNanos(batch_.dur_ns[row]);
    }
    WriteFields(w, row, /*for_viewers=*/false);
    if (parent_.options_.has_args || kind == EventKind::kCounter || kind == EventKind::kMetadata) WriteArgs(w, row);
    w.EndObject();
    const uint8_t flow = batch_.flags[row] & (kFlowOut | kFlowIn);
    if (flow == 0 || !parent_.filter_.keeps_merged_flows()) continue;
    w.BeginObject();
    w.Key(words.ph);
    w.String(flow == kFlowOut ? "s" : "f");
    w.Key(words.cat);
    w.String(words.ac2g);
    w.Key(words.name);
    w.String(words.ac2g);
    WriteTrackPart(w, words.pid, track.pid);
    WriteTrackPart(w, words.tid, track.tid);
    w.Key(words.ts);
    w.MicrosFromNanos(batch_.ts_ns[row]);
    w.Key(words.id);
    w.Int(batch_.correlation[row]);
    if (flow == kFlowIn) {
      w.Key(words.bp);
      w.String(words.e);
    }
    w.EndObject();
  }
}

void EventWriter::OnBatch::WriteName(json::Writer& w, size_t row) {
  w.Key(parent_.words_->name);
  if (batch_.name[row] != kNoString) {
    w.Raw(Quoted(batch_.name[row]));
  } else {
    w.String(parent_.words_->no_name);
  }
}

void EventWriter::OnBatch::WriteViewerEvent(json::Writer& w, size_t row, uint32_t pid, uint32_t tid) {
  const Words& words = *parent_.words_;
  const EventKind kind = batch_.kind[row];
  const bool is_unfinished = kind == EventKind::kSlice && batch_.dur_ns[row] == kUnfinished;
  w.BeginObject();
  w.Key(words.ph);
  w.String(is_unfinished ? absl::string_view("B") : PhaseOf(row));
  if (batch_.category[row] != kNoCategory) {
    w.Key(words.cat);
    w.Raw(Quoted(batch_.categories()[Index(batch_.category[row])]));
  }
  WriteName(w, row);
  w.Key(words.pid);
  w.Uint(pid);
  w.Key(words.tid);
  w.Uint(tid);
  if (kind != EventKind::kMetadata) {
    w.Key(words.ts);
    w.MicrosFromNanos(batch_.ts_ns[row] - parent_.plan_->shift_ns);
  }
  if (kind == EventKind::kSlice && !is_unfinished) {
    w.Key(words.dur);
    w.MicrosFromNanos(batch_.dur_ns[row]);
  }
  WriteFields(w, row, /*for_viewers=*/true);
  if (kind == EventKind::kCounter) {
    WriteCounterArgs(w, row);
  } else if (parent_.options_.has_args || kind == EventKind::kMetadata) {
    WriteArgs(w, row);
  }
  w.EndObject();
}

void EventWriter::OnBatch::WriteArrowEnd(json::Writer& w, size_t row, bool is_start, int64_t id, int64_t ts_ns,
                                         uint32_t pid, uint32_t tid) {
  const Words& words = *parent_.words_;
  const bool is_merged = batch_.kind[row] == EventKind::kSlice;
  w.BeginObject();
  w.Key(words.ph);
  w.String(is_start ? "s" : "f");
  w.Key(words.id);
  w.Int(id);
  w.Key(words.pid);
  w.Uint(pid);
  w.Key(words.tid);
  w.Uint(tid);
  w.Key(words.ts);
  w.MicrosFromNanos(ts_ns - parent_.plan_->shift_ns);
  w.Key(words.cat);
  if (is_merged) {
    w.String(words.ac2g);
    w.Key(words.name);
    w.String(words.ac2g);
  } else {
    w.String(batch_.CategoryOf(row));
    WriteName(w, row);
  }
  if (!is_start) {
    w.Key(words.bp);
    w.String(words.e);
  }
  // catapult joins the arguments of both ends and warns when they differ.
  if (!is_merged && parent_.options_.has_args) WriteArgs(w, row, is_start ? "" : "end ");
  w.EndObject();
}

void EventWriter::OnBatch::RenderForViewers(const ExportPlan& plan, BatchText* out) {
  using Arrow = ExportPlan::Arrow;
  const std::vector<uint32_t> rows_of = plan.tracks.RowsOf(batch_);
  const uint32_t first = static_cast<uint32_t>(first_row_);
  Cursor lanes(plan.lanes, first);
  Cursor deferred(plan.deferred, first);
  Cursor anchors(plan.deferred_by_anchor, first);
  Cursor moved_flows(plan.moved_flows, first);
  auto out_arrow = std::lower_bound(plan.arrows.begin(), plan.arrows.end(), Arrow{first, 0});
  auto in_arrow = std::lower_bound(plan.arrows_by_end.begin(), plan.arrows_by_end.end(), first,
                                   [&](uint32_t i, uint32_t row) { return plan.arrows[i].to_row < row; });
  json::Writer main(&out->text, layout_, depth_, /*comma_first=*/true);
  for (size_t row = 0; row < batch_.rows(); ++row) {
    const uint32_t number = first + static_cast<uint32_t>(row);
    const EventKind kind = batch_.kind[row];
    if (kind == EventKind::kMetadata) {
      // The facts about tracks stand before the events already.
      if (TrackFactOf(batch_.NameOf(row)) != TrackFact::kNone) continue;
      if (!batch_.args.shape(batch_.shape[row]).has_args_object) continue;
    } else if (!keeps_.Keeps(row)) {
      continue;
    }
    const bool is_flow = kind == EventKind::kFlowStart || kind == EventKind::kFlowStep || kind == EventKind::kFlowEnd;
    if (kind == EventKind::kCounter) {
      const ArgShape& shape = batch_.args.shape(batch_.shape[row]);
      bool has_value = false;
      for (size_t f = 0; f < shape.fields.size(); ++f) {
        has_value =
            has_value || (shape.fields[f].place == ArgPlace::kArgs &&
                          IsCounterValue(batch_, shape.fields[f].type, shape.columns[f].Get(batch_.args_row[row])));
      }
      if (!has_value) continue;
    }
    const auto* lane = lanes.At(number);
    const TrackTable::Row& track = plan.tracks.rows()[rows_of[Index(batch_.track[row])]];
    const uint32_t pid = plan.tracks.processes()[track.process].safe_pid;
    const uint32_t tid = track.safe_tids[lane == nullptr ? 0 : lane->second];
    std::string held;
    std::optional<json::Writer> held_writer;
    const bool is_deferred = deferred.At(number) != nullptr;
    if (is_deferred) held_writer.emplace(&held, layout_, depth_, /*comma_first=*/true);
    json::Writer& w = is_deferred ? *held_writer : main;
    if (!is_flow) WriteViewerEvent(w, row, pid, tid);
    const auto* moved = is_flow ? moved_flows.At(number) : nullptr;
    const int64_t flow_ts_ns = moved == nullptr ? batch_.ts_ns[row] : moved->second;
    while (in_arrow != plan.arrows_by_end.end() && plan.arrows[*in_arrow].to_row < number) ++in_arrow;
    for (; in_arrow != plan.arrows_by_end.end() && plan.arrows[*in_arrow].to_row == number; ++in_arrow) {
      WriteArrowEnd(w, row, /*is_start=*/false, plan.first_arrow_id + *in_arrow, flow_ts_ns, pid, tid);
    }
    while (out_arrow != plan.arrows.end() && out_arrow->from_row < number) ++out_arrow;
    for (; out_arrow != plan.arrows.end() && out_arrow->from_row == number; ++out_arrow) {
      WriteArrowEnd(w, row, /*is_start=*/true, plan.first_arrow_id + (out_arrow - plan.arrows.begin()), flow_ts_ns, pid,
                    tid);
    }
    if (is_deferred) {
      held_writer->Flush();
      out->deferred.emplace_back(number, std::move(held));
    }
    if (anchors.At(number) != nullptr) out->anchors.emplace_back(main.size(), number);
  }
}

EventWriter::EventWriter(const ExporterOptions& options, const RowFilter& filter, const ExportPlan* plan)
    : options_(options), filter_(filter), plan_(plan), words_(std::make_unique<const Words>()) {}

json::Layout EventWriter::LayoutOfEvents(int depth) const {
  json::Layout layout;
  layout.break_depth = options_.is_pretty ? 64 : depth;
  layout.indent = options_.is_pretty ? 2 : 0;
  layout.blank_after_colon = options_.is_pretty;
  return layout;
}

EventWriter::~EventWriter() = default;

void EventWriter::Render(const EventBatch& batch, uint64_t first_row, int depth, BatchText* out) const {
  out->Clear();
  OnBatch on_batch(*this, batch, first_row, depth);
  if (plan_ == nullptr) {
    on_batch.RenderAsImported(out);
  } else {
    on_batch.RenderForViewers(*plan_, out);
  }
}

void EventWriter::RenderTracks(std::string* out, int depth) const {
  const Words& words = *words_;
  json::Writer w(out, LayoutOfEvents(depth), depth, /*comma_first=*/true);
  const auto write = [&](absl::string_view fact, uint32_t pid, uint32_t tid, absl::string_view key, const auto& value) {
    w.BeginObject();
    w.Key(words.ph);
    w.String("M");
    w.Key(words.name);
    w.String(fact);
    w.Key(words.pid);
    w.Uint(pid);
    w.Key(words.tid);
    w.Uint(tid);
    w.Key(words.args);
    w.BeginObject();
    w.Key(key);
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, int64_t>) {
      w.Int(value);
    } else {
      w.String(absl::string_view(value.data(), value.size()));
    }
    w.EndObject();
    w.EndObject();
  };
  const TrackTable& tracks = plan_->tracks;
  for (const TrackTable::Process& p : tracks.processes()) {
    if (const auto name = tracks.ProcessName(p)) write("process_name", p.safe_pid, p.safe_pid, fields::kNameArg, *name);
    if (p.labels) write("process_labels", p.safe_pid, p.safe_pid, fields::kLabels, *p.labels);
    if (p.sort_index) write("process_sort_index", p.safe_pid, p.safe_pid, fields::kSortIndex, *p.sort_index);
  }
  for (const TrackTable::Row& r : tracks.rows()) {
    const uint32_t pid = tracks.processes()[r.process].safe_pid;
    for (uint32_t lane = 0; lane < r.lane_count; ++lane) {
      if (const auto name = tracks.RowName(r, lane)) {
        write("thread_name", pid, r.safe_tids[lane], fields::kNameArg, *name);
      }
      if (!r.lane_sort_indices.empty()) {
        write("thread_sort_index", pid, r.safe_tids[lane], fields::kSortIndex, r.lane_sort_indices[lane]);
      } else if (r.sort_index) {
        write("thread_sort_index", pid, r.safe_tids[lane], fields::kSortIndex, *r.sort_index);
      }
    }
  }
}

}  // namespace tracekiln::chrome
