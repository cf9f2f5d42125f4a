#include "formats/pytorch_et/node_parser.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "formats/json/canonical.h"
#include "formats/json/number.h"
#include "formats/json/scan.h"
#include "formats/json/text.h"

namespace tracekiln::pytorch_et {
namespace {

// Attributes that stand as keys of a flat node, with the types that nested ones name.
struct FlatAttribute {
  absl::string_view key;
  AttributeType type;
};
constexpr FlatAttribute kFlatAttributes[] = {
    {"rf_id", AttributeType::kUint64}, {"fw_parent", AttributeType::kUint64}, {"seq_id", AttributeType::kInt64},
    {"scope", AttributeType::kUint64}, {"tid", AttributeType::kUint64},       {"fw_tid", AttributeType::kUint64},
};

// Keys of inputs and outputs: {nested, flat of inputs, flat of outputs}.
constexpr absl::string_view kIoKeys[4][3] = {
    {"values", "inputs", "outputs"},
    {"shapes", "input_shapes", "output_shapes"},
    {"types", "input_types", "output_types"},
    {"strides", "input_strides", "output_strides"},
};

// Gives an integer the type that the file names, if it is in its range.
bool Convert(AttributeType type, ParsedAttribute* attribute) {
  const bool is_negative = attribute->type == AttributeType::kInt64 && static_cast<int64_t>(attribute->value) < 0;
  const auto fits = [&](int64_t low, uint64_t high) {
    if (is_negative) return static_cast<int64_t>(attribute->value) >= low;
    return attribute->value <= high;
  };
  bool ok = false;
  const bool is_integer = attribute->type == AttributeType::kInt64 || attribute->type == AttributeType::kUint64;
  switch (type) {
    case AttributeType::kInt32:
    case AttributeType::kSint32:
    case AttributeType::kSfixed32: ok = is_integer && fits(INT32_MIN, INT32_MAX); break;
    case AttributeType::kInt64:
    case AttributeType::kSint64:
    case AttributeType::kSfixed64: ok = is_integer && fits(INT64_MIN, INT64_MAX); break;
    case AttributeType::kUint32:
    case AttributeType::kFixed32: ok = is_integer && fits(0, UINT32_MAX); break;
    case AttributeType::kUint64:
    case AttributeType::kFixed64: ok = is_integer && fits(0, UINT64_MAX); break;
    case AttributeType::kDouble:
      ok = is_integer || attribute->type == AttributeType::kDouble;
      if (is_integer) {
        const double value = is_negative ? static_cast<double>(static_cast<int64_t>(attribute->value))
                                         : static_cast<double>(attribute->value);
        std::memcpy(&attribute->value, &value, sizeof value);
      }
      break;
    case AttributeType::kBool:
      ok = attribute->type == AttributeType::kBool || (is_integer && attribute->value <= 1);
      break;
    case AttributeType::kString: ok = attribute->type == AttributeType::kString; break;
    default: break;
  }
  if (ok) attribute->type = type;
  return ok;
}

// A longer name is not looked for: a file of many broken nodes would be searched to its end for each.
constexpr ptrdiff_t kMaxLiteralName = 8192;

// Where a name that begins at `p` ends by the layout of PyTorch's writer: at the quote of `", "ctrl_deps": N,` behind
// which "inputs" follows. Null: nowhere before `end`, or too far away.
const char* FindLiteralNameEnd(const char* p, const char* end) {
  end = std::min(end, p + std::min<ptrdiff_t>(kMaxLiteralName, end - p));
  constexpr absl::string_view kBehindName = "\", \"ctrl_deps\": ";
  const absl::string_view text(p, static_cast<size_t>(end - p));
  for (size_t at = text.find(kBehindName); at != absl::string_view::npos; at = text.find(kBehindName, at + 1)) {
    const char* q = p + at + kBehindName.size();
    const char* const digits = q;
    while (q < end && absl::ascii_isdigit(static_cast<unsigned char>(*q))) ++q;
    if (q == digits || q == end || *q != ',') continue;
    q = json::SkipBlanks(q + 1, end);
    if (absl::StartsWith(absl::string_view(q, static_cast<size_t>(end - q)), "\"inputs\":")) return p + at;
  }
  return nullptr;
}

// Where the name of the node at `p` begins, if it is laid out as `{ "id": N, "name": "`.
const char* FindNameBegin(const char* p, const char* end) {
  const auto skip = [&](absl::string_view word) {
    if (p == nullptr) return;
    p = json::SkipBlanks(p, end);
    p = absl::StartsWith(absl::string_view(p, static_cast<size_t>(end - p)), word) ? p + word.size() : nullptr;
  };
  skip("{");
  skip("\"id\"");
  skip(":");
  if (p == nullptr) return nullptr;
  p = json::SkipBlanks(p, end);
  while (p < end && absl::ascii_isdigit(static_cast<unsigned char>(*p))) ++p;
  skip(",");
  skip("\"name\"");
  skip(":");
  skip("\"");
  return p;
}

}  // namespace

void ParsedNode::Clear() {
  has_id = false;
  id = 0;
  name.clear();
  literal_name = nullptr;
  control_deps.clear();
  for (std::array<std::string, 4>& texts : io) {
    for (std::string& text : texts) text.clear();
  }
  attribute_count = 0;
  type_mismatches = 0;
}

ParsedAttribute* ParsedNode::AddAttribute() {
  if (attribute_count == attributes.size()) attributes.emplace_back();
  ParsedAttribute* const attribute = &attributes[attribute_count++];
  attribute->name.clear();
  attribute->text.clear();
  attribute->type = AttributeType::kNone;
  attribute->value = 0;
  return attribute;
}

const char* NodeParser::Fail(const char* p, absl::string_view expected) {
  error_->at = p;
  error_->is_truncation = p >= end_;
  error_->reason = absl::StrCat("expected ", expected, ", got ", json::ShowByte(p, end_));
  return nullptr;
}

// What stands between two brackets, separated by commas: calls parse(p) for each element, which returns the byte behind
// it or nullptr. Returns the byte behind the closing bracket, or nullptr.
template <typename ParseOne>
const char* NodeParser::ParseElements(const char* p, char open, char close, ParseOne parse) {
  p = Expect(p, open);
  if (p == nullptr) return nullptr;
  p = json::SkipBlanks(p, end_);
  if (p < end_ && *p == close) return p + 1;
  for (;;) {
    p = parse(p);
    if (p == nullptr) return nullptr;
    p = json::SkipBlanks(p, end_);
    if (p < end_ && *p == close) return p + 1;
    if (p == end_ || *p != ',') return Fail(p, absl::StrCat("`,` or `", std::string(1, close), "`"));
    const char* const next = json::SkipBlanks(p + 1, end_);
    if (next < end_ && *next == close) {
      OnDamage(json::Damage::kTrailingComma, p);
      return next + 1;
    }
    ++p;
  }
}

// The members of an object: calls parse(p) for each value, its key in *key.
template <typename ParseOne>
const char* NodeParser::ParseMembers(const char* p, std::string* key, ParseOne parse) {
  return ParseElements(p, '{', '}', [&](const char* member) -> const char* {
    const char* const value = ParseKey(member, key);
    return value == nullptr ? nullptr : parse(value);
  });
}

const char* NodeParser::Parse(const char* p, const char* end, ParsedNode* node, json::Error* error) {
  end_ = end;
  error_ = error;
  literal_name_end_ = nullptr;
  needs_more_ = false;
  const char* const after = ParseObject(p, node);
  if (after != nullptr && !has_key_between_name_and_deps_) return after;
  // Perhaps the name is not escaped. Then a string may seem to go on to the end of the text, too.
  const char* const name_begin = FindNameBegin(p, end);
  if (name_begin == nullptr) return after;
  const char* const name_end = FindLiteralNameEnd(name_begin, end);
  if (name_end == nullptr) {
    // The name may be cut off with the text.
    needs_more_ = after == nullptr && end - name_begin < kMaxLiteralName;
    return after;
  }
  const json::Error first_error = *error;
  literal_name_end_ = name_end;
  const char* const mended = ParseObject(p, node);
  literal_name_end_ = nullptr;
  if (mended != nullptr) {
    node->literal_name = name_begin;
    return mended;
  }
  if (after == nullptr) {
    if (!error->is_truncation) *error = first_error;
    return nullptr;
  }
  return ParseObject(p, node);
}

const char* NodeParser::ParseObject(const char* p, ParsedNode* node) {
  node->Clear();
  damages_.clear();
  has_key_between_name_and_deps_ = false;
  bool has_name = false, has_deps = false;
  p = ParseMembers(p, &key_, [&](const char* value) -> const char* {
    const bool is_literal_name = key_ == "name" && literal_name_end_ != nullptr && !has_name;
    if (key_ == "name") {
      has_name = true;
    } else if (key_ == "ctrl_deps") {
      has_deps = true;
    } else if (has_name && !has_deps && key_ != "id" && key_ != "parent") {
      has_key_between_name_and_deps_ = true;
    }
    if (!is_literal_name) return ParseMember(value, key_, node);
    const char* const begin = Expect(value, '"');
    if (begin == nullptr) return nullptr;
    json::AppendAsUtf8(absl::string_view(begin, static_cast<size_t>(literal_name_end_ - begin)), &node->name);
    return literal_name_end_ + 1;
  });
  if (p == nullptr) return nullptr;
  // A flat node has no ctrl_deps at all.
  if (!has_deps) has_key_between_name_and_deps_ = false;
  if (!node->has_id) return Fail(p, "a node with an \"id\"");
  return p;
}

const char* NodeParser::ParseMember(const char* p, absl::string_view key, ParsedNode* node) {
  p = json::SkipBlanks(p, end_);
  if (p == end_) return Fail(p, "a value");
  if (key == "id") {
    node->has_id = true;
    return ParseId(p, &node->id);
  }
  if (key == "name") return ParseString(p, &node->name);
  if (key == "ctrl_deps" || key == "parent") return ParseIds(p, &node->control_deps);
  if (key == "attrs" && *p == '[') return ParseAttributes(p, node);
  if ((key == "inputs" || key == "outputs") && *p == '{') return ParseIo(p, &node->io[key == "outputs" ? 1 : 0]);
  if (*p == '[') {
    for (size_t i = 0; i < 4; ++i) {
      for (size_t is_output = 0; is_output < 2; ++is_output) {
        if (key == kIoKeys[i][1 + is_output]) return ParseJson(p, &node->io[is_output][i]);
      }
    }
  }
  ParsedAttribute* const attribute = node->AddAttribute();
  attribute->name.assign(key.data(), key.size());
  p = ParseAttributeValue(p, attribute);
  for (const FlatAttribute& flat : kFlatAttributes) {
    if (p != nullptr && key == flat.key && !Convert(flat.type, attribute)) ++node->type_mismatches;
  }
  return p;
}

const char* NodeParser::ParseIo(const char* p, std::array<std::string, 4>* io) {
  return ParseMembers(p, &inner_key_, [&](const char* value) {
    std::string* out = &raw_;  // unknown keys are read over
    for (size_t i = 0; i < 4; ++i) {
      if (inner_key_ == kIoKeys[i][0]) out = &(*io)[i];
    }
    return ParseJson(value, out);
  });
}

const char* NodeParser::ParseAttributes(const char* p, ParsedNode* node) {
  return ParseElements(p, '[', ']', [&](const char* element) { return ParseAttribute(element, node); });
}

// One element of "attrs".
const char* NodeParser::ParseAttribute(const char* p, ParsedNode* node) {
  ParsedAttribute* const attribute = node->AddAttribute();
  type_name_.clear();
  p = ParseMembers(p, &inner_key_, [&](const char* value) {
    if (inner_key_ == "name") return ParseString(value, &attribute->name);
    if (inner_key_ == "type") return ParseString(value, &type_name_);
    if (inner_key_ == "value") return ParseAttributeValue(value, attribute);
    return ParseJson(value, &raw_);
  });
  if (p == nullptr) return nullptr;
  const AttributeType type = AttributeTypeOf(type_name_);
  if (type == AttributeType::kNone || !Convert(type, attribute)) ++node->type_mismatches;
  return p;
}

const char* NodeParser::ParseValue(const char* p, const char* end, ParsedAttribute* attribute, json::Error* error) {
  end_ = end;
  error_ = error;
  damages_.clear();
  needs_more_ = false;
  return ParseAttributeValue(p, attribute);
}

const char* NodeParser::ParseAttributeValue(const char* p, ParsedAttribute* attribute) {
  p = json::SkipBlanks(p, end_);
  if (p == end_) return Fail(p, "a value");
  if (*p == '"') {
    attribute->type = AttributeType::kString;
    attribute->text.clear();
    return ParseString(p, &attribute->text);
  }
  const bool may_be_number = *p == '-' || absl::ascii_isdigit(static_cast<unsigned char>(*p));
  const char* const begin = p;
  p = ParseJson(p, &raw_);
  if (p == nullptr) return nullptr;
  if (raw_ == "true" || raw_ == "false") {
    attribute->type = AttributeType::kBool;
    attribute->value = raw_ == "true" ? 1 : 0;
    return p;
  }
  if (raw_ == "null") {
    attribute->type = AttributeType::kNone;
    return p;
  }
  if (may_be_number) {
    const json::Number number = json::ParseNumber(begin, end_);
    if (number.end == p && number.type == json::NumberType::kInt) {
      attribute->type = AttributeType::kInt64;
      attribute->value = static_cast<uint64_t>(number.i);
      return p;
    }
    if (absl::SimpleAtoi(raw_, &attribute->value)) {
      attribute->type = AttributeType::kUint64;
      return p;
    }
    double value;
    if (number.end == p && absl::SimpleAtod(raw_, &value)) {
      attribute->type = AttributeType::kDouble;
      std::memcpy(&attribute->value, &value, sizeof value);
      return p;
    }
  }
  attribute->type = AttributeType::kString;
  attribute->text = raw_;
  return p;
}

// An id, or an array of them. The linker's files have null for no dependency.
const char* NodeParser::ParseIds(const char* p, std::vector<uint64_t>* ids) {
  p = json::SkipBlanks(p, end_);
  if (p == end_) return Fail(p, "a value");
  if (*p == 'n') return ParseJson(p, &raw_);
  if (*p != '[') return ParseId(p, &ids->emplace_back());
  return ParseElements(p, '[', ']', [&](const char* element) { return ParseId(element, &ids->emplace_back()); });
}

const char* NodeParser::ParseId(const char* p, uint64_t* id) {
  p = json::SkipBlanks(p, end_);
  const char* const begin = p;
  while (p < end_ && absl::ascii_isdigit(static_cast<unsigned char>(*p))) ++p;
  if (p == end_) return Fail(p, "an id");
  if (!absl::SimpleAtoi(absl::string_view(begin, static_cast<size_t>(p - begin)), id)) {
    return Fail(begin, "an id from 0 to 2^64 - 1");
  }
  return p;
}

// Replaces *out by the text of a string.
const char* NodeParser::ParseString(const char* p, std::string* out) {
  p = Expect(p, '"');
  if (p == nullptr) return nullptr;
  bool is_escaped = false;
  const char* const close = json::FindStringEnd(p, end_, &is_escaped);
  if (close == end_) return Fail(end_, "the end of a string");
  const absl::string_view raw(p, static_cast<size_t>(close - p));
  out->clear();
  if (!is_escaped && json::IsCleanUtf8(raw)) {
    out->assign(raw.data(), raw.size());
  } else if (!json::DecodeString(raw, out, this, error_)) {
    error_->is_truncation = false;
    return nullptr;
  }
  return close + 1;
}

// Replaces *out by the canonical text of any value.
const char* NodeParser::ParseJson(const char* p, std::string* out) {
  out->clear();
  return json::AppendCanonical(p, end_, out, this, error_);
}

const char* NodeParser::ParseKey(const char* p, std::string* key) {
  p = json::SkipBlanks(p, end_);
  if (p == end_ || *p != '"') return Fail(p, "a key");
  p = ParseString(p, key);
  return p == nullptr ? nullptr : Expect(p, ':');
}

const char* NodeParser::Expect(const char* p, char c) {
  p = json::SkipBlanks(p, end_);
  if (p == end_ || *p != c) return Fail(p, absl::StrCat("`", std::string(1, c), "`"));
  return p + 1;
}

}  // namespace tracekiln::pytorch_et
