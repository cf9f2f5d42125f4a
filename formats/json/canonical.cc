#include "formats/json/canonical.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "formats/json/number.h"
#include "formats/json/scan.h"
#include "formats/json/text.h"
#include "formats/json/writer.h"

namespace tracekiln::json {
namespace {

constexpr absl::string_view kNonFiniteWords[] = {"infinity", "inf", "nan"};

class Canonicalizer {
 public:
  Canonicalizer(const char* end, std::string* out, DamageSink* sink, Error* error)
      : end_(end), out_(out), sink_(sink), error_(error) {}

  const char* Value(const char* p, int depth) {
    p = SkipBlanks(p, end_);
    if (p == end_) return Fail(p, "a value");
    switch (*p) {
      case '"': return String(p, nullptr);
      case '[': return Array(p, depth);
      case '{': return Object(p, depth);
      default: return Scalar(p);
    }
  }

 private:
  const char* Fail(const char* at, absl::string_view expected) {
    error_->at = at;
    error_->is_truncation = at >= end_;
    error_->reason = absl::StrCat("expected ", expected, ", got ", ShowByte(at, end_));
    return nullptr;
  }

  // Appends the string at `p`; its decoded text goes to *decoded as well if wanted.
  const char* String(const char* p, std::string* decoded) {
    const char* const begin = p + 1;
    bool escaped = false;
    const char* const close = FindStringEnd(begin, end_, &escaped);
    if (close == end_) return Fail(end_, "the end of a string");
    const absl::string_view raw(begin, static_cast<size_t>(close - begin));
    if (!escaped && IsCleanUtf8(raw)) {
      out_->push_back('"');
      out_->append(raw.data(), raw.size());
      out_->push_back('"');
      if (decoded != nullptr) decoded->assign(raw.data(), raw.size());
      return close + 1;
    }
    std::string text;
    if (!DecodeString(raw, &text, sink_, error_)) return nullptr;
    const Escaped spelt(text);
    out_->append(spelt.text().data(), spelt.text().size());
    if (decoded != nullptr) *decoded = std::move(text);
    return close + 1;
  }

  const char* Array(const char* p, int depth) {
    if (depth >= kMaxDepth) return Fail(p, absl::StrCat("at most ", kMaxDepth, " nested brackets"));
    out_->push_back('[');
    p = SkipBlanks(p + 1, end_);
    if (p < end_ && *p == ']') return Close(p, ']');
    for (;;) {
      p = Value(p, depth + 1);
      if (p == nullptr) return nullptr;
      p = SkipBlanks(p, end_);
      if (p < end_ && *p == ',') {
        const char* const comma = p;
        p = SkipBlanks(p + 1, end_);
        if (p < end_ && *p == ']') {
          sink_->OnDamage(Damage::kTrailingComma, comma);
          return Close(p, ']');
        }
        out_->push_back(',');
        continue;
      }
      if (p < end_ && *p == ']') return Close(p, ']');
      return Fail(p, "`,` or `]`");
    }
  }

  const char* Object(const char* p, int depth) {
    if (depth >= kMaxDepth) return Fail(p, absl::StrCat("at most ", kMaxDepth, " nested brackets"));
    out_->push_back('{');
    p = SkipBlanks(p + 1, end_);
    if (p < end_ && *p == '}') return Close(p, '}');
    std::vector<std::string> keys;
    std::vector<const char*> places;
    for (;;) {
      if (p == end_ || *p != '"') return Fail(p, "an object key in quotes");
      std::string key;
      places.push_back(p);
      p = String(p, &key);
      if (p == nullptr) return nullptr;
      keys.push_back(std::move(key));
      p = SkipBlanks(p, end_);
      if (p == end_ || *p != ':') return Fail(p, "`:`");
      out_->push_back(':');
      p = Value(p + 1, depth + 1);
      if (p == nullptr) return nullptr;
      p = SkipBlanks(p, end_);
      if (p < end_ && *p == ',') {
        const char* const comma = p;
        p = SkipBlanks(p + 1, end_);
        if (p < end_ && *p == '}') {
          sink_->OnDamage(Damage::kTrailingComma, comma);
          break;
        }
        out_->push_back(',');
        continue;
      }
      if (p < end_ && *p == '}') break;
      return Fail(p, "`,` or `}`");
    }
    ReportDuplicates(keys, places);
    return Close(p, '}');
  }

  void ReportDuplicates(const std::vector<std::string>& keys, const std::vector<const char*>& places) {
    if (keys.size() < 2) return;
    std::vector<size_t> order(keys.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return keys[a] != keys[b] ? keys[a] < keys[b] : a < b; });
    for (size_t i = 1; i < order.size(); ++i) {
      if (keys[order[i]] == keys[order[i - 1]]) sink_->OnDamage(Damage::kDuplicateKey, places[order[i]]);
    }
  }

  const char* Close(const char* p, char bracket) {
    out_->push_back(bracket);
    return p + 1;
  }

  const char* Scalar(const char* p) {
    for (const absl::string_view word : {"true", "false", "null"}) {
      if (static_cast<size_t>(end_ - p) >= word.size() && absl::string_view(p, word.size()) == word) {
        return EndOfScalar(p, p + word.size(), false);
      }
    }
    if (const size_t length = NonFiniteLength(p, end_); length > 0) {
      sink_->OnDamage(Damage::kNonFiniteNumber, p);
      return EndOfScalar(p, p + length, true);
    }
    const Number number = ParseNumber(p, end_);
    if (number.type == NumberType::kInvalid) {
      if (IsCutOffScalar(p, end_)) return Fail(end_, "the rest of a value");
      return Fail(*p == '-' ? number.end : p, "a value");
    }
    return EndOfScalar(p, number.end, false);
  }

