#include "formats/pstats/call_tree.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace tracekiln::pstats {
namespace {

using Gpu = TimelineProfileOptions::Gpu;
using Frames = TimelineProfileOptions::Frames;

// "<gpu x>" stays in its brackets, which pstats shows as "{gpu x}".
std::string WithSuffix(absl::string_view name, absl::string_view suffix) {
  if (absl::StartsWith(name, "<") && absl::EndsWith(name, ">")) {
    return absl::StrCat(name.substr(0, name.size() - 1), suffix, ">");
  }
  return absl::StrCat(name, suffix);
}

int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}

}  // namespace

bool CallTree::IsShown(CategoryRole role) const {
  switch (options_.frames) {
    case Frames::kAll: return true;
    case Frames::kPython: return role == CategoryRole::kPythonFrame;
    case Frames::kOps: return role != CategoryRole::kPythonFrame;
  }
  return true;
}

CallTree::Path CallTree::PathTo(ptrdiff_t caller, uint64_t key, absl::string_view file, int64_t line,
                                absl::string_view name) {
  const Call* const from = caller < 0 ? nullptr : &stack_[static_cast<size_t>(caller)];
  const auto [it, is_new] = paths_.try_emplace({from == nullptr ? 0 : from->path, key});
  if (!is_new) return it->second;
  const uint32_t path = static_cast<uint32_t>(paths_.size());
  const std::string caller_name = from == nullptr ? "" : std::string(profile_.name(from->id));
  // The first path has the plain name, a later one a suffix that no row has yet.
  std::string text(name);
  for (int n = 1; profile_.FindFunction(file, line, text).has_value(); ++n) {
    text = WithSuffix(name, n == 1 ? absl::StrCat(" @", caller_name) : absl::StrCat(" @", caller_name, " #", n));
  }
  it->second = {profile_.AddFunction(file, line, text), path};
  return it->second;
}

CallTree::Path CallTree::RowOf(uint32_t function, ptrdiff_t caller) {
  const TimelineFunction& f = timeline_.functions()[function];
  const absl::string_view file = timeline_.strings().Get(f.file);
  const absl::string_view name = timeline_.strings().Get(f.name);
  if (options_.has_paths) return PathTo(caller, function, file, f.line, name);
  if (id_of_function_.empty()) id_of_function_.assign(timeline_.functions().size(), kNoFunction);
  uint32_t& id = id_of_function_[function];
  if (id == kNoFunction) id = Index(profile_.AddFunction(file, f.line, name));
  return {FunctionId{id}, 0};
}

void CallTree::Push(int64_t start_ns, int64_t end_ns, FunctionId id, uint32_t path, bool is_row, bool is_host_call) {
  Call call;
  call.start_ns = start_ns;
  call.end_ns = end_ns;
  call.open_end_ns = stack_.empty() ? end_ns : std::min(end_ns, stack_.back().open_end_ns);
  call.covered_until_ns = start_ns;
  call.children_ns = 0;
  call.work_ns = 0;
  call.rows_ns = 0;
  call.id = id;
  call.path = path;
  call.is_row = is_row;
  call.is_host_call = is_host_call;
  call.is_entered = false;
  stack_.push_back(call);
  if (options_.gpu != Gpu::kOnly) EnterAll();
}

void CallTree::EnterAll() {
  size_t first = stack_.size();
  while (first > 0 && !stack_[first - 1].is_entered) --first;
  for (; first < stack_.size(); ++first) {
    recorder_.Enter(stack_[first].id);
    stack_[first].is_entered = true;
  }
}

void CallTree::Pop() {
  const Call call = stack_.back();
  stack_.pop_back();
  int64_t inclusive_ns;
  int64_t own_ns = 0;
  if (call.is_row) {
    inclusive_ns = SaturatingAdd(call.children_ns, call.rows_ns);
  } else {
    inclusive_ns = call.end_ns - call.start_ns;
    own_ns = inclusive_ns - call.children_ns;
  }
  if (options_.gpu == Gpu::kOnly) {
    inclusive_ns = call.work_ns;
    own_ns = 0;
  }
  if (call.is_entered) recorder_.Leave(inclusive_ns, own_ns);
  if (stack_.empty()) return;
  Call& around = stack_.back();
  around.work_ns = SaturatingAdd(around.work_ns, call.work_ns);
  if (call.is_row) {
    if (around.is_row) around.rows_ns = SaturatingAdd(around.rows_ns, inclusive_ns);
    return;
  }
  const int64_t begin_ns = std::max(call.start_ns, around.covered_until_ns);
  const int64_t end_ns = around.is_row ? call.end_ns : std::min(call.end_ns, around.end_ns);
  if (end_ns > begin_ns) {
    around.children_ns = SaturatingAdd(around.children_ns, end_ns - begin_ns);
    around.covered_until_ns = end_ns;
  }
}

