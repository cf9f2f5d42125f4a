// The project's own trace format, .kiln, as a Format like any other. The file is specified in
// formats/intermediate/FORMAT.md and read and written by formats/intermediate; this package only adapts it.
//
// A .kiln file that comes through a pipe or in a container (.kiln.gz) is first copied to memory or a temporary file,
// since its index is at the end.
#ifndef TRACEKILN_FORMATS_KILN_KILN_FORMAT_H_
#define TRACEKILN_FORMATS_KILN_KILN_FORMAT_H_

#include "formats/format/format.h"

namespace tracekiln {

// Export option: level (zstd, 1 to 19). No import options.
const Format& KilnFormat();

}  // namespace tracekiln

#endif  // TRACEKILN_FORMATS_KILN_KILN_FORMAT_H_
