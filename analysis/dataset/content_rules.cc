#include "analysis/dataset/content_rules.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "formats/format/detect.h"
#include "formats/intermediate/field_catalog.h"

namespace tracekiln::dataset {
namespace {

// Below this a format's sniff() only says that it has the best words for refusing the file.
constexpr int kSure = 50;

bool Has(absl::string_view text, absl::string_view word) { return text.find(word) != absl::string_view::npos; }
bool HasKey(absl::string_view text, absl::string_view key) { return Has(text, absl::StrCat("\"", key, "\"")); }

// UTF-8 (a character cut off at the end is no matter) without control characters but those of logs.
bool IsPlainText(absl::string_view head) {
  int continuation_count = 0;
  for (const char c : head) {
    const unsigned char u = static_cast<unsigned char>(c);
    if (continuation_count > 0) {
      if ((u & 0xc0) != 0x80) return false;
      --continuation_count;
    } else if (u >= 0x80) {
      if (u < 0xc2 || u > 0xf4) return false;
      continuation_count = u < 0xe0 ? 1 : u < 0xf0 ? 2 : 3;
    } else if ((u < 0x20 && u != '\n' && u != '\r' && u != '\t' && u != '\f' && u != '\x1b') || u == 0x7f) {
      return false;
    }
  }
  return true;
}

// An allocator snapshot of PyTorch: a pickle of a dictionary with "segments" or "device_traces" among the first keys.
// Source: torch/cuda/memory.py _dump_snapshot.
bool IsMemorySnapshot(absl::string_view head) {
  if (head.size() < 2 || head[0] != '\x80' || head[1] < 2 || head[1] > 5) return false;
  const absl::string_view first = head.substr(0, 256);
  return Has(first, "segments") || Has(first, "device_traces");
}

std::optional<uint64_t> ReadVarint(absl::string_view* bytes) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !bytes->empty(); shift += 7) {
    const uint8_t byte = static_cast<uint8_t>(bytes->front());
    bytes->remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

bool IsWord(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(c) || c == '.' || c == '-' || c == '_';
  });
}

// The text of the length-delimited field `tag` that `bytes` begins with; empty if there is none, or it is cut off.
absl::string_view FirstField(absl::string_view bytes, char tag) {
  if (bytes.empty() || bytes[0] != tag) return {};
  bytes.remove_prefix(1);
  const std::optional<uint64_t> size = ReadVarint(&bytes);
  return size && *size <= bytes.size() ? bytes.substr(0, *size) : absl::string_view();
}

// Chakra's .et: messages with their sizes in front, the first a GlobalMetadata { version = 1; attr = 2 { name = 1 } }
// with a version like "0.0.4", an attribute with a name, or both. Source: chakra schema/protobuf/et_def.proto.
bool IsChakra(absl::string_view head, bool is_whole) {
  const std::optional<uint64_t> size = ReadVarint(&head);
  if (!size || *size < 3 || (is_whole && *size > head.size())) return false;
  head = head.substr(0, *size);
  const absl::string_view version = FirstField(head, '\x0a');
  if (!version.empty()) return version.size() < 64 && absl::ascii_isdigit(version[0]) && IsWord(version);
  return IsWord(FirstField(FirstField(head, '\x12'), '\x0a'));
}

// The number behind the first `key` in `text`, whatever quotes and blanks are between.
std::optional<int64_t> NumberBehind(absl::string_view text, absl::string_view key) {
  const size_t place = text.find(key);
  if (place == absl::string_view::npos) return std::nullopt;
  text.remove_prefix(place + key.size());
  while (!text.empty() && (text[0] == '\\' || text[0] == '"' || text[0] == ':' || text[0] == ' '))
    text.remove_prefix(1);
  const size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  int64_t number = 0;
  if (end == text.size() || !absl::SimpleAtoi(text.substr(0, end), &number)) return std::nullopt;
  return number;
}

// The size of the default group, as the node "## process_group:init ##" has it: JSON inside of a JSON string. Only the
// default group is all of the job.
std::optional<int64_t> WorldSizeOfExecutionTrace(absl::string_view head) {
  const size_t node = head.find("process_group:init");
  if (node == absl::string_view::npos) return std::nullopt;
  head.remove_prefix(node);
  const size_t group = head.find("default_pg");
  if (group == absl::string_view::npos) return std::nullopt;
  head.remove_prefix(group);
  return NumberBehind(head.substr(0, head.find('}')), "group_size");
}

