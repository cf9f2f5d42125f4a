#ifndef TRACEKILN_FORMATS_IO_DECOMPRESS_H_
#define TRACEKILN_FORMATS_IO_DECOMPRESS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "formats/io/byte_source.h"

namespace tracekiln::io {

// Decompressors over another source, which they own. Private to formats/io: users open files by input.h.
//
// All of them deliver what could be decompressed before damage, then fail: DataLoss for truncated or corrupt data,
// InvalidArgument for bytes behind the end that are no further member or frame, ResourceExhausted for a zstd window
// beyond 128 MiB. Messages have the offset in the compressed source. An error of the source itself is passed on.

// gzip: members one after the other, zero bytes between and after them skipped, checksums verified.
std::unique_ptr<ByteSource> MakeGzipSource(std::unique_ptr<ByteSource> source);

// A bare deflate stream, without checksum; what follows its end is ignored. `name` is for messages.
std::unique_ptr<ByteSource> MakeInflateSource(std::unique_ptr<ByteSource> source, std::string name);

// zstd: frames one after the other, skippable ones skipped.
std::unique_ptr<ByteSource> MakeZstdSource(std::unique_ptr<ByteSource> source);

// Passes `source` on and checks at its end that it was `size_bytes` long with CRC-32 (zlib's) `crc`, else DataLoss; it
// stops as soon as there is more.
std::unique_ptr<ByteSource> MakeCheckedSource(std::unique_ptr<ByteSource> source, uint64_t size_bytes, uint32_t crc);

}  // namespace tracekiln::io

#endif  // TRACEKILN_FORMATS_IO_DECOMPRESS_H_
