#include "formats/all_formats.h"

#include "formats/kiln/kiln_format.h"

namespace tracekiln {

absl::Span<const Format* const> AllFormats() {
  static const Format* const kFormats[] = {
      &KilnFormat(),
  };
  return kFormats;
}

}  // namespace tracekiln
