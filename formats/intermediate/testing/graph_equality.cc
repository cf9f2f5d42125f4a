#include "formats/intermediate/testing/graph_equality.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "formats/intermediate/ids.h"

namespace tracekiln {
namespace {

std::string Quoted(const Graph& graph, StringId id) {
  return id == kNoString ? "-" : absl::StrCat("\"", absl::CHexEscape(graph.strings.Get(id)), "\"");
}

// `attributes` are some of graph.attributes().
std::string AttributesText(const Graph& graph, absl::Span<const Graph::Attribute> attributes) {
  std::string text;
  for (const Graph::Attribute& attribute : attributes) {
    absl::StrAppend(&text, " ", Quoted(graph, attribute.name), ":", static_cast<int>(attribute.type), "=",
                    IsText(attribute.type) ? Quoted(graph, attribute.text()) : absl::StrCat(attribute.value));
    const auto index = static_cast<uint32_t>(&attribute - graph.attributes().data());
    for (const Graph::AttributeExtra& extra : graph.extras()) {
      if (extra.attribute != index) continue;
      absl::StrAppend(&text, "(doc ", Quoted(graph, extra.doc), ", ", Quoted(graph, extra.unknown_fields), ")");
    }
  }
  return text;
}

std::string IoText(const Graph& graph, const Graph::Io& io) {
  return absl::StrCat(Quoted(graph, io.values), Quoted(graph, io.shapes), Quoted(graph, io.types),
                      Quoted(graph, io.strides));
}

}  // namespace

std::vector<std::string> GraphTexts(const Graph& graph) {
  std::vector<std::string> texts;
  texts.push_back(absl::StrCat("graph ", Quoted(graph, graph.version), Quoted(graph, graph.unknown_fields),
                               AttributesText(graph, graph.graph_attributes())));
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Graph::Node& node = graph.nodes()[i];
    texts.push_back(absl::StrCat("node ", node.id, " ", Quoted(graph, node.name), " type ",
                                 static_cast<int32_t>(node.type), " start ", node.start_us, " duration ",
                                 node.duration_us, " control ", absl::StrJoin(graph.control_deps(i), ","), " data ",
                                 absl::StrJoin(graph.data_deps(i), ",")));
    absl::StrAppend(&texts.back(), " in ", IoText(graph, node.inputs), " out ", IoText(graph, node.outputs),
                    " unknown ", Quoted(graph, node.unknown_fields), AttributesText(graph, graph.attributes(i)));
  }
  return texts;
}

std::string FirstDifference(const Graph& a, const Graph& b) {
  const std::vector<std::string> texts_a = GraphTexts(a), texts_b = GraphTexts(b);
  for (size_t i = 0; i < std::max(texts_a.size(), texts_b.size()); ++i) {
    const std::string text_a = i < texts_a.size() ? texts_a[i] : "nothing";
    const std::string text_b = i < texts_b.size() ? texts_b[i] : "nothing";
    if (text_a != text_b) return absl::StrCat(text_a, "\nagainst\n", text_b);
  }
  return "";
}

}  // namespace tracekiln
