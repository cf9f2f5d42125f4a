#ifndef TRACEKILN_FORMATS_IO_UTF16_SOURCE_H_
#define TRACEKILN_FORMATS_IO_UTF16_SOURCE_H_

#include <memory>

#include "formats/io/byte_source.h"

namespace tracekiln::io {

// Converts UTF-16 to UTF-8 as it is read. Lone surrogates become the three bytes that UTF-8 would have for
// them: ill-formed, so that who reads the text sees and counts the damage. Half a unit at the end becomes U+FFFD.
// `source` (owned) stands behind the byte order mark. position() counts the UTF-8 bytes, from 0. Private to formats/io.
std::unique_ptr<ByteSource> MakeUtf16Source(std::unique_ptr<ByteSource> source, bool is_big_endian);

}  // namespace tracekiln::io

#endif  // TRACEKILN_FORMATS_IO_UTF16_SOURCE_H_
