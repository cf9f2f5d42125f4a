#include "formats/pstats/pstats_writer.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "formats/pstats/generalized_utf8.h"
#include "formats/pstats/marshal_codes.h"
#include "formats/pstats/safe_name.h"
#include "formats/pstats/seconds.h"

namespace tracekiln::pstats {
namespace {

constexpr size_t kBufferBytes = 256 << 10;

// Values in marshal's code, by way of one buffer.
class MarshalOutput {
 public:
  explicit MarshalOutput(io::ByteSink& sink)
      : sink_(sink), buffer_(new char[kBufferBytes]), next_(buffer_.get()), end_(next_ + kBufferBytes) {}

  // Room for `size` bytes. Every method below takes room for itself.
  void Reserve(size_t size) {
    if (static_cast<size_t>(end_ - next_) < size) Flush();
  }
  void Flush() {
    sink_.Write(absl::string_view(buffer_.get(), static_cast<size_t>(next_ - buffer_.get())));
    next_ = buffer_.get();
  }

  void Code(uint8_t code) {
    Reserve(1);
    *next_++ = static_cast<char>(code);
  }
  void SmallTuple(uint8_t flag, uint8_t size) {
    Reserve(2);
    *next_++ = static_cast<char>(marshal::kSmallTuple | flag);
    *next_++ = static_cast<char>(size);
  }
  void Ref(uint32_t number) {
    Reserve(5);
    *next_++ = static_cast<char>(marshal::kRef);
    Put(number);
  }
  void Seconds(int64_t ns) {
    Reserve(9);
    *next_++ = static_cast<char>(marshal::kBinaryFloat);
    Put(SecondsFromNanos(ns));
  }
  void Integer(int64_t value) {
    if (value == static_cast<int32_t>(value)) {
      Reserve(5);
      *next_++ = static_cast<char>(marshal::kInt);
      Put(static_cast<int32_t>(value));
      return;
    }
    uint64_t magnitude = value < 0 ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    uint16_t digits[5];
    int32_t digit_count = 0;
    for (; magnitude != 0; magnitude >>= 15) digits[digit_count++] = magnitude & 0x7fff;
    Reserve(15);
    *next_++ = static_cast<char>(marshal::kLong);
    Put(value < 0 ? -digit_count : digit_count);
    for (int32_t i = 0; i < digit_count; ++i) Put(digits[i]);
  }
  void Text(uint8_t flag, absl::string_view text) {
    Reserve(5);
    if (!IsAscii(text)) {
      *next_++ = static_cast<char>(marshal::kUnicode | flag);
      Put(static_cast<uint32_t>(text.size()));
    } else if (text.size() < 256) {
      *next_++ = static_cast<char>(marshal::kShortAscii | flag);
      *next_++ = static_cast<char>(text.size());
    } else {
      *next_++ = static_cast<char>(marshal::kAscii | flag);
      Put(static_cast<uint32_t>(text.size()));
    }
    if (text.size() > kBufferBytes) {
      Flush();
      sink_.Write(text);
      return;
    }
    Reserve(text.size());
    std::memcpy(next_, text.data(), text.size());
    next_ += text.size();
  }

 private:
  // Little-endian, as this machine is.
  template <typename T>
  void Put(T value) {
    std::memcpy(next_, &value, sizeof(value));
    next_ += sizeof(value);
  }

  io::ByteSink& sink_;
  const std::unique_ptr<char[]> buffer_;
  char* next_;
  char* const end_;
};

// Which objects are referred to, and the numbers they got. Entries: kOnce, kFlag before the first occurrence of an
// object with several, then its number (never 0, which is the dict's).
class References {
 public:
  References(const Profile& profile, const SafeKeys& keys, const std::vector<FunctionId>& rows)
      : texts_(keys.strings().size(), kUnseen), keys_(profile.functions().size(), kUnseen) {
    const auto count = [](uint32_t& entry) { entry = entry == kUnseen ? kOnce : kFlag; };
    for (const FunctionId row : rows) count(keys_[Index(row)]);
    for (const Profile::Edge& e : profile.edges()) count(keys_[Index(e.caller)]);
    for (uint32_t i = 0; i < keys_.size(); ++i) {
      if (keys_[i] == kUnseen) continue;
      count(texts_[Index(keys.file(FunctionId{i}))]);
      count(texts_[Index(keys.name(FunctionId{i}))]);
    }
    // Shorter than a reference, and Python has each of them once anyway.
    for (uint32_t i = 0; i < texts_.size(); ++i) {
      if (keys.strings().Get(StringId{i}).size() <= 1) texts_[i] = kOnce;
    }
  }

  uint32_t& text(StringId id) { return texts_[Index(id)]; }
  uint32_t& key(FunctionId id) { return keys_[Index(id)]; }

  static constexpr uint32_t kOnce = 0;
  static constexpr uint32_t kFlag = 0xffffffff;
  static constexpr uint32_t kUnseen = 0xfffffffe;
  uint32_t next_number = 1;

