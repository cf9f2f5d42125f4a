#include "formats/pstats/timeline_profile.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "formats/intermediate/event_batch.h"
#include "formats/pstats/call_tree.h"
#include "formats/pstats/host_timeline.h"
#include "re2/re2.h"

namespace tracekiln::pstats {
namespace {

using Gpu = TimelineProfileOptions::Gpu;

constexpr uint32_t kNone = 0xffffffffu;

// Who is open at a given time, for windows: the slice around each slice, and the slices that were still going on when
// a neighbour that they don't hold began.
struct ThreadNesting {
  std::vector<uint32_t> around;
  std::vector<uint32_t> subtree_end;  // index behind the last slice within
  std::vector<uint32_t> overlapped;   // ascending
};

ThreadNesting FindNesting(const HostThread& thread) {
  struct Open {
    uint32_t slice;
    int64_t end_ns;
  };
  const size_t n = thread.slices.size();
  ThreadNesting nesting;
  nesting.around.assign(n, kNone);
  nesting.subtree_end.assign(n, static_cast<uint32_t>(n));
  std::vector<Open> stack;
  for (uint32_t i = 0; i < n; ++i) {
    const HostSlice& slice = thread.slices[i];
    while (!stack.empty() && !Contains(stack.back().end_ns, slice.start_ns, slice.end_ns)) {
      nesting.subtree_end[stack.back().slice] = i;
      if (thread.slices[stack.back().slice].end_ns > slice.start_ns) {
        nesting.overlapped.push_back(stack.back().slice);
      }
      stack.pop_back();
    }
    if (!stack.empty()) nesting.around[i] = stack.back().slice;
    stack.push_back({i, stack.empty() ? slice.end_ns : std::min(slice.end_ns, stack.back().end_ns)});
  }
  std::sort(nesting.overlapped.begin(), nesting.overlapped.end());
  return nesting;
}

size_t FirstFrom(const HostThread& thread, int64_t time_ns) {
  return static_cast<size_t>(std::partition_point(thread.slices.begin(), thread.slices.end(),
                                                  [&](const HostSlice& slice) { return slice.start_ns < time_ns; }) -
                             thread.slices.begin());
}

// The slices that overlap the window, in order; what only touches it is none of them.
std::vector<uint32_t> SlicesWithin(const HostThread& thread, const ThreadNesting& nesting, const Window& window) {
  const size_t first = FirstFrom(thread, window.begin_ns);
  const size_t last = FirstFrom(thread, window.end_ns);
  std::vector<uint32_t> slices;
  if (first > 0) {
    for (uint32_t i = static_cast<uint32_t>(first - 1); i != kNone; i = nesting.around[i]) {
      if (thread.slices[i].end_ns > window.begin_ns) slices.push_back(i);
    }
    for (uint32_t i : nesting.overlapped) {
      if (i >= first) break;
      if (thread.slices[i].end_ns > window.begin_ns) slices.push_back(i);
    }
    std::sort(slices.begin(), slices.end());
    slices.erase(std::unique(slices.begin(), slices.end()), slices.end());
  }
  for (size_t i = first; i < last; ++i) slices.push_back(static_cast<uint32_t>(i));
  return slices;
}

// "1262 NAME", "PID/1262 NAME". Kineto's own names begin with "thread 1262" already.
std::string ThreadTitle(const HostThread& thread, bool has_pid) {
  absl::string_view name = thread.name;
  if (absl::ConsumePrefix(&name, "thread ") && absl::ConsumePrefix(&name, thread.tid)) {
    name = absl::StripLeadingAsciiWhitespace(name);
  } else {
    name = thread.name;
  }
  return absl::StrCat(has_pid ? absl::StrCat(thread.pid, "/") : "", thread.tid, name.empty() ? "" : " ", name);
}

}  // namespace

struct TimelineProfiler::State {
  TimelineProfileOptions options;
  HostTimeline timeline;
  Window window;
  std::string root_name = "<trace>";
  bool has_several_processes = false;
  std::unique_ptr<RE2> action_pattern;
  std::vector<ThreadNesting> nesting;  // by thread; empty unless something needs it

  bool has_window() const { return window.begin_ns != Window().begin_ns || window.end_ns != Window().end_ns; }

