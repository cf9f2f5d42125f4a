#include "formats/chrome/layout_predictor.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "formats/intermediate/field_catalog.h"
#include "formats/json/number.h"
#include "formats/json/scan.h"
#include "formats/json/text.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace tracekiln::chrome {
namespace {

constexpr size_t kLiteralBlock = 32;
// An event with more values than this is left to the general tier.
constexpr size_t kMaxValues = 512;

bool IsDigit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

// An int64 of at most 18 digits as JSON spells it, or nullptr.
const char* ReadInt(const char* p, int64_t* value) {
  const bool negative = *p == '-';
  p += negative;
  uint64_t magnitude;
  const char* const digits = p;
  p = json::ParseDigits(p, &magnitude);
  if (p == digits || IsDigit(*p)) return nullptr;
  if (*digits == '0' && (p - digits > 1 || negative)) return nullptr;
  if (*p == '.' || (*p | 0x20) == 'e') return nullptr;
  *value = negative ? -static_cast<int64_t>(magnitude) : static_cast<int64_t>(magnitude);
  return p;
}

// Microseconds with at most 16 digits before the point and 3 behind it -> ns, or nullptr.
const char* ReadTime(const char* p, int64_t* ns) {
  const bool negative = *p == '-';
  p += negative;
  uint64_t micros;
  const char* const digits = p;
  p = json::ParseDigits(p, &micros);
  const int64_t count = p - digits;
  constexpr uint64_t kMaxMicros = 9'000'000'000'000'000;  // times 1000 fits int64
  if (count == 0 || micros > kMaxMicros || (*digits == '0' && count > 1)) return nullptr;
  int64_t value = static_cast<int64_t>(micros) * 1000;
  if (*p == '.') {
    ++p;
    if (!IsDigit(*p)) return nullptr;
    value += (*p++ - '0') * 100;
    if (IsDigit(*p)) {
      value += (*p++ - '0') * 10;
      if (IsDigit(*p)) value += *p++ - '0';
    }
    if (IsDigit(*p)) return nullptr;
  }
  if ((*p | 0x20) == 'e') return nullptr;
  *ns = negative ? -value : value;
  return p;
}

}  // namespace

LayoutPredictor::LayoutPredictor(EventAssembler* assembler, EventParser* parser)
    : assembler_(assembler), parser_(parser), values_(kMaxValues) {
  nodes_.push_back(Node{0, 0, ValueKind::kNone, Role::kNone, 0, 0, {}});
}

inline bool LayoutPredictor::Matches(const Node& node, const char* p) const {
  const char* literal = literals_.data() + node.literal_begin;
  size_t left = node.literal_size;
#ifdef __AVX2__
  for (;;) {
    const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(literal));
    const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    const uint32_t differing = ~static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(a, b)));
    if (left <= kLiteralBlock) return (differing & (0xffffffffu >> (kLiteralBlock - left))) == 0;
    if (differing != 0) return false;
    literal += kLiteralBlock;
    p += kLiteralBlock;
    left -= kLiteralBlock;
  }
#else
  return std::memcmp(literal, p, left) == 0;
#endif
}

bool LayoutPredictor::ResolveTemplate(EventTemplate& event) {
  EventBatch& batch = assembler_->batch();
  event.category_id = kNoCategory;
  if (event.has_category && !batch.InternCategory(batch.strings.Intern(event.category), &event.category_id))
    return false;
  std::vector<ArgField> fields;
  fields.reserve(event.fields.size());
  for (const Field& f : event.fields) fields.push_back({batch.strings.Intern(f.key), f.type, f.place});
  if (!batch.args.InternShape(fields, event.has_args, &event.shape)) return false;
  for (ConstantText& t : event.texts) t.id = batch.strings.Intern(t.text);
  event.epoch = assembler_->epoch();
  return true;
}

