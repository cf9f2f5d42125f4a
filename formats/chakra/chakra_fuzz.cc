// Reads any bytes as a Chakra trace. What can be read must survive being written and read again, and must not depend on
// how the bytes arrive.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/chakra/chakra_reader.h"
#include "formats/chakra/chakra_writer.h"
#include "formats/intermediate/graph.h"
#include "formats/intermediate/import_report.h"
#include "formats/intermediate/testing/graph_equality.h"
#include "formats/io/byte_sink.h"
#include "formats/io/byte_source.h"
#include "formats/io/testing/slow_source.h"

namespace {

using tracekiln::FirstDifference;
using tracekiln::Graph;
using tracekiln::ImportReport;

void Require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  (void)tracekiln::chakra::SniffChakra(bytes);
  for (const bool salvage : {false, true}) {
    ImportReport report, slow_report;
    const auto source = tracekiln::io::MakeMemorySource(bytes, "fuzz");
    const absl::StatusOr<Graph> graph = tracekiln::chakra::ReadChakra(*source, {false, salvage}, &report);
    tracekiln::io::SlowSource slow(bytes, 7, "fuzz");
    const absl::StatusOr<Graph> again = tracekiln::chakra::ReadChakra(slow, {false, salvage}, &slow_report);
    Require(graph.ok() == again.ok());
    if (!graph.ok()) {
      Require(graph.status() == again.status());
      continue;
    }
    Require(report.IsBalanced());
    Require(report.ToText() == slow_report.ToText());
    Require(FirstDifference(*graph, *again).empty());
    std::string written;
    tracekiln::io::StringSink sink(&written);
    Require(tracekiln::chakra::WriteChakra(*graph, sink).ok());
    const auto written_source = tracekiln::io::MakeMemorySource(written, "fuzz");
    const absl::StatusOr<Graph> copy = tracekiln::chakra::ReadChakra(*written_source, {}, nullptr);
    Require(copy.ok());
    Require(copy->nodes().size() == graph->nodes().size());
    std::string rewritten;
    tracekiln::io::StringSink second_sink(&rewritten);
    Require(tracekiln::chakra::WriteChakra(*copy, second_sink).ok());
    Require(rewritten == written);
  }
  return 0;
}
