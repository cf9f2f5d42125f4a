// Commands over the ranks of a run directory: which file stands for which rank, and opening them.
#ifndef TRACEKILN_TOOLS_RANK_INPUTS_H_
#define TRACEKILN_TOOLS_RANK_INPUTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "analysis/dataset/clocks/clocks.h"
#include "analysis/dataset/dataset.h"
#include "tools/command.h"
#include "tools/flags.h"

namespace tracekiln::tools {

// --ranks, --run, --step, --layout.
std::vector<Flag> RankFlags();

// "0,3,8-15" in any order, each rank once. InvalidArgument for anything else. Empty: all ranks, so nothing is returned.
[[nodiscard]] absl::StatusOr<std::vector<int64_t>> ParseRanks(absl::string_view text);

struct RankInput {
  int64_t rank = 0;
  std::string path;  // of a timeline trace or a .kiln file, with the directory in front
};

// The traces of a run directory, by rank: a timeline trace if there is one, else a .kiln file. Findings of the dataset
// that concern ranks are said as warnings. NotFound if there is none; InvalidArgument if the choice isn't clear:
// several runs or steps without --run or --step, two traces of a rank, a rank of --ranks without trace. REQUIRES: the
// values of the flags were not looked at before; wrong ones are InvalidArgument.
[[nodiscard]] absl::StatusOr<std::vector<RankInput>> FindRankInputs(const std::string& directory,
                                                                    const ParsedFlags& flags, CommandContext& context);

// Reads all ranks for their collectives. Errors name the file. `other_options` as for OpenTrace.
[[nodiscard]] absl::StatusOr<dataset::ClockAlignment> ReadClocks(const std::vector<RankInput>& inputs,
                                                                 const ParsedFlags& flags, CommandContext& context,
                                                                 absl::Span<const OptionSpec> other_options = {});

}  // namespace tracekiln::tools

#endif  // TRACEKILN_TOOLS_RANK_INPUTS_H_
