#include "analysis/health/health.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "analysis/health/interval_check.h"
#include "formats/intermediate/category_roles.h"
#include "formats/intermediate/field_catalog.h"
#include "formats/intermediate/string_pool.h"

namespace tracekiln::health {
namespace {

constexpr int64_t kUs = 1000;
constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kLongestPlausible = 10 * 24 * 3600 * kSecond;
constexpr int64_t kFarthest = int64_t{1} << 62;
constexpr int64_t kJitter = kUs;
constexpr int64_t kZeroStampDistance = 60 * kSecond;
constexpr int64_t kSmallestStepBack = 1'000'000;
constexpr size_t kMaxNameBytes = 200;

bool Contains(absl::string_view text, absl::string_view part) { return text.find(part) != absl::string_view::npos; }

// Calls that put work on a device, as CUDA and HIP name them.
bool IsLaunchName(absl::string_view name) {
  if (Contains(name, "LaunchHostFunc")) return false;
  return Contains(name, "Launch") || Contains(name, "Memcpy") || Contains(name, "Memset");
}

int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

uint64_t HashWith(uint64_t hash, absl::string_view text) {
  for (char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  return (hash ^ 0xff) * 0x9e3779b97f4a7c15u;
}

// Identity of a flow: category, name and id. The id 7 and the id "7" are taken for the same.
uint64_t FlowKey(absl::string_view category, absl::string_view name, absl::string_view id) {
  return HashWith(HashWith(HashWith(0xcbf29ce484222325u, category), name), id);
}

struct HostCall {
  int64_t correlation;
  int64_t external_id;  // 0: none
  int64_t ts_ns;
  uint32_t row;
  uint32_t name;
  uint32_t track;
  bool is_launch;
};

struct DeviceWork {
  int64_t correlation;
  int64_t external_id;  // 0: none
  int64_t ts_ns;
  uint32_t row;
  uint32_t name;
  uint32_t track;
};

struct FlowEnd {
  uint64_t key;
  int64_t ts_ns;
  uint32_t row;
  uint32_t name;
};

struct Step {
  int64_t number;
  int64_t start_ns;
  int64_t end_ns;
  uint32_t row;
  uint32_t track;
};

// Slices of one category on one track, for finding jumps back: file order is time order there, or nearly so.
struct OrderCheck {
  uint64_t row_count = 0;
  int64_t last_start_ns = 0;
  uint64_t jump_count = 0;
  int64_t worst_jump_ns = 0;
  std::vector<Place> places;
};

struct TrackState {
  std::string label;
  std::string process;
  std::vector<Interval> host;
  std::vector<Interval> device_work;
};

}  // namespace

struct HealthAnalyzer::State {
  uint64_t row_count = 0;
  uint64_t slice_count = 0;
  uint64_t host_slice_count = 0;
  StringPool names;
  std::unordered_map<std::string, uint32_t> track_numbers;  // by exact key
  std::vector<TrackState> tracks;
  std::vector<HostCall> calls;
  std::vector<DeviceWork> work;
  std::vector<FlowEnd> flow_starts;
  std::vector<FlowEnd> flow_ends;
  std::vector<Step> steps;
  std::unordered_map<uint64_t, OrderCheck> order;  // by track number << 32 | category (an id of `names`)
  std::vector<Finding> findings;

  // Zero timestamps can only be judged at the end.
  uint64_t zero_count = 0;
  std::vector<Place> zero_places;
  int64_t nearest_to_zero_ns = INT64_MAX;  // smallest |ts| of the others

  Finding& Get(absl::string_view code, Severity severity, absl::string_view text) {
    for (Finding& finding : findings) {
      if (finding.code == code) return finding;
    }
    Finding finding;
    finding.code = std::string(code);
    finding.severity = severity;
    finding.text = std::string(text);
    findings.push_back(std::move(finding));
    return findings.back();
  }

  absl::string_view NameView(uint32_t name) const {
    return name == Index(kNoString) ? absl::string_view() : names.Get(StringId{name});
  }

  Place MakePlace(uint32_t row, int64_t ts_ns, uint32_t name, uint32_t track, std::string detail = {}) const {
    Place place;
    place.row = row;
    place.ts_ns = ts_ns;
    place.name = std::string(NameView(name));
    place.track = tracks[track].label;
    place.detail = std::move(detail);
    return place;
  }

  void AddSlice(const EventRow& row, CategoryRole role, uint32_t category, uint32_t ordinal, uint32_t track,
                uint32_t name, int64_t external_id);
  void AddFlow(const EventBatch& batch, size_t i, const EventRow& row, uint32_t ordinal, uint32_t name);

