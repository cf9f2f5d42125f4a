// The format `pstats`: `.prof` files of cProfile and Python's pstats, both ways, and `.prof` from any timeline.
//
// Reading gives a trace without rows and with a profile (TraceSource::profile). Writing takes the profile of a trace
// that has no slices, as it is, and makes one from the timeline otherwise (timeline_profile.h); options choose what
// becomes a row and whether it is one file, one per thread or one per profiled action. What is made from a timeline
// opens in every viewer (viewer_root.h, safe_name.h).
#ifndef TRACEKILN_FORMATS_PSTATS_PSTATS_FORMAT_H_
#define TRACEKILN_FORMATS_PSTATS_PSTATS_FORMAT_H_

#include "formats/format/format.h"

namespace tracekiln {

const Format& PstatsFormat();

}  // namespace tracekiln

#endif  // TRACEKILN_FORMATS_PSTATS_PSTATS_FORMAT_H_
