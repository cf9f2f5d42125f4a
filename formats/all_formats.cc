#include "formats/all_formats.h"

#include "formats/chrome/chrome_format.h"
#include "formats/kiln/kiln_format.h"
#include "formats/pstats/pstats_format.h"

namespace tracekiln {

absl::Span<const Format* const> AllFormats() {
  static const Format* const kFormats[] = {
      &KilnFormat(),
      &ChromeFormat(),
      &PstatsFormat(),
  };
  return kFormats;
}

}  // namespace tracekiln
