#include "tools/output_directory.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "formats/io/output.h"
#include "tools/output_path.h"

namespace tracekiln::tools {

absl::StatusOr<std::unique_ptr<io::ByteSink>> DirectoryOutput::Create(absl::string_view name) {
  const bool is_name = !name.empty() && name.size() <= 255 && name != "." && name != ".." &&
                       name.find('/') == absl::string_view::npos && name.find('\0') == absl::string_view::npos;
  if (!is_name) return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" can't be the name of a file"));
  const std::string path = absl::StrCat(path_, path_.back() == '/' ? "" : "/", name);
  if (!names_.insert(std::string(name)).second) {
    return absl::AlreadyExistsError(absl::StrCat("\"", path, "\" was written already by this run"));
  }
  const auto refuse = [&](absl::Status status) {
    names_.erase(std::string(name));
    return status;
  };
  for (const std::string& other : options_.never) {
    if (IsSameFile(other, path)) {
      return refuse(absl::AlreadyExistsError(absl::StrCat("\"", path, "\" is one of the inputs")));
    }
  }
  if (!options_.replaces && FileExists(path)) {
    return refuse(absl::AlreadyExistsError(
        absl::StrCat("\"", path, "\" exists already; --force replaces it, -o DIRECTORY writes elsewhere")));
  }
  if (!IsDirectory(path_)) {
    if (mkdir(path_.c_str(), 0777) == 0) {
      is_own_ = true;
    } else if (errno != EEXIST) {
      return refuse(absl::ErrnoToStatus(errno, absl::StrCat(path_, ": cannot make this directory")));
    }
  }
  absl::StatusOr<std::unique_ptr<io::ByteSink>> sink = io::CreateOutput(path);
  if (!sink.ok()) return refuse(sink.status());
  return sink;
}

void DirectoryOutput::RemoveIfEmpty() {
  if (is_own_ && rmdir(path_.c_str()) == 0) is_own_ = false;
}

bool CanBeDirectory(const std::string& path) {
  if (FileExists(path)) return IsDirectory(path);
  std::string parent = path;
  while (parent.size() > 1 && parent.back() == '/') parent.pop_back();
  const size_t slash = parent.rfind('/');
  parent = slash == std::string::npos ? "." : slash == 0 ? "/" : parent.substr(0, slash);
  return !path.empty() && IsDirectory(parent);
}

}  // namespace tracekiln::tools
