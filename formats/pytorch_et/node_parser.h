// NodeParser: the JSON of one node of an execution trace -> a node of a Graph. Private to this package.
#ifndef TRACEKILN_FORMATS_PYTORCH_ET_NODE_PARSER_H_
#define TRACEKILN_FORMATS_PYTORCH_ET_NODE_PARSER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "formats/intermediate/graph.h"
#include "formats/json/damage.h"

namespace tracekiln::pytorch_et {

// An attribute before its texts are in a graph's pool.
struct ParsedAttribute {
  std::string name;
  AttributeType type = AttributeType::kNone;
  uint64_t value = 0;  // of numbers and truths
  std::string text;    // of strings
};

// What one node says. Parsed as a whole before it is added to a graph, so that half a node leaves nothing.
struct ParsedNode {
  enum Io : size_t { kValues, kShapes, kTypes, kStrides };

  bool has_id = false;
  uint64_t id = 0;
  std::string name;
  // Where the name begins, if it was not escaped and taken as it stands; else null.
  const char* literal_name = nullptr;
  std::vector<uint64_t> control_deps;
  // Canonical JSON; empty: the key is not there. Inputs, outputs.
  std::array<std::array<std::string, 4>, 2> io;
  size_t attribute_count = 0;
  std::vector<ParsedAttribute> attributes;  // the first attribute_count; the others keep their memory
  uint64_t type_mismatches = 0;

  void Clear();
  ParsedAttribute* AddAttribute();
};

class NodeParser : private json::DamageSink {
 public:
  // Parses the object at `p`. Returns the byte behind it, or nullptr with *error set. Reads up to json::kPadding bytes
  // behind `end`.
  const char* Parse(const char* p, const char* end, ParsedNode* node, json::Error* error);

  // The same for any value, with the type that fits it.
  const char* ParseValue(const char* p, const char* end, ParsedAttribute* attribute, json::Error* error);

  // After a failed call: more text might show that a name is one that was not escaped.
  bool needs_more() const { return needs_more_; }

  // Damage that the last call mended, and where.
  const std::vector<std::pair<json::Damage, const char*>>& damages() const { return damages_; }

 private:
  void OnDamage(json::Damage damage, const char* at) override { damages_.emplace_back(damage, at); }
  const char* ParseObject(const char* p, ParsedNode* node);
  const char* ParseMember(const char* p, absl::string_view key, ParsedNode* node);
  const char* ParseIo(const char* p, std::array<std::string, 4>* io);
  const char* ParseAttributes(const char* p, ParsedNode* node);
  const char* ParseAttribute(const char* p, ParsedNode* node);
  const char* ParseAttributeValue(const char* p, ParsedAttribute* attribute);
  const char* ParseIds(const char* p, std::vector<uint64_t>* ids);
  const char* ParseId(const char* p, uint64_t* id);
  const char* ParseString(const char* p, std::string* out);
  const char* ParseJson(const char* p, std::string* out);
  const char* ParseKey(const char* p, std::string* key);
  const char* Expect(const char* p, char c);
  const char* Fail(const char* p, absl::string_view expected);
  template <typename ParseOne>
  const char* ParseElements(const char* p, char open, char close, ParseOne parse);
  template <typename ParseOne>
  const char* ParseMembers(const char* p, std::string* key, ParseOne parse);

  std::vector<std::pair<json::Damage, const char*>> damages_;
  const char* end_ = nullptr;
  json::Error* error_ = nullptr;
  std::string key_, inner_key_, type_name_, raw_;
  // Set where a node's name is to be taken as it stands, up to here.
  const char* literal_name_end_ = nullptr;
  bool has_key_between_name_and_deps_ = false;
  bool needs_more_ = false;
};

}  // namespace tracekiln::pytorch_et

#endif  // TRACEKILN_FORMATS_PYTORCH_ET_NODE_PARSER_H_
