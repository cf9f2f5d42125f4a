// JSON numbers -> int64, double or, where neither is exact, their text.
#ifndef TRACEKILN_FORMATS_JSON_NUMBER_H_
#define TRACEKILN_FORMATS_JSON_NUMBER_H_

#include <cstdint>
#include <cstring>

namespace tracekiln::json {

enum class NumberType : uint8_t {
  kInvalid = 0,  // not a JSON number
  kInt,          // written without point and exponent, fits int64 (and is not -0)
  kDouble,       // written with point or exponent; the shortest text of the double is the same decimal number
  kText,         // neither: an integer outside int64, more digits than a double holds, out of range, -0
};

struct Number {
  NumberType type = NumberType::kInvalid;
  const char* end = nullptr;  // behind the number
  int64_t i = 0;
  double d = 0;
};

// Parses the number at `p`. Reads up to 18 bytes behind `end`, which the caller must own (their content does not
// matter). For kInvalid, `end` of the result is the first byte that does not fit. The caller checks what follows
// (`12abc` parses as 12).
Number ParseNumber(const char* p, const char* end);

// The byte behind the number at `p`, looking at its grammar only; nullptr if there is none. The caller checks what
// follows.
const char* FindNumberEnd(const char* p, const char* end);

// True if the eight bytes are all digits; *value is then their number.
inline bool ParseEightDigits(const char* p, uint64_t* value) {
  uint64_t chunk;
  std::memcpy(&chunk, p, 8);
  const uint64_t digits = chunk ^ 0x3030303030303030u;
  if (((digits + 0x7676767676767676u) | digits) & 0x8080808080808080u) return false;
  chunk = digits * 10 + (digits >> 8);
  *value = (((chunk & 0x000000ff000000ffu) * 0x000f424000000064u) +
            (((chunk >> 16) & 0x000000ff000000ffu) * 0x0000271000000001u)) >>
           32;
  return true;
}

// Parses up to 18 digits at `p` (without sign) into *value; returns the byte behind them. A run of more than 18 digits
// is not consumed whole: the byte returned is then a digit.
inline const char* ParseDigits(const char* p, uint64_t* value) {
  uint64_t v = 0;
  int left = 18;
  uint64_t eight;
  while (left >= 8 && ParseEightDigits(p, &eight)) {
    v = v * 100000000 + eight;
    p += 8;
    left -= 8;
  }
  for (; left > 0; --left) {
    const unsigned digit = static_cast<unsigned char>(*p) - '0';
    if (digit > 9) break;
    v = v * 10 + digit;
    ++p;
  }
  *value = v;
  return p;
}

}  // namespace tracekiln::json

#endif  // TRACEKILN_FORMATS_JSON_NUMBER_H_