  void CheckReport(const TraceInfo& info);
  bool CheckZeroStamps();
  void CheckNesting();
  void CheckDevices(bool without_zero_stamps, HealthReport* report);
  void CheckLaunches(HealthReport* report);
  void CheckFlows();
  void CheckGap(bool without_zero_stamps, HealthReport* report);
  void CheckOrder();
  void CheckSteps(HealthReport* report);
  void DropWhatTheImporterSaidToo();
};

namespace {

enum class Worse { kLarger, kSmaller };

// Adds one occurrence; occurrences come in the order of rows.
void Count(Finding& finding, Place place) {
  ++finding.count;
  if (finding.first.size() < Finding::kMaxPlaces) finding.first.push_back(std::move(place));
}

void CountValue(Finding& finding, int64_t value, Unit unit, Worse worse, Place place) {
  finding.worst_unit = unit;
  if (!finding.worst || (worse == Worse::kLarger ? value > *finding.worst : value < *finding.worst)) {
    finding.worst = value;
  }
  Count(finding, std::move(place));
}

// Adds one occurrence; occurrences come in any order, and the places with the smallest rows are kept.
void CountAnyOrder(Finding& finding, int64_t value, Unit unit, Worse worse, uint32_t row, auto&& make_place) {
  finding.worst_unit = unit;
  if (unit != Unit::kNone &&
      (!finding.worst || (worse == Worse::kLarger ? value > *finding.worst : value < *finding.worst))) {
    finding.worst = value;
  }
  ++finding.count;
  std::vector<Place>& first = finding.first;
  if (first.size() == Finding::kMaxPlaces && *first.back().row < row) return;
  auto at = std::find_if(first.begin(), first.end(), [&](const Place& p) { return *p.row > row; });
  first.insert(at, make_place());
  if (first.size() > Finding::kMaxPlaces) first.pop_back();
}

std::string PartText(const EventBatch& batch, const TrackPart& part) {
  switch (part.type) {
    case TrackPart::Type::kAbsent: return "0";
    case TrackPart::Type::kInt: return absl::StrCat(part.value);
    case TrackPart::Type::kText:
    case TrackPart::Type::kJson: return std::string(batch.Text(StringId{static_cast<uint32_t>(part.value)}));
  }
  return {};
}

// 7 and "7" are different tracks although they are shown alike.
std::string PartKey(const EventBatch& batch, const TrackPart& part) {
  const bool is_text = part.type == TrackPart::Type::kText || part.type == TrackPart::Type::kJson;
  std::string text = PartText(batch, part);
  return absl::StrCat(is_text ? "t" : "i", text.size(), ":", text);
}

// At most kMaxNameBytes of a name, not cutting a UTF-8 sequence.
absl::string_view Shortened(absl::string_view name) {
  if (name.size() <= kMaxNameBytes) return name;
  size_t size = kMaxNameBytes;
  while (size > 0 && (static_cast<uint8_t>(name[size]) & 0xc0) == 0x80) --size;
  return name.substr(0, size);
}

// The columns of the external id, each shape asked once.
class ExternalIds {
 public:
  explicit ExternalIds(const EventBatch& batch) : batch_(batch) {}

  // 0 if the row has none, or one that is no integer.
  int64_t Get(size_t row) {
    const ShapeId shape = batch_.shape[row];
    if (Index(shape) >= fields_.size()) fields_.resize(Index(shape) + 1, kNotAsked);
    int& field = fields_[Index(shape)];
    if (field == kNotAsked) {
      field = batch_.FindField(shape, fields::kExternalId);
      if (field < 0) field = batch_.FindField(shape, fields::kExternalIdOld);
      if (field >= 0 && batch_.args.shape(shape).fields[static_cast<size_t>(field)].type != ArgType::kInt) field = -1;
    }
    return field < 0 ? 0 : batch_.Arg(row, field).i;
  }

