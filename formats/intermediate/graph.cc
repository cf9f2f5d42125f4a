#include "formats/intermediate/graph.h"

#include <algorithm>

namespace tracekiln {
namespace {

constexpr absl::string_view kTypeNames[] = {"",
                                            "",
                                            "",
                                            "double",
                                            "double_list",
                                            "float",
                                            "float_list",
                                            "int32",
                                            "int32_list",
                                            "int64",
                                            "int64_list",
                                            "uint32",
                                            "uint32_list",
                                            "uint64",
                                            "uint64_list",
                                            "sint32",
                                            "sint32_list",
                                            "sint64",
                                            "sint64_list",
                                            "fixed32",
                                            "fixed32_list",
                                            "fixed64",
                                            "fixed64_list",
                                            "sfixed32",
                                            "sfixed32_list",
                                            "sfixed64",
                                            "sfixed64_list",
                                            "bool",
                                            "bool_list",
                                            "string",
                                            "string_list",
                                            "bytes",
                                            "bytes_list"};
static_assert(sizeof(kTypeNames) / sizeof(kTypeNames[0]) == static_cast<size_t>(AttributeType::kBytesList) + 1);

}  // namespace

absl::string_view NodeTypeName(NodeType type) {
  switch (type) {
    case NodeType::kInvalid: return "INVALID";
    case NodeType::kMetadata: return "METADATA";
    case NodeType::kMemLoad: return "MEM_LOAD";
    case NodeType::kMemStore: return "MEM_STORE";
    case NodeType::kComp: return "COMP";
    case NodeType::kCommSend: return "COMM_SEND";
    case NodeType::kCommRecv: return "COMM_RECV";
    case NodeType::kCommColl: return "COMM_COLL";
  }
  return "";
}

absl::string_view AttributeTypeName(AttributeType type) { return kTypeNames[static_cast<uint8_t>(type)]; }

AttributeType AttributeTypeOf(absl::string_view name) {
  for (size_t i = 3; i <= static_cast<size_t>(AttributeType::kBytesList); ++i) {
    if (kTypeNames[i] == name) return static_cast<AttributeType>(i);
  }
  return AttributeType::kNone;
}

Graph::Node& Graph::AddNode(uint64_t id, StringId name) {
  Node& node = nodes_.emplace_back();
  node.id = id;
  node.name = name;
  node.control_begin = static_cast<uint32_t>(control_deps_.size());
  node.data_begin = static_cast<uint32_t>(data_deps_.size());
  node.attribute_begin = static_cast<uint32_t>(attributes_.size());
  return node;
}

const Graph::Attribute* Graph::FindAttribute(size_t node, absl::string_view name) const {
  for (const Attribute& attribute : attributes(node)) {
    if (strings.Get(attribute.name) == name) return &attribute;
  }
  return nullptr;
}

int64_t Graph::IntAttribute(size_t node, absl::string_view name, int64_t otherwise) const {
  const Attribute* const attribute = FindAttribute(node, name);
  if (attribute == nullptr || IsText(attribute->type) || attribute->type == AttributeType::kNone ||
      attribute->type == AttributeType::kDouble || attribute->type == AttributeType::kFloat) {
    return otherwise;
  }
  return static_cast<int64_t>(attribute->value);
}

void Graph::AddGraphAttribute(const Attribute& attribute) {
  const size_t at = graph_attributes().size();
  attributes_.insert(attributes_.begin() + static_cast<ptrdiff_t>(at), attribute);
  for (Node& node : nodes_) ++node.attribute_begin;
  for (AttributeExtra& extra : extras_) extra.attribute += extra.attribute >= at ? 1 : 0;
}

void Graph::Truncate(size_t node_count) {
  if (node_count >= nodes_.size()) return;
  const Node& first = nodes_[node_count];
  control_deps_.resize(first.control_begin);
  data_deps_.resize(first.data_begin);
  attributes_.resize(first.attribute_begin);
  while (!extras_.empty() && extras_.back().attribute >= attributes_.size()) extras_.pop_back();
  nodes_.resize(node_count);
}

size_t Graph::AllocatedBytes() const {
  return strings.AllocatedBytes() + nodes_.capacity() * sizeof(Node) +
         (control_deps_.capacity() + data_deps_.capacity()) * sizeof(uint64_t) +
         attributes_.capacity() * sizeof(Attribute) + extras_.capacity() * sizeof(AttributeExtra);
}

NodeIndex::NodeIndex(const Graph& graph) {
  entries_.reserve(graph.nodes().size());
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) entries_.push_back({graph.nodes()[i].id, i});
  const auto before = [](const Entry& a, const Entry& b) { return a.id != b.id ? a.id < b.id : a.node < b.node; };
  if (!std::is_sorted(entries_.begin(), entries_.end(), before)) std::sort(entries_.begin(), entries_.end(), before);
}

size_t NodeIndex::LowerBound(uint64_t id) const {
  return static_cast<size_t>(std::lower_bound(entries_.begin(), entries_.end(), id,
                                              [](const Entry& entry, uint64_t value) { return entry.id < value; }) -
                             entries_.begin());
}

uint32_t NodeIndex::Find(uint64_t id) const {
  // Ids without gaps, 0 or 1 first: no search.
  if (!entries_.empty() && id >= entries_[0].id && id - entries_[0].id < entries_.size()) {
    const size_t guess = id - entries_[0].id;
    if (entries_[guess].id == id && (guess == 0 || entries_[guess - 1].id != id)) return entries_[guess].node;
  }
  const size_t at = LowerBound(id);
  return at < entries_.size() && entries_[at].id == id ? entries_[at].node : kNotThere;
}

size_t NodeIndex::Count(uint64_t id) const {
  size_t at = LowerBound(id), count = 0;
  for (; at < entries_.size() && entries_[at].id == id; ++at) ++count;
  return count;
}

std::vector<uint64_t> NodeIndex::DuplicateIds() const {
  std::vector<uint64_t> ids;
  for (size_t i = 1; i < entries_.size(); ++i) {
    if (entries_[i].id == entries_[i - 1].id && (ids.empty() || ids.back() != entries_[i].id)) {
      ids.push_back(entries_[i].id);
    }
  }
  return ids;
}

}  // namespace tracekiln
