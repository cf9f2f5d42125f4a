// WriteChakra: a Graph as a Chakra execution trace (`.et`), see et_def.proto.
//
// Written are all nodes in the graph's order, with every dependency, text and attribute, and the unknown fields of
// newer schemas. Fields that are 0 or empty are left out, as proto3 does; dependencies are packed. Texts that are not
// UTF-8 are mended (U+FFFD), since protobuf's readers refuse the whole node. What the format has no place for: strides
// of inputs and outputs.
#ifndef TRACEKILN_FORMATS_CHAKRA_CHAKRA_WRITER_H_
#define TRACEKILN_FORMATS_CHAKRA_CHAKRA_WRITER_H_

#include "absl/status/status.h"
#include "formats/intermediate/graph.h"
#include "formats/io/byte_sink.h"

namespace tracekiln::chakra {

// Does not close the sink. ResourceExhausted: a node of more than kMaxRecordBytes (chakra_reader.h); errors of the
// sink.
[[nodiscard]] absl::Status WriteChakra(const Graph& graph, io::ByteSink& sink);

}  // namespace tracekiln::chakra

#endif  // TRACEKILN_FORMATS_CHAKRA_CHAKRA_WRITER_H_
