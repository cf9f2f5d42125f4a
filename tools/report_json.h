// The import report as JSON, for the commands that print JSON.
#ifndef TRACEKILN_TOOLS_REPORT_JSON_H_
#define TRACEKILN_TOOLS_REPORT_JSON_H_

#include "formats/intermediate/import_report.h"
#include "formats/json/writer.h"

namespace tracekiln::tools {

// One object: totals, "salvaged", and "entries" with severity, reason, count, first byte offsets and detail.
void WriteReport(const ImportReport& report, json::Writer* w);

}  // namespace tracekiln::tools

#endif  // TRACEKILN_TOOLS_REPORT_JSON_H_
