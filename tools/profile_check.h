// What `tracekiln check` says about profiles, and its --repair.
#ifndef TRACEKILN_TOOLS_PROFILE_CHECK_H_
#define TRACEKILN_TOOLS_PROFILE_CHECK_H_

#include <string>

#include "absl/strings/string_view.h"
#include "analysis/profile_health/profile_health.h"
#include "formats/intermediate/import_report.h"
#include "formats/intermediate/profile.h"
#include "formats/json/writer.h"
#include "tools/command.h"
#include "tools/flags.h"

namespace tracekiln::tools {

// The beginning of the file at `path`, as AnalyzeProfile takes it; empty if it can't be read or is no regular file.
std::string FileHead(const std::string& path);

// Several lines, the first with `name`.
std::string ProfileHealthText(absl::string_view name, const Profile& profile, const ImportReport& report,
                              const profile_health::ProfileHealth& health);

// One object.
void WriteProfileHealth(const Profile& profile, const profile_health::ProfileHealth& health, json::Writer* w);

// What is wrong with --repair, --output, --max-depth and --root; OK if nothing is. InvalidArgument is wrong usage.
[[nodiscard]] absl::Status CheckRepairFlags(const ParsedFlags& flags);

// Repairs `profile`, writes it to the path of --output, reads that and checks it; says what was done on standard error
// and on `*text`. An exit status: kDoneWithLosses if a viewer would still fail.
// REQUIRES: CheckRepairFlags was OK.
int RepairToFile(const Profile& profile, const ParsedFlags& flags, const CommandContext& context, std::string* text);

}  // namespace tracekiln::tools

#endif  // TRACEKILN_TOOLS_PROFILE_CHECK_H_
