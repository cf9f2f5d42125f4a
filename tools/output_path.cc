#include "tools/output_path.h"

#include <sys/stat.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace tracekiln::tools {
namespace {

constexpr size_t kMaxFileNameBytes = 255;

uint64_t Fnv1a(absl::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

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
  const std::string extension = absl::StrCat(to.extension, packed);
  if (name.size() + extension.size() <= kMaxFileNameBytes) {
    return absl::StrCat(name.empty() ? "trace" : name, extension);
  }
  // Two long names often differ at the end only.
  const std::string hash = absl::StrCat("~", absl::Hex(Fnv1a(name) >> 16, absl::kZeroPad12));
  size_t end = kMaxFileNameBytes - extension.size() - hash.size();
  while (end > 0 && (static_cast<uint8_t>(name[end]) & 0xc0) == 0x80) --end;  // between characters
  return absl::StrCat(name.substr(0, end), hash, extension);
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
