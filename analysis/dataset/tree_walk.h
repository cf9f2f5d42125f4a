// All files below a directory. For scan.cc only.
#ifndef TRACEKILN_ANALYSIS_DATASET_TREE_WALK_H_
#define TRACEKILN_ANALYSIS_DATASET_TREE_WALK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tracekiln::dataset {

struct WalkedFile {
  std::string path;  // relative
  uint64_t size_bytes = 0;
  std::string same_as;      // path of the file that this is a second name of; empty: none
  std::string error;        // it could not be looked at: why
  bool is_special = false;  // a pipe, socket or device
};

struct Walk {
  std::vector<WalkedFile> files;                                // by path, bytewise
  std::vector<std::pair<std::string, std::string>> unreadable;  // directories: path, why
  std::vector<std::string> loops;                               // links to a directory that was walked by another name
  std::vector<std::string> too_deep;                            // directories below max_depth
  bool is_cut_off = false;                                      // max_file_count was reached
};

// Links are followed; each directory is walked once, and of several names of one file all but one are marked, where
// names that are no links come first, then the order of paths counts. Never opens files.
[[nodiscard]] absl::StatusOr<Walk> WalkTree(const std::string& directory, int max_depth, size_t max_file_count);

}  // namespace tracekiln::dataset

#endif  // TRACEKILN_ANALYSIS_DATASET_TREE_WALK_H_
