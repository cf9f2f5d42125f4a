#include "tools/output_path.h"

#include <sys/stat.h>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace tracekiln::tools {

std::string OutputName(absl::string_view input, const Format& to, io::Compression compression,
                       absl::Span<const Format* const> formats) {
  absl::string_view name = input;
  const size_t slash = name.rfind('/');
  if (slash != absl::string_view::npos) name.remove_prefix(slash + 1);
  auto strip = [&](absl::string_view extension) {
    return !extension.empty() && name.size() > extension.size() && absl::ConsumeSuffix(&name, extension);
  };
  for (absl::string_view container : {".gz", ".zst", ".zip"}) {
    if (strip(container)) break;
  }
  for (const Format* format : formats) {
    if (strip(format->extension)) break;
  }
  absl::string_view packed;
  if (compression == io::Compression::kGzip) packed = ".gz";
  if (compression == io::Compression::kZstd) packed = ".zst";
  return absl::StrCat(name.empty() ? "trace" : name, to.extension, packed);
}

bool IsSameFile(const std::string& a, const std::string& b) {
  struct stat stat_a;
  struct stat stat_b;
  return stat(a.c_str(), &stat_a) == 0 && stat(b.c_str(), &stat_b) == 0 && stat_a.st_dev == stat_b.st_dev &&
         stat_a.st_ino == stat_b.st_ino;
}

bool FileExists(const std::string& path) {
  struct stat s;
  return lstat(path.c_str(), &s) == 0;
}

bool IsDirectory(const std::string& path) {
  struct stat s;
  return stat(path.c_str(), &s) == 0 && S_ISDIR(s.st_mode);
}

absl::StatusOr<CompressionChoice> ParseCompression(absl::string_view text) {
  CompressionChoice choice;
  const size_t colon = text.find(':');
  const absl::string_view name = text.substr(0, colon);
  bool is_known = true;
  if (name == "gzip") {
    choice.compression = io::Compression::kGzip;
  } else if (name == "zstd") {
    choice.compression = io::Compression::kZstd;
  } else {
    is_known = name == "none" && colon == absl::string_view::npos;
  }
  if (is_known && colon != absl::string_view::npos) {
    int level;
    is_known = absl::SimpleAtoi(text.substr(colon + 1), &level);
    choice.level = level;
  }
  if (!is_known) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--compress takes none, gzip or zstd, the last two also with a level such as zstd:9, not \"", text, "\""));
  }
  return choice;
}

}  // namespace tracekiln::tools
