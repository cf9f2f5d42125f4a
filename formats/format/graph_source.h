// A trace that is a graph and nothing else, for the formats that hold only one.
#ifndef TRACEKILN_FORMATS_FORMAT_GRAPH_SOURCE_H_
#define TRACEKILN_FORMATS_FORMAT_GRAPH_SOURCE_H_

#include <memory>

#include "formats/intermediate/graph.h"
#include "formats/intermediate/trace_source.h"

namespace tracekiln {

// No rows; rewindable; the info is known from the start.
std::unique_ptr<TraceSource> MakeGraphSource(Graph graph, TraceInfo info);

}  // namespace tracekiln

#endif  // TRACEKILN_FORMATS_FORMAT_GRAPH_SOURCE_H_
