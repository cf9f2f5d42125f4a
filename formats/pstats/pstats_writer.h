// WritePstats: a profile as a `.prof` file, which Python's pstats and all viewers of such files read.
//
//   absl::Status status = WritePstats(profile, {}, *sink);
//   if (status.ok()) status = sink->Close();
//
// The file is one marshalled dict {(file, line, name): (cc, nc, tt, ct, {(file, line, name): (nc, cc, tt, ct)})}: the
// number of primitive calls comes first for a function, second for its callers. Times are seconds, each the double
// nearest to its ns / 10^9; reading them back gives the same ns up to 2^51 ns (26 days). Rows come in the order of
// Profile::rows(), the callers of each in the order of Profile::edges(). Loads in Python 3.4 and later. The bytes
// depend on the profile and the options only.
#ifndef TRACEKILN_FORMATS_PSTATS_PSTATS_WRITER_H_
#define TRACEKILN_FORMATS_PSTATS_PSTATS_WRITER_H_

#include "absl/status/status.h"
#include "formats/intermediate/profile.h"
#include "formats/io/byte_sink.h"

namespace tracekiln::pstats {

struct WritePstatsOptions {
  // Texts and keys that occur more than once are written once and referred to: about a third of the size, and half the
  // memory in whoever loads it. The first byte is then 0xfb, by which no viewer takes the file for text. Without
  // references the file has the codes { ) i l g z a u 0 only, for simple readers.
  bool references = true;
  // Names that no viewer chokes on, and that stay distinct (safe_name.h). Otherwise they are written as they are.
  bool safe_names = true;
  // A function that is only named as a caller becomes a row of zeros behind the rows; five of six viewers refuse a file
  // in which it isn't one. A function without numbers that has callers itself becomes a row in any case.
  bool caller_rows = true;
  // Write a profile without rows as an empty dict, which neither pstats nor any viewer opens.
  bool allow_empty = false;
};

// Writes all of `profile`; the caller closes the sink. FailedPrecondition, and nothing is written, if there are no rows
// and not allow_empty; errors of the sink. Memory: 8 bytes per function and text, 8 per edge.
[[nodiscard]] absl::Status WritePstats(const Profile& profile, const WritePstatsOptions& options, io::ByteSink& sink);

}  // namespace tracekiln::pstats

#endif  // TRACEKILN_FORMATS_PSTATS_PSTATS_WRITER_H_
