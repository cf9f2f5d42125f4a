#include "tools/batch/json_fields.h"

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "formats/json/canonical.h"
#include "formats/json/text.h"

namespace tracekiln::batch {

void WritePath(absl::string_view key, absl::string_view path, json::Writer* w) {
  w->Key(key), w->String(path);
  if (!json::IsCleanUtf8(path)) w->Key(absl::StrCat(key, "_hex")), w->String(absl::BytesToHexString(path));
}

Fields::Fields(absl::string_view canonical) : members_(json::Members(canonical)) {}

absl::string_view Fields::Raw(absl::string_view key) const {
  for (const auto& [name, value] : members_) {
    if (absl::string_view(name) == key) return value;
  }
  return {};
}

std::string Fields::Text(absl::string_view key) const { return json::AsString(Raw(key)).value_or(""); }

std::string Fields::Path(absl::string_view key) const {
  const std::string hex = Text(absl::StrCat(key, "_hex"));
  const bool is_hex = !hex.empty() && hex.size() % 2 == 0 &&
                      absl::string_view(hex).find_first_not_of("0123456789abcdef") == absl::string_view::npos;
  return is_hex ? absl::HexStringToBytes(hex) : Text(key);
}

std::optional<int64_t> Fields::Int(absl::string_view key) const {
  const absl::string_view raw = Raw(key);
  return raw.empty() ? std::nullopt : json::AsInt(raw);
}

std::vector<absl::string_view> Fields::Array(absl::string_view key) const { return Elements(Raw(key)); }

std::vector<absl::string_view> Elements(absl::string_view canonical) {
  std::vector<absl::string_view> elements;
  if (canonical.size() < 3 || canonical.front() != '[') return elements;
  size_t begin = 1;
  int depth = 0;
  bool is_text = false;
  for (size_t i = 1; i < canonical.size(); ++i) {
    const char c = canonical[i];
    if (is_text) {
      if (c == '\\') ++i;
      if (c == '"') is_text = false;
    } else if (c == '"') {
      is_text = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (depth > 0 && (c == '}' || c == ']')) {
      --depth;
    } else if (depth == 0 && (c == ',' || c == ']')) {
      elements.push_back(canonical.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  return elements;
}

absl::StatusOr<std::string> Canonical(absl::string_view text) {
  if (!json::IsJson(text)) return absl::InvalidArgumentError("this is not JSON");
  std::string padded(text);
  padded.append(64, '\0');
  struct Ignore final : json::DamageSink {
    void OnDamage(json::Damage, const char*) override {}
  } ignore;
  json::Error error;
  std::string canonical;
  if (json::AppendCanonical(padded.data(), padded.data() + text.size(), &canonical, &ignore, &error) == nullptr) {
    return absl::InvalidArgumentError(error.reason);
  }
  return canonical;
}

}  // namespace tracekiln::batch
