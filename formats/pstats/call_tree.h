// CallTree: walks the slices of host threads as calls, and writes them into a Profile.
//
//   CallTree tree(timeline, options);
//   tree.BeginRow("<trace>");
//   tree.BeginRow("<thread 1>");
//   tree.AddSlices(thread, indices, window);
//   tree.EndRow();
//   tree.EndRow();
//   Profile profile = std::move(tree).TakeProfile();
//
// The rows and times are those of timeline_profile.h. Not thread-safe.
#ifndef TRACEKILN_FORMATS_PSTATS_CALL_TREE_H_
#define TRACEKILN_FORMATS_PSTATS_CALL_TREE_H_

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "formats/intermediate/profile.h"
#include "formats/pstats/call_recorder.h"
#include "formats/pstats/host_timeline.h"
#include "formats/pstats/timeline_profile.h"

namespace tracekiln::pstats {

// [begin_ns, end_ns)
struct Window {
  int64_t begin_ns = std::numeric_limits<int64_t>::min();
  int64_t end_ns = std::numeric_limits<int64_t>::max();
  bool Has(int64_t t) const { return begin_ns <= t && t < end_ns; }
};

class CallTree {
 public:
  CallTree(const HostTimeline& timeline, const TimelineProfileOptions& options)
      : timeline_(timeline), options_(options), recorder_(&profile_) {}

  // A row that stands for no slice: its time is that of what it calls until EndRow, its own time is 0. If such rows are
  // within it, theirs add up (threads run side by side); else it is the union of the slices.
  void BeginRow(absl::string_view name);
  void EndRow();

  // A slice under which further rows and slices come until EndSlice; its own time is not reduced by rows of BeginRow.
  void BeginSlice(const HostSlice& slice, const Window& window);
  void EndSlice();

  // Slices `first` to `last` (exclusive) of a thread, or those listed, ascending; all cut to the window.
  void AddSlices(const HostThread& thread, size_t first, size_t last, const Window& window);
  void AddSlices(const HostThread& thread, absl::Span<const uint32_t> slices, const Window& window);

  // Device work called by the innermost row.
  void AddWork(absl::Span<const DeviceWork> work);

  // Whether anything was written so far.
  bool empty() const { return profile_.row_count() == 0; }
  Profile TakeProfile() && { return std::move(profile_); }

 private:
  static constexpr uint32_t kNoFunction = 0xffffffffu;
  struct Call {
    int64_t start_ns;
    int64_t end_ns;            // of the slice
    int64_t open_end_ns;       // no later than that of the call around it
    int64_t covered_until_ns;  // by the calls made so far
    int64_t children_ns;       // union of the calls made, within this one
    int64_t work_ns;           // device work launched within (gpu=only)
    int64_t rows_ns;           // of rows made by BeginRow within
    FunctionId id;
    uint32_t path;
    bool is_row;        // of BeginRow
    bool is_host_call;  // role kHostCall
    bool is_entered;    // the recorder knows it
  };
  struct Path {
    FunctionId id;
    uint32_t path;
  };

  bool IsShown(CategoryRole role) const;
  void Push(int64_t start_ns, int64_t end_ns, FunctionId id, uint32_t path, bool is_row, bool is_host_call);
  void Pop();
  void EnterAll();
  void AddSlice(const HostSlice& slice, const Window& window, size_t bottom);
  void AddWorkOf(const HostSlice& slice, size_t bottom);
  // The row of a function when called by the innermost call (`caller`: its place in the stack; -1: none).
  Path RowOf(uint32_t function, ptrdiff_t caller);
  Path PathTo(ptrdiff_t caller, uint64_t key, absl::string_view file, int64_t line, absl::string_view name);

  const HostTimeline& timeline_;
  const TimelineProfileOptions options_;
  Profile profile_;
  CallRecorder recorder_;
  std::vector<Call> stack_;
  std::vector<uint32_t> id_of_function_;  // by timeline function; kNoFunction: not yet
  absl::flat_hash_map<std::pair<uint32_t, uint64_t>, Path> paths_;
};

}  // namespace tracekiln::pstats

#endif  // TRACEKILN_FORMATS_PSTATS_CALL_TREE_H_
