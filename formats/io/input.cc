// A chain of sources is built from the file outwards: file, then one decompressor per container (each seen by the first
// bytes of what lies below it), then the text encoding, then the thread that reads ahead. Peeked bytes are put back by
// a prefixed source.
#include "formats/io/input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/io/decompress.h"
#include "formats/io/utf16_source.h"
#include "formats/io/zip_archive.h"

namespace tracekiln::io {
namespace {

constexpr int kMaxDepth = 2;
constexpr size_t kPeekBytes = 16;
constexpr size_t kListedNames = 10;

Container DetectContainer(absl::string_view head) {
  if (absl::StartsWith(head, "\x1f\x8b")) return Container::kGzip;
  if (absl::StartsWith(head, absl::string_view("PK\x03\x04", 4)) ||
      absl::StartsWith(head, absl::string_view("PK\x05\x06", 4))) {
    return Container::kZip;
  }
  if (absl::StartsWith(head, "\x28\xb5\x2f\xfd")) return Container::kZstd;
  const bool is_skippable =
      head.size() >= 4 && (head[0] & '\xf0') == '\x50' && absl::StartsWith(head.substr(1), "\x2a\x4d\x18");
  if (is_skippable && !absl::StartsWith(head.substr(std::min<size_t>(head.size(), 8)), "KILN")) {
    return Container::kZstd;
  }
  return Container::kPlain;
}

// Looks at the next bytes (fewer only at the end) and puts them back.
std::string Peek(std::unique_ptr<ByteSource>* source, size_t size) {
  std::string head(size, '\0');
  head.resize((*source)->ReadFully(head.data(), size));
  *source = MakePrefixedSource(head, std::move(*source));
  return head;
}

std::string ListNames(const std::vector<std::string>& names) {
  std::string list;
  for (size_t i = 0; i < names.size() && i < kListedNames; ++i) {
    absl::StrAppend(&list, i > 0 ? ", " : "", "'", PrintableZipName(names[i]), "'");
  }
  if (names.size() > kListedNames) absl::StrAppend(&list, " and ", names.size() - kListedNames, " more");
  return list;
}

bool IsTraceName(absl::string_view name) {
  for (const absl::string_view end : {".json", ".json.gz", ".json.zst", ".kiln"}) {
    if (absl::EndsWithIgnoreCase(name, end)) return true;
  }
  return false;
}

}  // namespace

class InputOpener {
 public:
  explicit InputOpener(const OpenOptions& options) : options_(options), input_(new Input) {}

  // `file` is null if `source` cannot be read at random.
  absl::StatusOr<std::unique_ptr<Input>> Open(std::unique_ptr<ByteSource> source,
                                              std::shared_ptr<RandomAccessFile> file) && {
    input_->name_ = source->name();
    source_ = std::move(source);
    file_ = std::move(file);
    for (int depth = 0;; ++depth) {
      const Container container = DetectContainer(Peek(&source_, kPeekBytes));
      if (depth == 0) input_->container_ = container;
      if (container == Container::kPlain) break;
      if (depth == kMaxDepth) {
        return absl::ResourceExhaustedError(
            absl::StrCat(source_->name(), ": containers in containers, more than ", kMaxDepth, " deep"));
      }
      if (absl::Status status = Unpack(container); !status.ok()) return status;
    }
    bool is_worked_on = input_->container_ != Container::kPlain;
    if (absl::Status status = Decode(&is_worked_on); !status.ok()) return status;
    if (is_worked_on && options_.read_ahead) source_ = MakeReadAheadSource(std::move(source_));

    std::string head(std::min(options_.head_bytes, kHeadBytes), '\0');
    head.resize(source_->ReadFully(head.data(), head.size()));
    head.shrink_to_fit();
    if (head.empty() && !source_->status().ok()) return source_->status();
    input_->stream_ = MakePrefixedSource(head, std::move(source_));
    input_->head_ = std::move(head);
    input_->random_access_ = std::move(file_);
    return std::move(input_);
  }

