#ifndef TRACEKILN_FORMATS_IO_INPUT_H_
#define TRACEKILN_FORMATS_IO_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/io/byte_source.h"
#include "formats/io/random_access.h"

namespace tracekiln::io {

// Opens a file whatever it is packed in, and lets the caller look at the beginning before deciding who reads it.
//
//   absl::StatusOr<std::unique_ptr<io::Input>> input = io::OpenInput("rank0.json", {});
//   if (!input.ok()) return input.status();
//   if (LooksLikeJson((*input)->Head())) Import((*input)->Stream());
//
// The container is found from the first bytes, never from the name:
//   gzip   any number of members; zero bytes between and after them are skipped as gzip(1) does; anything else behind
//          a member is an error with its offset
//   zstd   any number of frames, skippable ones too. Exception: a file whose first frame is skippable with a payload
//          that begins with "KILN" is the project's own trace file and counts as plain
//   zip    holding one trace, stored or deflated (zip64 too). Directories, "__MACOSX/" and "._*" are ignored; members
//          whose names are absolute, contain "..", a backslash or a drive are not read and are named in notes(). More
//          than one member left is InvalidArgument with their names; encrypted members are Unimplemented
//   plain  the rest
// Containers in containers (a .gz in a .zip) are unpacked two deep; a third is ResourceExhausted.
//
// The text may begin with a byte order mark: UTF-8's is skipped, UTF-16 (either order) is converted to UTF-8,
// also where the mark is missing and the text begins as JSON does; lone surrogates become ill-formed UTF-8. Both leave
// a note.
//
// Damage: a truncated or corrupt container is DataLoss with file, offset in the compressed file and reason; everything
// decompressed before the damage is delivered first (see ByteSource). Memory stays bounded whatever the file claims:
// about 6 MB, plus zstd's window (at most 128 MiB), plus the whole file for a zip that is not a regular file.
enum class Container { kPlain, kGzip, kZstd, kZip };

// "plain", "gzip", "zstd", "zip".
absl::string_view ContainerName(Container container);

// What Head() shows at most.
inline constexpr size_t kHeadBytes = 64 << 10;

struct OpenOptions {
  // Decompress in a thread of its own, ahead of the consumer. Makes no difference to what is delivered. Plain input
  // never needs it.
  bool read_ahead = true;

  // A zip that comes through a pipe, or lies in another container, is read into memory: up to this size, beyond it
  // ResourceExhausted.
  uint64_t zip_in_memory_limit_bytes = uint64_t{1} << 30;

  // What Head() shows; at most kHeadBytes. For programs that look at many files and read none.
  size_t head_bytes = kHeadBytes;
};

// An opened file. Not thread-safe; what Stream() and random_access() return is independent of it and may outlive it.
class Input {
 public:
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  ~Input();

  // The path as given, or "<stdin>".
  const std::string& name() const { return name_; }

  // The outermost container.
  Container container() const { return container_; }

  // The name of the zip member that is read (as in the archive), else empty.
  const std::string& member() const { return member_; }

  // Remarks for the user, one sentence each, without the file name: unsafe zip members, byte order marks.
  const std::vector<std::string>& notes() const { return notes_; }

  // The first bytes of the decompressed text, after any byte order mark: OpenOptions::head_bytes of it, or all if it is
  // shorter.
  absl::string_view Head() const { return head_; }

  // All decompressed bytes, from the first (Head() is delivered again). Can be called once; then nullptr.
  std::unique_ptr<ByteSource> Stream();

  // The file itself, if it is in no container, is regular or in memory, and was not converted from UTF-16; else
  // nullptr. Offsets are those of Stream()->position(). Can be used beside Stream().
  std::shared_ptr<RandomAccessFile> random_access() const { return random_access_; }

 private:
  friend class InputOpener;
  Input() = default;

  std::string name_;
  Container container_ = Container::kPlain;
  std::string member_;
  std::vector<std::string> notes_;
  std::string head_;
  std::unique_ptr<ByteSource> stream_;
  std::shared_ptr<RandomAccessFile> random_access_;
};

// Opens the file at `path`; "-" is standard input. Fails as the system says with the path (NotFound, PermissionDenied,
// InvalidArgument for a directory), and as described above when nothing at all can be unpacked. An empty file is no
// error: Head() is empty.
[[nodiscard]] absl::StatusOr<std::unique_ptr<Input>> OpenInput(const std::string& path,
                                                               const OpenOptions& options = {});

// The same for bytes in memory, under a name for messages.
[[nodiscard]] absl::StatusOr<std::unique_ptr<Input>> OpenMemory(std::string bytes, std::string name,
                                                                const OpenOptions& options = {});

}  // namespace tracekiln::io

#endif  // TRACEKILN_FORMATS_IO_INPUT_H_
