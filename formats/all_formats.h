// The list of all formats, and nothing else. A new format is one line in all_formats.cc and one in the BUILD file
// beside it; detection, `--to`, `tracekiln formats`, the README's table and the conformance suite follow from that.
#ifndef TRACEKILN_FORMATS_ALL_FORMATS_H_
#define TRACEKILN_FORMATS_ALL_FORMATS_H_

#include "absl/types/span.h"
#include "formats/format/format.h"

namespace tracekiln {

// In the order in which they are shown; of two formats that are equally sure of a file, the first gets it.
absl::Span<const Format* const> AllFormats();

}  // namespace tracekiln

#endif  // TRACEKILN_FORMATS_ALL_FORMATS_H_
