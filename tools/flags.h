// Command lines: a table of flags in, values and positional arguments out. No globals, no registration.
//
//   constexpr Flag kFlags[] = {
//       {"to", 0, "FORMAT", "format to write"},
//       {"output", 'o', "PATH", "where to; - is standard output"},
//       {"strict", 0, "", "refuse what could be repaired"},
//   };
//   absl::StatusOr<ParsedFlags> flags = ParseFlags(kFlags, args);
//   if (!flags.ok()) …                          // InvalidArgument: one line for the user, exit status 2
//   flags->Get("to")                            // std::optional<std::string>; the last one given wins
//
// Understood: --to X, --to=X, -o X, -oX, --strict, and flags after positional arguments. "--" ends the flags, "-" alone
// is positional. Names are not abbreviated; an unknown one is answered with the nearest known name.
#ifndef TRACEKILN_TOOLS_FLAGS_H_
#define TRACEKILN_TOOLS_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tracekiln::tools {

struct Flag {
  absl::string_view name;   // without the dashes
  char short_name = 0;      // 'o' for -o; 0: none
  absl::string_view value;  // what follows, for the help: "FORMAT"; empty: the flag takes no value
  absl::string_view help;   // one line
};

class ParsedFlags {
 public:
  const std::vector<std::string>& positional() const { return positional_; }
  bool Has(absl::string_view name) const { return Get(name).has_value(); }
  // The value given last; "" for a flag without value; nullopt if the flag was not given.
  std::optional<std::string> Get(absl::string_view name) const;
  // All values, in the order given.
  std::vector<std::string> GetAll(absl::string_view name) const;
  // All values of several flags with their flag, in the order given: for flags whose order among each other matters.
  std::vector<std::pair<std::string, std::string>> GetInOrder(absl::Span<const absl::string_view> names) const;

  // Numbers: `absent` if the flag was not given; InvalidArgument if it is no decimal integer within [least, most].
  [[nodiscard]] absl::StatusOr<int64_t> GetInt(absl::string_view name, int64_t absent, int64_t least,
                                               int64_t most) const;

 private:
  friend absl::StatusOr<ParsedFlags> ParseFlags(absl::Span<const Flag>, absl::Span<const std::string>);
  std::vector<std::string> positional_;
  std::vector<std::pair<std::string, std::string>> values_;
};

// InvalidArgument with a hint: unknown flag, missing value, a value where none belongs.
[[nodiscard]] absl::StatusOr<ParsedFlags> ParseFlags(absl::Span<const Flag> flags, absl::Span<const std::string> args);

// Two columns, one flag a line: "  -o, --output PATH   where to; …".
std::string FlagHelp(absl::Span<const Flag> flags);

// The candidate with the fewest edits to `word`, if that is at most two and less than half of the word; else empty.
absl::string_view NearestWord(absl::string_view word, absl::Span<const absl::string_view> candidates);

}  // namespace tracekiln::tools

#endif  // TRACEKILN_TOOLS_FLAGS_H_
