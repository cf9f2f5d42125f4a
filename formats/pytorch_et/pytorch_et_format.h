// PyTorch execution traces as a Format: graphs, read only.
#ifndef TRACEKILN_FORMATS_PYTORCH_ET_PYTORCH_ET_FORMAT_H_
#define TRACEKILN_FORMATS_PYTORCH_ET_PYTORCH_ET_FORMAT_H_

#include "formats/format/format.h"

namespace tracekiln {

// No options.
const Format& PytorchEtFormat();

}  // namespace tracekiln

#endif  // TRACEKILN_FORMATS_PYTORCH_ET_PYTORCH_ET_FORMAT_H_
