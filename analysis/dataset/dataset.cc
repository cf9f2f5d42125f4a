#include "analysis/dataset/dataset.h"

#include "absl/strings/str_cat.h"

namespace tracekiln::dataset {

absl::string_view KindName(FileKind kind) {
  switch (kind) {
    case FileKind::kTimeline: return "timeline";
    case FileKind::kKiln: return "kiln";
    case FileKind::kExecutionTrace: return "execution_trace";
    case FileKind::kProfile: return "profile";
    case FileKind::kMemorySnapshot: return "memory_snapshot";
    case FileKind::kChakra: return "chakra";
    case FileKind::kText: return "text";
    case FileKind::kLeftover: return "leftover";
    case FileKind::kStranger: return "stranger";
    case FileKind::kUnreadable: return "unreadable";
  }
  return "";
}

std::optional<FileKind> KindFromName(absl::string_view name) {
  for (int i = 0; i <= static_cast<int>(FileKind::kUnreadable); ++i) {
    if (KindName(static_cast<FileKind>(i)) == name) return static_cast<FileKind>(i);
  }
  return std::nullopt;
}

absl::string_view RankSourceName(RankSource source) {
  switch (source) {
    case RankSource::kNone: return "none";
    case RankSource::kLayout: return "layout";
    case RankSource::kContent: return "content";
    case RankSource::kName: return "name";
    case RankSource::kPair: return "pair";
  }
  return "";
}

absl::string_view RoleName(FileRole role) {
  switch (role) {
    case FileRole::kUnsaid: return "";
    case FileRole::kHost: return "host";
    case FileRole::kDevice: return "device";
    case FileRole::kLinked: return "linked";
    case FileRole::kCapture: return "capture";
    case FileRole::kExecution: return "execution";
    case FileRole::kCoordinator: return "coordinator";
  }
  return "";
}

absl::string_view SeverityName(Severity severity) { return severity == Severity::kWarning ? "warning" : "note"; }

std::string RankRanges(absl::Span<const int64_t> ranks) {
  std::string text;
  for (size_t i = 0; i < ranks.size();) {
    size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    absl::StrAppend(&text, i > 0 ? ", " : "", ranks[i]);
    if (end - i > 1) absl::StrAppend(&text, end - i > 2 ? "-" : ", ", ranks[end - 1]);
    i = end;
  }
  return text;
}

}  // namespace tracekiln::dataset
