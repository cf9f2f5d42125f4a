#include "formats/chakra/chakra_format.h"

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "formats/chakra/chakra_reader.h"
#include "formats/chakra/chakra_writer.h"
#include "formats/format/graph_source.h"
#include "formats/intermediate/event_batch.h"
#include "formats/intermediate/graph.h"
#include "formats/intermediate/ids.h"
#include "formats/intermediate/import_report.h"
#include "formats/intermediate/trace_source.h"
#include "formats/io/byte_sink.h"
#include "formats/io/byte_source.h"
#include "formats/io/executor.h"
#include "formats/io/input.h"

namespace tracekiln {
namespace {

absl::StatusOr<Graph> Read(io::ByteSource& source, const ImportOptions& options, ImportReport* report) {
  return chakra::ReadChakra(source, {options.strict, options.salvage}, report);
}

absl::StatusOr<std::unique_ptr<TraceSource>> Open(std::unique_ptr<io::Input> input, const ImportOptions& options,
                                                  io::Executor&) {
  return OpenGraph("chakra", std::move(input), options, &Read);
}

absl::Status CheckOptions(const ExportOptions& options) {
  if (options.format.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("format chakra: unknown export option \"", options.format[0].first, "\""));
}

absl::Status Write(TraceSource& source, const ExportOptions& options, io::ByteSink& sink, io::Executor&) {
  if (absl::Status status = CheckOptions(options); !status.ok()) return status;
  const Graph* const graph = source.graph();
  if (graph == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat(source.info().source_name, ": has no graph of operators and their dependencies"));
  }
  EventBatch batch;
  const absl::StatusOr<bool> has_events = source.Next(&batch);
  if (!has_events.ok()) return has_events.status();
  if (*has_events && options.note != nullptr) {
    options.note("its events are not in the output, only its graph of operators");
  }
  size_t with_strides = 0;
  for (const Graph::Node& node : graph->nodes()) {
    with_strides += node.inputs.strides != kNoString || node.outputs.strides != kNoString ? 1 : 0;
  }
  if (with_strides > 0 && options.note != nullptr) {
    options.note(absl::StrCat("strides of the inputs and outputs of ", with_strides,
                              " nodes are not in the output: Chakra has no place for them"));
  }
  return chakra::WriteChakra(*graph, sink);
}

Format MakeChakraFormat() {
  Format format;
  format.name = "chakra";
  format.description = "Chakra execution traces (.et): graphs of operators for simulators and replay";
  format.extension = ".et";
  format.capabilities = kGraph;
  format.sniff = &chakra::SniffChakra;
  format.open = &Open;
  format.check_export_options = &CheckOptions;
  format.write = &Write;
  return format;
}

}  // namespace

const Format& ChakraFormat() {
  static const Format* const format = new Format(MakeChakraFormat());
  return *format;
}

}  // namespace tracekiln
