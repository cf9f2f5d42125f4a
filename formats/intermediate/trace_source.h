// TraceSource: a trace that can be read batch by batch. Importers and the .kiln reader are sources; exporters, analyses
// and commands read them.
//
//   EventBatch batch;
//   for (;;) {
//     absl::StatusOr<bool> more = source->Next(&batch);
//     if (!more.ok()) return more.status();
//     if (!*more) break;
//     … batch …
//   }
//   const TraceInfo& info = source->info();   // complete now
//
// Pull instead of push: one loop serves every consumer, and a consumer that needs two passes (lanes, metadata before
// the events) asks for a rewindable source. Not thread-safe.
#ifndef TRACEKILN_FORMATS_INTERMEDIATE_TRACE_SOURCE_H_
#define TRACEKILN_FORMATS_INTERMEDIATE_TRACE_SOURCE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "formats/intermediate/event_batch.h"
#include "formats/intermediate/graph.h"
#include "formats/intermediate/import_report.h"
#include "formats/intermediate/profile.h"

namespace tracekiln {

// One key beside the events, such as Kineto's "deviceProperties". `json` is the value as canonical JSON text.
struct MetadataEntry {
  std::string key;
  std::string json;
  bool after_events = false;  // stood behind "traceEvents" in the input

  friend bool operator==(const MetadataEntry& a, const MetadataEntry& b) {
    return a.key == b.key && a.json == b.json && a.after_events == b.after_events;
  }
};

// What is known of a trace as a whole. One trace is one rank.
struct TraceInfo {
  std::string source_format;  // name of the format it was first imported from
  std::string source_name;    // file name as given, for messages only (untrusted: never a path to write to)
  // Zero point of all ts_ns, in ns since the epoch; 0 if the trace names none (then ts_ns may themselves count from the
  // epoch).
  int64_t base_ns = 0;
  bool has_base = false;    // the trace named one
  bool array_form = false;  // Chrome's bare array: no object around the events
  std::optional<int64_t> rank;
  std::optional<int64_t> world_size;
  std::vector<MetadataEntry> metadata;  // in file order; "traceEvents" and the base excepted
  ImportReport report;
};

class TraceSource {
 public:
  virtual ~TraceSource() = default;

  // Replaces *batch by the next batch and returns true, or returns false at the end. An error is final: later calls
  // return it again. Batches are never empty.
  virtual absl::StatusOr<bool> Next(EventBatch* batch) = 0;

  // Starts again at the first batch. FailedPrecondition if !can_rewind().
  virtual absl::Status Rewind() { return absl::FailedPreconditionError("this source can be read only once"); }
  virtual bool can_rewind() const { return false; }

  // A one-pass source knows its info only after the last batch (keys may stand behind the events); a rewindable one
  // always.
  virtual const TraceInfo& info() const = 0;

  // The profile section, or null if the trace has none. A trace may have rows, a profile, a graph, or several of them.
  // Known when info() is. Owned by the source; valid as long as it lives.
  virtual const Profile* profile() const { return nullptr; }

  // The graph section, or null. The same holds.
  virtual const Graph* graph() const { return nullptr; }

  // For progress: bytes of input read so far and in all (compressed, as they lie on disk); total is 0 if unknown.
  // May be called from another thread.
  struct Progress {
    uint64_t done_bytes = 0;
    uint64_t total_bytes = 0;
  };
  virtual Progress progress() const { return {}; }
};

}  // namespace tracekiln

#endif  // TRACEKILN_FORMATS_INTERMEDIATE_TRACE_SOURCE_H_
