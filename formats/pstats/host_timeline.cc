#include "formats/pstats/host_timeline.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "formats/intermediate/field_catalog.h"

namespace tracekiln::pstats {
namespace {

// The text of a pid or tid; absent counts as 0.
std::string PartText(const EventBatch& batch, const TrackPart& part) {
  switch (part.type) {
    case TrackPart::Type::kAbsent: return "0";
    case TrackPart::Type::kInt: return absl::StrCat(part.value);
    case TrackPart::Type::kText:
    case TrackPart::Type::kJson: break;
  }
  return std::string(batch.Text(StringId{static_cast<uint32_t>(part.value)}));
}

// Exact: 7 is not "7".
std::string TrackText(const EventBatch& batch, const Track& track) {
  const auto part = [&](const TrackPart& p) {
    const std::string text = PartText(batch, p);
    return absl::StrCat(static_cast<int>(p.type), ":", text.size(), ":", text);
  };
  return absl::StrCat(part(track.pid), "/", part(track.tid));
}

// "FILE(LINE): NAME"; false if `text` is none.
bool SplitPythonFrame(absl::string_view text, absl::string_view* file, int64_t* line, absl::string_view* name) {
  const size_t colon = text.find("): ");
  if (colon == absl::string_view::npos) return false;
  const size_t open = text.rfind('(', colon);
  if (open == absl::string_view::npos || open == 0 || colon + 3 == text.size()) return false;
  const absl::string_view digits = text.substr(open + 1, colon - open - 1);
  if (digits.empty() || digits.find_first_not_of("0123456789") != absl::string_view::npos) return false;
  if (!absl::SimpleAtoi(digits, line)) return false;
  *file = text.substr(0, open);
  *name = text.substr(colon + 3);
  return true;
}

// The column of an integer argument, found once per shape of a batch.
class IntArgReader {
 public:
  IntArgReader(const EventBatch& batch, absl::string_view key, absl::string_view older_key)
      : batch_(batch), key_(key), older_key_(older_key), fields_(batch.args.shapes().size(), kUnknown) {}
  // 0 if the row has none.
  int64_t Get(size_t row) {
    if (batch_.args_row.empty()) return 0;
    int& field = fields_[Index(batch_.shape[row])];
    if (field == kUnknown) {
      field = batch_.FindField(batch_.shape[row], key_);
      if (field < 0) field = batch_.FindField(batch_.shape[row], older_key_);
      if (field >= 0 && batch_.args.shape(batch_.shape[row]).fields[field].type != ArgType::kInt) field = -1;
    }
    return field < 0 ? 0 : batch_.Arg(row, field).i;
  }

