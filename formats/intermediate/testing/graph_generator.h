// Seeded graphs for tests and benchmarks. The same seed gives the same graph everywhere.
#ifndef TRACEKILN_FORMATS_INTERMEDIATE_TESTING_GRAPH_GENERATOR_H_
#define TRACEKILN_FORMATS_INTERMEDIATE_TESTING_GRAPH_GENERATOR_H_

#include <cstddef>
#include <cstdint>

#include "formats/intermediate/graph.h"

namespace tracekiln {

// Any graph that graph.h allows: ids that repeat or are missing, dependencies on nothing, odd texts, attributes of all
// types with extreme values, doc strings, unknown types and fields, unused strings.
Graph GenerateGraph(uint64_t seed, size_t nodes);

// A graph as PyTorch's execution trace observer makes of a program: nested operators with tensors, shapes and types,
// children before their parents, two threads, the process node last. `nodes` of them, four at least.
Graph GenerateOperatorGraph(uint64_t seed, size_t nodes);

}  // namespace tracekiln

#endif  // TRACEKILN_FORMATS_INTERMEDIATE_TESTING_GRAPH_GENERATOR_H_
