#include "formats/chrome/event_parser.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "formats/intermediate/field_catalog.h"
#include "formats/intermediate/nanos.h"
#include "formats/json/canonical.h"
#include "formats/json/number.h"
#include "formats/json/scan.h"
#include "formats/json/text.h"

namespace tracekiln::chrome {
namespace {

// Beyond this much raw text the cache of nested values starts afresh.
constexpr size_t kMaxNestedCacheBytes = 32 << 20;

// By CoreKey.
constexpr absl::string_view kCoreKeys[] = {"ph", "ts", "dur", "pid", "tid", "cat", "name", "args"};

bool IsScalarEnd(char c) { return c == ',' || c == '}' || c == ']' || c == '\n' || c == ' ' || c == '\r' || c == '\t'; }

}  // namespace

StringId NestedValues::Intern(const char* p, const char* end, EventBatch& batch, uint32_t epoch, json::DamageSink* sink,
                              const char** value_end, json::Error* error) {
  const char* const nested_end = json::FindNestedEnd(p, end - p > search_bytes_ ? p + search_bytes_ : end);
  if (nested_end != nullptr) {
    const absl::string_view text(p, static_cast<size_t>(nested_end - p));
    const StringId known = raw_.Find(text);
    if (known != kNoString) {
      Entry& entry = entries_[Index(known)];
      if (entry.epoch != epoch) {
        entry.id = batch.strings.Intern(absl::string_view(canonical_).substr(entry.begin, entry.size));
        entry.epoch = epoch;
      }
      *value_end = nested_end;
      return entry.id;
    }
  }
  class CountingSink : public json::DamageSink {
   public:
    explicit CountingSink(json::DamageSink* next) : next_(next) {}
    void OnDamage(json::Damage damage, const char* at) override {
      ++count_;
      next_->OnDamage(damage, at);
    }
    int count() const { return count_; }

   private:
    json::DamageSink* const next_;
    int count_ = 0;
  } counting(sink);
  if (canonical_.size() + raw_.bytes().size() > kMaxNestedCacheBytes) {
    raw_.Clear();
    entries_.clear();
    canonical_.clear();
  }
  const size_t begin = canonical_.size();
  const char* const behind = json::AppendCanonical(p, end, &canonical_, &counting, error);
  if (behind == nullptr) {
    canonical_.resize(begin);
    search_bytes_ = kMinSearchBytes;
    return kNoString;
  }
  search_bytes_ = std::min(2 * search_bytes_, kMaxSearchBytes);
  *value_end = behind;
  const absl::string_view canonical = absl::string_view(canonical_).substr(begin);
  const StringId id = batch.strings.Intern(canonical);
  if (counting.count() > 0) {
    canonical_.resize(begin);  // not remembered, so that it is counted each time
    return id;
  }
  if (nested_end == nullptr) {
    canonical_.resize(begin);
    return id;
  }
  raw_.Intern(absl::string_view(p, static_cast<size_t>(behind - p)));
  entries_.push_back({begin, static_cast<uint32_t>(canonical.size()), epoch, id});
  return id;
}

void EventParser::OnDamage(json::Damage damage, const char* at) {
  is_regular_ = false;
  ++damage_count_;
  const auto is_damage = [](const Remark& r) { return r.severity == ImportReport::Severity::kRepaired; };
  if (std::none_of(remarks_.begin(), remarks_.end(), is_damage)) {
    last_damage_ = damage;
    last_damage_place_ = at;
  }
  remarks_.push_back({ImportReport::Severity::kRepaired, json::DamageName(damage), at});
}

const char* EventParser::Fail(const char* at, absl::string_view expected) {
  error_.at = at;
  error_.is_truncation = at >= end_;
  error_.reason = absl::StrCat("expected ", expected, ", got ", json::ShowByte(at, end_));
  return nullptr;
}

StringId EventParser::InternString(absl::string_view raw, bool escaped) {
  if (!escaped) {
    const StringId known = assembler_->FindClean(raw);
    if (known != kNoString) return known;
    if (json::IsCleanUtf8(raw)) return assembler_->batch().strings.Intern(raw);
  }
  decoded_.clear();
  if (!json::DecodeString(raw, &decoded_, this, &error_)) return kNoString;
  return assembler_->InternDecoded(decoded_);
}

const char* EventParser::EndOfScalar(const char* p) {
  if (p < end_ && !IsScalarEnd(*p)) return Fail(p, "the end of a value");
  return p;
}

const char* EventParser::ParseValue(const char* p, ArgType* type, ArgValue* value) {
  if (p >= end_) return Fail(p, "a value");
  switch (*p) {
    case '"': {
      bool escaped = false;
      const char* const close = json::FindStringEnd(p + 1, end_, &escaped);
      if (close == end_) return Fail(end_, "the end of a string");
      *type = ArgType::kString;
      *value = ArgValue::String(InternString(absl::string_view(p + 1, static_cast<size_t>(close - p - 1)), escaped));
      return value->s == kNoString ? nullptr : close + 1;
    }
    case '[':
    case '{': {
      const char* value_end = nullptr;
      *type = ArgType::kJson;
      const StringId id = nested_.Intern(p, end_, assembler_->batch(), assembler_->epoch(), this, &value_end, &error_);
      if (id == kNoString) return nullptr;
      *value = ArgValue::String(id);
      return value_end;
    }
    case 't':
      if (end_ - p >= 4 && std::memcmp(p, "true", 4) == 0) {
        *type = ArgType::kBool;
        *value = ArgValue::Int(1);
        return EndOfScalar(p + 4);
      }
      break;
    case 'f':
      if (end_ - p >= 5 && std::memcmp(p, "false", 5) == 0) {
        *type = ArgType::kBool;
        *value = ArgValue::Int(0);
        return EndOfScalar(p + 5);
      }
      break;
    case 'n':
      if (end_ - p >= 4 && std::memcmp(p, "null", 4) == 0) {
        *type = ArgType::kNull;
        *value = ArgValue::Int(0);
        return EndOfScalar(p + 4);
      }
      break;
    default: break;
  }
  const json::Number number = json::ParseNumber(p, end_);
  switch (number.type) {
    case json::NumberType::kInt:
      *type = ArgType::kInt;
      *value = ArgValue::Int(number.i);
      return EndOfScalar(number.end);
    case json::NumberType::kDouble:
      *type = ArgType::kDouble;
      *value = ArgValue::Double(number.d);
      return EndOfScalar(number.end);
    case json::NumberType::kText:
      *type = ArgType::kNumber;
      *value = ArgValue::String(
          assembler_->batch().strings.Intern(absl::string_view(p, static_cast<size_t>(number.end - p))));
      return EndOfScalar(number.end);
    case json::NumberType::kInvalid: break;
  }
  if (const size_t length = json::NonFiniteLength(p, end_); length > 0) {
    OnDamage(json::Damage::kNonFiniteNumber, p);
    *type = ArgType::kString;
    *value = ArgValue::String(assembler_->batch().strings.Intern(absl::string_view(p, length)));
    return EndOfScalar(p + length);
  }
  if (json::IsCutOffScalar(p, end_)) return Fail(end_, "the rest of a value");
  return Fail(*p == '-' ? number.end : p, "a value");
}

// The position of a field in the scratch, or fields.size(). O(1) whatever the number of fields.
size_t EventParser::FindField(StringId key, ArgPlace place) {
  const std::vector<ArgField>& known = scratch_.fields;
  if (known.size() <= kMaxScannedFields) {
    size_t f = 0;
    while (f < known.size() && !(known[f].key == key && known[f].place == place)) ++f;
    return f;
  }
  if (field_index_.empty()) {
    for (size_t f = 0; f < known.size(); ++f) field_index_[FieldKey(known[f].key, known[f].place)] = f;
  }
  const auto found = field_index_.find(FieldKey(key, place));
  return found == field_index_.end() ? known.size() : found->second;
}

void EventParser::SetField(StringId key, const char* key_place, ArgPlace place, ArgType type, ArgValue value) {
  uint64_t& bloom = field_bloom_[static_cast<int>(place)];
  const uint64_t bit = uint64_t{1} << (Index(key) & 63);
  if ((bloom & bit) != 0) {
    const size_t f = FindField(key, place);
    if (f < scratch_.fields.size()) {
      OnDamage(json::Damage::kDuplicateKey, key_place);
      scratch_.fields[f].type = type;
      scratch_.values[f] = value;
      return;
    }
  }
  bloom |= bit;
  if (!field_index_.empty()) field_index_[FieldKey(key, place)] = scratch_.fields.size();
  scratch_.fields.push_back({key, type, place});
  scratch_.values.push_back(value);
}

const char* EventParser::ParseField(StringId key, const char* key_place, ArgPlace place, const char* p) {
  ArgType type;
  ArgValue value;
  p = ParseValue(p, &type, &value);
  if (p == nullptr) return nullptr;
  SetField(key, key_place, place, type, value);
  return p;
}

// A timestamp or duration: a number, or a text that is one. Anything else becomes a field of the same name.
const char* EventParser::ParseTime(const char* p, bool is_ts, absl::string_view key_text, const char* key_place) {
  absl::string_view text;
  const char* behind = nullptr;
  if (p < end_ && *p == '"') {
    bool escaped = false;
    const char* const close = json::FindStringEnd(p + 1, end_, &escaped);
    if (close == end_) return Fail(end_, "the end of a string");
    text = absl::string_view(p + 1, static_cast<size_t>(close - p - 1));
    behind = close + 1;
    is_regular_ = false;
  } else {
    const char* const number_end = json::FindNumberEnd(p, end_);
    if (number_end != nullptr) {
      text = absl::string_view(p, static_cast<size_t>(number_end - p));
      behind = EndOfScalar(number_end);
      if (behind == nullptr) return nullptr;
    }
  }
  if (behind != nullptr) {
    const ParsedNanos parsed = ParseMicros(text);
    if (parsed.error == NanosError::kNone && (is_ts || parsed.ns != kUnfinished)) {
      if (*p == '"') Note("time_as_text", p);
      if (parsed.rounded) {
        Note("time_finer_than_1_ns", p);
        is_regular_ = false;
      }
      if (is_ts) {
        scratch_.has_ts = true;
        scratch_.ts_ns = parsed.ns;
      } else {
        scratch_.has_dur = true;
        scratch_.dur_ns = parsed.ns;
        dur_place_ = p;
      }
      return behind;
    }
  }
  is_regular_ = false;
  const bool has_number = behind != nullptr;
  behind = ParseField(assembler_->batch().strings.Intern(key_text), key_place, ArgPlace::kEvent, p);
  if (behind == nullptr) return nullptr;
  if (is_ts) {
    scratch_.has_bad_ts = true;
  } else if (!has_number || *p == '"') {
    Note("bad_duration", p);
  }
  return behind;
}

const char* EventParser::ParseTrackPart(const char* p, TrackPart* part) {
  ArgType type;
  ArgValue value;
  const char* const begin = p;
  p = ParseValue(p, &type, &value);
  if (p == nullptr) return nullptr;
  switch (type) {
    case ArgType::kInt: *part = TrackPart::Int(value.i); break;
    case ArgType::kString: *part = TrackPart::Text(value.s); break;
    case ArgType::kJson:
    case ArgType::kNumber: *part = {TrackPart::Type::kJson, Index(value.s)}; break;
    default: {
      const absl::string_view text(begin, static_cast<size_t>(p - begin));
      *part = {TrackPart::Type::kJson, Index(assembler_->batch().strings.Intern(text))};
      break;
    }
  }
  if (type != ArgType::kInt && type != ArgType::kString) is_regular_ = false;
  return p;
}

const char* EventParser::ParseCore(CoreKey key, const char* key_place, absl::string_view key_text, const char* p) {
  if ((core_seen_ & (1u << key)) != 0) {
    // The last one counts: forget what the first one left.
    OnDamage(json::Damage::kDuplicateKey, key_place);
    const auto drop = [&](auto is_stale) {
      size_t kept = 0;
      for (size_t f = 0; f < scratch_.fields.size(); ++f) {
        if (is_stale(scratch_.fields[f])) continue;
        scratch_.fields[kept] = scratch_.fields[f];
        scratch_.values[kept++] = scratch_.values[f];
      }
      scratch_.fields.resize(kept);
      scratch_.values.resize(kept);
      field_index_.clear();
    };
    const StringId id = assembler_->batch().strings.Intern(key_text);
    drop([&](const ArgField& f) { return f.place == ArgPlace::kEvent && f.key == id; });
    if (key == kArgs) {
      drop([](const ArgField& f) { return f.place == ArgPlace::kArgs; });
      scratch_.has_args = false;
      scratch_.correlation = 0;
    }
    if (key == kTs) scratch_.has_ts = scratch_.has_bad_ts = false;
    if (key == kDur) scratch_.has_dur = false;
    if (key == kName) scratch_.name = kNoString;
    if (key == kCat) scratch_.category = kNoString;
    if (key == kPh) scratch_.phase = 0, scratch_.phase_text = kNoString;
  }
  core_seen_ |= 1u << key;
  StringPool& strings = assembler_->batch().strings;
  switch (key) {
    case kTs: return ParseTime(p, true, key_text, key_place);
    case kDur: return ParseTime(p, false, key_text, key_place);
    case kPid: return ParseTrackPart(p, &scratch_.pid);
    case kTid: return ParseTrackPart(p, &scratch_.tid);
    case kArgs:
      if (p < end_ && *p == '{') {
        scratch_.has_args = true;
        return ParseMembers(p, true);
      }
      is_regular_ = false;
      return ParseField(strings.Intern(key_text), key_place, ArgPlace::kEvent, p);
    default: break;
  }
  ArgType type;
  ArgValue value;
  p = ParseValue(p, &type, &value);
  if (p == nullptr) return nullptr;
  if (type != ArgType::kString) {
    is_regular_ = false;
    SetField(strings.Intern(key_text), key_place, ArgPlace::kEvent, type, value);
    return p;
  }
  switch (key) {
    case kName: scratch_.name = value.s; break;
    case kCat: scratch_.category = value.s; break;
    default: {
      const absl::string_view text = strings.Get(value.s);
      // A phase of several letters is none that we know.
      scratch_.phase = text.empty() ? '\0' : text.size() > 1 ? '?' : text[0];
      if (text.size() != 1) {
        scratch_.phase_text = value.s;
        is_regular_ = false;
      }
      break;
    }
  }
  return p;
}

// `p` is at the '{' of an event or of its args.
const char* EventParser::ParseMembers(const char* p, bool in_args) {
  p = json::SkipBlanks(p + 1, end_);
  if (p < end_ && *p == '}') return p + 1;
  for (;;) {
    if (p >= end_ || *p != '"') return Fail(p, "an object key in quotes");
    const char* const key_place = p;
    const char* const key_begin = p + 1;
    bool escaped = false;
    const char* const key_end = json::FindStringEnd(key_begin, end_, &escaped);
    if (key_end == end_) return Fail(end_, "the end of a string");
    absl::string_view key(key_begin, static_cast<size_t>(key_end - key_begin));
    StringId key_id = kNoString;
    if (escaped) {
      is_regular_ = false;
      key_id = InternString(key, true);
      if (key_id == kNoString) return nullptr;
      key = assembler_->batch().strings.Get(key_id);
    }
    CoreKey core = kOtherKey;
    if (!in_args) {
      switch (key.size()) {
        case 2:
          if (key == "ph") core = kPh;
          if (key == "ts") core = kTs;
          break;
        case 3:
          if (key == "dur") core = kDur;
          if (key == "pid") core = kPid;
          if (key == "tid") core = kTid;
          if (key == "cat") core = kCat;
          break;
        case 4:
          if (key == "name") core = kName;
          if (key == "args") core = kArgs;
          break;
        default: break;
      }
    }
    p = json::SkipBlanks(key_end + 1, end_);
    if (p >= end_ || *p != ':') return Fail(p, "`:`");
    p = json::SkipBlanks(p + 1, end_);
    if (core != kOtherKey) {
      p = ParseCore(core, key_place, kCoreKeys[core], p);
    } else {
      const StringId id = escaped ? key_id : InternString(key, false);
      if (id == kNoString) return nullptr;
      p = ParseField(id, key_place, in_args ? ArgPlace::kArgs : ArgPlace::kEvent, p);
    }
    if (p == nullptr) return nullptr;
    if (scratch_.fields.size() > kMaxMembers)
      return Fail(key_place, absl::StrCat("at most ", kMaxMembers, " members in an event"));
    p = json::SkipBlanks(p, end_);
    if (p < end_ && *p == ',') {
      const char* const comma = p;
      p = json::SkipBlanks(p + 1, end_);
      if (p < end_ && *p == '}') {
        OnDamage(json::Damage::kTrailingComma, comma);
        return p + 1;
      }
      continue;
    }
    if (p < end_ && *p == '}') return p + 1;
    return Fail(p, "`,` or `}`");
  }
}

const char* EventParser::Parse(const char* p, const char* end) {
  end_ = end;
  is_regular_ = true;
  error_ = json::Error();
  remarks_.clear();
  assembler_->StartEvent();
  scratch_.Clear();
  const char* const behind = ParseElement(p);
  if (behind == nullptr) return nullptr;
  for (const Remark& r : remarks_) assembler_->report().Add(r.severity, r.reason, OffsetOf(r.at));
  return behind;
}

const char* EventParser::ParseElement(const char* p) {
  const char* const end = end_;
  if (p >= end) return Fail(p, "an event");
  if (*p != '{') {
    is_regular_ = false;
    ArgType type;
    ArgValue value;
    const char* const behind = ParseValue(p, &type, &value);
    if (behind == nullptr) return nullptr;
    // A number (or `inf`) that ends with the text may go on.
    if (behind == end && *p != '"' && type != ArgType::kNull && type != ArgType::kBool && type != ArgType::kJson) {
      return Fail(end, "the rest of a value");
    }
    assembler_->SkipElement(type == ArgType::kNull ? "null_element" : "not_an_object", OffsetOf(p));
    return behind;
  }
  core_seen_ = 0;
  field_bloom_[0] = field_bloom_[1] = 0;
  field_index_.clear();
  const char* const behind = ParseMembers(p, false);
  if (behind == nullptr) return nullptr;
  if (scratch_.phase != 'X' && scratch_.has_dur) {
    // Only slices have a duration; elsewhere "dur" is a field like any other.
    ArgType type;
    ArgValue value;
    if (ParseValue(dur_place_, &type, &value) == nullptr) return nullptr;
    SetField(assembler_->batch().strings.Intern(kCoreKeys[kDur]), p, ArgPlace::kEvent, type, value);
    scratch_.has_dur = false;
    scratch_.dur_ns = 0;
    is_regular_ = false;
  }
  if (scratch_.has_args) {
    const StringId key = assembler_->batch().strings.Find(fields::kCorrelation);
    if (key != kNoString) {
      for (size_t f = 0; f < scratch_.fields.size(); ++f) {
        const ArgField& field = scratch_.fields[f];
        if (field.key == key && field.place == ArgPlace::kArgs && field.type == ArgType::kInt &&
            scratch_.values[f].i > 0) {
          scratch_.correlation = scratch_.values[f].i;
        }
      }
    }
  }
  if (scratch_.phase == 0 || (!scratch_.has_ts && scratch_.phase != 'M')) is_regular_ = false;
  if (scratch_.phase != UsualPhase(KindOfPhase(scratch_.phase))) is_regular_ = false;
  if (scratch_.phase == 'X' && !scratch_.has_dur) is_regular_ = false;
  assembler_->Finish(scratch_, OffsetOf(p));
  return behind;
}

}  // namespace tracekiln::chrome
