// Source: CPython Lib/pickletools.py @3.11, the opcodes of protocols 0 and 1.
#include "formats/format/pickle.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace tracekiln {
namespace {

bool IsDigits(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

// Walks the opcodes of `rest`. Each Take returns false where the head ends first.
class Walk {
 public:
  explicit Walk(absl::string_view head) : rest_(head) {}

  // Whether all of it are opcodes, up to the end of the head with an object remembered on the way (which any pickle of
  // a container or a class does early), or up to a STOP that is its last byte.
  bool IsPickle() {
    bool is_first = true;
    while (!rest_.empty()) {
      const char code = rest_[0];
      rest_.remove_prefix(1);
      if (code == '.') return rest_.empty() && !is_first;
      if (is_first && !absl::StrContains("(FGIJKLMNSTUVX])}c", code)) return false;  // what makes an object
      is_first = false;
      switch (Operand(code)) {
        case Found::kWrong: return false;
        case Found::kCut: return has_memo_;
        case Found::kRight: break;
      }
    }
    return has_memo_;
  }

 private:
  enum class Found { kRight, kWrong, kCut };

  Found Bytes(uint64_t count) {
    if (count > rest_.size()) return Found::kCut;
    rest_.remove_prefix(count);
    return Found::kRight;
  }
  Found Line(absl::string_view* line) {
    const size_t end = rest_.find('\n');
    *line = rest_.substr(0, end);
    if (end == absl::string_view::npos) return Found::kCut;
    rest_.remove_prefix(end + 1);
    return Found::kRight;
  }
  Found Counted(size_t size_bytes) {
    if (rest_.size() < size_bytes) return Found::kCut;
    uint64_t count = 0;
    for (size_t i = size_bytes; i-- > 0;) count = count << 8 | static_cast<unsigned char>(rest_[i]);
    rest_.remove_prefix(size_bytes);
    return Bytes(count);
  }

  Found Operand(char code) {
    absl::string_view line;
    switch (code) {
      case '(':
      case '0':
      case '1':
      case '2':
      case 'N':
      case 'Q':
      case 'R':
      case 'a':
      case 'b':
      case 'd':  //
      case 'e':
      case 'l':
      case 'o':
      case 's':
      case 't':
      case 'u':
      case ')':
      case ']':
      case '}': return Found::kRight;
      case 'h':
      case 'K': return Bytes(1);
      case 'M': return Bytes(2);
      case 'j':
      case 'J': return Bytes(4);
      case 'G': return Bytes(8);
      case 'q': has_memo_ = true; return Bytes(1);
      case 'r': has_memo_ = true; return Bytes(4);
      case 'U': return Counted(1);
      case 'T':
      case 'X': return Counted(4);
      case 'F':
      case 'P':
      case 'V': return Line(&line);
      case 'S':
        if (const Found found = Line(&line); found != Found::kRight) return found;
        return line.size() >= 2 && (line[0] == '\'' || line[0] == '"') && line.back() == line[0] ? Found::kRight
                                                                                                 : Found::kWrong;
      case 'I':
      case 'L':
        if (const Found found = Line(&line); found != Found::kRight) return found;
        if (absl::StartsWith(line, "-")) line.remove_prefix(1);
        if (absl::EndsWith(line, "L")) line.remove_suffix(1);
        return IsDigits(line) ? Found::kRight : Found::kWrong;
      case 'p':
        if (const Found found = Line(&line); found != Found::kRight) return found;
        has_memo_ = true;
        return IsDigits(line) ? Found::kRight : Found::kWrong;
      case 'g':
        if (const Found found = Line(&line); found != Found::kRight) return found;
        return IsDigits(line) ? Found::kRight : Found::kWrong;
      case 'c':
      case 'i':
        for (int i = 0; i < 2; ++i) {
          if (const Found found = Line(&line); found != Found::kRight) return found;
          if (line.empty() || absl::StrContains(line, ' ')) return Found::kWrong;
        }
        return Found::kRight;
      default: return Found::kWrong;
    }
  }

  absl::string_view rest_;
  bool has_memo_ = false;
};

}  // namespace

absl::string_view DescribePickle(absl::string_view head) {
  const bool has_magic = head.size() >= 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5;
  if (!has_magic && !Walk(head).IsPickle()) return "";
  const auto has = [head](absl::string_view word) { return absl::StrContains(head, word); };
  if (has("line_profiler") || (has("timings") && has("unit"))) return "a pickle of line_profiler";
  if (has("device_traces") || has("segments")) return "a pickle of a memory snapshot of PyTorch";
  return "a pickle";
}

}  // namespace tracekiln
