#ifndef TRACEKILN_FORMATS_IO_ZIP_ARCHIVE_H_
#define TRACEKILN_FORMATS_IO_ZIP_ARCHIVE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/io/byte_source.h"
#include "formats/io/random_access.h"

namespace tracekiln::io {

// Reading zip archives (PKWARE APPNOTE 6.3), as far as traces come in them. Private to formats/io.

// An entry of the central directory. The name is the archive's bytes: untrusted, never to be used as a path.
struct ZipMember {
  std::string name;
  uint64_t header_offset = 0;  // of the local header
  uint64_t compressed_bytes = 0;
  uint64_t size_bytes = 0;
  uint32_t crc = 0;
  uint16_t method = 0;  // 0 stored, 8 deflated
  bool is_encrypted = false;
};

// What to do with a member, judging by its name.
enum class ZipNameKind {
  kFile,     // a trace, perhaps
  kIgnored,  // directories, what desktop systems add
  kUnsafe,   // would lead out of a directory it is unpacked to, or is no name at all
};
ZipNameKind ClassifyZipName(absl::string_view name);

// The central directory, in its order. DataLoss if it is missing or torn, ResourceExhausted beyond 64 MiB of it,
// Unimplemented for archives in several volumes.
[[nodiscard]] absl::StatusOr<std::vector<ZipMember>> ReadZipDirectory(const RandomAccessFile& file);

// The member's bytes, unpacked, length and CRC checked at the end. Unimplemented if it is encrypted or compressed by
// another method than deflate. The source is named "archive(member)".
[[nodiscard]] absl::StatusOr<std::unique_ptr<ByteSource>> OpenZipMember(std::shared_ptr<const RandomAccessFile> file,
                                                                        const ZipMember& member);

// The name for messages: printable, at most 200 bytes.
std::string PrintableZipName(absl::string_view name);

}  // namespace tracekiln::io

#endif  // TRACEKILN_FORMATS_IO_ZIP_ARCHIVE_H_
