#include "formats/io/random_access.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace tracekiln::io {
namespace {

class PreadFile final : public RandomAccessFile {
 public:
  PreadFile(int fd, std::string name, uint64_t size_bytes) : RandomAccessFile(std::move(name), size_bytes), fd_(fd) {}
  ~PreadFile() override { ::close(fd_); }

  absl::Status ReadAt(uint64_t offset, size_t size, char* out) const override {
    if (offset > this->size() || size > this->size() - offset) {
      return absl::OutOfRangeError(
          absl::StrCat(name(), ":", offset, ": expected ", size, " bytes, got the end of the file at ", this->size()));
    }
    while (size > 0) {
      const ssize_t got = ::pread(fd_, out, std::min<size_t>(size, 1 << 30), static_cast<off_t>(offset));
      if (got < 0) {
        if (errno == EINTR) continue;
        return absl::ErrnoToStatus(errno, absl::StrCat(name(), ":", offset, ": cannot read"));
      }
      if (got == 0) {
        return absl::DataLossError(absl::StrCat(name(), ":", offset, ": the file became shorter while it was read"));
      }
      out += got;
      offset += static_cast<uint64_t>(got);
      size -= static_cast<size_t>(got);
    }
    return absl::OkStatus();
  }

  void WillReadInSequence(uint64_t offset, uint64_t size) const override {
    ::posix_fadvise(fd_, static_cast<off_t>(offset), static_cast<off_t>(size), POSIX_FADV_SEQUENTIAL);
  }

 private:
  const int fd_;
};

class MemoryFile final : public RandomAccessFile {
 public:
  MemoryFile(std::string bytes, std::string name)
      : RandomAccessFile(std::move(name), bytes.size()), bytes_(std::move(bytes)) {}

  absl::Status ReadAt(uint64_t offset, size_t size, char* out) const override {
    if (offset > bytes_.size() || size > bytes_.size() - offset) {
      return absl::OutOfRangeError(
          absl::StrCat(name(), ":", offset, ": expected ", size, " bytes, got the end of the file at ", bytes_.size()));
    }
    if (size > 0) std::memcpy(out, bytes_.data() + offset, size);
    return absl::OkStatus();
  }

 private:
  const std::string bytes_;
};

}  // namespace

RandomAccessFile::~RandomAccessFile() = default;

void RandomAccessFile::WillReadInSequence(uint64_t, uint64_t) const {}

absl::StatusOr<std::shared_ptr<RandomAccessFile>> OpenRandomAccess(const std::string& path) {
  // O_NONBLOCK: opening a pipe nobody writes to must not hang; it has no effect on regular files.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot open"));
  return AdoptRandomAccess(fd, path);
}

absl::StatusOr<std::shared_ptr<RandomAccessFile>> AdoptRandomAccess(int fd, const std::string& path) {
  struct stat info;
  absl::Status status;
  if (::fstat(fd, &info) != 0) {
    status = absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot stat"));
  } else if (S_ISDIR(info.st_mode)) {
    status = absl::InvalidArgumentError(absl::StrCat(path, ": expected a file, got a directory"));
  } else if (!S_ISREG(info.st_mode)) {
    status = absl::FailedPreconditionError(absl::StrCat(path, ": expected a regular file, got a pipe or a device"));
  }
  if (!status.ok()) {
    ::close(fd);
    return status;
  }
  return std::shared_ptr<RandomAccessFile>(std::make_shared<PreadFile>(fd, path, static_cast<uint64_t>(info.st_size)));
}

std::shared_ptr<RandomAccessFile> MakeMemoryFile(std::string bytes, std::string name) {
  return std::make_shared<MemoryFile>(std::move(bytes), std::move(name));
}

}  // namespace tracekiln::io
