#include "formats/io/utf16_source.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace tracekiln::io {
namespace {

constexpr size_t kBlockBytes = 64 << 10;
constexpr uint32_t kReplacement = 0xfffd;

void AppendUtf8(uint32_t code_point, std::string* out) {
  if (code_point < 0x80) {
    out->push_back(static_cast<char>(code_point));
  } else if (code_point < 0x800) {
    out->push_back(static_cast<char>(0xc0 | code_point >> 6));
    out->push_back(static_cast<char>(0x80 | (code_point & 0x3f)));
  } else if (code_point < 0x10000) {
    out->push_back(static_cast<char>(0xe0 | code_point >> 12));
    out->push_back(static_cast<char>(0x80 | (code_point >> 6 & 0x3f)));
    out->push_back(static_cast<char>(0x80 | (code_point & 0x3f)));
  } else {
    out->push_back(static_cast<char>(0xf0 | code_point >> 18));
    out->push_back(static_cast<char>(0x80 | (code_point >> 12 & 0x3f)));
    out->push_back(static_cast<char>(0x80 | (code_point >> 6 & 0x3f)));
    out->push_back(static_cast<char>(0x80 | (code_point & 0x3f)));
  }
}

class Utf16Source final : public ByteSource {
 public:
  Utf16Source(std::unique_ptr<ByteSource> source, bool is_big_endian)
      : ByteSource(source->name()), source_(std::move(source)), is_big_endian_(is_big_endian) {}

  uint64_t raw_position() const override { return source_->raw_position(); }
  std::optional<uint64_t> raw_size() const override { return source_->raw_size(); }
  void Cancel() override { source_->Cancel(); }

 protected:
  size_t ReadSome(char* out, size_t size) override {
    while (used_ == text_.size()) {
      if (is_at_end_) {
        set_status(source_->status());
        return 0;
      }
      Convert();
    }
    size = std::min(size, text_.size() - used_);
    std::memcpy(out, text_.data() + used_, size);
    used_ += size;
    return size;
  }

 private:
  // Replaces text_ by the next block; it may be empty.
  void Convert() {
    text_.clear();
    used_ = 0;
    std::string bytes(kBlockBytes, '\0');
    const size_t got = source_->ReadFully(bytes.data(), kBlockBytes);
    is_at_end_ = got < kBlockBytes;
    for (size_t i = 0; i + 1 < got; i += 2) {
      const uint32_t first = static_cast<unsigned char>(bytes[i]);
      const uint32_t second = static_cast<unsigned char>(bytes[i + 1]);
      const uint32_t unit = is_big_endian_ ? first << 8 | second : second << 8 | first;
      const bool is_low = unit >= 0xdc00 && unit < 0xe000;
      if (high_surrogate_ != 0) {
        AppendUtf8(is_low ? 0x10000 + ((high_surrogate_ - 0xd800) << 10) + (unit - 0xdc00) : high_surrogate_, &text_);
        high_surrogate_ = 0;
        if (is_low) continue;
      }
      if (unit >= 0xd800 && unit < 0xdc00) {
        high_surrogate_ = unit;  // its other half may be in the next block
      } else {
        AppendUtf8(unit, &text_);
      }
    }
    if (is_at_end_) {
      if (high_surrogate_ != 0) AppendUtf8(high_surrogate_, &text_);
      if (got % 2 != 0) AppendUtf8(kReplacement, &text_);  // blocks are even, so only the last can be odd
    }
  }

  const std::unique_ptr<ByteSource> source_;
  const bool is_big_endian_;
  std::string text_;
  size_t used_ = 0;
  uint32_t high_surrogate_ = 0;  // waits for its low one; 0: none
  bool is_at_end_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> MakeUtf16Source(std::unique_ptr<ByteSource> source, bool is_big_endian) {
  return std::make_unique<Utf16Source>(std::move(source), is_big_endian);
}

}  // namespace tracekiln::io
