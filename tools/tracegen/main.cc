#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "tools/tracegen/command.h"

int main(int argc, char** argv) {
  // A closed pipe is an error of the output, not the end of the program.
  std::signal(SIGPIPE, SIG_IGN);
  const std::vector<std::string> args(argv + 1, argv + argc);
  const absl::StatusOr<std::string> report = tracekiln::tracegen::RunCommand(args);
  if (!report.ok()) {
    std::fprintf(stderr, "tracegen: %s\n", std::string(report.status().message()).c_str());
    return report.status().code() == absl::StatusCode::kInvalidArgument ? 2 : 1;
  }
  bool is_help = false;
  for (const std::string& arg : args) is_help = is_help || arg == "--help" || arg == "-h";
  std::fputs(report->c_str(), is_help ? stdout : stderr);
  return 0;
}