void CallTree::BeginRow(absl::string_view name) {
  constexpr int64_t kEarliest = std::numeric_limits<int64_t>::min();
  constexpr int64_t kLatest = std::numeric_limits<int64_t>::max();
  Path row{};
  if (options_.has_paths) {
    // Rows without a slice have keys of their own, behind those of functions.
    const uint64_t key = uint64_t{1} << 32 | Index(profile_.strings.Intern(name));
    row = PathTo(static_cast<ptrdiff_t>(stack_.size()) - 1, key, "~", 0, name);
  } else {
    row.id = profile_.AddFunction("~", 0, name);
  }
  Push(kEarliest, kLatest, row.id, row.path, true, false);
  // Within a slice the row still holds what other threads do, whatever their times.
  stack_.back().open_end_ns = kLatest;
}

void CallTree::EndRow() { Pop(); }

void CallTree::BeginSlice(const HostSlice& slice, const Window& window) {
  const Path row = RowOf(slice.function, static_cast<ptrdiff_t>(stack_.size()) - 1);
  Push(std::max(slice.start_ns, window.begin_ns), std::min(slice.end_ns, window.end_ns), row.id, row.path, false,
       timeline_.functions()[slice.function].role == CategoryRole::kHostCall);
  if (options_.gpu != Gpu::kOff && window.Has(slice.start_ns)) AddWorkOf(slice, stack_.size() - 1);
}

void CallTree::EndSlice() { Pop(); }

void CallTree::AddSlice(const HostSlice& slice, const Window& window, size_t bottom) {
  const int64_t start_ns = std::max(slice.start_ns, window.begin_ns);
  const int64_t end_ns = std::min(slice.end_ns, window.end_ns);
  while (stack_.size() > bottom && !Contains(stack_.back().open_end_ns, start_ns, end_ns)) Pop();
  const CategoryRole role = timeline_.functions()[slice.function].role;
  const bool is_host_call = role == CategoryRole::kHostCall;
  bool is_shown = IsShown(role) && (options_.max_depth == 0 || stack_.size() < options_.max_depth);
  // With device work only, the caller is the operator; the call itself shows where there is none.
  if (options_.gpu == Gpu::kOnly && is_host_call && stack_.size() > bottom) is_shown = false;
  if (is_shown) {
    const Path row = RowOf(slice.function, static_cast<ptrdiff_t>(stack_.size()) - 1);
    Push(start_ns, end_ns, row.id, row.path, false, is_host_call);
  }
  if (slice.link != kNoLink && options_.gpu != Gpu::kOff && window.Has(slice.start_ns)) AddWorkOf(slice, bottom);
}

void CallTree::AddWorkOf(const HostSlice& slice, size_t bottom) {
  const absl::Span<const DeviceWork> work = timeline_.WorkOf(slice);
  if (work.empty()) return;
  if (options_.gpu == Gpu::kOnly) {
    AddWork(work);
    return;
  }
  // The nearest that is no runtime call, and no mere row if there is a call.
  ptrdiff_t caller = static_cast<ptrdiff_t>(stack_.size()) - 1;
  while (caller >= static_cast<ptrdiff_t>(bottom) && stack_[static_cast<size_t>(caller)].is_host_call) --caller;
  if (caller < static_cast<ptrdiff_t>(bottom)) caller = static_cast<ptrdiff_t>(stack_.size()) - 1;
  for (const DeviceWork& w : work) {
    const FunctionId id = RowOf(w.function, caller).id;
    const CallStats stats{1, 1, w.dur_ns, w.dur_ns};
    profile_.AddStats(id, stats);
    if (caller >= 0) profile_.AddCallerStats(stack_[static_cast<size_t>(caller)].id, id, stats);
  }
}

void CallTree::AddWork(absl::Span<const DeviceWork> work) {
  if (work.empty()) return;
  EnterAll();
  for (const DeviceWork& w : work) {
    recorder_.Enter(RowOf(w.function, static_cast<ptrdiff_t>(stack_.size()) - 1).id);
    recorder_.Leave(w.dur_ns, w.dur_ns);
    if (stack_.empty()) continue;
    Call& around = stack_.back();
    around.work_ns = SaturatingAdd(around.work_ns, w.dur_ns);
    if (around.is_row) around.rows_ns = SaturatingAdd(around.rows_ns, w.dur_ns);
  }
}

void CallTree::AddSlices(const HostThread& thread, size_t first, size_t last, const Window& window) {
  const size_t bottom = stack_.size();
  for (size_t i = first; i < last; ++i) AddSlice(thread.slices[i], window, bottom);
  while (stack_.size() > bottom) Pop();
}

void CallTree::AddSlices(const HostThread& thread, absl::Span<const uint32_t> slices, const Window& window) {
  const size_t bottom = stack_.size();
  for (uint32_t i : slices) AddSlice(thread.slices[i], window, bottom);
  while (stack_.size() > bottom) Pop();
}

}  // namespace tracekiln::pstats