const char* LayoutPredictor::Parse(const char* const event_begin, const char* const end) {
  assembler_->StartEvent();
  const char* p = event_begin;
  EventBatch& batch = assembler_->batch();
  ArgValue* value = values_.data();
  EventScratch& s = scratch_;
  s.pid = s.tid = TrackPart();
  s.name = kNoString;
  s.ts_ns = s.dur_ns = 0;
  uint32_t current = 0;
  // The likeliest beginning: what followed the last event's template the time before.
  uint32_t first_choice = has_last_template_ ? templates_[last_template_].next_first : 0;
  uint32_t first_taken = 0;
  for (;;) {
    const Node* node = nullptr;
    uint32_t taken = 0;
    const char* behind = nullptr;
    std::vector<uint32_t>& children = nodes_[current].children;
    const size_t child_count = children.size();
    for (size_t c = 0; c < child_count + (first_choice != 0); ++c) {
      uint32_t index;
      if (first_choice != 0) {
        index = c == 0 ? first_choice : children[c - 1];
      } else {
        index = children[c];
      }
      const Node& candidate = nodes_[index];
      if (!Matches(candidate, p)) continue;
      behind = p + candidate.literal_size;
      switch (candidate.kind) {
        case ValueKind::kNone: break;
        case ValueKind::kConstant: *value++ = ArgValue::Int(candidate.constant == kTrue); break;
        case ValueKind::kString: {
          if (behind >= end) return nullptr;
          bool escaped = false;
          const char* close = json::FindQuoteOrBackslash(behind, end);
          if (close < end && *close == '\\') close = json::FindStringEnd(close, end, &escaped);
          if (close == end) return nullptr;
          const absl::string_view raw(behind, static_cast<size_t>(close - behind));
          StringId id;
          if (!escaped) {
            id = assembler_->FindClean(raw);
            if (id == kNoString) {
              if (!json::IsCleanUtf8(raw)) return nullptr;
              id = batch.strings.Intern(raw);
            }
          } else {
            json::Error error;
            decoded_.clear();
            damage_.met = false;
            if (!json::DecodeString(raw, &decoded_, &damage_, &error) || damage_.met) return nullptr;
            id = assembler_->InternDecoded(decoded_);
          }
          switch (candidate.role) {
            case Role::kName: s.name = id; break;
            case Role::kPid: s.pid = TrackPart::Text(id); break;
            case Role::kTid: s.tid = TrackPart::Text(id); break;
            default: *value++ = ArgValue::String(id); break;
          }
          behind = close;
          break;
        }
        case ValueKind::kInt: {
          int64_t number;
          behind = ReadInt(behind, &number);
          if (behind == nullptr) break;
          switch (candidate.role) {
            case Role::kPid: s.pid = TrackPart::Int(number); break;
            case Role::kTid: s.tid = TrackPart::Int(number); break;
            default: *value++ = ArgValue::Int(number); break;
          }
          break;
        }
        case ValueKind::kTime: behind = ReadTime(behind, candidate.role == Role::kTs ? &s.ts_ns : &s.dur_ns); break;
        case ValueKind::kDouble: {
          if (behind >= end) return nullptr;
          const json::Number number = json::ParseNumber(behind, end);
          if (number.type == json::NumberType::kDouble) {
            *value++ = ArgValue::Double(number.d);
            behind = number.end;
          } else {
            behind = nullptr;
          }
          break;
        }
        case ValueKind::kNested: {
          if (behind >= end) return nullptr;
          json::Error error;
          const char* value_end = nullptr;
          if (*behind != '[' && *behind != '{') {
            behind = nullptr;
            break;
          }
          damage_.met = false;
          const StringId id =
              parser_->nested_values().Intern(behind, end, batch, assembler_->epoch(), &damage_, &value_end, &error);
          if (id == kNoString || damage_.met) return nullptr;
          *value++ = ArgValue::String(id);
          behind = value_end;
          break;
        }
        case ValueKind::kEnd: {
          if (behind > end) return nullptr;
          EventTemplate& event = templates_[candidate.template_index];
          if (event.kind == EventKind::kSlice && s.dur_ns == kUnfinished) return nullptr;
          const size_t value_count = static_cast<size_t>(value - values_.data());
          if (value_count != event.fields.size()) return nullptr;
          if (has_last_template_) templates_[last_template_].next_first = first_taken;
          last_template_ = candidate.template_index;
          has_last_template_ = true;
          ++hits_;
          if (event.flow_id_field >= 0 && s.name != kNoString && batch.strings.Get(s.name) == fields::kAc2g &&
              assembler_->MergeFlow(event.phase, values_[static_cast<size_t>(event.flow_id_field)].i, s.ts_ns, s.pid,
                                    s.tid)) {
            return behind;
          }
          if (event.epoch != assembler_->epoch() && !ResolveTemplate(event)) return nullptr;
          for (const ConstantText& t : event.texts) values_[t.field] = ArgValue::String(t.id);
          int64_t correlation = 0;
          if (event.correlation_field >= 0) {
            correlation = std::max<int64_t>(values_[static_cast<size_t>(event.correlation_field)].i, 0);
          }
          EventRow row;
          row.ts_ns = s.ts_ns;
          row.dur_ns = event.kind == EventKind::kSlice ? s.dur_ns : 0;
          row.correlation = correlation;
          row.name = s.name;
          row.category = event.category_id;
          row.kind = event.kind;
          row.flags = event.has_ts ? 0 : kNoTimestamp;
          assembler_->AppendRow(row, s.pid, s.tid, event.shape, values_.data());
          return behind;
        }
      }
      if (behind == nullptr) continue;  // another kind of value: perhaps a sibling with the same literal
      node = &candidate;
      taken = index;
      // Keep the likeliest in front.
      if (current != 0 && c > 0) std::swap(children[c], children[c - 1]);
      break;
    }
    if (node == nullptr || static_cast<size_t>(value - values_.data()) + 2 > kMaxValues) {
      ++misses_;
      return nullptr;
    }
    if (current == 0) first_taken = taken;
    first_choice = 0;
    current = taken;
    p = behind;
  }
}

