// Compares graphs by what they say, not by their string ids.
#ifndef TRACEKILN_FORMATS_INTERMEDIATE_TESTING_GRAPH_EQUALITY_H_
#define TRACEKILN_FORMATS_INTERMEDIATE_TESTING_GRAPH_EQUALITY_H_

#include <string>
#include <vector>

#include "formats/intermediate/graph.h"

namespace tracekiln {

// A line for the graph and a line for each node, with all that they have, in the graph's order.
std::vector<std::string> GraphTexts(const Graph& graph);

// Empty if the graphs are equal, else the first difference.
std::string FirstDifference(const Graph& a, const Graph& b);

}  // namespace tracekiln

#endif  // TRACEKILN_FORMATS_INTERMEDIATE_TESTING_GRAPH_EQUALITY_H_
