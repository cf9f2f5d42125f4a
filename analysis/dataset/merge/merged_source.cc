#include "analysis/dataset/merge/merged_source.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "formats/format/spool.h"
#include "formats/intermediate/category_roles.h"
#include "formats/intermediate/field_catalog.h"
#include "formats/json/writer.h"

namespace tracekiln::dataset {
namespace {

constexpr int64_t kPidStride = 10'000;
constexpr int64_t kIdStride = int64_t{1} << 36;
constexpr absl::string_view kMergeKey = "tracekilnMerge";

int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? INT64_MIN : INT64_MAX;
}

// Keys of ids that are unique within a process only. "id" and its like stand beside the event, the others in its args.
bool IsEventId(absl::string_view key) { return key == "id" || key == "bind_id"; }
bool IsCorrelationArg(absl::string_view key) {
  return key == fields::kCorrelation || key == fields::kWaitOnCudaEventRecordCorrId;
}

std::string PidText(const EventBatch& batch, const TrackPart& pid) {
  switch (pid.type) {
    case TrackPart::Type::kAbsent: return "0";
    case TrackPart::Type::kInt: return absl::StrCat(pid.value);
    case TrackPart::Type::kText:
    case TrackPart::Type::kJson: break;
  }
  return std::string(batch.Text(StringId{static_cast<uint32_t>(pid.value)}));
}

}  // namespace

MergedSource::MergedSource(std::vector<MergeInput> inputs, io::Executor& executor)
    : inputs_(std::move(inputs)), executor_(executor) {
  info_.source_name = absl::StrCat(inputs_.size(), " ranks");
}

MergedSource::~MergedSource() = default;

TraceSource::Progress MergedSource::progress() const { return {next_, inputs_.size()}; }

absl::Status MergedSource::OpenNext() {
  const MergeInput& input = inputs_[next_];
  if (input.rank < 0 || input.rank > kMaxMergedRank) {
    return absl::ResourceExhaustedError(
        absl::StrCat(input.name, ": rank ", input.rank, " is not within 0 to ", kMaxMergedRank));
  }
  absl::StatusOr<std::unique_ptr<TraceSource>> opened = input.open();
  if (!opened.ok()) return opened.status();
  absl::StatusOr<std::unique_ptr<TraceSource>> rewindable = MakeRewindable(*std::move(opened), executor_);
  if (!rewindable.ok()) return rewindable.status();
  source_ = *std::move(rewindable);
  if (absl::Status status = source_->Rewind(); !status.ok()) return status;
  const TraceInfo& info = source_->info();
  if (next_ == 0) {
    info_.source_format = info.source_format;
    info_.base_ns = info.base_ns;
    info_.has_base = info.has_base;
    info_.world_size = info.world_size;
    info_.metadata = info.metadata;
  } else {
    if (info_.world_size != info.world_size) info_.world_size.reset();
    info_.metadata.erase(std::remove_if(info_.metadata.begin(), info_.metadata.end(),
                                        [&](const MetadataEntry& entry) {
                                          return std::none_of(info.metadata.begin(), info.metadata.end(),
                                                              [&](const MetadataEntry& other) {
                                                                return other.key == entry.key &&
                                                                       other.json == entry.json;
                                                              });
                                        }),
                         info_.metadata.end());
  }
  processes_.clear();
  process_of_pid_.clear();
  large_ids_.clear();
  return absl::OkStatus();
}

absl::StatusOr<size_t> MergedSource::ProcessOf(const EventBatch& batch, const TrackPart& pid) {
  const std::string text = PidText(batch, pid);
  const auto [it, is_new] =
      process_of_pid_.try_emplace(absl::StrCat(static_cast<int>(pid.type), ":", text), processes_.size());
  if (!is_new) return it->second;
  if (processes_.size() >= static_cast<size_t>(kPidStride)) {
    return absl::ResourceExhaustedError(
        absl::StrCat(inputs_[next_].name, ": more than ", kPidStride, " processes in one trace"));
  }
  Process process;
  process.pid = (inputs_[next_].rank + 1) * kPidStride + static_cast<int64_t>(processes_.size());
  process.old_pid = text;
  processes_.push_back(std::move(process));
  return it->second;
}

int64_t MergedSource::RenameId(int64_t id) {
  const int64_t first = (inputs_[next_].rank + 1) * kIdStride;
  // The upper half of a rank's ids is for those that don't fit the lower one.
  if (id >= 0 && id < kIdStride / 2) return first + id;
  const int64_t number = static_cast<int64_t>(large_ids_.size());
  return first + kIdStride / 2 + large_ids_.try_emplace(id, number).first->second;
}

void MergedSource::RenameArgs(EventBatch* batch) {
  std::unordered_map<uint32_t, StringId> renamed_texts;
  for (ArgShape& shape : batch->args.mutable_shapes()) {
    for (size_t f = 0; f < shape.fields.size(); ++f) {
      const ArgField& field = shape.fields[f];
      const absl::string_view key = batch->Text(field.key);
      const bool is_id = field.place == ArgPlace::kEvent ? IsEventId(key) : IsCorrelationArg(key);
      if (!is_id) continue;
      ArgColumn& column = shape.columns[f];
      if (field.type == ArgType::kInt) {
        ArgColumn renamed(ArgType::kInt);
        for (uint32_t row = 0; row < shape.rows; ++row) {
          const int64_t id = column.Get(row).i;
          // 0 as a correlation is none.
          renamed.Append(ArgValue::Int(id == 0 && field.place == ArgPlace::kArgs ? 0 : RenameId(id)));
        }
        column = std::move(renamed);
      } else if (field.type == ArgType::kString) {
        ArgColumn renamed(ArgType::kString);
        for (uint32_t row = 0; row < shape.rows; ++row) {
          const StringId old = column.Get(row).s;
          const auto [it, is_new] = renamed_texts.try_emplace(Index(old));
          if (is_new) {
            it->second = batch->strings.Intern(absl::StrCat("r", inputs_[next_].rank, ":", batch->Text(old)));
          }
          renamed.Append(ArgValue::String(it->second));
        }
        column = std::move(renamed);
      }
    }
  }
}

