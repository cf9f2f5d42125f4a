// Where a converted trace goes, and as what.
#ifndef TRACEKILN_TOOLS_OUTPUT_PATH_H_
#define TRACEKILN_TOOLS_OUTPUT_PATH_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "formats/format/format.h"
#include "formats/io/output.h"

namespace tracekiln::tools {

// The file name for `input` in format `to`: the last part of its path, without the extensions of containers and of
// known formats, then `to.extension`, then ".gz" or ".zst" if it is to be compressed. "runs/rank0.json.gz" to ".kiln"
// is "rank0.kiln". Never empty, and never a path: no "/" is in it. At most 255 bytes: a
// longer name is cut, with "~" and a hash of all of it behind.
std::string OutputName(absl::string_view input, const Format& to, io::Compression compression,
                       absl::Span<const Format* const> formats);

// Whether both paths name the same existing file (also through links).
bool IsSameFile(const std::string& a, const std::string& b);

bool FileExists(const std::string& path);
bool IsDirectory(const std::string& path);

// "gzip", "zstd:19", "none".
struct CompressionChoice {
  io::Compression compression = io::Compression::kNone;
  std::optional<int> level;
};
// InvalidArgument if `text` is none of these. Whether the level is in range is seen when the output is made.
[[nodiscard]] absl::StatusOr<CompressionChoice> ParseCompression(absl::string_view text);

}  // namespace tracekiln::tools

#endif  // TRACEKILN_TOOLS_OUTPUT_PATH_H_
