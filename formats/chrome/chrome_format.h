// Chrome trace JSON and Kineto's dialect of it, as a Format.
#ifndef TRACEKILN_FORMATS_CHROME_CHROME_FORMAT_H_
#define TRACEKILN_FORMATS_CHROME_CHROME_FORMAT_H_

#include "formats/format/format.h"

namespace tracekiln {

// Reading: chrome_importer.h, no options. Writing: chrome_exporter.h, options lanes, args, pretty, window, categories,
// name.
const Format& ChromeFormat();

}  // namespace tracekiln

#endif  // TRACEKILN_FORMATS_CHROME_CHROME_FORMAT_H_