uint32_t LayoutPredictor::AddNode(uint32_t parent, absl::string_view literal, ValueKind kind, Role role,
                                  uint8_t constant) {
  for (const uint32_t child : nodes_[parent].children) {
    const Node& n = nodes_[child];
    if (n.literal_size == literal.size() && n.kind == kind && n.role == role && n.constant == constant &&
        std::memcmp(literals_.data() + n.literal_begin, literal.data(), literal.size()) == 0) {
      return child;
    }
  }
  if (nodes_.size() >= kMaxNodes || nodes_[parent].children.size() >= kMaxChildren) return 0;
  Node node;
  node.literal_begin = static_cast<uint32_t>(literals_.size());
  node.literal_size = static_cast<uint32_t>(literal.size());
  node.kind = kind;
  node.role = role;
  node.constant = constant;
  node.template_index = 0;
  literals_.append(literal.data(), literal.size());
  literals_.append(2 * kLiteralBlock - literal.size() % kLiteralBlock, '\0');
  const uint32_t index = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back(std::move(node));
  nodes_[parent].children.push_back(index);
  return index;
}

// Walks the members of an event (or of its args) that the general tier accepted as regular.
bool LayoutPredictor::Describe(const char* p, const char* event_end, std::vector<Step>* steps, EventTemplate* event) {
  const char* literal = p;
  bool in_args = false;
  const char* key_begin = nullptr;
  const EventScratch& scratch = parser_->scratch();
  event->phase = scratch.phase;
  event->kind = KindOfPhase(scratch.phase);
  event->has_ts = scratch.has_ts;
  event->has_args = scratch.has_args;
  event->has_category = false;
  const bool is_slice = event->kind == EventKind::kSlice;
  ++p;  // the opening brace
  for (;;) {
    p = json::SkipBlanks(p, event_end);
    if (p >= event_end) return false;
    if (*p == ',') {
      ++p;
      continue;
    }
    if (*p == '}') {
      ++p;
      if (in_args) {
        in_args = false;
        continue;
      }
      steps->push_back({literal, p, ValueKind::kEnd, Role::kNone, 0});
      return p == event_end;
    }
    if (*p != '"') return false;
    bool escaped = false;
    key_begin = p + 1;
    const char* const key_end = json::FindStringEnd(key_begin, event_end, &escaped);
    if (escaped || key_end == event_end) return false;
    const absl::string_view key(key_begin, static_cast<size_t>(key_end - key_begin));
    p = json::SkipBlanks(key_end + 1, event_end);
    if (p >= event_end || *p != ':') return false;
    p = json::SkipBlanks(p + 1, event_end);
    if (p >= event_end) return false;
    Role role = Role::kField;
    if (!in_args) {
      if (key == "args" && *p == '{') {
        in_args = true;
        ++p;
        continue;
      }
      if (key == "ph" || key == "cat") {
        if (*p != '"') return false;
        const char* const begin = p + 1;
        const char* const close = json::FindStringEnd(begin, event_end, &escaped);
        if (escaped || close == event_end) return false;
        if (key == "cat") {
          event->has_category = true;
          event->category.assign(begin, static_cast<size_t>(close - begin));
        }
        p = close + 1;
        continue;  // part of the literal
      }
      if ((key == "bp" || key == "s") && *p == '"') {
        const char* const begin = p + 1;
        const char* const close = json::FindStringEnd(begin, event_end, &escaped);
        if (escaped || close == event_end) return false;
        p = close + 1;
        event->texts.push_back(
            {event->fields.size(), std::string(begin, static_cast<size_t>(close - begin)), kNoString});
        event->fields.push_back({std::string(key), ArgType::kString, ArgPlace::kEvent});
        steps->push_back({literal, p, ValueKind::kConstant, Role::kField, kText});
        literal = p;
        continue;
      }
      if (key == "ts") role = Role::kTs;
      if (key == "dur" && (event->phase == 'B' || event->phase == 'E')) return false;  // gets another name
      if (key == "dur" && is_slice) role = Role::kDur;
      if (key == "name") role = Role::kName;
      if (key == "pid") role = Role::kPid;
      if (key == "tid") role = Role::kTid;
    }
    const ArgPlace place = in_args ? ArgPlace::kArgs : ArgPlace::kEvent;
    const char* const value_begin = p;
    if (role == Role::kTs || role == Role::kDur) {
      const json::Number number = json::ParseNumber(p, event_end);
      if (number.type == json::NumberType::kInvalid) return false;
      steps->push_back({literal, value_begin, ValueKind::kTime, role, 0});
      literal = p = number.end;
      continue;
    }
    if (*p == '"') {
      const char* const close = json::FindStringEnd(p + 1, event_end, &escaped);
      if (close == event_end) return false;
      steps->push_back({literal, value_begin + 1, ValueKind::kString, role, 0});
      if (role == Role::kField) event->fields.push_back({std::string(key), ArgType::kString, place});
      literal = close;
      p = close + 1;
      continue;
    }
    if (*p == '[' || *p == '{') {
      if (role != Role::kField) return false;
      p = json::FindNestedEnd(p, event_end);
      if (p == nullptr) return false;
      steps->push_back({literal, value_begin, ValueKind::kNested, role, 0});
      event->fields.push_back({std::string(key), ArgType::kJson, place});
      literal = p;
      continue;
    }
    if (*p == 't' || *p == 'f' || *p == 'n') {
      if (role != Role::kField) return false;
      const uint8_t constant = *p == 'n' ? kNull : *p == 'f' ? kFalse : kTrue;
      p += *p == 'f' ? 5 : 4;
      steps->push_back({literal, p, ValueKind::kConstant, role, constant});
      event->fields.push_back({std::string(key), constant == kNull ? ArgType::kNull : ArgType::kBool, place});
      literal = p;
      continue;
    }
    const json::Number number = json::ParseNumber(p, event_end);
    if (number.type == json::NumberType::kInt) {
      if (number.end - p > 18) return false;
      steps->push_back({literal, value_begin, ValueKind::kInt, role, 0});
      if (role == Role::kField) event->fields.push_back({std::string(key), ArgType::kInt, place});
    } else if (number.type == json::NumberType::kDouble && role == Role::kField) {
      steps->push_back({literal, value_begin, ValueKind::kDouble, role, 0});
      event->fields.push_back({std::string(key), ArgType::kDouble, place});
    } else {
      return false;
    }
    literal = p = number.end;
  }
}

