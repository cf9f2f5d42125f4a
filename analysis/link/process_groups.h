// Process groups of a trace: names, purposes and member ranks, from whatever says something of them.
//
//   ProcessGroups groups;
//   groups.AddTrace(source.info());       // Kineto: distributedInfo
//   groups.AddGraph(execution_trace);     // PyTorch: "## process_group:init ##"; linked graphs: process_groups
//   const ProcessGroup* group = groups.Find("1");
//
// A group is known by its name, which PyTorch makes the same on all ranks: mostly a running number, "0" being the group
// of all ranks; of groups that were made without asking all ranks a hash. A rank knows the groups that it belongs to,
// and not always all of them. Not thread-safe; memory: the texts.
#ifndef TRACEKILN_ANALYSIS_LINK_PROCESS_GROUPS_H_
#define TRACEKILN_ANALYSIS_LINK_PROCESS_GROUPS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/strings/string_view.h"
#include "formats/intermediate/graph.h"
#include "formats/intermediate/trace_source.h"

namespace tracekiln {

// More ranks than any list of ours is expanded to: what claims more is damage.
inline constexpr int64_t kMaxGroupSize = int64_t{1} << 20;

struct ProcessGroup {
  std::string name;
  std::string description;  // "default_pg", "mesh_dp", "undefined"; empty: not said
  std::string backend;      // "cuda:nccl"; empty: not said
  std::string ranks;        // global ranks as a JSON list, "[0,1]", in the group's order; empty: not known
  int64_t size = -1;        // ranks in it; -1: not known
};

class ProcessGroups {
 public:
  // What is known already is kept, gaps are filled. Text that is no such thing adds nothing.

  // The metadata "distributedInfo", with its rank, world size and groups.
  void AddTrace(const TraceInfo& info);
  void AddDistributedInfo(absl::string_view json);
  // PyTorch's nodes "## process_group:init ##", and the attributes that a linked graph has of its rank and groups.
  // Inputs in the form of Python's repr, as Chakra's tools write them, are read too.
  void AddGraph(const Graph& graph);
  // [{"pg_name": "0", "pg_desc": …, "ranks": […], "pg_size" or "group_size": 2}, …]. No ranks: all ranks there are.
  void AddList(absl::string_view json);

  // The group of that name, or null. Valid until something is added.
  const ProcessGroup* Find(absl::string_view name) const;
  // In the order in which they were first named.
  const std::vector<ProcessGroup>& all() const { return groups_; }
  // Names that two sources gave different ranks for; the first counts.
  const std::vector<std::string>& contradictions() const { return contradictions_; }

  std::optional<int64_t> rank;
  std::optional<int64_t> world_size;

  // As AddList reads it; empty if there is no group.
  std::string ToJson() const;

 private:
  void Add(ProcessGroup group);

  std::vector<ProcessGroup> groups_;
  std::unordered_map<std::string, size_t> by_name_;
  std::vector<std::string> contradictions_;
};

// Whether the node is PyTorch's "## process_group:init ##" (or a METADATA node that a Chakra tool made of it).
bool IsProcessGroupInit(absl::string_view node_name);

// "[0,4,8]": `size` ranks from `start` on. Empty unless 0 <= start, 0 < stride, 0 < size <= kMaxGroupSize and the last
// one fits.
std::string RankListText(int64_t start, int64_t stride, int64_t size);
std::string RankListText(const std::vector<int64_t>& ranks);

// The ranks of a list such as "[0, 1, 2]", or nullopt if it is no list of non-negative integers: empty, or cut off with
// dots as Kineto does behind 30 entries.
std::optional<std::vector<int64_t>> RanksOf(absl::string_view list);

}  // namespace tracekiln

#endif  // TRACEKILN_ANALYSIS_LINK_PROCESS_GROUPS_H_
