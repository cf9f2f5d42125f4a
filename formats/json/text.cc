#include "formats/json/text.h"

#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace tracekiln::json {
namespace {

// The length of the well-formed UTF-8 sequence at `p` (1 to 4), or minus the length of the maximal ill-formed one.
int SequenceLength(const unsigned char* p, const unsigned char* end) {
  const unsigned char lead = *p;
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4) return -1;
  const int length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  unsigned char low = 0x80;
  unsigned char high = 0xbf;
  if (lead == 0xe0) low = 0xa0;
  if (lead == 0xed) high = 0x9f;
  if (lead == 0xf0) low = 0x90;
  if (lead == 0xf4) high = 0x8f;
  for (int i = 1; i < length; ++i) {
    if (p + i >= end || p[i] < low || p[i] > high) return -i;
    low = 0x80;
    high = 0xbf;
  }
  return length;
}

void AppendUtf8(uint32_t code, std::string* out) {
  if (code < 0x80) {
    out->push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out->push_back(static_cast<char>(0xc0 | (code >> 6)));
    out->push_back(static_cast<char>(0x80 | (code & 0x3f)));
  } else if (code < 0x10000) {
    out->push_back(static_cast<char>(0xe0 | (code >> 12)));
    out->push_back(static_cast<char>(0x80 | ((code >> 6) & 0x3f)));
    out->push_back(static_cast<char>(0x80 | (code & 0x3f)));
  } else {
    out->push_back(static_cast<char>(0xf0 | (code >> 18)));
    out->push_back(static_cast<char>(0x80 | ((code >> 12) & 0x3f)));
    out->push_back(static_cast<char>(0x80 | ((code >> 6) & 0x3f)));
    out->push_back(static_cast<char>(0x80 | (code & 0x3f)));
  }
}

// Four hexadecimal digits at `p`, or -1.
int32_t ParseHex4(const char* p, const char* end) {
  if (end - p < 4) return -1;
  int32_t value = 0;
  for (int i = 0; i < 4; ++i) {
    const char c = p[i];
    int digit;
    if (c >= '0' && c <= '9') {
      digit = c - '0';
    } else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') {
      digit = (c | 0x20) - 'a' + 10;
    } else {
      return -1;
    }
    value = value * 16 + digit;
  }
  return value;
}

bool IsHighSurrogate(int32_t code) { return code >= 0xd800 && code < 0xdc00; }
bool IsLowSurrogate(int32_t code) { return code >= 0xdc00 && code < 0xe000; }

constexpr char kReplacement[] = "\xef\xbf\xbd";

}  // namespace

absl::string_view DamageName(Damage damage) {
  switch (damage) {
    case Damage::kInvalidUtf8: return "invalid_utf8";
    case Damage::kControlCharacter: return "control_character";
    case Damage::kLoneSurrogate: return "lone_surrogate";
    case Damage::kNonFiniteNumber: return "non_finite_number";
    case Damage::kTrailingComma: return "trailing_comma";
    case Damage::kDuplicateKey: return "duplicate_key";
  }
  return "damage";
}

std::string ShowByte(const char* p, const char* end) {
  if (p >= end) return "end of input";
  const unsigned char c = static_cast<unsigned char>(*p);
  if (c > ' ' && c < 0x7f) return absl::StrCat("`", std::string(1, *p), "`");
  return absl::StrCat("byte 0x", absl::Hex(c, absl::kZeroPad2));
}

bool IsCleanUtf8(absl::string_view text) {
  const unsigned char* p = reinterpret_cast<const unsigned char*>(text.data());
  const unsigned char* const end = p + text.size();
  while (p < end) {
    uint64_t word;
    while (end - p >= 8) {
      std::memcpy(&word, p, 8);
      // A byte with its high bit set, or one below 0x20 (which borrows into its high bit).
      if ((word | (word - 0x2020202020202020u)) & 0x8080808080808080u) break;
      p += 8;
    }
    if (p == end) return true;
    if (*p < 0x20) return false;
    const int length = SequenceLength(p, end);
    if (length < 0) return false;
    p += length;
  }
  return true;
}

