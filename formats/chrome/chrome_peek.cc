#include "formats/chrome/chrome_peek.h"

#include <cstring>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "formats/intermediate/field_catalog.h"
#include "formats/json/number.h"
#include "formats/json/scan.h"

namespace tracekiln::chrome {
namespace {

// Calls on_member(key, begin of value) for the members of the object at `p` that begin before `last`, as far as they
// can be told apart. Keys with escapes are passed as they stand.
template <typename OnMember>
void ForEachMember(const char* p, const char* end, const char* last, OnMember on_member) {
  for (++p;;) {
    p = json::SkipBlanks(p, end);
    if (p < end && *p == ',') {
      ++p;
      continue;
    }
    if (p >= last || *p != '"') return;
    bool escaped = false;
    const char* const key = p + 1;
    const char* const key_end = json::FindStringEnd(key, end, &escaped);
    if (key_end >= end) return;
    p = json::SkipBlanks(key_end + 1, end);
    if (p >= end || *p != ':') return;
    p = json::SkipBlanks(p + 1, end);
    if (p >= end) return;
    on_member(absl::string_view(key, static_cast<size_t>(key_end - key)), p);
    if (p >= last) return;
    if (*p == '{' || *p == '[') {
      p = json::FindNestedEnd(p, end);
      if (p == nullptr) return;
    } else if (*p == '"') {
      p = json::FindStringEnd(p + 1, end, &escaped);
      if (p >= end) return;
      ++p;
    } else {
      while (p < end && *p != ',' && *p != '}') ++p;
    }
  }
}

// The integer at `p` if it is whole.
std::optional<int64_t> WholeInt(const char* p, const char* end) {
  const json::Number number = json::ParseNumber(p, end);
  if (number.type != json::NumberType::kInt || number.end >= end) return std::nullopt;
  const char c = *number.end;
  if (c != ',' && c != '}' && c != ' ' && c != '\n' && c != '\r' && c != '\t') return std::nullopt;
  return number.i;
}

// As text.rfind(word), which goes byte by byte; memmem does not.
size_t FindLast(absl::string_view text, absl::string_view word) {
  size_t last = absl::string_view::npos;
  for (size_t from = 0; from < text.size();) {
    const void* const found = memmem(text.data() + from, text.size() - from, word.data(), word.size());
    if (found == nullptr) break;
    last = static_cast<size_t>(static_cast<const char*>(found) - text.data());
    from = last + word.size();
  }
  return last;
}

}  // namespace

void PeekChromeJson(absl::string_view head, TraceInfo* info) {
  const size_t last = FindLast(head, absl::StrCat("\"", fields::kDistributedInfo, "\""));
  if (last == absl::string_view::npos) return;
  std::string text(head);
  text.append(json::kPadding, ' ');
  const char* const end = text.data() + head.size();
  const char* const begin = json::SkipBlanks(text.data(), end);
  if (begin >= end || *begin != '{') return;
  // What stands behind the last occurrence of the key, most of all the events, need not be walked.
  ForEachMember(begin, end, text.data() + last + 1, [&](absl::string_view key, const char* value) {
    if (key != fields::kDistributedInfo || *value != '{') return;
    // The last one counts.
    info->rank = std::nullopt;
    info->world_size = std::nullopt;
    ForEachMember(value, end, end, [&](absl::string_view name, const char* number) {
      if (name == fields::kRank) info->rank = WholeInt(number, end);
      if (name == fields::kWorldSize) info->world_size = WholeInt(number, end);
    });
  });
}

}  // namespace tracekiln::chrome
