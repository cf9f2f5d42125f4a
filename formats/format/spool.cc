#include "formats/format/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "formats/intermediate/kiln_reader.h"
#include "formats/intermediate/kiln_writer.h"
#include "formats/io/byte_sink.h"

namespace tracekiln {
namespace {

// Collects bytes in memory up to a limit, then in an unlinked file.
class SpoolSink final : public io::ByteSink {
 public:
  SpoolSink(const SpoolOptions& options, std::string name) : io::ByteSink(std::move(name)), options_(options) {}
  ~SpoolSink() override {
    if (fd_ >= 0) close(fd_);
  }

  // After Close.
  absl::StatusOr<std::shared_ptr<io::RandomAccessFile>> TakeFile() {
    if (!status().ok()) return status();
    if (fd_ < 0) return io::MakeMemoryFile(std::move(memory_), name());
    return io::AdoptRandomAccess(std::exchange(fd_, -1), name());
  }

 protected:
  void WriteSome(absl::string_view bytes) override {
    memory_.append(bytes.data(), bytes.size());
    if (fd_ >= 0 ? memory_.size() >= kBufferBytes : memory_.size() > options_.memory_limit_bytes) Flush();
  }
  void Finish() override {
    if (fd_ >= 0) Flush();
  }

 private:
  static constexpr size_t kBufferBytes = 1 << 20;

  absl::Status Failed(absl::string_view what) const {
    return absl::ErrnoToStatus(errno, absl::StrCat("temporary file for ", name(), ": ", what));
  }

  void Flush() {
    if (fd_ < 0) {
      std::string path = options_.directory;
      if (path.empty()) {
        const char* from_environment = getenv("TMPDIR");
        path = from_environment != nullptr && *from_environment != '\0' ? from_environment : "/tmp";
      }
      path += "/tracekiln-spool-XXXXXX";
      fd_ = mkostemp(path.data(), O_CLOEXEC);
      if (fd_ < 0) return set_status(Failed("cannot create it"));
      unlink(path.c_str());
    }
    const char* p = memory_.data();
    size_t left = memory_.size();
    while (left > 0) {
      const ssize_t n = write(fd_, p, left);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return set_status(Failed("cannot write it"));
      p += n;
      left -= static_cast<size_t>(n);
    }
    memory_.clear();
    if (memory_.capacity() > 2 * kBufferBytes) memory_.shrink_to_fit();
  }

  const SpoolOptions options_;
  std::string memory_;  // all bytes, or with a file those not written yet
  int fd_ = -1;
};

class SpooledSource final : public TraceSource {
 public:
  SpooledSource(std::unique_ptr<kiln::KilnReader> reader, TraceInfo info)
      : reader_(std::move(reader)), info_(std::move(info)) {}

  absl::StatusOr<bool> Next(EventBatch* batch) override { return reader_->Next(batch); }
  absl::Status Rewind() override { return reader_->Rewind(); }
  bool can_rewind() const override { return true; }
  const TraceInfo& info() const override { return info_; }
  const Profile* profile() const override { return reader_->profile(); }
  const Graph* graph() const override { return reader_->graph(); }
  Progress progress() const override { return reader_->progress(); }

 private:
  const std::unique_ptr<kiln::KilnReader> reader_;
  const TraceInfo info_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<TraceSource>> MakeRewindable(std::unique_ptr<TraceSource> source, io::Executor& executor,
                                                            const SpoolOptions& options) {
  if (source->can_rewind()) return source;
  SpoolSink sink(options, source->info().source_name);
  if (absl::Status status = kiln::WriteKiln(*source, {}, sink, executor); !status.ok()) return status;
  if (absl::Status status = sink.Close(); !status.ok()) return status;
  TraceInfo info = source->info();
  source.reset();
  absl::StatusOr<std::shared_ptr<io::RandomAccessFile>> file = sink.TakeFile();
  if (!file.ok()) return file.status();
  absl::StatusOr<std::unique_ptr<kiln::KilnReader>> reader = kiln::KilnReader::Open(*std::move(file), {}, executor);
  if (!reader.ok()) return reader.status();
  return std::make_unique<SpooledSource>(*std::move(reader), std::move(info));
}

absl::StatusOr<std::shared_ptr<io::RandomAccessFile>> SpoolBytes(io::ByteSource& source, const SpoolOptions& options) {
  SpoolSink sink(options, source.name());
  std::string buffer(1 << 20, '\0');
  while (const size_t size = source.Read(buffer.data(), buffer.size())) {
    sink.Write(absl::string_view(buffer.data(), size));
    if (!sink.status().ok()) return sink.status();
  }
  if (!source.status().ok()) return source.status();
  if (absl::Status status = sink.Close(); !status.ok()) return status;
  return sink.TakeFile();
}

}  // namespace tracekiln
