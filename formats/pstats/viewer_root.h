// AddViewerRoot: what viewers of pstats files need above the functions of a profile.
//
// tuna draws from functions without callers that last over 10 us, or that are Python's `exec`; SnakeViz shows nothing
// of a profile without edges; flameprof needs at least one function that is called. Where a profile lacks that, one row
// is added above it: ('~', 0, '<built-in method builtins.exec>'), which tuna takes for a root whatever it lasted. It
// calls every function without callers (the one of greatest cumulative time if all have some), has their cumulative
// time and none of its own. A profile in which all times are 0 gives it 1 ns of its own: flameprof divides by the sum.
// Where all callers of a function have no time for it, though it has or calls what has (a thread of which only device
// work is shown), their edges get 1 ns of cumulative time: flameprof divides by that sum, too. Sources: tuna 0.5.15
// _get_root / read, SnakeViz 2.2.2 stats.py, flameprof 0.4; measured.
#ifndef TRACEKILN_FORMATS_PSTATS_VIEWER_ROOT_H_
#define TRACEKILN_FORMATS_PSTATS_VIEWER_ROOT_H_

#include "absl/strings/string_view.h"
#include "formats/intermediate/profile.h"

namespace tracekiln::pstats {

inline constexpr absl::string_view kViewerRootName = "<built-in method builtins.exec>";
// Roots must last longer than this for tuna.
inline constexpr int64_t kViewerRootNs = 10'000;

// Adds what the profile needs; whether a row was among that. An empty profile is left alone.
bool AddViewerRoot(Profile* profile);

}  // namespace tracekiln::pstats

#endif  // TRACEKILN_FORMATS_PSTATS_VIEWER_ROOT_H_