 private:
  static constexpr int kNotAsked = -2;
  const EventBatch& batch_;
  std::vector<int> fields_;
};

// The decimal text of a flow's id, or the id itself if it is text; empty if there is none.
std::string FlowId(const EventBatch& batch, size_t row) {
  for (absl::string_view key : {"id", "id2", "bind_id"}) {
    const int field = batch.FindField(batch.shape[row], key, ArgPlace::kEvent);
    if (field < 0) continue;
    const ArgValue value = batch.Arg(row, field);
    switch (batch.args.shape(batch.shape[row]).fields[field].type) {
      case ArgType::kBool:
      case ArgType::kInt: return absl::StrCat(value.i);
      case ArgType::kDouble: return absl::StrCat(value.d);
      case ArgType::kString:
      case ArgType::kJson:
      case ArgType::kNumber: return std::string(batch.Text(value.s));
      case ArgType::kNull: break;
    }
  }
  return {};
}

}  // namespace

void HealthAnalyzer::State::AddSlice(const EventRow& row, CategoryRole role, uint32_t category, uint32_t ordinal,
                                     uint32_t track, uint32_t name, int64_t external_id) {
  ++slice_count;
  if (IsHostRole(role)) ++host_slice_count;
  auto place = [&] { return MakePlace(ordinal, row.ts_ns, name, track); };
  if (row.ts_ns == 0) {
    ++zero_count;
    if (zero_places.size() < Finding::kMaxPlaces) zero_places.push_back(place());
  } else {
    nearest_to_zero_ns = std::min(nearest_to_zero_ns, row.ts_ns < 0 ? -std::max(row.ts_ns, -INT64_MAX) : row.ts_ns);
  }
  if (row.ts_ns <= -kFarthest || row.ts_ns >= kFarthest) {
    Count(Get("impossible_timestamp", Severity::kWarning, "timestamps more than 146 years from the trace's zero point"),
          place());
    return;
  }
  if (row.ts_ns < 0) {
    CountValue(Get("negative_timestamp", Severity::kWarning, "timestamps before the trace's zero point"), row.ts_ns,
               Unit::kNanoseconds, Worse::kSmaller, place());
  }
  if (role == CategoryRole::kHostCall && row.correlation != 0) {
    calls.push_back({row.correlation, external_id, row.ts_ns, ordinal, name, track, IsLaunchName(NameView(name))});
  }
  if (row.dur_ns == kUnfinished) {
    Count(Get("unfinished_slice", Severity::kWarning, "slices that never ended; they are in no sum"), place());
    return;
  }
  if (row.dur_ns < 0) {
    CountValue(Get("negative_duration", Severity::kWarning, "slices that end before they start"), row.dur_ns,
               Unit::kNanoseconds, Worse::kSmaller, place());
    return;
  }
  if (row.dur_ns > kLongestPlausible || row.ts_ns + row.dur_ns >= kFarthest) {
    CountValue(Get("impossible_duration", Severity::kWarning, "slices longer than 10 days"), row.dur_ns,
               Unit::kNanoseconds, Worse::kLarger, place());
    return;
  }

  const Interval interval{row.ts_ns, row.dur_ns, ordinal, name};
  TrackState& t = tracks[track];
  if (role == CategoryRole::kDeviceWork) {
    t.device_work.push_back(interval);
    work.push_back({row.correlation, external_id, row.ts_ns, ordinal, name, track});
  } else if (IsHostRole(role)) {
    t.host.push_back(interval);
    int64_t number;
    absl::string_view digits = NameView(name);
    if (absl::ConsumePrefix(&digits, "ProfilerStep#") && absl::SimpleAtoi(digits, &number)) {
      steps.push_back({number, row.ts_ns, interval.end_ns(), ordinal, track});
    }
  }

  // Host operators only: profilers hand in runtime calls and device work buffer by buffer, in no order.
  if (!IsHostRole(role) || role == CategoryRole::kHostCall) return;
  OrderCheck& check = order[uint64_t{track} << 32 | category];
  // A row that lies wholly before its predecessor's start. (Files ordered by end have parents behind their children,
  // but such a parent does not end before its child starts.)
  if (check.row_count > 0 && interval.end_ns() < check.last_start_ns - kSmallestStepBack) {
    ++check.jump_count;
    check.worst_jump_ns = std::max(check.worst_jump_ns, check.last_start_ns - interval.start_ns);
    if (check.places.size() < Finding::kMaxPlaces) check.places.push_back(place());
  }
  ++check.row_count;
  check.last_start_ns = interval.start_ns;
}

void HealthAnalyzer::State::AddFlow(const EventBatch& batch, size_t i, const EventRow& row, uint32_t ordinal,
                                    uint32_t name) {
  if ((row.flags & (kFlowOut | kFlowIn)) != 0) {
    const FlowEnd end{FlowKey(fields::kAc2g, fields::kAc2g, absl::StrCat(row.correlation)), row.ts_ns, ordinal, name};
    if ((row.flags & kFlowOut) != 0) {
      flow_starts.push_back(end);
    } else {
      flow_ends.push_back(end);
    }
    return;
  }
  if (row.kind != EventKind::kFlowStart && row.kind != EventKind::kFlowStep && row.kind != EventKind::kFlowEnd) return;
  const FlowEnd end{FlowKey(batch.CategoryOf(i), batch.NameOf(i), FlowId(batch, i)), row.ts_ns, ordinal, name};
  if (row.kind == EventKind::kFlowStart) {
    flow_starts.push_back(end);
  } else if (row.kind == EventKind::kFlowEnd) {
    flow_ends.push_back(end);
  }
}

HealthAnalyzer::HealthAnalyzer() : state_(std::make_unique<State>()) {}
HealthAnalyzer::~HealthAnalyzer() = default;
HealthAnalyzer::HealthAnalyzer(HealthAnalyzer&&) noexcept = default;
HealthAnalyzer& HealthAnalyzer::operator=(HealthAnalyzer&&) noexcept = default;

absl::Status HealthAnalyzer::Add(const EventBatch& batch) {
  State& s = *state_;
  if (s.row_count + batch.rows() > UINT32_MAX) {
    return absl::ResourceExhaustedError("the health check takes at most 4294967295 rows");
  }
  std::vector<CategoryRole> roles;
  std::vector<uint32_t> categories;  // as ids of s.names
  for (StringId category : batch.categories()) {
    roles.push_back(RoleOfCategory(batch.Text(category)));
    categories.push_back(Index(s.names.Intern(Shortened(batch.Text(category)))));
  }
  std::vector<uint32_t> track_numbers;
  for (const Track& track : batch.tracks()) {
    auto [it, is_new] = s.track_numbers.emplace(absl::StrCat(PartKey(batch, track.pid), "/", PartKey(batch, track.tid)),
                                                static_cast<uint32_t>(s.tracks.size()));
    if (is_new) {
      TrackState state;
      state.process = PartText(batch, track.pid);
      state.label = absl::StrCat(state.process, "/", PartText(batch, track.tid));
      s.tracks.push_back(std::move(state));
    }
    track_numbers.push_back(it->second);
  }
  ExternalIds external_ids(batch);
  std::vector<uint32_t> names(batch.strings.size(), UINT32_MAX - 1);  // batch's id -> ours; UINT32_MAX - 1: not yet
  for (size_t i = 0; i < batch.rows(); ++i) {
    const EventRow row = batch.Row(i);
    uint32_t name = Index(kNoString);
    if (row.name != kNoString) {
      name = names[Index(row.name)];
      if (name == UINT32_MAX - 1) {
        name = names[Index(row.name)] = Index(s.names.Intern(Shortened(batch.Text(row.name))));
      }
    }
    const uint32_t ordinal = static_cast<uint32_t>(s.row_count + i);
    if (row.kind == EventKind::kSlice) {
      const bool has_category = row.category != kNoCategory;
      const CategoryRole role = has_category ? roles[Index(row.category)] : CategoryRole::kHostOther;
      const bool is_joined =
          row.correlation != 0 && (role == CategoryRole::kHostCall || role == CategoryRole::kDeviceWork);
      s.AddSlice(row, role, has_category ? categories[Index(row.category)] : UINT32_MAX, ordinal,
                 track_numbers[Index(row.track)], name, is_joined ? external_ids.Get(i) : 0);
    }
    s.AddFlow(batch, i, row, ordinal, name);
  }
  s.row_count += batch.rows();
  return absl::OkStatus();
}

void HealthAnalyzer::State::CheckReport(const TraceInfo& info) {
  const ImportReport& report = info.report;
  if (!report.IsBalanced()) {
    Finding& finding = Get("report_unbalanced", Severity::kWarning, "");
    finding.count = 1;
    finding.text = absl::StrCat("the importer saw ", report.seen, " events, but accounts for ", report.imported,
                                " imported + ", report.merged, " merged + ", report.skipped(), " skipped");
  }
  if (report.salvaged) {
    Get("salvaged", Severity::kWarning, "this is what could be kept of a damaged input").count = 1;
  }
  for (const ImportReport::Entry& entry : report.entries()) {
    Finding finding;
    switch (entry.severity) {
      case ImportReport::Severity::kSkipped: finding.code = "skipped."; break;
      case ImportReport::Severity::kRepaired: finding.code = "repaired."; break;
      case ImportReport::Severity::kNote: finding.code = "noted."; break;
    }
    finding.code += entry.reason;
    finding.severity = entry.severity == ImportReport::Severity::kNote ? Severity::kNote : Severity::kWarning;
    finding.count = entry.count;
    finding.text = entry.detail;
    for (uint64_t offset : entry.first_offsets) {
      Place place;
      place.byte_offset = offset;
      finding.first.push_back(std::move(place));
    }
    findings.push_back(std::move(finding));
  }
}

bool HealthAnalyzer::State::CheckZeroStamps() {
  if (zero_count == 0 || nearest_to_zero_ns == INT64_MAX || nearest_to_zero_ns < kZeroStampDistance) return false;
  Finding& finding =
      Get("zero_timestamp", Severity::kWarning, "slices at time 0, far from all others: the profiler lost their time");
  finding.count = zero_count;
  finding.first = zero_places;
  return true;
}

void HealthAnalyzer::State::CheckNesting() {
  for (uint32_t t = 0; t < tracks.size(); ++t) {
    std::vector<Interval>& host = tracks[t].host;
    SortForNesting(&host);
    for (const Misfit& misfit : FindNotNested(host)) {
      const Interval& b = host[misfit.index];
      Finding& finding =
          misfit.amount_ns > kJitter
              ? Get("not_nested", Severity::kWarning, "slices of one thread overlap without nesting")
              : Get("nearly_nested", Severity::kNote, "slices of one thread miss nesting by at most 1 us");
      CountAnyOrder(finding, misfit.amount_ns, Unit::kNanoseconds, Worse::kLarger, b.row,
                    [&] { return MakePlace(b.row, b.start_ns, b.name, t); });
    }
  }
}

void HealthAnalyzer::State::CheckDevices(bool without_zero_stamps, HealthReport* report) {
  std::map<std::string, std::vector<Interval>> by_device;
  for (uint32_t t = 0; t < tracks.size(); ++t) {
    std::vector<Interval>& stream = tracks[t].device_work;
    if (stream.empty()) continue;
    SortForNesting(&stream);
    for (const Misfit& misfit : FindOverlaps(stream)) {
      const Interval& b = stream[misfit.index];
      CountAnyOrder(Get("overlapping_kernels", Severity::kNote,
                        "device work that starts before its predecessor on the stream has ended (legal)"),
                    misfit.amount_ns, Unit::kNanoseconds, Worse::kLarger, b.row,
                    [&] { return MakePlace(b.row, b.start_ns, b.name, t); });
    }
    std::vector<Interval>& device = by_device[tracks[t].process];
    for (const Interval& interval : stream) {
      if (!without_zero_stamps || interval.start_ns != 0) device.push_back(interval);
    }
  }
  for (auto& [name, device] : by_device) {
    DeviceHealth health;
    health.device = name;
    health.work_count = device.size();
    if (!device.empty()) {
      SortForNesting(&device);
      int64_t last_end = device[0].end_ns();
      for (const Interval& interval : device) {
        health.sum_ns = SaturatingAdd(health.sum_ns, interval.dur_ns);
        last_end = std::max(last_end, interval.end_ns());
      }
      health.busy_ns = UnionLengthNs(device);
      health.span_ns = last_end - device[0].start_ns;
    }
    report->devices.push_back(std::move(health));
    std::vector<Interval>().swap(device);
  }
  if (work.empty() && host_slice_count > 0) {
    Get("no_device_events", Severity::kNote, "no device events: tables of kernels will be empty").count = 1;
  }
}

void HealthAnalyzer::State::CheckLaunches(HealthReport* report) {
  auto by_correlation = [](const auto& a, const auto& b) {
    if (a.correlation != b.correlation) return a.correlation < b.correlation;
    if (a.ts_ns != b.ts_ns) return a.ts_ns < b.ts_ns;
    return a.row < b.row;
  };
  std::sort(calls.begin(), calls.end(), by_correlation);
  std::sort(work.begin(), work.end(), by_correlation);
  auto place_of = [&](const auto& event, std::string more = {}) {
    return MakePlace(event.row, event.ts_ns, event.name, event.track,
                     absl::StrCat("correlation ", event.correlation, more));
  };

  LaunchHealth& launches = report->launches;
  int64_t delay_sum_ns = 0;
  // Joins one call and the device work in [w_begin, w_end), which is not empty and ordered by time.
  auto link = [&](size_t call, size_t w_begin, size_t w_end) {
    ++launches.linked_launch_count;
    launches.linked_work_count += w_end - w_begin;
    for (size_t i = w_begin; i < w_end; ++i) {
      const int64_t delay_ns = work[i].ts_ns - calls[call].ts_ns;
      if (delay_ns >= 0) continue;
      CountAnyOrder(Get("kernel_before_launch", Severity::kWarning, "device work that starts before its launch"),
                    delay_ns, Unit::kNanoseconds, Worse::kSmaller, work[i].row,
                    [&] { return place_of(work[i], absl::StrCat(", delay ", delay_ns, " ns")); });
    }
    const int64_t first_delay_ns = work[w_begin].ts_ns - calls[call].ts_ns;
    if (first_delay_ns < 0) {
      ++launches.negative_delay_count;
    } else {
      ++launches.delay_count;
      delay_sum_ns = SaturatingAdd(delay_sum_ns, first_delay_ns);
    }
  };
  // The same for calls of several processes: those that share an external id with one process only.
  auto link_shared = [&](size_t c_begin, size_t c_end, size_t w_begin, size_t w_end) {
    auto by_external_id = [](const auto& a, const auto& b) { return a.external_id < b.external_id; };
    const auto first_call = calls.begin();
    std::stable_sort(first_call + static_cast<ptrdiff_t>(c_begin), first_call + static_cast<ptrdiff_t>(c_end),
                     by_external_id);
    std::stable_sort(work.begin() + static_cast<ptrdiff_t>(w_begin), work.begin() + static_cast<ptrdiff_t>(w_end),
                     by_external_id);
    size_t w = w_begin;
    for (size_t c = c_begin; c < c_end;) {
      const int64_t id = calls[c].external_id;
      const size_t call = c;
      bool is_one_process = id != 0;
      for (; c < c_end && calls[c].external_id == id; ++c) {
        is_one_process &= tracks[calls[c].track].process == tracks[calls[call].track].process;
      }
      while (w < w_end && work[w].external_id < id) ++w;
      const size_t first_work = w;
      while (w < w_end && work[w].external_id == id) ++w;
      if (is_one_process && w > first_work) link(call, first_work, w);
    }
  };
  size_t c = 0;
  size_t w = 0;
  while (c < calls.size() || w < work.size()) {
    int64_t correlation = INT64_MAX;
    if (c < calls.size()) correlation = calls[c].correlation;
    if (w < work.size()) correlation = std::min(correlation, work[w].correlation);
    const size_t c_begin = c;
    const size_t w_begin = w;
    while (c < calls.size() && calls[c].correlation == correlation) ++c;
    while (w < work.size() && work[w].correlation == correlation) ++w;
    const bool has_calls = c > c_begin;
    const bool has_work = w > w_begin;

    if (correlation == 0) {  // calls of correlation 0 were not kept
      for (size_t i = w_begin; i < w; ++i) {
        CountAnyOrder(Get("kernel_without_correlation", Severity::kNote, "device work that names no launch"), 0,
                      Unit::kNone, Worse::kLarger, work[i].row,
                      [&] { return MakePlace(work[i].row, work[i].ts_ns, work[i].name, work[i].track); });
      }
      continue;
    }
    bool is_shared = false;
    for (size_t i = c_begin + 1; i < c; ++i) {
      is_shared |= tracks[calls[i].track].process != tracks[calls[c_begin].track].process;
    }
    if (is_shared) {
      const HostCall& second = calls[c_begin + 1];
      CountAnyOrder(Get("shared_correlation", Severity::kWarning,
                        "one correlation used by calls of several processes: is this a merged file of several ranks?"),
                    0, Unit::kNone, Worse::kLarger, second.row, [&] { return place_of(second); });
      link_shared(c_begin, c, w_begin, w);
      continue;
    }
    if (has_work && !has_calls) {
      for (size_t i = w_begin; i < w; ++i) {
        CountAnyOrder(calls.empty()
                          ? Get("no_launches", Severity::kNote,
                                "no host call names a correlation: nothing to join device work with")
                          : Get("kernel_without_launch", Severity::kWarning,
                                "device work whose launch is not in the trace (usual at the start of a capture)"),
                      0, Unit::kNone, Worse::kLarger, work[i].row, [&] { return place_of(work[i]); });
      }
      continue;
    }
    if (has_calls && !has_work) {
      for (size_t i = c_begin; i < c; ++i) {
        if (!calls[i].is_launch) continue;
        CountAnyOrder(Get("launch_without_kernel", Severity::kWarning,
                          "launches and copies without device work (usual at the end of a capture)"),
                      0, Unit::kNone, Worse::kLarger, calls[i].row, [&] { return place_of(calls[i]); });
      }
      continue;
    }
    // Of several calls with one correlation the first counts: a wrapper and what it calls.
    link(c_begin, w_begin, w);
  }
  if (launches.delay_count > 0) {
    launches.mean_delay_ns = delay_sum_ns / static_cast<int64_t>(launches.delay_count);
  }
}

void HealthAnalyzer::State::CheckFlows() {
  auto check = [&](const std::vector<FlowEnd>& those, const std::vector<FlowEnd>& others, absl::string_view code,
                   absl::string_view text) {
    std::vector<uint64_t> keys;
    keys.reserve(others.size());
    for (const FlowEnd& other : others) keys.push_back(other.key);
    std::sort(keys.begin(), keys.end());
    for (const FlowEnd& end : those) {
      if (std::binary_search(keys.begin(), keys.end(), end.key)) continue;
      Place place;
      place.row = end.row;
      place.ts_ns = end.ts_ns;
      place.name = std::string(NameView(end.name));
      Count(Get(code, Severity::kNote, text), std::move(place));
    }
  };
  check(flow_ends, flow_starts, "dangling_flow_end", "flows that end without having started");
  check(flow_starts, flow_ends, "flow_without_end", "flows that start and never end");
}

// A gap longer than half of the span holds the span's middle, so it lies between the last point before the middle and
// the first one after it: no sorting.
void HealthAnalyzer::State::CheckGap(bool without_zero_stamps, HealthReport* report) {
  auto for_each_point = [&](auto&& use) {
    for (uint32_t t = 0; t < tracks.size(); ++t) {
      for (const std::vector<Interval>* intervals : {&tracks[t].host, &tracks[t].device_work}) {
        for (const Interval& interval : *intervals) {
          if (without_zero_stamps && interval.start_ns == 0) continue;
          use(interval.start_ns, interval, t);
          use(interval.end_ns(), interval, t);
        }
      }
    }
  };
  int64_t first_ns = INT64_MAX;
  int64_t last_ns = INT64_MIN;
  for_each_point([&](int64_t ns, const Interval&, uint32_t) {
    first_ns = std::min(first_ns, ns);
    last_ns = std::max(last_ns, ns);
  });
  if (first_ns > last_ns) return;
  report->first_activity_ns = first_ns;
  report->last_activity_ns = last_ns;
  if (first_ns == last_ns) return;
  const int64_t middle_ns = first_ns + (last_ns - first_ns) / 2;
  int64_t before_ns = first_ns;
  int64_t after_ns = last_ns;
  Interval next{};
  uint32_t next_track = 0;
  for_each_point([&](int64_t ns, const Interval& interval, uint32_t t) {
    if (ns <= middle_ns) {
      before_ns = std::max(before_ns, ns);
    } else if (ns <= after_ns) {
      if (ns < after_ns || interval.row < next.row) {
        next = interval;
        next_track = t;
      }
      after_ns = ns;
    }
  });
  const int64_t gap_ns = after_ns - before_ns;
  if (gap_ns < kSecond || gap_ns <= (last_ns - first_ns) / 2) return;
  CountValue(Get("time_gap", Severity::kNote,
                 "nothing starts or ends for more than half of the trace's span: a clock step or a pause"),
             gap_ns, Unit::kNanoseconds, Worse::kLarger, MakePlace(next.row, next.start_ns, next.name, next_track));
}

void HealthAnalyzer::State::CheckOrder() {
  for (const auto& [key, check] : order) {
    // Many jumps are a file order that is not time; few in many rows are a clock that was set.
    if (check.jump_count == 0 || check.row_count < 100 || check.jump_count > 3) continue;
    Finding& finding = Get("clock_step_back", Severity::kWarning,
                           "slices that are otherwise ordered by time jump back by more than 1 ms");
    finding.worst_unit = Unit::kNanoseconds;
    finding.worst = std::max(finding.worst.value_or(0), check.worst_jump_ns);
    finding.count += check.jump_count;
    finding.first.insert(finding.first.end(), check.places.begin(), check.places.end());
    std::sort(finding.first.begin(), finding.first.end(),
              [](const Place& a, const Place& b) { return *a.row < *b.row; });
    if (finding.first.size() > Finding::kMaxPlaces) finding.first.resize(Finding::kMaxPlaces);
  }
}

void HealthAnalyzer::State::CheckSteps(HealthReport* report) {
  if (steps.empty()) {
    if (host_slice_count > 0) {
      Get("no_steps", Severity::kNote, "no ProfilerStep#N: the trace can't be divided into steps").count = 1;
    }
    return;
  }
  // By number; those of one number by row.
  std::sort(steps.begin(), steps.end(),
            [](const Step& a, const Step& b) { return a.number != b.number ? a.number < b.number : a.row < b.row; });
  auto place_of = [&](const Step& step, std::string detail = {}) {
    Place place;
    place.row = step.row;
    place.ts_ns = step.start_ns;
    place.name = absl::StrCat("ProfilerStep#", step.number);
    place.track = tracks[step.track].label;
    place.detail = std::move(detail);
    return place;
  };
  std::vector<Step> extents;  // one per number, from the first start to the last end
  for (size_t i = 0; i < steps.size();) {
    size_t end = i + 1;
    Step extent = steps[i];
    for (; end < steps.size() && steps[end].number == extent.number; ++end) {
      extent.start_ns = std::min(extent.start_ns, steps[end].start_ns);
      extent.end_ns = std::max(extent.end_ns, steps[end].end_ns);
    }
    if (end - i > 1) {
      const Step& again = steps[i + 1];
      CountAnyOrder(Get("duplicate_step", Severity::kWarning, "step numbers that occur more than once"),
                    static_cast<int64_t>(end - i), Unit::kCount, Worse::kLarger, again.row,
                    [&] { return place_of(again, absl::StrCat(end - i, " times")); });
    }
    if (!extents.empty()) {
      const uint64_t left_out = static_cast<uint64_t>(extent.number) - static_cast<uint64_t>(extents.back().number) - 1;
      if (left_out > 0) {
        Finding& finding = Get("missing_step", Severity::kWarning, "step numbers left out");
        finding.count = finding.count > UINT64_MAX - left_out ? UINT64_MAX : finding.count + left_out;
        if (finding.first.size() < Finding::kMaxPlaces) {
          finding.first.push_back(place_of(extent, absl::StrCat(left_out, " left out before it")));
        }
      }
    }
    extents.push_back(extent);
    i = end;
  }
  report->step_count = extents.size();

  std::sort(extents.begin(), extents.end(), [](const Step& a, const Step& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.number < b.number;
  });
  int64_t latest_end_ns = INT64_MIN;
  for (const Step& step : extents) {
    if (step.start_ns < latest_end_ns) {
      const int64_t shared_ns = std::min(latest_end_ns, step.end_ns) - step.start_ns;
      if (shared_ns > 0) {
        Finding& finding =
            shared_ns > kJitter
                ? Get("overlapping_steps", Severity::kWarning, "steps that start before the one before has ended")
                : Get("overlapping_steps_jitter", Severity::kNote, "steps overlap by at most 1 us");
        CountAnyOrder(finding, shared_ns, Unit::kNanoseconds, Worse::kLarger, step.row, [&] { return place_of(step); });
      }
    }
    latest_end_ns = std::max(latest_end_ns, step.end_ns);
  }
}

// Two things are seen by the importer and again here, here with rows and names. If both counted the same, once is
// enough.
void HealthAnalyzer::State::DropWhatTheImporterSaidToo() {
  static constexpr std::pair<absl::string_view, absl::string_view> kTwins[] = {
      {"noted.flow_end_without_start", "dangling_flow_end"},
      {"noted.begin_without_end", "unfinished_slice"},
  };
  for (const auto& [theirs, ours] : kTwins) {
    auto find = [&](absl::string_view code) {
      return std::find_if(findings.begin(), findings.end(), [&](const Finding& f) { return f.code == code; });
    };
    const auto their = find(theirs);
    const auto our = find(ours);
    if (their != findings.end() && our != findings.end() && their->count == our->count) findings.erase(their);
  }
}

HealthReport HealthAnalyzer::Finish(const TraceInfo& info) && {
  State& s = *state_;
  HealthReport report;
  report.row_count = s.row_count;
  report.slice_count = s.slice_count;
  s.CheckReport(info);
  if (s.slice_count == 0) {
    s.Get("no_events", Severity::kNote,
          s.row_count == 0 ? "no events: nothing to analyse" : "no slices: nothing to analyse")
        .count = 1;
  }
  const bool without_zero_stamps = s.CheckZeroStamps();
  s.CheckNesting();
  s.CheckDevices(without_zero_stamps, &report);
  s.CheckLaunches(&report);
  s.CheckFlows();
  s.CheckGap(without_zero_stamps, &report);
  if (!info.rank && !s.work.empty()) {
    s.Get("no_rank", Severity::kNote, "the trace does not say which rank it is: alone it counts as rank 0").count = 1;
  }
  s.CheckOrder();
  s.CheckSteps(&report);
  s.DropWhatTheImporterSaidToo();
  std::stable_sort(s.findings.begin(), s.findings.end(),
                   [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
  report.findings = std::move(s.findings);
  state_.reset();
  return report;
}

uint64_t HealthReport::warning_count() const {
  uint64_t count = 0;
  for (const Finding& finding : findings) count += finding.severity == Severity::kWarning ? 1 : 0;
  return count;
}

const Finding* HealthReport::Find(absl::string_view code) const {
  for (const Finding& finding : findings) {
    if (finding.code == code) return &finding;
  }
  return nullptr;
}

absl::StatusOr<HealthReport> AnalyzeHealth(TraceSource& source) {
  HealthAnalyzer analyzer;
  EventBatch batch;
  for (;;) {
    absl::StatusOr<bool> more = source.Next(&batch);
    if (!more.ok()) return more.status();
    if (!*more) break;
    if (absl::Status status = analyzer.Add(batch); !status.ok()) return status;
  }
  return std::move(analyzer).Finish(source.info());
}

}  // namespace tracekiln::health
