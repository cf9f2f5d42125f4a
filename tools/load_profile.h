// Profiles as the input of a command: of one file, or the sum of several.
#ifndef TRACEKILN_TOOLS_LOAD_PROFILE_H_
#define TRACEKILN_TOOLS_LOAD_PROFILE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "formats/intermediate/import_report.h"
#include "formats/intermediate/profile.h"
#include "formats/intermediate/trace_source.h"
#include "tools/command.h"
#include "tools/flags.h"

namespace tracekiln::tools {

// A profile that was loaded, with whatever owns it.
class LoadedProfile {
 public:
  const Profile& profile() const { return sum_ != nullptr ? *sum_ : *source_->profile(); }
  // Something was left out: the command ends with kDoneWithLosses.
  bool is_salvaged() const;
  // What importing found, of each file in turn.
  const std::vector<ImportReport>& reports() const { return reports_; }

 private:
  friend absl::StatusOr<LoadedProfile> LoadProfile(const std::string&, const ParsedFlags&, const CommandContext&);
  friend absl::StatusOr<LoadedProfile> LoadProfiles(absl::Span<const std::string>, const ParsedFlags&,
                                                    const CommandContext&);
  // The profile is *sum_ (of several files, or made of a timeline) or, without one, that of the source. Not copied,
  // since it may be large.
  std::unique_ptr<TraceSource> source_;
  std::unique_ptr<Profile> sum_;
  std::vector<ImportReport> reports_;
};

// Opens `path` ("-": standard input) and reads its profile; a timeline is made one, by the options of the format pstats
// that are among --option (pstats_options.h). Says the notes and what the import report found. Fails as opening and
// reading do; InvalidArgument if the trace has neither a profile nor slices.
[[nodiscard]] absl::StatusOr<LoadedProfile> LoadProfile(const std::string& path, const ParsedFlags& flags,
                                                        const CommandContext& context);

// The sum of all `paths`, as pstats' add: the functions of the first file come first. Fails if any of them fails.
// REQUIRES: at least one path.
[[nodiscard]] absl::StatusOr<LoadedProfile> LoadProfiles(absl::Span<const std::string> paths, const ParsedFlags& flags,
                                                         const CommandContext& context);

}  // namespace tracekiln::tools

#endif  // TRACEKILN_TOOLS_LOAD_PROFILE_H_
