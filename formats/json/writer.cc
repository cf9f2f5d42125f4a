#include "formats/json/writer.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#ifdef __AVX2__
#include <immintrin.h>
#endif

// The buffer is used through a cursor instead of std::string::append: the string is kept longer than what is written,
// and cut by Flush(). Growing zeroes the new bytes, which costs a tenth of what the checks inside append would.
//
// Strings are copied in pieces of 32 bytes that are looked at after the copy: a piece without quote, backslash, control
// byte or non-ASCII byte is done; otherwise the first such byte is handled by itself and copying restarts behind it.
// Non-ASCII is rare in traces, so it is checked one sequence at a time.

namespace tracekiln::json {
namespace {

constexpr std::array<bool, 256> MakeSpecial() {
  std::array<bool, 256> special{};
  for (int c = 0; c < 256; ++c) special[c] = c < 0x20 || c == '"' || c == '\\' || c >= 0x80;
  return special;
}
constexpr std::array<bool, 256> kSpecial = MakeSpecial();

struct Utf8Sequence {
  int length;  // of the sequence, or of the maximal ill-formed subsequence
  bool is_valid;
};

// Looks at the sequence at `s`, whose first byte is not ASCII.
Utf8Sequence ReadSequence(const unsigned char* s, const unsigned char* end) {
  const unsigned char lead = s[0];
  int length;
  unsigned char low = 0x80, high = 0xBF;  // bounds of the second byte
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;  // no surrogates
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;  // up to U+10FFFF
  } else {
    return {1, false};
  }
  for (int i = 1; i < length; ++i) {
    if (s + i == end || s[i] < low || s[i] > high) return {i, false};
    low = 0x80;
    high = 0xBF;
  }
  return {length, true};
}

// Copies up to the first special byte. May write 32 bytes more than it returns.
inline size_t CopyPlain(char* to, const char* from, size_t n) {
  size_t i = 0;
#ifdef __AVX2__
  const __m256i quote = _mm256_set1_epi8('"');
  const __m256i backslash = _mm256_set1_epi8('\\');
  const __m256i space = _mm256_set1_epi8(0x20);
  for (; i + 32 <= n; i += 32) {
    const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), v);
    // Compared as signed: bytes from 0x80 are negative, hence below the space as well.
    const __m256i special = _mm256_or_si256(
        _mm256_cmpgt_epi8(space, v), _mm256_or_si256(_mm256_cmpeq_epi8(v, quote), _mm256_cmpeq_epi8(v, backslash)));
    const uint32_t mask = static_cast<uint32_t>(_mm256_movemask_epi8(special));
    if (mask != 0) return i + std::countr_zero(mask);
  }
#endif
  constexpr uint64_t kOnes = 0x0101010101010101ull, kHighs = 0x8080808080808080ull;
  for (; i + 8 <= n; i += 8) {
    uint64_t v;
    std::memcpy(&v, from + i, 8);
    std::memcpy(to + i, &v, 8);
    const uint64_t quote = v ^ (kOnes * '"'), backslash = v ^ (kOnes * '\\');
    // The lowest high bit that is set marks the first special byte; bits above it may be wrong.
    const uint64_t special =
        (((v - kOnes * 0x20) | (quote - kOnes) | (backslash - kOnes)) & ~v & kHighs) | (v & kHighs);
    if (special != 0) return i + std::countr_zero(special) / 8;
  }
  for (; i < n && !kSpecial[static_cast<unsigned char>(from[i])]; ++i) to[i] = from[i];
  return i;
}

constexpr char kHex[] = "0123456789abcdef";

}  // namespace

Escaped::Escaped(absl::string_view bytes) {
  {
    Writer writer(&padded_);
    writer.String(bytes);
  }
  padded_.resize(padded_.size() + kPadding);
  padded_.shrink_to_fit();
}

Writer::Writer(std::string* out, const Layout& layout, int depth, bool comma_first)
    : out_(out), layout_(layout), depth_(depth), comma_(comma_first) {
  begin_ = out_->data();
  cursor_ = limit_ = begin_ + out_->size();
}

void Writer::Flush() {
  out_->resize(size());
  begin_ = out_->data();
  cursor_ = limit_ = begin_ + out_->size();
}

void Writer::Grow(size_t bytes) {
  const size_t used = size();
  // Capacity doubles, but only some of it is zeroed at a time: a cache-sized step at most.
  constexpr size_t kStep = size_t{64} << 10;
  size_t target = used + bytes + (used < kStep ? used : kStep);
  if (target > out_->capacity()) out_->reserve(used * 2 + bytes);
  out_->resize(target);
  begin_ = out_->data();
  cursor_ = begin_ + used;
  limit_ = begin_ + out_->size();
}

void Writer::Append(absl::string_view text) {
  Reserve(text.size());
  if (!text.empty()) std::memcpy(cursor_, text.data(), text.size());
  cursor_ += text.size();
}

void Writer::LineBreak(size_t bytes) {
  const size_t blanks = static_cast<size_t>(layout_.indent) * static_cast<size_t>(depth_);
  Reserve(1 + blanks + bytes + kTokenBytes);
  *cursor_++ = '\n';
  std::memset(cursor_, ' ', blanks);
  cursor_ += blanks;
}

void Writer::Begin(char bracket) {
  Element(1);
  *cursor_++ = bracket;
  comma_ = false;
  ++depth_;
}

