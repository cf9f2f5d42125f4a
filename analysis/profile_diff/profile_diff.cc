#include "analysis/profile_diff/profile_diff.h"

#include <algorithm>
#include <tuple>

namespace tracekiln::profile_diff {
namespace {

int64_t SaturatingDifference(int64_t a, int64_t b) {
  int64_t difference;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return a < 0 ? INT64_MIN : INT64_MAX;
}

CallStats Difference(const CallStats& after, const CallStats& before) {
  return {SaturatingDifference(after.call_count, before.call_count),
          SaturatingDifference(after.primitive_call_count, before.primitive_call_count),
          SaturatingDifference(after.own_ns, before.own_ns),
          SaturatingDifference(after.cumulative_ns, before.cumulative_ns)};
}

uint64_t Magnitude(int64_t value) {
  return value < 0 ? ~static_cast<uint64_t>(value) + 1 : static_cast<uint64_t>(value);
}

}  // namespace

ProfileDiff DiffProfiles(const Profile& before, const Profile& after, Impact impact, bool keep_unchanged) {
  ProfileDiff diff;
  diff.before = before.Total();
  diff.after = after.Total();
  diff.change = Difference(diff.after, diff.before);
  const auto add = [&](FunctionChange change) {
    change.change = Difference(change.after, change.before);
    const bool is_unchanged = change.before == change.after && change.in_before && change.in_after;
    if (is_unchanged) ++diff.unchanged_count;
    if (!is_unchanged || keep_unchanged) diff.changes.push_back(change);
  };
  for (const FunctionId row : before.rows()) {
    FunctionChange change;
    change.in_before = row;
    change.before = before.function(row).stats;
    const std::optional<FunctionId> match =
        after.FindFunction(before.file(row), before.function(row).line, before.name(row));
    if (match && after.function(*match).is_row) {
      change.in_after = *match;
      change.after = after.function(*match).stats;
    }
    add(change);
  }
  for (const FunctionId row : after.rows()) {
    const std::optional<FunctionId> match =
        before.FindFunction(after.file(row), after.function(row).line, after.name(row));
    if (match && before.function(*match).is_row) continue;
    FunctionChange change;
    change.in_after = row;
    change.after = after.function(row).stats;
    add(change);
  }
  const auto rank = [&](const FunctionChange& c) {
    const uint64_t own = Magnitude(c.change.own_ns), cumulative = Magnitude(c.change.cumulative_ns);
    const bool is_own = impact == Impact::kOwn;
    return std::make_tuple(is_own ? own : cumulative, is_own ? cumulative : own, Magnitude(c.change.call_count));
  };
  std::stable_sort(diff.changes.begin(), diff.changes.end(),
                   [&](const FunctionChange& a, const FunctionChange& b) { return rank(a) > rank(b); });
  return diff;
}

}  // namespace tracekiln::profile_diff
