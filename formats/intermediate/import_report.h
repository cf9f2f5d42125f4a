// ImportReport: where every event of an input went.
//
//   seen = imported + merged + skipped
//
// `imported` events became rows, `merged` ones were folded into the row of another event (an E into its B, a flow event
// into a flag), `skipped` ones are in no row, each with a reason. Beside that a report counts what was repaired
// (confined damage, see docs) and what is odd but kept. The report travels in the .kiln file and every command prints
// it.
//
// Reasons are short fixed words in snake_case, e.g. "invalid_utf8". Per reason: a count and the first three places, as
// byte offsets in the decompressed input.
#ifndef TRACEKILN_FORMATS_INTERMEDIATE_IMPORT_REPORT_H_
#define TRACEKILN_FORMATS_INTERMEDIATE_IMPORT_REPORT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace tracekiln {

class ImportReport {
 public:
  enum class Severity : uint8_t {
    kSkipped = 0,   // the event is in no row
    kRepaired = 1,  // damage was mended; fatal under --strict
    kNote = 2,      // odd but real data, kept as it is
  };

  struct Entry {
    std::string reason;
    Severity severity = Severity::kNote;
    uint64_t count = 0;
    std::vector<uint64_t> first_offsets;  // at most kMaxOffsets, ascending
    std::string detail;                   // of the first occurrence: a sentence for people, or empty
  };

  static constexpr size_t kMaxOffsets = 3;
  static constexpr uint64_t kNoOffset = ~uint64_t{0};  // an occurrence without a place in the file

  uint64_t seen = 0;
  uint64_t imported = 0;
  uint64_t merged = 0;
  bool salvaged = false;     // made by --salvage from a damaged input; what is missing is among the entries
  uint64_t input_bytes = 0;  // decompressed
  const std::vector<Entry>& entries() const { return entries_; }

  // Counts `count` occurrences of which the first is at `offset` (or kNoOffset).
  void Add(Severity severity, absl::string_view reason, uint64_t offset, absl::string_view detail = {},
           uint64_t count = 1);
  void Skip(absl::string_view reason, uint64_t offset, absl::string_view detail = {}) {
    Add(Severity::kSkipped, reason, offset, detail);
  }
  void Repair(absl::string_view reason, uint64_t offset, absl::string_view detail = {}) {
    Add(Severity::kRepaired, reason, offset, detail);
  }
  void Note(absl::string_view reason, uint64_t offset, absl::string_view detail = {}) {
    Add(Severity::kNote, reason, offset, detail);
  }

  // Adds an entry as it is; one of the same severity and reason must not be there yet. For decoders.
  void AddEntry(Entry entry) { entries_.push_back(std::move(entry)); }

  // Adds the counts of `other`, whose offsets all lie behind ours.
  void Merge(const ImportReport& other);

  uint64_t skipped() const { return Total(Severity::kSkipped); }
  uint64_t repaired() const { return Total(Severity::kRepaired); }
  // imported + merged + skipped == seen.
  bool IsBalanced() const { return imported + merged + skipped() == seen; }
  // The entry of a reason, or nullptr.
  const Entry* Find(absl::string_view reason) const;

  // One line of totals, then one line per entry: "repaired  invalid_utf8: 1 (byte 191)".
  std::string ToText() const;

 private:
  uint64_t Total(Severity severity) const;

  std::vector<Entry> entries_;
};

}  // namespace tracekiln

#endif  // TRACEKILN_FORMATS_INTERMEDIATE_IMPORT_REPORT_H_
