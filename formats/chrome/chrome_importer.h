// Chrome trace JSON, Kineto's dialect included -> batches.
//
//   absl::StatusOr<std::unique_ptr<TraceSource>> source = chrome::OpenChromeJson(std::move(input), {}, executor);
//   EventBatch batch;
//   while (*(*source)->Next(&batch)) …
//
// The file is read once, front to back, in blocks of some megabytes that end between two events. Blocks are parsed on
// the executor, several at a time, and come out in file order; the memory in use is a few blocks, whatever the size of
// the file. Where a block ends is guessed from the text and checked afterwards: a block counts only if the one before
// it ended exactly where it begins, otherwise it is parsed again, joined with what was left over.
//
// Read: the array form (closing bracket optional) and the object form with keys before and behind "traceEvents" (also
// given twice: both lists are read), all phases, any order of keys. Limits: an event of more than kMaxEventBytes, or
// a value of the top level of more than kMaxElementBytes, may be refused; brackets may nest json::kMaxDepth deep.
//
// Source of the format: "Trace Event Format" (Google, document of 2016) as catapult's trace_event_importer reads it,
// and kineto libkineto/src/output_json.cpp @114171df.
#ifndef TRACEKILN_FORMATS_CHROME_CHROME_IMPORTER_H_
#define TRACEKILN_FORMATS_CHROME_CHROME_IMPORTER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/format/format.h"
#include "formats/intermediate/trace_source.h"
#include "formats/io/executor.h"
#include "formats/io/input.h"

namespace tracekiln::chrome {

inline constexpr uint64_t kMaxEventBytes = uint64_t{32} << 20;
inline constexpr uint64_t kMaxElementBytes = uint64_t{256} << 20;

// For tests and benchmarks; the defaults are what measured best.
struct ImporterTuning {
  size_t block_bytes = size_t{4} << 20;
  bool general_tier_only = false;
};

// Errors of reading come from Next: InvalidArgument or DataLoss, as "FILE:OFFSET: expected …, got … (N whole events
// precede it)". `executor` must outlive the source.
[[nodiscard]] absl::StatusOr<std::unique_ptr<TraceSource>> OpenChromeJson(std::unique_ptr<io::Input> input,
                                                                          const ImportOptions& options,
                                                                          io::Executor& executor,
                                                                          const ImporterTuning& tuning = {});

// See Format::sniff.
int SniffChromeJson(absl::string_view head);

}  // namespace tracekiln::chrome

#endif  // TRACEKILN_FORMATS_CHROME_CHROME_IMPORTER_H_