 private:
  std::vector<uint32_t> texts_;
  std::vector<uint32_t> keys_;
};

class Writer {
 public:
  Writer(const Profile& profile, const WritePstatsOptions& options, io::ByteSink& sink)
      : profile_(profile),
        options_(options),
        keys_(profile, options.safe_names ? SafeKeys::Texts::kSafe : SafeKeys::Texts::kRaw),
        output_(sink) {}

  void Write() {
    ListRows();
    ListCallers();
    if (options_.references) references_ = std::make_unique<References>(profile_, keys_, rows_);
    output_.Code(marshal::kDict | (options_.references ? marshal::kFlagRef : 0));
    for (const FunctionId row : rows_) {
      const Profile::Function& f = profile_.function(row);
      Key(row);
      output_.SmallTuple(0, 5);
      output_.Integer(f.stats.primitive_call_count);
      output_.Integer(f.stats.call_count);
      output_.Seconds(f.stats.own_ns);
      output_.Seconds(f.stats.cumulative_ns);
      output_.Code(marshal::kDict);
      for (uint32_t i = callers_begin_[Index(row)]; i < callers_begin_[Index(row) + 1]; ++i) {
        const Profile::Edge& e = profile_.edges()[callers_.empty() ? i : callers_[i]];
        Key(e.caller);
        output_.SmallTuple(0, 4);
        output_.Integer(e.stats.call_count);
        output_.Integer(e.stats.primitive_call_count);
        output_.Seconds(e.stats.own_ns);
        output_.Seconds(e.stats.cumulative_ns);
      }
      output_.Code(marshal::kNull);
    }
    output_.Code(marshal::kNull);
    output_.Flush();
  }

 private:
  // The rows of the file: those of the profile, then functions that must be rows as well.
  void ListRows() {
    rows_ = profile_.rows();
    if (rows_.size() == profile_.functions().size()) return;
    std::vector<bool> is_needed(profile_.functions().size());
    for (const Profile::Edge& e : profile_.edges()) {
      if (options_.caller_rows) is_needed[Index(e.caller)] = true;
      is_needed[Index(e.callee)] = true;
    }
    for (uint32_t i = 0; i < is_needed.size(); ++i) {
      if (is_needed[i] && !profile_.functions()[i].is_row) rows_.push_back(FunctionId{i});
    }
  }

  // The edges by callee, each list in their order.
  void ListCallers() {
    const std::vector<Profile::Edge>& edges = profile_.edges();
    callers_begin_.assign(profile_.functions().size() + 1, 0);
    bool is_sorted = true;
    for (size_t i = 0; i < edges.size(); ++i) {
      ++callers_begin_[Index(edges[i].callee) + 1];
      if (i > 0 && Index(edges[i].callee) < Index(edges[i - 1].callee)) is_sorted = false;
    }
    for (size_t i = 1; i < callers_begin_.size(); ++i) callers_begin_[i] += callers_begin_[i - 1];
    if (is_sorted) return;
    std::vector<uint32_t> next(callers_begin_.begin(), callers_begin_.end() - 1);
    callers_.resize(edges.size());
    for (uint32_t e = 0; e < edges.size(); ++e) callers_[next[Index(edges[e].callee)]++] = e;
  }

  // FLAG_REF, and the next number, if the object of this entry will be referred to.
  uint8_t Flag(uint32_t& entry) {
    if (entry != References::kFlag) return 0;
    entry = references_->next_number++;
    return marshal::kFlagRef;
  }
  static bool HasNumber(uint32_t entry) { return entry != References::kOnce && entry < References::kUnseen; }

  void Key(FunctionId function) {
    uint8_t flag = 0;
    if (references_ != nullptr) {
      uint32_t& entry = references_->key(function);
      if (HasNumber(entry)) return output_.Ref(entry);
      flag = Flag(entry);
    }
    output_.SmallTuple(flag, 3);
    Text(keys_.file(function));
    output_.Integer(profile_.function(function).line);
    Text(keys_.name(function));
  }

  void Text(StringId id) {
    uint8_t flag = 0;
    if (references_ != nullptr) {
      uint32_t& entry = references_->text(id);
      if (HasNumber(entry)) return output_.Ref(entry);
      flag = Flag(entry);
    }
    output_.Text(flag, keys_.strings().Get(id));
  }

  const Profile& profile_;
  const WritePstatsOptions& options_;
  const SafeKeys keys_;
  MarshalOutput output_;
  std::vector<FunctionId> rows_;
  std::vector<uint32_t> callers_begin_;  // by function, and the end of the last
  std::vector<uint32_t> callers_;        // edges; empty: 0, 1, 2, …
  std::unique_ptr<References> references_;
};

}  // namespace

absl::Status WritePstats(const Profile& profile, const WritePstatsOptions& options, io::ByteSink& sink) {
  if (profile.row_count() == 0 && !options.allow_empty) {
    return absl::FailedPreconditionError(absl::StrCat(
        sink.name(), ": there is nothing to write: the profile has no functions, and no viewer opens an empty one"));
  }
  Writer(profile, options, sink).Write();
  return sink.status();
}

}  // namespace tracekiln::pstats
