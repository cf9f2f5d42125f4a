// Reading is directed by the structure: at each place only the kinds of object that belong there are read, straight
// into the profile; there is no tree of objects and no recursion. An object with FLAG_REF leaves an entry in refs_:
// what it means to a profile (a text, a number, a function, numbers of a caller), so a reference costs one look-up. Its
// number is taken when the object begins, so an object that contains a reference to itself meets an unfinished entry.
#include "formats/pstats/pstats_reader.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "formats/format/detect.h"
#include "formats/format/pickle.h"
#include "formats/pstats/generalized_utf8.h"
#include "formats/pstats/marshal_codes.h"
#include "formats/pstats/marshal_input.h"
#include "formats/pstats/safe_name.h"
#include "formats/pstats/seconds.h"

namespace tracekiln::pstats {
namespace {

constexpr uint32_t kMaxTextBytes = 64 << 20;
constexpr int64_t kMaxLongDigits = 1 << 20;
// Callers that come by references to dicts: this many, and one per byte of the file. Python writes such files only for
// statistics that a program put together by hand.
constexpr uint64_t kMaxSharedCallers = 1 << 20;

constexpr const char* kText = "a text";
constexpr const char* kNumber = "a number";
constexpr const char* kKey = "a function (file, line, name)";
constexpr const char* kRowNumbers = "the numbers of a function (cc, nc, tt, ct, callers)";
constexpr const char* kCallersDict = "a dict of callers";
constexpr const char* kCallerNumbers = "the numbers of a caller (nc, cc, tt, ct)";
constexpr const char* kStatistics = "a statistics dictionary";

// What can be odd about a function; once each per function.
enum Issue : uint32_t {
  kNegativeTime = 1 << 0,
  kNonFiniteTime = 1 << 1,
  kTimeOutOfRange = 1 << 2,
  kCountOutOfRange = 1 << 3,
  kLineOutOfRange = 1 << 4,
  kFractionalCount = 1 << 5,
  kCallersWithoutTimes = 1 << 6,
  kDuplicateCaller = 1 << 7,
};
struct IssueNote {
  Issue issue;
  absl::string_view reason;
  absl::string_view detail;
};
constexpr IssueNote kIssueNotes[] = {
    {kNegativeTime, "negative_time", "kept as it is"},
    {kNonFiniteTime, "non_finite_time", "taken for 0"},
    {kTimeOutOfRange, "time_out_of_range", "more than 292 years"},
    {kCountOutOfRange, "count_out_of_range", "taken for the limit of 64 bits"},
    {kLineOutOfRange, "line_out_of_range", "taken for the limit of 64 bits"},
    {kFractionalCount, "fractional_count", "rounded"},
    {kCallersWithoutTimes, "callers_without_times", "calls by callers are counted, without times"},
    {kDuplicateCaller, "duplicate_caller", "the same caller twice, added up"},
};

// Lone surrogates for the bytes of `bytes` that are not UTF-8, as Python's "surrogateescape" does.
void AppendEscapingBytes(absl::string_view bytes, std::string* out) {
  const char* const end = bytes.data() + bytes.size();
  for (const char* p = bytes.data(); p < end;) {
    const int length = SequenceLength(p, end);
    if (length > 0 && !(length == 3 && IsSurrogate(p))) {
      out->append(p, static_cast<size_t>(length));
      p += length;
    } else {
      const unsigned char c = static_cast<unsigned char>(*p++);  // 0x80 or more: U+DC00 + c
      out->push_back('\xed');
      out->push_back(static_cast<char>(0xb0 | (c >> 6)));
      out->push_back(static_cast<char>(0x80 | (c & 0x3f)));
    }
  }
}

void AppendLatin1(absl::string_view bytes, std::string* out) {
  for (const char byte : bytes) {
    const unsigned char c = static_cast<unsigned char>(byte);
    if (c < 0x80) {
      out->push_back(byte);
    } else {
      out->push_back(static_cast<char>(0xc0 | (c >> 6)));
      out->push_back(static_cast<char>(0x80 | (c & 0x3f)));
    }
  }
}

void AppendReplacing(absl::string_view bytes, std::string* out) {
  const char* const end = bytes.data() + bytes.size();
  for (const char* p = bytes.data(); p < end;) {
    const int length = SequenceLength(p, end);
    if (length > 0) {
      out->append(p, static_cast<size_t>(length));
    } else {
      out->append("\xef\xbf\xbd");
    }
    p += std::abs(length);
  }
}

// The decimal digits of an integer of 15-bit digits, least significant first, or its size if that is long.
std::string DecimalText(bool is_negative, std::vector<uint16_t> digits) {
  const absl::string_view sign = is_negative ? "-" : "";
  if (digits.size() > 32) return absl::StrCat(sign, "2^", 15 * (digits.size() - 1), " and more");
  std::string reversed;
  while (!digits.empty()) {
    uint32_t remainder = 0;
    for (size_t i = digits.size(); i-- > 0;) {
      remainder = remainder << 15 | digits[i];
      digits[i] = static_cast<uint16_t>(remainder / 10);
      remainder %= 10;
    }
    reversed.push_back(static_cast<char>('0' + remainder));
    while (!digits.empty() && digits.back() == 0) digits.pop_back();
  }
  return absl::StrCat(sign, std::string(reversed.rbegin(), reversed.rend()));
}

std::string DescribeCode(uint8_t code) {
  switch (code) {
    case marshal::kNull: return "the end of a dict";
    case marshal::kDict: return "a dict";
    case marshal::kSmallTuple:
    case marshal::kTuple: return "a tuple";
    case marshal::kList: return "a list";
    case marshal::kInt:
    case marshal::kInt64:
    case marshal::kLong:
    case marshal::kTrue:
    case marshal::kFalse: return "an integer";
    case marshal::kFloat:
    case marshal::kBinaryFloat: return "a float";
    case marshal::kNone: return "None";
    case marshal::kString:
    case marshal::kInterned:
    case marshal::kUnicode:
    case marshal::kAscii:
    case marshal::kAsciiInterned:
    case marshal::kShortAscii:
    case marshal::kShortAsciiInterned:
    case marshal::kStringRef: return "a text";
    case marshal::kCode: return "a code object (type 'c'), which has no place in a profile";
    case 'x':
    case 'y': return "a complex number";
    case '<':
    case '>': return "a set";
    case ':': return "a slice";
    case '.': return "an Ellipsis";
    case 'S': return "a StopIteration";
    default: return absl::StrCat("the unknown type code 0x", absl::Hex(code, absl::kZeroPad2));
  }
}

bool IsCodeObject(absl::string_view head, size_t at) {
  // The number of arguments is a small i32.
  return head.size() >= at + 5 && (head[at] & 0x7f) == marshal::kCode && head[at + 2] == 0 && head[at + 3] == 0 &&
         head[at + 4] == 0;
}

// The offset of the code object in a compiled module, or 0. Headers had 8, 12 and 16 bytes.
size_t CompiledModuleCode(absl::string_view head) {
  if (head.size() < 4 || head[2] != '\r' || head[3] != '\n') return 0;
  for (const size_t at : {16, 12, 8}) {
    if (IsCodeObject(head, at)) return at;
  }
  return 0;
}

// Whether `head` begins with a tuple or list that is no text.
bool IsMarshalledSequence(absl::string_view head) {
  if (head.size() < 2) return false;
  switch (head[0] & 0x7f) {
    case marshal::kSmallTuple:
      return static_cast<unsigned char>(head[1]) < ' ' || static_cast<unsigned char>(head[0]) >= 0x80;
    case marshal::kTuple:
    case marshal::kList:
      return head.size() >= 5 && (head[4] == 0 || head[4] == 0x7f || head[4] == -1) && head[3] != '\n';
    default: return false;
  }
}

bool LooksLikeJsonObject(absl::string_view head) {
  if (head.empty() || head[0] != '{') return false;
  const absl::string_view rest = absl::StripLeadingAsciiWhitespace(head.substr(1));
  return !rest.empty() && (rest[0] == '"' || rest[0] == '}');
}

std::string DescribeForeign(absl::string_view head) {
  if (const absl::string_view pickle = DescribePickle(head); !pickle.empty()) return std::string(pickle);
  if (LooksLikeJsonObject(head)) return "JSON";
  return DescribeContent(head);
}

class Reader {
 public:
  Reader(io::ByteSource& source, const ReadPstatsOptions& options, ImportReport& report)
      : source_(source), options_(options), report_(report), input_(source) {}

