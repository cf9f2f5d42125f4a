#ifndef TRACEKILN_FORMATS_IO_BYTE_SOURCE_H_
#define TRACEKILN_FORMATS_IO_BYTE_SOURCE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "formats/io/random_access.h"

namespace tracekiln::io {

// A sequence of bytes, read once from front to back: a file, standard input, memory, or what a decompressor makes of
// another source. Importers read from this and never know which it is.
//
//   while (size_t size = source->Read(buffer, sizeof(buffer))) Use(buffer, size);
//   if (!source->status().ok()) return source->status();
//
// Errors are sticky and come last: every byte obtained before the damage is delivered first, then Read returns 0 and
// status() tells why. Messages read `<name>:<offset>: <what>`.
//
// One thread reads. position(), raw_position(), raw_size() and Cancel() may be called from any thread at any time.
class ByteSource {
 public:
  virtual ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  // Copies the next bytes to out[0, size) and returns how many: at least 1, often fewer than `size`. 0 means the end
  // or a failure (see status()) and stays 0. REQUIRES: size > 0.
  size_t Read(char* out, size_t size);

  // As Read, but returns fewer than `size` bytes only at the end or at a failure.
  size_t ReadFully(char* out, size_t size);

  // OK until a Read returned 0 because of an error. Not for other threads.
  const absl::Status& status() const { return status_; }

  // The offset of the next byte in the decompressed file. It starts at 0, or at 3 if a UTF-8 byte order mark was
  // skipped, so that it can be used in messages; for converted UTF-16 it counts the UTF-8 that was delivered.
  uint64_t position() const { return position_.load(std::memory_order_relaxed); }

  // Decompressed bytes in total, where known beforehand (files and memory that are not compressed).
  virtual std::optional<uint64_t> size_hint() const { return std::nullopt; }

  // Progress in terms of the file on disk: bytes of it consumed so far (a reader that runs ahead is ahead), and bytes
  // in total where known (not for pipes). Without compression the same as position() and size_hint().
  virtual uint64_t raw_position() const { return position(); }
  virtual std::optional<uint64_t> raw_size() const { return size_hint(); }

  // The file name to use in messages: a path, "<stdin>", or "archive.zip(member)".
  const std::string& name() const { return name_; }

  // Makes a Read that waits for a pipe give up soon (within about 0.1 s), with status Cancelled. Sources that never
  // wait ignore it.
  virtual void Cancel() {}

 protected:
  // `start_position` is the initial position().
  explicit ByteSource(std::string name, uint64_t start_position = 0);

  // Implements Read. Returns 0 at the end, or after set_status(); is not called again after it returned 0.
  virtual size_t ReadSome(char* out, size_t size) = 0;

  void set_status(absl::Status status) { status_ = std::move(status); }

 private:
  const std::string name_;
  absl::Status status_;
  bool is_finished_ = false;
  std::atomic<uint64_t> position_;  // written by the reading thread only
};

// Bytes [offset, offset + size) of `file`, clipped to its end. Shares ownership of the file. If the file became shorter
// since it was opened, the source ends with DataLoss. `name` is for messages; empty means that of the file.
std::unique_ptr<ByteSource> MakeFileSource(std::shared_ptr<const RandomAccessFile> file, uint64_t offset = 0,
                                           uint64_t size = UINT64_MAX, std::string name = "");

// A file descriptor that can only be read in sequence: a pipe, a terminal, a device. `owns_fd` closes it at the end.
std::unique_ptr<ByteSource> MakeFdSource(int fd, bool owns_fd, std::string name);

// Standard input, named "<stdin>". The descriptor is not closed.
std::unique_ptr<ByteSource> MakeStdinSource();

// Bytes in memory, under a name for messages.
std::unique_ptr<ByteSource> MakeMemorySource(std::string bytes, std::string name);

// `prefix`, then what is left of `rest`. For peeking: read a few bytes, look at them, put them back. position() starts
// at `rest->position()` less the prefix; name, raw progress and errors are those of `rest`.
// REQUIRES: prefix.size() <= rest->position().
std::unique_ptr<ByteSource> MakePrefixedSource(std::string prefix, std::unique_ptr<ByteSource> rest);

// Reads `source` in a thread of its own, at most `buffer_count` buffers of `buffer_bytes` ahead of the consumer, so
// that decompressing and parsing overlap. Takes ownership. Destroying it early stops and joins the thread (see Cancel).
std::unique_ptr<ByteSource> MakeReadAheadSource(std::unique_ptr<ByteSource> source, int buffer_count = 4,
                                                size_t buffer_bytes = 1 << 20);

// Everything that is left in `source`, for small files. ResourceExhausted if it is more than `limit_bytes`.
[[nodiscard]] absl::StatusOr<std::string> ReadAll(ByteSource* source, uint64_t limit_bytes);

}  // namespace tracekiln::io

#endif  // TRACEKILN_FORMATS_IO_BYTE_SOURCE_H_
