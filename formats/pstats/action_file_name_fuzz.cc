// Any bytes as actions (one per line, the first two lines are stage and filename) and as the path of a profile: names
// are valid, short enough and different, and every name can be read.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "formats/pstats/action_file_name.h"
#include "formats/pstats/generalized_utf8.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using tracekiln::pstats::ActionFileNamer;
  using tracekiln::pstats::ParseActionFileName;
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto parsed = ParseActionFileName(bytes);
  Require(!parsed.has_value() || !parsed->action.empty());

  const std::vector<std::string> lines = absl::StrSplit(bytes, '\n');
  ActionFileNamer namer(lines[0], lines.size() > 1 ? lines[1] : "", size % 2 == 0 ? std::nullopt : std::optional(size));
  absl::flat_hash_map<std::string, std::string> actions;  // by name in lower case
  for (size_t i = 2; i < lines.size(); ++i) {
    const std::string name = namer.NameFor(lines[i]);
    Require(name.size() <= tracekiln::pstats::kMaxFileNameBytes && absl::EndsWith(name, ".prof"));
    Require(tracekiln::pstats::IsGeneralizedUtf8(name));
    Require(name.find('/') == std::string::npos && name.find("..") == std::string::npos && name[0] != '.');
    Require(actions.insert({absl::AsciiStrToLower(name), lines[i]}).first->second == lines[i]);
    Require(ParseActionFileName(name).has_value() && ParseActionFileName(name, lines[1]).has_value());
  }
  return 0;
}
