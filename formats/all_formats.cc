#include "formats/all_formats.h"

#include "formats/chakra/chakra_format.h"
#include "formats/chrome/chrome_format.h"
#include "formats/kiln/kiln_format.h"
#include "formats/pstats/pstats_format.h"
#include "formats/pytorch_et/pytorch_et_format.h"

namespace tracekiln {

absl::Span<const Format* const> AllFormats() {
  static const Format* const kFormats[] = {
      &KilnFormat(), &ChromeFormat(), &PstatsFormat(), &PytorchEtFormat(), &ChakraFormat(),
  };
  return kFormats;
}

}  // namespace tracekiln
