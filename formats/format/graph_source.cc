#include "formats/format/graph_source.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
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

std::unique_ptr<TraceSource> MakeGraphSource(Graph graph, TraceInfo info) {
  return std::make_unique<GraphSource>(std::move(graph), std::move(info));
}

}  // namespace tracekiln