void LayoutPredictor::Learn(const char* p, const char* event_end) {
  // Learning must pay: when the tree is full and predictions keep failing, stop trying.
  if (misses_ > 20000 && misses_ > hits_) is_enabled_ = false;
  if (nodes_.size() >= kMaxNodes || !parser_->is_regular()) return;
  std::vector<Step> steps;
  EventTemplate event;
  if (!Describe(p, event_end, &steps, &event)) return;
  if (event.fields.size() + 2 > kMaxValues) return;
  for (size_t f = 0; f < event.fields.size(); ++f) {
    const Field& field = event.fields[f];
    if (field.place == ArgPlace::kArgs && field.type == ArgType::kInt && field.key == fields::kCorrelation) {
      event.correlation_field = static_cast<int>(f);
    }
  }
  // The same condition as EventAssembler::IsRestatedFlow, but for the name, which is a value.
  if ((event.phase == 's' || event.phase == 'f') && event.has_category && event.category == fields::kAc2g &&
      !event.has_args) {
    const bool is_end = event.phase == 'f';
    int id_field = -1;
    bool has_bp = false;
    bool has_more = false;
    for (size_t f = 0; f < event.fields.size(); ++f) {
      const Field& field = event.fields[f];
      if (field.key == "id" && field.type == ArgType::kInt) {
        id_field = static_cast<int>(f);
      } else if (field.key == "bp" && event.texts.size() == 1 && event.texts[0].text == "e") {
        has_bp = true;
      } else {
        has_more = true;
      }
    }
    if (id_field >= 0 && has_bp == is_end && !has_more) event.flow_id_field = id_field;
  }
  uint32_t current = 0;
  for (const Step& step : steps) {
    const char* begin = step.literal_begin;
    size_t size = static_cast<size_t>(step.value_begin - begin);
    while (size > kMaxLiteral) {
      current = AddNode(current, absl::string_view(begin, kMaxLiteral), ValueKind::kNone, Role::kNone, 0);
      if (current == 0) return;
      begin += kMaxLiteral;
      size -= kMaxLiteral;
    }
    current = AddNode(current, absl::string_view(begin, size), step.kind, step.role, step.constant);
    if (current == 0) return;
  }
  // The last step is the end of the event.
  if (nodes_[current].template_index != 0) return;
  if (templates_.empty()) templates_.emplace_back();  // index 0 means none
  nodes_[current].template_index = static_cast<uint32_t>(templates_.size());
  templates_.push_back(std::move(event));
}

}  // namespace tracekiln::chrome
