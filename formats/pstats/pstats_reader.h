// ReadPstats: the `.prof` files of cProfile, profile and pstats as a Profile.
//
//   ImportReport report;
//   absl::StatusOr<Profile> profile = ReadPstats(*input->Stream(), {}, &report);
//
// Reads what CPython 2.7 to 3.15 write: a marshalled dict (see pstats_writer.h), with and without references. It reads
// the structure of a profile only, never any other object, so nothing in a file can nest or run. One pass; memory is
// that of the profile and 8 to 24 bytes per object that the file numbers for references.
//
// Times become ns by rounding to the nearest (seconds.h). Functions of the same key add up. Python 2's byte strings are
// taken for UTF-8; bytes that aren't become the surrogates U+DC80 + byte, as Python 3 does with file names.
//
// The report: seen = rows of the file; merged = those whose key another row has too. Notes (odd but kept):
//   empty_profile             no rows
//   negative_time             a function, or its calls by a caller, has a negative time
//   non_finite_time           NaN or infinity, taken for 0
//   time_out_of_range         beyond int64 ns (292 years), taken for the nearest limit
//   count_out_of_range        beyond int64, taken for the nearest limit; the detail has the exact number
//   line_out_of_range         the same of a line number
//   fractional_count          a count that is no integer, rounded
//   callers_without_times     the pure-Python `profile` module counts calls of callers only; their times are 0
//   caller_without_row        a caller that is no row
//   duplicate_caller          a function has the same caller twice; their numbers add up
//   trailing_bytes            data behind the end, which Python ignores
// Repaired, and an error if strict:
//   invalid_utf8              text that is not UTF-8 (surrogates aside), each bad sequence replaced by U+FFFD
//   non_ascii_text            text said to be ASCII that isn't; taken for Latin-1, as Python does
// trailing_bytes are an error too if strict. Per function each of them counts once.
#ifndef TRACEKILN_FORMATS_PSTATS_PSTATS_READER_H_
#define TRACEKILN_FORMATS_PSTATS_PSTATS_READER_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/intermediate/import_report.h"
#include "formats/intermediate/profile.h"
#include "formats/io/byte_source.h"

namespace tracekiln::pstats {

struct ReadPstatsOptions {
  bool strict = false;
};

// Reads `source` to its end. Adds to `report`, which may be null. InvalidArgument for what is no profile, with its
// place and, where that can be told, what it is instead; DataLoss if it ends too early; ResourceExhausted for a text of
// more than 64 MiB, for more distinct text than a StringPool holds, and for a file in which references to a few large
// dicts stand for very much more than it has bytes; errors of the source.
[[nodiscard]] absl::StatusOr<Profile> ReadPstats(io::ByteSource& source, const ReadPstatsOptions& options,
                                                 ImportReport* report);

// How sure it is that a file beginning with `head` is a `.prof` file: 90 if it begins with the key of a function, 60
// for an empty dict, 20 for other marshalled data, which ReadPstats refuses with a precise message; else 0.
int SniffPstats(absl::string_view head);

}  // namespace tracekiln::pstats

#endif  // TRACEKILN_FORMATS_PSTATS_PSTATS_READER_H_
