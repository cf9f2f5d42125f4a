// Renders batches as the elements of "traceEvents", for both layouts of chrome_exporter.h.
//
// Batches are rendered independently of each other, on any thread; BatchText says what the one that joins them has to
// know.
#ifndef TRACEKILN_FORMATS_CHROME_EVENT_WRITER_H_
#define TRACEKILN_FORMATS_CHROME_EVENT_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "formats/chrome/export_plan.h"
#include "formats/chrome/exporter_options.h"
#include "formats/chrome/row_filter.h"
#include "formats/intermediate/event_batch.h"
#include "formats/json/writer.h"

namespace tracekiln::chrome {

struct BatchText {
  // The events, each with a comma before it.
  std::string text;
  // Places in `text` (behind the event of that row) where rows deferred by the plan belong: (offset, row).
  std::vector<std::pair<size_t, uint32_t>> anchors;
  // Deferred events, which are not in `text`: (row, text).
  std::vector<std::pair<uint32_t, std::string>> deferred;

  void Clear() {
    text.clear();
    anchors.clear();
    deferred.clear();
  }
};

class EventWriter {
 public:
  // `plan` is null for lanes=off. Everything must outlive the writer.
  EventWriter(const ExporterOptions& options, const RowFilter& filter, const ExportPlan* plan);
  ~EventWriter();

  // Brackets open around an event in {"traceEvents": […]} and in a bare array.
  static constexpr int kObjectDepth = 2;
  static constexpr int kArrayDepth = 1;

  // Replaces *out, whose memory is used again. Thread-safe. `first_row` is the number of the batch's first row in the
  // trace, `depth` how many brackets are open around an event.
  void Render(const EventBatch& batch, uint64_t first_row, int depth, BatchText* out) const;

  // Appends the metadata events of processes and threads. REQUIRES a plan.
  void RenderTracks(std::string* out, int depth) const;

  // One event a line, or pretty.
  json::Layout LayoutOfEvents(int depth) const;

 private:
  class OnBatch;
  struct Words;

  const ExporterOptions& options_;
  const RowFilter& filter_;
  const ExportPlan* const plan_;
  const std::unique_ptr<const Words> words_;
};

}  // namespace tracekiln::chrome

#endif  // TRACEKILN_FORMATS_CHROME_EVENT_WRITER_H_
