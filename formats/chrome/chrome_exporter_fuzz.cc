// Any bytes that the importer takes for a trace: both layouts must be JSON that it takes again, without damage, and
// lanes=off must be a fixed point.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "formats/chrome/chrome_exporter.h"
#include "formats/chrome/chrome_importer.h"
#include "formats/io/byte_sink.h"
#include "formats/io/executor.h"
#include "formats/io/input.h"

namespace tracekiln::chrome {
namespace {

class MemorySource : public TraceSource {
 public:
  absl::StatusOr<bool> Next(EventBatch* batch) override {
    if (next_ == batches.size()) return false;
    *batch = batches[next_++];
    return true;
  }
  absl::Status Rewind() override {
    next_ = 0;
    return absl::OkStatus();
  }
  bool can_rewind() const override { return true; }
  const TraceInfo& info() const override { return trace_info; }

  std::vector<EventBatch> batches;
  TraceInfo trace_info;

 private:
  size_t next_ = 0;
};

void Require(bool ok, const char* what, const std::string& text) {
  if (ok) return;
  std::fprintf(stderr, "%s\n%s\n", what, text.c_str());
  std::abort();
}

bool Import(std::string json, MemorySource* trace) {
  io::InlineExecutor executor;
  auto input = io::OpenMemory(std::move(json), "fuzz.json", {.read_ahead = false});
  if (!input.ok()) return false;
  auto source = OpenChromeJson(*std::move(input), {}, executor);
  if (!source.ok()) return false;
  for (;;) {
    EventBatch batch;
    const auto more = (*source)->Next(&batch);
    if (!more.ok()) return false;
    if (!*more) break;
    trace->batches.push_back(std::move(batch));
  }
  trace->trace_info = (*source)->info();
  return true;
}

// What we wrote must import without a repair. One thing is kept as it was and no damage of ours: nested values may have
// a key twice.
bool ImportUndamaged(const std::string& json, MemorySource* trace) {
  if (!Import(json, trace)) return false;
  const ImportReport::Entry* const twice = trace->trace_info.report.Find("duplicate_key");
  return trace->trace_info.report.repaired() == (twice == nullptr ? 0 : twice->count);
}

std::string Export(MemorySource& trace, const char* lanes) {
  io::InlineExecutor executor;
  std::string out;
  io::StringSink sink(&out);
  const absl::Status status = ExportChrome(trace, ExportOptions{{{"lanes", lanes}}}, sink, executor);
  Require(status.ok(), "export failed", std::string(status.message()));
  return out;
}

}  // namespace
}  // namespace tracekiln::chrome

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tracekiln::chrome;
  MemorySource trace;
  if (!Import(std::string(reinterpret_cast<const char*>(data), size), &trace)) return 0;
  const std::string off = Export(trace, "off");
  MemorySource again;
  Require(ImportUndamaged(off, &again), "lanes=off is damaged", off);
  const std::string twice = Export(again, "off");
  Require(twice == off, "lanes=off is no fixed point", off + "\n" + twice);
  const std::string on = Export(trace, "on");
  MemorySource shown;
  Require(ImportUndamaged(on, &shown), "lanes=on is damaged", on);
  return 0;
}