  absl::StatusOr<Profile> Read() {
    if (!ReadTop()) return status_;
    NoteCallersWithoutRow();
    report_.input_bytes += input_.offset();
    return std::move(profile_);
  }

 private:
  struct Head {
    uint8_t code = 0;
    bool is_flagged = false;
    uint64_t offset = 0;
  };

  enum class Kind : uint8_t {
    kUnfinished,
    kText,         // index: StringId
    kNumber,       // index into numbers_
    kFunction,     // index: FunctionId
    kRow,          // index into row_values_
    kCallerStats,  // index into caller_values_
    kCallers,      // index into callers_values_
  };
  // Small, since looking up one that was not used lately costs a cache miss.
  struct Ref {
    Kind kind = Kind::kUnfinished;
    uint32_t index = 0;
  };
  static_assert(sizeof(Ref) == 8);

  enum class NumberKind : uint8_t {
    kInteger,     // bits: int64
    kFloat,       // bits: double
    kBigInteger,  // bits: index into big_integers_
  };
  struct Number {
    NumberKind kind = NumberKind::kInteger;
    uint64_t bits = 0;
  };

  // The values of tuples and dicts that are referred to. Issues belong to the value and are noted wherever it is used.
  struct CallerValue {
    CallStats stats;
    uint32_t issues = 0;
  };
  struct Caller {
    FunctionId function;
    CallStats stats;
  };
  struct CallersValue {
    uint64_t begin = 0;  // in shared_callers_
    uint64_t end = 0;
    uint32_t issues = 0;
  };
  struct RowValue {
    CallStats stats;
    CallersValue callers;
    uint32_t issues = 0;
  };
  struct BigInteger {
    bool is_negative;
    std::string text;
  };