  absl::Status ApplyStep();
  void AddThread(size_t thread, CallTree* tree) const;
  std::string RowName(const HostThread& thread) const {
    return absl::StrCat("<thread ", ThreadTitle(thread, has_several_processes), ">");
  }
};

TimelineProfiler::TimelineProfiler(const TimelineProfileOptions& options) : state_(std::make_unique<State>()) {
  state_->options = options;
}
TimelineProfiler::~TimelineProfiler() = default;

absl::Status TimelineProfiler::State::ApplyStep() {
  struct Step {
    int64_t number;
    int64_t start_ns;
    int64_t end_ns;
  };
  std::unordered_map<uint32_t, int64_t> number_of_function;
  for (uint32_t f = 0; f < timeline.functions().size(); ++f) {
    absl::string_view digits = timeline.NameOf(f);
    int64_t number = 0;
    if (absl::ConsumePrefix(&digits, "ProfilerStep#") && absl::SimpleAtoi(digits, &number)) {
      number_of_function[f] = number;
    }
  }
  std::vector<Step> steps;
  for (const HostThread& thread : timeline.threads()) {
    for (const HostSlice& slice : thread.slices) {
      const auto it = number_of_function.find(slice.function);
      if (it != number_of_function.end()) steps.push_back({it->second, slice.start_ns, slice.end_ns});
    }
  }
  const Step* chosen = nullptr;
  for (const Step& step : steps) {
    if (step.number != *options.step) continue;
    if (chosen == nullptr || step.end_ns - step.start_ns > chosen->end_ns - chosen->start_ns) chosen = &step;
  }
  if (chosen == nullptr) {
    std::string there = "the trace has none";
    if (!steps.empty()) {
      const auto [least, most] = std::minmax_element(steps.begin(), steps.end(),
                                                     [](const Step& a, const Step& b) { return a.number < b.number; });
      there = absl::StrCat("there are ", least->number, " to ", most->number);
    }
    return absl::InvalidArgumentError(absl::StrCat("step: no ProfilerStep#", *options.step, "; ", there));
  }
  window.begin_ns = std::max(window.begin_ns, chosen->start_ns);
  window.end_ns = std::min(window.end_ns, chosen->end_ns);
  for (const Step& step : steps) {
    if (step.number != chosen->number && step.start_ns > chosen->start_ns) {
      window.end_ns = std::min(window.end_ns, step.start_ns);
    }
  }
  return absl::OkStatus();
}

absl::Status TimelineProfiler::Read(TraceSource& source) {
  State& s = *state_;
  if (!s.options.actions.empty()) {
    RE2::Options quiet;
    quiet.set_log_errors(false);
    s.action_pattern = std::make_unique<RE2>(s.options.actions, quiet);
    if (!s.action_pattern->ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("actions: `", s.options.actions, "` is no RE2 pattern: ", s.action_pattern->error()));
    }
  }
  EventBatch batch;
  for (;;) {
    const absl::StatusOr<bool> more = source.Next(&batch);
    if (!more.ok()) return more.status();
    if (!*more) break;
    s.timeline.Add(batch);
  }
  s.timeline.Finish();
  if (source.info().rank.has_value()) s.root_name = absl::StrCat("<rank ", *source.info().rank, ">");
  for (const HostThread& thread : s.timeline.threads()) {
    if (thread.pid != s.timeline.threads()[0].pid) s.has_several_processes = true;
  }
  if (s.options.window_begin_ns.has_value()) s.window.begin_ns = *s.options.window_begin_ns;
  if (s.options.window_end_ns.has_value()) s.window.end_ns = *s.options.window_end_ns;
  if (s.options.step.has_value() && !empty()) {
    if (absl::Status status = s.ApplyStep(); !status.ok()) return status;
  }
  if (s.has_window()) {
    for (const HostThread& thread : s.timeline.threads()) s.nesting.push_back(FindNesting(thread));
  }
  return absl::OkStatus();
}

void TimelineProfiler::State::AddThread(size_t index, CallTree* tree) const {
  const HostThread& thread = timeline.threads()[index];
  if (!has_window()) {
    if (options.has_root) tree->BeginRow(RowName(thread));
    tree->AddSlices(thread, 0, thread.slices.size(), window);
    if (options.has_root) tree->EndRow();
    return;
  }
  const std::vector<uint32_t> slices = SlicesWithin(thread, nesting[index], window);
  if (slices.empty()) return;
  if (options.has_root) tree->BeginRow(RowName(thread));
  tree->AddSlices(thread, slices, window);
  if (options.has_root) tree->EndRow();
}

bool TimelineProfiler::empty() const {
  return state_->timeline.threads().empty() && state_->timeline.work_count() == 0;
}

Profile TimelineProfiler::Whole() const {
  const State& s = *state_;
  CallTree tree(s.timeline, s.options);
  if (s.options.has_root) tree.BeginRow(s.root_name);
  for (size_t t = 0; t < s.timeline.threads().size(); ++t) s.AddThread(t, &tree);
  if (s.options.gpu != Gpu::kOff && !s.has_window() && !s.timeline.orphans().empty()) {
    tree.BeginRow("<gpu work without launch>");
    tree.AddWork(s.timeline.orphans());
    tree.EndRow();
  }
  if (s.options.has_root) tree.EndRow();
  return std::move(tree).TakeProfile();
}

