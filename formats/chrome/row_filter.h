// Which rows an export keeps: a time window, categories, a pattern for names. Metadata rows are always kept.
#ifndef TRACEKILN_FORMATS_CHROME_ROW_FILTER_H_
#define TRACEKILN_FORMATS_CHROME_ROW_FILTER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/chrome/exporter_options.h"
#include "formats/intermediate/event_batch.h"
#include "re2/re2.h"

namespace tracekiln::chrome {

// Immutable; used from several threads.
class RowFilter {
 public:
  // InvalidArgument if the pattern is none.
  static absl::StatusOr<std::unique_ptr<const RowFilter>> Make(const ExporterOptions& options);

  bool keeps_all() const { return keeps_all_; }
  bool KeepsName(absl::string_view name) const;
  bool KeepsCategory(absl::string_view category) const;
  // Whether flow events merged into slices (category and name ac2g) pass by category and name.
  bool keeps_merged_flows() const { return keeps_merged_flows_; }

  // The filter on the rows of one batch; each distinct name is matched once.
  class OnBatch {
   public:
    OnBatch(const RowFilter& filter, const EventBatch& batch);
    bool Keeps(size_t row);

   private:
    const RowFilter& filter_;
    const EventBatch& batch_;
    std::vector<bool> keeps_category_;  // by CategoryId
    std::vector<uint8_t> keeps_name_;   // by StringId: 0 unknown, 1 no, 2 yes
    bool keeps_no_category_ = true;
    bool keeps_no_name_ = true;
  };

 private:
  explicit RowFilter(const ExporterOptions& options) : options_(options) {}

  ExporterOptions options_;
  std::unique_ptr<RE2> pattern_;
  bool keeps_all_ = true;
  bool keeps_merged_flows_ = true;
};

}  // namespace tracekiln::chrome

#endif  // TRACEKILN_FORMATS_CHROME_ROW_FILTER_H_
