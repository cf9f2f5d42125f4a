#include "analysis/profile_health/profile_health.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analysis/profile_health/viewer_walks.h"

namespace tracekiln::profile_health {
namespace {

constexpr size_t kManyRows = 50'000;
constexpr double kSmallShare = 0.9;
constexpr int64_t kSumToleranceNs = 1000;
constexpr double kSumTolerance = 1e-4;

constexpr ViewerSet kAllButPstats(Viewer::kSnakeViz, Viewer::kTuna, Viewer::kGprof2dot, Viewer::kFlameprof,
                                  Viewer::kPyprof2calltree);
constexpr ViewerSet kCharts(Viewer::kSnakeViz, Viewer::kTuna, Viewer::kFlameprof);

// Properties of a text, as bits.
enum TextFlag : uint8_t {
  kLoneSurrogate = 1,
  kNul = 2,
  kControlByte = 4,
  kScriptEnd = 8,
  kHtmlComment = 16,
  kScriptStart = 32,
};

bool StartsWithNoCase(absl::string_view text, absl::string_view lower) {
  return absl::StartsWithIgnoreCase(text, lower);
}

uint8_t FlagsOf(absl::string_view text) {
  uint8_t flags = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const uint8_t c = static_cast<uint8_t>(text[i]);
    if (c < 0x20) {
      if (c == 0) {
        flags |= kNul;
      } else if (c != '\t' && c != '\n' && c != '\r') {
        flags |= kControlByte;
      }
    } else if (c == '<') {
      const absl::string_view rest = text.substr(i);
      if (StartsWithNoCase(rest, "</script")) flags |= kScriptEnd;
      if (StartsWithNoCase(rest, "<script")) flags |= kScriptStart;
      if (absl::StartsWith(rest, "<!--")) flags |= kHtmlComment;
    } else if (c == 0xed && i + 2 < text.size() && static_cast<uint8_t>(text[i + 1]) >= 0xa0) {
      flags |= kLoneSurrogate;
    } else if (c == 0xef && i + 2 < text.size() && static_cast<uint8_t>(text[i + 1]) == 0xbf &&
               static_cast<uint8_t>(text[i + 2]) >= 0xbe) {
      flags |= kControlByte;  // U+FFFE, U+FFFF
    }
  }
  return flags;
}

// Length of the UTF-8 sequence at text[i], as Python's strict decoder sees it; 0: none, -1: cut off by the end.
int SequenceLength(absl::string_view text, size_t i) {
  const auto byte = [&text](size_t at) { return static_cast<uint8_t>(text[at]); };
  const uint8_t c = byte(i);
  if (c < 0x80) return 1;
  const int length = c >= 0xc2 && c <= 0xdf ? 2 : (c & 0xf0) == 0xe0 ? 3 : c >= 0xf0 && c <= 0xf4 ? 4 : 0;
  for (int k = 1; k < length; ++k) {
    if (i + k >= text.size()) return -1;
    uint8_t least = 0x80;
    uint8_t most = 0xbf;
    if (k == 1) {
      if (c == 0xe0) least = 0xa0;
      if (c == 0xed) most = 0x9f;
      if (c == 0xf0) least = 0x90;
      if (c == 0xf4) most = 0x8f;
    }
    if (byte(i + k) < least || byte(i + k) > most) return 0;
  }
  return length;
}

// A dict whose first key is a long tuple that begins with a byte string: Python 3 writes short tuples and text.
bool LooksLikePython2(absl::string_view file_head) {
  constexpr char kStart[] = "{(\3\0\0";  // and a zero
  return absl::StartsWith(file_head, absl::string_view(kStart, sizeof kStart)) && file_head.size() > sizeof kStart &&
         (file_head[sizeof kStart] == 's' || file_head[sizeof kStart] == 't');
}

class Analysis {
 public:
  Analysis(const Profile& profile, const ImportReport& report) : profile_(profile), report_(report), graph_(profile) {}

  ProfileHealth Run(absl::string_view file_head) {
    FromReport();
    if (LooksLikeImportLog(file_head)) {
      Warn("import_log", ViewerSet(Viewer::kTuna), 1,
           "the file begins like text, so tuna reads it as a log of imports; a first byte of 0xfb tells them apart");
    }
    if (LooksLikePython2(file_head)) {
      Warn("python2_file", ViewerSet::All(), 1, "Python 2 has written this; no Python 3 loads it");
    }
    if (profile_.row_count() == 0) {
      Warn("empty_profile", ViewerSet::All(), 1, "there are no functions; pstats loads no such file");
    } else {
      Rows();
      Texts();
      Sums();
      // Otherwise the viewers don't come that far, or see other times than we do.
      if (!Find("caller_without_row") && !Find("callers_without_times") && !Find("non_finite_time")) Walks();
    }
    std::stable_sort(health_.findings.begin(), health_.findings.end(),
                     [](const ProfileFinding& a, const ProfileFinding& b) { return a.severity > b.severity; });
    return std::move(health_);
  }

