#include "formats/pstats/safe_name.h"

#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/pstats/generalized_utf8.h"

namespace tracekiln::pstats {
namespace {

void AppendByte(unsigned char byte, std::string* out) { absl::StrAppend(out, "\\x", absl::Hex(byte, absl::kZeroPad2)); }

// What a `<` at text[0] begins that must not reach a <script> element.
bool BeginsMarkup(absl::string_view text) {
  return absl::StartsWith(text, "<!--") || absl::StartsWithIgnoreCase(text, "</script");
}

// Sequences of three bytes that XML or UTF-8 have no place for.
bool IsUnsafeOfThree(const char* p) {
  if (IsSurrogate(p)) return true;
  return p[0] == '\xef' && p[1] == '\xbf' && static_cast<unsigned char>(p[2]) >= 0xbe;
}

// Replaces nothing but ill-formed bytes.
std::string GeneralizedUtf8(absl::string_view text) {
  std::string out;
  const char* const end = text.data() + text.size();
  for (const char* p = text.data(); p < end;) {
    const int length = SequenceLength(p, end);
    if (length > 0) {
      out.append(p, static_cast<size_t>(length));
      p += length;
    } else {
      for (int i = 0; i < -length; ++i) AppendByte(static_cast<unsigned char>(*p++), &out);
    }
  }
  return out;
}

}  // namespace

bool IsSafeName(absl::string_view name) {
  // Nearly all names pass here: no byte below 0x20, of 0x7f and above, and no `<` (which only built-ins have).
  bool is_plain = true;
  for (const char c : name) is_plain &= static_cast<signed char>(c) >= 0x20 && c != 0x7f && c != '<';
  if (is_plain) return true;
  const char* const end = name.data() + name.size();
  for (const char* p = name.data(); p < end;) {
    const unsigned char c = static_cast<unsigned char>(*p);
    if (c < 0x20 || c == 0x7f) return false;
    const int length = SequenceLength(p, end);
    if (length < 0 || (length == 3 && IsUnsafeOfThree(p))) return false;
    if (c == '<' && BeginsMarkup(absl::string_view(p, static_cast<size_t>(end - p)))) return false;
    p += length;
  }
  return true;
}

std::string SafeName(absl::string_view name) {
  std::string out;
  out.reserve(name.size());
  const char* const end = name.data() + name.size();
  for (const char* p = name.data(); p < end;) {
    const unsigned char c = static_cast<unsigned char>(*p);
    const int length = SequenceLength(p, end);
    if (c < 0x20 || c == 0x7f) {
      AppendByte(c, &out);
      ++p;
    } else if (length < 0) {
      for (int i = 0; i < -length; ++i) AppendByte(static_cast<unsigned char>(*p++), &out);
    } else if (length == 3 && IsUnsafeOfThree(p)) {
      absl::StrAppend(&out, "\\u", absl::Hex(CodePoint(p, 3), absl::kZeroPad4));
      p += 3;
    } else {
      out.append(p, static_cast<size_t>(length));
      if (c == '<' && BeginsMarkup(absl::string_view(p, static_cast<size_t>(end - p)))) out.push_back('\\');
      p += length;
    }
  }
  return out;
}

SafeKeys::SafeKeys(const Profile& profile, Texts texts) : profile_(profile) {
  for (uint32_t i = 0; i < profile.strings.size() && !is_changed_; ++i) {
    const absl::string_view text = profile.strings.Get(StringId{i});
    is_changed_ = texts == Texts::kSafe ? !IsSafeName(text) : !IsGeneralizedUtf8(text);
  }
  if (is_changed_) MakeKeys(texts);
}

void SafeKeys::MakeKeys(Texts texts) {
  // Ours by the profile's id. A safe text may be equal to another text of the profile, so ids differ.
  std::vector<StringId> ids;
  std::vector<bool> is_text_changed;
  for (uint32_t i = 0; i < profile_.strings.size(); ++i) {
    const absl::string_view text = profile_.strings.Get(StringId{i});
    const bool is_fine = texts == Texts::kSafe ? IsSafeName(text) : IsGeneralizedUtf8(text);
    is_text_changed.push_back(!is_fine);
    ids.push_back(is_fine ? strings_.Intern(text)
                          : strings_.Intern(texts == Texts::kSafe ? SafeName(text) : GeneralizedUtf8(text)));
  }
  using FullKey = std::tuple<uint32_t, int64_t, uint32_t>;
  absl::flat_hash_set<FullKey> taken;
  absl::flat_hash_map<FullKey, uint64_t> last_suffix;
  keys_.reserve(profile_.functions().size());
  for (const Profile::Function& f : profile_.functions()) {
    keys_.push_back({ids[Index(f.file)], ids[Index(f.name)]});
    if (is_text_changed[Index(f.file)] || is_text_changed[Index(f.name)]) {
      ++changed_function_count_;
    } else {
      taken.insert({Index(keys_.back().file), f.line, Index(keys_.back().name)});
    }
  }
  for (uint32_t i = 0; i < keys_.size(); ++i) {
    const Profile::Function& f = profile_.functions()[i];
    if (!is_text_changed[Index(f.file)] && !is_text_changed[Index(f.name)]) continue;
    Key& key = keys_[i];
    const FullKey wanted{Index(key.file), f.line, Index(key.name)};
    if (taken.insert(wanted).second) continue;
    const std::string name(strings_.Get(key.name));
    for (uint64_t& n = last_suffix.try_emplace(wanted, 1).first->second;;) {
      key.name = strings_.Intern(absl::StrCat(name, " (", ++n, ")"));
      if (taken.insert({Index(key.file), f.line, Index(key.name)}).second) break;
    }
  }
}

}  // namespace tracekiln::pstats
