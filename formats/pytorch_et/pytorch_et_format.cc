#include "formats/pytorch_et/pytorch_et_format.h"

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "formats/format/graph_source.h"
#include "formats/intermediate/graph.h"
#include "formats/intermediate/trace_source.h"
#include "formats/io/byte_source.h"
#include "formats/io/executor.h"
#include "formats/io/input.h"
#include "formats/pytorch_et/pytorch_et_reader.h"

namespace tracekiln {
namespace {

absl::StatusOr<std::unique_ptr<TraceSource>> Open(std::unique_ptr<io::Input> input, const ImportOptions& options,
                                                  io::Executor&) {
  if (!options.format.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("format pytorch-et: unknown import option \"", options.format[0].first, "\""));
  }
  const std::unique_ptr<io::ByteSource> stream = input->Stream();
  if (stream == nullptr) return absl::FailedPreconditionError(absl::StrCat(input->name(), ": was read already"));
  TraceInfo info;
  info.source_format = "pytorch-et";
  info.source_name = input->name();
  absl::StatusOr<Graph> graph = pytorch_et::ReadPytorchEt(*stream, {options.strict, options.salvage}, &info.report);
  if (!graph.ok()) return graph.status();
  return MakeGraphSource(*std::move(graph), std::move(info));
}

Format MakePytorchEtFormat() {
  Format format;
  format.name = "pytorch-et";
  format.description = "PyTorch execution traces (ExecutionTraceObserver's JSON): operators, tensors, process groups";
  format.extension = ".json";
  format.capabilities = kGraph;
  format.sniff = &pytorch_et::SniffPytorchEt;
  format.open = &Open;
  return format;
}

}  // namespace

const Format& PytorchEtFormat() {
  static const Format* const format = new Format(MakePytorchEtFormat());
  return *format;
}

}  // namespace tracekiln
