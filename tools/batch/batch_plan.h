// What a batch is going to do: one task for each trace of a run directory, with the names of its outputs.
//
//   absl::StatusOr<batch::Plan> plan = batch::MakePlan(*dataset, options);
//   …
//   io: OUT/.batch/plan.json, which workers on this or other machines read (PlanToJson, PlanFromJson)
//
// A task is one input and all the formats asked for. Everything about it is decided here, so that workers need no
// knowledge of each other: names of outputs are unique in the plan, hold nothing of the input's names but letters,
// digits and "._-", and don't depend on the order or the time of the work.
//
//   OUT/kiln/rank-3.kiln                 one run
//   OUT/kiln/run7/rank-3-step-10.kiln    several runs, several steps
//   OUT/pstats/rank-3/…                  options that make several files of a trace
//   OUT/kiln/rank-3-kiln.kiln            a .kiln that lies beside the rank's timeline; also -profile, -capture
//   OUT/kiln/rank-3.2.kiln               a second file for what is said to be the same rank
//
// A file whose name says that it is the trace of a rank gets a task even if nothing in it could be recognised: that
// task fails and says why, instead of the rank being absent without a word.
#ifndef TRACEKILN_TOOLS_BATCH_BATCH_PLAN_H_
#define TRACEKILN_TOOLS_BATCH_BATCH_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "analysis/dataset/dataset.h"
#include "formats/format/format.h"
#include "formats/io/output.h"

namespace tracekiln::batch {

struct Output {
  std::string format;
  std::string path;           // below OUT, parts joined by "/"
  bool is_directory = false;  // of several files, with names from the trace
};

struct Task {
  std::string name;  // unique in the plan, a file name: "rank-3"
  std::optional<int64_t> rank;
  std::string run;  // as in the dataset
  std::optional<int64_t> step;
  int64_t window = 0;
  std::string input;  // below the run directory; bytes as the file system has them
  uint64_t size_bytes = 0;
  bool is_compressed = false;
  std::vector<std::string> execution_traces;  // of the same rank, below the run directory; no format reads them yet
  std::vector<Output> outputs;                // in the order of PlanOptions::to
};

struct Finding {
  std::string code;
  std::string severity;
  std::string detail;
  std::string run;
};

struct Plan {
  std::string directory;             // the run directory, an absolute path
  std::vector<std::string> options;  // KEY=VALUE, for whichever format knows KEY
  bool is_strict = false;
  bool is_salvaging = false;
  std::string compress;  // of JSON outputs: none, gzip or zstd, perhaps with ":LEVEL"
  std::vector<Task> tasks;
  std::vector<Finding> findings;
  std::vector<std::string> not_converted;  // one sentence each, for files that are no task
};

// Inclusive ranges of ranks. Empty: all ranks, also files without one.
using RankSet = std::vector<std::pair<int64_t, int64_t>>;

// "0,3,8-15", blanks allowed. An empty text is an empty set. InvalidArgument otherwise.
[[nodiscard]] absl::StatusOr<RankSet> ParseRanks(absl::string_view text);

struct PlanOptions {
  std::vector<const Format*> to;  // at least one
  RankSet ranks;
  std::vector<std::string> options;
  bool is_strict = false;
  bool is_salvaging = false;
  std::string compress = "gzip";
  // OUT, if it lies below the run directory: relative to that, as "converted". What is in it is no input.
  std::string excluded;
};

// REQUIRES: `directory` is absolute. InvalidArgument if a rank was asked for that is not there, or nothing is left to
// do.
[[nodiscard]] absl::StatusOr<Plan> MakePlan(const dataset::Dataset& dataset, const std::string& directory,
                                            const PlanOptions& options);

// Options for one format, of all that were given.
FormatOptions OptionsFor(absl::Span<const std::string> options, absl::Span<const OptionSpec> specs);

// `text` as a part of a path: letters, digits and "._-" stay, anything else becomes "_"; never empty, ".", "..", hidden
// or longer than 100 bytes.
std::string SafeName(absl::string_view text);

// One task a line. Deterministic. Paths that are not UTF-8 survive.
std::string PlanToJson(const Plan& plan);
// InvalidArgument if it is no plan.
[[nodiscard]] absl::StatusOr<Plan> PlanFromJson(absl::string_view json);

// What decides whether a result that is there still holds: the task without its input's size, and all options. One line
// of JSON.
std::string RequestText(const Plan& plan, const Task& task);

}  // namespace tracekiln::batch

#endif  // TRACEKILN_TOOLS_BATCH_BATCH_PLAN_H_
