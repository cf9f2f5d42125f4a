#include "analysis/profile_table/function_text.h"

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace tracekiln::profile_table {
namespace {

constexpr char kHex[] = "0123456789abcdef";

unsigned char ByteAt(absl::string_view text, size_t i) {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
}

bool IsContinuation(unsigned char c) { return (c & 0xc0) == 0x80; }

// The length of the well-formed sequence at text[i], surrogates included; 0 if there is none.
size_t SequenceLength(absl::string_view text, size_t i) {
  const unsigned char c = ByteAt(text, i), c1 = ByteAt(text, i + 1);
  if (c < 0x80) return 1;
  if (c < 0xc2 || c > 0xf4 || !IsContinuation(c1)) return 0;
  if (c < 0xe0) return 2;
  if ((c == 0xe0 && c1 < 0xa0) || !IsContinuation(ByteAt(text, i + 2))) return 0;
  if (c < 0xf0) return 3;
  if ((c == 0xf0 && c1 < 0x90) || (c == 0xf4 && c1 > 0x8f) || !IsContinuation(ByteAt(text, i + 3))) return 0;
  return 4;
}

bool IsSurrogate(absl::string_view text, size_t i) {
  return ByteAt(text, i) == 0xed && (ByteAt(text, i + 1) & 0xe0) == 0xa0 && IsContinuation(ByteAt(text, i + 2));
}

void AppendHexByte(unsigned char byte, std::string* out) {
  const char escape[] = {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
  out->append(escape, sizeof(escape));
}

// REQUIRES: IsSurrogate(text, i).
void AppendSurrogate(absl::string_view text, size_t i, std::string* out) {
  const unsigned high = ByteAt(text, i + 1), low = ByteAt(text, i + 2);
  const char escape[] = {'\\',          'u', 'd', kHex[8 + ((high >> 2) & 7)], kHex[(high & 3) << 2 | ((low >> 4) & 3)],
                         kHex[low & 15]};
  out->append(escape, sizeof(escape));
}

}  // namespace

void AppendStandardName(absl::string_view file, int64_t line, absl::string_view name, std::string* out) {
  if (file != "~" || line != 0) {
    absl::StrAppend(out, file, ":", line, "(", name, ")");
  } else if (name.size() >= 2 && name.front() == '<' && name.back() == '>') {
    absl::StrAppend(out, "{", name.substr(1, name.size() - 2), "}");
  } else {
    absl::StrAppend(out, name);
  }
}

void AppendStandardName(const Profile& profile, FunctionId function, std::string* out) {
  AppendStandardName(profile.file(function), profile.function(function).line, profile.name(function), out);
}

size_t AppendPrintable(absl::string_view text, std::string* out, absl::string_view also) {
  size_t characters = 0;
  for (size_t i = 0; i < text.size();) {
    const unsigned char c = ByteAt(text, i);
    const size_t length = SequenceLength(text, i);
    const bool is_control = c < 0x20 || c == 0x7f || (c == 0xc2 && ByteAt(text, i + 1) < 0xa0);
    if (length == 0 || is_control || (length == 1 && also.find(text[i]) != absl::string_view::npos)) {
      // U+0080 to U+009F by their number.
      AppendHexByte(length == 2 ? ByteAt(text, i + 1) : c, out);
      characters += 4;
    } else if (IsSurrogate(text, i)) {
      AppendSurrogate(text, i, out);
      characters += 6;
    } else {
      out->append(text.data() + i, length);
      ++characters;
    }
    i += length == 0 ? 1 : length;
  }
  return characters;
}

void AppendWithoutSurrogates(absl::string_view text, std::string* out) {
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!IsSurrogate(text, i)) continue;
    out->append(text.data() + begin, i - begin);
    AppendSurrogate(text, i, out);
    i += 2;
    begin = i + 1;
  }
  out->append(text.data() + begin, text.size() - begin);
}

}  // namespace tracekiln::profile_table
