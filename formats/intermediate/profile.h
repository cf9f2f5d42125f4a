// Profile: functions with call counts, own and cumulative time, and who called them. What a `.prof` file holds, and
// the profile section of a .kiln file.
//
// A profile is a call graph, not a call tree: it knows what `f` cost when called by `g`, not what called `g` then.
//
//   Profile profile;
//   FunctionId train = profile.AddFunction("train.py", 10, "train");
//   FunctionId step = profile.AddFunction("train.py", 30, "step");
//   profile.AddStats(train, {1, 1, 2'000, 10'000});          // calls, primitive calls, own ns, cumulative ns
//   profile.AddStats(step, {4, 4, 8'000, 8'000});
//   profile.AddCallerStats(train, step, {4, 4, 8'000, 8'000});
//
// Functions are numbered in the order in which they were added; so are edges. A function is named by (file, line, name)
// and exists once: adding it again gives the same id and its numbers add up, as `pstats.Stats.add` does. Where the
// order of a file's rows matters (`pstats` prints ties in it), use rows(): a function that is named as a caller first
// has a lower number than its row's place says. Texts are UTF-8 in which lone surrogates may occur (Python's
// "surrogatepass"). Built-ins have the file "~" and the line 0. Sums saturate at the limits of int64. Memory: 60 bytes
// per function, 48 per edge, 4 to 16 more per each for the indexes, and each distinct text once. Limits: 2^31
// functions, 2^31 edges, and those of StringPool. Thread-safety: const access from several threads.
#ifndef TRACEKILN_FORMATS_INTERMEDIATE_PROFILE_H_
#define TRACEKILN_FORMATS_INTERMEDIATE_PROFILE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "formats/intermediate/ids.h"
#include "formats/intermediate/string_pool.h"

namespace tracekiln {

enum class FunctionId : uint32_t {};  // index into Profile::functions()
constexpr uint32_t Index(FunctionId id) { return static_cast<uint32_t>(id); }

// The numbers of a function, or of its calls by one caller. May be negative in damaged files.
struct CallStats {
  int64_t call_count = 0;            // pstats: nc
  int64_t primitive_call_count = 0;  // calls not made while the function (or, of an edge, the edge) was active; cc
  int64_t own_ns = 0;                // time in the function itself; tt
  int64_t cumulative_ns = 0;         // time in it and what it called, of primitive calls only; ct

  // Saturating.
  void Add(const CallStats& other);
  friend bool operator==(const CallStats& a, const CallStats& b) {
    return a.call_count == b.call_count && a.primitive_call_count == b.primitive_call_count && a.own_ns == b.own_ns &&
           a.cumulative_ns == b.cumulative_ns;
  }
};

class Profile {
 public:
  struct Function {
    StringId file;
    StringId name;
    int64_t line = 0;
    CallStats stats;
    // False: it is only named as a caller and has no numbers of its own. Most viewers refuse such a file.
    bool is_row = false;
  };
  struct Edge {
    FunctionId caller;
    FunctionId callee;
    CallStats stats;
  };

  // The files and names of functions. Intern what you pass as StringId.
  StringPool strings;

  // The id of a function, which is added (as no row yet) if it is new.
  FunctionId AddFunction(StringId file, int64_t line, StringId name);
  FunctionId AddFunction(absl::string_view file, int64_t line, absl::string_view name) {
    const StringId file_id = strings.Intern(file);
    return AddFunction(file_id, line, strings.Intern(name));
  }
  std::optional<FunctionId> FindFunction(absl::string_view file, int64_t line, absl::string_view name) const;

  // Makes the function a row and adds to its numbers. False if it was a row already (then they add up).
  bool AddStats(FunctionId function, const CallStats& stats);
  // Adds to the numbers of the calls of `callee` by `caller`. False if there was such an edge already.
  bool AddCallerStats(FunctionId caller, FunctionId callee, const CallStats& stats);
  // Adds an edge that the caller knows to be new, for decoders: no look-up. The next AddCallerStats or AddEdge makes
  // the index of all edges anew, so don't mix them one by one. REQUIRES: there is no such edge.
  void AppendEdge(FunctionId caller, FunctionId callee, const CallStats& stats) {
    edges_.push_back({caller, callee, stats});
    edge_index_.clear();
  }

  // For code that counts calls one by one: the number of an edge, which is added with zero stats if it is new, and the
  // numbers to add to. References are valid until something is added.
  uint32_t AddEdge(FunctionId caller, FunctionId callee);
  CallStats& edge_stats(uint32_t edge) { return edges_[edge].stats; }

  const std::vector<Function>& functions() const { return functions_; }
  const std::vector<Edge>& edges() const { return edges_; }
  const Function& function(FunctionId id) const { return functions_[Index(id)]; }
  absl::string_view file(FunctionId id) const { return strings.Get(function(id).file); }
  absl::string_view name(FunctionId id) const { return strings.Get(function(id).name); }
  bool empty() const { return functions_.empty(); }
  // Functions that are rows, in the order in which they became such.
  const std::vector<FunctionId>& rows() const { return rows_; }
  size_t row_count() const { return rows_.size(); }
  // Sum over all rows; cumulative_ns is 0, since cumulative times don't add up.
  CallStats Total() const;

  // Adds all of `other`: its new functions, rows and edges come behind ours, in its order.
  void Merge(const Profile& other);

  void Reserve(size_t function_count, size_t edge_count);
  size_t AllocatedBytes() const;

 private:
  uint32_t* FunctionSlot(StringId file, int64_t line, StringId name);
  uint32_t* EdgeSlot(FunctionId caller, FunctionId callee);
  void MakeEdgeIndex();

  std::vector<Function> functions_;
  std::vector<Edge> edges_;
  std::vector<FunctionId> rows_;
  std::vector<uint32_t> function_index_;  // open addressing: function number + 1
  std::vector<uint32_t> edge_index_;      // open addressing: edge number + 1
};

// The edges of a profile by callee and by caller, each list in the order of Profile::edges(). A snapshot: O(functions +
// edges) to make, 4 bytes per function and edge for each direction.
//
//   CallGraph graph(profile);
//   for (uint32_t e : graph.CallersOf(f)) … profile.edges()[e].caller …
class CallGraph {
 public:
  explicit CallGraph(const Profile& profile);
  absl::Span<const uint32_t> CallersOf(FunctionId callee) const { return ListOf(by_callee_, callee); }
  absl::Span<const uint32_t> CalleesOf(FunctionId caller) const { return ListOf(by_caller_, caller); }

 private:
  struct Lists {
    std::vector<uint32_t> begin;  // of each function, and the end of the last
    std::vector<uint32_t> edges;
  };
  static absl::Span<const uint32_t> ListOf(const Lists& lists, FunctionId id) {
    const uint32_t begin = lists.begin[Index(id)];
    return absl::MakeConstSpan(lists.edges).subspan(begin, lists.begin[Index(id) + 1] - begin);
  }

  Lists by_callee_;
  Lists by_caller_;
};

}  // namespace tracekiln

#endif  // TRACEKILN_FORMATS_INTERMEDIATE_PROFILE_H_
