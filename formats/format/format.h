// Format: one foreign trace format, both ways. What a package formats/<name> gives to the rest of the tree.
//
// A format is a table of functions and facts; the list of all of them is formats/all_formats.h. Detection by content,
// `--to NAME`, `tracekiln formats`, the README's table and the conformance suite follow from that list.
//
//   const Format* format = FindFormat(input->Head());          // all_formats.h
//   auto source = format->open(std::move(input), options, executor);
//   …
//   absl::Status status = other->write(**source, write_options, *sink, executor);
//
// Options are given as text, KEY=VALUE, and parsed by the format itself; `options` documents them.
#ifndef TRACEKILN_FORMATS_FORMAT_FORMAT_H_
#define TRACEKILN_FORMATS_FORMAT_FORMAT_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/intermediate/trace_source.h"
#include "formats/io/byte_sink.h"
#include "formats/io/executor.h"
#include "formats/io/input.h"

namespace tracekiln {

// One KEY=VALUE option of a format.
struct OptionSpec {
  absl::string_view key;
  absl::string_view values;         // "on|off", "all|none", "RE2", "START..END in us"
  absl::string_view default_value;  // empty: not set
  absl::string_view help;           // one sentence
};

// Options as the user gave them, in order; a later one of the same key wins.
using FormatOptions = std::vector<std::pair<std::string, std::string>>;

struct ImportOptions {
  // Confined damage is an error instead of a repair.
  bool strict = false;
  // Damage of unclear extent ends in what could be kept (report.salvaged is set) instead of an error.
  bool salvage = false;
  FormatOptions format;
};

struct ExportOptions {
  FormatOptions format;
  // Takes remarks for the user, one sentence each, such as what could not be shown. May be null.
  std::function<void(absl::string_view)> note = nullptr;
};

// What a format can carry, for the table of formats and for the conformance suite, which skips what is not carried.
enum Capability : uint32_t {
  kSlices = 1 << 0,
  kInstants = 1 << 1,
  kCounters = 1 << 2,
  kFlows = 1 << 3,       // links, be they flows or correlations
  kArgs = 1 << 4,        // arguments with their types
  kMetadata = 1 << 5,    // top-level metadata
  kEveryEvent = 1 << 6,  // rows of any other kind as well
  kFileOrder = 1 << 7,   // rows come back in the order they were written
  kProfile = 1 << 8,     // the profile section (TraceSource::profile)
  kGraph = 1 << 9,       // the graph section (TraceSource::graph)
};

// Where a format that makes several files of one trace puts them.
class OutputDirectory {
 public:
  virtual ~OutputDirectory() = default;
  // A new file; the caller closes the sink. `name` has at most 255 bytes and no "/". InvalidArgument if it was made
  // before or can't be a file's name, else errors of the file system.
  [[nodiscard]] virtual absl::StatusOr<std::unique_ptr<io::ByteSink>> Create(absl::string_view name) = 0;
};

struct Format {
  absl::string_view name;         // "chrome": what --to and --from take
  absl::string_view description;  // one line
  absl::string_view extension;    // of files written, with the dot: ".json"
  uint32_t capabilities = 0;
  std::vector<OptionSpec> import_options;
  std::vector<OptionSpec> export_options;

  // How sure the format is that a file starting with `head` (up to 64 KiB, decompressed) is its own: 0 = no, 100 =
  // certain (magic bytes), 50 = looks like it. Null if the format can't be read.
  int (*sniff)(absl::string_view head) = nullptr;

  // Sets info->rank and info->world_size to what can be known of them without reading the trace: from input.Head() and
  // a few more reads at most. Leaves alone what is not known; damage is no error. Null: nothing can be known.
  void (*peek)(const io::Input& input, TraceInfo* info) = nullptr;

  // Opens a trace for reading. Errors name the file. `executor` must outlive the source. Null if it can't be read.
  absl::StatusOr<std::unique_ptr<TraceSource>> (*open)(std::unique_ptr<io::Input> input, const ImportOptions& options,
                                                       io::Executor& executor) = nullptr;

  // InvalidArgument, with the key, if `write` and `write_directory` would refuse these options: for callers that want
  // to know before they open anything. Null: they are only checked there.
  absl::Status (*check_export_options)(const ExportOptions& options) = nullptr;

  // Writes a whole trace; the caller closes the sink. If `needs_rewind`, the source must be rewindable (spool.h makes
  // any source so) and is rewound first. The bytes written don't depend on the executor. Null if it can't be written.
  absl::Status (*write)(TraceSource& source, const ExportOptions& options, io::ByteSink& sink,
                        io::Executor& executor) = nullptr;
  bool needs_rewind = false;

  // Whether these options ask for several files. Then write_directory is called instead of write. Both null for formats
  // that always write one file. A file appears when it is whole; an error may leave those that were done.
  bool (*writes_directory)(const ExportOptions& options) = nullptr;
  absl::Status (*write_directory)(TraceSource& source, const ExportOptions& options, OutputDirectory& directory,
                                  io::Executor& executor) = nullptr;
};

}  // namespace tracekiln

#endif  // TRACEKILN_FORMATS_FORMAT_FORMAT_H_