void Writer::End(char bracket) {
  --depth_;
  if (comma_ && depth_ + 1 <= layout_.break_depth) LineBreak(0);
  Reserve(1);
  *cursor_++ = bracket;
  comma_ = true;
}

void Writer::Key(absl::string_view key) {
  Element(0);
  AppendQuoted(key);
  Reserve(2);
  EndKey();
}

void Writer::String(absl::string_view bytes) {
  Element(0);
  AppendQuoted(bytes);
}

void Writer::AppendQuoted(absl::string_view bytes) {
  constexpr size_t kSlack = 48;  // over-long copies, one escape, both quotes
  const char* s = bytes.data();
  const char* const end = s + bytes.size();
  Reserve(bytes.size() + kSlack);
  *cursor_++ = '"';
  while (s != end) {
    const size_t plain = CopyPlain(cursor_, s, static_cast<size_t>(end - s));
    s += plain;
    cursor_ += plain;
    if (s == end) break;
    Reserve(static_cast<size_t>(end - s) + kSlack);
    const unsigned char c = static_cast<unsigned char>(*s);
    if (c >= 0x80) {
      const auto sequence =
          ReadSequence(reinterpret_cast<const unsigned char*>(s), reinterpret_cast<const unsigned char*>(end));
      if (sequence.is_valid) {
        std::memcpy(cursor_, s, static_cast<size_t>(sequence.length));
        cursor_ += sequence.length;
      } else {
        std::memcpy(cursor_, "\xEF\xBF\xBD", 3);
        cursor_ += 3;
      }
      s += sequence.length;
      // Reserve again below: three bytes may have come from one.
      Reserve(static_cast<size_t>(end - s) + kSlack);
      continue;
    }
    ++s;
    *cursor_++ = '\\';
    switch (c) {
      case '"': *cursor_++ = '"'; break;
      case '\\':
        if (s != end) {
          *cursor_++ = '\\';
        } else {
          std::memcpy(cursor_, "u005c", 5);
          cursor_ += 5;
        }
        break;
      case '\b': *cursor_++ = 'b'; break;
      case '\f': *cursor_++ = 'f'; break;
      case '\n': *cursor_++ = 'n'; break;
      case '\r': *cursor_++ = 'r'; break;
      case '\t': *cursor_++ = 't'; break;
      default:
        std::memcpy(cursor_, "u00", 3);
        cursor_[3] = kHex[c >> 4];
        cursor_[4] = kHex[c & 15];
        cursor_ += 5;
    }
    Reserve(static_cast<size_t>(end - s) + kSlack);
  }
  *cursor_++ = '"';
}

void Writer::Int(int64_t value) {
  Element(0);
  cursor_ = std::to_chars(cursor_, limit_, value).ptr;
}

void Writer::Uint(uint64_t value) {
  Element(0);
  cursor_ = std::to_chars(cursor_, limit_, value).ptr;
}

void Writer::Double(double value) {
  Element(0);
  if (!std::isfinite(value)) {
    Append(std::isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
    return;
  }
  const char* const first = cursor_;
  cursor_ = std::to_chars(cursor_, limit_, value).ptr;
  for (const char* c = first; c != cursor_; ++c) {
    if (*c == '.' || *c == 'e') return;
  }
  *cursor_++ = '.';
  *cursor_++ = '0';
}

void Writer::Bool(bool value) {
  Element(0);
  Append(value ? "true" : "false");
}

void Writer::Null() {
  Element(0);
  Append("null");
}

void Writer::MicrosFromNanos(int64_t ns) {
  Element(0);
  uint64_t magnitude = static_cast<uint64_t>(ns);
  if (ns < 0) {
    *cursor_++ = '-';
    magnitude = 0 - magnitude;
  }
  cursor_ = std::to_chars(cursor_, limit_, magnitude / 1000).ptr;
  const uint32_t fraction = static_cast<uint32_t>(magnitude % 1000);
  if (fraction != 0) {
    cursor_[0] = '.';
    cursor_[1] = static_cast<char>('0' + fraction / 100);
    cursor_[2] = static_cast<char>('0' + fraction / 10 % 10);
    cursor_[3] = static_cast<char>('0' + fraction % 10);
    cursor_ += 4;
  }
}

void Writer::Raw(absl::string_view json) {
  Element(json.size());
  std::memcpy(cursor_, json.data(), json.size());
  cursor_ += json.size();
}

void Writer::Json(absl::string_view json) {
  if (!layout_.blank_after_colon && memmem(json.data(), json.size(), "\\\\\"", 3) == nullptr) return Raw(json);
  Element(json.size());
  bool in_string = false;
  for (size_t i = 0; i < json.size(); ++i) {
    Reserve(kTokenBytes);
    const char c = json[i];
    if (in_string && c == '\\' && i + 1 < json.size()) {
      // An escape has at least two bytes; the second is no matter of ours.
      const char escaped = json[++i];
      if (escaped == '\\' && i + 1 < json.size() && json[i + 1] == '"') {
        Append("\\u005c");
      } else {
        *cursor_++ = c;
        *cursor_++ = escaped;
      }
      continue;
    }
    *cursor_++ = c;
    if (c == '"') in_string = !in_string;
    if (c == ':' && !in_string && layout_.blank_after_colon) *cursor_++ = ' ';
  }
}

}  // namespace tracekiln::json
