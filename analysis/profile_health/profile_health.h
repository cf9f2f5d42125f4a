// Health of a profile: which viewers will choke on it and why, and what a chart will hide.
//
//   ProfileHealth health = AnalyzeProfile(profile, source->info().report);
//   for (const ProfileFinding& finding : health.findings) …
//   health.FailingViewers()
//
// A warning is something with which at least one viewer fails or shows nothing; a note is something that a chart hides
// or distorts. What fails is what was measured with the programs themselves (pstats of CPython 3.11, SnakeViz 2.2.2,
// tuna 0.5.15, gprof2dot 2025.4.14 with dot, flameprof 0.4, pyprof2calltree 1.4.5), not what their documents say.
//
// Warnings (code: meaning; viewers)
//   empty_profile          no functions; all
//   invalid_utf8           a name is not UTF-8, so that no Python loads the file; all
//   python2_file           written by Python 2, which no Python 3 loads; all
//   caller_without_row     a function is named as a caller and has no row; all but pstats
//   callers_without_times  callers are counts, as the module `profile` writes them; SnakeViz, tuna, flameprof,
//                          pyprof2calltree
//   non_finite_time        nan or inf; SnakeViz, gprof2dot, flameprof, pyprof2calltree
//   lone_surrogate         in a name; all that write it as UTF-8: pstats, gprof2dot, flameprof, pyprof2calltree
//   nul_in_name            gprof2dot, flameprof
//   control_byte_in_name   what XML doesn't have (tabs and line breaks are fine); flameprof
//   script_end_in_name     "</script"; SnakeViz
//   html_comment_in_name   "<!--" in one name and "<script" in one; SnakeViz, tuna
//   import_log             the file begins like text, and tuna reads it as a log of imports; tuna
//   same_text              rows with the same file:line(name), of which one remains; SnakeViz
//   flat                   nothing calls anything; SnakeViz, flameprof
//   no_root                each function has a caller; short_root: those without last 10 us or less; tuna
//   no_time                the own times add up to 0; flameprof
//   no_time_from_callers   a function has own time, its calls by others have none; flameprof
//   nothing_large          no function has 0.1 % of the time as own time; flameprof
//   too_deep_for_tuna      more than 300 calls below each other; count: how many
//   too_deep_for_flameprof the same with 900
//   too_many_paths         flameprof would look at over 10 million calls; SnakeViz would make over 2 million boxes
//                          (too_large_tree)
// Notes
//   many_rows              over 50,000: SnakeViz's page takes some 40 s
//   root_is_profiler       SnakeViz's chart starts at the profiler's own exit
//   root_covers_little     SnakeViz's chart starts at a function with less than 90 % of the time
//   roots_unlike_sum       the roots' time is not within 20 % of all own times: flameprof guesses a root
//   unconnected            rows that neither call nor are called: not in SnakeViz's chart
//   cut_by_tuna            functions with several callers that call others: tuna shows nothing below
//   negative_time          times below 0; boxes of such width are not drawn
//   odd_counts             fewer than 1 call, or more primitive calls than calls
//   callers_exceed_calls   the callers' calls are more than the function's; calls_from_outside: they are fewer (some
//                          calls came from where nothing was recorded), and charts by callers leave out the rest
//   inexact_sums           own times by caller don't add up to the function's, by more than 1 us and 0.01 %
//   merged_rows            the file has functions twice; viewers keep the last row, here they are added up
//   count_out_of_range     counts beyond 64 bits, shown as 2^63 - 1
//   trailing_bytes         behind the profile; no viewer sees them
//
// Time O(functions + edges) beside the bounded walks (viewer_walks.h); memory 30 bytes per function and edge beside
// CallGraph's. Thread-safe.
#ifndef TRACEKILN_ANALYSIS_PROFILE_HEALTH_PROFILE_HEALTH_H_
#define TRACEKILN_ANALYSIS_PROFILE_HEALTH_PROFILE_HEALTH_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "formats/intermediate/import_report.h"
#include "formats/intermediate/profile.h"

namespace tracekiln::profile_health {

enum class Viewer : uint8_t { kPstats, kSnakeViz, kTuna, kGprof2dot, kFlameprof, kPyprof2calltree };
inline constexpr int kViewerCount = 6;
absl::string_view ViewerName(Viewer viewer);  // "pstats", "snakeviz", …

// A set of viewers.
class ViewerSet {
 public:
  constexpr ViewerSet() = default;
  template <typename... V>
  constexpr explicit ViewerSet(Viewer first, V... rest) : bits_((Bit(first) | ... | Bit(rest))) {}
  static constexpr ViewerSet All() { return FromBits((1 << kViewerCount) - 1); }

  constexpr bool Has(Viewer viewer) const { return (bits_ & Bit(viewer)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr ViewerSet operator|(ViewerSet other) const { return FromBits(bits_ | other.bits_); }
  friend constexpr bool operator==(ViewerSet a, ViewerSet b) { return a.bits_ == b.bits_; }
  std::vector<absl::string_view> Names() const;  // in the order of Viewer

 private:
  static constexpr uint8_t Bit(Viewer viewer) { return static_cast<uint8_t>(1 << static_cast<int>(viewer)); }
  static constexpr ViewerSet FromBits(int bits) {
    ViewerSet set;
    set.bits_ = static_cast<uint8_t>(bits);
    return set;
  }
  uint8_t bits_ = 0;
};

enum class Severity : uint8_t { kNote, kWarning };

struct ProfileFinding {
  static constexpr size_t kMaxFunctions = 3;

  std::string code;
  Severity severity = Severity::kNote;
  ViewerSet viewers;  // that fail (warning) or hide or distort something (note)
  uint64_t count = 0;
  std::vector<FunctionId> first;  // at most kMaxFunctions, in the order of the rows; empty if it is about the file
  std::string text;               // one sentence
};

struct ProfileHealth {
  // Where SnakeViz's chart starts, and its share of all own time (may exceed 1); absent if it shows none, or if there
  // is no time to share.
  std::optional<FunctionId> snakeviz_root;
  std::optional<double> snakeviz_share;
  std::vector<ProfileFinding> findings;  // warnings first

  ViewerSet FailingViewers() const;  // those of warnings
  size_t warning_count() const;
  const ProfileFinding* Find(absl::string_view code) const;
};

// `file_head` is the beginning of the `.prof` file (64 KiB do, or all of a shorter one); empty if there is none, or it
// is of no interest.
ProfileHealth AnalyzeProfile(const Profile& profile, const ImportReport& report, absl::string_view file_head = {});

// "file:line(name)": SnakeViz's key for a function.
std::string FunctionText(const Profile& profile, FunctionId function);

// Whether tuna takes a file that begins so for a log of imports (python -X importtime), and then shows an empty chart
// or dies: if it can read the first line as UTF-8, 8 KiB at a time.
bool LooksLikeImportLog(absl::string_view file_head);

}  // namespace tracekiln::profile_health

#endif  // TRACEKILN_ANALYSIS_PROFILE_HEALTH_PROFILE_HEALTH_H_
