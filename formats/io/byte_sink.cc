#include "formats/io/byte_sink.h"

namespace tracekiln::io {

ByteSink::~ByteSink() = default;

absl::Status ByteSink::Close() {
  if (!is_closed_ && status_.ok()) Finish();
  is_closed_ = true;
  return status_;
}

}  // namespace tracekiln::io
