#include "formats/io/byte_source.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"

namespace tracekiln::io {
namespace {

class FileSource final : public ByteSource {
 public:
  FileSource(std::shared_ptr<const RandomAccessFile> file, uint64_t offset, uint64_t size, std::string name)
      : ByteSource(std::move(name)), file_(std::move(file)), offset_(offset), size_bytes_(size) {
    file_->WillReadInSequence(offset, size);
  }

  std::optional<uint64_t> size_hint() const override { return size_bytes_; }

 protected:
  size_t ReadSome(char* out, size_t size) override {
    const uint64_t done = position();
    size = static_cast<size_t>(std::min<uint64_t>(size, size_bytes_ - done));
    if (size == 0) return 0;
    absl::Status status = file_->ReadAt(offset_ + done, size, out);
    if (!status.ok()) {
      set_status(std::move(status));
      return 0;
    }
    return size;
  }

 private:
  const std::shared_ptr<const RandomAccessFile> file_;
  const uint64_t offset_;
  const uint64_t size_bytes_;
};

class FdSource final : public ByteSource {
 public:
  FdSource(int fd, bool owns_fd, std::string name) : ByteSource(std::move(name)), fd_(fd), owns_fd_(owns_fd) {}
  ~FdSource() override {
    if (owns_fd_) ::close(fd_);
  }

  void Cancel() override { is_cancelled_ = true; }

 protected:
  size_t ReadSome(char* out, size_t size) override {
    while (true) {
      // read() itself could wait for ever; poll with a time limit lets Cancel through.
      pollfd waiting = {fd_, POLLIN, 0};
      const int ready_count = ::poll(&waiting, 1, 100);
      if (is_cancelled_) {
        set_status(absl::CancelledError(absl::StrCat(name(), ":", position(), ": reading was cancelled")));
        return 0;
      }
      if (ready_count == 0 || (ready_count < 0 && errno == EINTR)) continue;
      const ssize_t got = ::read(fd_, out, std::min<size_t>(size, 1 << 30));
      if (got >= 0) return static_cast<size_t>(got);
      if (errno == EINTR || errno == EAGAIN) continue;
      set_status(absl::ErrnoToStatus(errno, absl::StrCat(name(), ":", position(), ": cannot read")));
      return 0;
    }
  }

 private:
  const int fd_;
  const bool owns_fd_;
  std::atomic<bool> is_cancelled_{false};
};

class PrefixedSource final : public ByteSource {
 public:
  PrefixedSource(std::string prefix, std::unique_ptr<ByteSource> rest)
      : ByteSource(rest->name(), rest->position() - prefix.size()),
        prefix_(std::move(prefix)),
        rest_(std::move(rest)) {}

  std::optional<uint64_t> size_hint() const override { return rest_->size_hint(); }
  uint64_t raw_position() const override { return rest_->raw_position(); }
  std::optional<uint64_t> raw_size() const override { return rest_->raw_size(); }
  void Cancel() override { rest_->Cancel(); }

 protected:
  size_t ReadSome(char* out, size_t size) override {
    if (used_ < prefix_.size()) {
      size = std::min(size, prefix_.size() - used_);
      std::memcpy(out, prefix_.data() + used_, size);
      used_ += size;
      return size;
    }
    const size_t got = rest_->Read(out, size);
    if (got == 0) set_status(rest_->status());
    return got;
  }

 private:
  const std::string prefix_;
  size_t used_ = 0;
  const std::unique_ptr<ByteSource> rest_;
};

// A ring of buffers between one producing thread and the consumer. Buffer i of the sequence lies in slot i modulo the
// ring's size; `filled_count_` buffers were produced and `drained_count_` consumed, both only ever grow. A slot's bytes
// are touched without the lock: by the producer while it is not counted as filled, by the consumer while it is.
class ReadAheadSource final : public ByteSource {
 public:
  ReadAheadSource(std::unique_ptr<ByteSource> source, int buffer_count, size_t buffer_bytes)
      : ByteSource(source->name(), source->position()),
        source_(std::move(source)),
        slots_(static_cast<size_t>(std::max(buffer_count, 1))) {
    for (Slot& slot : slots_) slot.bytes.reset(new char[buffer_bytes]);
    buffer_bytes_ = buffer_bytes;
    thread_ = std::thread([this] { Produce(); });
  }

  ~ReadAheadSource() override {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      is_stopping_ = true;
    }
    source_->Cancel();
    changed_.notify_all();
    thread_.join();
  }

  std::optional<uint64_t> size_hint() const override { return source_->size_hint(); }
  uint64_t raw_position() const override { return source_->raw_position(); }
  std::optional<uint64_t> raw_size() const override { return source_->raw_size(); }
  void Cancel() override { source_->Cancel(); }

