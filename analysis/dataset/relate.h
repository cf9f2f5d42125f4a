// How the files of a dataset belong together, and what is odd about that. For scan.cc only.
#ifndef TRACEKILN_ANALYSIS_DATASET_RELATE_H_
#define TRACEKILN_ANALYSIS_DATASET_RELATE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "analysis/dataset/dataset.h"
#include "analysis/dataset/layout_rules.h"
#include "analysis/dataset/tree_walk.h"

namespace tracekiln::dataset {

// Settles rank, run and series of each of dataset->files and makes runs, ranks and findings.
// facts.size() == dataset->files.size().
void Relate(const Walk& walk, absl::Span<const NameFacts> facts, bool has_users_layout, Dataset* dataset);

// A path in a message: control characters, quotes and bytes that are not ASCII text as \xNN, cut at 200 bytes.
std::string EscapedPath(absl::string_view path);

}  // namespace tracekiln::dataset

#endif  // TRACEKILN_ANALYSIS_DATASET_RELATE_H_
