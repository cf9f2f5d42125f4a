#include "formats/chrome/chrome_format.h"

#include <memory>
#include <utility>

#include "formats/chrome/chrome_exporter.h"
#include "formats/chrome/chrome_importer.h"
#include "formats/chrome/chrome_peek.h"

namespace tracekiln {
namespace {

absl::StatusOr<std::unique_ptr<TraceSource>> Open(std::unique_ptr<io::Input> input, const ImportOptions& options,
                                                  io::Executor& executor) {
  return chrome::OpenChromeJson(std::move(input), options, executor);
}

absl::Status Write(TraceSource& source, const ExportOptions& options, io::ByteSink& sink, io::Executor& executor) {
  return chrome::ExportChrome(source, options, sink, executor);
}

absl::Status CheckOptions(const ExportOptions& options) {
  return chrome::ParseExporterOptions(options.format).status();
}

Format MakeChromeFormat() {
  Format format;
  format.name = "chrome";
  format.description = "Chrome trace JSON: PyTorch's Kineto, chrome://tracing, Perfetto";
  format.extension = ".json";
  format.capabilities = kSlices | kInstants | kCounters | kFlows | kArgs | kMetadata | kEveryEvent | kFileOrder;
  format.export_options = chrome::ExporterOptionSpecs();
  format.sniff = &chrome::SniffChromeJson;
  format.peek = [](const io::Input& input, TraceInfo* info) { chrome::PeekChromeJson(input.Head(), info); };
  format.open = &Open;
  format.check_export_options = &CheckOptions;
  format.write = &Write;
  format.needs_rewind = true;
  return format;
}

}  // namespace

const Format& ChromeFormat() {
  static const Format* const format = new Format(MakeChromeFormat());
  return *format;
}

}  // namespace tracekiln
