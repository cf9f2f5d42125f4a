// Scanning primitives of JSON reading: the inner loops that look at every byte.
//
// All of them read up to kPadding bytes behind `end`, which the caller must own (their content does not matter). They
// never return a pointer beyond `end`.
#ifndef TRACEKILN_FORMATS_JSON_SCAN_H_
#define TRACEKILN_FORMATS_JSON_SCAN_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace tracekiln::json {

inline constexpr size_t kPadding = 64;

// The first byte at or behind `p` that is no JSON white space (blank, tab, line feed, carriage return).
inline const char* SkipBlanks(const char* p, const char* end) {
  if (p < end && (*p < 0 || *p > ' ')) return p;
  while (p < end) {
#ifdef __AVX2__
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    const uint32_t blanks =
        static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(' '))));
    if (blanks == 0xffffffffu) {
      p += 32;
      continue;
    }
    p += __builtin_ctz(~blanks);
    if (p >= end) break;
#endif
    const char c = *p;
    if (c != ' ' && c != '\n' && c != '\t' && c != '\r') return p;
    ++p;
  }
  return end;
}

// The first '"' or '\\' at or behind `p`, or `end`.
inline const char* FindQuoteOrBackslash(const char* p, const char* end) {
#ifdef __AVX2__
  const __m256i quote = _mm256_set1_epi8('"');
  const __m256i backslash = _mm256_set1_epi8('\\');
  for (; p < end; p += 32) {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    const uint32_t hits = static_cast<uint32_t>(
        _mm256_movemask_epi8(_mm256_or_si256(_mm256_cmpeq_epi8(bytes, quote), _mm256_cmpeq_epi8(bytes, backslash))));
    if (hits != 0) {
      p += __builtin_ctz(hits);
      return p < end ? p : end;
    }
  }
  return end;
#else
  while (p < end && *p != '"' && *p != '\\') ++p;
  return p;
#endif
}

// `p` is behind an opening quote: the closing quote, or `end` if there is none. Sets *escaped if a backslash was
// passed.
inline const char* FindStringEnd(const char* p, const char* end, bool* escaped) {
  for (;;) {
    p = FindQuoteOrBackslash(p, end);
    if (p == end || *p == '"') return p;
    *escaped = true;
    p += 2;
    if (p >= end) return end;
  }
}

// `p` is at '[' or '{': the byte behind the matching bracket, or nullptr if `end` comes first. Brackets inside strings
// don't count; the two kinds of bracket are counted alike, so the result is only right for text that is valid JSON or
// is checked afterwards.
const char* FindNestedEnd(const char* p, const char* end);

}  // namespace tracekiln::json

#endif  // TRACEKILN_FORMATS_JSON_SCAN_H_
