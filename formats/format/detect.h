// Which format a file has, by its content and never by its name.
//
//   absl::StatusOr<const Format*> format = DetectFormat(AllFormats(), input->Head(), input->name());
//
// Every function takes the list, so that libraries and tests can work with fewer formats than the tool has.
#ifndef TRACEKILN_FORMATS_FORMAT_DETECT_H_
#define TRACEKILN_FORMATS_FORMAT_DETECT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "formats/format/format.h"

namespace tracekiln {

// The format whose sniff() is surest about `head`, the first bytes after decompression; of equals the first in the
// list. InvalidArgument if none knows it, with what the file looks like: "x.json:0: no known trace format, this looks
// like an HTML page". `name` is for the message.
[[nodiscard]] absl::StatusOr<const Format*> DetectFormat(absl::Span<const Format* const> formats,
                                                         absl::string_view head, absl::string_view name);

// The format of that name, or nullptr.
const Format* FindFormatByName(absl::Span<const Format* const> formats, absl::string_view name);

// What `head` looks like, for messages: "an empty file", "an HTML page", "a pickle", "binary data", …
std::string DescribeContent(absl::string_view head);

}  // namespace tracekiln

#endif  // TRACEKILN_FORMATS_FORMAT_DETECT_H_
