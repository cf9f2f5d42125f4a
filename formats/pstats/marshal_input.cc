#include "formats/pstats/marshal_input.h"

#include <algorithm>

namespace tracekiln::pstats {

bool MarshalInput::Refill(size_t size) {
  const size_t left = static_cast<size_t>(end_ - next_);
  buffer_offset_ = offset();
  std::memmove(buffer_.get(), next_, left);
  next_ = buffer_.get();
  end_ = next_ + left;
  while (static_cast<size_t>(end_ - next_) < size) {
    const size_t got = source_.Read(end_, kBufferBytes - static_cast<size_t>(end_ - next_));
    if (got == 0) return false;
    end_ += got;
  }
  return true;
}

bool MarshalInput::TakeBytesSlowly(uint32_t size, absl::string_view* bytes) {
  if (size <= kMaxEnsure) {
    if (!Refill(size)) return false;
    *bytes = absl::string_view(next_, size);
    next_ += size;
    return true;
  }
  long_bytes_.clear();
  while (long_bytes_.size() < size) {
    if (!Ensure(1)) return false;
    const size_t part = std::min(static_cast<size_t>(end_ - next_), size - long_bytes_.size());
    long_bytes_.append(next_, part);
    next_ += part;
  }
  *bytes = long_bytes_;
  return true;
}

uint64_t MarshalInput::Drain() {
  const uint64_t start = offset();
  do {
    next_ = end_;
  } while (Ensure(1));
  return offset() - start;
}

}  // namespace tracekiln::pstats
