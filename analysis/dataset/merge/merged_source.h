// MergedSource: the traces of several ranks as one trace, in which nothing of one rank can be taken for another's.
//
//   std::vector<dataset::MergeInput> inputs;
//   inputs.push_back({3, "rank-3.json.gz", [&] { return Open("rank-3.json.gz"); }, clock_of_3});
//   …
//   dataset::MergedSource source(std::move(inputs), executor);
//   … ExportChrome(source, …) …
//
// Per rank:
//   pids          become (rank + 1) * 10,000 + n, n counting the rank's processes in the order of their first event; a
//                 row of metadata at the rank's end names each "rank 3: NAME" and sorts them by rank, host before
//                 device
//   correlations  the column, the argument, and ids of flows and async events that are numbers: + (rank + 1) * 2^36
//   (ids
//                 beyond 2^36 are numbered anew from there); ids that are texts get "r3:" before them
//   times         go from the rank's base to that of the first rank, by the rank's clock if one is given
// All else stays, external ids and process groups too: they mean the same as before, within a process. Metadata: what
// all ranks agree on, and "tracekilnMerge", a list of ranks with file, base, offset and drift. Rank is unset.
//
// Ranks come one behind the other, each in file order: consumers of timelines sort by time themselves, and so one rank
// is open at a time. A rank is spooled (format/spool.h), since its base may stand behind its events; memory is that of
// one source. The report is the sum. Can't be rewound (MakeRewindable makes it so).
//
// Errors are those of the inputs, with their name, and end the trace. ResourceExhausted: a rank over 131,071, negative,
// or with more than 10,000 processes.
#ifndef TRACEKILN_ANALYSIS_DATASET_MERGE_MERGED_SOURCE_H_
#define TRACEKILN_ANALYSIS_DATASET_MERGE_MERGED_SOURCE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "analysis/dataset/clocks/clocks.h"
#include "formats/intermediate/trace_source.h"
#include "formats/io/executor.h"

namespace tracekiln::dataset {

struct MergeInput {
  int64_t rank = 0;  // each once
  std::string name;  // for messages and metadata
  std::function<absl::StatusOr<std::unique_ptr<TraceSource>>()> open;
  std::optional<RankClock> clock;  // absent: its times are taken as they are
};

inline constexpr int64_t kMaxMergedRank = (int64_t{1} << 17) - 1;

class MergedSource final : public TraceSource {
 public:
  MergedSource(std::vector<MergeInput> inputs, io::Executor& executor);
  ~MergedSource() override;

  absl::StatusOr<bool> Next(EventBatch* batch) override;
  const TraceInfo& info() const override { return info_; }
  // Ranks done and in all, not bytes.
  Progress progress() const override;

 private:
  struct Process {
    int64_t pid = 0;
    std::string name;  // by the trace's metadata
    std::string old_pid;
    bool is_device = false;
  };

  absl::Status OpenNext();
  absl::Status Rename(EventBatch* batch);
  absl::StatusOr<size_t> ProcessOf(const EventBatch& batch, const TrackPart& pid);
  int64_t RenameId(int64_t id);
  void RenameArgs(EventBatch* batch);
  void AppendProcessNames(EventBatch* batch) const;
  void FinishRank();

  std::vector<MergeInput> inputs_;
  io::Executor& executor_;
  size_t next_ = 0;
  std::unique_ptr<TraceSource> source_;
  absl::Status status_;
  TraceInfo info_;
  std::vector<std::pair<std::string, std::string>> merged_ranks_;  // name, JSON
  // Of the rank being read.
  std::vector<Process> processes_;
  std::unordered_map<std::string, size_t> process_of_pid_;
  std::unordered_map<int64_t, int64_t> large_ids_;
};

}  // namespace tracekiln::dataset

#endif  // TRACEKILN_ANALYSIS_DATASET_MERGE_MERGED_SOURCE_H_
