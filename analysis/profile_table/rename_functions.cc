#include "analysis/profile_table/rename_functions.h"

#include <vector>

namespace tracekiln::profile_table {

Profile RenameFunctions(const Profile& profile, absl::FunctionRef<FunctionName(const FunctionName&)> rename) {
  Profile renamed;
  renamed.Reserve(profile.functions().size(), profile.edges().size());
  std::vector<FunctionId> ids;
  ids.reserve(profile.functions().size());
  for (uint32_t i = 0; i < profile.functions().size(); ++i) {
    const FunctionId id{i};
    const FunctionName to = rename({profile.file(id), profile.function(id).line, profile.name(id)});
    ids.push_back(renamed.AddFunction(to.file, to.line, to.name));
  }
  for (const FunctionId row : profile.rows()) renamed.AddStats(ids[Index(row)], profile.function(row).stats);
  for (const Profile::Edge& e : profile.edges()) {
    renamed.AddCallerStats(ids[Index(e.caller)], ids[Index(e.callee)], e.stats);
  }
  return renamed;
}

Profile StripDirectories(const Profile& profile) {
  return RenameFunctions(profile, [](const FunctionName& from) {
    FunctionName to = from;
    const size_t slash = from.file.rfind('/');
    if (slash != absl::string_view::npos) to.file.remove_prefix(slash + 1);
    return to;
  });
}

Profile IgnoreLines(const Profile& profile) {
  return RenameFunctions(profile, [](const FunctionName& from) { return FunctionName{from.file, 0, from.name}; });
}

}  // namespace tracekiln::profile_table
