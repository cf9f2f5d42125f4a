// What a file is, by its first bytes: the formats first, then small rules for what no Format reads. For scan.cc only.
#ifndef TRACEKILN_ANALYSIS_DATASET_CONTENT_RULES_H_
#define TRACEKILN_ANALYSIS_DATASET_CONTENT_RULES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "analysis/dataset/dataset.h"
#include "formats/format/format.h"

namespace tracekiln::dataset {

struct Content {
  FileKind kind = FileKind::kStranger;
  const Format* format = nullptr;
  std::optional<int64_t> world_size;  // of an execution trace's default process group
  std::string note;                   // what a stranger looks like
};

// `head`: decompressed, not empty; `is_whole`: it is all of the file. Any bytes. Cost: O(head).
Content ClassifyContent(absl::string_view head, bool is_whole, absl::Span<const Format* const> formats);

// Why a file of this name (last part of a path) is no result of a run but left behind: "a temporary file", …; empty if
// it is none.
absl::string_view LeftoverByName(absl::string_view name);

// Whether `end` (the last bytes of the text) is where a JSON document of this beginning can end. An array of events
// may lack its bracket.
bool EndsLikeJson(absl::string_view head, absl::string_view end);

}  // namespace tracekiln::dataset

#endif  // TRACEKILN_ANALYSIS_DATASET_CONTENT_RULES_H_
