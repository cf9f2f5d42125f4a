// What an event's category stands for: the one table of the categories that profilers use.
//
//   CategoryRole role = RoleOfCategory(batch.CategoryOf(row));
//   if (IsHostRole(role)) …
//
// A category that is not in the table is host work of no known kind: kHostOther. O(entries of the table): look a
// category up once per batch, not once per row.
// Sources: kineto libkineto/include/ActivityType.h (names in ActivityType.cpp), and the spellings of 2021 ("Kernel",
// "Runtime", "Operator", "Memcpy").
#ifndef TRACEKILN_FORMATS_INTERMEDIATE_CATEGORY_ROLES_H_
#define TRACEKILN_FORMATS_INTERMEDIATE_CATEGORY_ROLES_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace tracekiln {

enum class CategoryRole : uint8_t {
  kPythonFrame,  // python_function: a Python or C function on the interpreter's stack
  kAnnotation,   // user_annotation: a range that the user named, ProfilerStep#N too
  kOperator,     // cpu_op: an operator of the framework
  kHostCall,     // a call of the device's runtime or driver: launches, copies, synchronisation
  kHostOther,    // on the host, none of the above
  kDeviceWork,   // kernels, copies, memsets
  kDeviceOther,  // on device tracks, but no work: projected annotations, synchronisation
  kBookkeeping,  // the profiler's own, such as the slice over the whole recording
};

constexpr bool IsHostRole(CategoryRole role) { return role <= CategoryRole::kHostOther; }

CategoryRole RoleOfCategory(absl::string_view category);

}  // namespace tracekiln

#endif  // TRACEKILN_FORMATS_INTERMEDIATE_CATEGORY_ROLES_H_
