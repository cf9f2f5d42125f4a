// Chakra execution traces (`.et`) as a Format: graphs, read and written.
#ifndef TRACEKILN_FORMATS_CHAKRA_CHAKRA_FORMAT_H_
#define TRACEKILN_FORMATS_CHAKRA_CHAKRA_FORMAT_H_

#include "formats/format/format.h"

namespace tracekiln {

// No options.
const Format& ChakraFormat();

}  // namespace tracekiln

#endif  // TRACEKILN_FORMATS_CHAKRA_CHAKRA_FORMAT_H_
