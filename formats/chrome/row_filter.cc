#include "formats/chrome/row_filter.h"

#include <algorithm>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "formats/intermediate/field_catalog.h"

namespace tracekiln::chrome {

absl::StatusOr<std::unique_ptr<const RowFilter>> RowFilter::Make(const ExporterOptions& options) {
  std::unique_ptr<RowFilter> filter(new RowFilter(options));
  if (!options.name_pattern.empty()) {
    RE2::Options quiet;
    quiet.set_log_errors(false);
    filter->pattern_ = std::make_unique<RE2>(options.name_pattern, quiet);
    if (!filter->pattern_->ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("name: `", options.name_pattern, "` is no RE2 pattern: ", filter->pattern_->error()));
    }
  }
  filter->keeps_all_ = options.name_pattern.empty() && options.categories.empty() &&
                       !options.window_begin_ns.has_value() && !options.window_end_ns.has_value();
  filter->keeps_merged_flows_ = filter->KeepsCategory(fields::kAc2g) && filter->KeepsName(fields::kAc2g);
  return filter;
}

bool RowFilter::KeepsName(absl::string_view name) const {
  return pattern_ == nullptr || RE2::PartialMatch(re2::StringPiece(name.data(), name.size()), *pattern_);
}

bool RowFilter::KeepsCategory(absl::string_view category) const {
  if (options_.categories.empty()) return true;
  return std::any_of(options_.categories.begin(), options_.categories.end(), [&](const std::string& wanted) {
    return absl::string_view(wanted.data(), wanted.size()) == category;
  });
}

RowFilter::OnBatch::OnBatch(const RowFilter& filter, const EventBatch& batch) : filter_(filter), batch_(batch) {
  if (filter_.keeps_all_) return;
  for (const StringId id : batch.categories()) keeps_category_.push_back(filter_.KeepsCategory(batch.Text(id)));
  keeps_no_category_ = filter_.options_.categories.empty();
  keeps_no_name_ = filter_.pattern_ == nullptr;
  keeps_name_.assign(filter_.pattern_ == nullptr ? 0 : batch.strings.size(), 0);
}

bool RowFilter::OnBatch::Keeps(size_t row) {
  if (filter_.keeps_all_ || batch_.kind[row] == EventKind::kMetadata) return true;
  const int64_t start = batch_.ts_ns[row];
  if (filter_.options_.window_end_ns.has_value() && start >= *filter_.options_.window_end_ns) return false;
  if (filter_.options_.window_begin_ns.has_value() && start < *filter_.options_.window_begin_ns) {
    const int64_t begin = *filter_.options_.window_begin_ns;
    if (batch_.kind[row] != EventKind::kSlice) return false;
    const int64_t dur = batch_.dur_ns[row];
    // start + dur > begin, without overflow: begin - start is positive as an unsigned number.
    if (dur != kUnfinished &&
        (dur < 0 || static_cast<uint64_t>(dur) <= static_cast<uint64_t>(begin) - static_cast<uint64_t>(start))) {
      return false;
    }
  }
  const CategoryId category = batch_.category[row];
  if (category == kNoCategory ? !keeps_no_category_ : !keeps_category_[Index(category)]) return false;
  const StringId name = batch_.name[row];
  if (name == kNoString) return keeps_no_name_;
  if (keeps_name_.empty()) return true;
  uint8_t& known = keeps_name_[Index(name)];
  if (known == 0) known = filter_.KeepsName(batch_.Text(name)) ? 2 : 1;
  return known == 2;
}

}  // namespace tracekiln::chrome