 private:
  absl::Status Unpack(Container container) {
    if (container == Container::kZip) return UnpackZip();
    source_ = container == Container::kGzip ? MakeGzipSource(std::move(source_)) : MakeZstdSource(std::move(source_));
    file_ = nullptr;
    return absl::OkStatus();
  }

  absl::Status UnpackZip() {
    if (file_ == nullptr) {
      absl::StatusOr<std::string> bytes = ReadAll(source_.get(), options_.zip_in_memory_limit_bytes);
      if (!bytes.ok()) {
        if (!absl::IsResourceExhausted(bytes.status())) return bytes.status();
        return absl::ResourceExhaustedError(
            absl::StrCat(source_->name(), ": a zip archive that is not a regular file is read into memory, at most ",
                         options_.zip_in_memory_limit_bytes, " bytes of it; unpack it first"));
      }
      file_ = MakeMemoryFile(*std::move(bytes), source_->name());
    }
    absl::StatusOr<std::vector<ZipMember>> members = ReadZipDirectory(*file_);
    if (!members.ok()) return members.status();
    const ZipMember* chosen = nullptr;
    std::vector<std::string> names, unsafe_names;
    for (const ZipMember& member : *members) {
      switch (ClassifyZipName(member.name)) {
        case ZipNameKind::kIgnored: break;
        case ZipNameKind::kUnsafe: unsafe_names.push_back(member.name); break;
        case ZipNameKind::kFile:
          chosen = &member;
          names.push_back(member.name);
          break;
      }
    }
    std::string unsafe_note;
    if (!unsafe_names.empty()) {
      unsafe_note = absl::StrCat("zip members with unsafe names, not read: ", ListNames(unsafe_names));
    }
    // Of several files the only one that is called like a trace, if there is such a one.
    std::string other_note;
    if (names.size() > 1) {
      std::vector<std::string> others;
      const ZipMember* only = nullptr;
      int trace_count = 0;
      for (const ZipMember& member : *members) {
        if (ClassifyZipName(member.name) != ZipNameKind::kFile) continue;
        if (IsTraceName(member.name)) {
          only = &member;
          ++trace_count;
        } else {
          others.push_back(member.name);
        }
      }
      if (trace_count == 1) {
        chosen = only;
        names = {only->name};
        other_note = absl::StrCat("other zip members, not read: ", ListNames(others));
      }
    }
    if (names.size() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(file_->name(), ": zip archive: expected one trace, got ",
                       names.empty() ? std::string("none") : absl::StrCat(names.size(), ": ", ListNames(names)),
                       unsafe_note.empty() ? "" : "; ", unsafe_note));
    }
    absl::StatusOr<std::unique_ptr<ByteSource>> opened = OpenZipMember(std::move(file_), *chosen);
    if (!opened.ok()) return opened.status();
    if (!unsafe_note.empty()) input_->notes_.push_back(std::move(unsafe_note));
    if (!other_note.empty()) input_->notes_.push_back(std::move(other_note));
    source_ = *std::move(opened);
    file_ = nullptr;
    input_->member_ = chosen->name;
    return absl::OkStatus();
  }

