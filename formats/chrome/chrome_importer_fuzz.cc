// Any bytes as a trace, in small blocks: both tiers agree, the account is balanced, salvage never fails for our own
// fault.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "formats/chrome/testing/import_text.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using tracekiln::chrome::ImportedText;
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  // Containers are io's matter.
  if (size > 0 && data[0] != '[' && data[0] != '{' && data[0] != ' ') return 0;
  tracekiln::chrome::ImportTextOptions options;
  options.tuning.block_bytes = 128;
  for (const bool salvage : {false, true}) {
    options.salvage = salvage;
    options.tuning.general_tier_only = false;
    const ImportedText fast = tracekiln::chrome::ImportText(text, options);
    options.tuning.general_tier_only = true;
    const ImportedText general = tracekiln::chrome::ImportText(text, options);
    Require(fast.status == general.status);
    Require(fast.status.code() != absl::StatusCode::kInternal);
    Require(fast.rows() == general.rows());
    Require(fast.report_text() == general.report_text());
    Require(!fast.status.ok() || fast.info.report.IsBalanced());
  }
  return 0;
}
