// Any bytes as one JSON value: canonical text of canonical text is itself, and what simdjson accepts is accepted
// without damage (but for duplicate keys, which simdjson does not look at).
#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "formats/json/canonical.h"
#include "formats/json/scan.h"
#include "formats/json/text.h"

namespace {

using tracekiln::json::Damage;

void Require(bool condition) {
  if (!condition) std::abort();
}

class Counter : public tracekiln::json::DamageSink {
 public:
  void OnDamage(Damage damage, const char*) override { count += damage != Damage::kDuplicateKey; }
  int count = 0;
};

const char* Canonical(const std::string& padded, std::string* out, Counter* damage) {
  tracekiln::json::Error error;
  const char* const end = padded.data() + padded.size() - tracekiln::json::kPadding;
  const char* const behind = tracekiln::json::AppendCanonical(padded.data(), end, out, damage, &error);
  if (behind == nullptr) {
    Require(error.at >= padded.data() && error.at <= end && !error.reason.empty());
  } else {
    Require(behind <= end);
  }
  return behind;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  {
    std::string text;
    Counter damage;
    tracekiln::json::Error error;
    const absl::string_view raw(bytes);
    if (tracekiln::json::DecodeString(raw, &text, &damage, &error)) {
      simdjson::padded_string decoded(text);
      Require(simdjson::validate_utf8(decoded.data(), decoded.size()));
      if (text == bytes) Require(tracekiln::json::IsCleanUtf8(raw) == (damage.count == 0));
    } else {
      Require(error.at >= raw.data() && error.at < raw.data() + raw.size());
    }
  }
  const std::string padding(tracekiln::json::kPadding, '\0');
  const std::string padded = bytes + padding;
  std::string once;
  Counter damage;
  const char* const behind = Canonical(padded, &once, &damage);
  simdjson::dom::parser parser;
  simdjson::dom::element element;
  if (parser.allocate(size + 1, tracekiln::json::kMaxDepth) == simdjson::SUCCESS &&
      parser.parse(bytes).get(element) == simdjson::SUCCESS) {
    Require(behind != nullptr && damage.count == 0);
    const char* const end = padded.data() + size;
    Require(tracekiln::json::SkipBlanks(behind, end) == end);
  }
  if (behind == nullptr) return 0;
  std::string twice;
  Counter none;
  const std::string again = once + padding;
  Require(Canonical(again, &twice, &none) == again.data() + once.size());
  Require(none.count == 0 && twice == once);
  return 0;
}
