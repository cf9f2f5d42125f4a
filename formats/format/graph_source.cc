#include "formats/format/graph_source.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "formats/intermediate/event_batch.h"

namespace tracekiln {
namespace {

class GraphSource final : public TraceSource {
 public:
  GraphSource(Graph graph, TraceInfo info) : graph_(std::move(graph)), info_(std::move(info)) {}

  absl::StatusOr<bool> Next(EventBatch*) override { return false; }
  absl::Status Rewind() override { return absl::OkStatus(); }
  bool can_rewind() const override { return true; }
  const TraceInfo& info() const override { return info_; }
  const Graph* graph() const override { return &graph_; }
  Progress progress() const override { return {info_.report.input_bytes, info_.report.input_bytes}; }

 private:
  const Graph graph_;
  const TraceInfo info_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<TraceSource>> OpenGraph(absl::string_view name, std::unique_ptr<io::Input> input,
                                                       const ImportOptions& options, GraphReader read) {
  if (!options.format.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("format ", name, ": unknown import option \"", options.format[0].first, "\""));
  }
  const std::unique_ptr<io::ByteSource> stream = input->Stream();
  if (stream == nullptr) return absl::FailedPreconditionError(absl::StrCat(input->name(), ": was read already"));
  TraceInfo info;
  info.source_format = std::string(name);
  info.source_name = input->name();
  absl::StatusOr<Graph> graph = read(*stream, options, &info.report);
  if (!graph.ok()) return graph.status();
  return std::make_unique<GraphSource>(*std::move(graph), std::move(info));
}

}  // namespace tracekiln