bool AppendAsUtf8(absl::string_view bytes, std::string* out) {
  const unsigned char* p = reinterpret_cast<const unsigned char*>(bytes.data());
  const unsigned char* const end = p + bytes.size();
  const unsigned char* kept = p;  // what was not yet appended
  bool is_clean = true;
  while (p < end) {
    uint64_t word;
    while (end - p >= 8 && (std::memcpy(&word, p, 8), (word & 0x8080808080808080u) == 0)) p += 8;
    if (p == end) break;
    const int length = SequenceLength(p, end);
    if (length > 0) {
      p += length;
      continue;
    }
    out->append(reinterpret_cast<const char*>(kept), static_cast<size_t>(p - kept));
    out->append(kReplacement);
    p -= length;
    kept = p;
    is_clean = false;
  }
  out->append(reinterpret_cast<const char*>(kept), static_cast<size_t>(p - kept));
  return is_clean;
}

bool DecodeString(absl::string_view raw, std::string* out, DamageSink* sink, Error* error) {
  const char* p = raw.data();
  const char* const end = p + raw.size();
  bool told_utf8 = false;
  bool told_control = false;
  bool told_surrogate = false;
  const auto lone_surrogate = [&](const char* at) {
    out->append(kReplacement);
    if (!told_surrogate) sink->OnDamage(Damage::kLoneSurrogate, at);
    told_surrogate = true;
  };
  while (p < end) {
    if (*p == '\\') {
      const char* const escape = p++;
      const char c = p < end ? *p++ : '\0';
      switch (c) {
        case '"':
        case '\\':
        case '/': out->push_back(c); break;
        case 'b': out->push_back('\b'); break;
        case 'f': out->push_back('\f'); break;
        case 'n': out->push_back('\n'); break;
        case 'r': out->push_back('\r'); break;
        case 't': out->push_back('\t'); break;
        case 'u': {
          const int32_t code = ParseHex4(p, end);
          if (code < 0) {
            error->at = escape;
            error->reason = "invalid escape `\\u`: expected four hexadecimal digits";
            return false;
          }
          p += 4;
          if (IsHighSurrogate(code)) {
            const int32_t low = end - p >= 6 && p[0] == '\\' && p[1] == 'u' ? ParseHex4(p + 2, end) : -1;
            if (IsLowSurrogate(low)) {
              AppendUtf8(static_cast<uint32_t>(0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00)), out);
              p += 6;
            } else {
              lone_surrogate(escape);
            }
          } else if (IsLowSurrogate(code)) {
            lone_surrogate(escape);
          } else {
            AppendUtf8(static_cast<uint32_t>(code), out);
          }
          break;
        }
        default: {
          error->at = escape;
          const absl::string_view around = raw.substr(0, 60);
          std::string shown;
          for (char b : around) shown.push_back(b >= ' ' && b < 0x7f ? b : '?');
          error->reason =
              absl::StrCat("invalid escape `\\", std::string(1, c > ' ' && c < 0x7f ? c : '?'), "` in \"", shown,
                           raw.size() > 60 ? "…" : "", "\" (unescaped backslashes, as in a Windows path?)");
          return false;
        }
      }
      continue;
    }
    const int length =
        SequenceLength(reinterpret_cast<const unsigned char*>(p), reinterpret_cast<const unsigned char*>(end));
    if (length < 0) {
      if (!told_utf8) sink->OnDamage(Damage::kInvalidUtf8, p);
      told_utf8 = true;
      out->append(kReplacement);
      p -= length;
      continue;
    }
    if (static_cast<unsigned char>(*p) < 0x20) {
      if (!told_control) sink->OnDamage(Damage::kControlCharacter, p);
      told_control = true;
    }
    out->append(p, static_cast<size_t>(length));
    p += length;
  }
  return true;
}

}  // namespace tracekiln::json
