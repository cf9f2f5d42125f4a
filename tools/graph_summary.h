// Graphs for people and programs: what `info`, `check` and `cat` print of the graph section of a trace.
#ifndef TRACEKILN_TOOLS_GRAPH_SUMMARY_H_
#define TRACEKILN_TOOLS_GRAPH_SUMMARY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "formats/intermediate/graph.h"
#include "formats/intermediate/graph_faults.h"
#include "formats/json/writer.h"

namespace tracekiln::tools {

struct GraphSummary {
  size_t node_count = 0;
  size_t operator_count = 0;  // nodes but PyTorch's markers of processes and threads
  size_t root_count = 0;      // nodes that depend on no other
  // Nodes on the longest way from a root along control dependencies; of a node's, the first one counts.
  size_t depth = 0;
  // Nodes from which that way leads to no root: into a cycle, or to a node that is not there.
  size_t detached_count = 0;
  std::map<int32_t, size_t> by_type;
  uint64_t sum_duration_us = 0;  // saturating
};

GraphSummary SummarizeGraph(const Graph& graph, const GraphFaults& faults);

// Lines of "  key   value", as `info` prints them.
void AppendGraphText(const Graph& graph, const GraphFaults& faults, std::string* out);
// {"version", "attributes", "nodes", "operators", "roots", "depth", "detached", "control_deps", "data_deps", "types",
//  "duration_us"}
void WriteGraph(const Graph& graph, const GraphFaults& faults, json::Writer* w);

// What is wrong with its links (as text it is in the import report, see NoteGraphFaults):
// {"duplicates": [{"id", "names"}], "ambiguous": [id], "missing": [{"id", "needed_by": [id]}], "cycles": [[id]]}
void WriteGraphFaults(const Graph& graph, const GraphFaults& faults, json::Writer* w);

// One node as an object: id, name, type, start_us, duration_us, control_deps, data_deps, inputs and outputs (those of
// values, shapes, types, strides that it has: JSON as such, other text as a string), attributes [{"name", "type",
// "value"}]. `input` is the file's name, or empty to leave it out.
void WriteGraphNode(const Graph& graph, size_t node, absl::string_view input, json::Writer* w);

}  // namespace tracekiln::tools

#endif  // TRACEKILN_TOOLS_GRAPH_SUMMARY_H_
