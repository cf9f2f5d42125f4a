// The processes and rows of a whole trace, and the ids under which viewers show them.
//
// Viewers want process and thread ids in 1 … 2^32-1 (Perfetto puts all others on the main thread of the process);
// traces have negative ids, 0, 64-bit handles and texts. Ids in the range are kept; the others get ids that no
// process or thread of the trace uses, and lanes such that no thread of the process uses. Names and sort indices come
// from metadata events; a lane is named after its row and, by its id and by its sort index, stands next to it.
#ifndef TRACEKILN_FORMATS_CHROME_TRACK_IDS_H_
#define TRACEKILN_FORMATS_CHROME_TRACK_IDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "formats/intermediate/event_batch.h"

namespace tracekiln::chrome {

// A TrackPart that outlives its batch. What is absent counts as the number 0.
struct TrackIdPart {
  TrackPart::Type type = TrackPart::Type::kInt;
  int64_t number = 0;  // kInt
  std::string text;    // kText, kJson

  // For people: the number or the text, never empty.
  std::string Display() const;
};

class TrackTable {
 public:
  struct Process {
    TrackIdPart id;
    std::optional<std::string> name;
    std::optional<std::string> labels;
    std::optional<int64_t> sort_index;
    uint32_t safe_pid = 0;
  };
  struct Row {
    uint32_t process = 0;  // index into processes()
    TrackIdPart id;
    std::optional<std::string> name;
    std::optional<int64_t> sort_index;
    uint32_t lane_count = 1;
    std::vector<uint32_t> safe_tids;  // by lane
    // Set by AssignIds if the row has to be given one: by lane.
    std::vector<int64_t> lane_sort_indices;

    bool is_renamed() const;  // the id of lane 0 is not the original one
  };

  // Index into processes() of a pid of this batch.
  uint32_t InternProcess(const EventBatch& batch, const TrackPart& pid);
  // Index into rows() of a track of this batch.
  uint32_t InternRow(const EventBatch& batch, const Track& track);
  // As InternRow for all tracks of the batch, by TrackId. `known` are the rows; REQUIRES that all were interned before.
  std::vector<uint32_t> RowsOf(const EventBatch& batch) const;

  std::vector<Process>& processes() { return processes_; }
  const std::vector<Process>& processes() const { return processes_; }
  std::vector<Row>& rows() { return rows_; }
  const std::vector<Row>& rows() const { return rows_; }

  // Fills in the safe ids and the sort indices. Call once all rows and lane counts are known.
  void AssignIds();

  // What viewers show: the name from the trace, made unmistakable where the id changed or the row is a lane. nullopt:
  // the trace gives none and none is needed.
  std::optional<std::string> ProcessName(const Process& process) const;
  std::optional<std::string> RowName(const Row& row, uint32_t lane) const;

 private:
  std::vector<Process> processes_;
  std::vector<Row> rows_;
  absl::flat_hash_map<std::string, uint32_t> process_index_;
  absl::flat_hash_map<std::string, uint32_t> row_index_;
};

}  // namespace tracekiln::chrome

#endif  // TRACEKILN_FORMATS_CHROME_TRACK_IDS_H_
