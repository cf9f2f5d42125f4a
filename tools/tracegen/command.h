#ifndef TRACEKILN_TOOLS_TRACEGEN_COMMAND_H_
#define TRACEKILN_TOOLS_TRACEGEN_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tracekiln::tracegen {

// The command line of tracegen, without the program's name: writes the files it asks for and returns what to tell the
// user (with --help, the help). InvalidArgument for a bad command line, else the first status of a file that could not
// be written; a file is written whole or not at all.
[[nodiscard]] absl::StatusOr<std::string> RunCommand(const std::vector<std::string>& args);

}  // namespace tracekiln::tracegen

#endif  // TRACEKILN_TOOLS_TRACEGEN_COMMAND_H_
