#include "tools/graph_summary.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "formats/intermediate/ids.h"
#include "formats/intermediate/wire.h"
#include "formats/json/canonical.h"
#include "tools/text_table.h"

namespace tracekiln::tools {
namespace {

constexpr uint32_t kUnknown = 0xffffffffu;

std::string TypeText(NodeType type) {
  const absl::string_view name = NodeTypeName(type);
  return name.empty() ? absl::StrCat("type ", static_cast<int32_t>(type)) : std::string(name);
}

// For every node its distance from a root along its first control dependency, 1 for roots; 0 if it leads nowhere.
std::vector<uint32_t> Depths(const Graph& graph) {
  const NodeIndex index(graph);
  std::vector<uint32_t> depths(graph.nodes().size(), kUnknown);
  std::vector<uint32_t> path;
  for (uint32_t start = 0; start < depths.size(); ++start) {
    path.clear();
    uint32_t node = start;
    uint32_t base = 0;
    for (;;) {
      if (depths[node] != kUnknown) {
        base = depths[node];
        break;
      }
      depths[node] = 0;  // on the path: meeting it again is a cycle
      path.push_back(node);
      const absl::Span<const uint64_t> deps = graph.control_deps(node);
      if (deps.empty() || (IsPytorchProcessNode(graph, node) && deps[0] == graph.nodes()[node].id)) {
        depths[node] = 1;
        base = 1;
        path.pop_back();
        break;
      }
      const uint32_t next = index.Find(deps[0]);
      if (next == NodeIndex::kNotThere) break;
      node = next;
    }
    for (size_t i = path.size(); i > 0; --i) depths[path[i - 1]] = base == 0 ? 0 : ++base;
  }
  return depths;
}

// A text that is JSON as JSON, else as a string.
void WriteText(absl::string_view text, json::Writer* w) {
  if (!text.empty() && (text[0] == '[' || text[0] == '{') && json::IsJson(text)) {
    w->Json(text);
  } else {
    w->String(text);
  }
}

void WriteNumber(AttributeType type, uint64_t value, json::Writer* w) {
  if (type == AttributeType::kDouble) {
    double d;
    std::memcpy(&d, &value, sizeof d);
    w->Double(d);
  } else if (type == AttributeType::kFloat) {
    float f;
    const uint32_t bits = static_cast<uint32_t>(value);
    std::memcpy(&f, &bits, sizeof f);
    w->Double(static_cast<double>(f));
  } else if (type == AttributeType::kBool) {
    w->Bool(value != 0);
  } else if (IsSignedInteger(type)) {
    w->Int(static_cast<int64_t>(value));
  } else {
    w->Uint(value);
  }
}

// The elements of a list, packed or not.
void WriteList(AttributeType list_type, absl::string_view message, json::Writer* w) {
  const AttributeType type = static_cast<AttributeType>(static_cast<uint8_t>(list_type) - 1);
  const auto number = [&](kiln::WireReader* r, bool is_packed) {
    uint64_t value = 0;
    switch (type) {
      case AttributeType::kDouble:
      case AttributeType::kFixed64:
      case AttributeType::kSfixed64: value = is_packed ? r->RawFixed64() : r->Fixed64(); break;
      case AttributeType::kFloat:
      case AttributeType::kFixed32:
      case AttributeType::kSfixed32:
        value = is_packed ? r->RawFixed32() : r->Fixed32();
        if (type == AttributeType::kSfixed32) value = static_cast<uint64_t>(int64_t{static_cast<int32_t>(value)});
        break;
      default:
        value = is_packed ? r->RawVarint() : r->Varint();
        if (type == AttributeType::kSint32 || type == AttributeType::kSint64) {
          value = static_cast<uint64_t>(kiln::UnZigZag(value));
        } else if (type == AttributeType::kInt32) {
          value = static_cast<uint64_t>(int64_t{static_cast<int32_t>(value)});
        }
    }
    if (r->ok()) WriteNumber(type, value, w);
  };
  w->BeginArray();
  kiln::WireReader r(message);
  while (r.NextField()) {
    if (r.field() != 1) {
      r.Skip();
    } else if (IsText(type)) {
      const absl::string_view text = r.Bytes();
      if (!r.ok()) break;
      w->String(type == AttributeType::kBytes ? absl::BytesToHexString(text) : std::string(text));
    } else if (r.type() == kiln::WireType::kBytes) {
      kiln::WireReader packed(r.Bytes());
      while (packed.ok() && !packed.at_end()) number(&packed, true);
    } else {
      number(&r, false);
    }
  }
  w->EndArray();
}

void WriteValue(const Graph& graph, const Graph::Attribute& attribute, json::Writer* w) {
  if (attribute.type == AttributeType::kNone) {
    w->Null();
  } else if (IsList(attribute.type)) {
    WriteList(attribute.type, graph.Text(attribute.text()), w);
  } else if (attribute.type == AttributeType::kBytes) {
    w->String(absl::BytesToHexString(graph.Text(attribute.text())));
  } else if (attribute.type == AttributeType::kString) {
    w->String(graph.Text(attribute.text()));
  } else {
    WriteNumber(attribute.type, attribute.value, w);
  }
}

void WriteAttributes(const Graph& graph, absl::Span<const Graph::Attribute> attributes, json::Writer* w) {
  w->BeginArray();
  for (const Graph::Attribute& attribute : attributes) {
    w->BeginObject();
    w->Key("name"), w->String(graph.Text(attribute.name));
    w->Key("type"), w->String(AttributeTypeName(attribute.type));
    w->Key("value");
    WriteValue(graph, attribute, w);
    w->EndObject();
  }
  w->EndArray();
}

void WriteIo(const Graph& graph, absl::string_view key, const Graph::Io& io, json::Writer* w) {
  w->Key(key);
  w->BeginObject();
  const auto text = [&](absl::string_view name, StringId id) {
    if (id == kNoString) return;
    w->Key(name);
    WriteText(graph.Text(id), w);
  };
  text("values", io.values);
  text("shapes", io.shapes);
  text("types", io.types);
  text("strides", io.strides);
  w->EndObject();
}

void WriteIds(const Graph& graph, const std::vector<uint32_t>& nodes, json::Writer* w) {
  w->BeginArray();
  for (const uint32_t node : nodes) w->Uint(graph.nodes()[node].id);
  w->EndArray();
}

}  // namespace

GraphSummary SummarizeGraph(const Graph& graph, const GraphFaults& faults) {
  GraphSummary summary;
  summary.node_count = graph.nodes().size();
  summary.root_count = faults.roots.size();
  const std::vector<uint32_t> depths = Depths(graph);
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Graph::Node& node = graph.nodes()[i];
    if (!absl::StartsWith(graph.name(i), "[pytorch|profiler|")) ++summary.operator_count;
    summary.depth = std::max<size_t>(summary.depth, depths[i]);
    if (depths[i] == 0) ++summary.detached_count;
    ++summary.by_type[static_cast<int32_t>(node.type)];
    const uint64_t sum = summary.sum_duration_us + node.duration_us;
    summary.sum_duration_us = sum < node.duration_us ? UINT64_MAX : sum;
  }
  return summary;
}

