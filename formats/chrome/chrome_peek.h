// What the beginning of a Chrome JSON trace says of the trace as a whole.
#ifndef TRACEKILN_FORMATS_CHROME_CHROME_PEEK_H_
#define TRACEKILN_FORMATS_CHROME_CHROME_PEEK_H_

#include "absl/strings/string_view.h"
#include "formats/intermediate/trace_source.h"

namespace tracekiln::chrome {

// Sets info->rank and info->world_size to what Kineto's "distributedInfo" says, as the importer would, and leaves them
// alone if `head` has no such key. `head` may end anywhere, also inside the key: numbers that may be cut off are not
// taken. Any bytes. Writers put the key in front of the events or, if these fit into the head, behind them.
// Cost: O(head), with a copy of it only if the key's name occurs.
void PeekChromeJson(absl::string_view head, TraceInfo* info);

}  // namespace tracekiln::chrome

#endif  // TRACEKILN_FORMATS_CHROME_CHROME_PEEK_H_
