// What can only be known across blocks: which E ends which B, and which flow ends have a start.
//
// Batches pass through in file order. A begun slice becomes a row when it ends (Chrome's E is merged into its B), so a
// batch without B and E passes untouched and a batch with them is rebuilt.
//
// Pairing rule: an E without a name ends the innermost open slice of its thread; an E with a name ends the innermost
// open one of that name. An E that finds none is skipped ("end_without_begin"). What is still open at the end becomes
// an unfinished slice
// ("begin_without_end"). Arguments of the E join those of the B; where both have a key, the E's value counts, as in
// catapult.
#ifndef TRACEKILN_FORMATS_CHROME_SLICE_PAIRING_H_
#define TRACEKILN_FORMATS_CHROME_SLICE_PAIRING_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "formats/intermediate/event_batch.h"
#include "formats/intermediate/import_report.h"

namespace tracekiln::chrome {

class SlicePairing {
 public:
  // Appends what becomes of `batch` to *out (nothing, or one or more batches, none of them empty). Corrects *report, in
  // which each B and E was counted as imported.
  void Process(EventBatch batch, std::deque<EventBatch>* out, ImportReport* report);

  // Call once at the end: appends the unfinished slices.
  void Finish(std::deque<EventBatch>* out, ImportReport* report);

 private:
  // So many slices may be open at the same time; what begins beyond counts as unfinished at once.
  static constexpr size_t kMaxOpen = size_t{1} << 20;
  static constexpr size_t kMaxSegments = 64;

  // A slice that began. Those that ended stay until Compact.
  struct Open {
    uint32_t segment;
    uint32_t row;
    bool is_ended = false;
  };
  using Stack = std::vector<uint32_t>;  // places in open_, outermost first; those that ended are popped when met

  void End(const EventBatch& batch, size_t row, EventBatch* to, std::deque<EventBatch>* out, ImportReport* report);
  bool Begin(const EventBatch& batch, size_t row);
  bool Push(const EventBatch& batch, size_t row);
  void Compact();

  std::deque<EventBatch> segments_;
  std::vector<Open> open_;  // in file order
  size_t ended_ = 0;
  // By thread, and by thread and name: an E finds its B in O(1), however deep the stack.
  absl::flat_hash_map<std::string, Stack> by_track_;
  absl::flat_hash_map<std::string, Stack> by_name_;
  EventBatch merged_;  // one row
};

// Counts flow ends without a start, over a whole trace.
class FlowCensus {
 public:
  void Process(const EventBatch& batch);
  // Notes "flow_end_without_start".
  void Finish(ImportReport* report) const;

 private:
  static constexpr uint64_t kPageIds = 1 << 16;
  static constexpr uint8_t kStarted = 0x80;  // the other bits count ends, up to 127
  static constexpr size_t kMaxPages = 1 << 10;
  static constexpr size_t kMaxOther = 1 << 22;
  void Count(uint64_t id, bool is_start);
  void CountOther(uint64_t key, bool is_start);

  // Flows that restate a correlation, by id: mostly dense small numbers. Ids beyond kMaxPages pages are among the
  // others.
  absl::flat_hash_map<uint64_t, std::unique_ptr<uint8_t[]>> pages_;
  uint64_t last_page_number_ = ~uint64_t{0};
  uint8_t* last_page_ = nullptr;
  // Others, by a hash of category, name and id.
  absl::flat_hash_map<uint64_t, uint8_t> other_;
  bool is_incomplete_ = false;
};

}  // namespace tracekiln::chrome

#endif  // TRACEKILN_FORMATS_CHROME_SLICE_PAIRING_H_
