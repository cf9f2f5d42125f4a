#ifndef TRACEKILN_FORMATS_IO_CRC32C_H_
#define TRACEKILN_FORMATS_IO_CRC32C_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace tracekiln::io {

// CRC-32C (Castagnoli, as in iSCSI, ext4 and leveldb; unmasked): Crc32c("123456789") == 0xe3069283. By ISA-L, at the
// speed of memory.
uint32_t Crc32c(absl::string_view bytes);

// The CRC of a + b, given Crc32c(a) and b. ExtendCrc32c(0, b) == Crc32c(b).
uint32_t ExtendCrc32c(uint32_t crc, absl::string_view bytes);

}  // namespace tracekiln::io

#endif  // TRACEKILN_FORMATS_IO_CRC32C_H_
