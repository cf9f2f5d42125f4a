#include "formats/format/detect.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/format/pickle.h"

namespace tracekiln {
namespace {

bool IsPlainText(absl::string_view bytes) {
  return std::none_of(bytes.begin(), bytes.end(), [](char c) {
    const unsigned char u = static_cast<unsigned char>(c);
    return (u < 0x20 && u != '\n' && u != '\r' && u != '\t') || u == 0x7f;
  });
}

}  // namespace

absl::StatusOr<const Format*> DetectFormat(absl::Span<const Format* const> formats, absl::string_view head,
                                           absl::string_view name) {
  const Format* surest = nullptr;
  int best = 0;
  for (const Format* format : formats) {
    const int score = format->sniff == nullptr ? 0 : format->sniff(head);
    if (score > best) {
      best = score;
      surest = format;
    }
  }
  if (surest != nullptr) return surest;
  return absl::InvalidArgumentError(
      absl::StrCat(name, ":0: no known trace format, this looks like ", DescribeContent(head)));
}

const Format* FindFormatByName(absl::Span<const Format* const> formats, absl::string_view name) {
  for (const Format* format : formats) {
    if (format->name == name) return format;
  }
  return nullptr;
}

std::string DescribeContent(absl::string_view head) {
  struct Magic {
    absl::string_view bytes;
    absl::string_view what;
  };
  static constexpr Magic kMagics[] = {
      {absl::string_view("\xff\xfe", 2), "UTF-16 text (save it as UTF-8)"},
      {absl::string_view("\xfe\xff", 2), "UTF-16 text (save it as UTF-8)"},
      {absl::string_view("\x1f\x8b", 2), "gzip data inside another container"},
      {absl::string_view("\x28\xb5\x2f\xfd", 4), "zstd data inside another container"},
      {absl::string_view("PK\x03\x04", 4), "a zip archive inside another container"},
      {absl::string_view("\x00\x05\x16\x07", 4), "a resource fork of macOS, not the file of that name"},
      {absl::string_view("BZh", 3), "bzip2 data (unpack it first)"},
      {absl::string_view("\xfd"
                         "7zXZ",
                         5),
       "xz data (unpack it first)"},
      {absl::string_view("SQLite format 3\0", 16), "an SQLite database (an Nsight Systems export?)"},
      {absl::string_view("\x7f"
                         "ELF",
                         4),
       "a program (ELF)"},
      {absl::string_view("\x89PNG", 4), "a PNG image"},
      {absl::string_view("%PDF", 4), "a PDF document"},
      {absl::string_view("{\xda", 2), "marshalled Python data (a .prof file?)"},
      {absl::string_view("{\xa9", 2), "marshalled Python data (a .prof file?)"},
      {absl::string_view("{(\x03", 3), "marshalled Python data (a .prof file?)"},
      {absl::string_view("\xfb", 1), "marshalled Python data (a .prof file?)"},
  };
  if (head.empty()) return "an empty file";
  for (const Magic& magic : kMagics) {
    if (absl::StartsWith(head, magic.bytes)) return std::string(magic.what);
  }
  if (const absl::string_view pickle = DescribePickle(head); !pickle.empty()) {
    return absl::StrCat(pickle, ", not marshal data");
  }
  if (head.size() >= 2 && (head[0] == '\0' || head[1] == '\0') && (head[0] != head[1])) {
    return "UTF-16 text without a byte order mark (save it as UTF-8)";
  }
  const absl::string_view text = absl::StripLeadingAsciiWhitespace(head);
  if (text.empty()) return "a file of blanks only";
  if (absl::StartsWithIgnoreCase(text, "<!doctype html") || absl::StartsWithIgnoreCase(text, "<html")) {
    return "an HTML page (a download that wanted a login?)";
  }
  if (absl::StartsWith(text, "version https://git-lfs")) return "a Git LFS pointer (the file itself was not fetched)";
  if (absl::StartsWith(text, "import time:")) return "the text of python -X importtime";
  if (absl::StartsWith(text, "Timer unit: ")) return "the text of line_profiler";
  if (absl::StartsWith(text, "<?xml")) return "an XML document";
  if (text[0] == '{' || text[0] == '[') return "JSON that is no trace";
  // A sequence cut at the end of the head is no matter here: only control bytes count.
  if (IsPlainText(head)) return "plain text";
  return "binary data";
}

}  // namespace tracekiln
