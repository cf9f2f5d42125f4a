#include "formats/pstats/viewer_root.h"

#include <algorithm>
#include <vector>

namespace tracekiln::pstats {

bool AddViewerRoot(Profile* profile) {
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
