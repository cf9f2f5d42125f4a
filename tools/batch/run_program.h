// Runs another program and reads what it prints.
#ifndef TRACEKILN_TOOLS_BATCH_RUN_PROGRAM_H_
#define TRACEKILN_TOOLS_BATCH_RUN_PROGRAM_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tracekiln::batch {

struct ProgramOutput {
  int exit_code = 0;  // 128 + signal if it died of one
  std::string out;    // the first MiB of standard output
  std::string err;    // the first MiB of standard error
};

// Runs arguments[0], looked up in PATH, without a shell and with standard input from /dev/null, and waits for its end.
// NotFound if there is no such program; Unavailable if it can't be started.
[[nodiscard]] absl::StatusOr<ProgramOutput> RunProgram(const std::vector<std::string>& arguments);

}  // namespace tracekiln::batch

#endif  // TRACEKILN_TOOLS_BATCH_RUN_PROGRAM_H_
