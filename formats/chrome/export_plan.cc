#include "formats/chrome/export_plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <limits>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "formats/intermediate/field_catalog.h"

namespace tracekiln::chrome {
namespace {

// Times below are exact to the nanosecond as doubles of microseconds.
constexpr int64_t kExactNs = int64_t{1} << 53;
// Kineto's unit of "baseTimeNanoseconds", so that the ranks of a job share their base: 7,889,238 s, three months.
constexpr int64_t kBaseUnitNs = int64_t{7'889'238} * 1'000'000'000;

enum class FlowRole : uint8_t { kStart = 0, kStep = 1, kEnd = 2 };

struct FlowEnd {
  uint64_t key;  // hash of category, name and id
  int64_t ts_ns;
  uint32_t row;
  FlowRole role;
  bool is_own_row;  // else merged into a slice
};

uint64_t Mix(uint64_t h, absl::string_view text) {
  h ^= text.size() * 0x9e3779b97f4a7c15u;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h ^ h >> 29;
}

uint64_t Mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * 0xff51afd7ed558ccdu;
  h = (h ^ h >> 32) * 0xc4ceb9fe1a85ec53u;
  return h ^ h >> 29;
}

constexpr uint64_t kSeed = 0xcbf29ce484222325u;

class Planner {
 public:
  Planner(const RowFilter& filter, const PlanLimits& limits) : filter_(filter), limits_(limits) {
    merged_seed_ = Mix(Mix(kSeed, fields::kAc2g), fields::kAc2g);
  }

  absl::Status AddBatch(const EventBatch& batch);
  void LayOutTracks();
  void MatchFlows();
  ExportPlan Finish(const TraceInfo& info);

 private:
  void AddTrackFact(const EventBatch& batch, size_t row, TrackFact fact);
  void AddFlowRow(const EventBatch& batch, size_t row, uint32_t global_row, uint32_t track);
  void AddFlowEnd(const FlowEnd& end) { flow_ends_[end.key >> 58].push_back(end); }
  TrackItems& ItemsOf(uint32_t track) {
    if (track >= items_.size()) items_.resize(track + 1);
    return items_[track];
  }
  void MatchChain(const FlowEnd* begin, const FlowEnd* end);
  uint32_t WrittenAfter(uint32_t row) const {
    const auto it = std::lower_bound(plan_.deferred.begin(), plan_.deferred.end(), std::make_pair(row, uint32_t{0}));
    return it != plan_.deferred.end() && it->first == row ? it->second : row;
  }

