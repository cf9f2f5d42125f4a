#include "formats/chrome/track_ids.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace tracekiln::chrome {
namespace {

constexpr int64_t kMaxSafeId = 0xffffffff;
constexpr uint32_t kFirstLargeId = 4'000'000'000;

TrackIdPart Outlive(const EventBatch& batch, const TrackPart& part) {
  TrackIdPart id;
  switch (part.type) {
    case TrackPart::Type::kAbsent: break;
    case TrackPart::Type::kInt: id.number = part.value; break;
    case TrackPart::Type::kText:
    case TrackPart::Type::kJson:
      id.type = part.type;
      id.text = std::string(batch.Text(StringId{static_cast<uint32_t>(part.value)}));
      break;
  }
  return id;
}

// Distinct parts have distinct keys, none of which starts another one of the same batch position.
void AppendKey(const EventBatch& batch, const TrackPart& part, std::string* key) {
  const bool is_text = part.type == TrackPart::Type::kText || part.type == TrackPart::Type::kJson;
  const int64_t number = part.type == TrackPart::Type::kInt ? part.value : 0;
  const absl::string_view text =
      is_text ? batch.Text(StringId{static_cast<uint32_t>(part.value)}) : absl::string_view();
  key->push_back(part.type == TrackPart::Type::kText ? 't' : is_text ? 'j' : 'i');
  const int64_t fixed = is_text ? static_cast<int64_t>(text.size()) : number;
  char bytes[8];
  std::memcpy(bytes, &fixed, 8);
  key->append(bytes, 8);
  key->append(text.data(), text.size());
}

bool IsSafe(const TrackIdPart& id) {
  return id.type == TrackPart::Type::kInt && id.number >= 1 && id.number <= kMaxSafeId;
}

// The id that a text suggests: "7695". 0: none.
uint32_t SuggestedId(const TrackIdPart& id) {
  uint32_t number;
  if (id.type != TrackPart::Type::kText || id.text.empty() || id.text[0] < '1' || id.text[0] > '9') return 0;
  return absl::SimpleAtoi(id.text, &number) ? number : 0;
}

class FreeIds {
 public:
  void Use(const TrackIdPart& id) {
    if (IsSafe(id)) used_.insert(static_cast<uint32_t>(id.number));
    used_.insert(SuggestedId(id));
  }
  // Large ones first: no system gives them, and they catch the eye.
  uint32_t Take() {
    for (;;) {
      const uint32_t id = next_;
      next_ = next_ == kMaxSafeId ? 1 : next_ + 1;
      if (used_.insert(id).second) return id;
    }
  }

 private:
  absl::flat_hash_set<uint32_t> used_;
  uint32_t next_ = kFirstLargeId;
};

// `count` ids that are not in *used, ascending, all greater than `low` and less than `high`, which go into *used; none
// if they are not found after some tries.
std::vector<uint32_t> TakeBetween(uint32_t low, uint32_t high, uint32_t count, absl::flat_hash_set<uint32_t>* used) {
  constexpr uint32_t kTries = 64;
  std::vector<uint32_t> taken;
  const uint64_t end = std::min(uint64_t{high}, uint64_t{low} + 1 + count + kTries);
  for (uint64_t id = uint64_t{low} + 1; id < end && taken.size() < count; ++id) {
    if (!used->contains(static_cast<uint32_t>(id))) taken.push_back(static_cast<uint32_t>(id));
  }
  if (taken.size() < count) return {};
  used->insert(taken.begin(), taken.end());
  return taken;
}

}  // namespace

std::string TrackIdPart::Display() const {
  if (type == TrackPart::Type::kInt) return absl::StrCat(number);
  return text.empty() ? "\"\"" : text;
}

bool TrackTable::Row::is_renamed() const {
  return !(id.type == TrackPart::Type::kInt && !safe_tids.empty() && id.number == int64_t{safe_tids[0]});
}

uint32_t TrackTable::InternProcess(const EventBatch& batch, const TrackPart& pid) {
  std::string key;
  AppendKey(batch, pid, &key);
  const auto [it, is_new] = process_index_.try_emplace(std::move(key), static_cast<uint32_t>(processes_.size()));
  if (is_new) {
    processes_.emplace_back();
    processes_.back().id = Outlive(batch, pid);
  }
  return it->second;
}

uint32_t TrackTable::InternRow(const EventBatch& batch, const Track& track) {
  std::string key;
  AppendKey(batch, track.pid, &key);
  AppendKey(batch, track.tid, &key);
  const auto [it, is_new] = row_index_.try_emplace(std::move(key), static_cast<uint32_t>(rows_.size()));
  if (is_new) {
    rows_.emplace_back();
    rows_.back().process = InternProcess(batch, track.pid);
    rows_.back().id = Outlive(batch, track.tid);
  }
  return it->second;
}

std::vector<uint32_t> TrackTable::RowsOf(const EventBatch& batch) const {
  std::vector<uint32_t> rows;
  std::string key;
  for (const Track& track : batch.tracks()) {
    key.clear();
    AppendKey(batch, track.pid, &key);
    AppendKey(batch, track.tid, &key);
    const auto it = row_index_.find(key);
    rows.push_back(it == row_index_.end() ? ~uint32_t{0} : it->second);
  }
  return rows;
}

