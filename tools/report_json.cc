#include "tools/report_json.h"

#include "absl/strings/string_view.h"

namespace tracekiln::tools {

void WriteReport(const ImportReport& report, json::Writer* w) {
  static constexpr absl::string_view kSeverities[] = {"skipped", "repaired", "note"};
  w->BeginObject();
  w->Key("seen"), w->Uint(report.seen);
  w->Key("imported"), w->Uint(report.imported);
  w->Key("merged"), w->Uint(report.merged);
  w->Key("skipped"), w->Uint(report.skipped());
  w->Key("repaired"), w->Uint(report.repaired());
  w->Key("salvaged"), w->Bool(report.salvaged);
  w->Key("entries");
  w->BeginArray();
  for (const ImportReport::Entry& entry : report.entries()) {
    w->BeginObject();
    w->Key("severity"), w->String(kSeverities[static_cast<int>(entry.severity)]);
    w->Key("reason"), w->String(entry.reason);
    w->Key("count"), w->Uint(entry.count);
    w->Key("first_offsets");
    w->BeginArray();
    for (uint64_t offset : entry.first_offsets) w->Uint(offset);
    w->EndArray();
    w->Key("detail"), w->String(entry.detail);
    w->EndObject();
  }
  w->EndArray();
  w->EndObject();
}

}  // namespace tracekiln::tools