absl::Status MergedSource::Rename(EventBatch* batch) {
  const MergeInput& input = inputs_[next_];
  // Processes, by the batch's tracks.
  std::vector<Track> tracks = batch->tracks();
  std::vector<size_t> process_of_track;
  for (Track& track : tracks) {
    const absl::StatusOr<size_t> process = ProcessOf(*batch, track.pid);
    if (!process.ok()) return process.status();
    process_of_track.push_back(*process);
    track.pid = TrackPart::Int(processes_[*process].pid);
  }
  std::vector<bool> is_work;
  for (StringId category : batch->categories()) {
    is_work.push_back(RoleOfCategory(batch->Text(category)) == CategoryRole::kDeviceWork);
  }
  const int64_t base_ns = source_->info().base_ns;
  for (size_t row = 0; row < batch->rows(); ++row) {
    Process& process = processes_[process_of_track[Index(batch->track[row])]];
    if (batch->category[row] != kNoCategory && is_work[Index(batch->category[row])]) process.is_device = true;
    if (batch->kind[row] == EventKind::kMetadata && batch->NameOf(row) == "process_name") {
      if (const auto name = batch->StringArg(row, fields::kNameArg)) process.name = std::string(*name);
    }
    if (batch->correlation[row] != 0) batch->correlation[row] = RenameId(batch->correlation[row]);
    if ((batch->flags[row] & kNoTimestamp) != 0) continue;
    int64_t ns = SaturatingAdd(batch->ts_ns[row], base_ns);
    if (input.clock.has_value()) ns = input.clock->ToReference(ns);
    batch->ts_ns[row] = SaturatingAdd(ns, -info_.base_ns);
  }
  // Two tracks can't become one: pids of a rank stay distinct, and tids are untouched.
  std::vector<StringId> categories = batch->categories();
  if (!batch->AdoptTables(std::move(tracks), std::move(categories))) {
    return absl::InternalError(absl::StrCat(input.name, ": tracks of a batch are not distinct"));
  }
  RenameArgs(batch);
  return absl::OkStatus();
}

void MergedSource::AppendProcessNames(EventBatch* batch) const {
  const int64_t rank = inputs_[next_].rank;
  const auto append = [&](absl::string_view what, int64_t pid, absl::string_view key, ArgType type, ArgValue value) {
    EventRow row;
    row.kind = EventKind::kMetadata;
    row.flags = kNoTimestamp;
    row.track = batch->InternTrack({TrackPart::Int(pid), TrackPart::Int(0)});
    row.name = batch->strings.Intern(what);
    const ArgField field{batch->strings.Intern(key), type, ArgPlace::kArgs};
    ShapeId shape;
    if (batch->args.InternShape({&field, 1}, true, &shape)) batch->Append(row, shape, &value);
  };
  for (const Process& process : processes_) {
    const std::string name =
        absl::StrCat("rank ", rank, ": ", process.name.empty() ? "" : absl::StrCat(process.name, " "), process.old_pid);
    append("process_name", process.pid, fields::kNameArg, ArgType::kString,
           ArgValue::String(batch->strings.Intern(name)));
    append("process_sort_index", process.pid, fields::kSortIndex, ArgType::kInt,
           ArgValue::Int(rank * 2 + (process.is_device ? 1 : 0)));
  }
}

void MergedSource::FinishRank() {
  const MergeInput& input = inputs_[next_];
  const TraceInfo& info = source_->info();
  info_.report.Merge(info.report);
  std::string json;
  {
    json::Writer w(&json);
    w.BeginObject();
    w.Key(fields::kRank), w.Int(input.rank);
    w.Key("file"), w.String(input.name);
    w.Key("base_ns"), w.Int(info.base_ns);
    w.Key("clock_offset_ns");
    if (input.clock.has_value()) {
      w.Int(input.clock->offset_ns);
      w.Key("clock_drift"), w.Double(input.clock->drift);
      w.Key("clock_origin_ns"), w.Int(input.clock->origin_ns);
      w.Key("clock_residual_ns"), w.Int(input.clock->residual_ns);
    } else {
      w.Null();
    }
    w.EndObject();
  }
  merged_ranks_.emplace_back(input.name, std::move(json));
  source_.reset();
  ++next_;
  if (next_ < inputs_.size()) return;
  std::string all = "[";
  for (const auto& [name, text] : merged_ranks_) absl::StrAppend(&all, all.size() > 1 ? "," : "", text);
  all += "]";
  info_.metadata.push_back({std::string(kMergeKey), std::move(all), true});
}

absl::StatusOr<bool> MergedSource::Next(EventBatch* batch) {
  if (!status_.ok()) return status_;
  while (next_ < inputs_.size()) {
    if (source_ == nullptr) {
      status_ = OpenNext();
      if (!status_.ok()) return status_;
    }
    const absl::StatusOr<bool> more = source_->Next(batch);
    if (!more.ok()) {
      status_ = more.status();
      return status_;
    }
    if (*more) {
      status_ = Rename(batch);
      if (!status_.ok()) return status_;
      return true;
    }
    batch->Clear();
    AppendProcessNames(batch);
    const uint64_t added = batch->rows();
    FinishRank();
    // The rows that were added here are rows of the merged trace.
    info_.report.seen += added;
    info_.report.imported += added;
    if (!batch->empty()) return true;
  }
  return false;
}

}  // namespace tracekiln::dataset
