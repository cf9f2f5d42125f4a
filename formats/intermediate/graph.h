// Graph: operators and what they depend on. What a PyTorch or Chakra execution trace holds, and the graph section of a
// .kiln file.
//
//   Graph graph;
//   graph.AddTextAttribute("schema", AttributeType::kString, "…");   // before the first node: of the graph
//   graph.AddNode(7, "aten::addmm");
//   graph.AddControlDep(3);                                        // of the node added last
//   graph.AddAttribute("rf_id", AttributeType::kUint64, 6);
//   graph.AddTextAttribute("op_schema", AttributeType::kString, "aten::addmm(…)");
//
// Nodes are numbered in the order in which they were added, that of the file. Their ids are those of the file: they may
// have gaps, stand twice, and dependencies may name ids that no node has. NodeIndex below finds nodes by id.
//
// The model is Chakra's (et_def.proto), since PyTorch's fits in it: ids, names, dependencies, inputs and outputs as
// texts, typed attributes. What each format leaves open:
//
//   |                | PyTorch execution trace                    | Chakra                                         |
//   |----------------|--------------------------------------------|------------------------------------------------|
//   | control deps   | one, the caller; the root names itself     | any number                                     |
//   | data deps      | none                                       | any number                                     |
//   | type           | 0                                          | NodeType, numbers unknown today included       |
//   | start, duration| 0                                          | microseconds, 0 where not known                |
//   | inputs, outputs| canonical JSON arrays; strides from 1.1.1  | any text (the reference converter: Python's    |
//   |                |                                            | repr); no strides                              |
//   | attributes     | "attrs", or the keys of a flat node        | AttributeProto                                 |
//   | of the graph   | schema, pid, time, start_ts, finish_ts     | attributes of GlobalMetadata                   |
//
// A node (and the graph) has at most kMaxAttributes. Memory: 80 bytes a node, 8 a dependency, 16 an attribute, and each
// distinct text once. Limits: 2^31 of each, and those of StringPool. Thread-safety: const access from several threads.
#ifndef TRACEKILN_FORMATS_INTERMEDIATE_GRAPH_H_
#define TRACEKILN_FORMATS_INTERMEDIATE_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "formats/intermediate/ids.h"
#include "formats/intermediate/string_pool.h"

namespace tracekiln {

// Chakra's NodeType. Other numbers occur.
enum class NodeType : int32_t {
  kInvalid = 0,  // also: not classified
  kMetadata = 1,
  kMemLoad = 2,
  kMemStore = 3,
  kComp = 4,
  kCommSend = 5,
  kCommRecv = 6,
  kCommColl = 7,
};

// "COMM_COLL" and so on; empty for numbers without a name.
absl::string_view NodeTypeName(NodeType type);

// The numbers are the field numbers of the value in Chakra's AttributeProto: a list's is its scalar's + 1.
enum class AttributeType : uint8_t {
  kNone = 0,  // no value
  kDouble = 3,
  kFloat = 5,
  kInt32 = 7,
  kInt64 = 9,
  kUint32 = 11,
  kUint64 = 13,
  kSint32 = 15,
  kSint64 = 17,
  kFixed32 = 19,
  kFixed64 = 21,
  kSfixed32 = 23,
  kSfixed64 = 25,
  kBool = 27,
  kString = 29,
  kBytes = 31,
  kBytesList = 32,  // the last
};

constexpr bool IsList(AttributeType type) {
  return type != AttributeType::kNone && (static_cast<uint8_t>(type) & 1) == 0;
}
// Whether the value is a text: a string, bytes or a list.
constexpr bool IsText(AttributeType type) {
  return IsList(type) || type == AttributeType::kString || type == AttributeType::kBytes;
}
constexpr bool IsSignedInteger(AttributeType type) {
  return type == AttributeType::kInt32 || type == AttributeType::kInt64 || type == AttributeType::kSint32 ||
         type == AttributeType::kSint64 || type == AttributeType::kSfixed32 || type == AttributeType::kSfixed64;
}
// Whether there is a type of this number.
constexpr bool IsAttributeType(uint64_t number) { return number == 0 || (number >= 3 && number <= 32); }
// "int64", "bool_list"; empty for kNone.
absl::string_view AttributeTypeName(AttributeType type);
// The type of that name, or kNone.
AttributeType AttributeTypeOf(absl::string_view name);

class Graph {
 public:
  struct Attribute {
    // Integers: the value in two's complement, sign-extended. bool: 0 or 1. double: its bits; float: its bits in the
    // lower half. Texts: Index(StringId); of lists, the message (Int64List and so on) as it stands in the file.
    uint64_t value = 0;
    StringId name = kNoString;
    AttributeType type = AttributeType::kNone;

    StringId text() const { return StringId{static_cast<uint32_t>(value)}; }  // REQUIRES: IsText(type)
  };

  // Inputs or outputs of a node. kNoString: the file has no such key.
  struct Io {
    StringId values = kNoString;
    StringId shapes = kNoString;
    StringId types = kNoString;
    StringId strides = kNoString;
  };

  struct Node {
    uint64_t id = 0;
    uint64_t start_us = 0;
    uint64_t duration_us = 0;
    StringId name = kNoString;
    NodeType type = NodeType::kInvalid;
    Io inputs;
    Io outputs;
    // Fields of the file's message that this code does not know, as they stand there.
    StringId unknown_fields = kNoString;

