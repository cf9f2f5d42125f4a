// Prints a profile as Python's pstats prints it, byte for byte: print_stats, print_callers, print_callees.
//
//   Selection selection = Select(profile, order, false, {});
//   WriteHeader(profile, {PstatsFileLine("a.prof")}, &sink);
//   WriteTable(profile, selection, &sink);
//
// Where the text differs from that of pstats, with the same file:
// - Times are whole nanoseconds here. They are shown through the same double as in files written by cProfile, so that
//   also halves of the last digit are rounded as there; in files with times between nanoseconds a last digit can
//   differ. Not a number and infinite times were read as 0.
// - Names that pstats can't print (lone surrogates), and control characters, are escaped: see AppendPrintable.
// - Callers that are only a count (written by the module `profile`) have a table like all others, with times of 0.
// - Several `jprofile` top level functions are named in the order of rows.
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

// The lines of the inputs, and calls and time in all.
void WriteHeader(const Profile& profile, absl::Span<const std::string> file_lines, io::ByteSink* sink);

// How the list was made, and the table. Nothing if no row is selected.
void WriteTable(const Profile& profile, const Selection& selection, io::ByteSink* sink);

// The same with who called each of the rows, or whom each called.
void WriteCallers(const Profile& profile, const CallGraph& graph, const Selection& selection, io::ByteSink* sink);
void WriteCallees(const Profile& profile, const CallGraph& graph, const Selection& selection, io::ByteSink* sink);

}  // namespace tracekiln::profile_table

#endif  // TRACEKILN_ANALYSIS_PROFILE_TABLE_PSTATS_TEXT_H_
