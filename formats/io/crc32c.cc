#include "formats/io/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <cstddef>

namespace tracekiln::io {

uint32_t Crc32c(absl::string_view bytes) { return ExtendCrc32c(0, bytes); }

uint32_t ExtendCrc32c(uint32_t crc, absl::string_view bytes) {
  crc = ~crc;
  const char* next = bytes.data();
  size_t left = bytes.size();
  while (left > 0) {
    const int size = static_cast<int>(std::min<size_t>(left, 1 << 30));  // the library counts in int
    crc = crc32_iscsi(reinterpret_cast<unsigned char*>(const_cast<char*>(next)), size, crc);
    next += size;
    left -= size;
  }
  return ~crc;
}

}  // namespace tracekiln::io
