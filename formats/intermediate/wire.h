// The protobuf wire format, as little of it as the .kiln file needs: a writer that appends to a string and a reader
// that can't run off its input.
//
// Why not libprotobuf: the encoder also runs inside other people's processes, which bring a protobuf of their own. Why
// not protozero: it reports malformed input by exceptions. Errors here are sticky: read everything, look at ok() once.
//
//   WireWriter w(&out);
//   w.Varint(1, rows);
//   w.Bytes(2, name);
//
//   WireReader r(bytes);
//   while (r.NextField()) {
//     switch (r.field()) {
//       case 1: rows = r.Varint(); break;
//       case 2: name = r.Bytes(); break;
//       default: r.Skip();
//     }
//   }
//   if (!r.ok()) …
//
// Both are independent of the batch; neither allocates except for the writer's string.
#ifndef TRACEKILN_FORMATS_INTERMEDIATE_WIRE_H_
#define TRACEKILN_FORMATS_INTERMEDIATE_WIRE_H_

#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/string_view.h"

namespace tracekiln::kiln {

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

constexpr uint64_t ZigZag(int64_t v) { return (static_cast<uint64_t>(v) << 1) ^ static_cast<uint64_t>(v >> 63); }
constexpr int64_t UnZigZag(uint64_t v) { return static_cast<int64_t>((v >> 1) ^ (0 - (v & 1))); }

class WireWriter {
 public:
  explicit WireWriter(std::string* out) : out_(out) {}

  // Each writes one field. A value of zero is written too: leave the call out where absence means zero.
  void Varint(uint32_t field, uint64_t value) {
    Raw(field << 3 | static_cast<uint32_t>(WireType::kVarint));
    Raw(value);
  }
  void Signed(uint32_t field, int64_t value) { Varint(field, ZigZag(value)); }  // sint64
  void Fixed32(uint32_t field, uint32_t value) {
    Raw(field << 3 | static_cast<uint32_t>(WireType::kFixed32));
    char bytes[4];
    std::memcpy(bytes, &value, 4);
    out_->append(bytes, 4);
  }
  void Fixed64(uint32_t field, uint64_t value) {
    Raw(field << 3 | static_cast<uint32_t>(WireType::kFixed64));
    char bytes[8];
    std::memcpy(bytes, &value, 8);
    out_->append(bytes, 8);
  }
  void Bytes(uint32_t field, absl::string_view bytes) {
    BytesHeader(field, bytes.size());
    out_->append(bytes.data(), bytes.size());
  }
  // Announces `size` bytes, which the caller appends to the string itself.
  void BytesHeader(uint32_t field, uint64_t size) {
    Raw(field << 3 | static_cast<uint32_t>(WireType::kBytes));
    Raw(size);
  }
  // A bare varint, for packed fields.
  void Raw(uint64_t value) {
    char buffer[10];
    int n = 0;
    while (value >= 0x80) {
      buffer[n++] = static_cast<char>(value | 0x80);
      value >>= 7;
    }
    buffer[n++] = static_cast<char>(value);
    out_->append(buffer, n);
  }

 private:
  std::string* out_;
};

class WireReader {
 public:
  explicit WireReader(absl::string_view bytes) : p_(bytes.data()), end_(p_ + bytes.size()) {}

  // Advances to the next field; false at the end or after an error. The value must be taken by the function that
  // matches its type, or skipped.
  bool NextField() {
    if (p_ == end_ || !ok_) return false;
    field_begin_ = p_;
    const uint64_t tag = RawVarint();
    field_ = static_cast<uint32_t>(tag >> 3);
    type_ = static_cast<WireType>(tag & 7);
    if (tag > 0xffffffffu || field_ == 0) ok_ = false;
    return ok_;
  }
  uint32_t field() const { return field_; }
  WireType type() const { return type_; }  // may be a number without a name

  uint64_t Varint() { return Expect(WireType::kVarint) ? RawVarint() : 0; }
  int64_t Signed() { return UnZigZag(Varint()); }
  uint32_t Fixed32() { return Expect(WireType::kFixed32) ? RawFixed32() : 0; }
  uint64_t Fixed64() { return Expect(WireType::kFixed64) ? RawFixed64() : 0; }
  // Bare values of packed fields.
  uint32_t RawFixed32() {
    uint32_t value = 0;
    if (Has(4)) {
      std::memcpy(&value, p_, 4);
      p_ += 4;
    }
    return value;
  }
  uint64_t RawFixed64() {
    uint64_t value = 0;
    if (Has(8)) {
      std::memcpy(&value, p_, 8);
      p_ += 8;
    }
    return value;
  }
  // Points into the input; empty after an error, never null unless the input is.
  absl::string_view Bytes() {
    const uint64_t size = Expect(WireType::kBytes) ? RawVarint() : 0;
    if (!Has(size)) return absl::string_view(p_, 0);
    const absl::string_view bytes(p_, size);
    p_ += size;
    return bytes;
  }
  void Skip() {
    switch (type_) {
      case WireType::kVarint: RawVarint(); return;
      case WireType::kBytes: Bytes(); return;
      case WireType::kFixed64:
        if (Has(8)) p_ += 8;
        return;
      case WireType::kFixed32:
        if (Has(4)) p_ += 4;
        return;
    }
    ok_ = false;
  }

  // A bare varint of a packed field; 0 and !ok() at the end.
  uint64_t RawVarint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (!Has(1)) return 0;
      const uint8_t byte = static_cast<uint8_t>(*p_++);
      if (shift == 63 && byte > 1) break;
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    ok_ = false;
    return 0;
  }
  bool at_end() const { return p_ == end_; }
  // Where the next byte is read; the end after an error.
  const char* position() const { return p_; }
  // Where the last field began: after an error, the malformed one.
  const char* field_begin() const { return field_begin_; }
  // For callers that find what was read malformed.
  void Fail() { ok_ = false; }

  // False after malformed input, for good.
  bool ok() const { return ok_; }

 private:
  bool Has(uint64_t size) {
    if (ok_ && size <= static_cast<uint64_t>(end_ - p_)) return true;
    ok_ = false;
    p_ = end_;
    return false;
  }
  bool Expect(WireType type) {
    if (type_ != type) ok_ = false;
    return ok_;
  }

  const char* p_;
  const char* end_;
  const char* field_begin_ = p_;
  uint32_t field_ = 0;
  WireType type_ = WireType::kVarint;
  bool ok_ = true;
};

}  // namespace tracekiln::kiln

#endif  // TRACEKILN_FORMATS_INTERMEDIATE_WIRE_H_
