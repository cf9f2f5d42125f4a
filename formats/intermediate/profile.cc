#include "formats/intermediate/profile.h"

#include <algorithm>

namespace tracekiln {
namespace {

int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? INT64_MIN : INT64_MAX;
}

uint64_t Mix(uint64_t h, uint64_t value) {
  h = (h ^ value) * 0x9e3779b97f4a7c15u;
  return h ^ (h >> 32);
}

size_t FunctionHash(StringId file, int64_t line, StringId name) {
  return Mix(Mix(kHashSeed, uint64_t{Index(file)} << 32 | Index(name)), static_cast<uint64_t>(line));
}

size_t EdgeHash(FunctionId caller, FunctionId callee) {
  return Mix(kHashSeed, uint64_t{Index(caller)} << 32 | Index(callee));
}

// Slots for `count` entries at a load of at most one half.
size_t SlotCount(size_t count) {
  size_t slots = 16;
  while (slots < count * 2) slots *= 2;
  return slots;
}

}  // namespace

void CallStats::Add(const CallStats& other) {
  call_count = SaturatingAdd(call_count, other.call_count);
  primitive_call_count = SaturatingAdd(primitive_call_count, other.primitive_call_count);
  own_ns = SaturatingAdd(own_ns, other.own_ns);
  cumulative_ns = SaturatingAdd(cumulative_ns, other.cumulative_ns);
}

uint32_t* Profile::FunctionSlot(StringId file, int64_t line, StringId name) {
  const size_t mask = function_index_.size() - 1;
  for (size_t slot = FunctionHash(file, line, name) & mask;; slot = (slot + 1) & mask) {
    uint32_t* const entry = &function_index_[slot];
    if (*entry == 0) return entry;
    const Function& f = functions_[*entry - 1];
    if (f.file == file && f.line == line && f.name == name) return entry;
  }
}

uint32_t* Profile::EdgeSlot(FunctionId caller, FunctionId callee) {
  const size_t mask = edge_index_.size() - 1;
  for (size_t slot = EdgeHash(caller, callee) & mask;; slot = (slot + 1) & mask) {
    uint32_t* const entry = &edge_index_[slot];
    if (*entry == 0) return entry;
    const Edge& e = edges_[*entry - 1];
    if (e.caller == caller && e.callee == callee) return entry;
  }
}

FunctionId Profile::AddFunction(StringId file, int64_t line, StringId name) {
  if ((functions_.size() + 1) * 2 > function_index_.size()) Reserve(functions_.size() * 2 + 8, 0);
  uint32_t* const entry = FunctionSlot(file, line, name);
  if (*entry == 0) {
    functions_.push_back({file, name, line, {}, false});
    *entry = static_cast<uint32_t>(functions_.size());
  }
  return FunctionId{*entry - 1};
}

std::optional<FunctionId> Profile::FindFunction(absl::string_view file, int64_t line, absl::string_view name) const {
  if (functions_.empty()) return std::nullopt;
  const StringId file_id = strings.Find(file);
  const StringId name_id = strings.Find(name);
  if (file_id == kNoString || name_id == kNoString) return std::nullopt;
  const uint32_t entry = *const_cast<Profile*>(this)->FunctionSlot(file_id, line, name_id);
  if (entry == 0) return std::nullopt;
  return FunctionId{entry - 1};
}

bool Profile::AddStats(FunctionId function, const CallStats& stats) {
  Function& f = functions_[Index(function)];
  f.stats.Add(stats);
  if (f.is_row) return false;
  f.is_row = true;
  rows_.push_back(function);
  return true;
}

uint32_t Profile::AddEdge(FunctionId caller, FunctionId callee) {
  if ((edges_.size() + 1) * 2 > edge_index_.size()) MakeEdgeIndex();
  uint32_t* const entry = EdgeSlot(caller, callee);
  if (*entry == 0) {
    edges_.push_back({caller, callee, {}});
    *entry = static_cast<uint32_t>(edges_.size());
  }
  return *entry - 1;
}

bool Profile::AddCallerStats(FunctionId caller, FunctionId callee, const CallStats& stats) {
  const size_t count_before = edges_.size();
  edges_[AddEdge(caller, callee)].stats.Add(stats);
  return edges_.size() > count_before;
}

CallStats Profile::Total() const {
  CallStats total;
  for (const Function& f : functions_) {
    if (f.is_row) total.Add(f.stats);
  }
  total.cumulative_ns = 0;
  return total;
}

void Profile::Merge(const Profile& other) {
  std::vector<StringId> strings_here(other.strings.size());
  for (uint32_t i = 0; i < strings_here.size(); ++i) strings_here[i] = strings.Intern(other.strings.Get(StringId{i}));
  std::vector<FunctionId> here;
  here.reserve(other.functions_.size());
  for (const Function& f : other.functions_) {
    here.push_back(AddFunction(strings_here[Index(f.file)], f.line, strings_here[Index(f.name)]));
  }
  for (const FunctionId row : other.rows_) AddStats(here[Index(row)], other.function(row).stats);
  for (const Edge& e : other.edges_) AddCallerStats(here[Index(e.caller)], here[Index(e.callee)], e.stats);
}

void Profile::Reserve(size_t function_count, size_t edge_count) {
  if (function_count > functions_.size()) {
    functions_.reserve(function_count);
    rows_.reserve(function_count);
    function_index_.assign(SlotCount(function_count), 0);
    for (uint32_t i = 0; i < functions_.size(); ++i) {
      const Function& f = functions_[i];
      *FunctionSlot(f.file, f.line, f.name) = i + 1;
    }
  }
  // The index of edges waits for the first AddEdge: there may be none (AppendEdge).
  if (edge_count > edges_.size()) edges_.reserve(edge_count);
}

void Profile::MakeEdgeIndex() {
  edge_index_.assign(SlotCount(std::max(edges_.size() * 2 + 8, edges_.capacity())), 0);
  for (uint32_t i = 0; i < edges_.size(); ++i) *EdgeSlot(edges_[i].caller, edges_[i].callee) = i + 1;
}

size_t Profile::AllocatedBytes() const {
  return strings.AllocatedBytes() + functions_.capacity() * sizeof(Function) + edges_.capacity() * sizeof(Edge) +
         rows_.capacity() * sizeof(FunctionId) +
         (function_index_.capacity() + edge_index_.capacity()) * sizeof(uint32_t);
}

CallGraph::CallGraph(const Profile& profile) {
  const size_t function_count = profile.functions().size();
  const std::vector<Profile::Edge>& edges = profile.edges();
  for (Lists* lists : {&by_callee_, &by_caller_}) {
    const auto owner = [&](const Profile::Edge& e) { return Index(lists == &by_callee_ ? e.callee : e.caller); };
    lists->begin.assign(function_count + 1, 0);
    for (const Profile::Edge& e : edges) ++lists->begin[owner(e) + 1];
    for (size_t i = 0; i < function_count; ++i) lists->begin[i + 1] += lists->begin[i];
    std::vector<uint32_t> next(lists->begin.begin(), lists->begin.end() - 1);
    lists->edges.resize(edges.size());
    for (uint32_t e = 0; e < edges.size(); ++e) lists->edges[next[owner(edges[e])]++] = e;
  }
}

}  // namespace tracekiln
