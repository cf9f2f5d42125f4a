#include "formats/pstats/pstats_options.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "formats/format/window_option.h"

namespace tracekiln::pstats {
namespace {

using Gpu = TimelineProfileOptions::Gpu;
using Frames = TimelineProfileOptions::Frames;

template <typename T>
struct Choice {
  absl::string_view text;
  T value;
};

template <typename T, size_t n>
absl::Status Choose(absl::string_view key, absl::string_view text, const Choice<T> (&choices)[n], T* value) {
  for (const Choice<T>& choice : choices) {
    if (choice.text != text) continue;
    *value = choice.value;
    return absl::OkStatus();
  }
  std::vector<absl::string_view> texts;
  for (const Choice<T>& choice : choices) texts.push_back(choice.text);
  return absl::InvalidArgumentError(
      absl::StrCat(key, ": expected ", absl::StrJoin(texts, " or "), ", got `", text, "`"));
}

constexpr Choice<bool> kOnOff[] = {{"on", true}, {"off", false}};

absl::Status ParseNumber(absl::string_view key, absl::string_view text, int64_t least, int64_t* value) {
  if (absl::SimpleAtoi(text, value) && *value >= least) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(key, ": expected a number from ", least, ", got `", text, "`"));
}

absl::Status ParseOption(absl::string_view key, absl::string_view text, ExporterOptions* options) {
  TimelineProfileOptions& timeline = options->timeline;
  if (key == "gpu") {
    constexpr Choice<Gpu> kChoices[] = {{"off", Gpu::kOff}, {"rows", Gpu::kRows}, {"only", Gpu::kOnly}};
    return Choose(key, text, kChoices, &timeline.gpu);
  }
  if (key == "frames") {
    constexpr Choice<Frames> kChoices[] = {{"all", Frames::kAll}, {"python", Frames::kPython}, {"ops", Frames::kOps}};
    return Choose(key, text, kChoices, &timeline.frames);
  }
  if (key == "threads") {
    constexpr Choice<ExporterOptions::Per> kChoices[] = {{"merge", ExporterOptions::Per::kTrace},
                                                         {"split", ExporterOptions::Per::kThread}};
    ExporterOptions::Per per = options->per;
    if (absl::Status status = Choose(key, text, kChoices, &per); !status.ok()) return status;
    if (options->per == ExporterOptions::Per::kAction && per == ExporterOptions::Per::kThread) {
      return absl::InvalidArgumentError("threads=split and per=action exclude each other");
    }
    if (options->per != ExporterOptions::Per::kAction) options->per = per;
    return absl::OkStatus();
  }
  if (key == "per") {
    constexpr Choice<bool> kChoices[] = {{"action", true}, {"trace", false}};
    bool is_action = false;
    if (absl::Status status = Choose(key, text, kChoices, &is_action); !status.ok()) return status;
    if (is_action && options->per == ExporterOptions::Per::kThread) {
      return absl::InvalidArgumentError("threads=split and per=action exclude each other");
    }
    if (is_action) {
      options->per = ExporterOptions::Per::kAction;
    } else if (options->per == ExporterOptions::Per::kAction) {
      options->per = ExporterOptions::Per::kTrace;
    }
    return absl::OkStatus();
  }
  if (key == "scope") {
    constexpr Choice<bool> kChoices[] = {{"process", true}, {"thread", false}};
    return Choose(key, text, kChoices, &timeline.has_other_threads);
  }
  if (key == "paths") return Choose(key, text, kOnOff, &timeline.has_paths);
  if (key == "root") return Choose(key, text, kOnOff, &timeline.has_root);
  if (key == "references") return Choose(key, text, kOnOff, &options->writer.references);
  if (key == "max-depth") {
    int64_t depth = 0;
    if (absl::Status status = ParseNumber(key, text, 1, &depth); !status.ok()) return status;
    timeline.max_depth = static_cast<uint32_t>(std::min<int64_t>(depth, 0x7fffffff));
    return absl::OkStatus();
  }
  if (key == "step" || key == "rank") {
    int64_t number = 0;
    if (absl::Status status = ParseNumber(key, text, 0, &number); !status.ok()) return status;
    (key == "step" ? timeline.step : options->rank) = number;
    return absl::OkStatus();
  }
  if (key == "window") {
    const absl::StatusOr<WindowOption> window = ParseWindowOption(text);
    if (!window.ok()) return window.status();
    timeline.window_begin_ns = window->begin_ns;
    timeline.window_end_ns = window->end_ns;
    return absl::OkStatus();
  }
  if (key == "actions") {
    timeline.actions = std::string(text);
  } else if (key == "stage") {
    options->stage = std::string(text);
  } else if (key == "filename") {
    options->filename = std::string(text);
  } else {
    return absl::InvalidArgumentError(absl::StrCat("`", key, "` is no option of the pstats format"));
  }
  return absl::OkStatus();
}

}  // namespace

const std::vector<OptionSpec>& ExporterOptionSpecs() {
  static const auto& specs = *new std::vector<OptionSpec>{
      {"gpu", "off|rows|only", "rows",
       "Kernels and copies: no rows; rows called by the operators that launched them; only their times, along the "
       "calls "
       "that launched them."},
      {"frames", "all|python|ops", "all", "Which calls become rows: Python frames, or all but these, or both."},
      {"threads", "merge|split", "merge", "split: a file for each thread, into the directory -o."},
      {"per", "trace|action", "trace", "action: a file for each profiled action and an index, into the directory -o."},
      {"actions", "RE2", "", "Which annotations are actions; default: all."},
      {"scope", "process|thread", "process", "Whether an action has what other threads did meanwhile."},
      {"step", "N", "", "Only what lies within ProfilerStep#N."},
      {"window", "START..END", "",
       "Only what overlaps this time, cut to it; in us as in the trace; either end may be missing."},
      {"paths", "on|off", "off", "on: a row for each path to a function, so that flame views show real stacks only."},
      {"max-depth", "N", "", "Calls nested deeper than N rows belong to what called them (tuna dies beyond 300)."},
      {"root", "on|off", "on", "Rows for the trace and its threads above everything."},
      {"stage", "TEXT", "", "First part of file names with per=action or threads=split."},
      {"filename", "TEXT", "", "Second part of these file names."},
      {"rank", "N", "", "Third part of these file names; default: that of the trace."},
      {"references", "on|off", "on", "off: write every text anew, for readers that can't follow references."},
  };
  return specs;
}

absl::StatusOr<ExporterOptions> ParseExporterOptions(const FormatOptions& options) {
  ExporterOptions parsed;
  for (const auto& [key, value] : options) {
    if (absl::Status status = ParseOption(key, value, &parsed); !status.ok()) return status;
  }
  return parsed;
}

}  // namespace tracekiln::pstats
