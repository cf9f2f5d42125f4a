// The commands of the tool, one file each (cmd_NAME.cc). main.cc lists them.
#ifndef TRACEKILN_TOOLS_COMMANDS_H_
#define TRACEKILN_TOOLS_COMMANDS_H_

#include "tools/command.h"

namespace tracekiln::tools {

const Command& BatchCommand();
const Command& BatchMergeCommand();
const Command& BatchWorkerCommand();
const Command& CatCommand();
const Command& CheckCommand();
const Command& ClocksCommand();
const Command& ConvertCommand();
const Command& DiffCommand();
const Command& FormatsCommand();
const Command& InfoCommand();
const Command& StatsCommand();

}  // namespace tracekiln::tools

#endif  // TRACEKILN_TOOLS_COMMANDS_H_
