#include "formats/chrome/chrome_exporter.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "formats/chrome/event_writer.h"
#include "formats/chrome/export_plan.h"
#include "formats/chrome/row_filter.h"
#include "formats/format/window_option.h"
#include "formats/intermediate/field_catalog.h"
#include "formats/json/canonical.h"
#include "formats/json/writer.h"

// The calling thread reads batches and writes texts in order; in between, each batch is rendered by whoever comes
// first, a thread of the executor or the calling thread when it is that batch's turn. So nothing ever waits for work
// that has not been started, and the order of the output does not depend on the threads.

namespace tracekiln::chrome {
namespace {

// The key of what we tell about the output.
constexpr absl::string_view kAbout = "tracekiln";

// Deferred events wait for a row that stands later; beyond this much text they are written where they stand.
constexpr size_t kMaxDeferredBytes = size_t{64} << 20;

// The memory of one batch and its text, used again and again: fresh pages cost more than the rendering.
struct Buffers {
  EventBatch batch;
  BatchText text;
};

// One batch on its way. Work that was scheduled may find that the calling thread has rendered it already.
struct Job {
  std::unique_ptr<Buffers> buffers;
  uint64_t first_row = 0;
  std::atomic<bool> is_claimed{false};
  std::mutex mutex;
  std::condition_variable done;
  bool is_done = false;  // guarded by mutex

  // Renders unless somebody else does or did.
  void Run(const EventWriter& writer, int depth) {
    if (is_claimed.exchange(true)) return;
    writer.Render(buffers->batch, first_row, depth, &buffers->text);
    const std::lock_guard<std::mutex> lock(mutex);
    is_done = true;
    done.notify_all();
  }
  void Wait() {
    std::unique_lock<std::mutex> lock(mutex);
    done.wait(lock, [&] { return is_done; });
  }
};

// Joins the texts of batches: puts deferred events where they belong, drops the comma before the very first event.
class EventList {
 public:
  EventList(io::ByteSink& sink, const ExportPlan* plan) : sink_(sink), plan_(plan) {}

  // Takes the deferred events out of `text`.
  void Add(BatchText& text) {
    for (auto& [row, event] : text.deferred) {
      if (deferred_bytes_ + event.size() > kMaxDeferredBytes) {
        Write(event);
        continue;
      }
      deferred_bytes_ += event.size();
      deferred_.emplace(row, std::move(event));
    }
    size_t written = 0;
    for (const auto& [offset, anchor] : text.anchors) {
      Write(absl::string_view(text.text.data() + written, offset - written));
      written = offset;
      const auto& list = plan_->deferred_by_anchor;
      for (auto it = std::lower_bound(list.begin(), list.end(), std::make_pair(anchor, uint32_t{0}));
           it != list.end() && it->first == anchor; ++it) {
        const auto event = deferred_.find(it->second);
        if (event == deferred_.end()) continue;
        Write(event->second);
        deferred_bytes_ -= event->second.size();
        deferred_.erase(event);
      }
    }
    Write(absl::string_view(text.text.data() + written, text.text.size() - written));
  }

  void Write(absl::string_view events) {
    if (is_empty_ && !events.empty()) {
      events.remove_prefix(1);
      is_empty_ = false;
    }
    sink_.Write(events);
  }

  bool is_empty() const { return is_empty_; }

