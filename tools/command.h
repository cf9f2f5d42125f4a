// The commands of the tool, and what they are given. A command is a table of facts and one function; main only joins
// the commands with the process.
//
//   const Command* const commands[] = {&ConvertCommand(), &InfoCommand()};
//   return RunTool(commands, AllFormats(), streams, args);
//
// Exit statuses: 0 done (warnings are on standard error), 1 failed, 2 wrong usage, 3 done with stated losses
// (--salvage, or some of several inputs failed).
#ifndef TRACEKILN_TOOLS_COMMAND_H_
#define TRACEKILN_TOOLS_COMMAND_H_

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "formats/format/format.h"
#include "formats/io/byte_sink.h"
#include "formats/io/executor.h"
#include "tools/flags.h"

namespace tracekiln::tools {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;
inline constexpr int kDoneWithLosses = 3;

// Standard output and standard error.
struct Streams {
  io::ByteSink* out = nullptr;  // closed by RunTool
  std::function<void(absl::string_view)> err;
  bool is_err_terminal = false;
  const std::atomic<bool>* is_interrupted = nullptr;  // turns true when the command shall stop; may be null
};

struct CommandContext;

struct Command {
  absl::string_view name;
  absl::string_view arguments;  // "IN… --to FORMAT [-o PATH]"
  absl::string_view summary;    // one line
  absl::string_view details;    // paragraphs for --help; may be empty
  absl::string_view examples;   // lines for --help
  std::vector<Flag> flags;      // --help, --jobs and --quiet are added to all
  int (*run)(const ParsedFlags& flags, CommandContext& context) = nullptr;
  bool is_hidden = false;  // for programs: not in the list of --help
};

struct CommandContext {
  const Command& command;
  absl::Span<const Format* const> formats;
  io::ByteSink& out;
  std::function<void(absl::string_view)> err;
  io::Executor& executor;
  bool is_quiet = false;        // --quiet: errors only
  bool shows_progress = false;  // standard error is a terminal, and not --quiet
  const std::atomic<bool>* is_interrupted = nullptr;

  // A line on standard error, "tracekiln: " before it.
  void Say(absl::string_view message) const;
  // Says it unless --quiet.
  void Warn(absl::string_view message) const;
  // Says the error; kFailed.
  int Fail(const absl::Status& status) const;
  // Says what is wrong with the command line and where help is, in one line; kUsage.
  int Misused(absl::string_view message) const;
};

// Runs the command named by args[0] with the rest, on --jobs threads (default: all cores). Closes the output; an output
// that can't be written makes the status at least kFailed.
int RunTool(absl::Span<const Command* const> commands, absl::Span<const Format* const> formats, const Streams& streams,
            absl::Span<const std::string> args);

// The status of a command over several inputs: kDone if all are, kFailed if all failed, otherwise kDoneWithLosses.
int CombinedStatus(absl::Span<const int> codes);

// What `tracekiln NAME --help` prints.
std::string CommandHelp(const Command& command);

}  // namespace tracekiln::tools

#endif  // TRACEKILN_TOOLS_COMMAND_H_
