// Prints a profile as Python's pstats prints it, byte for byte: print_stats, print_callers, print_callees.
//
//   Selection selection = Select(profile, order, false, {});
//   WriteHeader(profile, {PstatsFileLine("a.prof")}, &sink);
//   WriteTable(profile, selection, &sink);
//
// Where the text differs from that of pstats, with the same file (tests/pstats_text_test.py compares):
// - Times are whole nanoseconds here, printed through the doubles nearest to them. These are the doubles of the file
//   if tracekiln wrote it or a time was a literal (0.0045), and all beyond 104 days. cProfile multiplies by 1e-9, which
//   often gives the double beside the nearest one: where a time, or a time per call, is half a thousandth to the
//   nanosecond, the last digit can be another. None of the tests' real profiles shows it. Times that differ by less
//   than a nanosecond are ties. NaN and infinity were read as 0, as was negative zero.
// - Counts and lines end at the limits of int64.
// - Names that pstats can't print (lone surrogates), and control characters, are escaped: see AppendPrintable.
// - Keys that are twice in a file were added up; Python keeps the last. So were callers that become one without their
//   directories (rename_functions.h).
// - Callers that are only a count (written by the module `profile`) have a table like all others, with times of 0.
// - Several files are added as by Stats(a).add(b).add(c). Stats(a, b, c) is a, c, b: another order of ties and names.
//   Sums are of nanoseconds, not of doubles with a rounding error each.
// - Filters are RE2's: \d, \w and \b are ASCII's. A reduction names a pattern with its characters as they are where
//   Python's repr would escape more than control characters.
// - Several `jprofile` top level functions are named in the order of rows; in pstats that is the order of a set.
// Rows that tie in all sort keys are in the order of the file in both, reversed if the list is.
// Source: CPython 3.11 Lib/pstats.py.
#ifndef TRACEKILN_ANALYSIS_PROFILE_TABLE_PSTATS_TEXT_H_
#define TRACEKILN_ANALYSIS_PROFILE_TABLE_PSTATS_TEXT_H_

#include <string>

#include "absl/types/span.h"
#include "analysis/profile_table/profile_table.h"
#include "formats/intermediate/profile.h"
#include "formats/io/byte_sink.h"

namespace tracekiln::profile_table {

// What pstats says of an input: when the file was changed last, in local time, and its name. The name alone if there is
// no such file. "-" is standard input.
std::string PstatsFileLine(const std::string& path);

// The lines of the inputs, and calls and time in all; the time is added up as pstats does, in the order of the rows, so
// pass the profile as it was loaded, with directories.
void WriteHeader(const Profile& profile, absl::Span<const std::string> file_lines, io::ByteSink* sink);

// How the list was made, and the table. Nothing if no row is selected.
void WriteTable(const Profile& profile, const Selection& selection, io::ByteSink* sink);

// The same with who called each of the rows, or whom each called.
void WriteCallers(const Profile& profile, const CallGraph& graph, const Selection& selection, io::ByteSink* sink);
void WriteCallees(const Profile& profile, const CallGraph& graph, const Selection& selection, io::ByteSink* sink);

}  // namespace tracekiln::profile_table

#endif  // TRACEKILN_ANALYSIS_PROFILE_TABLE_PSTATS_TEXT_H_
