// What the viewers of `.prof` files would do with a profile, walked as they walk it, with a bound on the work: which
// function SnakeViz starts at and how large its tree gets, how deep tuna and flameprof recurse, and whether flameprof
// divides by zero.
//
//   CallGraph graph(profile);
//   std::optional<FunctionId> root = SnakeVizRoot(profile, graph);
//   SnakeVizTree tree = WalkSnakeVizTree(profile, graph, *root);
//
// Sources: snakeviz 2.2.2 (stats.py, templates/viz.html, static/snakeviz.js), tuna 0.5.15 (_runtime_profile.py),
// flameprof 0.4. The numbers of limits were measured with CPython 3.11 and Chromium 156.
//
// REQUIRES everywhere: every function named as a caller is a row, and edges have their times; the viewers load no other
// file. Cost: O(functions + edges) beside the stated bounds. Thread-safe.
#ifndef TRACEKILN_ANALYSIS_PROFILE_HEALTH_VIEWER_WALKS_H_
#define TRACEKILN_ANALYSIS_PROFILE_HEALTH_VIEWER_WALKS_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "formats/intermediate/profile.h"

namespace tracekiln::profile_health {

// The function that SnakeViz's chart starts at: one that is never called, of those the one with the greatest cumulative
// time; if all are called, the one with the greatest of all. Functions that neither call nor are called don't count.
// Absent if no function is left: the page then shows an error in place of the chart.
std::optional<FunctionId> SnakeVizRoot(const Profile& profile, const CallGraph& graph);

// SnakeViz unfolds the graph into a tree: 10 levels below the root, without functions that are already on the path, and
// without children of less than 1/1000 of their parent's time. That is exponential on wide graphs, and the page passes
// it on as one JSON text.
struct SnakeVizTree {
  // Measured: 2.4 M boxes (340 MB of JSON) are drawn in 9 s; 6.7 M exceed the longest string of the browser, which then
  // shows an error; 16 M and more crash the tab.
  static constexpr uint64_t kMaxNodes = 2'000'000;
  static constexpr uint64_t kMaxJsonBytes = 400'000'000;
  static constexpr uint64_t kMaxSteps = 20'000'000;  // children looked at

  uint64_t node_count = 0;
  uint64_t json_bytes = 0;    // about
  bool is_too_large = false;  // a limit was passed; the counts are those until then
};
SnakeVizTree WalkSnakeVizTree(const Profile& profile, const CallGraph& graph, FunctionId root);

// tuna goes down from each function that has no caller and more than 10 us (and from exec()), through functions with
// one caller; below one with several it stops and names what may come. So it walks a forest.
struct TunaTree {
  // Measured: 450 functions below each other are shown, 500 end in a RecursionError. 300 leaves room for the caller.
  static constexpr size_t kMaxDepth = 300;
  static constexpr int64_t kMinRootNs = 10'000;

  size_t root_count = 0;  // 0: "No root node found"
  size_t depth = 0;       // functions on the longest path
  std::optional<FunctionId> deepest;
  size_t cut_count = 0;  // functions below which it doesn't go, though they call something
};
TunaTree WalkTunaTree(const Profile& profile, const CallGraph& graph);

// flameprof counts paths, draws them from the roots down, and from each function up through its callers.
struct FlameprofPicture {
  // Measured: 950 functions below each other are drawn, 1000 end in a RecursionError.
  static constexpr size_t kMaxDepth = 900;
  static constexpr uint64_t kMaxSteps = 10'000'000;  // callers and callees looked at; some 10 s in Python

  enum class Failure : uint8_t {
    kNone,
    kNoTime,            // the own times add up to 0: ZeroDivisionError
    kNoCalls,           // no function has a caller: max() of nothing
    kEdgesWithoutTime,  // `where` has own time, and its callers no cumulative time: ZeroDivisionError
    kNothingLarge,      // no own time above 0.1 % of the whole: max() of nothing
    kTooDeep,           // RecursionError; `where` is beyond kMaxDepth
    kTooLarge,          // kMaxSteps passed
  };
  Failure failure = Failure::kNone;
  std::optional<FunctionId> where;
  size_t depth = 0;  // of its recursion, as far as walked
  // Cumulative time of the roots over the sum of own times; outside of 0.8 to 1.2 it warns and guesses a root.
  double root_ratio = 0;
};
FlameprofPicture WalkFlameprofPicture(const Profile& profile, const CallGraph& graph);

}  // namespace tracekiln::profile_health

#endif  // TRACEKILN_ANALYSIS_PROFILE_HEALTH_VIEWER_WALKS_H_
