// What the formats that hold a graph and nothing else share.
//
//   format.open = [](std::unique_ptr<io::Input> input, const ImportOptions& options, io::Executor&) {
//     return OpenGraph("chakra", std::move(input), options, &ReadIt);
//   };
#ifndef TRACEKILN_FORMATS_FORMAT_GRAPH_SOURCE_H_
#define TRACEKILN_FORMATS_FORMAT_GRAPH_SOURCE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/format/format.h"
#include "formats/intermediate/graph.h"
#include "formats/intermediate/import_report.h"
#include "formats/intermediate/trace_source.h"
#include "formats/io/byte_source.h"
#include "formats/io/input.h"

namespace tracekiln {

// Reads a graph to the end of the source; errors name the file.
using GraphReader = absl::StatusOr<Graph> (*)(io::ByteSource& source, const ImportOptions& options,
                                              ImportReport* report);

// A trace of the format `name` without rows, whose graph `read` reads at once; rewindable, its info known from the
// start. InvalidArgument for import options, of which such a format has none; FailedPrecondition if `input` was read
// already; errors of `read`.
absl::StatusOr<std::unique_ptr<TraceSource>> OpenGraph(absl::string_view name, std::unique_ptr<io::Input> input,
                                                       const ImportOptions& options, GraphReader read);

}  // namespace tracekiln

#endif  // TRACEKILN_FORMATS_FORMAT_GRAPH_SOURCE_H_
