#ifndef TRACEKILN_FORMATS_IO_OUTPUT_H_
#define TRACEKILN_FORMATS_IO_OUTPUT_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/io/byte_sink.h"
#include "formats/io/executor.h"

namespace tracekiln::io {

// Files come into being whole or not at all, and compressed on all cores.
//
//   io::ThreadPool pool(8);
//   auto sink = io::CreateOutput("out.json.gz", {.compression = io::CompressionForPath("out.json.gz"),
//                                                .executor = &pool});
//   if (!sink.ok()) return sink.status();
//   (*sink)->Write(...);
//   return (*sink)->Close();
enum class Compression { kNone, kGzip, kZstd };

struct OutputOptions {
  Compression compression = Compression::kNone;

  // gzip: 0 to 3 (ISA-L's levels; see README.md for what they cost). zstd: 1 to 19. Absent: the default, 1 for gzip and
  // 3 for zstd.
  std::optional<int> level = std::nullopt;

  // Compresses blocks in parallel if given; else in the thread that writes. Must outlive the sink. The bytes written
  // are the same either way. The sink may be used from work that runs on this executor.
  Executor* executor = nullptr;

  // Close waits until the disk has the file (fsync of file and directory).
  bool is_durable = true;
};

// Opens `path` for writing; "-" is standard output. The bytes go to `<path>.tmp-<pid>-<n>` in the same directory (the
// name of the path cut if that is too long) and
// Close renames that to `path`; destroying the sink without a successful Close removes it and leaves `path` alone. An
// existing symbolic link keeps pointing at what it points at, which is replaced; what is no regular file (a pipe,
// /dev/null) is written directly.
// InvalidArgument for a level out of range or a directory, else as the system says, with the path. Writing to a closed
// pipe is an error only if the program ignores SIGPIPE; otherwise the signal ends it.
[[nodiscard]] absl::StatusOr<std::unique_ptr<ByteSink>> CreateOutput(const std::string& path,
                                                                     const OutputOptions& options = {});

// Compresses into `sink` (owned; closed by Close). kNone returns `sink` itself. Deterministic: the output depends on
// the bytes, the compression and the level only, not on threads nor on how the bytes are cut into Writes. gzip is one
// member (catapult reads no second one) made of independently compressed blocks; zstd is one frame per 4 MiB, with
// content size and checksum. Memory: executor->concurrency() + 2 blocks. InvalidArgument for a level out of range.
[[nodiscard]] absl::StatusOr<std::unique_ptr<ByteSink>> MakeCompressingSink(std::unique_ptr<ByteSink> sink,
                                                                            Compression compression,
                                                                            std::optional<int> level = std::nullopt,
                                                                            Executor* executor = nullptr);

// What a path asks for by its end: ".gz" is gzip, ".zst" zstd, anything else nothing. (For output only: what a file
// *is* shows in its bytes, see input.h.)
Compression CompressionForPath(absl::string_view path);

}  // namespace tracekiln::io

#endif  // TRACEKILN_FORMATS_IO_OUTPUT_H_
