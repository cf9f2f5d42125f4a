#include "tools/command.h"

#include <algorithm>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tools/text_table.h"

namespace tracekiln::tools {
namespace {

constexpr absl::string_view kWhatItIs =
    "tracekiln reads, converts and checks profiler traces of machine-learning jobs.\n";

std::vector<Flag> FlagsOf(const Command& command) {
  std::vector<Flag> flags = command.flags;
  // A command may say in its own words what its jobs are.
  const bool has_jobs = std::any_of(flags.begin(), flags.end(), [](const Flag& flag) { return flag.name == "jobs"; });
  if (!has_jobs) flags.push_back({"jobs", 'j', "N", "threads to use; default: one per core"});
  flags.push_back({"quiet", 'q', "", "nothing on standard error but errors"});
  flags.push_back({"help", 'h', "", "this text"});
  return flags;
}

std::string ToolHelp(absl::Span<const Command* const> commands) {
  std::string out = absl::StrCat(kWhatItIs, "\nUsage: tracekiln COMMAND ARGUMENTS…\n\n");
  size_t width = 0;
  for (const Command* command : commands) {
    if (!command->is_hidden) width = std::max(width, command->name.size());
  }
  for (const Command* command : commands) {
    if (command->is_hidden) continue;
    absl::StrAppend(&out, "  ", command->name, std::string(width - command->name.size() + 2, ' '), command->summary,
                    "\n");
  }
  absl::StrAppend(&out,
                  "\nInputs are recognised by their content: plain, gzip, zstd or zip, whatever the name. \"-\" is "
                  "standard input.\nExit status: 0 done, 1 failed, 2 wrong usage, 3 done with stated losses.\n\n"
                  "tracekiln COMMAND --help shows the flags of a command, with examples.\n");
  return out;
}

int CloseOutput(io::ByteSink* out, const std::function<void(absl::string_view)>& err, int code) {
  const absl::Status status = out->Close();
  if (status.ok()) return code;
  err(absl::StrCat("tracekiln: ", status.message(), "\n"));
  return code == kUsage ? code : kFailed;
}

}  // namespace

void CommandContext::Say(absl::string_view message) const {
  err(absl::StrCat("tracekiln: ", PrintableLines(message), "\n"));
}

void CommandContext::Warn(absl::string_view message) const {
  if (!is_quiet) Say(message);
}

int CommandContext::Fail(const absl::Status& status) const {
  Say(status.message().empty() ? status.ToString() : std::string(status.message()));
  return kFailed;
}

int CommandContext::Misused(absl::string_view message) const {
  Say(absl::StrCat(command.name, ": ", message, " (see tracekiln ", command.name, " --help)"));
  return kUsage;
}

int CombinedStatus(absl::Span<const int> codes) {
  const auto done = std::count(codes.begin(), codes.end(), kDone);
  const auto failed = std::count(codes.begin(), codes.end(), kFailed);
  if (static_cast<size_t>(done) == codes.size()) return kDone;
  return static_cast<size_t>(failed) == codes.size() ? kFailed : kDoneWithLosses;
}

std::string CommandHelp(const Command& command) {
  std::string out = absl::StrCat("Usage: tracekiln ", command.name, command.arguments.empty() ? "" : " ",
                                 command.arguments, "\n\n", command.summary, "\n");
  if (!command.details.empty()) absl::StrAppend(&out, "\n", command.details, "\n");
  absl::StrAppend(&out, "\nFlags:\n", FlagHelp(FlagsOf(command)), "\nExamples:\n", command.examples, "\n");
  return out;
}

int RunTool(absl::Span<const Command* const> commands, absl::Span<const Format* const> formats, const Streams& streams,
            absl::Span<const std::string> args) {
  const absl::string_view name = args.empty() ? absl::string_view() : absl::string_view(args[0]);
  if (name == "--help" || name == "-h" || name == "help") {
    // "help convert" as well.
    for (const Command* command : commands) {
      if (args.size() > 1 && command->name == args[1]) {
        streams.out->Write(CommandHelp(*command));
        return CloseOutput(streams.out, streams.err, kDone);
      }
    }
    streams.out->Write(ToolHelp(commands));
    return CloseOutput(streams.out, streams.err, kDone);
  }
  const Command* command = nullptr;
  std::vector<absl::string_view> names;
  for (const Command* c : commands) {
    if (!c->is_hidden) names.push_back(c->name);
    if (c->name == name) command = c;
  }
  if (command == nullptr) {
    const absl::string_view nearest = NearestWord(name, names);
    streams.err(absl::StrCat(
        "tracekiln: ", name.empty() ? std::string("a command is missing") : absl::StrCat("unknown command ", name),
        nearest.empty() ? "" : ", did you mean ", nearest, nearest.empty() ? "" : "?", " (see tracekiln --help)\n"));
    return CloseOutput(streams.out, streams.err, kUsage);
  }

  const std::vector<Flag> known_flags = FlagsOf(*command);
  absl::StatusOr<ParsedFlags> flags = ParseFlags(known_flags, args.subspan(1));
  absl::StatusOr<int64_t> jobs = 1;
  if (flags.ok()) {
    if (flags->Has("help")) {
      streams.out->Write(CommandHelp(*command));
      return CloseOutput(streams.out, streams.err, kDone);
    }
    jobs = flags->GetInt("jobs", std::max(1u, std::thread::hardware_concurrency()), 1, 1024);
  }
  if (!flags.ok() || !jobs.ok()) {
    streams.err(absl::StrCat("tracekiln: ", command->name, ": ",
                             flags.ok() ? jobs.status().message() : flags.status().message(), " (see tracekiln ",
                             command->name, " --help)\n"));
    return CloseOutput(streams.out, streams.err, kUsage);
  }
  io::ThreadPool pool(static_cast<int>(*jobs));
  const bool is_quiet = flags->Has("quiet");
  CommandContext context{*command,
                         formats,
                         *streams.out,
                         streams.err,
                         pool,
                         is_quiet,
                         streams.is_err_terminal && !is_quiet,
                         streams.is_interrupted};
  return CloseOutput(streams.out, streams.err, command->run(*flags, context));
}

}  // namespace tracekiln::tools
