// Profiles under other names: without directories, without line numbers. Functions that get the same name become one.
#ifndef TRACEKILN_ANALYSIS_PROFILE_TABLE_RENAME_FUNCTIONS_H_
#define TRACEKILN_ANALYSIS_PROFILE_TABLE_RENAME_FUNCTIONS_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "formats/intermediate/profile.h"

namespace tracekiln::profile_table {

struct FunctionName {
  absl::string_view file;
  int64_t line = 0;
  absl::string_view name;
};

// The profile with every function under rename(its name). Numbers of functions, and of edges, that get the same names
// add up; rows keep their order, that of the first of each. What `rename` returns need only live until its next call.
Profile RenameFunctions(const Profile& profile, absl::FunctionRef<FunctionName(const FunctionName&)> rename);

// As pstats' strip_dirs: files without their directories. Of two callers that become one, pstats keeps the last one's
// numbers; here they add up, so that the calls of a function stay the sum over its callers.
Profile StripDirectories(const Profile& profile);

// All lines are 0: matches functions of two versions of a program. Lambdas of one file become one.
Profile IgnoreLines(const Profile& profile);

}  // namespace tracekiln::profile_table

#endif  // TRACEKILN_ANALYSIS_PROFILE_TABLE_RENAME_FUNCTIONS_H_
