#include "formats/io/decompress.h"

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace tracekiln::io {
namespace {

constexpr size_t kInputBytes = 256 << 10;

// The compressed bytes between a source and a decompressor.
class InputBuffer {
 public:
  explicit InputBuffer(std::unique_ptr<ByteSource> source)
      : source_(std::move(source)), bytes_(new unsigned char[kInputBytes]) {}

  ByteSource& source() const { return *source_; }
  unsigned char* next() const { return bytes_.get() + begin_; }
  size_t size() const { return end_ - begin_; }
  void Skip(size_t size) { begin_ += size; }

  // Offset of next() in the source.
  uint64_t offset() const { return source_->position() - size(); }

  // Has at least `size` bytes at next(), unless the source ends before. REQUIRES: size <= kInputBytes.
  bool Fill(size_t size) {
    if (this->size() >= size) return true;
    std::memmove(bytes_.get(), next(), this->size());
    end_ -= begin_;
    begin_ = 0;
    while (end_ < size) {
      const size_t got = source_->Read(reinterpret_cast<char*>(bytes_.get()) + end_, kInputBytes - end_);
      if (got == 0) return false;
      end_ += got;
    }
    return true;
  }

 private:
  const std::unique_ptr<ByteSource> source_;
  const std::unique_ptr<unsigned char[]> bytes_;
  size_t begin_ = 0;
  size_t end_ = 0;
};

// What the decompressors have in common: progress, cancelling, and errors that wait until their bytes are delivered.
class Decompressor : public ByteSource {
 public:
  uint64_t raw_position() const override { return in_.source().raw_position(); }
  std::optional<uint64_t> raw_size() const override { return in_.source().raw_size(); }
  void Cancel() override { in_.source().Cancel(); }

 protected:
  Decompressor(std::unique_ptr<ByteSource> source, std::string name)
      : ByteSource(std::move(name)), in_(std::move(source)) {}

  size_t ReadSome(char* out, size_t size) final {
    if (!pending_.ok()) {
      set_status(pending_);
      return 0;
    }
    const size_t got = Decompress(out, std::min<size_t>(size, 1 << 30));
    if (got == 0) set_status(pending_);
    return got;
  }

  // Delivers some bytes, or 0 at the end. May deliver bytes and call Fail: the failure shows at the next Read.
  virtual size_t Decompress(char* out, size_t size) = 0;

  void Fail(absl::Status status) { pending_ = std::move(status); }

  // The source ended where more was needed.
  void FailAtEnd(absl::string_view what) {
    const absl::Status& cause = in_.source().status();
    Fail(!cause.ok() ? cause
                     : absl::DataLossError(absl::StrCat(name(), ":", in_.source().position(), ": expected more ", what,
                                                        " data, got the end of the file (truncated)")));
  }

  std::string At(uint64_t offset) const { return absl::StrCat(name(), ":", offset, ": "); }

  InputBuffer in_;

 private:
  absl::Status pending_;
};

absl::string_view InflateErrorName(int code) {
  switch (code) {
    case ISAL_INVALID_BLOCK: return "invalid block header";
    case ISAL_INVALID_SYMBOL: return "invalid symbol";
    case ISAL_INVALID_LOOKBACK: return "match before the beginning of the data";
    case ISAL_INCORRECT_CHECKSUM: return "wrong checksum or length";
    default: return "invalid data";
  }
}

class InflateSource final : public Decompressor {
 public:
  InflateSource(std::unique_ptr<ByteSource> source, std::string name, bool is_gzip)
      : Decompressor(std::move(source), std::move(name)), is_gzip_(is_gzip), state_(new inflate_state) {
    isal_inflate_init(state_.get());
    state_->crc_flag = is_gzip ? ISAL_GZIP_NO_HDR_VER : ISAL_DEFLATE;
  }

 protected:
  size_t Decompress(char* out, size_t size) override {
    while (true) {
      if (is_at_boundary_ && !BeginMember()) return 0;
      state_->next_out = reinterpret_cast<uint8_t*>(out);
      state_->avail_out = static_cast<uint32_t>(size);
      state_->next_in = in_.next();
      state_->avail_in = static_cast<uint32_t>(in_.size());
      const int code = isal_inflate(state_.get());
      const size_t used = in_.size() - state_->avail_in;
      const size_t got = size - state_->avail_out;
      in_.Skip(used);
      if (code < 0 || code == ISAL_NEED_DICT) {
        // Whole bytes that were taken into the bit buffer are not used yet.
        const uint64_t ahead = state_->read_in_length > 0 ? static_cast<uint64_t>(state_->read_in_length) / 8 : 0;
        Fail(absl::DataLossError(absl::StrCat(At(in_.offset() - std::min(ahead, in_.offset())), "damaged ",
                                              is_gzip_ ? "gzip" : "deflate", " data: ", InflateErrorName(code))));
        return got;
      }
      if (state_->block_state == ISAL_BLOCK_FINISH) {
        is_at_boundary_ = true;
        ++member_count_;
      } else if (got == 0 && in_.size() == 0) {
        if (!in_.Fill(1)) {
          FailAtEnd(is_gzip_ ? "gzip" : "deflate");
          return 0;
        }
      } else if (got == 0 && used == 0) {
        Fail(absl::DataLossError(absl::StrCat(At(in_.offset()), "damaged data: decompression makes no progress")));
        return 0;
      }
      if (got > 0) return got;
    }
  }

 private:
  // Prepares for the next member; false at the end or a failure.
  bool BeginMember() {
    if (member_count_ > 0) {
      if (!is_gzip_ || !SkipZeros()) return false;
      isal_inflate_reset(state_.get());
    }
    is_at_boundary_ = false;
    return !is_gzip_ || ReadHeader();
  }

  // To the next byte that is not zero; false if there is none.
  bool SkipZeros() {
    while (in_.Fill(1)) {
      const unsigned char* const begin = in_.next();
      const unsigned char* const end = begin + in_.size();
      const unsigned char* const other = std::find_if(begin, end, [](unsigned char c) { return c != 0; });
      in_.Skip(static_cast<size_t>(other - begin));
      if (other == end) continue;
      const bool has_two = in_.Fill(2);
      if (in_.next()[0] == 0x1f && (!has_two || in_.next()[1] == 0x8b)) return true;
      Fail(absl::InvalidArgumentError(
          absl::StrCat(At(in_.offset()), "expected the end of the file or another gzip member, got other bytes")));
      return false;
    }
    if (!in_.source().status().ok()) Fail(in_.source().status());
    return false;
  }

  // The header of a member (RFC 1952, 2.3), whose optional fields say nothing that we want. isal_inflate (2.30) could
  // read it, but fails at members that have such fields.
  bool ReadHeader() {
    header_crc_ = 0;
    const uint64_t offset = in_.offset();
    unsigned char fixed[10];
    if (!TakeHeader(fixed, 10)) return false;
    const auto fail = [&](absl::string_view what) {
      Fail(absl::DataLossError(absl::StrCat(At(offset), "damaged gzip header: ", what)));
      return false;
    };
    if (fixed[0] != 0x1f || fixed[1] != 0x8b) return fail("wrong magic number");
    if (fixed[2] != 8) return fail("unknown compression method");
    const int flags = fixed[3];
    if ((flags & 0xe0) != 0) return fail("unknown flags");
    if ((flags & 4) != 0) {
      unsigned char size[2];
      if (!TakeHeader(size, 2)) return false;
      for (int left = size[0] | size[1] << 8; left > 0; --left) {
        if (!TakeHeader(size, 1)) return false;
      }
    }
    for (const int flag : {8, 16}) {  // name, comment
      unsigned char c = (flags & flag) != 0 ? 1 : 0;
      while (c != 0) {
        if (!TakeHeader(&c, 1)) return false;
      }
    }
    if ((flags & 2) != 0) {
      const uint32_t want = header_crc_ & 0xffff;
      unsigned char crc[2];
      if (!TakeHeader(crc, 2)) return false;
      if (want != static_cast<uint32_t>(crc[0] | crc[1] << 8)) return fail("wrong checksum");
    }
    return true;
  }

  bool TakeHeader(unsigned char* out, size_t size) {
    if (!in_.Fill(size)) {
      FailAtEnd("gzip");
      return false;
    }
    std::memcpy(out, in_.next(), size);
    header_crc_ = crc32_gzip_refl(header_crc_, out, size);
    in_.Skip(size);
    return true;
  }

  const bool is_gzip_;
  const std::unique_ptr<inflate_state> state_;
  bool is_at_boundary_ = true;
  uint64_t member_count_ = 0;  // finished ones
  uint32_t header_crc_ = 0;
};

class ZstdSource final : public Decompressor {
 public:
  ZstdSource(std::unique_ptr<ByteSource> source, std::string name)
      : Decompressor(std::move(source), std::move(name)), context_(ZSTD_createDCtx()) {}
  ~ZstdSource() override { ZSTD_freeDCtx(context_); }

 protected:
  size_t Decompress(char* out, size_t size) override {
    if (context_ == nullptr) {
      Fail(absl::ResourceExhaustedError(absl::StrCat(name(), ": no memory for the zstd decompressor")));
      return 0;
    }
    while (true) {
      if (is_at_boundary_ && !BeginFrame()) return 0;
      if (in_.size() == 0 && !may_have_output_ && !in_.Fill(1)) {
        FailAtEnd("zstd");
        return 0;
      }
      // At most what the library asks for, so that a call decodes one block: when a call fails, it does not say how
      // much it decoded before, and that would be lost. Nothing while decoded bytes wait, for the same reason.
      ZSTD_inBuffer in = {in_.next(), may_have_output_ ? 0 : std::min(in_.size(), wanted_), 0};
      ZSTD_outBuffer produced = {out, size, 0};
      const size_t result = ZSTD_decompressStream(context_, &produced, &in);
      if (ZSTD_isError(result)) {
        const std::string message = absl::StrCat(At(in_.offset()), "damaged zstd data: ", ZSTD_getErrorName(result));
        // The public API has no codes, only names.
        const bool is_too_big = absl::string_view(ZSTD_getErrorName(result)).find("memory") != absl::string_view::npos;
        Fail(is_too_big ? absl::ResourceExhaustedError(message) : absl::DataLossError(message));
        return produced.pos;
      }
      in_.Skip(in.pos);
      may_have_output_ = produced.pos == size;
      is_at_boundary_ = result == 0;
      wanted_ = result;
      if (produced.pos > 0) return produced.pos;
    }
  }

 private:
  bool BeginFrame() {
    if (!in_.Fill(1)) {
      if (!in_.source().status().ok()) Fail(in_.source().status());
      return false;
    }
    if (!in_.Fill(4)) {
      FailAtEnd("zstd");
      return false;
    }
    uint32_t magic;
    std::memcpy(&magic, in_.next(), 4);
    if (magic != ZSTD_MAGICNUMBER && (magic & ZSTD_MAGIC_SKIPPABLE_MASK) != ZSTD_MAGIC_SKIPPABLE_START) {
      Fail(absl::InvalidArgumentError(
          absl::StrCat(At(in_.offset()), "expected the end of the file or another zstd frame, got other bytes")));
      return false;
    }
    is_at_boundary_ = false;
    may_have_output_ = false;
    wanted_ = 5;  // shortest beginning that tells the header's size
    return true;
  }

  ZSTD_DCtx* const context_;
  bool is_at_boundary_ = true;
  bool may_have_output_ = false;  // decoded bytes may wait in the context
  size_t wanted_ = 0;
};

class CheckedSource final : public ByteSource {
 public:
  CheckedSource(std::unique_ptr<ByteSource> source, uint64_t size_bytes, uint32_t crc)
      : ByteSource(source->name()), source_(std::move(source)), size_bytes_(size_bytes), want_crc_(crc) {}

  std::optional<uint64_t> size_hint() const override { return size_bytes_; }
  uint64_t raw_position() const override { return source_->raw_position(); }
  std::optional<uint64_t> raw_size() const override { return source_->raw_size(); }
  void Cancel() override { source_->Cancel(); }

 protected:
  size_t ReadSome(char* out, size_t size) override {
    const uint64_t done = position();
    if (done == size_bytes_) {
      char more;
      if (source_->Read(&more, 1) > 0) {
        set_status(absl::DataLossError(
            absl::StrCat(name(), ": expected ", size_bytes_, " bytes as the archive says, got more")));
        return 0;
      }
    }
    const size_t got = source_->Read(out, static_cast<size_t>(std::min<uint64_t>(size, size_bytes_ - done)));
    crc_ = crc32_gzip_refl(crc_, reinterpret_cast<const unsigned char*>(out), got);
    if (got > 0) return got;
    if (!source_->status().ok()) {
      set_status(source_->status());
    } else if (done != size_bytes_) {
      set_status(absl::DataLossError(
          absl::StrCat(name(), ": expected ", size_bytes_, " bytes as the archive says, got ", done)));
    } else if (crc_ != want_crc_) {
      set_status(absl::DataLossError(
          absl::StrCat(name(), ": wrong checksum: expected ", absl::Hex(want_crc_), ", got ", absl::Hex(crc_))));
    }
    return 0;
  }

 private:
  const std::unique_ptr<ByteSource> source_;
  const uint64_t size_bytes_;
  const uint32_t want_crc_;
  uint32_t crc_ = 0;
};

}  // namespace

std::unique_ptr<ByteSource> MakeGzipSource(std::unique_ptr<ByteSource> source) {
  std::string name = source->name();
  return std::make_unique<InflateSource>(std::move(source), std::move(name), /*is_gzip=*/true);
}

std::unique_ptr<ByteSource> MakeInflateSource(std::unique_ptr<ByteSource> source, std::string name) {
  return std::make_unique<InflateSource>(std::move(source), std::move(name), /*is_gzip=*/false);
}

std::unique_ptr<ByteSource> MakeZstdSource(std::unique_ptr<ByteSource> source) {
  std::string name = source->name();
  return std::make_unique<ZstdSource>(std::move(source), std::move(name));
}

std::unique_ptr<ByteSource> MakeCheckedSource(std::unique_ptr<ByteSource> source, uint64_t size_bytes, uint32_t crc) {
  return std::make_unique<CheckedSource>(std::move(source), size_bytes, crc);
}

}  // namespace tracekiln::io
