#include "formats/intermediate/import_report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tracekiln {

void ImportReport::Add(Severity severity, absl::string_view reason, uint64_t offset, absl::string_view detail,
                       uint64_t count) {
  for (Entry& e : entries_) {
    if (e.severity == severity && e.reason == reason) {
      e.count += count;
      if (offset != kNoOffset && e.first_offsets.size() < kMaxOffsets) e.first_offsets.push_back(offset);
      return;
    }
  }
  Entry e;
  e.reason = std::string(reason);
  e.severity = severity;
  e.count = count;
  if (offset != kNoOffset) e.first_offsets.push_back(offset);
  // Details quote the input; a report has one entry a line.
  for (const char c : detail) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      absl::StrAppend(&e.detail, "\\x", absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
    } else {
      e.detail += c;
    }
  }
  entries_.push_back(std::move(e));
}

void ImportReport::Merge(const ImportReport& other) {
  seen += other.seen;
  imported += other.imported;
  merged += other.merged;
  salvaged |= other.salvaged;
  input_bytes += other.input_bytes;
  for (const Entry& from : other.entries_) {
    Entry* to = nullptr;
    for (Entry& e : entries_) {
      if (e.severity == from.severity && e.reason == from.reason) to = &e;
    }
    if (to == nullptr) {
      entries_.push_back(from);
      continue;
    }
    to->count += from.count;
    for (uint64_t offset : from.first_offsets) {
      if (to->first_offsets.size() < kMaxOffsets) to->first_offsets.push_back(offset);
    }
  }
}

uint64_t ImportReport::Total(Severity severity) const {
  uint64_t total = 0;
  for (const Entry& e : entries_) {
    if (e.severity == severity) total += e.count;
  }
  return total;
}

const ImportReport::Entry* ImportReport::Find(absl::string_view reason) const {
  for (const Entry& e : entries_) {
    if (e.reason == reason) return &e;
  }
  return nullptr;
}

std::string ImportReport::ToText() const {
  std::string out = absl::StrCat(seen, " events seen = ", imported, " imported + ", merged, " merged + ", skipped(),
                                 " skipped", salvaged ? " (salvaged)" : "", "\n");
  static constexpr absl::string_view kNames[] = {"skipped ", "repaired", "note    "};
  for (Severity severity : {Severity::kSkipped, Severity::kRepaired, Severity::kNote}) {
    for (const Entry& e : entries_) {
      if (e.severity != severity) continue;
      absl::StrAppend(&out, "  ", kNames[static_cast<int>(severity)], "  ", e.reason, ": ", e.count);
      if (!e.first_offsets.empty()) {
        absl::StrAppend(&out, e.first_offsets.size() > 1 ? " (bytes " : " (byte ");
        for (size_t i = 0; i < e.first_offsets.size(); ++i)
          absl::StrAppend(&out, i > 0 ? ", " : "", e.first_offsets[i]);
        absl::StrAppend(&out, e.count > e.first_offsets.size() ? ", …)" : ")");
      }
      if (!e.detail.empty()) absl::StrAppend(&out, " ", e.detail);
      out += '\n';
    }
  }
  return out;
}

}  // namespace tracekiln
