// A ByteSource that delivers a few bytes at a time, for tests that a reader does not depend on how bytes arrive.
#ifndef TRACEKILN_FORMATS_IO_TESTING_SLOW_SOURCE_H_
#define TRACEKILN_FORMATS_IO_TESTING_SLOW_SOURCE_H_

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "formats/io/byte_source.h"

namespace tracekiln::io {

class SlowSource final : public ByteSource {
 public:
  // At most `step` of `bytes`, which outlive the source, per Read. `name` is for messages. REQUIRES: step > 0.
  SlowSource(absl::string_view bytes, size_t step, std::string name)
      : ByteSource(std::move(name)), bytes_(bytes), step_(step) {}

 protected:
  size_t ReadSome(char* out, size_t size) override {
    const size_t part = std::min({size, step_, bytes_.size() - next_});
    if (part > 0) std::memcpy(out, bytes_.data() + next_, part);
    next_ += part;
    return part;
  }

 private:
  const absl::string_view bytes_;
  const size_t step_;
  size_t next_ = 0;
};

}  // namespace tracekiln::io

#endif  // TRACEKILN_FORMATS_IO_TESTING_SLOW_SOURCE_H_
