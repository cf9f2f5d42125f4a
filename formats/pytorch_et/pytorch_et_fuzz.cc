// Reads any bytes as an execution trace. What comes out must not depend on how the bytes arrive; inputs and outputs are
// valid JSON.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/intermediate/graph.h"
#include "formats/intermediate/import_report.h"
#include "formats/intermediate/testing/graph_equality.h"
#include "formats/io/byte_source.h"
#include "formats/io/testing/slow_source.h"
#include "formats/json/canonical.h"
#include "formats/pytorch_et/pytorch_et_reader.h"

namespace {

using tracekiln::Graph;
using tracekiln::ImportReport;

void Require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  (void)tracekiln::pytorch_et::SniffPytorchEt(bytes);
  for (const bool salvage : {false, true}) {
    ImportReport report, slow_report;
    const std::unique_ptr<tracekiln::io::ByteSource> source = tracekiln::io::MakeMemorySource(bytes, "fuzz");
    const absl::StatusOr<Graph> graph = tracekiln::pytorch_et::ReadPytorchEt(*source, {false, salvage}, &report);
    tracekiln::io::SlowSource slow(bytes, 11, "fuzz");
    const absl::StatusOr<Graph> again = tracekiln::pytorch_et::ReadPytorchEt(slow, {false, salvage}, &slow_report);
    Require(graph.ok() == again.ok());
    if (!graph.ok()) {
      Require(graph.status() == again.status());
      continue;
    }
    Require(report.IsBalanced());
    Require(report.ToText() == slow_report.ToText());
    Require(tracekiln::FirstDifference(*graph, *again).empty());
    for (const Graph::Node& node : graph->nodes()) {
      for (const Graph::Io* io : {&node.inputs, &node.outputs}) {
        for (const tracekiln::StringId id : {io->values, io->shapes, io->types, io->strides}) {
          Require(graph->Text(id).empty() || tracekiln::json::IsJson(graph->Text(id)));
        }
      }
    }
  }
  return 0;
}
