// What a run directory holds: which file belongs to which rank, and everything about it that is odd.
//
// A training run leaves a tree of files: one timeline trace per rank, perhaps execution traces, `.prof` files, memory
// snapshots, several steps, several runs, and leftovers of all sorts. ScanDataset() looks at every file once, at its
// beginning only, and answers with facts: nothing is dropped, and what does not fit is a finding, never a guess.
//
//   absl::StatusOr<dataset::Dataset> found = dataset::ScanDataset("run7", {}, AllFormats(), executor);
//   if (!found.ok()) return found.status();
//   for (const dataset::RankFiles& rank : found->ranks) {
//     for (size_t i : rank.timelines) Convert(found->directory + "/" + found->files[i].path);
//   }
//   for (const dataset::Finding& finding : found->findings) …
//
// What a file is comes from its content: the formats' sniff(), then the small rules of content_rules.h for what is no
// Format. Which rank it is comes, in this order, from
//   1. the user's layout rule (ScanOptions::layout), if there is one and it has a group `rank`;
//   2. the content: Format::peek(), which reads Kineto's "distributedInfo" and the header of `.kiln`;
//   3. the name: the table of layout_rules.h (Megatron-LM, TorchTitan, TensorBoard's handler, Chakra, Lightning, …);
//   4. for an execution trace only: the one timeline that has the same name but for the last word (X_et, X_trace).
// Sources that disagree are a finding with both numbers.
#ifndef TRACEKILN_ANALYSIS_DATASET_DATASET_H_
#define TRACEKILN_ANALYSIS_DATASET_DATASET_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "formats/format/format.h"
#include "formats/io/executor.h"
#include "formats/io/input.h"

namespace tracekiln::dataset {

enum class FileKind : uint8_t {
  kTimeline,        // a trace that any other Format reads
  kKiln,            // our own trace file
  kExecutionTrace,  // PyTorch's execution trace, JSON
  kProfile,         // .prof
  kMemorySnapshot,  // pickle of PyTorch's allocator
  kChakra,          // protobuf .et
  kText,            // a log, a note, a configuration
  kLeftover,        // empty, temporary, backup, resource fork, a second name of another file
  kStranger,        // anything else; DatasetFile::note says what it looks like
  kUnreadable,      // could not be opened; DatasetFile::note says why
};
// "timeline", "kiln", "execution_trace", …: the word of the command line and of JSON output.
absl::string_view KindName(FileKind kind);
std::optional<FileKind> KindFromName(absl::string_view name);

enum class RankSource : uint8_t { kNone, kLayout, kContent, kName, kPair };
absl::string_view RankSourceName(RankSource source);  // "none", "layout", "content", "name", "pair"

// What part of a rank's work a file shows, as far as its name or directory says.
enum class FileRole : uint8_t {
  kUnsaid,
  kHost,         // Chakra's host.N.json: the execution trace
  kDevice,       // Chakra's device.N.json: the timeline
  kLinked,       // chakra_trace_link's result
  kCapture,      // vLLM's and SGLang's trace of capturing CUDA graphs
  kExecution,    // and that of replaying them
  kCoordinator,  // a process that is no rank (vLLM's async_llm)
};
absl::string_view RoleName(FileRole role);  // "", "host", "device", …

struct DatasetFile {
  std::string path;  // below the directory, parts joined by "/"; bytes as the file system has them (any but NUL)
  uint64_t size_bytes = 0;
  FileKind kind = FileKind::kStranger;
  std::string format;  // name of the Format that knows it; empty if none
  io::Container container = io::Container::kPlain;

  std::optional<int64_t> rank;
  RankSource rank_source = RankSource::kNone;
  std::optional<int64_t> content_rank;  // what each source said, for whoever wants to decide otherwise
  std::optional<int64_t> name_rank;     // by the user's rule if there is one, else by the table
  bool rank_is_local = false;           // the name holds a rank within one node (Lightning)
  std::optional<int64_t> world_size;    // by content

  std::string rule;    // the name rule that matched: "megatron", "layout", …; empty if none
  std::string run;     // directory of its run, below the scanned one; "" is the scanned one itself
  std::string series;  // first part of the name where several runs share a directory: dlrm in dlrm_host_3.json
  std::optional<int64_t> step;
  std::string worker;             // host and process in names of TensorBoard's handler
  std::optional<uint64_t> stamp;  // its time stamp: orders the windows that one process wrote
  std::string stage;              // Lightning: fit, validate, test, predict
  std::string action;             // Lightning: as in the file name, or joined over directories; untrusted
  FileRole role = FileRole::kUnsaid;

