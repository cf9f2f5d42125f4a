// Opens any bytes as an input and reads all of it: containers, text encodings, damage. Nothing may crash, hang or
// contradict itself; what is delivered must not depend on the sizes of reads.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/io/byte_source.h"
#include "formats/io/input.h"

namespace {

using tracekiln::io::ByteSource;
using tracekiln::io::Input;

constexpr size_t kMaxBytes = 4 << 20;

void Require(bool condition) {
  if (!condition) std::abort();
}

// Reads up to kMaxBytes in steps of `step`.
std::string Drain(ByteSource* source, size_t step) {
  const uint64_t start = source->position();
  std::string all, part(step, '\0');
  while (all.size() < kMaxBytes) {
    const size_t got = source->Read(part.data(), std::min(step, kMaxBytes - all.size()));
    if (got == 0) break;
    Require(got <= step);
    all.append(part, 0, got);
  }
  Require(source->position() == start + all.size());
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  tracekiln::io::OpenOptions options;
  options.read_ahead = false;
  options.zip_in_memory_limit_bytes = kMaxBytes;
  std::string first;
  bool is_first_ok = false;
  for (const size_t step : {size_t{64} << 10, size_t{1000}}) {
    absl::StatusOr<std::unique_ptr<Input>> input = tracekiln::io::OpenMemory(bytes, "fuzz", options);
    if (!input.ok()) {
      Require(!input.status().message().empty());
      return 0;
    }
    const std::string head((*input)->Head());
    const std::unique_ptr<ByteSource> stream = (*input)->Stream();
    const std::string all = Drain(stream.get(), step);
    Require(absl::string_view(all).substr(0, head.size()) == head);
    if (step == 1000) {
      // Damaged data may end a little earlier or later, by what the decompressor had in hand.
      Require(stream->status().ok() == is_first_ok);
      if (is_first_ok) Require(all == first);
    }
    first = all;
    is_first_ok = stream->status().ok();
  }
  return 0;
}
