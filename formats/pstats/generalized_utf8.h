// UTF-8 in which lone surrogates may occur, coded as three bytes each: the texts of a Profile, and what Python calls
// "surrogatepass".
#ifndef TRACEKILN_FORMATS_PSTATS_GENERALIZED_UTF8_H_
#define TRACEKILN_FORMATS_PSTATS_GENERALIZED_UTF8_H_

#include <cstdint>
#include <cstring>

#include "absl/strings/string_view.h"

namespace tracekiln::pstats {

inline bool IsAscii(absl::string_view text) {
  const char* p = text.data();
  size_t n = text.size();
  uint64_t all = 0;
  for (; n >= 8; p += 8, n -= 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    all |= word;
  }
  for (; n > 0; ++p, --n) all |= static_cast<unsigned char>(*p);
  return (all & 0x8080808080808080u) == 0;
}

// The length of the sequence at `p` (1 to 4), or minus the length of the longest ill-formed one (1 to 3).
// REQUIRES: p < end.
inline int SequenceLength(const char* p, const char* end) {
  const unsigned char lead = static_cast<unsigned char>(*p);
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4) return -1;
  const int length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  unsigned char high = lead == 0xf4 ? 0x8f : 0xbf;
  for (int i = 1; i < length; ++i) {
    if (p + i >= end) return -i;
    const unsigned char c = static_cast<unsigned char>(p[i]);
    if (c < low || c > high) return -i;
    low = 0x80;
    high = 0xbf;
  }
  return length;
}

// Whether the well-formed sequence of three bytes at `p` is a surrogate.
inline bool IsSurrogate(const char* p) { return p[0] == '\xed' && static_cast<unsigned char>(p[1]) >= 0xa0; }

// The code point of a well-formed sequence of `length` bytes.
inline uint32_t CodePoint(const char* p, int length) {
  static constexpr unsigned char kLeadMask[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
  uint32_t code = static_cast<unsigned char>(p[0]) & kLeadMask[length];
  for (int i = 1; i < length; ++i) code = code << 6 | (static_cast<unsigned char>(p[i]) & 0x3f);
  return code;
}

inline bool IsGeneralizedUtf8(absl::string_view text) {
  if (IsAscii(text)) return true;
  const char* const end = text.data() + text.size();
  for (const char* p = text.data(); p < end;) {
    const int length = SequenceLength(p, end);
    if (length < 0) return false;
    p += length;
  }
  return true;
}

}  // namespace tracekiln::pstats

#endif  // TRACEKILN_FORMATS_PSTATS_GENERALIZED_UTF8_H_
