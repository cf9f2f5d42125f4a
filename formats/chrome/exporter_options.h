// The options of the Chrome exporter, parsed. As text they are documented by ExporterOptionSpecs() in
// chrome_exporter.h.
#ifndef TRACEKILN_FORMATS_CHROME_EXPORTER_OPTIONS_H_
#define TRACEKILN_FORMATS_CHROME_EXPORTER_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tracekiln::chrome {

struct ExporterOptions {
  bool has_lanes = true;
  bool has_args = true;
  bool is_pretty = false;
  // Slices that overlap [begin, end) and other events in it, in the times of the trace.
  std::optional<int64_t> window_begin_ns;
  std::optional<int64_t> window_end_ns;
  std::vector<std::string> categories;  // empty: all
  std::string name_pattern;             // RE2, found anywhere in the name; empty: all
};

}  // namespace tracekiln::chrome

#endif  // TRACEKILN_FORMATS_CHROME_EXPORTER_OPTIONS_H_