absl::Status TimelineProfiler::ForEachThread(const Use& use) const {
  const State& s = *state_;
  for (size_t t = 0; t < s.timeline.threads().size(); ++t) {
    CallTree tree(s.timeline, s.options);
    s.AddThread(t, &tree);
    if (tree.empty()) continue;
    NamedProfile made;
    made.name = absl::StrCat("thread ", ThreadTitle(s.timeline.threads()[t], s.has_several_processes));
    made.profile = std::move(tree).TakeProfile();
    if (absl::Status status = use(std::move(made)); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status TimelineProfiler::ForEachAction(const Use& use) const {
  const State& s = *state_;
  struct Instance {
    uint32_t thread;
    uint32_t slice;
  };
  struct Action {
    std::string name;
    int64_t first_ns = std::numeric_limits<int64_t>::max();
    std::vector<Instance> calls;
  };
  // Which functions are actions, and of which name.
  std::vector<uint32_t> action_of_function(s.timeline.functions().size(), kNone);
  std::vector<Action> actions;
  std::unordered_map<std::string, uint32_t> action_of_name;
  std::vector<std::string> other_names;
  for (uint32_t f = 0; f < s.timeline.functions().size(); ++f) {
    if (s.timeline.functions()[f].role != CategoryRole::kAnnotation) continue;
    absl::string_view name = s.timeline.NameOf(f);
    absl::ConsumePrefix(&name, "[pl][profile]");
    if (s.action_pattern != nullptr &&
        !RE2::PartialMatch(re2::StringPiece(name.data(), name.size()), *s.action_pattern)) {
      if (other_names.size() < 5) other_names.push_back(std::string(name));
      continue;
    }
    const auto [it, is_new] = action_of_name.try_emplace(std::string(name), static_cast<uint32_t>(actions.size()));
    if (is_new) {
      actions.emplace_back();
      actions.back().name = std::string(name);
    }
    action_of_function[f] = it->second;
  }
  for (uint32_t t = 0; t < s.timeline.threads().size(); ++t) {
    const std::vector<HostSlice>& slices = s.timeline.threads()[t].slices;
    for (uint32_t i = 0; i < slices.size(); ++i) {
      const uint32_t a = action_of_function[slices[i].function];
      if (a == kNone || !s.window.Has(slices[i].start_ns)) continue;
      actions[a].calls.push_back({t, i});
      actions[a].first_ns = std::min(actions[a].first_ns, slices[i].start_ns);
    }
  }
  actions.erase(std::remove_if(actions.begin(), actions.end(), [](const Action& a) { return a.calls.empty(); }),
                actions.end());
  if (actions.empty()) {
    return absl::NotFoundError(absl::StrCat(
        "no annotation of the trace is a profiled action",
        other_names.empty() ? "" : absl::StrCat(" that matches; there are ", absl::StrJoin(other_names, ", "))));
  }
  std::stable_sort(actions.begin(), actions.end(),
                   [](const Action& a, const Action& b) { return a.first_ns < b.first_ns; });

  std::vector<ThreadNesting> nesting;
  for (const HostThread& thread : s.timeline.threads()) nesting.push_back(FindNesting(thread));
  for (const Action& action : actions) {
    CallTree tree(s.timeline, s.options);
    NamedProfile made;
    made.name = action.name;
    for (const Instance& call : action.calls) {
      const HostThread& thread = s.timeline.threads()[call.thread];
      const HostSlice& slice = thread.slices[call.slice];
      ++made.call_count;
      if (__builtin_add_overflow(made.duration_ns, slice.end_ns - slice.start_ns, &made.duration_ns)) {
        made.duration_ns = std::numeric_limits<int64_t>::max();
      }
      // A call of the same action around this one has it already.
      bool is_within_itself = false;
      for (uint32_t i = nesting[call.thread].around[call.slice]; i != kNone; i = nesting[call.thread].around[i]) {
        if (thread.slices[i].function == slice.function) is_within_itself = true;
      }
      if (is_within_itself) continue;
      tree.BeginSlice(slice, Window());
      tree.AddSlices(thread, call.slice + 1, nesting[call.thread].subtree_end[call.slice], Window());
      if (s.options.has_other_threads) {
        const Window during{slice.start_ns, slice.end_ns};
        for (size_t t = 0; t < s.timeline.threads().size(); ++t) {
          const HostThread& other = s.timeline.threads()[t];
          if (t == call.thread || other.pid != thread.pid) continue;
          const std::vector<uint32_t> slices = SlicesWithin(other, nesting[t], during);
          if (slices.empty()) continue;
          tree.BeginRow(s.RowName(other));
          tree.AddSlices(other, slices, during);
          tree.EndRow();
        }
      }
      tree.EndSlice();
    }
    made.profile = std::move(tree).TakeProfile();
    if (absl::Status status = use(std::move(made)); !status.ok()) return status;
  }
  return absl::OkStatus();
}

std::vector<std::string> TimelineProfiler::Notes() const {
  const HostTimeline& timeline = state_->timeline;
  std::vector<std::string> notes;
  if (timeline.unfinished_count() > 0) {
    notes.push_back(absl::StrCat(timeline.unfinished_count(), " slices that never ended are in no row"));
  }
  if (timeline.negative_count() > 0) {
    notes.push_back(absl::StrCat(timeline.negative_count(), " slices of negative duration are in no row"));
  }
  if (state_->options.gpu != Gpu::kOff && !timeline.orphans().empty()) {
    notes.push_back(absl::StrCat(timeline.orphans().size(), " of ", timeline.work_count(),
                                 " kernels and copies have no launch in the trace"));
  }
  return notes;
}

}  // namespace tracekiln::pstats
