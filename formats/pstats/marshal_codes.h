// Type codes of CPython's marshal format, as far as profiles have them.
// Source: cpython Python/marshal.c @3.13, and @2.7 for R and the other meaning of t.
#ifndef TRACEKILN_FORMATS_PSTATS_MARSHAL_CODES_H_
#define TRACEKILN_FORMATS_PSTATS_MARSHAL_CODES_H_

#include <cstdint>

namespace tracekiln::pstats::marshal {

constexpr uint8_t kFlagRef = 0x80;  // the object gets the next number, by which kRef names it; from its beginning on

constexpr uint8_t kNull = '0';                // ends a dict
constexpr uint8_t kDict = '{';                // key, value, …, kNull
constexpr uint8_t kSmallTuple = ')';          // u8 count
constexpr uint8_t kTuple = '(';               // i32 count
constexpr uint8_t kList = '[';                // i32 count
constexpr uint8_t kRef = 'r';                 // i32 number of an object
constexpr uint8_t kInt = 'i';                 // i32
constexpr uint8_t kInt64 = 'I';               // i64; written by 64-bit Python 2
constexpr uint8_t kLong = 'l';                // i32 digit count with the sign of the value, then u16 of 15 bits each
constexpr uint8_t kFloat = 'f';               // u8 length, decimal text
constexpr uint8_t kBinaryFloat = 'g';         // 8 bytes
constexpr uint8_t kTrue = 'T';                // True, False and None never get a number
constexpr uint8_t kFalse = 'F';               //
constexpr uint8_t kNone = 'N';                //
constexpr uint8_t kString = 's';              // i32 length, bytes
constexpr uint8_t kInterned = 't';            // i32 length, UTF-8; Python 2: bytes, which get a number for kStringRef
constexpr uint8_t kUnicode = 'u';             // i32 length, UTF-8 with surrogates
constexpr uint8_t kAscii = 'a';               // i32 length, characters of one byte
constexpr uint8_t kAsciiInterned = 'A';       //
constexpr uint8_t kShortAscii = 'z';          // u8 length, characters of one byte
constexpr uint8_t kShortAsciiInterned = 'Z';  //
constexpr uint8_t kStringRef = 'R';           // Python 2: i32 number of a kInterned
constexpr uint8_t kCode = 'c';                // a code object, which no profile has

}  // namespace tracekiln::pstats::marshal

#endif  // TRACEKILN_FORMATS_PSTATS_MARSHAL_CODES_H_