  // --- Errors. Each returns false.

  bool Fail(absl::Status status) {
    // What a damaged container could not deliver looks like an early end.
    status_ = source_.status().ok() ? std::move(status) : source_.status();
    return false;
  }
  bool Expected(const char* what, uint64_t offset, absl::string_view got) {
    // What fails at its first function is hardly a damaged profile.
    const absl::string_view verdict =
        report_.seen == 0 && what != kStatistics ? "; this is not a statistics dictionary" : "";
    return Fail(absl::InvalidArgumentError(
        absl::StrCat(source_.name(), ":", offset, ": expected ", what, ", got ", got, verdict)));
  }
  bool Expected(const char* what, const Head& head) { return Expected(what, head.offset, DescribeCode(head.code)); }
  bool Truncated(const char* what) {
    (void)input_.Drain();
    return Fail(absl::DataLossError(
        absl::StrCat(source_.name(), ":", input_.offset(), ": expected ", what, ", got the end of the file")));
  }
  bool Exhausted(uint64_t offset, absl::string_view what) {
    return Fail(absl::ResourceExhaustedError(absl::StrCat(source_.name(), ":", offset, ": ", what)));
  }

  // --- Objects.

  bool ReadHead(const char* expected, Head* head) {
    if (!input_.Ensure(1)) return Truncated(expected);
    head->offset = input_.offset();
    const uint8_t byte = input_.Take<uint8_t>();
    head->code = byte & ~marshal::kFlagRef;
    head->is_flagged = (byte & marshal::kFlagRef) != 0;
    return true;
  }

  template <typename T>
  bool ReadFixed(const char* expected, T* value) {
    *value = 0;
    if (!input_.Ensure(sizeof(T))) return Truncated(expected);
    *value = input_.Take<T>();
    return true;
  }

  // Takes the next number for an object that begins, if it is flagged. FinishRef says what it was.
  size_t BeginRef(const Head& head) {
    if (!head.is_flagged || refs_.size() > INT32_MAX) return kNoRef;  // what no reference can name
    refs_.push_back({});
    return refs_.size() - 1;
  }
  void FinishRef(size_t ref, Kind kind, size_t index) {
    if (ref != kNoRef) refs_[ref] = {kind, static_cast<uint32_t>(index)};
  }
  static constexpr size_t kNoRef = SIZE_MAX;

  // The object that a kRef names.
  bool ReadRef(const char* expected, const Head& head, Ref* ref) {
    int32_t number;
    if (!ReadFixed("the number of a reference", &number)) return false;
    if (number < 0 || static_cast<size_t>(number) >= refs_.size()) {
      return Expected(expected, head.offset,
                      absl::StrCat("a reference to object ", number, ", but there are ", refs_.size(), " so far"));
    }
    *ref = refs_[static_cast<size_t>(number)];
    if (ref->kind == Kind::kUnfinished) {
      return Expected(expected, head.offset,
                      absl::StrCat("a circular reference: object ", number, " is not finished yet"));
    }
    return true;
  }
  static absl::string_view DescribeKind(Kind kind) {
    switch (kind) {
      case Kind::kUnfinished: return "an unfinished object";
      case Kind::kText: return "a text";
      case Kind::kNumber: return "a number";
      case Kind::kFunction: return "a function (file, line, name)";
      case Kind::kRow: return "the numbers of a function";
      case Kind::kCallerStats: return "the numbers of a caller";
      case Kind::kCallers: return "a dict of callers";
    }
    return "";
  }
  bool WrongRef(const char* expected, const Head& head, const Ref& ref) {
    return Expected(expected, head.offset, absl::StrCat("a reference to ", DescribeKind(ref.kind)));
  }

