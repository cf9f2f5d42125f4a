// A timeline as a profile: the nesting of Python frames, annotations, operators and runtime calls of each host thread
// becomes a call tree, and that the rows of a pstats profile; kernels and copies become rows called by the operators
// that launched them.
//
//   TimelineProfiler profiler(options);
//   if (absl::Status status = profiler.Read(*source); !status.ok()) return status;
//   absl::StatusOr<Profile> profile = profiler.Whole();
//
// Times. The own time of a call is its duration minus the union of what it calls, as far as that lies within it; the
// cumulative time is its duration, counted once under recursion (call_recorder.h). So the own times of a thread add up
// to the self times of its slices, in ns; a slice that overlaps its neighbour without nesting stands beside it. GPU
// time is never subtracted from CPU time: a kernel's row has its duration as own and cumulative time.
//
// Rows.
//   Python frame "model.py(10): forward"  ('model.py', 10, 'forward')
//   operator, annotation, runtime call    ('~', 0, 'aten::mm')
//   kernel, copy, memset                  ('~', 0, '<gpu NAME>'), called by the nearest operator, annotation or frame
//                                         around the launch; without launch by ('~', 0, '<gpu work without launch>')
//   thread, trace (root=on)               ('~', 0, '<thread 1262 main>'), called by ('~', 0, '<rank 3>') or '<trace>';
//                                         both without own time. Without them most viewers would show one top-level
//                                         operator only.
//
// A window (of time, or of a step) keeps what overlaps it, cut to it; device work counts if it was launched within.
// Memory and time: see host_timeline.h. Not thread-safe.
#ifndef TRACEKILN_FORMATS_PSTATS_TIMELINE_PROFILE_H_
#define TRACEKILN_FORMATS_PSTATS_TIMELINE_PROFILE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/intermediate/profile.h"
#include "formats/intermediate/trace_source.h"

namespace tracekiln::pstats {

struct TimelineProfileOptions {
  enum class Gpu : uint8_t {
    kRows,  // CPU times, and rows of device work beside them
    kOff,   // no rows of device work
    kOnly,  // all times are those of device work: a call has the work that was launched within it as cumulative time,
            // only device work has own time, and what launched nothing is left out
  };
  enum class Frames : uint8_t {
    kAll,     // Python frames, annotations, operators, runtime calls
    kPython,  // Python frames only
    kOps,     // all but Python frames
  };
  Gpu gpu = Gpu::kRows;
  Frames frames = Frames::kAll;
  // One row per path instead of one per function: the second path to a function gets the name "NAME @CALLER", and " #2"
  // if that is taken. A profile holds edges only, so without this flame views show paths that never were.
  bool has_paths = false;
  // Rows for the trace and for each thread above everything.
  bool has_root = true;
  // Calls nested deeper than this many rows belong to what called them. 0: no limit.
  uint32_t max_depth = 0;
  // Only what lies between the begin and the end of ProfilerStep#N; where steps overlap, the next one begins.
  std::optional<int64_t> step;
  // In ns from the trace's base.
  std::optional<int64_t> window_begin_ns;
  std::optional<int64_t> window_end_ns;
  // Which annotations are actions, see ForEachAction: RE2, matched anywhere in the name. Empty: all.
  std::string actions;
  // Whether an action has what other threads did meanwhile.
  bool has_other_threads = true;
};

// One profile of several.
struct NamedProfile {
  std::string name;  // of the action or of the thread
  Profile profile;
  uint64_t call_count = 0;  // of the action
  int64_t duration_ns = 0;  // of all its calls
};

class TimelineProfiler {
 public:
  explicit TimelineProfiler(const TimelineProfileOptions& options);
  ~TimelineProfiler();

  // Reads the rest of `source`. InvalidArgument if the options name a pattern that is none or a step that is not there.
  [[nodiscard]] absl::Status Read(TraceSource& source);

  // Whether the trace has no slice that could be in a profile. REQUIRES here and below: Read was OK.
  bool empty() const;

  // All threads in one profile.
  Profile Whole() const;

  using Use = std::function<absl::Status(NamedProfile profile)>;
  // One profile per thread that has anything in the window; its name is "PID/TID NAME". Stops at the first error of
  // `use`. Device work without launch is in none of them.
  [[nodiscard]] absl::Status ForEachThread(const Use& use) const;

  // One profile per name of an action, in the order of their first call: all that ran inside its calls, also where
  // other actions ran inside. Actions are host annotations (Lightning's prefix "[pl][profile]" is taken off the name).
  // The action is the root; what other threads did during its calls is cut to them and called by rows of these threads,
  // which the action calls without losing own time. With a window: calls that begin in it.
  // NotFound if there is none; the message lists some names.
  [[nodiscard]] absl::Status ForEachAction(const Use& use) const;

  // What was left out, as sentences for the user; empty if nothing was.
  std::vector<std::string> Notes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tracekiln::pstats

#endif  // TRACEKILN_FORMATS_PSTATS_TIMELINE_PROFILE_H_
