// Imports a trace given as text, for tests and the fuzz target.
#ifndef TRACEKILN_FORMATS_CHROME_TESTING_IMPORT_TEXT_H_
#define TRACEKILN_FORMATS_CHROME_TESTING_IMPORT_TEXT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "formats/chrome/chrome_importer.h"
#include "formats/intermediate/event_batch.h"
#include "formats/intermediate/trace_source.h"

namespace tracekiln::chrome {

struct ImportedText {
  absl::Status status;
  TraceInfo info;                   // as it is after the last batch or the error
  std::vector<EventBatch> batches;  // those before the error included

  size_t row_count() const;
  // RowText of all rows, in order.
  std::vector<std::string> rows() const;
  // The same with flows that were merged into a slice as rows of their own again: independent of where blocks end.
  std::vector<std::string> foreign_rows() const;
  // The report as text. Imported and merged events are added up: whether a flow is merged depends on the blocks.
  std::string report_text() const;
};

struct ImportTextOptions {
  bool strict = false;
  bool salvage = false;
  ImporterTuning tuning;
  int thread_count = 0;  // 0: inline
};

// The file is called "t.json" in messages.
ImportedText ImportText(absl::string_view text, const ImportTextOptions& options = {});

}  // namespace tracekiln::chrome

#endif  // TRACEKILN_FORMATS_CHROME_TESTING_IMPORT_TEXT_H_