void AppendGraphText(const Graph& graph, const GraphFaults& faults, std::string* out) {
  const GraphSummary summary = SummarizeGraph(graph, faults);
  absl::StrAppend(out, "  graph       ", summary.node_count, " nodes");
  if (summary.operator_count != summary.node_count) {
    absl::StrAppend(out, ", ", summary.operator_count, " of them operators");
  }
  absl::StrAppend(out, "; ", summary.root_count, summary.root_count == 1 ? " root" : " roots", ", depth ",
                  summary.depth);
  if (summary.detached_count > 0) absl::StrAppend(out, ", ", summary.detached_count, " that no root leads to");
  absl::StrAppend(out, "\n  depends     ", graph.control_dep_count(), " control, ", graph.data_dep_count(),
                  " data dependencies\n");
  std::string types;
  for (const auto& [type, count] : summary.by_type) {
    // PyTorch's nodes have no types.
    if (type == 0 && summary.by_type.size() == 1) break;
    absl::StrAppend(&types, types.empty() ? "" : ", ", count, " ", TypeText(static_cast<NodeType>(type)));
  }
  if (!types.empty()) absl::StrAppend(out, "  types       ", types, "\n");
  if (summary.sum_duration_us > 0) {
    absl::StrAppend(out, "  duration    ", summary.sum_duration_us, " us in all nodes\n");
  }
  if (graph.version != kNoString) absl::StrAppend(out, "  version     ", Printable(graph.Text(graph.version)), "\n");
  for (const Graph::Attribute& attribute : graph.graph_attributes()) {
    std::string value;
    {
      json::Writer w(&value);
      WriteValue(graph, attribute, &w);
    }
    std::string name = Printable(graph.Text(attribute.name), 60);
    if (name.size() < 11) name.resize(11, ' ');
    absl::StrAppend(out, "  ", name, " ", Printable(value, 80), "\n");
  }
}

