// Reading twice what can be read only once.
//
//   if (format.needs_rewind && !source->can_rewind()) {
//     auto rewindable = MakeRewindable(std::move(source), executor);
//     if (!rewindable.ok()) return rewindable.status();
//     source = *std::move(rewindable);
//   }
//
// The trace is kept as a .kiln file: in memory while it is small, then in a temporary file that has no name, so nothing
// is left behind however the program ends.
#ifndef TRACEKILN_FORMATS_FORMAT_SPOOL_H_
#define TRACEKILN_FORMATS_FORMAT_SPOOL_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "formats/intermediate/trace_source.h"
#include "formats/io/byte_source.h"
#include "formats/io/executor.h"
#include "formats/io/random_access.h"

namespace tracekiln {

struct SpoolOptions {
  uint64_t memory_limit_bytes = uint64_t{64} << 20;
  // Where the temporary file goes. Empty: $TMPDIR, else /tmp.
  std::string directory;
};

// Reads `source` to its end and returns a rewindable source with the same rows, info and profile. Returns `source`
// itself if it is rewindable already. Errors are those of the source and of the temporary file. `executor` must outlive
// the result.
absl::StatusOr<std::unique_ptr<TraceSource>> MakeRewindable(std::unique_ptr<TraceSource> source, io::Executor& executor,
                                                            const SpoolOptions& options = {});

// All bytes of `source` as something that can be read at any offset, under the same name.
absl::StatusOr<std::shared_ptr<io::RandomAccessFile>> SpoolBytes(io::ByteSource& source,
                                                                 const SpoolOptions& options = {});

}  // namespace tracekiln

#endif  // TRACEKILN_FORMATS_FORMAT_SPOOL_H_
