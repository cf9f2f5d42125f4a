// What the path of a file says: the one table of the layouts that training frameworks leave behind. For scan.cc only;
// README.md has the table in prose.
#ifndef TRACEKILN_ANALYSIS_DATASET_LAYOUT_RULES_H_
#define TRACEKILN_ANALYSIS_DATASET_LAYOUT_RULES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "analysis/dataset/dataset.h"

namespace tracekiln::dataset {

struct NameFacts {
  std::string rule;  // empty: no rule matched; the directory may still have said something
  std::string run;   // directory of the run
  std::string series;
  bool series_parts_runs = false;  // several series in one directory are several runs
  std::optional<int64_t> rank;
  bool rank_is_local = false;
  std::optional<int64_t> step;
  std::string worker;
  std::optional<uint64_t> stamp;
  std::string stage;
  std::string action;
  FileRole role = FileRole::kUnsaid;
  std::optional<FileKind> kind;  // the user's
};

// Thread-safe.
class LayoutRules {
 public:
  // `layout`: see ScanOptions::layout. InvalidArgument as described at ScanDataset.
  static absl::StatusOr<LayoutRules> Make(const std::string& layout);
  LayoutRules(LayoutRules&&) noexcept;
  LayoutRules& operator=(LayoutRules&&) noexcept;
  ~LayoutRules();

  // `path`: relative, parts joined by "/", any bytes. Numbers that don't fit int64 are not taken. O(path).
  NameFacts Match(absl::string_view path) const;

 private:
  struct Rule;
  struct Tables;
  explicit LayoutRules(std::unique_ptr<Tables> tables);
  std::unique_ptr<Tables> tables_;
};

}  // namespace tracekiln::dataset

#endif  // TRACEKILN_ANALYSIS_DATASET_LAYOUT_RULES_H_
