#include "formats/intermediate/testing/graph_generator.h"

#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "formats/intermediate/ids.h"

namespace tracekiln {
namespace {

constexpr AttributeType kUint64 = AttributeType::kUint64, kInt64 = AttributeType::kInt64;

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  uint64_t Below(uint64_t n) { return engine_() % n; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  uint64_t Number() {
    switch (Below(5)) {
      case 0: return engine_();
      case 1: return ~uint64_t{0} - Below(3);
      case 2: return 0;
      default: return Below(1000);
    }
  }

 private:
  std::mt19937_64 engine_;
};

std::string OddText(Random* random) {
  switch (random->Below(6)) {
    case 0: return "";
    case 1: return std::string("nul\0 and \xff", 10);
    case 2: return "[[7,8,0,64,4,\"cuda:0\"]]";
    case 3: return absl::StrCat("text ", random->Number());
    case 4: return std::string(random->Below(300), 'x');
    default: return "\xe6\xbc\xa2\xe5\xad\x97";
  }
}

StringId MaybeText(Random* random, Graph* graph) {
  return random->OneIn(2) ? kNoString : graph->strings.Intern(OddText(random));
}

void AddOddAttribute(Random* random, Graph* graph) {
  uint64_t number = random->Below(33);
  if (!IsAttributeType(number)) number = 0;
  const AttributeType type = static_cast<AttributeType>(number);
  const std::string name = random->OneIn(3) ? OddText(random) : absl::StrCat("a", random->Below(4));
  if (IsText(type)) {
    graph->AddTextAttribute(name, type, OddText(random));
  } else {
    graph->AddAttribute(name, type, type == AttributeType::kNone ? 0 : random->Number());
  }
  if (random->OneIn(8)) {
    graph->AddExtra(
        {static_cast<uint32_t>(graph->attributes().size() - 1), MaybeText(random, graph), MaybeText(random, graph)});
  }
}

}  // namespace

Graph GenerateGraph(uint64_t seed, size_t nodes) {
  Random random(seed);
  Graph graph;
  graph.strings.Intern("nothing uses this");
  graph.version = MaybeText(&random, &graph);
  graph.unknown_fields = MaybeText(&random, &graph);
  for (uint64_t n = random.Below(4); n > 0; --n) AddOddAttribute(&random, &graph);
  uint64_t id = random.Number();
  for (size_t i = 0; i < nodes; ++i) {
    id = random.OneIn(5) ? random.Number() : id + random.Below(3);
    Graph::Node& node = graph.AddNode(id, kNoString);
    node.name = MaybeText(&random, &graph);
    node.type = random.OneIn(10) ? static_cast<NodeType>(static_cast<int32_t>(random.Number()))
                                 : static_cast<NodeType>(random.Below(8));
    node.start_us = random.Number();
    node.duration_us = random.Number();
    node.inputs = {MaybeText(&random, &graph), MaybeText(&random, &graph), MaybeText(&random, &graph),
                   MaybeText(&random, &graph)};
    node.outputs.shapes = MaybeText(&random, &graph);
    if (random.OneIn(6)) node.unknown_fields = MaybeText(&random, &graph);
    for (uint64_t n = random.Below(3); n > 0; --n) graph.AddControlDep(random.OneIn(4) ? random.Number() : id - n);
    for (uint64_t n = random.Below(3); n > 0; --n) graph.AddDataDep(random.OneIn(4) ? random.Number() : id - n);
    for (uint64_t n = random.Below(5); n > 0; --n) AddOddAttribute(&random, &graph);
  }
  return graph;
}

Graph GenerateOperatorGraph(uint64_t seed, size_t nodes) {
  Random random(seed);
  Graph graph;
  graph.AddTextAttribute("schema", AttributeType::kString, "1.1.1-chakra.0.0.4");
  graph.AddAttribute("pid", kUint64, 10);
  struct Open {
    uint64_t id;
    std::string name;
  };
  static constexpr absl::string_view kNames[] = {"aten::addmm", "aten::linear", "aten::relu", "aten::view",
                                                 "aten::empty_strided"};
  const StringId empty = graph.strings.Intern("[]");
  uint64_t next_id = 2;
  const auto add = [&](uint64_t id, absl::string_view name, uint64_t parent, uint64_t scope, uint64_t tid,
                       bool has_io) {
    Graph::Node& node = graph.AddNode(id, name);
    node.inputs = node.outputs = {empty, empty, empty, empty};
    if (has_io) {
      const uint64_t tensor = next_id += 2;
      node.inputs.values =
          graph.strings.Intern(absl::StrCat("[[", tensor, ",", tensor + 1, ",0,4096,4,\"cuda:0\"],1]"));
      node.inputs.shapes = graph.strings.Intern("[[64,64],[]]");
      node.inputs.types = graph.strings.Intern("[\"Tensor(float)\",\"Int\"]");
      node.inputs.strides = graph.strings.Intern("[[64,1],[]]");
    }
    graph.AddControlDep(parent);
    graph.AddAttribute("rf_id", kUint64, scope == 7 ? 0 : id);
    graph.AddAttribute("fw_parent", kUint64, 0);
    graph.AddAttribute("seq_id", kInt64, random.OneIn(3) ? id : ~uint64_t{0});
    graph.AddAttribute("scope", kUint64, scope);
    graph.AddAttribute("tid", kUint64, tid);
    graph.AddAttribute("fw_tid", kUint64, 0);
    graph.AddTextAttribute("op_schema", AttributeType::kString,
                           scope == 7 ? "" : absl::StrCat(name, "(Tensor a) -> b"));
  };
  add(2, "[pytorch|profiler|execution_trace|thread]", 1, 7, 1, false);
  add(3, "[pytorch|profiler|execution_trace|thread]", 1, 7, 2, false);
  next_id = 4;
  std::vector<Open> open;
  while (graph.nodes().size() + open.size() + 1 < nodes || !open.empty()) {
    const bool may_open = graph.nodes().size() + open.size() + 1 < nodes;
    if (may_open && open.size() < 6 && (open.empty() || random.OneIn(2))) {
      open.push_back({next_id++, std::string(kNames[random.Below(std::size(kNames))])});
      continue;
    }
    const Open closed = open.back();
    open.pop_back();
    add(closed.id, closed.name, open.empty() ? 2 + random.Below(2) : open.back().id, 0, 1, true);
  }
  add(1, "[pytorch|profiler|execution_trace|process]", 1, 7, 0, false);
  return graph;
}

}  // namespace tracekiln
