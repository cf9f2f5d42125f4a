#ifndef TRACEKILN_FORMATS_IO_COMPRESSING_SINK_H_
#define TRACEKILN_FORMATS_IO_COMPRESSING_SINK_H_

#include <memory>

#include "formats/io/byte_sink.h"
#include "formats/io/executor.h"

namespace tracekiln::io {

// The sinks behind MakeCompressingSink (output.h), which checks the levels. Private to formats/io. `executor` may be
// null.
std::unique_ptr<ByteSink> MakeGzipSink(std::unique_ptr<ByteSink> sink, int level, Executor* executor);
std::unique_ptr<ByteSink> MakeZstdSink(std::unique_ptr<ByteSink> sink, int level, Executor* executor);

}  // namespace tracekiln::io

#endif  // TRACEKILN_FORMATS_IO_COMPRESSING_SINK_H_
