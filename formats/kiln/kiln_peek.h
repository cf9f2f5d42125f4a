// What a .kiln file says of itself as a whole, without reading its rows.
#ifndef TRACEKILN_FORMATS_KILN_KILN_PEEK_H_
#define TRACEKILN_FORMATS_KILN_KILN_PEEK_H_

#include "formats/intermediate/trace_source.h"
#include "formats/io/input.h"

namespace tracekiln::kiln {

// Sets info->rank and info->world_size to what the file header says or else, if the file can be read at random, the
// info at its end. Leaves alone what neither knows. Damage is no error here: nothing is then known. Cost: the head, and
// up to three reads at the end of the file (trailer, footer of at most 64 MiB, info).
void PeekKiln(const io::Input& input, TraceInfo* info);

}  // namespace tracekiln::kiln

#endif  // TRACEKILN_FORMATS_KILN_KILN_PEEK_H_
