// Clocks: by how much the clocks of ranks differ, from the collectives that they took part in together.
//
// No clock is common to the hosts of a job, and raw time stamps of two ranks may differ by seconds. But a collective in
// which each member needs something from all others (all-reduce, all-gather, reduce-scatter, all-to-all, barrier) ends
// on all of them at about the same moment. Matched instances of such collectives therefore give each rank's offset and
// drift against a reference, and their scatter says how far to trust that.
//
//   dataset::CollectiveCollector collector;             // one for each rank
//   while (…) collector.Add(batch);
//   ranks.push_back(std::move(collector).Finish(rank, source->info()));
//   …
//   dataset::ClockAlignment alignment = dataset::AlignClocks(ranks);
//   const dataset::RankClock* clock = alignment.Find(3);
//   if (clock->is_aligned) ts_ns = clock->ToReference(ts_ns);
//
// Matching. Instances are the same if process group and number ("Seq") are. Where a rank's collectives of a group have
// no numbers, the n-th of a kind counts as the n-th of that kind on the others, but only if all members have equally
// many: otherwise the captures begin at different places, and nothing is matched by position. Collectives on a device
// count before those on the host; a rank that has the former is not looked at for the latter.
//
// Offsets. The reference is the lowest rank. A rank's offset is the median over its instances of its end minus the
// median end of the members that are aligned already, so ranks that share no group with the reference are aligned
// through others. A drift is fitted (Theil-Sen) where 20 instances or more span a second or more, and taken if it
// halves the scatter. The residual is the median of what is left.
//
// Nothing here changes a trace: who applies an alignment says so. Thread-compatible.
#ifndef TRACEKILN_ANALYSIS_DATASET_CLOCKS_CLOCKS_H_
#define TRACEKILN_ANALYSIS_DATASET_CLOCKS_CLOCKS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "analysis/views/collectives.h"
#include "formats/intermediate/event_batch.h"
#include "formats/intermediate/trace_source.h"

namespace tracekiln::dataset {

// One collective on one rank. Several kernels with one number (coalesced operations) are one.
struct CollectiveInstance {
  uint32_t group = 0;  // index into RankCollectives::groups
  CollectiveKind kind = CollectiveKind::kUnknown;
  std::optional<int64_t> seq;
  int64_t start_ns = 0;  // since the epoch, by the rank's clock
  int64_t end_ns = 0;
};

struct RankCollectives {
  int64_t rank = 0;
  std::vector<std::string> groups;            // name and members, as the trace has them
  std::vector<CollectiveInstance> instances;  // by start
  bool is_on_device = false;
};

// 40 bytes per collective. Not thread-safe.
class CollectiveCollector {
 public:
  void Add(const EventBatch& batch);
  // `info` is that of the trace after its last batch: its base makes times comparable.
  RankCollectives Finish(int64_t rank, const TraceInfo& info) &&;

 private:
  uint32_t InternGroup(const CollectiveSlice& slice);

  CollectiveReader reader_;
  std::vector<std::string> groups_;
  std::vector<CollectiveInstance> device_;
  std::vector<CollectiveInstance> host_;
};

struct RankClock {
  int64_t rank = 0;
  bool is_aligned = false;      // false: no matched collective connects it with the reference
  int64_t offset_ns = 0;        // its clock minus the reference's, at `origin_ns`
  int64_t origin_ns = 0;        // by its own clock
  double drift = 0;             // by how much its clock runs faster: ns per ns
  uint64_t instance_count = 0;  // used
  int64_t residual_ns = 0;      // median distance from the fit
  int64_t worst_ns = 0;         // greatest distance

  // A time by this clock, by the reference clock. REQUIRES: is_aligned.
  int64_t ToReference(int64_t ns) const;
};

// How a rank fares in the matched collectives, on the common clock.
struct RankWaiting {
  int64_t rank = 0;
  uint64_t instance_count = 0;
  int64_t wait_sum_ns = 0;       // latest start of all members minus own start
  int64_t skew_sum_ns = 0;       // own start minus that of the lowest member
  int64_t worst_skew_ns = 0;     // the one of greatest magnitude
  std::vector<int64_t> skew_ns;  // in the order of time; at most kMaxSkews of them
  static constexpr size_t kMaxSkews = 16;
};

// Instances of a rank that no other rank has.
struct Unmatched {
  int64_t rank = 0;
  std::string group;
  CollectiveKind kind = CollectiveKind::kUnknown;
  uint64_t count = 0;
  std::optional<int64_t> first_seq;
  std::string reason;  // "no partner", "without numbers, and the ranks have different counts"
};

struct ClockAlignment {
  std::optional<int64_t> reference;  // absent: no ranks
  uint64_t matched_count = 0;        // collectives with at least two members
  std::vector<RankClock> clocks;     // by rank
  std::vector<RankWaiting> waiting;  // by rank; empty unless all members of some collective are aligned
  std::vector<Unmatched> unmatched;  // by rank

  const RankClock* Find(int64_t rank) const;
  // Whether all ranks are aligned and there are at least two.
  bool is_complete() const;
};

// O(n log n) in the number of instances of all ranks. Ranks that occur twice count as different captures of that rank.
ClockAlignment AlignClocks(absl::Span<const RankCollectives> ranks);

}  // namespace tracekiln::dataset

#endif  // TRACEKILN_ANALYSIS_DATASET_CLOCKS_CLOCKS_H_
