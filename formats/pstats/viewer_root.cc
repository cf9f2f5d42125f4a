#include "formats/pstats/viewer_root.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tracekiln::pstats {

namespace {

// flameprof goes up from each function with own time, through callers by their cumulative times, and divides by the
// sum.
void AddCallerTimes(Profile* profile) {
  const size_t count = profile->functions().size();
  std::vector<bool> has_caller(count, false);
  std::vector<bool> has_time_by_callers(count, false);
  std::vector<uint32_t> reached;
  for (const Profile::Edge& e : profile->edges()) {
    has_caller[Index(e.callee)] = true;
    if (e.stats.cumulative_ns == 0) continue;
    has_time_by_callers[Index(e.callee)] = true;
    reached.push_back(Index(e.caller));
  }
  for (uint32_t i = 0; i < count; ++i) {
    if (profile->functions()[i].stats.own_ns != 0) reached.push_back(i);
  }
  const auto lacks_time = [&](uint32_t f) { return has_caller[f] && !has_time_by_callers[f]; };
  if (std::none_of(reached.begin(), reached.end(), lacks_time)) return;
  const CallGraph graph(*profile);
  while (!reached.empty()) {
    const uint32_t f = reached.back();
    reached.pop_back();
    if (!lacks_time(f)) continue;
    has_time_by_callers[f] = true;
    for (const uint32_t e : graph.CallersOf(FunctionId{f})) {
      profile->edge_stats(e).cumulative_ns = 1;
      reached.push_back(Index(profile->edges()[e].caller));
    }
  }
}

}  // namespace

bool AddViewerRoot(Profile* profile) {
  AddCallerTimes(profile);
  if (profile->row_count() == 0) return false;
  std::vector<bool> is_called(profile->functions().size(), false);
  bool has_edge = false;
  for (const Profile::Edge& e : profile->edges()) {
    is_called[Index(e.callee)] = true;
    // Who only calls itself is no chart yet.
    has_edge |= e.caller != e.callee;
  }
  bool has_root = false;
  bool has_time = false;
  std::vector<FunctionId> roots;
  FunctionId longest = profile->rows()[0];
  for (FunctionId f : profile->rows()) {
    const CallStats& stats = profile->function(f).stats;
    has_time |= stats.own_ns != 0;
    if (stats.cumulative_ns > profile->function(longest).stats.cumulative_ns) longest = f;
    if (is_called[Index(f)]) continue;
    roots.push_back(f);
    has_root |= stats.cumulative_ns > kViewerRootNs;
  }
  if (has_root && has_edge && has_time && profile->row_count() >= 2) return false;
  const FunctionId exec = profile->AddFunction("~", 0, kViewerRootName);
  if (profile->function(exec).is_row && !is_called[Index(exec)] && has_edge && has_time) return false;
  roots.erase(std::remove(roots.begin(), roots.end(), exec), roots.end());
  if (roots.empty()) roots.push_back(longest);
  CallStats sum{1, 1, has_time ? 0 : 1, has_time ? 0 : 1};
  for (FunctionId f : roots) {
    const CallStats stats = profile->function(f).stats;
    sum.Add({0, 0, 0, stats.cumulative_ns});
    profile->AddCallerStats(exec, f, stats);
  }
  profile->AddStats(exec, sum);
  return true;
}

}  // namespace tracekiln::pstats
