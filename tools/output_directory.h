// The directory of a run that makes several files whose names are known only while it writes.
//
//   DirectoryOutput directory("profiles", {.replaces = flags.Has("force"), .never = inputs});
//   absl::Status status = format.write_directory(*source, options, directory, executor);
//   if (!status.ok()) directory.RemoveIfEmpty();
//
// The directory is made with the first file, its parents are not. A file appears when it is whole. Not thread-safe.
#ifndef TRACEKILN_TOOLS_OUTPUT_DIRECTORY_H_
#define TRACEKILN_TOOLS_OUTPUT_DIRECTORY_H_

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/format/format.h"
#include "formats/io/byte_sink.h"

namespace tracekiln::tools {

class DirectoryOutput final : public OutputDirectory {
 public:
  struct Options {
    bool replaces = false;           // files that were there before the run; otherwise they are an error
    std::vector<std::string> never;  // paths of files that are never replaced: the inputs
  };
  DirectoryOutput(std::string path, Options options) : path_(std::move(path)), options_(std::move(options)) {}

  // AlreadyExists: the file exists, is an input, or was made by this object.
  absl::StatusOr<std::unique_ptr<io::ByteSink>> Create(absl::string_view name) override;

  // Files that Create was OK for.
  size_t file_count() const { return names_.size(); }
  const std::string& path() const { return path_; }

  // Removes the directory if this object made it and nothing is in it.
  void RemoveIfEmpty();

 private:
  const std::string path_;
  const Options options_;
  std::set<std::string> names_;
  bool is_own_ = false;
};

// Whether DirectoryOutput can write there: it is a directory, or nothing yet in a directory that exists.
bool CanBeDirectory(const std::string& path);

}  // namespace tracekiln::tools

#endif  // TRACEKILN_TOOLS_OUTPUT_DIRECTORY_H_
