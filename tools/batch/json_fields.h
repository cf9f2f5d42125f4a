// Reading and writing the small JSON files of a batch. Paths are bytes, JSON is UTF-8: a path that is none is written
// as text for people and once more in hexadecimal.
#ifndef TRACEKILN_TOOLS_BATCH_JSON_FIELDS_H_
#define TRACEKILN_TOOLS_BATCH_JSON_FIELDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/json/writer.h"

namespace tracekiln::batch {

// Members "KEY" and, if need be, "KEY_hex".
void WritePath(absl::string_view key, absl::string_view path, json::Writer* w);

// A canonical JSON object with defaults for what is absent or of another type.
class Fields {
 public:
  explicit Fields(absl::string_view canonical);
  absl::string_view Raw(absl::string_view key) const;  // empty if absent
  std::string Text(absl::string_view key) const;
  std::string Path(absl::string_view key) const;  // as WritePath wrote it
  std::optional<int64_t> Int(absl::string_view key) const;
  bool Bool(absl::string_view key) const { return Raw(key) == "true"; }
  std::vector<absl::string_view> Array(absl::string_view key) const;

 private:
  std::vector<std::pair<std::string, absl::string_view>> members_;
};

// Elements of a canonical array; empty if it is none.
std::vector<absl::string_view> Elements(absl::string_view canonical);

// The text in canonical form. InvalidArgument if it is not one JSON value.
[[nodiscard]] absl::StatusOr<std::string> Canonical(absl::string_view json);

}  // namespace tracekiln::batch

#endif  // TRACEKILN_TOOLS_BATCH_JSON_FIELDS_H_