 private:
  static constexpr int kUnknown = -2;
  const EventBatch& batch_;
  const absl::string_view key_;
  const absl::string_view older_key_;
  std::vector<int> fields_;
};

}  // namespace

uint32_t HostTimeline::InternFunction(absl::string_view name, CategoryRole role) {
  const StringId whole = strings_.Intern(name);
  const auto [it, is_new] = function_of_name_.try_emplace(uint64_t{Index(whole)} << 8 | static_cast<uint64_t>(role),
                                                          static_cast<uint32_t>(functions_.size()));
  if (!is_new) return it->second;
  TimelineFunction function;
  function.role = role;
  absl::string_view file, frame;
  int64_t line = 0;
  if (role == CategoryRole::kPythonFrame && SplitPythonFrame(name, &file, &line, &frame)) {
    // `name` belongs to the batch, so interning does not move what these two point to.
    function.file = strings_.Intern(file);
    function.name = strings_.Intern(frame);
    function.line = line;
  } else {
    function.file = strings_.Intern("~");
    function.name = role == CategoryRole::kDeviceWork ? strings_.Intern(absl::StrCat("<gpu ", name, ">")) : whole;
  }
  functions_.push_back(function);
  return it->second;
}

void HostTimeline::Add(const EventBatch& batch) {
  std::vector<CategoryRole> roles;
  for (StringId category : batch.categories()) roles.push_back(RoleOfCategory(batch.Text(category)));
  constexpr uint32_t kUnknown = 0xffffffffu;
  std::vector<uint32_t> threads(batch.tracks().size(), kUnknown);
  // Functions by name: Python frames, device work, and the other roles each.
  constexpr size_t kRoleCount = static_cast<size_t>(CategoryRole::kBookkeeping) + 1;
  std::vector<uint32_t> functions[kRoleCount];
  std::vector<uint32_t> nameless(kRoleCount, kUnknown);
  IntArgReader external_ids(batch, fields::kExternalId, fields::kExternalIdOld);

  const auto function_of = [&](size_t row, CategoryRole role) {
    std::vector<uint32_t>& known = functions[static_cast<size_t>(role)];
    if (known.empty()) known.assign(batch.strings.size(), kUnknown);
    uint32_t& function =
        batch.name[row] == kNoString ? nameless[static_cast<size_t>(role)] : known[Index(batch.name[row])];
    if (function == kUnknown) function = InternFunction(batch.NameOf(row), role);
    return function;
  };
  const auto thread_of = [&](size_t row) {
    uint32_t& thread = threads[Index(batch.track[row])];
    if (thread != kUnknown) return thread;
    const Track& track = batch.tracks()[Index(batch.track[row])];
    const auto [it, is_new] =
        thread_of_track_.try_emplace(TrackText(batch, track), static_cast<uint32_t>(threads_.size()));
    thread = it->second;
    if (is_new) {
      HostThread made;
      made.pid = PartText(batch, track.pid);
      made.tid = PartText(batch, track.tid);
      const auto [process, ignored] =
          process_of_pid_.try_emplace(made.pid, static_cast<uint32_t>(process_of_pid_.size()));
      process_of_thread_.push_back(process->second);
      threads_.push_back(std::move(made));
    }
    return thread;
  };

  for (size_t row = 0; row < batch.rows(); ++row) {
    if (batch.kind[row] == EventKind::kMetadata) {
      if (batch.NameOf(row) == "thread_name") {
        if (const std::optional<absl::string_view> text = batch.StringArg(row, fields::kNameArg)) {
          thread_names_[TrackText(batch, batch.tracks()[Index(batch.track[row])])] = std::string(*text);
        }
      }
      continue;
    }
    if (batch.kind[row] != EventKind::kSlice) continue;
    const CategoryRole role =
        batch.category[row] == kNoCategory ? CategoryRole::kHostOther : roles[Index(batch.category[row])];
    const bool is_host = IsHostRole(role);
    if (!is_host && role != CategoryRole::kDeviceWork) continue;
    const int64_t dur_ns = batch.dur_ns[row];
    const int64_t start_ns = batch.ts_ns[row];
    if (dur_ns < 0) {
      ++(dur_ns == kUnfinished ? unfinished_count_ : negative_count_);
      continue;
    }
    int64_t end_ns;
    if (__builtin_add_overflow(start_ns, dur_ns, &end_ns)) end_ns = std::numeric_limits<int64_t>::max();
    if (!is_host) {
      unlinked_.push_back(
          {batch.correlation[row], external_ids.Get(row), start_ns, {end_ns - start_ns, function_of(row, role)}});
      continue;
    }
    const uint32_t thread = thread_of(row);
    uint32_t link = kNoLink;
    if (role == CategoryRole::kHostCall && batch.correlation[row] != 0) {
      link = static_cast<uint32_t>(links_.size());
      links_.push_back(
          {batch.correlation[row], external_ids.Get(row), start_ns, process_of_thread_[thread], 1, kNoLink});
    } else if (role == CategoryRole::kOperator) {
      if (const int64_t external_id = external_ids.Get(row); external_id != 0) {
        link = static_cast<uint32_t>(links_.size());
        links_.push_back({external_id, external_id, start_ns, process_of_thread_[thread], 0, kNoLink});
      }
    }
    threads_[thread].slices.push_back({start_ns, end_ns, function_of(row, role), link});
  }
}

// Radix sort by start (least digit first, so stable), then runs of equal starts by hand: they are short. Slices that
// are in order already, as Kineto writes most threads, are left alone.
void HostTimeline::SortThread(HostThread* thread) {
  std::vector<HostSlice>& slices = thread->slices;
  const size_t n = slices.size();
  const bool is_in_order = std::is_sorted(
      slices.begin(), slices.end(), [](const HostSlice& a, const HostSlice& b) { return a.start_ns < b.start_ns; });
  if (!is_in_order && n < 512) {
    std::stable_sort(slices.begin(), slices.end(),
                     [](const HostSlice& a, const HostSlice& b) { return a.start_ns < b.start_ns; });
  } else if (!is_in_order) {
    struct Key {
      uint64_t start;
      uint32_t slice;
    };
    int64_t least = slices[0].start_ns;
    int64_t greatest = least;
    for (const HostSlice& s : slices) {
      least = std::min(least, s.start_ns);
      greatest = std::max(greatest, s.start_ns);
    }
    const auto offset = [&](int64_t t) { return static_cast<uint64_t>(t) - static_cast<uint64_t>(least); };
    std::vector<Key> keys(n), sorted(n);
    for (size_t i = 0; i < n; ++i) keys[i] = {offset(slices[i].start_ns), static_cast<uint32_t>(i)};
    constexpr int kDigitBits = 11;
    constexpr size_t kDigits = size_t{1} << kDigitBits;
    for (int shift = 0; shift < 64 && (offset(greatest) >> shift) != 0; shift += kDigitBits) {
      std::vector<uint32_t> position(kDigits + 1, 0);
      for (const Key& k : keys) ++position[((k.start >> shift) & (kDigits - 1)) + 1];
      for (size_t d = 0; d < kDigits; ++d) position[d + 1] += position[d];
      for (const Key& k : keys) sorted[position[(k.start >> shift) & (kDigits - 1)]++] = k;
      keys.swap(sorted);
    }
    std::vector<HostSlice> ordered(n);
    for (size_t i = 0; i < n; ++i) ordered[i] = slices[keys[i].slice];
    slices.swap(ordered);
  }
  for (size_t i = 0; i < n;) {
    size_t end = i + 1;
    while (end < n && slices[end].start_ns == slices[i].start_ns) ++end;
    if (end - i > 1) {
      std::stable_sort(slices.begin() + static_cast<ptrdiff_t>(i), slices.begin() + static_cast<ptrdiff_t>(end),
                       [&](const HostSlice& a, const HostSlice& b) {
                         if (a.end_ns != b.end_ns) return a.end_ns > b.end_ns;
                         return functions_[a.function].role < functions_[b.function].role;
                       });
    }
    i = end;
  }
}

void HostTimeline::ResolveLinks() {
  // Only ids that some device work has are worth a place in the tables.
  absl::flat_hash_map<int64_t, uint32_t> call_of_correlation;
  absl::flat_hash_map<int64_t, uint32_t> operator_of_external_id;
  call_of_correlation.reserve(unlinked_.size());
  for (const UnlinkedWork& w : unlinked_) {
    if (w.correlation != 0) call_of_correlation.try_emplace(w.correlation, kNoLink);
  }
  for (uint32_t i = 0; i < links_.size(); ++i) {
    Link& link = links_[i];
    if (!link.is_call) continue;
    const auto it = call_of_correlation.find(link.id);
    if (it == call_of_correlation.end()) continue;
    link.next = it->second;
    it->second = i;
  }
  std::vector<uint32_t> link_of_work(unlinked_.size(), kNoLink);
  bool is_complete = true;
  for (size_t w = 0; w < unlinked_.size(); ++w) {
    const UnlinkedWork& work = unlinked_[w];
    uint32_t first = kNoLink;
    if (work.correlation != 0) first = call_of_correlation.find(work.correlation)->second;
    uint32_t chosen = kNoLink;
    if (first != kNoLink && links_[first].next == kNoLink) {
      chosen = first;
    } else if (first != kNoLink) {
      bool is_one_process = true;
      uint32_t last_before = kNoLink;
      for (uint32_t i = first; i != kNoLink; i = links_[i].next) {
        const Link& link = links_[i];
        if (work.external_id != 0 && link.external_id == work.external_id) chosen = i;
        if (link.process != links_[first].process) is_one_process = false;
        if (link.start_ns <= work.start_ns &&
            (last_before == kNoLink || link.start_ns > links_[last_before].start_ns)) {
          last_before = i;
        }
      }
      if (chosen == kNoLink && is_one_process) chosen = last_before != kNoLink ? last_before : first;
    }
    link_of_work[w] = chosen;
    if (chosen == kNoLink && work.external_id != 0) {
      is_complete = false;
      operator_of_external_id.try_emplace(work.external_id, kNoLink);
    }
  }
  if (!is_complete) {
    for (uint32_t i = 0; i < links_.size(); ++i) {
      if (links_[i].is_call) continue;
      const auto it = operator_of_external_id.find(links_[i].id);
      if (it != operator_of_external_id.end()) it->second = i;
    }
    for (size_t w = 0; w < unlinked_.size(); ++w) {
      if (link_of_work[w] != kNoLink || unlinked_[w].external_id == 0) continue;
      link_of_work[w] = operator_of_external_id.find(unlinked_[w].external_id)->second;
    }
  }

  work_begin_.assign(links_.size() + 1, 0);
  for (uint32_t link : link_of_work) {
    if (link != kNoLink) ++work_begin_[link + 1];
  }
  for (size_t i = 0; i < links_.size(); ++i) work_begin_[i + 1] += work_begin_[i];
  orphans_begin_ = work_begin_.back();
  size_t next_orphan = orphans_begin_;
  std::vector<uint32_t> next(work_begin_.begin(), work_begin_.end() - 1);
  work_.resize(unlinked_.size());
  for (size_t w = 0; w < unlinked_.size(); ++w) {
    const uint32_t link = link_of_work[w];
    work_[link == kNoLink ? next_orphan++ : next[link]++] = unlinked_[w].work;
  }
  unlinked_ = {};
  links_ = {};
  for (HostThread& thread : threads_) {
    for (HostSlice& slice : thread.slices) {
      if (slice.link != kNoLink && work_begin_[slice.link] == work_begin_[slice.link + 1]) slice.link = kNoLink;
    }
  }
}

void HostTimeline::Finish() {
  ResolveLinks();
  for (HostThread& thread : threads_) SortThread(&thread);
  for (const auto& [track, thread] : thread_of_track_) {
    const auto it = thread_names_.find(track);
    if (it != thread_names_.end()) threads_[thread].name = it->second;
  }
  function_of_name_ = {};
  thread_of_track_ = {};
  thread_names_ = {};
}

}  // namespace tracekiln::pstats