  absl::Status Decode(bool* is_worked_on) {
    const std::string head = Peek(&source_, 4);
    const auto skip = [this](size_t size) {
      char mark[4];
      source_->ReadFully(mark, size);
    };
    if (absl::StartsWith(head, "\xef\xbb\xbf")) {
      skip(3);
      input_->notes_.push_back("UTF-8 byte order mark skipped");
    } else if (absl::string_view(head) == absl::string_view("\xff\xfe\0\0", 4) ||
               absl::string_view(head) == absl::string_view("\0\0\xfe\xff", 4)) {
      return Utf32Error();
    } else if (absl::StartsWith(head, "\xff\xfe") || absl::StartsWith(head, "\xfe\xff")) {
      const bool is_big_endian = head[0] == '\xfe';
      skip(2);
      source_ = MakeUtf16Source(std::move(source_), is_big_endian);
      file_ = nullptr;
      *is_worked_on = true;
      input_->notes_.push_back(is_big_endian ? "UTF-16BE converted" : "UTF-16LE converted");
    } else if (head.size() == 4) {
      // JSON begins with two ASCII characters: where the zero bytes are tells its encoding (RFC 4627, section 3).
      const bool is_zero[] = {head[0] == 0, head[1] == 0, head[2] == 0, head[3] == 0};
      if (!is_zero[0] && is_zero[1] && is_zero[2] && is_zero[3] && BeginsJson(head[0])) return Utf32Error();
      if (is_zero[0] && is_zero[1] && is_zero[2] && !is_zero[3] && BeginsJson(head[3])) return Utf32Error();
      const bool is_little_endian = !is_zero[0] && is_zero[1] && !is_zero[2] && is_zero[3] && BeginsJson(head[0]);
      const bool is_big_endian = is_zero[0] && !is_zero[1] && is_zero[2] && !is_zero[3] && BeginsJson(head[1]);
      if (is_little_endian || is_big_endian) {
        source_ = MakeUtf16Source(std::move(source_), is_big_endian);
        file_ = nullptr;
        *is_worked_on = true;
        input_->notes_.push_back(
            absl::StrCat("UTF-16", is_big_endian ? "BE" : "LE", " without a byte order mark converted"));
      }
    }
    return absl::OkStatus();
  }

  static bool BeginsJson(char c) { return c == '{' || c == '[' || c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

  absl::Status Utf32Error() const {
    return absl::UnimplementedError(
        absl::StrCat(source_->name(), ": the text is UTF-32, which is not supported; convert it to UTF-8"));
  }

  const OpenOptions options_;
  std::unique_ptr<Input> input_;
  std::unique_ptr<ByteSource> source_;
  std::shared_ptr<RandomAccessFile> file_;  // what source_ reads, if that is a file and nothing is in between
};

absl::string_view ContainerName(Container container) {
  switch (container) {
    case Container::kPlain: return "plain";
    case Container::kGzip: return "gzip";
    case Container::kZstd: return "zstd";
    case Container::kZip: return "zip";
  }
  return "unknown";
}

Input::~Input() = default;

std::unique_ptr<ByteSource> Input::Stream() { return std::move(stream_); }

absl::StatusOr<std::unique_ptr<Input>> OpenInput(const std::string& path, const OpenOptions& options) {
  const bool is_stdin = path == "-";
  const std::string name = is_stdin ? "<stdin>" : path;
  int fd = is_stdin ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat(name, ": cannot open"));
  struct stat info;
  if (::fstat(fd, &info) != 0) {
    absl::Status status = absl::ErrnoToStatus(errno, absl::StrCat(name, ": cannot stat"));
    ::close(fd);
    return status;
  }
  // Files without a size are regular in name only (/proc). Redirected standard input may have been read in part.
  const bool is_at_start = !is_stdin || ::lseek(fd, 0, SEEK_CUR) == 0;
  if (S_ISDIR(info.st_mode) || (S_ISREG(info.st_mode) && info.st_size > 0 && is_at_start)) {
    absl::StatusOr<std::shared_ptr<RandomAccessFile>> file = AdoptRandomAccess(fd, name);
    if (!file.ok()) return file.status();
    return InputOpener(options).Open(MakeFileSource(*file), *file);
  }
  return InputOpener(options).Open(MakeFdSource(fd, /*owns_fd=*/true, name), nullptr);
}

absl::StatusOr<std::unique_ptr<Input>> OpenMemory(std::string bytes, std::string name, const OpenOptions& options) {
  std::shared_ptr<RandomAccessFile> file = MakeMemoryFile(std::move(bytes), std::move(name));
  return InputOpener(options).Open(MakeFileSource(file), file);
}

}  // namespace tracekiln::io