void TrackTable::AssignIds() {
  FreeIds ids;
  for (const Process& p : processes_) ids.Use(p.id);
  for (const Row& r : rows_) ids.Use(r.id);
  // Suggestions are followed where no number stands in the way.
  absl::flat_hash_set<uint32_t> pids;
  absl::flat_hash_set<std::pair<uint32_t, uint32_t>> tids;  // (process, tid)
  for (const Process& p : processes_) {
    if (IsSafe(p.id)) pids.insert(static_cast<uint32_t>(p.id.number));
  }
  for (const Row& r : rows_) {
    if (IsSafe(r.id)) tids.insert({r.process, static_cast<uint32_t>(r.id.number)});
  }
  for (Process& p : processes_) {
    const uint32_t suggested = SuggestedId(p.id);
    p.safe_pid = IsSafe(p.id)                                      ? static_cast<uint32_t>(p.id.number)
                 : suggested != 0 && pids.insert(suggested).second ? suggested
                                                                   : ids.Take();
  }
  std::vector<std::vector<uint32_t>> rows_of(processes_.size());
  for (uint32_t i = 0; i < rows_.size(); ++i) {
    Row& r = rows_[i];
    const uint32_t suggested = SuggestedId(r.id);
    if (IsSafe(r.id)) {
      r.safe_tids = {static_cast<uint32_t>(r.id.number)};
    } else if (suggested != 0 && tids.insert({r.process, suggested}).second) {
      r.safe_tids = {suggested};
    } else {
      for (uint32_t lane = 0; lane < r.lane_count; ++lane) r.safe_tids.push_back(ids.Take());
    }
    rows_of[r.process].push_back(i);
  }
  // Perfetto knows no sort indices: it shows the main thread first (its tid is the pid), then the others by tid. A lane
  // gets an id that puts it next to its row, if the process has one left. Other processes may have a thread of that id.
  for (size_t p = 0; p < processes_.size(); ++p) {
    std::vector<uint32_t> rows = rows_of[p];
    absl::flat_hash_set<uint32_t> used = {processes_[p].safe_pid};
    for (uint32_t r : rows) used.insert(rows_[r].safe_tids.begin(), rows_[r].safe_tids.end());
    const auto is_main = [&](uint32_t r) { return rows_[r].safe_tids[0] == processes_[p].safe_pid; };
    std::sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) {
      return std::make_pair(!is_main(a), rows_[a].safe_tids[0]) < std::make_pair(!is_main(b), rows_[b].safe_tids[0]);
    });
    for (size_t i = 0; i < rows.size(); ++i) {
      Row& r = rows_[rows[i]];
      const uint32_t missing = r.lane_count - static_cast<uint32_t>(r.safe_tids.size());
      if (missing == 0) continue;
      const uint32_t high = i + 1 < rows.size() ? rows_[rows[i + 1]].safe_tids[0] : kFirstLargeId;
      uint32_t low = r.safe_tids[0];
      if (low >= high) low = high > missing ? high - missing - 1 : 0;  // a main thread above the next thread
      std::vector<uint32_t> taken = TakeBetween(low, high, missing, &used);
      while (taken.size() < missing) taken.push_back(ids.Take());
      r.safe_tids.insert(r.safe_tids.end(), taken.begin(), taken.end());
    }
  }
  // For catapult: where a row has lanes, all rows of the process are numbered afresh, in the order they had, so that
  // lanes come next to their row.
  for (std::vector<uint32_t>& rows : rows_of) {
    const bool has_lanes = std::any_of(rows.begin(), rows.end(), [&](uint32_t r) { return rows_[r].lane_count > 1; });
    if (!has_lanes) continue;
    std::stable_sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) {
      const auto key = [&](uint32_t r) { return std::make_pair(rows_[r].sort_index.value_or(0), rows_[r].id.number); };
      return key(a) < key(b);
    });
    int64_t next = 0;
    for (uint32_t r : rows) {
      for (uint32_t lane = 0; lane < rows_[r].lane_count; ++lane) rows_[r].lane_sort_indices.push_back(next++);
    }
  }
}

std::optional<std::string> TrackTable::ProcessName(const Process& process) const {
  const bool is_renamed = !IsSafe(process.id);
  // Perfetto takes an empty name for an error.
  const bool has_name = process.name.has_value() && !process.name->empty();
  if (!is_renamed) return has_name ? process.name : std::nullopt;
  const std::string original =
      process.id.type == TrackPart::Type::kInt ? absl::StrCat("pid ", process.id.number) : process.id.Display();
  if (!has_name) return original;
  return absl::StrCat(*process.name, " (", original, ")");
}

std::optional<std::string> TrackTable::RowName(const Row& row, uint32_t lane) const {
  std::optional<std::string> name = row.name;
  if (name.has_value() && name->empty()) name.reset();
  if (!name.has_value() && (row.is_renamed() || lane > 0)) {
    name = row.id.type == TrackPart::Type::kInt ? absl::StrCat("thread ", row.id.number) : row.id.Display();
  }
  if (lane > 0) name = absl::StrCat(*name, " (lane ", lane + 1, ")");
  return name;
}

}  // namespace tracekiln::chrome
