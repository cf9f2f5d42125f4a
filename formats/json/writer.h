#ifndef TRACEKILN_FORMATS_JSON_WRITER_H_
#define TRACEKILN_FORMATS_JSON_WRITER_H_

// The only JSON writer of tracekiln. Any bytes in, valid UTF-8 JSON out: whatever a trace calls its kernels, the text
// that leaves here parses. Escaping and the commas are in this one place, so that nobody pastes quotes around a name.
//
//   std::string out;
//   {
//     json::Writer w(&out);
//     w.BeginObject();
//     w.Key("name");
//     w.String(name);
//     w.Key("ts");
//     w.MicrosFromNanos(1500);  // 1.500
//     w.EndObject();
//   }                           // the destructor calls Flush()
//
// How things are written:
// - Strings: `"`, `\` and bytes below 0x20 are escaped; everything else stands as UTF-8, never as \uXXXX (Perfetto
// shows those six
//   characters as they are). Bytes that are not UTF-8 become U+FFFD, one per maximal ill-formed subsequence, as WHATWG
//   decoders do. A backslash that ends a string is written \u005c: Perfetto v52 takes the second half of `\\"` for an
//   escaped quote and refuses the file.
// - Numbers: doubles in the shortest form that reads back as the same double, always with a '.' or an 'e', so that a
// float stays a
//   float. NaN and infinities, which JSON cannot say, become the strings "NaN", "Infinity", "-Infinity", as Kineto
//   writes them.
// - Layout: see Layout. Whitespace never changes a value.
//
// Not thread-safe; one Writer per buffer. No function fails; memory is that of the buffer.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/string_view.h"

namespace tracekiln::json {

// Where blanks and line breaks go. The default has none.
struct Layout {
  // Elements and members in containers of depth 1 … break_depth start on a line of their own. 0: all on one line;
  // 2: one event a line in {"traceEvents":[…]}; 64: everything.
  int break_depth = 0;
  // Blanks per depth at the start of such a line.
  int indent = 0;
  // `"rank": 0` instead of `"rank":0`.
  bool blank_after_colon = false;
};

// A string as JSON text, escaped once and for all: for keys and names that are written many times.
class Escaped {
 public:
  Escaped() : Escaped(absl::string_view()) {}
  explicit Escaped(absl::string_view bytes);
  // With the quotes.
  absl::string_view text() const { return absl::string_view(padded_.data(), padded_.size() - kPadding); }

 private:
  friend class Writer;
  // So many bytes may be read behind the text: short texts are copied as one piece of this size.
  static constexpr size_t kPadding = 32;
  std::string padded_;
};

class Writer {
 public:
  // Appends to `*out`, which must outlive the Writer and must not be touched before Flush(): until then it may be
  // longer than what was written.
  explicit Writer(std::string* out, const Layout& layout = {}) : Writer(out, layout, 0, false) {}

  // Continues a container whose beginning is elsewhere: `depth` containers are open. The first element is preceded by a
  // comma if `comma_first`. Lets several threads write pieces of one array.
  Writer(std::string* out, const Layout& layout, int depth, bool comma_first);
  ~Writer() { Flush(); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Makes `*out` end with the last byte written. The Writer can go on after it.
  void Flush();

  // Bytes in the buffer, those before this Writer included.
  size_t size() const { return static_cast<size_t>(cursor_ - begin_); }

  void BeginObject() { Begin('{'); }
  void EndObject() { End('}'); }
  void BeginArray() { Begin('['); }
  void EndArray() { End(']'); }

  // REQUIRES: inside an object; exactly one value follows.
  void Key(absl::string_view key);
  void Key(const Escaped& key) {
    Element(key.padded_.size());
    AppendPadded(key);
    EndKey();
  }

  // Values. At depth 0 REQUIRES that it is the only one.
  void String(absl::string_view bytes);
  void String(const Escaped& string) {
    Element(string.padded_.size());
    AppendPadded(string);
  }
  void Int(int64_t value);
  void Uint(uint64_t value);
  void Double(double value);
  void Bool(bool value);
  void Null();

  // A time in microseconds: an integer if `ns` is a multiple of 1000, else exactly three decimals. The whole range of
  // int64.
  void MicrosFromNanos(int64_t ns);

  // REQUIRES: `json` is one valid JSON value; it is copied as it is.
  void Raw(absl::string_view json);
  // REQUIRES: `json` is one valid JSON value without blanks outside strings, such as canonical JSON. As Raw, but
  // strings that end in an escaped backslash are respelt (\u005c), and colons get their blank if the layout says so.
  void Json(absl::string_view json);

 private:
  // What any single token but a string needs at most, the comma and the blank included.
  static constexpr size_t kTokenBytes = 64;

  void Begin(char bracket);
  void End(char bracket);
  // Comma and line break before an element; makes room for `bytes` and a token more.
  void Element(size_t bytes) {
    Reserve(bytes + kTokenBytes);
    if (after_key_) {
      after_key_ = false;
      return;
    }
    if (comma_) *cursor_++ = ',';
    comma_ = true;
    if (depth_ <= layout_.break_depth && depth_ > 0) LineBreak(bytes);
  }
  void EndKey() {
    *cursor_++ = ':';
    if (layout_.blank_after_colon) *cursor_++ = ' ';
    after_key_ = true;
  }
  // REQUIRES: room for the padding as well.
  void AppendPadded(const Escaped& string) {
    const size_t size = string.padded_.size() - Escaped::kPadding;
    if (size <= Escaped::kPadding) {
      std::memcpy(cursor_, string.padded_.data(), Escaped::kPadding);
    } else {
      std::memcpy(cursor_, string.padded_.data(), size);
    }
    cursor_ += size;
  }
  void LineBreak(size_t bytes);
  void Reserve(size_t bytes) {
    if (static_cast<size_t>(limit_ - cursor_) < bytes) Grow(bytes);
  }
  void Grow(size_t bytes);
  void Append(absl::string_view text);
  void AppendQuoted(absl::string_view bytes);

  std::string* out_;
  Layout layout_;
  int depth_;
  bool comma_;  // the next element needs one
  bool after_key_ = false;
  char* begin_;   // of *out_
  char* cursor_;  // next byte to write
  char* limit_;   // end of *out_
};

}  // namespace tracekiln::json

#endif  // TRACEKILN_FORMATS_JSON_WRITER_H_
