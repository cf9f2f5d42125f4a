// Chrome JSON out: a trace as {"traceEvents": […]}, in one of two layouts.
//
// lanes=on (the default): for viewers. Nothing that a viewer can show is lost in it:
//   - slices that overlap on a track stand in lanes (lanes.h), with their times untouched;
//   - process and thread ids are in 1 … 2^32-1 (track_ids.h);
//   - every arrow has an id of its own and both its ends lie in slices, one end per start; ends that no viewer draws
//   are
//     left out and counted; arguments of an arrow's end are called "end …";
//   - every event has a name; counters hold numbers only; unfinished slices are begin events;
//   - names and sort indices of processes and threads come first, once each;
//   - a child that starts with its parent stands behind it; otherwise the order is that of the trace;
//   - times are small and not negative: "baseTimeNanoseconds" takes the rest.
// What was changed or left out, and the original ids, are told in the object "tracekiln" before the events.
//
// lanes=off: rows, ids, order, metadata and fields as they were imported, in Kineto's dialect, for programs such as HTA
// and TensorBoard's profiler. Importing it again gives the same trace.
//
// Both: whole microseconds as integers, others with three decimals; `"rank": 0` with its blank outside the events; one
// event a line. The bytes depend on the trace and the options only. See formats/json/writer.h for strings and numbers.
//
// Cost: two passes over the source (lanes=off: one). Memory: some batches, and with lanes 6 to 8 bytes a slice, about
// 24 an end of an arrow, and what a window of 2 Mi slices needs while it is laid out.
#ifndef TRACEKILN_FORMATS_CHROME_CHROME_EXPORTER_H_
#define TRACEKILN_FORMATS_CHROME_CHROME_EXPORTER_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "formats/chrome/exporter_options.h"
#include "formats/format/format.h"
#include "formats/intermediate/trace_source.h"
#include "formats/io/byte_sink.h"
#include "formats/io/executor.h"

namespace tracekiln::chrome {

// The documentation of what ParseExporterOptions understands.
const std::vector<OptionSpec>& ExporterOptionSpecs();

// InvalidArgument for an unknown key, a value that is none of those documented, or a bad pattern.
absl::StatusOr<ExporterOptions> ParseExporterOptions(const FormatOptions& options);

// Writes the trace; the caller closes the sink. REQUIRES: `source` can be rewound. Errors: those of the source and the
// sink, InvalidArgument for options, ResourceExhausted for 2^32 rows or more with lanes (lanes=off has no limit).
// `executor` renders batches; the calling thread helps, so it may be one of the executor's.
absl::Status ExportChrome(TraceSource& source, const ExporterOptions& options, io::ByteSink& sink,
                          io::Executor& executor);
// As above with options as text: Format::write.
absl::Status ExportChrome(TraceSource& source, const ExportOptions& options, io::ByteSink& sink,
                          io::Executor& executor);

}  // namespace tracekiln::chrome

#endif  // TRACEKILN_FORMATS_CHROME_CHROME_EXPORTER_H_
