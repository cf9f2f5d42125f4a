// Pickles: Python's serialised objects. They are never loaded (that can run anything); they are only told by name,
// since users mistake them for profiles and traces.
#ifndef TRACEKILN_FORMATS_FORMAT_PICKLE_H_
#define TRACEKILN_FORMATS_FORMAT_PICKLE_H_

#include "absl/strings/string_view.h"

namespace tracekiln {

// What a file beginning with `head` is: "a pickle of line_profiler", "a pickle of a memory snapshot of PyTorch",
// "a pickle"; empty if it is none. Knows all protocols; 0 and 1 have no magic bytes, so the opcodes are walked:
// O(head).
absl::string_view DescribePickle(absl::string_view head);

}  // namespace tracekiln

#endif  // TRACEKILN_FORMATS_FORMAT_PICKLE_H_