 protected:
  size_t ReadSome(char* out, size_t size) override {
    if (used_ == available_) {
      std::unique_lock<std::mutex> lock(mutex_);
      if (available_ > 0) {
        ++drained_count_;
        changed_.notify_all();
      }
      used_ = available_ = 0;
      changed_.wait(lock, [this] { return filled_count_ > drained_count_ || is_at_end_; });
      if (filled_count_ == drained_count_) {
        set_status(end_status_);
        return 0;
      }
      current_ = &slots_[drained_count_ % slots_.size()];
      available_ = current_->size;
    }
    size = std::min(size, available_ - used_);
    std::memcpy(out, current_->bytes.get() + used_, size);
    used_ += size;
    return size;
  }

 private:
  struct Slot {
    std::unique_ptr<char[]> bytes;
    size_t size = 0;
  };

  void Produce() {
    while (true) {
      Slot* slot;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return is_stopping_ || filled_count_ - drained_count_ < slots_.size(); });
        if (is_stopping_) return;
        slot = &slots_[filled_count_ % slots_.size()];
      }
      slot->size = source_->ReadFully(slot->bytes.get(), buffer_bytes_);
      std::lock_guard<std::mutex> lock(mutex_);
      if (slot->size > 0) ++filled_count_;
      if (slot->size < buffer_bytes_) {
        end_status_ = source_->status();
        is_at_end_ = true;
      }
      changed_.notify_all();
      if (is_at_end_) return;
    }
  }

  const std::unique_ptr<ByteSource> source_;  // read by thread_ only
  size_t buffer_bytes_;
  std::vector<Slot> slots_;

  // The consumer's place in the slot it reads.
  Slot* current_ = nullptr;
  size_t used_ = 0;
  size_t available_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t filled_count_ = 0;  // guarded by mutex_, as all that follows
  uint64_t drained_count_ = 0;
  bool is_at_end_ = false;
  bool is_stopping_ = false;
  absl::Status end_status_;

  std::thread thread_;
};

}  // namespace

ByteSource::ByteSource(std::string name, uint64_t start_position) : name_(std::move(name)), position_(start_position) {}

ByteSource::~ByteSource() = default;

size_t ByteSource::Read(char* out, size_t size) {
  if (is_finished_ || size == 0) return 0;
  const size_t got = ReadSome(out, size);
  if (got == 0) is_finished_ = true;
  position_.store(position_.load(std::memory_order_relaxed) + got, std::memory_order_relaxed);
  return got;
}

size_t ByteSource::ReadFully(char* out, size_t size) {
  size_t done = 0;
  while (done < size) {
    const size_t got = Read(out + done, size - done);
    if (got == 0) break;
    done += got;
  }
  return done;
}

std::unique_ptr<ByteSource> MakeFileSource(std::shared_ptr<const RandomAccessFile> file, uint64_t offset, uint64_t size,
                                           std::string name) {
  offset = std::min(offset, file->size());
  size = std::min(size, file->size() - offset);
  if (name.empty()) name = file->name();
  return std::make_unique<FileSource>(std::move(file), offset, size, std::move(name));
}

std::unique_ptr<ByteSource> MakeFdSource(int fd, bool owns_fd, std::string name) {
  return std::make_unique<FdSource>(fd, owns_fd, std::move(name));
}

std::unique_ptr<ByteSource> MakeStdinSource() { return MakeFdSource(STDIN_FILENO, /*owns_fd=*/false, "<stdin>"); }

std::unique_ptr<ByteSource> MakeMemorySource(std::string bytes, std::string name) {
  return MakeFileSource(MakeMemoryFile(std::move(bytes), std::move(name)));
}

std::unique_ptr<ByteSource> MakePrefixedSource(std::string prefix, std::unique_ptr<ByteSource> rest) {
  return std::make_unique<PrefixedSource>(std::move(prefix), std::move(rest));
}

std::unique_ptr<ByteSource> MakeReadAheadSource(std::unique_ptr<ByteSource> source, int buffer_count,
                                                size_t buffer_bytes) {
  return std::make_unique<ReadAheadSource>(std::move(source), buffer_count, std::max<size_t>(buffer_bytes, 1));
}

absl::StatusOr<std::string> ReadAll(ByteSource* source, uint64_t limit_bytes) {
  std::string bytes;
  const std::optional<uint64_t> hint = source->size_hint();
  size_t block_bytes = 64 << 10;
  if (hint.has_value() && *hint <= limit_bytes) bytes.reserve(*hint);
  while (true) {
    const size_t old_size = bytes.size();
    bytes.resize(old_size + block_bytes);
    const size_t got = source->ReadFully(bytes.data() + old_size, block_bytes);
    bytes.resize(old_size + got);
    if (bytes.size() > limit_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat(source->name(), ": expected at most ", limit_bytes, " bytes, got more"));
    }
    if (got < block_bytes) break;
    block_bytes = std::min<size_t>(block_bytes * 2, 4 << 20);
  }
  if (!source->status().ok()) return source->status();
  return bytes;
}

}  // namespace tracekiln::io