bool IsTar(absl::string_view head) { return head.size() > 262 && head.substr(257, 5) == "ustar"; }

}  // namespace

Content ClassifyContent(absl::string_view head, bool is_whole, absl::Span<const Format* const> formats) {
  Content content;
  int best = kSure - 1;
  for (const Format* format : formats) {
    const int score = format->sniff == nullptr ? 0 : format->sniff(head);
    if (score > best) {
      best = score;
      content.format = format;
    }
  }
  if (content.format != nullptr) {
    content.kind = content.format->name == "kiln"         ? FileKind::kKiln
                   : content.format->name == "pstats"     ? FileKind::kProfile
                   : content.format->name == "pytorch-et" ? FileKind::kExecutionTrace
                   : content.format->name == "chakra"     ? FileKind::kChakra
                                                          : FileKind::kTimeline;
    if (content.kind == FileKind::kExecutionTrace) content.world_size = WorldSizeOfExecutionTrace(head);
    return content;
  }
  const absl::string_view text = absl::StripLeadingAsciiWhitespace(head);
  if (absl::StartsWith(text, "{")) {
    if (HasKey(head, "schema") && HasKey(head, "nodes")) {
      content.kind = FileKind::kExecutionTrace;
      content.world_size = WorldSizeOfExecutionTrace(head);
      return content;
    }
    // So many devices or process groups that the events begin behind the head.
    if (!is_whole && (HasKey(head, fields::kSchemaVersion) || HasKey(head, fields::kDeviceProperties) ||
                      HasKey(head, fields::kDistributedInfo))) {
      content.format = FindFormatByName(formats, "chrome");
      content.kind = FileKind::kTimeline;
      return content;
    }
  }
  if (IsMemorySnapshot(head)) {
    content.kind = FileKind::kMemorySnapshot;
  } else if (IsChakra(head, is_whole)) {
    content.kind = FileKind::kChakra;
  } else if (IsTar(head)) {
    content.note = "a tar archive (unpack it first)";
  } else {
    content.note = DescribeContent(head);
    if (!absl::StartsWith(text, "{") && !absl::StartsWith(text, "[") && !absl::StartsWith(text, "<") &&
        !absl::StartsWith(text, "version https://git-lfs") && IsPlainText(head)) {
      content.kind = FileKind::kText;
    }
  }
  return content;
}

absl::string_view LeftoverByName(absl::string_view name) {
  if (absl::StartsWith(name, "._")) return "a resource fork of macOS";
  if (name == ".DS_Store" || name == "Thumbs.db" || name == "desktop.ini") return "made by a file manager";
  if (absl::StartsWith(name, ".nfs")) return "a file removed while open (NFS)";
  if (absl::EndsWith(name, "~") || absl::EndsWith(name, ".bak") || absl::EndsWith(name, ".orig") ||
      absl::EndsWith(name, ".swp") || absl::EndsWith(name, ".swo") ||
      (name.size() > 1 && absl::StartsWith(name, "#") && absl::EndsWith(name, "#"))) {
    return "an editor's copy";
  }
  for (const absl::string_view end : {".part", ".partial", ".crdownload", ".incomplete", ".download"}) {
    if (absl::EndsWithIgnoreCase(name, end)) return "a half-written file";
  }
  // rank0.json.tmp, rank0.json.tmp-123-4 (our own), rank0.tmp.json.gz (Kineto while it compresses), .rank0.json.Xy12zA
  // (rsync).
  if (absl::EndsWithIgnoreCase(name, ".tmp") || Has(name, ".tmp-") || Has(name, ".tmp.") || Has(name, ".temp.") ||
      absl::EndsWithIgnoreCase(name, ".temp")) {
    return "a temporary file";
  }
  if (absl::StartsWith(name, ".") && name.size() > 8 && name[name.size() - 7] == '.' &&
      std::all_of(name.end() - 6, name.end(), absl::ascii_isalnum) && Has(name.substr(1, name.size() - 8), ".")) {
    return "a temporary file";
  }
  if (absl::EndsWith(name, ".lock")) return "a lock file";
  return "";
}

bool EndsLikeJson(absl::string_view head, absl::string_view end) {
  head = absl::StripLeadingAsciiWhitespace(head);
  if (head.empty() || head[0] != '{') return true;
  end = absl::StripTrailingAsciiWhitespace(end);
  return !end.empty() && end.back() == '}';
}

}  // namespace tracekiln::dataset
