#include "analysis/dataset/tree_walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace tracekiln::dataset {
namespace {

using Identity = std::pair<dev_t, ino_t>;

struct Place {
  std::string path;  // relative; "" is the first
  int depth = 0;
};

struct Found {
  WalkedFile file;
  Identity identity = {};
  bool is_link = false;
};

std::string Join(const std::string& directory, const std::string& name) {
  return directory.empty() ? name : absl::StrCat(directory, "/", name);
}

std::string ErrorText(int error) { return std::strerror(error); }

}  // namespace

absl::StatusOr<Walk> WalkTree(const std::string& directory, int max_depth, size_t max_file_count) {
  Walk walk;
  std::vector<Found> found;
  std::set<Identity> seen_directories;
  // Real directories first, so that a directory counts by its own name if it has one in the tree.
  std::deque<Place> real = {{"", 0}};
  std::map<std::string, int> linked;  // path -> depth
  while (!real.empty() || !linked.empty()) {
    Place place;
    const bool is_link = real.empty();
    if (is_link) {
      place = {linked.begin()->first, linked.begin()->second};
      linked.erase(linked.begin());
    } else {
      place = std::move(real.front());
      real.pop_front();
    }
    const std::string full = place.path.empty() ? directory : absl::StrCat(directory, "/", place.path);
    const int fd = ::open(full.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat info;
    DIR* const stream = fd < 0 || ::fstat(fd, &info) != 0 ? nullptr : ::fdopendir(fd);
    if (stream == nullptr) {
      const int error = errno;
      if (fd >= 0) ::close(fd);
      if (place.path.empty()) {
        if (error == ENOTDIR) return absl::InvalidArgumentError(absl::StrCat(directory, ": not a directory"));
        return absl::ErrnoToStatus(error, absl::StrCat(directory, ": cannot open"));
      }
      walk.unreadable.emplace_back(place.path, ErrorText(error));
      continue;
    }
    if (!seen_directories.insert({info.st_dev, info.st_ino}).second) {
      ::closedir(stream);
      walk.loops.push_back(place.path);
      continue;
    }
    std::vector<std::string> names;
    for (;;) {
      errno = 0;
      const struct dirent* const entry = ::readdir(stream);
      if (entry == nullptr) {
        if (errno != 0) walk.unreadable.emplace_back(place.path, ErrorText(errno));
        break;
      }
      const std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      const std::string path = Join(place.path, name);
      struct stat own;
      struct stat target;
      int error = 0;
      if (::fstatat(fd, name.c_str(), &own, AT_SYMLINK_NOFOLLOW) != 0) {
        error = errno;
        if (error == ENOENT) continue;  // vanished meanwhile
      }
      const bool name_is_link = error == 0 && S_ISLNK(own.st_mode);
      target = own;
      if (name_is_link && ::fstatat(fd, name.c_str(), &target, 0) != 0) error = errno;
      if (error == 0 && S_ISDIR(target.st_mode)) {
        if (place.depth >= max_depth) {
          walk.too_deep.push_back(path);
        } else if (name_is_link) {
          linked.emplace(path, place.depth + 1);
        } else {
          real.push_back({path, place.depth + 1});
        }
        continue;
      }
      if (found.size() >= max_file_count) {
        walk.is_cut_off = true;
        break;
      }
      Found file;
      file.file.path = path;
      if (error != 0) {
        file.file.error = error == ENOENT ? "a link to nothing" : ErrorText(error);
      } else {
        file.file.size_bytes = static_cast<uint64_t>(target.st_size);
        file.file.is_special = !S_ISREG(target.st_mode);
        file.identity = {target.st_dev, target.st_ino};
      }
      file.is_link = name_is_link;
      found.push_back(std::move(file));
    }
    ::closedir(stream);
    if (walk.is_cut_off) break;
  }
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.file.path < b.file.path; });
  std::map<Identity, size_t> first;
  for (const bool links : {false, true}) {
    for (size_t i = 0; i < found.size(); ++i) {
      Found& file = found[i];
      if (file.is_link != links || !file.file.error.empty()) continue;
      const auto [place, is_new] = first.emplace(file.identity, i);
      if (!is_new) file.file.same_as = found[place->second].file.path;
    }
  }
  walk.files.reserve(found.size());
  for (Found& file : found) walk.files.push_back(std::move(file.file));
  std::sort(walk.unreadable.begin(), walk.unreadable.end());
  std::sort(walk.loops.begin(), walk.loops.end());
  std::sort(walk.too_deep.begin(), walk.too_deep.end());
  return walk;
}

}  // namespace tracekiln::dataset