  const char* EndOfScalar(const char* begin, const char* scalar_end, bool quoted) {
    if (scalar_end < end_) {
      const char c = *scalar_end;
      if (c != ',' && c != ']' && c != '}' && c != ' ' && c != '\n' && c != '\r' && c != '\t') {
        return Fail(scalar_end, "the end of a value");
      }
    }
    if (quoted) out_->push_back('"');
    out_->append(begin, static_cast<size_t>(scalar_end - begin));
    if (quoted) out_->push_back('"');
    return scalar_end;
  }

  const char* const end_;
  std::string* const out_;
  DamageSink* const sink_;
  Error* const error_;
};

// Walks canonical text, which is known to be valid.
absl::string_view TakeValue(const char* p, const char* end) {
  const char* const begin = p;
  if (*p == '"') {
    for (++p; p < end && *p != '"'; ++p) {
      if (*p == '\\') ++p;
    }
    ++p;
  } else if (*p == '[' || *p == '{') {
    int depth = 0;
    do {
      if (*p == '"') {
        for (++p; p < end && *p != '"'; ++p) {
          if (*p == '\\') ++p;
        }
      } else if (*p == '[' || *p == '{') {
        ++depth;
      } else if (*p == ']' || *p == '}') {
        --depth;
      }
      ++p;
    } while (p < end && depth > 0);
  } else {
    while (p < end && *p != ',' && *p != ']' && *p != '}') ++p;
  }
  return absl::string_view(begin, static_cast<size_t>(std::min(p, end) - begin));
}

class IgnoreDamage : public DamageSink {
 public:
  void OnDamage(Damage, const char*) override {}
};

}  // namespace

const char* AppendCanonical(const char* p, const char* end, std::string* out, DamageSink* sink, Error* error) {
  return Canonicalizer(end, out, sink, error).Value(p, 0);
}

bool IsCutOffScalar(const char* p, const char* end) {
  if (p >= end) return false;
  const absl::string_view text(p, static_cast<size_t>(end - p));
  for (const absl::string_view word : {"true", "false", "null"}) {
    if (text.size() < word.size() && word.substr(0, text.size()) == text) return true;
  }
  const Number number = ParseNumber(p, end);
  if (number.type != NumberType::kInvalid) return false;
  if (number.end == end) return true;  // "-", "1.", "1e+"
  if (*p == '-' || *p == '+') ++p;
  const absl::string_view letters(p, static_cast<size_t>(end - p));
  for (const absl::string_view word : kNonFiniteWords) {
    if (letters.size() >= word.size()) continue;
    bool equal = true;
    for (size_t i = 0; i < letters.size() && equal; ++i) equal = (letters[i] | 0x20) == word[i];
    if (equal) return true;
  }
  return false;
}

size_t NonFiniteLength(const char* p, const char* end) {
  const char* const begin = p;
  if (p < end && (*p == '-' || *p == '+')) ++p;
  for (const absl::string_view word : kNonFiniteWords) {
    if (static_cast<size_t>(end - p) < word.size()) continue;
    bool equal = true;
    for (size_t i = 0; i < word.size() && equal; ++i) equal = (p[i] | 0x20) == word[i];
    if (equal) return static_cast<size_t>(p - begin) + word.size();
  }
  return 0;
}

bool IsJson(absl::string_view text) {
  class Detector : public DamageSink {
   public:
    void OnDamage(Damage, const char*) override { met_ = true; }
    bool met() const { return met_; }

   private:
    bool met_ = false;
  } damage;
  std::string padded(text);
  padded.append(kPadding, '\0');
  const char* const end = padded.data() + text.size();
  std::string canonical;
  Error error;
  const char* const behind = AppendCanonical(padded.data(), end, &canonical, &damage, &error);
  return behind != nullptr && !damage.met() && SkipBlanks(behind, end) == end;
}

std::vector<std::pair<std::string, absl::string_view>> Members(absl::string_view canonical) {
  std::vector<std::pair<std::string, absl::string_view>> members;
  if (canonical.size() < 2 || canonical[0] != '{') return members;
  const char* p = canonical.data() + 1;
  const char* const end = canonical.data() + canonical.size();
  while (p < end && *p == '"') {
    const absl::string_view key = TakeValue(p, end);
    p += key.size() + 1;
    if (p >= end) break;
    const absl::string_view value = TakeValue(p, end);
    members.emplace_back(AsString(key).value_or(""), value);
    p += value.size() + 1;
  }
  return members;
}

std::optional<absl::string_view> Member(absl::string_view canonical, absl::string_view key) {
  std::optional<absl::string_view> found;
  for (const auto& [name, value] : Members(canonical)) {
    if (absl::string_view(name) == key) found = value;
  }
  return found;
}

std::optional<int64_t> AsInt(absl::string_view canonical) {
  std::string padded(canonical);
  padded.append(kPadding, '\0');
  const Number n = ParseNumber(padded.data(), padded.data() + canonical.size());
  if (n.type != NumberType::kInt || n.end != padded.data() + canonical.size()) return std::nullopt;
  return n.i;
}

std::optional<std::string> AsString(absl::string_view canonical) {
  if (canonical.size() < 2 || canonical.front() != '"' || canonical.back() != '"') return std::nullopt;
  std::string text;
  IgnoreDamage ignore;
  Error error;
  if (!DecodeString(canonical.substr(1, canonical.size() - 2), &text, &ignore, &error)) return std::nullopt;
  return text;
}

}  // namespace tracekiln::json
