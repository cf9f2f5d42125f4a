#include "formats/pytorch_et/pytorch_et_format.h"

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "formats/format/graph_source.h"
#include "formats/intermediate/graph.h"
#include "formats/intermediate/import_report.h"
#include "formats/intermediate/trace_source.h"
#include "formats/io/byte_source.h"
#include "formats/io/executor.h"
#include "formats/io/input.h"
#include "formats/pytorch_et/pytorch_et_reader.h"

namespace tracekiln {
namespace {

absl::StatusOr<Graph> Read(io::ByteSource& source, const ImportOptions& options, ImportReport* report) {
  return pytorch_et::ReadPytorchEt(source, {options.strict, options.salvage}, report);
}

absl::StatusOr<std::unique_ptr<TraceSource>> Open(std::unique_ptr<io::Input> input, const ImportOptions& options,
                                                  io::Executor&) {
  return OpenGraph("pytorch-et", std::move(input), options, &Read);
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
