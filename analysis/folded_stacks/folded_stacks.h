// Folded stacks ("a;b;c 120") out of a profile, for flame graphs. A profile knows who called whom, not the stacks: they
// are reconstructed, by giving every caller of a function its share of what the function did. A stack shown here need
// never have existed; the sums over functions are right.
//
//   FoldedStacks folded = FoldStacks(profile, {});
//   for (const FoldedStack& stack : folded.stacks) sink->Write(FoldedLine(profile, stack));
//
// What holds of the result, whatever the profile:
// - Values are nanoseconds, greater than 0. Their sum is that of the own times of all rows; negative ones count as 0.
// - At most max_stacks stacks of at most max_depth frames (and one for "(more)"). What is below is in the stack of the
//   frame above it with the frame "(more)" behind, or, for whole roots, in the stack "(more)". The greatest parts are
//   shown first.
// - Recursion is folded: calls that close a cycle count to the function's other callers. So it ends on cycles, and no
//   frame occurs twice in a stack.
// - The same profile gives the same stacks.
// O(functions + edges * log callees + max_stacks * callees of a shown function).
#ifndef TRACEKILN_ANALYSIS_FOLDED_STACKS_FOLDED_STACKS_H_
#define TRACEKILN_ANALYSIS_FOLDED_STACKS_FOLDED_STACKS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "formats/intermediate/profile.h"

namespace tracekiln::folded_stacks {

struct FoldOptions {
  size_t max_stacks = 999;  // at least 2
  size_t max_depth = 256;   // at least 1
};

struct FoldedStack {
  std::vector<FunctionId> frames;  // outermost first
  bool has_more = false;           // the frame "(more)" comes behind
  int64_t value_ns = 0;
};

struct FoldedStacks {
  std::vector<FoldedStack> stacks;  // a caller before what it called, else the greater part first
  uint64_t cut_edge_count = 0;      // calls that close a cycle
  uint64_t negative_row_count = 0;  // rows with negative own time
  int64_t negative_ns = 0;          // the sum of these times
  int64_t more_ns = 0;              // the part in "(more)"
};

FoldedStacks FoldStacks(const Profile& profile, const FoldOptions& options);

// The stack as a line for flamegraph.pl, speedscope and others, with the line break. Frames are standard names
// (analysis/profile_table/function_text.h) of at most about 500 bytes, with ";" and control characters as \xNN.
std::string FoldedLine(const Profile& profile, const FoldedStack& stack);

}  // namespace tracekiln::folded_stacks

#endif  // TRACEKILN_ANALYSIS_FOLDED_STACKS_FOLDED_STACKS_H_
