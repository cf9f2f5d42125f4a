#include "formats/io/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/io/compressing_sink.h"

namespace tracekiln::io {
namespace {

constexpr size_t kBufferBytes = 256 << 10;

// Writes through a buffer to a descriptor; with a temporary path, renames that to `target` at the end.
class FdSink final : public ByteSink {
 public:
  // `temporary` is empty for standard output and special files, which are written as they are.
  FdSink(int fd, bool owns_fd, std::string name, std::string temporary, std::string target, bool is_durable)
      : ByteSink(std::move(name)),
        fd_(fd),
        owns_fd_(owns_fd),
        temporary_(std::move(temporary)),
        target_(std::move(target)),
        is_durable_(is_durable) {
    buffer_.reserve(kBufferBytes);
  }

  ~FdSink() override {
    if (owns_fd_ && fd_ >= 0) ::close(fd_);
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
  }

 protected:
  void WriteSome(absl::string_view bytes) override {
    if (buffer_.size() + bytes.size() > kBufferBytes) {
      Put(buffer_);
      buffer_.clear();
      if (bytes.size() >= kBufferBytes) {
        Put(bytes);
        return;
      }
    }
    buffer_.append(bytes.data(), bytes.size());
  }

  void Finish() override {
    Put(buffer_);
    buffer_.clear();
    if (!status().ok()) return;
    if (!temporary_.empty() && is_durable_ && ::fsync(fd_) != 0) return Fail("cannot flush to disk");
    if (owns_fd_) {
      const int fd = std::exchange(fd_, -1);
      if (::close(fd) != 0) return Fail("cannot close");
    }
    if (temporary_.empty()) return;
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) return Fail("cannot rename the finished file");
    temporary_.clear();
    if (is_durable_) {
      const size_t slash = target_.rfind('/');
      const std::string directory = slash == std::string::npos ? "." : slash == 0 ? "/" : target_.substr(0, slash);
      const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      if (fd >= 0) {  // a directory that can be written but not read cannot be flushed; the file is there all the same
        const bool is_failed = ::fsync(fd) != 0 && errno != EINVAL;
        const int error = errno;
        ::close(fd);
        errno = error;
        if (is_failed) Fail("cannot flush the directory to disk");
      }
    }
  }

 private:
  void Fail(absl::string_view what) { set_status(absl::ErrnoToStatus(errno, absl::StrCat(name(), ": ", what))); }

  void Put(absl::string_view bytes) {
    while (!bytes.empty() && status().ok()) {
      const ssize_t put = ::write(fd_, bytes.data(), std::min<size_t>(bytes.size(), 1 << 30));
      if (put >= 0) {
        bytes.remove_prefix(static_cast<size_t>(put));
      } else if (errno != EINTR) {
        Fail("cannot write");
      }
    }
  }

  int fd_;
  const bool owns_fd_;
  std::string temporary_;
  const std::string target_;
  const bool is_durable_;
  std::string buffer_;
};

absl::Status CheckLevel(Compression compression, std::optional<int> level, absl::string_view name) {
  if (!level.has_value()) return absl::OkStatus();
  const int first = compression == Compression::kZstd ? 1 : 0;
  const int last = compression == Compression::kZstd ? 19 : compression == Compression::kGzip ? 3 : 0;
  if (*level >= first && *level <= last) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": expected a compression level from ", first, " to ", last, ", got ", *level));
}

// A file in the directory of `target`, whose name is cut (between characters of UTF-8) if it would be too long.
std::string TemporaryPath(const std::string& target, int number) {
  constexpr size_t kMaxNameBytes = 255;
  const std::string suffix = absl::StrCat(".tmp-", ::getpid(), "-", number);
  const size_t name_begin = target.rfind('/') + 1;  // npos + 1 is 0
  size_t end = std::min(target.size(), name_begin + kMaxNameBytes - suffix.size());
  while (end > name_begin && end < target.size() && (static_cast<unsigned char>(target[end]) & 0xc0) == 0x80) --end;
  return absl::StrCat(absl::string_view(target).substr(0, end), suffix);
}

absl::StatusOr<std::unique_ptr<ByteSink>> CreateFile(const std::string& path, bool is_durable) {
  struct stat info;
  std::string target = path;
  const bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": expected a file to write, got a directory"));
  }
  if (exists && !S_ISREG(info.st_mode)) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot open for writing"));
    return std::unique_ptr<ByteSink>(new FdSink(fd, /*owns_fd=*/true, path, "", "", /*is_durable=*/false));
  }
  if (exists) {
    if (char* const resolved = ::realpath(path.c_str(), nullptr); resolved != nullptr) {
      target = resolved;
      std::free(resolved);
    }
  }
  for (int number = 0; number < 1000; ++number) {
    const std::string temporary = TemporaryPath(target, number);
    const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) {
      return std::unique_ptr<ByteSink>(new FdSink(fd, /*owns_fd=*/true, path, temporary, target, is_durable));
    }
    if (errno != EEXIST) break;  // else another sink of ours has it, or a dead process that had our number left it
  }
  return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot create"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ByteSink>> CreateOutput(const std::string& path, const OutputOptions& options) {
  if (absl::Status status = CheckLevel(options.compression, options.level, path); !status.ok()) return status;
  std::unique_ptr<ByteSink> sink;
  if (path == "-") {
    sink.reset(new FdSink(STDOUT_FILENO, /*owns_fd=*/false, "<stdout>", "", "", /*is_durable=*/false));
  } else {
    absl::StatusOr<std::unique_ptr<ByteSink>> file = CreateFile(path, options.is_durable);
    if (!file.ok()) return file.status();
    sink = *std::move(file);
  }
  return MakeCompressingSink(std::move(sink), options.compression, options.level, options.executor);
}

absl::StatusOr<std::unique_ptr<ByteSink>> MakeCompressingSink(std::unique_ptr<ByteSink> sink, Compression compression,
                                                              std::optional<int> level, Executor* executor) {
  if (absl::Status status = CheckLevel(compression, level, sink->name()); !status.ok()) return status;
  switch (compression) {
    case Compression::kNone: break;
    case Compression::kGzip: return MakeGzipSink(std::move(sink), level.value_or(1), executor);
    case Compression::kZstd: return MakeZstdSink(std::move(sink), level.value_or(3), executor);
  }
  return sink;
}

Compression CompressionForPath(absl::string_view path) {
  if (absl::EndsWith(path, ".gz")) return Compression::kGzip;
  if (absl::EndsWith(path, ".zst")) return Compression::kZstd;
  return Compression::kNone;
}

}  // namespace tracekiln::io
