// MarshalInput: the bytes of a marshal stream, by way of a buffer that is refilled. It trusts no length: memory grows
// only as bytes arrive.
#ifndef TRACEKILN_FORMATS_PSTATS_MARSHAL_INPUT_H_
#define TRACEKILN_FORMATS_PSTATS_MARSHAL_INPUT_H_

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "formats/io/byte_source.h"

namespace tracekiln::pstats {

class MarshalInput {
 public:
  // `source` must outlive it.
  explicit MarshalInput(io::ByteSource& source)
      : source_(source), buffer_(new char[kBufferBytes]), buffer_offset_(source.position()) {}

  // Whether `size` more bytes are there. REQUIRES: size <= kMaxEnsure.
  bool Ensure(size_t size) { return static_cast<size_t>(end_ - next_) >= size || Refill(size); }
  static constexpr size_t kMaxEnsure = 64 << 10;

  // The offset of the next byte.
  uint64_t offset() const { return buffer_offset_ + static_cast<uint64_t>(next_ - buffer_.get()); }

  // REQUIRES: Ensure of the size of T was true.
  template <typename T>
  T Take() {
    T value;
    std::memcpy(&value, next_, sizeof(value));
    next_ += sizeof(value);
    return value;
  }

  // The next `size` bytes; false if the stream ends before. Valid until the next call of any method but offset().
  bool TakeBytes(uint32_t size, absl::string_view* bytes) {
    if (static_cast<size_t>(end_ - next_) < size) return TakeBytesSlowly(size, bytes);
    *bytes = absl::string_view(next_, size);
    next_ += size;
    return true;
  }

  // What is in the buffer, for telling what a file is. REQUIRES: nothing was taken.
  absl::string_view Head() {
    (void)Ensure(kMaxEnsure);
    return absl::string_view(next_, static_cast<size_t>(end_ - next_));
  }

  // Reads to the end. Returns how many bytes there were.
  uint64_t Drain();

 private:
  static constexpr size_t kBufferBytes = 256 << 10;

  bool Refill(size_t size);
  bool TakeBytesSlowly(uint32_t size, absl::string_view* bytes);

  io::ByteSource& source_;
  const std::unique_ptr<char[]> buffer_;
  uint64_t buffer_offset_;  // of buffer_[0] in the stream
  char* next_ = buffer_.get();
  char* end_ = buffer_.get();
  std::string long_bytes_;  // what TakeBytes returned, where it does not fit the buffer
};

}  // namespace tracekiln::pstats

#endif  // TRACEKILN_FORMATS_PSTATS_MARSHAL_INPUT_H_