  bool ReadText(StringId* text) {
    Head head;
    if (!ReadHead(kText, &head)) return false;
    uint32_t size;
    switch (head.code) {
      case marshal::kShortAscii:
      case marshal::kShortAsciiInterned: {
        uint8_t short_size;
        if (!ReadFixed("the length of a text", &short_size)) return false;
        size = short_size;
        break;
      }
      case marshal::kAscii:
      case marshal::kAsciiInterned:
      case marshal::kUnicode:
      case marshal::kString:
      case marshal::kInterned: {
        int32_t long_size;
        if (!ReadFixed("the length of a text", &long_size)) return false;
        if (long_size < 0) return Expected(kText, head.offset, absl::StrCat("a text of ", long_size, " bytes"));
        size = static_cast<uint32_t>(long_size);
        if (size > kMaxTextBytes) {
          return Exhausted(head.offset, absl::StrCat("a text of ", size, " bytes; the limit is ", kMaxTextBytes));
        }
        break;
      }
      case marshal::kRef: {
        Ref ref;
        if (!ReadRef(kText, head, &ref)) return false;
        if (ref.kind != Kind::kText) return WrongRef(kText, head, ref);
        *text = StringId{ref.index};
        return true;
      }
      case marshal::kStringRef: {
        int32_t number;
        if (!ReadFixed("the number of a reference", &number)) return false;
        if (number < 0 || static_cast<size_t>(number) >= interned_.size()) {
          return Expected(kText, head.offset,
                          absl::StrCat("a reference to interned text ", number, " of Python 2, but there are ",
                                       interned_.size(), " so far"));
        }
        *text = interned_[static_cast<size_t>(number)];
        return true;
      }
      default: return Expected(kText, head);
    }
    absl::string_view bytes;
    if (!input_.TakeBytes(size, &bytes)) return Truncated("the rest of a text");
    if (!IsAscii(bytes) && !DecodeText(head, &bytes)) return false;
    *text = profile_.strings.Intern(bytes);
    if (*text == kNoString) return Exhausted(head.offset, "more than 4 GiB of distinct text");
    if (head.is_flagged) {
      FinishRef(BeginRef(head), Kind::kText, Index(*text));
    } else if (head.code == marshal::kInterned) {
      interned_.push_back(*text);
    }
    return true;
  }

  // Makes text of `bytes`, which are not ASCII only. Valid until the next call.
  bool DecodeText(const Head& head, absl::string_view* bytes) {
    const uint64_t offset = head.offset;
    decoded_.clear();
    switch (head.code) {
      case marshal::kUnicode:
      case marshal::kInterned:
        if (IsGeneralizedUtf8(*bytes)) return true;
        if (head.code == marshal::kInterned && !head.is_flagged && refs_.empty()) {
          AppendEscapingBytes(*bytes, &decoded_);  // of Python 2
          break;
        }
        AppendReplacing(*bytes, &decoded_);
        if (!Repair("invalid_utf8", offset, "a text that is not UTF-8")) return false;
        break;
      case marshal::kString: AppendEscapingBytes(*bytes, &decoded_); break;
      default:
        AppendLatin1(*bytes, &decoded_);
        if (!Repair("non_ascii_text", offset, "text that is said to be ASCII and isn't")) return false;
        break;
    }
    *bytes = decoded_;
    return true;
  }
  bool Repair(absl::string_view reason, uint64_t offset, absl::string_view what) {
    if (options_.strict) {
      return Fail(absl::InvalidArgumentError(absl::StrCat(source_.name(), ":", offset, ": ", what)));
    }
    report_.Repair(reason, offset);
    return true;
  }

  bool ReadNumber(Number* number) {
    Head head;
    return ReadHead(kNumber, &head) && ReadNumber(kNumber, head, number);
  }
  bool ReadNumber(const char* expected, const Head& head, Number* number) {
    switch (head.code) {
      case marshal::kInt: {
        int32_t value;
        if (!ReadFixed("an integer", &value)) return false;
        *number = {NumberKind::kInteger, static_cast<uint64_t>(int64_t{value})};
        break;
      }
      case marshal::kBinaryFloat: {
        number->kind = NumberKind::kFloat;
        if (!ReadFixed("a float", &number->bits)) return false;
        break;
      }
      case marshal::kRef: {
        Ref ref;
        if (!ReadRef(expected, head, &ref)) return false;
        if (ref.kind != Kind::kNumber) return WrongRef(expected, head, ref);
        *number = numbers_[ref.index];
        return true;
      }
      case marshal::kInt64: {
        number->kind = NumberKind::kInteger;
        if (!ReadFixed("an integer", &number->bits)) return false;
        break;
      }
      case marshal::kLong:
        if (!ReadLong(head, number)) return false;
        break;
      case marshal::kFloat:
        if (!ReadTextFloat(head, number)) return false;
        break;
      case marshal::kTrue:
      case marshal::kFalse:
        *number = {NumberKind::kInteger, uint64_t{head.code == marshal::kTrue}};
        return true;  // never numbered
      default: return Expected(expected, head);
    }
    if (head.is_flagged) {
      numbers_.push_back(*number);
      FinishRef(BeginRef(head), Kind::kNumber, numbers_.size() - 1);
    }
    return true;
  }