 private:
  io::ByteSink& sink_;
  const ExportPlan* const plan_;
  bool is_empty_ = true;
  size_t deferred_bytes_ = 0;
  absl::flat_hash_map<uint32_t, std::string> deferred_;  // by row
};

absl::Status WriteEvents(TraceSource& source, const EventWriter& writer, int depth, EventList* list, io::ByteSink& sink,
                         io::Executor& executor) {
  std::deque<std::shared_ptr<Job>> in_flight;
  std::vector<std::unique_ptr<Buffers>> unused;
  const size_t max_in_flight = static_cast<size_t>(executor.concurrency()) + 1;
  uint64_t next_row = 0;
  absl::Status status;
  const auto finish_first = [&] {
    Job& job = *in_flight.front();
    job.Run(writer, depth);
    job.Wait();
    if (status.ok()) list->Add(job.buffers->text);
    unused.push_back(std::move(job.buffers));
    in_flight.pop_front();
  };
  while (status.ok()) {
    auto job = std::make_shared<Job>();
    if (unused.empty()) unused.push_back(std::make_unique<Buffers>());
    job->buffers = std::move(unused.back());
    unused.pop_back();
    const absl::StatusOr<bool> more = source.Next(&job->buffers->batch);
    if (!more.ok()) {
      status = more.status();
      break;
    }
    if (!*more) break;
    job->first_row = next_row;
    next_row += job->buffers->batch.rows();
    in_flight.push_back(job);
    executor.Schedule([job, &writer, depth] { job->Run(writer, depth); });
    while (in_flight.size() >= max_in_flight) finish_first();
    if (!sink.status().ok()) status = sink.status();
  }
  // A job that is claimed may still be running and uses `writer`.
  while (!in_flight.empty()) finish_first();
  return status.ok() ? sink.status() : status;
}

// Text that should be JSON; if it is none, as a string.
void WriteJson(json::Writer& w, absl::string_view text) {
  if (json::IsJson(text)) {
    w.Json(text);
  } else {
    w.String(text);
  }
}

void WriteId(json::Writer& w, absl::string_view key, const TrackIdPart& id) {
  w.Key(key);
  switch (id.type) {
    case TrackPart::Type::kText: w.String(absl::string_view(id.text.data(), id.text.size())); break;
    case TrackPart::Type::kJson: WriteJson(w, absl::string_view(id.text.data(), id.text.size())); break;
    default: w.Int(id.number); break;
  }
}

void WriteAbout(json::Writer& w, const TraceInfo& info, const ExportPlan& plan) {
  w.Key(kAbout);
  w.BeginObject();
  if (info.report.salvaged) {
    w.Key("salvaged");
    w.Bool(true);
  }
  w.Key("layout");
  w.String("lanes");
  w.Key("slices_on_other_lanes");
  w.Uint(plan.moved_slice_count);
  w.Key("arrows");
  w.Uint(plan.arrows.size());
  w.Key("times_shifted_by_ns");
  w.Int(plan.shift_ns);
  w.Key("left_out");
  w.BeginObject();
  for (const auto& [reason, count] : plan.left_out) {
    w.Key(absl::string_view(reason.data(), reason.size()));
    w.Uint(count);
  }
  w.EndObject();
  w.Key("changed_ids");
  w.BeginArray();
  for (const TrackTable::Row& row : plan.tracks.rows()) {
    const TrackTable::Process& process = plan.tracks.processes()[row.process];
    const bool is_process_renamed = process.id.type != TrackPart::Type::kInt || process.id.number != process.safe_pid;
    for (uint32_t lane = 0; lane < row.lane_count; ++lane) {
      if (lane == 0 && !row.is_renamed() && !is_process_renamed) continue;
      w.BeginObject();
      w.Key("pid");
      w.Uint(process.safe_pid);
      w.Key("tid");
      w.Uint(row.safe_tids[lane]);
      WriteId(w, "original_pid", process.id);
      WriteId(w, "original_tid", row.id);
      w.Key("lane");
      w.Uint(lane + 1);
      w.EndObject();
    }
  }
  w.EndArray();
  w.EndObject();
}

void WriteMetadata(json::Writer& w, const TraceInfo& info, bool after_events, bool for_viewers) {
  for (const MetadataEntry& entry : info.metadata) {
    const absl::string_view key(entry.key.data(), entry.key.size());
    if (entry.after_events != after_events || key == fields::kTraceEvents || key == fields::kBaseTimeNanoseconds ||
        (for_viewers && key == kAbout)) {
      continue;
    }
    // Values with which viewers refuse the whole file get another key.
    const bool is_refused =
        for_viewers && ((key == fields::kSystemTraceEvents && (entry.json.empty() || entry.json[0] != '"')) ||
                        (key == fields::kDisplayTimeUnit && entry.json != "\"ms\"" && entry.json != "\"ns\""));
    w.Key(is_refused ? absl::StrCat("original ", key) : entry.key);
    WriteJson(w, absl::string_view(entry.json.data(), entry.json.size()));
  }
}

// A trace that other programs recorded may know its rank without Kineto's way of saying it.
void WriteRank(json::Writer& w, const TraceInfo& info) {
  if (!info.rank.has_value()) return;
  for (const MetadataEntry& entry : info.metadata) {
    if (absl::string_view(entry.key.data(), entry.key.size()) == fields::kDistributedInfo) return;
  }
  w.Key(fields::kDistributedInfo);
  w.BeginObject();
  w.Key(fields::kRank);
  w.Int(*info.rank);
  if (info.world_size.has_value()) {
    w.Key(fields::kWorldSize);
    w.Int(*info.world_size);
  }
  w.EndObject();
}

absl::StatusOr<bool> ParseChoice(absl::string_view key, absl::string_view value, absl::string_view yes,
                                 absl::string_view no) {
  if (value == yes) return true;
  if (value == no) return false;
  return absl::InvalidArgumentError(absl::StrCat(key, ": expected ", yes, " or ", no, ", got `", value, "`"));
}

}  // namespace

const std::vector<OptionSpec>& ExporterOptionSpecs() {
  static const std::vector<OptionSpec> specs = {
      {"lanes", "on|off", "on",
       "on: laid out for viewers, nothing overlaps or is dropped; off: the original rows and ids, as HTA and "
       "TensorBoard "
       "read them."},
      {"args", "all|none", "all", "none: leave out the arguments of all events but counters and metadata."},
      {"pretty", "on|off", "off", "on: indented, one value a line."},
      {"window", "START..END", "",
       "Only events that overlap this time, in us as in the trace; either end may be missing."},
      {"categories", "A,B,…", "", "Only events of these categories (ac2g and fwdbwd are those of arrows)."},
      {"name", "RE2", "", "Only events whose name contains a match of this pattern."},
  };
  return specs;
}

absl::StatusOr<ExporterOptions> ParseExporterOptions(const FormatOptions& options) {
  ExporterOptions parsed;
  for (const auto& [key, value] : options) {
    const absl::string_view text(value.data(), value.size());
    if (key == "lanes" || key == "pretty") {
      const absl::StatusOr<bool> choice = ParseChoice(key, text, "on", "off");
      if (!choice.ok()) return choice.status();
      (key == "lanes" ? parsed.has_lanes : parsed.is_pretty) = *choice;
    } else if (key == "args") {
      const absl::StatusOr<bool> choice = ParseChoice(key, text, "all", "none");
      if (!choice.ok()) return choice.status();
      parsed.has_args = *choice;
    } else if (key == "window") {
      const absl::StatusOr<WindowOption> window = ParseWindowOption(text);
      if (!window.ok()) return window.status();
      parsed.window_begin_ns = window->begin_ns;
      parsed.window_end_ns = window->end_ns;
    } else if (key == "categories") {
      parsed.categories = absl::StrSplit(text, ',', absl::SkipEmpty());
    } else if (key == "name") {
      parsed.name_pattern = value;
    } else {
      return absl::InvalidArgumentError(absl::StrCat("`", key, "` is no option of the chrome format"));
    }
  }
  const auto filter = RowFilter::Make(parsed);
  if (!filter.ok()) return filter.status();
  return parsed;
}

absl::Status ExportChrome(TraceSource& source, const ExporterOptions& options, io::ByteSink& sink,
                          io::Executor& executor) {
  const auto filter = RowFilter::Make(options);
  if (!filter.ok()) return filter.status();
  if (absl::Status status = source.Rewind(); !status.ok()) return status;
  std::optional<ExportPlan> plan;
  if (options.has_lanes) {
    absl::StatusOr<ExportPlan> built = BuildExportPlan(source, **filter);
    if (!built.ok()) return built.status();
    plan = *std::move(built);
    if (absl::Status status = source.Rewind(); !status.ok()) return status;
  }
  const TraceInfo& info = source.info();
  const EventWriter writer(options, **filter, plan.has_value() ? &*plan : nullptr);
  EventList events(sink, plan.has_value() ? &*plan : nullptr);
  json::Layout around = writer.LayoutOfEvents(EventWriter::kObjectDepth);
  around.blank_after_colon = true;

  if (!plan.has_value() && info.array_form) {
    sink.Write("[");
    absl::Status status = WriteEvents(source, writer, EventWriter::kArrayDepth, &events, sink, executor);
    if (!status.ok()) return status;
    sink.Write(events.is_empty() ? "]\n" : "\n]\n");
    return sink.status();
  }

  std::string text;
  json::Writer w(&text, around);
  w.BeginObject();
  WriteMetadata(w, info, false, plan.has_value());
  if (plan.has_value()) {
    WriteMetadata(w, info, true, true);
    WriteAbout(w, info, *plan);
  }
  if (plan.has_value() || info.source_format != "chrome") WriteRank(w, info);
  const int64_t shift_ns = plan.has_value() ? plan->shift_ns : 0;
  if (info.has_base || shift_ns != 0) {
    w.Key(fields::kBaseTimeNanoseconds);
    w.Int(info.base_ns + shift_ns);
  }
  w.Key(fields::kTraceEvents);
  w.BeginArray();
  w.Flush();
  sink.Write(text);
  if (plan.has_value()) {
    std::string tracks;
    writer.RenderTracks(&tracks, EventWriter::kObjectDepth);
    events.Write(tracks);
  }
  if (absl::Status status = WriteEvents(source, writer, EventWriter::kObjectDepth, &events, sink, executor);
      !status.ok()) {
    return status;
  }
  if (!events.is_empty()) sink.Write("\n");
  const size_t written = text.size();
  w.EndArray();
  if (!plan.has_value()) {
    WriteMetadata(w, info, true, false);
    // Known only behind the events. In a bare array there is no place for it.
    const bool has_about = std::any_of(info.metadata.begin(), info.metadata.end(),
                                       [](const MetadataEntry& entry) { return entry.key == kAbout; });
    if (info.report.salvaged && !has_about) {
      w.Key(kAbout);
      w.Json(R"({"salvaged":true})");
    }
  }
  w.EndObject();
  w.Flush();
  sink.Write(absl::string_view(text.data() + written, text.size() - written));
  sink.Write("\n");
  return sink.status();
}

absl::Status ExportChrome(TraceSource& source, const ExportOptions& options, io::ByteSink& sink,
                          io::Executor& executor) {
  const absl::StatusOr<ExporterOptions> parsed = ParseExporterOptions(options.format);
  if (!parsed.ok()) return parsed.status();
  return ExportChrome(source, *parsed, sink, executor);
}

}  // namespace tracekiln::chrome
