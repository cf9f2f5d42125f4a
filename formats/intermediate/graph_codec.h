// Graph <-> the chunks of the graph section of a .kiln file. FORMAT.md has the encoding with its reasons.
//
//   absl::Status status = kiln::EncodeGraph(graph, {.zstd_level = 1},
//                                           [&](const kiln::ChunkHeader& header, absl::string_view parts) { … });
//
//   kiln::GraphDecoder decoder;
//   for (…) status = decoder.Add(header, bytes, "x.kiln", offset);
//   absl::StatusOr<Graph> graph = std::move(decoder).Finish("x.kiln");
//
// What comes back has the same nodes, dependencies and attributes in the same order, with equal texts and numbers.
// String ids may differ: strings are numbered in the order in which chunks use them, and those that nothing uses are
// left out.
#ifndef TRACEKILN_FORMATS_INTERMEDIATE_GRAPH_CODEC_H_
#define TRACEKILN_FORMATS_INTERMEDIATE_GRAPH_CODEC_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/intermediate/chunk_codec.h"
#include "formats/intermediate/graph.h"
#include "formats/intermediate/kiln_records.h"

namespace tracekiln::kiln {

// A graph may have so many nodes, so many dependencies of either kind and so many attributes.
inline constexpr uint64_t kMaxGraphRows = uint64_t{1} << 26;

// Calls `emit` for each chunk, in order; at least once. `parts` are the bytes behind the chunk's record, valid during
// the call. Depends only on the graph and the options. ResourceExhausted: over kMaxGraphRows, Graph::kMaxAttributes or
// kMaxPartRawBytes.
absl::Status EncodeGraph(const Graph& graph, const EncodeOptions& options,
                         const std::function<void(const ChunkHeader& header, absl::string_view parts)>& emit);

// Puts a graph together again. Use it for one graph, on one thread.
class GraphDecoder {
 public:
  GraphDecoder();
  ~GraphDecoder();
  GraphDecoder(const GraphDecoder&) = delete;
  GraphDecoder& operator=(const GraphDecoder&) = delete;

  // Takes the next chunk of the section. `bytes` are the header.parts_bytes() bytes behind the chunk's record; `name`
  // and `offset` (of these bytes) are for messages. An error is final: the graph is lost.
  // DataLoss: a part fails its checksum. InvalidArgument: intact but no valid chunk, or not the next one.
  // Unimplemented: the chunk needs features that this code does not know.
  absl::Status Add(const ChunkHeader& header, absl::string_view bytes, absl::string_view name, uint64_t offset);

  // Whether all chunks of the graph were taken.
  bool is_complete() const;

  // The graph. DataLoss if it is not complete, InvalidArgument if a text stands twice. REQUIRES: no Add failed.
  absl::StatusOr<Graph> Finish(absl::string_view name) &&;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracekiln::kiln

#endif  // TRACEKILN_FORMATS_INTERMEDIATE_GRAPH_CODEC_H_