  std::string damage;  // what is broken as far as the beginning (and the last bytes) show; empty: nothing seen
  std::string note;    // one remark: what a stranger looks like, why a leftover is one, how opening failed
};

enum class Severity : uint8_t { kNote, kWarning };
absl::string_view SeverityName(Severity severity);

// One thing to know about a dataset. Codes are stable words for programs:
//   warnings   rank_conflict        sources disagree about a file's rank (which one is used is in `detail`)
//              duplicate_rank       several timelines, or execution traces, for one rank, step and window of a run
//              missing_rank         a run has no trace of some ranks below its world size (or, where that is unknown,
//                                   below its highest rank)
//              rank_out_of_range    a rank at or above the world size, or negative
//              world_size_mixture   files of one run disagree about the world size
//              no_rank              files of which no rank is known
//              unpaired             a rank with an execution trace but without timeline, or the other way round, in a
//                                   run that has both
//              kind_conflict        the user's group `kind` and the content disagree; the content counts
//              empty_file, damaged, unreadable
//              layout_unmatched     the user's rule matches no file
//              limit                max_depth or max_file_count was reached: the dataset is not complete
//   notes      several_runs, several_windows, local_rank, leftover, stranger, text, link_loop, same_file, coordinator
struct Finding {
  std::string code;
  Severity severity = Severity::kNote;
  std::string detail;          // one sentence; names of files in it are escaped
  std::string run;             // the run it is about; "" also where it is about none
  std::vector<size_t> files;   // indices in Dataset::files, ascending; may be empty (missing_rank)
  std::vector<int64_t> ranks;  // ascending; the missing ones, or those concerned
};

// All files of one rank at one step (or iteration) and window of one run: indices in Dataset::files, ascending. More
// than one timeline is a duplicate (see findings); which one counts is the caller's or the user's decision.
struct RankFiles {
  std::string run;
  std::optional<int64_t> rank;  // absent: unknown; then each timeline stands in an entry of its own
  std::optional<int64_t> step;
  int64_t window = 0;  // 0, 1, … in the order of time where one process wrote several files without step
  std::vector<size_t> timelines;
  std::vector<size_t> kilns;
  std::vector<size_t> execution_traces;
  std::vector<size_t> profiles;
  std::vector<size_t> memory_snapshots;
  std::vector<size_t> chakras;
  std::vector<size_t> captures;  // timelines of role kCapture
  std::vector<size_t> linked;    // execution traces of role kLinked
};

struct Run {
  std::string name;                   // DatasetFile::run
  std::optional<int64_t> world_size;  // the one that its files agree on; of a mixture the largest
  std::vector<int64_t> ranks;         // known ones, ascending, each once
  std::vector<int64_t> missing;       // ascending; at most kMaxListed of them
  int64_t missing_count = 0;
};
inline constexpr size_t kMaxListed = 100000;

struct Dataset {
  std::string directory;           // as given
  std::vector<DatasetFile> files;  // by path, bytewise
  std::vector<Run> runs;           // those with at least one trace or profile, by name
  std::vector<RankFiles> ranks;    // by run, rank (unknown last), step, window
  std::vector<Finding> findings;   // warnings first, then by code, run and first file
};

struct ScanOptions {
  // An RE2 that is searched in each relative path, instead of the table of name rules. Named groups: rank, step
  // (digits), run, kind (a KindName). Files that it does not match have no facts by name. Empty: the table.
  std::string layout;
  int max_depth = 32;  // directories below the first
  size_t max_file_count = 1'000'000;
  // Bytes of each file that are looked at, decompressed; at most io::kHeadBytes.
  size_t head_bytes = io::kHeadBytes;
};

// Scans the tree below `directory`, which may be a symbolic link. Links in it are followed, each directory and each
// file counts once. Files are opened on `executor`, concurrency() at a time (so call it from no work that runs there);
// the result does not depend on it. Memory: one DatasetFile per file, one head per thread. Unreadable files and
// directories are findings.
//
// NotFound, PermissionDenied, … if `directory` itself can't be read; InvalidArgument if it is no directory, or for a
// layout that is no RE2, has none of the named groups, or an unknown one.
[[nodiscard]] absl::StatusOr<Dataset> ScanDataset(const std::string& directory, const ScanOptions& options,
                                                  absl::Span<const Format* const> formats, io::Executor& executor);

// Ranks as people write them: "0-3, 7".
std::string RankRanges(absl::Span<const int64_t> ranks);

}  // namespace tracekiln::dataset

#endif  // TRACEKILN_ANALYSIS_DATASET_DATASET_H_
