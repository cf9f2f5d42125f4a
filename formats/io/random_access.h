#ifndef TRACEKILN_FORMATS_IO_RANDOM_ACCESS_H_
#define TRACEKILN_FORMATS_IO_RANDOM_ACCESS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tracekiln::io {

// Bytes that can be read at any offset: a regular file (pread) or memory. For readers that use an index, and for
// several threads that work on one file. All methods are const and thread-safe.
class RandomAccessFile {
 public:
  virtual ~RandomAccessFile();
  RandomAccessFile(const RandomAccessFile&) = delete;
  RandomAccessFile& operator=(const RandomAccessFile&) = delete;

  // Copies bytes [offset, offset + size) to `out`: all of them, or an error. OutOfRange if they are not all within
  // size(), DataLoss if the file became shorter since it was opened, else what the system says.
  [[nodiscard]] virtual absl::Status ReadAt(uint64_t offset, size_t size, char* out) const = 0;

  // Tells the system that [offset, offset + size) will be read from front to back soon. Only ever makes it faster.
  virtual void WillReadInSequence(uint64_t offset, uint64_t size) const;

  // The size when the file was opened.
  uint64_t size() const { return size_bytes_; }

  // The name for messages.
  const std::string& name() const { return name_; }

 protected:
  RandomAccessFile(std::string name, uint64_t size_bytes) : name_(std::move(name)), size_bytes_(size_bytes) {}

 private:
  const std::string name_;
  const uint64_t size_bytes_;
};

// Opens a regular file. NotFound, PermissionDenied and so on with the path; InvalidArgument for a directory;
// FailedPrecondition for a pipe or a device, which cannot be read at random.
[[nodiscard]] absl::StatusOr<std::shared_ptr<RandomAccessFile>> OpenRandomAccess(const std::string& path);

// The same for a descriptor that is already open, of a regular file; it is closed with the object. `path` is for
// messages.
[[nodiscard]] absl::StatusOr<std::shared_ptr<RandomAccessFile>> AdoptRandomAccess(int fd, const std::string& path);

// Bytes in memory, under a name for messages.
std::shared_ptr<RandomAccessFile> MakeMemoryFile(std::string bytes, std::string name);

}  // namespace tracekiln::io

#endif  // TRACEKILN_FORMATS_IO_RANDOM_ACCESS_H_