void WriteGraph(const Graph& graph, const GraphFaults& faults, json::Writer* w) {
  const GraphSummary summary = SummarizeGraph(graph, faults);
  w->BeginObject();
  w->Key("version");
  if (graph.version != kNoString) {
    w->String(graph.Text(graph.version));
  } else {
    w->Null();
  }
  w->Key("attributes");
  WriteAttributes(graph, graph.graph_attributes(), w);
  w->Key("nodes"), w->Uint(summary.node_count);
  w->Key("operators"), w->Uint(summary.operator_count);
  w->Key("roots"), w->Uint(summary.root_count);
  w->Key("depth"), w->Uint(summary.depth);
  w->Key("detached"), w->Uint(summary.detached_count);
  w->Key("control_deps"), w->Uint(graph.control_dep_count());
  w->Key("data_deps"), w->Uint(graph.data_dep_count());
  w->Key("types");
  w->BeginObject();
  for (const auto& [type, count] : summary.by_type) {
    w->Key(TypeText(static_cast<NodeType>(type)));
    w->Uint(count);
  }
  w->EndObject();
  w->Key("duration_us"), w->Uint(summary.sum_duration_us);
  w->EndObject();
}

void WriteGraphFaults(const Graph& graph, const GraphFaults& faults, json::Writer* w) {
  w->BeginObject();
  w->Key("duplicates");
  w->BeginArray();
  for (const GraphFaults::Duplicate& duplicate : faults.duplicates) {
    w->BeginObject();
    w->Key("id"), w->Uint(duplicate.id);
    w->Key("names");
    w->BeginArray();
    for (const uint32_t node : duplicate.nodes) w->String(graph.name(node));
    w->EndArray();
    w->EndObject();
  }
  w->EndArray();
  w->Key("ambiguous");
  WriteIds(graph, faults.ambiguous, w);
  w->Key("missing");
  w->BeginArray();
  for (const GraphFaults::Missing& missing : faults.missing) {
    w->BeginObject();
    w->Key("id"), w->Uint(missing.id);
    w->Key("needed_by");
    WriteIds(graph, missing.needed_by, w);
    w->EndObject();
  }
  w->EndArray();
  w->Key("cycles");
  w->BeginArray();
  for (const std::vector<uint32_t>& cycle : faults.cycles) WriteIds(graph, cycle, w);
  w->EndArray();
  w->EndObject();
}

void WriteGraphNode(const Graph& graph, size_t i, absl::string_view input, json::Writer* w) {
  const Graph::Node& node = graph.nodes()[i];
  w->BeginObject();
  if (!input.empty()) w->Key("input"), w->String(input);
  w->Key("id"), w->Uint(node.id);
  w->Key("name"), w->String(graph.name(i));
  const absl::string_view type = NodeTypeName(node.type);
  w->Key("type");
  if (type.empty()) {
    w->Int(static_cast<int32_t>(node.type));
  } else {
    w->String(type);
  }
  w->Key("start_us"), w->Uint(node.start_us);
  w->Key("duration_us"), w->Uint(node.duration_us);
  for (const bool is_data : {false, true}) {
    w->Key(is_data ? "data_deps" : "control_deps");
    w->BeginArray();
    for (const uint64_t id : is_data ? graph.data_deps(i) : graph.control_deps(i)) w->Uint(id);
    w->EndArray();
  }
  WriteIo(graph, "inputs", node.inputs, w);
  WriteIo(graph, "outputs", node.outputs, w);
  w->Key("attributes");
  WriteAttributes(graph, graph.attributes(i), w);
  w->EndObject();
}

}  // namespace tracekiln::tools
