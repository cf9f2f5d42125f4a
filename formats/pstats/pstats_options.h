// The options of the format pstats, KEY=VALUE. See `tracekiln formats --verbose`.
#ifndef TRACEKILN_FORMATS_PSTATS_PSTATS_OPTIONS_H_
#define TRACEKILN_FORMATS_PSTATS_PSTATS_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "formats/format/format.h"
#include "formats/pstats/pstats_writer.h"
#include "formats/pstats/timeline_profile.h"

namespace tracekiln::pstats {

struct ExporterOptions {
  // What the files of one trace are.
  enum class Per : uint8_t {
    kTrace,   // one file
    kThread,  // threads=split
    kAction,  // per=action
  };
  Per per = Per::kTrace;
  TimelineProfileOptions timeline;
  WritePstatsOptions writer;
  // Parts of file names, see action_file_name.h.
  std::string stage;
  std::string filename;
  std::optional<int64_t> rank;  // default: the trace's own
};

const std::vector<OptionSpec>& ExporterOptionSpecs();

// InvalidArgument with the key, what was expected and what was there.
[[nodiscard]] absl::StatusOr<ExporterOptions> ParseExporterOptions(const FormatOptions& options);

}  // namespace tracekiln::pstats

#endif  // TRACEKILN_FORMATS_PSTATS_PSTATS_OPTIONS_H_
