#include "tools/trace_summary.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "formats/intermediate/field_catalog.h"

namespace tracekiln::tools {
namespace {

constexpr absl::string_view kKindNames[kEventKindCount] = {
    "slice",    "instant",  "counter", "async_begin", "async_instant", "async_end",   "flow_start", "flow_step",
    "flow_end", "metadata", "sample",  "object",      "other",         "slice_begin", "slice_end",
};

int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? (b > 0 ? INT64_MAX : INT64_MIN) : sum;
}

}  // namespace

absl::string_view KindName(EventKind kind) { return kKindNames[static_cast<int>(kind)]; }

std::optional<EventKind> KindFromName(absl::string_view name) {
  for (int kind = 0; kind < kEventKindCount; ++kind) {
    if (kKindNames[kind] == name) return static_cast<EventKind>(kind);
  }
  return std::nullopt;
}

std::string TrackPartText(const EventBatch& batch, const TrackPart& part) {
  switch (part.type) {
    case TrackPart::Type::kAbsent: return "0";
    case TrackPart::Type::kInt: return absl::StrCat(part.value);
    case TrackPart::Type::kText:
    case TrackPart::Type::kJson: return std::string(batch.Text(StringId{static_cast<uint32_t>(part.value)}));
  }
  return {};
}

std::string TrackPartKey(const EventBatch& batch, const TrackPart& part) {
  const std::string text = TrackPartText(batch, part);
  const char* type = part.type == TrackPart::Type::kText ? "t" : part.type == TrackPart::Type::kJson ? "j" : "i";
  return absl::StrCat(type, text.size(), ":", text);
}

void TraceSummarizer::Add(const EventBatch& batch) {
  summary_.row_count += batch.rows();
  std::vector<size_t> numbers;
  for (const Track& track : batch.tracks()) {
    std::string pid_key = TrackPartKey(batch, track.pid);
    std::string key = pid_key + TrackPartKey(batch, track.tid);
    const auto [it, is_new] = track_numbers_.emplace(key, tracks_.size());
    if (is_new) {
      TrackEntry entry;
      entry.summary.pid = TrackPartText(batch, track.pid);
      entry.summary.tid = TrackPartText(batch, track.tid);
      entry.pid_key = std::move(pid_key);
      entry.key = std::move(key);
      tracks_.push_back(std::move(entry));
    }
    numbers.push_back(it->second);
  }
  // Per kind and category of this batch, so that no map is asked per row.
  const size_t category_count = batch.categories().size() + 1;
  std::vector<CategorySummary> sums(category_count * kEventKindCount);
  for (size_t i = 0; i < batch.rows(); ++i) {
    const EventKind kind = batch.kind[i];
    const size_t category = batch.category[i] == kNoCategory ? category_count - 1 : Index(batch.category[i]);
    CategorySummary& sum = sums[static_cast<size_t>(kind) * category_count + category];
    ++sum.count;
    summary_.merged_flow_count += static_cast<uint64_t>(batch.ForeignEvents(i) - 1);
    TrackEntry& track = tracks_[numbers[Index(batch.track[i])]];
    if (kind == EventKind::kMetadata) {
      const absl::string_view name = batch.NameOf(i);
      if (name == "process_name" || name == "thread_name") {
        if (const std::optional<absl::string_view> text = batch.StringArg(i, fields::kNameArg)) {
          (name == "process_name" ? process_names_[track.pid_key] : thread_names_[track.key]) = std::string(*text);
        }
      }
      continue;
    }
    ++track.summary.count;
    const int64_t start_ns = batch.ts_ns[i];
    int64_t end_ns = start_ns;
    if (kind == EventKind::kSlice) {
      const int64_t dur_ns = batch.dur_ns[i];
      if (dur_ns == kUnfinished) {
        ++sum.unfinished_count;
      } else {
        sum.sum_dur_ns = SaturatingAdd(sum.sum_dur_ns, dur_ns);
        track.summary.sum_dur_ns = SaturatingAdd(track.summary.sum_dur_ns, dur_ns);
        if (dur_ns > 0) end_ns = SaturatingAdd(start_ns, dur_ns);
      }
    }
    summary_.first_ns = std::min(summary_.first_ns.value_or(start_ns), start_ns);
    summary_.last_ns = std::max(summary_.last_ns.value_or(end_ns), end_ns);
  }
  for (size_t s = 0; s < sums.size(); ++s) {
    if (sums[s].count == 0) continue;
    const int kind = static_cast<int>(s / category_count);
    const size_t c = s % category_count;
    const bool has_category = c + 1 < category_count;
    const std::string category = has_category ? std::string(batch.Text(batch.categories()[c])) : std::string();
    CategorySummary& total = categories_[{kind, has_category ? "c" + category : std::string()}];
    total.kind = static_cast<EventKind>(kind);
    total.category = category;
    total.has_category = has_category;
    total.count += sums[s].count;
    total.sum_dur_ns = SaturatingAdd(total.sum_dur_ns, sums[s].sum_dur_ns);
    total.unfinished_count += sums[s].unfinished_count;
  }
}

TraceSummary TraceSummarizer::Finish() && {
  for (auto& [key, category] : categories_) summary_.categories.push_back(std::move(category));
  std::stable_sort(summary_.categories.begin(), summary_.categories.end(),
                   [](const CategorySummary& a, const CategorySummary& b) {
                     if (a.kind != b.kind) return a.kind < b.kind;
                     if (a.sum_dur_ns != b.sum_dur_ns) return a.sum_dur_ns > b.sum_dur_ns;
                     return a.count > b.count;
                   });
  auto find = [](const std::unordered_map<std::string, std::string>& names, const std::string& key) {
    const auto it = names.find(key);
    return it == names.end() ? std::string() : it->second;
  };
  for (TrackEntry& track : tracks_) {
    if (track.summary.count == 0) continue;
    track.summary.process_name = find(process_names_, track.pid_key);
    track.summary.thread_name = find(thread_names_, track.key);
    summary_.tracks.push_back(std::move(track.summary));
  }
  return std::move(summary_);
}

}  // namespace tracekiln::tools
