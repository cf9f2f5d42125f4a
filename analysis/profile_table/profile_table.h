// Which rows of a profile to show and in which order: sort keys, limits and filters with the names and the meaning that
// they have in Python's pstats.
//
//   absl::StatusOr<SortOrder> order = ParseSortOrder("tottime,name");
//   absl::StatusOr<Restriction> first = ParseLimit("20");
//   if (!order.ok() || !first.ok()) …
//   Selection selection = Select(profile, *order, /*reverse=*/false, {*first});
//   for (FunctionId f : selection.rows) …
//
// Only rows are selected, not functions that are merely named as callers. Const functions from several threads.
// Source: CPython 3.11 Lib/pstats.py.
#ifndef TRACEKILN_ANALYSIS_PROFILE_TABLE_PROFILE_TABLE_H_
#define TRACEKILN_ANALYSIS_PROFILE_TABLE_PROFILE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "formats/intermediate/profile.h"

namespace re2 {
class RE2;
}

namespace tracekiln::profile_table {

// Counts and times sort from the greatest, texts and lines from the least.
enum class SortKey : uint8_t {
  kCalls,
  kPrimitiveCalls,
  kOwn,
  kCumulative,
  kFile,
  kLine,
  kName,
  kStandardName,  // "file:line(name)", see function_text.h
};

struct SortOrder {
  std::vector<SortKey> keys;  // the first one counts most; none: the order of the profile's rows
  std::string description;    // as pstats prints it: "internal time, function name"
};

// Parses names of keys with commas between them: calls, ncalls, cumtime, cumulative, filename, line, module, name, nfl
// (name, file, line), pcalls, stdname, time, tottime, and their abbreviations as far as pstats takes them ("cu" but not
// "cum"). "none" alone is the order of the rows. InvalidArgument names the keys there are.
[[nodiscard]] absl::StatusOr<SortOrder> ParseSortOrder(absl::string_view text);

// A step that keeps some of the rows: the first so many, a share of them, or those with a match in the standard name.
struct Restriction {
  enum class Kind : uint8_t { kCount, kShare, kPattern };
  Kind kind = Kind::kCount;
  uint64_t count = 0;
  double share = 0;
  std::shared_ptr<const re2::RE2> pattern;
  std::string text;  // as Python's repr: 10, 0.1, 'name'
};

// "20" or "0.1" (a share, of the rows left by the steps before it, rounded). InvalidArgument for anything else.
[[nodiscard]] absl::StatusOr<Restriction> ParseLimit(absl::string_view text);
// A regular expression in RE2's syntax. InvalidArgument if it is none.
[[nodiscard]] absl::StatusOr<Restriction> ParseFilter(absl::string_view pattern);

// A restriction that had an effect.
struct Reduction {
  size_t before = 0;
  size_t after = 0;
  std::string restriction;  // Restriction::text
};

struct Selection {
  std::vector<FunctionId> rows;
  std::string order;  // SortOrder::description; empty: unsorted
  std::vector<Reduction> reductions;
};

// Sorts (stably: ties stay in the order of the profile's rows), reverses if told to (not if unsorted, as pstats), and
// applies the restrictions one after the other. O(rows * log rows); 16 bytes per row, and for kStandardName all texts.
Selection Select(const Profile& profile, const SortOrder& order, bool reverse,
                 absl::Span<const Restriction> restrictions);

}  // namespace tracekiln::profile_table

#endif  // TRACEKILN_ANALYSIS_PROFILE_TABLE_PROFILE_TABLE_H_