 private:
  ProfileFinding& Add(absl::string_view code, Severity severity, ViewerSet viewers, uint64_t count,
                      absl::string_view text) {
    ProfileFinding finding;
    finding.code = std::string(code);
    finding.severity = severity;
    finding.viewers = viewers;
    finding.count = count;
    finding.text = std::string(text);
    health_.findings.push_back(std::move(finding));
    return health_.findings.back();
  }
  ProfileFinding& Warn(absl::string_view code, ViewerSet viewers, uint64_t count, absl::string_view text) {
    return Add(code, Severity::kWarning, viewers, count, text);
  }
  const ProfileFinding* Find(absl::string_view code) const { return health_.Find(code); }

  // Counts one function more of a kind of finding.
  struct Tally {
    uint64_t count = 0;
    std::vector<FunctionId> first;
    void Add(FunctionId function) {
      ++count;
      if (first.size() < ProfileFinding::kMaxFunctions) first.push_back(function);
    }
  };
  void AddTally(absl::string_view code, Severity severity, ViewerSet viewers, Tally tally, absl::string_view text) {
    if (tally.count > 0) Add(code, severity, viewers, tally.count, text).first = std::move(tally.first);
  }

  void FromReport() {
    const auto add = [this](absl::string_view reason, absl::string_view code, Severity severity, ViewerSet viewers,
                            absl::string_view text) {
      if (const ImportReport::Entry* entry = report_.Find(reason)) Add(code, severity, viewers, entry->count, text);
    };
    add("invalid_utf8", "invalid_utf8", Severity::kWarning, ViewerSet::All(),
        "a name is not UTF-8, so that Python doesn't load the file");
    add("callers_without_times", "callers_without_times", Severity::kWarning,
        ViewerSet(Viewer::kSnakeViz, Viewer::kTuna, Viewer::kFlameprof, Viewer::kPyprof2calltree),
        "callers are counts without times, as the module profile writes them");
    add("non_finite_time", "non_finite_time", Severity::kWarning,
        ViewerSet(Viewer::kSnakeViz, Viewer::kGprof2dot, Viewer::kFlameprof, Viewer::kPyprof2calltree),
        "a time is nan or infinite; it is taken for 0 here");
    add("count_out_of_range", "count_out_of_range", Severity::kNote, ViewerSet(),
        "a count is beyond 64 bits; it is taken for the nearest that is not");
    add("trailing_bytes", "trailing_bytes", Severity::kNote, ViewerSet(),
        "there are bytes behind the profile, which no viewer sees");
    if (report_.merged > 0) {
      Add("merged_rows", Severity::kNote, ViewerSet::All(), report_.merged,
          "the file has functions more than once: viewers keep the last row, here they are added up");
    }
  }

  void Rows() {
    Tally no_row;
    Tally odd_counts;
    Tally negative;
    for (uint32_t i = 0; i < profile_.functions().size(); ++i) {
      if (!profile_.functions()[i].is_row) no_row.Add(FunctionId{i});
    }
    for (const FunctionId f : profile_.rows()) {
      const CallStats& stats = profile_.function(f).stats;
      if (stats.call_count < 1 || stats.primitive_call_count > stats.call_count) odd_counts.Add(f);
      bool is_negative = stats.own_ns < 0 || stats.cumulative_ns < 0;
      for (const uint32_t e : graph_.CallersOf(f)) {
        const CallStats& part = profile_.edges()[e].stats;
        is_negative |= part.own_ns < 0 || part.cumulative_ns < 0;
      }
      if (is_negative) negative.Add(f);
    }
    AddTally("caller_without_row", Severity::kWarning, kAllButPstats, std::move(no_row),
             "a function is named as a caller and has no numbers of its own");
    AddTally("negative_time", Severity::kNote, kCharts, std::move(negative),
             "times below 0 have no width in a chart, and make others too wide");
    AddTally("odd_counts", Severity::kNote, ViewerSet(), std::move(odd_counts),
             "fewer than one call, or more primitive calls than calls");
    if (profile_.row_count() > kManyRows) {
      Add("many_rows", Severity::kNote, ViewerSet(Viewer::kSnakeViz), profile_.row_count(),
          "SnakeViz's page has all rows in one table; with 50,000 it took 39 s to show");
    }
  }