   private:
    friend class Graph;
    uint32_t control_begin = 0;
    uint32_t data_begin = 0;
    uint32_t attribute_begin = 0;
  };

  // What few attributes have. `attribute` is an index into attributes().
  struct AttributeExtra {
    uint32_t attribute = 0;
    StringId doc = kNoString;
    StringId unknown_fields = kNoString;
  };

  static constexpr size_t kMaxAttributes = 65536;

  // All texts. Intern what you pass as StringId.
  StringPool strings;

  // Chakra's schema version (GlobalMetadata.version). PyTorch's is the attribute "schema".
  StringId version = kNoString;
  StringId unknown_fields = kNoString;  // of GlobalMetadata

  // Adds a node; what is added next belongs to it (dependencies REQUIRE a node). Its index is nodes().size() - 1. The
  // reference is valid until the next.
  Node& AddNode(uint64_t id, StringId name);
  Node& AddNode(uint64_t id, absl::string_view name) { return AddNode(id, strings.Intern(name)); }
  void AddControlDep(uint64_t id) { control_deps_.push_back(id); }
  void AddDataDep(uint64_t id) { data_deps_.push_back(id); }
  void AddAttribute(const Attribute& attribute) { attributes_.push_back(attribute); }
  void AddAttribute(absl::string_view name, AttributeType type, uint64_t value) {
    attributes_.push_back({value, strings.Intern(name), type});
  }
  void AddTextAttribute(absl::string_view name, AttributeType type, absl::string_view text) {
    const StringId id = strings.Intern(text);
    AddAttribute(name, type, Index(id));
  }
  // Of the graph, whatever nodes there are already: O(attributes) then.
  void AddGraphAttribute(const Attribute& attribute);
  // REQUIRES: extra.attribute was added, behind that of the extra before.
  void AddExtra(const AttributeExtra& extra) { extras_.push_back(extra); }

  const std::vector<Node>& nodes() const { return nodes_; }
  bool empty() const { return nodes_.empty(); }
  absl::string_view name(size_t node) const { return Text(nodes_[node].name); }
  // The text of a string; empty for kNoString.
  absl::string_view Text(StringId id) const { return id == kNoString ? absl::string_view() : strings.Get(id); }

  // Of a node, in file order: ids of nodes.
  absl::Span<const uint64_t> control_deps(size_t node) const {
    return Range(control_deps_, nodes_[node].control_begin, node, &Node::control_begin);
  }
  absl::Span<const uint64_t> data_deps(size_t node) const {
    return Range(data_deps_, nodes_[node].data_begin, node, &Node::data_begin);
  }
  absl::Span<const Attribute> attributes(size_t node) const {
    return Range(attributes_, nodes_[node].attribute_begin, node, &Node::attribute_begin);
  }
  // Of the graph as a whole: those added before the first node.
  absl::Span<const Attribute> graph_attributes() const {
    return absl::MakeConstSpan(attributes_).subspan(0, nodes_.empty() ? attributes_.size() : nodes_[0].attribute_begin);
  }
  // The first attribute of that name, or null.
  const Attribute* FindAttribute(size_t node, absl::string_view name) const;
  // Its value as an integer; `otherwise` if there is none or it is a text or a floating-point number.
  int64_t IntAttribute(size_t node, absl::string_view name, int64_t otherwise) const;

  // All attributes, the graph's first, and what few of them have, ascending.
  const std::vector<Attribute>& attributes() const { return attributes_; }
  const std::vector<AttributeExtra>& extras() const { return extras_; }
  size_t control_dep_count() const { return control_deps_.size(); }
  size_t data_dep_count() const { return data_deps_.size(); }

  // Takes off all nodes but the first `node_count`, with what belongs to them. Texts stay.
  void Truncate(size_t node_count);

  size_t AllocatedBytes() const;

 private:
  template <typename T>
  absl::Span<const T> Range(const std::vector<T>& all, uint32_t begin, size_t node, uint32_t Node::*member) const {
    const size_t end = node + 1 < nodes_.size() ? nodes_[node + 1].*member : all.size();
    return absl::MakeConstSpan(all.data() + begin, end - begin);
  }

  std::vector<Node> nodes_;
  std::vector<uint64_t> control_deps_;
  std::vector<uint64_t> data_deps_;
  std::vector<Attribute> attributes_;
  std::vector<AttributeExtra> extras_;
};

// Finds the nodes of a graph by id. A snapshot: O(nodes log nodes) to make, 16 bytes a node.
class NodeIndex {
 public:
  static constexpr uint32_t kNotThere = 0xffffffffu;

  explicit NodeIndex(const Graph& graph);
  // The first node of that id, or kNotThere. O(log nodes), O(1) where ids have few gaps.
  uint32_t Find(uint64_t id) const;
  // How many nodes have that id.
  size_t Count(uint64_t id) const;
  // Ids that several nodes have, ascending.
  std::vector<uint64_t> DuplicateIds() const;

 private:
  struct Entry {
    uint64_t id;
    uint32_t node;
  };
  size_t LowerBound(uint64_t id) const;

  std::vector<Entry> entries_;  // by id, then node
};

}  // namespace tracekiln

#endif  // TRACEKILN_FORMATS_INTERMEDIATE_GRAPH_H_
