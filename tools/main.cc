// The program tracekiln: joins the commands with the process.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "formats/all_formats.h"
#include "formats/io/output.h"
#include "tools/command.h"
#include "tools/commands.h"
#include "tools/interrupt.h"

int main(int argc, char** argv) {
  using namespace tracekiln;  // NOLINT
  static const tools::Command* const commands[] = {
      &tools::ConvertCommand(), &tools::BatchCommand(),       &tools::InfoCommand(),       &tools::CatCommand(),
      &tools::CheckCommand(),   &tools::StatsCommand(),       &tools::DiffCommand(),       &tools::ClocksCommand(),
      &tools::FormatsCommand(), &tools::BatchWorkerCommand(), &tools::BatchMergeCommand(),
  };
  // A file that may grow no further (ulimit -f) is an error of the write, as a full disk is, and no sudden death.
  signal(SIGXFSZ, SIG_IGN);
  absl::StatusOr<std::unique_ptr<io::ByteSink>> out = io::CreateOutput("-");
  if (!out.ok()) {
    std::fprintf(stderr, "tracekiln: %s\n", std::string(out.status().message()).c_str());
    return tools::kFailed;
  }
  tools::Streams streams;
  streams.out = out->get();
  streams.err = [](absl::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); };
  streams.is_err_terminal = isatty(STDERR_FILENO) == 1;
  streams.is_interrupted = tools::CatchInterrupts();
  const int status = tools::RunTool(commands, AllFormats(), streams, std::vector<std::string>(argv + 1, argv + argc));
  tools::DieOfCaughtSignal();
  return status;
}