  bool ReadLong(const Head& head, Number* number) {
    int32_t signed_count;
    if (!ReadFixed("an integer", &signed_count)) return false;
    const bool is_negative = signed_count < 0;
    const int64_t count = std::abs(int64_t{signed_count});
    if (count > kMaxLongDigits) return Exhausted(head.offset, absl::StrCat("an integer of ", count, " digits"));
    absl::string_view bytes;
    if (!input_.TakeBytes(static_cast<uint32_t>(count * 2), &bytes)) return Truncated("the rest of an integer");
    unsigned __int128 magnitude = 0;
    for (int64_t i = count; i-- > 0;) {
      uint16_t digit;
      std::memcpy(&digit, bytes.data() + i * 2, 2);
      if (digit > 0x7fff || (digit == 0 && i == count - 1)) {
        return Expected("an integer", head.offset, "one with an impossible digit");
      }
      if (count <= 5) magnitude = magnitude << 15 | digit;
    }
    const uint64_t limit = uint64_t{INT64_MAX} + (is_negative ? 1 : 0);
    if (count <= 5 && magnitude <= limit) {
      const uint64_t value = static_cast<uint64_t>(magnitude);
      *number = {NumberKind::kInteger, is_negative ? -value : value};
      return true;
    }
    std::vector<uint16_t> digits(static_cast<size_t>(count));
    std::memcpy(digits.data(), bytes.data(), bytes.size());
    // Only what can be referred to must last.
    if (!head.is_flagged && !big_integers_.empty() && !is_last_big_integer_shared_) big_integers_.pop_back();
    is_last_big_integer_shared_ = head.is_flagged;
    big_integers_.push_back({is_negative, DecimalText(is_negative, std::move(digits))});
    *number = {NumberKind::kBigInteger, big_integers_.size() - 1};
    return true;
  }

  bool ReadTextFloat(const Head& head, Number* number) {
    uint8_t size;
    absl::string_view text;
    if (!ReadFixed("a float", &size)) return false;
    if (!input_.TakeBytes(size, &text)) return Truncated("the rest of a float");
    double value;
    // CPython takes neither hexadecimal digits nor blanks here; SimpleAtod does.
    const bool is_plain = text.find_first_of("xX \t\n\v\f\r") == absl::string_view::npos;
    if (!is_plain || !absl::SimpleAtod(text, &value)) return Expected("a float", head.offset, "text that is no number");
    number->kind = NumberKind::kFloat;
    std::memcpy(&number->bits, &value, sizeof(value));
    return true;
  }

  // --- Numbers of a profile.

  int64_t SaturatedInteger(const Number& number, uint32_t issue) {
    if (number.kind == NumberKind::kInteger) return static_cast<int64_t>(number.bits);
    const BigInteger& big = big_integers_[number.bits];
    if (out_of_range_.empty()) out_of_range_ = big.text;
    issues_ |= issue;
    return big.is_negative ? INT64_MIN : INT64_MAX;
  }

  bool ReadCount(int64_t* count) {
    Number number;
    if (!ReadNumber(&number)) return false;
    *count = CountOf(number);
    return true;
  }
  int64_t CountOf(const Number& number) {
    if (number.kind != NumberKind::kFloat) return SaturatedInteger(number, kCountOutOfRange);
    double value;
    std::memcpy(&value, &number.bits, sizeof(value));
    const double rounded = std::nearbyint(value);
    if (!(std::abs(rounded) < 9223372036854775808.0)) {
      if (out_of_range_.empty()) out_of_range_ = absl::StrCat(value);
      issues_ |= kCountOutOfRange;
      return std::isnan(value) ? 0 : value < 0 ? INT64_MIN : INT64_MAX;
    }
    if (rounded != value) issues_ |= kFractionalCount;
    return static_cast<int64_t>(rounded);
  }

