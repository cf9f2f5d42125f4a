#include "formats/io/zip_archive.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "formats/io/decompress.h"

namespace tracekiln::io {
namespace {

constexpr size_t kEndBytes = 22;      // end of central directory, without its comment
constexpr size_t kLocatorBytes = 20;  // zip64 end of central directory locator
constexpr size_t kEnd64Bytes = 56;    // zip64 end of central directory
constexpr size_t kEntryBytes = 46;    // central directory entry, without name, extra field and comment
constexpr size_t kLocalBytes = 30;    // local header, likewise
constexpr uint64_t kMaxDirectoryBytes = 64 << 20;

uint64_t Little(const char* bytes, int byte_count) {
  uint64_t value = 0;
  for (int i = byte_count - 1; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}
uint16_t Little16(const char* bytes) { return static_cast<uint16_t>(Little(bytes, 2)); }
uint32_t Little32(const char* bytes) { return static_cast<uint32_t>(Little(bytes, 4)); }
uint64_t Little64(const char* bytes) { return Little(bytes, 8); }

absl::Status Damaged(const RandomAccessFile& file, uint64_t offset, absl::string_view what) {
  return absl::DataLossError(absl::StrCat(file.name(), ":", offset, ": damaged zip archive: ", what));
}

// Replaces sizes and offset that did not fit 32 bits by those of the zip64 extra field.
bool ApplyZip64(absl::string_view extra, ZipMember* member) {
  const bool wants_size = member->size_bytes == 0xffffffff;
  const bool wants_compressed = member->compressed_bytes == 0xffffffff;
  const bool wants_offset = member->header_offset == 0xffffffff;
  if (!wants_size && !wants_compressed && !wants_offset) return true;
  while (extra.size() >= 4) {
    const uint16_t id = Little16(extra.data());
    const size_t size = Little16(extra.data() + 2);
    extra.remove_prefix(4);
    if (size > extra.size()) return false;
    if (id != 1) {
      extra.remove_prefix(size);
      continue;
    }
    absl::string_view field = extra.substr(0, size);
    const auto take = [&field](uint64_t* value) {
      if (field.size() < 8) return false;
      *value = Little64(field.data());
      field.remove_prefix(8);
      return true;
    };
    return (!wants_size || take(&member->size_bytes)) && (!wants_compressed || take(&member->compressed_bytes)) &&
           (!wants_offset || take(&member->header_offset));
  }
  return true;  // exactly 4 GiB - 1, or a writer that knows no zip64: the bounds are checked where they are used
}

}  // namespace

ZipNameKind ClassifyZipName(absl::string_view name) {
  if (name.empty() || name.front() == '/' || name.size() > 4096) return ZipNameKind::kUnsafe;
  if (name.size() >= 2 && name[1] == ':') return ZipNameKind::kUnsafe;
  for (const char c : name) {
    if (c == '\\' || static_cast<unsigned char>(c) < 0x20) return ZipNameKind::kUnsafe;
  }
  absl::string_view last;
  bool is_resource_fork = false;
  bool is_first = true;
  for (const absl::string_view part : absl::StrSplit(name, '/')) {
    if (part == "..") return ZipNameKind::kUnsafe;
    if (is_first && part == "__MACOSX") is_resource_fork = true;
    is_first = false;
    last = part;
  }
  if (is_resource_fork || last.empty() || last == ".DS_Store" || last == "Thumbs.db" || last == "desktop.ini" ||
      absl::StartsWith(last, "._")) {
    return ZipNameKind::kIgnored;
  }
  return ZipNameKind::kFile;
}

std::string PrintableZipName(absl::string_view name) {
  const bool is_long = name.size() > 200;
  return absl::StrCat(absl::Utf8SafeCHexEscape(name.substr(0, 200)), is_long ? "..." : "");
}

absl::StatusOr<std::vector<ZipMember>> ReadZipDirectory(const RandomAccessFile& file) {
  // The end record is found from behind: it ends with a comment of at most 65535 bytes.
  const size_t tail_bytes = static_cast<size_t>(std::min<uint64_t>(file.size(), kEndBytes + 65535));
  const uint64_t tail_offset = file.size() - tail_bytes;
  std::string tail(tail_bytes, '\0');
  if (absl::Status status = file.ReadAt(tail_offset, tail_bytes, tail.data()); !status.ok()) return status;
  size_t end = absl::string_view::npos;
  for (size_t at = tail_bytes < kEndBytes ? 0 : tail_bytes - kEndBytes + 1; at-- > 0;) {
    if (tail.compare(at, 4, "PK\x05\x06") == 0 && at + kEndBytes + Little16(&tail[at + 20]) <= tail_bytes) {
      end = at;
      break;
    }
  }
  if (end == absl::string_view::npos) return Damaged(file, file.size(), "no central directory at the end (truncated)");

  uint64_t disk = Little16(&tail[end + 4]);
  uint64_t count = Little16(&tail[end + 10]);
  uint64_t directory_bytes = Little32(&tail[end + 12]);
  uint64_t directory_offset = Little32(&tail[end + 16]);
  const uint64_t end_offset = tail_offset + end;
  uint64_t directory_end = end_offset;
  if (end_offset >= kLocatorBytes) {
    std::string locator(kLocatorBytes, '\0');
    if (absl::Status status = file.ReadAt(end_offset - kLocatorBytes, kLocatorBytes, locator.data()); !status.ok()) {
      return status;
    }
    if (locator.compare(0, 4, "PK\x06\x07") == 0) {
      const uint64_t end64_offset = Little64(&locator[8]);
      std::string end64(kEnd64Bytes, '\0');
      if (file.size() < kEnd64Bytes || end64_offset > file.size() - kEnd64Bytes) {
        return Damaged(file, end_offset - kLocatorBytes, "the zip64 record lies outside of the file");
      }
      if (absl::Status status = file.ReadAt(end64_offset, kEnd64Bytes, end64.data()); !status.ok()) return status;
      if (end64.compare(0, 4, "PK\x06\x06") != 0) return Damaged(file, end64_offset, "expected a zip64 record");
      disk = Little32(&end64[16]);
      count = Little64(&end64[32]);
      directory_bytes = Little64(&end64[40]);
      directory_offset = Little64(&end64[48]);
      directory_end = end64_offset;
    }
  }
  if (disk != 0) {
    return absl::UnimplementedError(absl::StrCat(file.name(), ": zip archives in several volumes are not supported"));
  }
  if (directory_offset > directory_end || directory_bytes > directory_end - directory_offset) {
    return Damaged(file, end_offset, "the central directory lies outside of the file");
  }
  if (directory_bytes > kMaxDirectoryBytes) {
    return absl::ResourceExhaustedError(absl::StrCat(file.name(), ": zip archive with a directory of ", directory_bytes,
                                                     " bytes; at most ", kMaxDirectoryBytes));
  }

  std::string directory(static_cast<size_t>(directory_bytes), '\0');
  if (absl::Status status = file.ReadAt(directory_offset, directory.size(), directory.data()); !status.ok()) {
    return status;
  }
  std::vector<ZipMember> members;
  size_t at = 0;
  while (members.size() < count) {
    if (directory.size() - at < kEntryBytes || directory.compare(at, 4, "PK\x01\x02") != 0) {
      return Damaged(file, directory_offset + at, absl::StrCat("expected ", count, " members, got ", members.size()));
    }
    const char* const entry = &directory[at];
    const size_t name_bytes = Little16(entry + 28);
    const size_t extra_bytes = Little16(entry + 30);
    const size_t comment_bytes = Little16(entry + 32);
    if (directory.size() - at - kEntryBytes < name_bytes + extra_bytes + comment_bytes) {
      return Damaged(file, directory_offset + at, "a member's entry is cut off");
    }
    ZipMember member;
    member.is_encrypted = (Little16(entry + 8) & 1) != 0;
    member.method = Little16(entry + 10);
    member.crc = Little32(entry + 16);
    member.compressed_bytes = Little32(entry + 20);
    member.size_bytes = Little32(entry + 24);
    member.header_offset = Little32(entry + 42);
    member.name.assign(entry + kEntryBytes, name_bytes);
    if (!ApplyZip64(absl::string_view(entry + kEntryBytes + name_bytes, extra_bytes), &member)) {
      return Damaged(file, directory_offset + at, "a member's zip64 field is cut off");
    }
    members.push_back(std::move(member));
    at += kEntryBytes + name_bytes + extra_bytes + comment_bytes;
  }
  return members;
}

absl::StatusOr<std::unique_ptr<ByteSource>> OpenZipMember(std::shared_ptr<const RandomAccessFile> file,
                                                          const ZipMember& member) {
  const std::string printable_name = PrintableZipName(member.name);
  if (member.is_encrypted) {
    return absl::UnimplementedError(
        absl::StrCat(file->name(), ": zip archive: the member '", printable_name, "' is encrypted"));
  }
  if (member.method != 0 && member.method != 8) {
    return absl::UnimplementedError(absl::StrCat(file->name(), ": zip archive: the member '", printable_name,
                                                 "' is compressed by method ", member.method,
                                                 "; known are 0 (stored) and 8 (deflate)"));
  }
  char header[kLocalBytes];
  if (member.header_offset > file->size() || file->size() - member.header_offset < kLocalBytes) {
    return Damaged(*file, member.header_offset, absl::StrCat("'", printable_name, "' lies outside of the file"));
  }
  if (absl::Status status = file->ReadAt(member.header_offset, kLocalBytes, header); !status.ok()) return status;
  if (absl::string_view(header, 4) != "PK\x03\x04") {
    return Damaged(*file, member.header_offset, absl::StrCat("expected the header of '", printable_name, "'"));
  }
  // Sizes in the local header may be absent (streaming writers); its name and extra field are not those of the
  // directory.
  const uint64_t data_offset = member.header_offset + kLocalBytes + Little16(header + 26) + Little16(header + 28);
  if (data_offset > file->size() || member.compressed_bytes > file->size() - data_offset) {
    return Damaged(*file, member.header_offset, absl::StrCat("'", printable_name, "' is cut off"));
  }
  if (member.method == 0 && member.compressed_bytes != member.size_bytes) {
    return Damaged(*file, member.header_offset, absl::StrCat("'", printable_name, "' is stored with two sizes"));
  }
  const std::string name = absl::StrCat(file->name(), "(", printable_name, ")");
  std::unique_ptr<ByteSource> source = MakeFileSource(std::move(file), data_offset, member.compressed_bytes, name);
  if (member.method == 8) source = MakeInflateSource(std::move(source), name);
  return MakeCheckedSource(std::move(source), member.size_bytes, member.crc);
}

}  // namespace tracekiln::io
