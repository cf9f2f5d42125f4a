#include "formats/json/scan.h"

namespace tracekiln::json {

const char* FindNestedEnd(const char* p, const char* end) {
  int64_t depth = 0;
#ifdef __AVX2__
  // '[' and '{' differ in one bit (0x5b, 0x7b), and so do ']' and '}' (0x5d, 0x7d).
  const __m256i fold = _mm256_set1_epi8(0x20);
  const __m256i open = _mm256_set1_epi8('{');
  const __m256i close = _mm256_set1_epi8('}');
  const __m256i quote = _mm256_set1_epi8('"');
  while (p < end) {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    const __m256i folded = _mm256_or_si256(bytes, fold);
    uint32_t hits = static_cast<uint32_t>(_mm256_movemask_epi8(
        _mm256_or_si256(_mm256_or_si256(_mm256_cmpeq_epi8(folded, open), _mm256_cmpeq_epi8(folded, close)),
                        _mm256_cmpeq_epi8(bytes, quote))));
    const char* next = p + 32;
    while (hits != 0) {
      const char* const at = p + __builtin_ctz(hits);
      hits &= hits - 1;
      if (at >= end) return nullptr;
      if (*at == '"') {
        bool escaped = false;
        const char* const string_end = FindStringEnd(at + 1, end, &escaped);
        if (string_end == end) return nullptr;
        next = string_end + 1;
        if (next >= p + 32) break;
        hits &= ~uint32_t{0} << (next - p);
        next = p + 32;
        continue;
      }
      if ((*at | 0x20) == '{') {
        ++depth;
      } else if (--depth <= 0) {
        return at + 1;
      }
    }
    p = next;
  }
  return nullptr;
#else
  while (p < end) {
    const char c = *p++;
    if (c == '"') {
      bool escaped = false;
      p = FindStringEnd(p, end, &escaped);
      if (p == end) return nullptr;
      ++p;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if ((c == ']' || c == '}') && --depth <= 0) {
      return p;
    }
  }
  return nullptr;
#endif
}

}  // namespace tracekiln::json