  const RowFilter& filter_;
  const PlanLimits limits_;
  ExportPlan plan_;
  uint64_t rows_ = 0;
  std::vector<TrackItems> items_;  // by row of the track table
  // By the highest bits of the key, to be sorted one after the other. (Vectors would double their memory to grow.)
  std::array<std::deque<FlowEnd>, 64> flow_ends_;
  uint64_t merged_seed_;
  std::vector<uint32_t> unbound_flows_;  // rows, sorted after LayOutTracks
  int64_t min_ns_ = std::numeric_limits<int64_t>::max();
  int64_t max_ns_ = std::numeric_limits<int64_t>::min();
};

absl::Status Planner::AddBatch(const EventBatch& batch) {
  if (rows_ + batch.rows() >= 0xffffffffu) {
    return absl::ResourceExhaustedError("more than 2^32 rows can't be laid out for viewers; lanes=off has no limit");
  }
  RowFilter::OnBatch keeps(filter_, batch);
  std::vector<uint32_t> track_of(batch.tracks().size(), ~uint32_t{0});
  const auto track = [&](size_t row) {
    uint32_t& known = track_of[Index(batch.track[row])];
    if (known == ~uint32_t{0}) known = plan_.tracks.InternRow(batch, batch.tracks()[Index(batch.track[row])]);
    return known;
  };
  for (size_t row = 0; row < batch.rows(); ++row) {
    const uint32_t global_row = static_cast<uint32_t>(rows_ + row);
    const EventKind kind = batch.kind[row];
    if (kind == EventKind::kMetadata) {
      const TrackFact fact = TrackFactOf(batch.NameOf(row));
      if (fact != TrackFact::kNone) {
        AddTrackFact(batch, row, fact);
      } else if (batch.args.shape(batch.shape[row]).has_args_object) {
        track(row);
      } else {
        ++plan_.left_out["metadata_without_arguments"];
      }
      continue;
    }
    if (!keeps.Keeps(row)) continue;
    const int64_t ts = batch.ts_ns[row];
    min_ns_ = std::min(min_ns_, ts);
    max_ns_ = std::max(max_ns_, ts);
    const uint32_t t = track(row);
    switch (kind) {
      case EventKind::kSlice: {
        const int64_t dur = batch.dur_ns[row];
        TrackItem item{ts, ts, global_row, TrackItem::Kind::kSlice};
        if (dur == kUnfinished || __builtin_add_overflow(ts, std::max<int64_t>(0, dur), &item.end_ns)) {
          item.end_ns = std::numeric_limits<int64_t>::max();
        }
        ItemsOf(t).Add(item);
        const uint8_t flow = batch.flags[row] & (kFlowOut | kFlowIn);
        if (flow != 0 && filter_.keeps_merged_flows()) {
          AddFlowEnd({Mix(merged_seed_, static_cast<uint64_t>(batch.correlation[row])), ts, global_row,
                      flow == kFlowOut ? FlowRole::kStart : FlowRole::kEnd, false});
        }
        break;
      }
      case EventKind::kFlowStart:
      case EventKind::kFlowStep:
      case EventKind::kFlowEnd: AddFlowRow(batch, row, global_row, t); break;
      case EventKind::kCounter: {
        const ArgShape& shape = batch.args.shape(batch.shape[row]);
        uint64_t shown = 0;
        for (size_t f = 0; f < shape.fields.size(); ++f) {
          if (shape.fields[f].place != ArgPlace::kArgs) continue;
          if (IsCounterValue(batch, shape.fields[f].type, batch.Arg(row, static_cast<int>(f)))) {
            ++shown;
          } else {
            ++plan_.left_out["counter_values_that_are_no_numbers"];
          }
        }
        if (shown == 0) ++plan_.left_out["counters_without_values"];
        break;
      }
      default: break;
    }
  }
  rows_ += batch.rows();
  return absl::OkStatus();
}

void Planner::AddTrackFact(const EventBatch& batch, size_t row, TrackFact fact) {
  const Track& track = batch.tracks()[Index(batch.track[row])];
  const bool is_text = fact != TrackFact::kProcessSortIndex && fact != TrackFact::kThreadSortIndex;
  std::optional<std::string> text;
  std::optional<int64_t> number;
  if (is_text) {
    const auto value = batch.StringArg(row, fact == TrackFact::kProcessLabels ? fields::kLabels : fields::kNameArg);
    if (value.has_value()) text = std::string(*value);
  } else {
    number = batch.IntArg(row, fields::kSortIndex);
  }
  if (!text.has_value() && !number.has_value()) {
    ++plan_.left_out["malformed_metadata"];
    return;
  }
  if (fact == TrackFact::kThreadName || fact == TrackFact::kThreadSortIndex) {
    TrackTable::Row& r = plan_.tracks.rows()[plan_.tracks.InternRow(batch, track)];
    (is_text ? static_cast<void>(r.name = std::move(text)) : static_cast<void>(r.sort_index = number));
    return;
  }
  TrackTable::Process& p = plan_.tracks.processes()[plan_.tracks.InternProcess(batch, track.pid)];
  switch (fact) {
    case TrackFact::kProcessName: p.name = std::move(text); break;
    case TrackFact::kProcessLabels: p.labels = std::move(text); break;
    default: p.sort_index = number; break;
  }
}

void Planner::AddFlowRow(const EventBatch& batch, size_t row, uint32_t global_row, uint32_t track) {
  const int id = batch.FindField(batch.shape[row], "id", ArgPlace::kEvent);
  if (id < 0) {
    ++plan_.left_out["flows_without_id"];
    unbound_flows_.push_back(global_row);
    return;
  }
  FlowEnd end;
  end.ts_ns = batch.ts_ns[row];
  end.row = global_row;
  end.role = batch.kind[row] == EventKind::kFlowStart  ? FlowRole::kStart
             : batch.kind[row] == EventKind::kFlowStep ? FlowRole::kStep
                                                       : FlowRole::kEnd;
  end.is_own_row = true;
  end.key = Mix(Mix(kSeed, batch.CategoryOf(row)), batch.NameOf(row));
  const ArgType type = batch.args.shape(batch.shape[row]).fields[static_cast<size_t>(id)].type;
  const ArgValue value = batch.Arg(row, id);
  switch (type) {
    case ArgType::kString:
    case ArgType::kJson:
    case ArgType::kNumber: end.key = Mix(end.key + static_cast<uint64_t>(type), batch.Text(value.s)); break;
    case ArgType::kInt: end.key = Mix(end.key, static_cast<uint64_t>(value.i)); break;
    default: end.key = Mix(end.key + static_cast<uint64_t>(type), static_cast<uint64_t>(value.i)); break;
  }
  // Spread the last text's bytes over the key's high bits, which choose the bucket.
  end.key = type == ArgType::kInt ? end.key : Mix(end.key, uint64_t{1});
  const bool binds_to_next =
      end.role == FlowRole::kEnd && batch.StringArg(row, "bp", ArgPlace::kEvent) != absl::string_view("e");
  ItemsOf(track).Add(
      {end.ts_ns, end.ts_ns, global_row, binds_to_next ? TrackItem::Kind::kBeforeSlices : TrackItem::Kind::kPoint});
  AddFlowEnd(end);
}

void Planner::LayOutTracks() {
  std::vector<std::pair<uint32_t, int64_t>> waiting;  // flow ends that belong to the next slice: row, ts
  for (uint32_t t = 0; t < items_.size(); ++t) {
    const auto place = [&](uint32_t row, uint32_t lane, uint32_t anchor) {
      if (lane != 0) plan_.lanes.emplace_back(row, lane);
      if (anchor > row) plan_.deferred.emplace_back(row, anchor);
    };
    const uint32_t lane_count =
        LayOut(items_[t], limits_.window_items, [&](const TrackItem& item, const std::optional<Placement>& p) {
          switch (item.kind) {
            case TrackItem::Kind::kSlice: {
              place(item.row, p->lane, p->anchor_row);
              plan_.moved_slice_count += p->lane != 0 ? 1 : 0;
              for (const auto& [row, ts] : waiting) {
                place(row, p->lane, p->anchor_row);
                if (ts != item.start_ns) plan_.moved_flows.emplace_back(row, item.start_ns);
              }
              waiting.clear();
              break;
            }
            case TrackItem::Kind::kBeforeSlices: waiting.emplace_back(item.row, item.start_ns); break;
            case TrackItem::Kind::kPoint: {
              if (p.has_value()) {
                place(item.row, p->lane, p->anchor_row);
              } else {
                unbound_flows_.push_back(item.row);
                ++plan_.left_out["flows_outside_slices"];
              }
              break;
            }
          }
        });
    for (const auto& [row, ts] : waiting) {
      unbound_flows_.push_back(row);
      ++plan_.left_out["flows_outside_slices"];
    }
    waiting.clear();
    items_[t].Clear();
    if (t < plan_.tracks.rows().size()) plan_.tracks.rows()[t].lane_count = lane_count;
  }
  items_ = {};
  std::sort(unbound_flows_.begin(), unbound_flows_.end());
  std::sort(plan_.lanes.begin(), plan_.lanes.end());
  std::sort(plan_.moved_flows.begin(), plan_.moved_flows.end());
  for (const auto& [row, anchor] : plan_.deferred) plan_.deferred_by_anchor.emplace_back(anchor, row);
  // Those of one anchor are of one track, and stand in the order in which they have to be written.
  std::stable_sort(plan_.deferred_by_anchor.begin(), plan_.deferred_by_anchor.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::sort(plan_.deferred.begin(), plan_.deferred.end());
}

// The ends of one id in order of time: each end or step gets an arrow from the last start or step before it.
void Planner::MatchChain(const FlowEnd* begin, const FlowEnd* end) {
  const FlowEnd* open = nullptr;
  bool is_used = true;
  const auto is_bound = [&](const FlowEnd& e) {
    return !e.is_own_row || !std::binary_search(unbound_flows_.begin(), unbound_flows_.end(), e.row);
  };
  const bool has_start =
      std::any_of(begin, end, [&](const FlowEnd& e) { return e.role == FlowRole::kStart && is_bound(e); });
  for (const FlowEnd* e = begin; e != end; ++e) {
    if (!is_bound(*e)) continue;  // counted already
    if (e->role == FlowRole::kStart) {
      if (!is_used) ++plan_.left_out["flow_starts_without_end"];
      open = e;
      is_used = false;
      continue;
    }
    // At one time viewers go by the order in the file.
    const bool is_after =
        open != nullptr && (open->ts_ns != e->ts_ns || WrittenAfter(open->row) < WrittenAfter(e->row));
    if (is_after) {
      plan_.arrows.push_back({open->row, e->row});
      is_used = true;
      if (e->role == FlowRole::kStep) open = e;
    } else {
      ++plan_.left_out[has_start ? "flow_ends_before_their_start" : "flow_ends_without_start"];
    }
  }
  if (!is_used) ++plan_.left_out["flow_starts_without_end"];
}

void Planner::MatchFlows() {
  for (std::deque<FlowEnd>& bucket : flow_ends_) {
    std::vector<FlowEnd> ends(bucket.begin(), bucket.end());
    bucket = {};
    std::sort(ends.begin(), ends.end(), [](const FlowEnd& a, const FlowEnd& b) {
      if (a.key != b.key) return a.key < b.key;
      if (a.ts_ns != b.ts_ns) return a.ts_ns < b.ts_ns;
      if (a.role != b.role) return a.role < b.role;
      return a.row < b.row;
    });
    for (size_t i = 0; i < ends.size();) {
      size_t j = i + 1;
      while (j < ends.size() && ends[j].key == ends[i].key) ++j;
      MatchChain(&ends[i], ends.data() + j);
      i = j;
    }
  }
  std::sort(plan_.arrows.begin(), plan_.arrows.end());
  plan_.arrows_by_end.resize(plan_.arrows.size());
  for (uint32_t i = 0; i < plan_.arrows.size(); ++i) plan_.arrows_by_end[i] = i;
  std::sort(plan_.arrows_by_end.begin(), plan_.arrows_by_end.end(), [&](uint32_t a, uint32_t b) {
    return plan_.arrows[a].to_row != plan_.arrows[b].to_row ? plan_.arrows[a].to_row < plan_.arrows[b].to_row : a < b;
  });
}

ExportPlan Planner::Finish(const TraceInfo& info) {
  plan_.tracks.AssignIds();
  // Merged traces must not link across ranks, and browsers know integers up to 2^53.
  const int64_t rank = info.rank.value_or(0);
  plan_.first_arrow_id = (rank >= 0 && rank < (int64_t{1} << 20) ? rank << 32 : 0) + 1;
  if (min_ns_ <= max_ns_ && (min_ns_ < 0 || max_ns_ >= kExactNs)) {
    // Whole units if that makes the times small enough, else whole seconds.
    for (const int64_t unit : {kBaseUnitNs, int64_t{1'000'000'000}}) {
      int64_t floor = min_ns_ / unit * unit;
      if (floor > min_ns_ && __builtin_sub_overflow(floor, unit, &floor)) continue;
      int64_t base, first, last;
      if (__builtin_add_overflow(info.base_ns, floor, &base) || __builtin_sub_overflow(min_ns_, floor, &first) ||
          __builtin_sub_overflow(max_ns_, floor, &last)) {
        continue;
      }
      plan_.shift_ns = floor;
      if (last < kExactNs) break;
    }
  }
  return std::move(plan_);
}

}  // namespace

TrackFact TrackFactOf(absl::string_view event_name) {
  if (event_name == "process_name") return TrackFact::kProcessName;
  if (event_name == "process_labels") return TrackFact::kProcessLabels;
  if (event_name == "process_sort_index") return TrackFact::kProcessSortIndex;
  if (event_name == "thread_name") return TrackFact::kThreadName;
  if (event_name == "thread_sort_index") return TrackFact::kThreadSortIndex;
  return TrackFact::kNone;
}

bool IsCounterValue(const EventBatch& batch, ArgType type, ArgValue value) {
  switch (type) {
    case ArgType::kInt:
    case ArgType::kDouble: return true;
    case ArgType::kNumber:
    case ArgType::kString: {
      double number;
      return absl::SimpleAtod(batch.Text(value.s), &number) && std::isfinite(number);
    }
    default: return false;
  }
}

absl::StatusOr<ExportPlan> BuildExportPlan(TraceSource& source, const RowFilter& filter, const PlanLimits& limits) {
  Planner planner(filter, limits);
  EventBatch batch;
  for (;;) {
    const absl::StatusOr<bool> more = source.Next(&batch);
    if (!more.ok()) return more.status();
    if (!*more) break;
    if (absl::Status status = planner.AddBatch(batch); !status.ok()) return status;
  }
  planner.LayOutTracks();
  planner.MatchFlows();
  return planner.Finish(source.info());
}

}  // namespace tracekiln::chrome