  bool ReadTime(int64_t* ns) {
    Number number;
    if (!ReadNumber(&number)) return false;
    if (number.kind == NumberKind::kFloat) {
      double seconds;
      std::memcpy(&seconds, &number.bits, sizeof(seconds));
      if (!std::isfinite(seconds)) {
        issues_ |= kNonFiniteTime;
        *ns = 0;
        return true;
      }
      *ns = NanosFromSeconds(seconds);
      if (*ns == INT64_MAX || *ns == INT64_MIN) issues_ |= kTimeOutOfRange;
    } else {
      const int64_t seconds = SaturatedInteger(number, kTimeOutOfRange);
      if (__builtin_mul_overflow(seconds, int64_t{1'000'000'000}, ns)) {
        issues_ |= kTimeOutOfRange;
        *ns = seconds < 0 ? INT64_MIN : INT64_MAX;
      }
    }
    if (*ns < 0) issues_ |= kNegativeTime;
    return true;
  }

  // --- The structure.

  // The size of a tuple or list that begins with `head`.
  bool ReadSequenceSize(const char* expected, const Head& head, int32_t size) {
    int32_t found;
    if (head.code == marshal::kSmallTuple) {
      uint8_t small;
      if (!ReadFixed("the size of a tuple", &small)) return false;
      found = small;
    } else if (head.code == marshal::kTuple || head.code == marshal::kList) {
      if (!ReadFixed("the size of a tuple", &found)) return false;
    } else {
      return Expected(expected, head);
    }
    if (found == size) return true;
    return Expected(expected, head.offset, absl::StrCat(DescribeCode(head.code), " of ", found));
  }

  bool ReadFunction(const Head& head, FunctionId* function) {
    if (head.code == marshal::kRef) {
      Ref ref;
      if (!ReadRef(kKey, head, &ref)) return false;
      if (ref.kind != Kind::kFunction) return WrongRef(kKey, head, ref);
      *function = FunctionId{ref.index};
      return true;
    }
    if (head.code == marshal::kList) return Expected(kKey, head);  // cannot be a key
    if (!ReadSequenceSize(kKey, head, 3)) return false;
    const size_t ref = BeginRef(head);
    StringId file, name;
    Number line;
    Head line_head;
    if (!ReadText(&file) || !ReadHead("a line number", &line_head)) return false;
    if (!ReadNumber("a line number", line_head, &line)) return false;
    if (line.kind == NumberKind::kFloat) return Expected("a line number", line_head.offset, "a float");
    if (!ReadText(&name)) return false;
    *function = profile_.AddFunction(file, SaturatedInteger(line, kLineOutOfRange), name);
    FinishRef(ref, Kind::kFunction, Index(*function));
    return true;
  }

  bool ReadTop() {
    const absl::string_view file_head = input_.Head();
    if (file_head.empty()) return Expected(kStatistics, input_.offset(), "an empty file");
    Head head;
    const bool is_dict = (file_head[0] & 0x7f) == marshal::kDict && !LooksLikeJsonObject(file_head);
    if (!is_dict) return RefuseTop(file_head);
    if (!ReadHead(kStatistics, &head)) return false;
    (void)BeginRef(head);  // nothing in the dict can refer to it
    if (const std::optional<uint64_t> size = source_.size_hint()) {
      // Typical bytes per function and per caller; no more than costs nothing where the hint lies.
      const auto reserved = [&](uint64_t bytes_each, uint64_t limit) {
        return static_cast<size_t>(std::min(*size / bytes_each, limit));
      };
      profile_.Reserve(reserved(120, 1 << 20), reserved(60, 1 << 21));
      profile_.strings.Reserve(reserved(120, (1 << 20) - 1));
    }
    while (true) {
      if (!ReadHead("a function, or the end of the statistics", &head)) return false;
      if (head.code == marshal::kNull) break;
      if (!ReadRow(head)) return false;
    }
    if (profile_.row_count() == 0) report_.Note("empty_profile", 0, "no functions");
    const uint64_t end = input_.offset();
    if (const uint64_t trailing = input_.Drain(); trailing > 0) {
      if (options_.strict) {
        return Fail(
            absl::InvalidArgumentError(absl::StrCat(source_.name(), ":", end, ": expected the end of the file, got ",
                                                    trailing, " bytes behind the statistics")));
      }
      report_.Note("trailing_bytes", end, absl::StrCat(trailing, " bytes behind the end of the statistics"));
    }
    if (!source_.status().ok()) return Fail(source_.status());
    return true;
  }

  bool RefuseTop(absl::string_view head) {
    if (IsCodeObject(head, 0)) return Expected(kStatistics, input_.offset(), DescribeCode(marshal::kCode));
    if (const size_t at = CompiledModuleCode(head); at > 0) {
      return Expected(kStatistics, input_.offset() + at,
                      "the code object (type 'c') of a compiled module (.pyc), which has no place in a profile");
    }
    if (IsMarshalledSequence(head) && DescribePickle(head).empty()) {
      return Expected(kStatistics, input_.offset(), DescribeCode(static_cast<uint8_t>(head[0]) & 0x7f));
    }
    return Fail(absl::InvalidArgumentError(absl::StrCat(source_.name(), ":", input_.offset(), ": expected ",
                                                        kStatistics, ", got what is not marshal data; it looks like ",
                                                        DescribeForeign(head))));
  }

  bool ReadRow(const Head& key_head) {
    FunctionId function;
    issues_ = 0;
    out_of_range_.clear();
    if (!ReadFunction(key_head, &function)) return false;
    is_merged_row_ = profile_.function(function).is_row;
    if (is_merged_row_) edges_are_new_ = false;
    row_edges_begin_ = profile_.edges().size();
    Head head;
    if (!ReadHead(kRowNumbers, &head)) return false;
    if (head.code == marshal::kRef) {
      Ref ref;
      if (!ReadRef(kRowNumbers, head, &ref)) return false;
      if (ref.kind != Kind::kRow) return WrongRef(kRowNumbers, head, ref);
      const RowValue& value = row_values_[ref.index];
      profile_.AddStats(function, value.stats);
      issues_ |= value.issues;
      if (!AddSharedCallers(head, function, value.callers)) return false;
    } else {
      if (!ReadSequenceSize(kRowNumbers, head, 5)) return false;
      const size_t ref = BeginRef(head);
      const uint32_t outer_issues = std::exchange(issues_, 0);
      RowValue value;
      if (!ReadCount(&value.stats.primitive_call_count) || !ReadCount(&value.stats.call_count) ||
          !ReadTime(&value.stats.own_ns) || !ReadTime(&value.stats.cumulative_ns)) {
        return false;
      }
      profile_.AddStats(function, value.stats);
      if (!ReadCallers(function, head.is_flagged, &value.callers)) return false;
      value.issues = issues_;
      issues_ |= outer_issues;
      if (ref != kNoRef) {
        row_values_.push_back(value);
        FinishRef(ref, Kind::kRow, row_values_.size() - 1);
      }
    }
    ++report_.seen;
    ++(is_merged_row_ ? report_.merged : report_.imported);
    if (issues_ != 0) NoteIssues(function, key_head.offset);
    return true;
  }

  // Callers of `callee`. Keeps them in *value if they can be referred to.
  bool ReadCallers(FunctionId callee, bool keep, CallersValue* value) {
    Head head;
    if (!ReadHead(kCallersDict, &head)) return false;
    if (head.code == marshal::kRef) {
      Ref ref;
      if (!ReadRef(kCallersDict, head, &ref)) return false;
      if (ref.kind != Kind::kCallers) return WrongRef(kCallersDict, head, ref);
      *value = callers_values_[ref.index];
      issues_ |= value->issues;
      return AddSharedCallers(head, callee, *value);
    }
    if (head.code != marshal::kDict) return Expected(kCallersDict, head);
    const size_t ref = BeginRef(head);
    keep |= ref != kNoRef;
    const uint32_t outer_issues = std::exchange(issues_, 0);
    value->begin = shared_callers_.size();
    while (true) {
      if (!ReadHead("a caller, or the end of the callers", &head)) return false;
      if (head.code == marshal::kNull) break;
      Caller caller;
      if (!ReadFunction(head, &caller.function)) return false;
      if (!ReadCallerStats(&caller.stats)) return false;
      AddCaller(callee, caller);
      if (keep) shared_callers_.push_back(caller);
    }
    value->end = shared_callers_.size();
    value->issues = issues_;
    issues_ |= outer_issues;
    if (ref != kNoRef) {
      callers_values_.push_back(*value);
      FinishRef(ref, Kind::kCallers, callers_values_.size() - 1);
    }
    return true;
  }

  void AddCaller(FunctionId callee, const Caller& caller) {
    // The edges of a row that is new are new, unless a caller comes twice in it. As long as that holds for all rows
    // there need be no index of edges.
    if (edges_are_new_ && !IsCallerOfRow(callee, caller.function)) {
      profile_.AppendEdge(caller.function, callee, caller.stats);
      return;
    }
    edges_are_new_ = false;
    if (!profile_.AddCallerStats(caller.function, callee, caller.stats) && !is_merged_row_) issues_ |= kDuplicateCaller;
  }

  // Whether the row being read has this caller already.
  bool IsCallerOfRow(FunctionId callee, FunctionId caller) {
    constexpr size_t kFew = 16;
    const std::vector<Profile::Edge>& edges = profile_.edges();
    const size_t count = edges.size() - row_edges_begin_;
    if (count <= kFew) {
      for (size_t e = row_edges_begin_; e < edges.size(); ++e) {
        if (edges[e].caller == caller) return true;
      }
      return false;
    }
    // Too many to compare: the last row that each function was a caller of.
    if (last_callee_.size() < profile_.functions().size())
      last_callee_.resize(profile_.functions().capacity(), kNobody);
    if (count == kFew + 1) {
      for (size_t e = row_edges_begin_; e < edges.size(); ++e) last_callee_[Index(edges[e].caller)] = Index(callee);
    }
    return std::exchange(last_callee_[Index(caller)], Index(callee)) == Index(callee);
  }
  static constexpr uint32_t kNobody = 0xffffffff;

  bool AddSharedCallers(const Head& head, FunctionId callee, const CallersValue& callers) {
    shared_caller_uses_ += callers.end - callers.begin;
    if (shared_caller_uses_ > kMaxSharedCallers + input_.offset()) {
      return Exhausted(head.offset,
                       "references to large dicts of callers stand for more callers than the file has bytes");
    }
    for (uint64_t i = callers.begin; i < callers.end; ++i) AddCaller(callee, shared_callers_[i]);
    return true;
  }

  bool ReadCallerStats(CallStats* stats) {
    Head head;
    if (!ReadHead(kCallerNumbers, &head)) return false;
    Number number;
    if (head.code == marshal::kSmallTuple || head.code == marshal::kTuple || head.code == marshal::kList) {
      if (!ReadSequenceSize(kCallerNumbers, head, 4)) return false;
      const size_t ref = BeginRef(head);
      const uint32_t outer_issues = std::exchange(issues_, 0);
      if (!ReadCount(&stats->call_count) || !ReadCount(&stats->primitive_call_count) || !ReadTime(&stats->own_ns) ||
          !ReadTime(&stats->cumulative_ns)) {
        return false;
      }
      if (ref != kNoRef) {
        caller_values_.push_back({*stats, issues_});
        FinishRef(ref, Kind::kCallerStats, caller_values_.size() - 1);
      }
      issues_ |= outer_issues;
      return true;
    }
    if (head.code == marshal::kRef) {
      Ref ref;
      if (!ReadRef(kCallerNumbers, head, &ref)) return false;
      if (ref.kind == Kind::kCallerStats) {
        *stats = caller_values_[ref.index].stats;
        issues_ |= caller_values_[ref.index].issues;
        return true;
      }
      if (ref.kind != Kind::kNumber) return WrongRef(kCallerNumbers, head, ref);
      number = numbers_[ref.index];
    } else if (!ReadNumber(kCallerNumbers, head, &number)) {
      return false;
    }
    if (number.kind == NumberKind::kFloat) return Expected(kCallerNumbers, head.offset, "a float");
    stats->call_count = stats->primitive_call_count = CountOf(number);
    issues_ |= kCallersWithoutTimes;
    return true;
  }

  // --- Notes.

  std::string Describe(FunctionId function) const {
    return absl::StrCat(SafeName(profile_.name(function)), " (", SafeName(profile_.file(function)), ":",
                        profile_.function(function).line, ")");
  }

  void NoteIssues(FunctionId function, uint64_t offset) {
    for (const IssueNote& note : kIssueNotes) {
      if ((issues_ & note.issue) == 0) continue;
      std::string detail;
      if (report_.Find(note.reason) == nullptr) {
        detail = absl::StrCat(Describe(function), ": ");
        if (note.issue == kCountOutOfRange || note.issue == kLineOutOfRange)
          absl::StrAppend(&detail, out_of_range_, ", ");
        absl::StrAppend(&detail, note.detail);
      }
      report_.Note(note.reason, offset, detail);
    }
  }

  void NoteCallersWithoutRow() {
    const size_t count = profile_.functions().size() - profile_.row_count();
    if (count == 0) return;
    uint32_t first = 0;
    while (profile_.functions()[first].is_row) ++first;
    report_.Add(ImportReport::Severity::kNote, "caller_without_row", ImportReport::kNoOffset,
                absl::StrCat(Describe(FunctionId{first}), ": has no numbers of its own"), count);
  }

  io::ByteSource& source_;
  const ReadPstatsOptions options_;
  ImportReport& report_;
  MarshalInput input_;
  Profile profile_;
  absl::Status status_;

  std::vector<Ref> refs_;
  std::vector<StringId> interned_;  // Python 2
  std::vector<Number> numbers_;
  std::vector<BigInteger> big_integers_;
  bool is_last_big_integer_shared_ = false;
  std::vector<CallerValue> caller_values_;
  std::vector<CallersValue> callers_values_;
  std::vector<RowValue> row_values_;
  std::vector<Caller> shared_callers_;
  uint64_t shared_caller_uses_ = 0;
  std::string decoded_;
  bool edges_are_new_ = true;          // so far; see AddCaller
  std::vector<uint32_t> last_callee_;  // by function

  // Of the row being read.
  uint32_t issues_ = 0;
  bool is_merged_row_ = false;
  size_t row_edges_begin_ = 0;
  std::string out_of_range_;
};

}  // namespace

absl::StatusOr<Profile> ReadPstats(io::ByteSource& source, const ReadPstatsOptions& options, ImportReport* report) {
  ImportReport own_report;
  absl::StatusOr<Profile> profile = Reader(source, options, own_report).Read();
  if (report != nullptr) report->Merge(own_report);
  return profile;
}

int SniffPstats(absl::string_view head) {
  if (head.empty()) return 0;
  if (IsCodeObject(head, 0) || CompiledModuleCode(head) > 0 || IsMarshalledSequence(head)) return 20;
  if ((head[0] & 0x7f) != marshal::kDict || LooksLikeJsonObject(head)) return 0;
  const bool is_flagged = head[0] < 0;
  if (head.size() == 1) return is_flagged ? 20 : 0;
  const uint8_t code = static_cast<uint8_t>(head[1]) & 0x7f;
  if (code == marshal::kNull) return head.size() == 2 ? 60 : 20;
  const bool is_key = (code == marshal::kSmallTuple && head.size() > 2 && head[2] == 3) ||
                      (code == marshal::kTuple && absl::StartsWith(head.substr(2), absl::string_view("\3\0\0\0", 4)));
  if (is_key) return 90;
  // Bytes that no JSON has there, not even a damaged one.
  const bool is_binary = is_flagged || head[1] < 0 || code == marshal::kSmallTuple || code == marshal::kTuple ||
                         std::any_of(head.begin(), head.begin() + std::min<size_t>(head.size(), 6), [](char c) {
                           return static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\r' && c != '\t';
                         });
  return is_binary ? 20 : 0;
}

}  // namespace tracekiln::pstats