  void Texts() {
    std::vector<uint8_t> flags(profile_.strings.size());
    for (uint32_t i = 0; i < flags.size(); ++i) flags[i] = FlagsOf(profile_.strings.Get(StringId{i}));
    Tally surrogate, nul, control, script_end, comment;
    bool has_script_start = false;
    for (const FunctionId f : profile_.rows()) {
      const Profile::Function& function = profile_.function(f);
      const uint8_t here = flags[Index(function.file)] | flags[Index(function.name)];
      if (here == 0) continue;
      if (here & kLoneSurrogate) surrogate.Add(f);
      if (here & kNul) nul.Add(f);
      if (here & kControlByte) control.Add(f);
      if (here & kScriptEnd) script_end.Add(f);
      if (here & kHtmlComment) comment.Add(f);
      has_script_start |= (here & kScriptStart) != 0;
    }
    AddTally("lone_surrogate", Severity::kWarning,
             ViewerSet(Viewer::kPstats, Viewer::kGprof2dot, Viewer::kFlameprof, Viewer::kPyprof2calltree),
             std::move(surrogate), "half of a surrogate pair in a name cannot be written as UTF-8");
    AddTally("nul_in_name", Severity::kWarning, ViewerSet(Viewer::kGprof2dot, Viewer::kFlameprof), std::move(nul),
             "a byte 0 in a name ends a string of dot's, and is not allowed in XML");
    AddTally("control_byte_in_name", Severity::kWarning, ViewerSet(Viewer::kFlameprof), std::move(control),
             "a control character in a name is not allowed in XML");
    AddTally("script_end_in_name", Severity::kWarning, ViewerSet(Viewer::kSnakeViz), std::move(script_end),
             "\"</script\" in a name ends the script of SnakeViz's page");
    if (has_script_start) {
      AddTally("html_comment_in_name", Severity::kWarning, ViewerSet(Viewer::kSnakeViz, Viewer::kTuna),
               std::move(comment), "\"<!--\" followed by \"<script\" in names hides the end of the page's script");
    }

    // Equal texts lie side by side when sorted by their hash.
    std::vector<std::pair<uint32_t, FunctionId>> by_hash;
    by_hash.reserve(profile_.row_count());
    for (const FunctionId f : profile_.rows()) by_hash.emplace_back(StringPool::Hash(FunctionText(profile_, f)), f);
    std::stable_sort(by_hash.begin(), by_hash.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<FunctionId> same;
    for (size_t begin = 0, end = 0; begin < by_hash.size(); begin = end) {
      while (end < by_hash.size() && by_hash[end].first == by_hash[begin].first) ++end;
      if (end == begin + 1) continue;
      std::vector<std::pair<std::string, FunctionId>> texts;
      for (size_t i = begin; i < end; ++i)
        texts.emplace_back(FunctionText(profile_, by_hash[i].second), by_hash[i].second);
      std::stable_sort(texts.begin(), texts.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      for (size_t i = 1; i < texts.size(); ++i) {
        if (texts[i].first == texts[i - 1].first) same.push_back(texts[i].second);
      }
    }
    if (!same.empty()) {
      std::sort(same.begin(), same.end());
      ProfileFinding& finding = Warn("same_text", ViewerSet(Viewer::kSnakeViz), same.size(),
                                     "functions have the file:line(name) of another, of which SnakeViz keeps one");
      same.resize(std::min(same.size(), ProfileFinding::kMaxFunctions));
      finding.first = std::move(same);
    }
  }

  void Sums() {
    Tally inexact, too_many, too_few;
    const bool has_times = !Find("callers_without_times") && !Find("non_finite_time");
    for (const FunctionId f : profile_.rows()) {
      const absl::Span<const uint32_t> callers = graph_.CallersOf(f);
      if (callers.empty()) continue;
      CallStats sum;
      for (const uint32_t e : callers) sum.Add(profile_.edges()[e].stats);
      const CallStats& stats = profile_.function(f).stats;
      if (sum.call_count > stats.call_count) too_many.Add(f);
      if (sum.call_count < stats.call_count) too_few.Add(f);
      const double off_ns = static_cast<double>(sum.own_ns) - static_cast<double>(stats.own_ns);
      const double allowed_ns = kSumToleranceNs + kSumTolerance * std::abs(static_cast<double>(stats.own_ns));
      if (has_times && (off_ns > allowed_ns || (sum.call_count == stats.call_count && off_ns < -allowed_ns))) {
        inexact.Add(f);
      }
    }
    AddTally("callers_exceed_calls", Severity::kNote, kCharts, std::move(too_many),
             "the calls by its callers are more than the calls of a function");
    AddTally("calls_from_outside", Severity::kNote, kCharts, std::move(too_few),
             "a function has callers, and calls from where nothing was recorded; those are in no chart");
    AddTally("inexact_sums", Severity::kNote, kCharts, std::move(inexact),
             "own times by caller don't add up to the own time of a function");
  }

  void Walks() {
    if (profile_.edges().empty()) {
      Warn("flat", ViewerSet(Viewer::kSnakeViz, Viewer::kFlameprof), profile_.row_count(),
           "nothing calls anything, so there is nothing to chart");
    }
    const FlameprofPicture flameprof = WalkFlameprofPicture(profile_, graph_);
    SnakeViz();
    Tuna();
    Flameprof(flameprof);
  }

  void SnakeViz() {
    Tally unconnected;
    double own_ns = 0;
    for (const FunctionId f : profile_.rows()) {
      own_ns += static_cast<double>(profile_.function(f).stats.own_ns);
      if (graph_.CallersOf(f).empty() && graph_.CalleesOf(f).empty()) unconnected.Add(f);
    }
    const ViewerSet snakeviz(Viewer::kSnakeViz);
    health_.snakeviz_root = SnakeVizRoot(profile_, graph_);
    if (!health_.snakeviz_root) return;  // "flat"
    AddTally("unconnected", Severity::kNote, snakeviz, std::move(unconnected),
             "functions that neither call nor are called are not in SnakeViz's chart");
    const FunctionId root = *health_.snakeviz_root;
    if (own_ns > 0) {
      health_.snakeviz_share = static_cast<double>(profile_.function(root).stats.cumulative_ns) / own_ns;
    }
    const absl::string_view file = profile_.file(root);
    const absl::string_view name = profile_.name(root);
    const bool is_profiler = (absl::EndsWith(file, "contextlib.py") && name == "__exit__") ||
                             absl::EndsWith(file, "cProfile.py") || absl::StrContains(name, "_lsprof.Profiler");
    if (is_profiler) {
      Add("root_is_profiler", Severity::kNote, snakeviz, 1,
          "SnakeViz's chart starts at the profiler's own exit, not at what was profiled")
          .first = {root};
    }
    if (health_.snakeviz_share && *health_.snakeviz_share < kSmallShare) {
      Add("root_covers_little", Severity::kNote, snakeviz, 1,
          absl::StrCat("SnakeViz's chart starts at a function with ",
                       static_cast<int>(std::floor(*health_.snakeviz_share * 1000)) / 10.0, " % of the time"))
          .first = {root};
    }
    const SnakeVizTree tree = WalkSnakeVizTree(profile_, graph_, root);
    if (tree.is_too_large) {
      Warn("too_large_tree", snakeviz, tree.node_count,
           "unfolded 10 levels deep, the graph has more boxes than SnakeViz's page can hold; count: those until then")
          .first = {root};
    }
  }

  void Tuna() {
    const ViewerSet viewers(Viewer::kTuna);
    const TunaTree tree = WalkTunaTree(profile_, graph_);
    if (tree.root_count == 0) {
      Tally roots;
      for (const FunctionId f : profile_.rows()) {
        if (graph_.CallersOf(f).empty()) roots.Add(f);
      }
      if (roots.count > 0) {
        AddTally("short_root", Severity::kWarning, viewers, std::move(roots),
                 "no function without callers lasts more than 10 us, and tuna starts at no other");
      } else {
        Warn("no_root", viewers, 1, "each function has a caller, and tuna starts at none such");
      }
    }
    if (tree.depth > TunaTree::kMaxDepth) {
      Warn("too_deep_for_tuna", viewers, tree.depth,
           "so many calls below each other are too many for tuna (over 300; it dies at 450 to 500)")
          .first = {*tree.deepest};
    }
    if (tree.cut_count > 0) {
      Add("cut_by_tuna", Severity::kNote, viewers, tree.cut_count,
          "functions with several callers call others, which tuna doesn't show below them");
    }
  }

  void Flameprof(const FlameprofPicture& picture) {
    using Failure = FlameprofPicture::Failure;
    const ViewerSet viewers(Viewer::kFlameprof);
    ProfileFinding* finding = nullptr;
    switch (picture.failure) {
      case Failure::kNone:
      case Failure::kNoCalls:  // "flat"
        break;
      case Failure::kNoTime:
        finding = &Warn("no_time", viewers, 1, "the own times add up to 0, by which flameprof divides");
        break;
      case Failure::kEdgesWithoutTime:
        finding = &Warn("no_time_from_callers", viewers, 1,
                        "a function has own time, and its calls by others none: flameprof divides by that");
        break;
      case Failure::kNothingLarge:
        finding = &Warn("nothing_large", viewers, 1,
                        "no function has 0.1 % of the time as own time, and flameprof draws no other");
        break;
      case Failure::kTooDeep:
        finding = &Warn("too_deep_for_flameprof", viewers, picture.depth,
                        "so many calls below each other are too many for flameprof (over 900; it dies at 950 to 1000)");
        break;
      case Failure::kTooLarge:
        finding = &Warn("too_many_paths", viewers, FlameprofPicture::kMaxSteps,
                        "flameprof would look at more calls than this, since it goes along every path");
        break;
    }
    if (finding && picture.where) finding->first = {*picture.where};
    const bool has_ratio = picture.failure != Failure::kNoTime && picture.failure != Failure::kNoCalls;
    if (has_ratio && !(0.8 < picture.root_ratio && picture.root_ratio < 1.2)) {
      Add("roots_unlike_sum", Severity::kNote, viewers, 1,
          "the functions without callers last more or less than all own times together by over 20 %: flameprof guesses "
          "where to start");
    }
  }

  const Profile& profile_;
  const ImportReport& report_;
  const CallGraph graph_;
  ProfileHealth health_;
};

}  // namespace

absl::string_view ViewerName(Viewer viewer) {
  switch (viewer) {
    case Viewer::kPstats: return "pstats";
    case Viewer::kSnakeViz: return "snakeviz";
    case Viewer::kTuna: return "tuna";
    case Viewer::kGprof2dot: return "gprof2dot";
    case Viewer::kFlameprof: return "flameprof";
    case Viewer::kPyprof2calltree: return "pyprof2calltree";
  }
  return "";
}

std::vector<absl::string_view> ViewerSet::Names() const {
  std::vector<absl::string_view> names;
  for (int i = 0; i < kViewerCount; ++i) {
    if (Has(static_cast<Viewer>(i))) names.push_back(ViewerName(static_cast<Viewer>(i)));
  }
  return names;
}

ViewerSet ProfileHealth::FailingViewers() const {
  ViewerSet failing;
  for (const ProfileFinding& finding : findings) {
    if (finding.severity == Severity::kWarning) failing = failing | finding.viewers;
  }
  return failing;
}

size_t ProfileHealth::warning_count() const {
  return std::count_if(findings.begin(), findings.end(),
                       [](const ProfileFinding& finding) { return finding.severity == Severity::kWarning; });
}

const ProfileFinding* ProfileHealth::Find(absl::string_view code) const {
  const auto it = std::find_if(findings.begin(), findings.end(),
                               [code](const ProfileFinding& finding) { return finding.code == code; });
  return it == findings.end() ? nullptr : &*it;
}

ProfileHealth AnalyzeProfile(const Profile& profile, const ImportReport& report, absl::string_view file_head) {
  return Analysis(profile, report).Run(file_head);
}

std::string FunctionText(const Profile& profile, FunctionId function) {
  return absl::StrCat(profile.file(function), ":", profile.function(function).line, "(", profile.name(function), ")");
}

bool LooksLikeImportLog(absl::string_view file_head) {
  constexpr size_t kPythonChunk = 8192;
  for (size_t i = 0; i < file_head.size();) {
    // The line is read when the chunk with its end is.
    if (i > 0 && (file_head[i - 1] == '\n' || file_head[i - 1] == '\r')) {
      file_head = file_head.substr(0, (i - 1) / kPythonChunk * kPythonChunk + kPythonChunk);
      if (i >= file_head.size()) break;
    }
    const int length = SequenceLength(file_head, i);
    if (length == 0) return false;
    if (length < 0) return i > 0 && file_head.size() % kPythonChunk == 0;  // cut by the end of a chunk
    i += length;
  }
  return !file_head.empty();
}

}  // namespace tracekiln::profile_health
