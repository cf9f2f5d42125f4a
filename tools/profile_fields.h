// Pieces of profiles as JSON and CSV, for the commands that print them.
#ifndef TRACEKILN_TOOLS_PROFILE_FIELDS_H_
#define TRACEKILN_TOOLS_PROFILE_FIELDS_H_

#include <cstdint>

#include "formats/intermediate/profile.h"
#include "formats/json/writer.h"
#include "tools/csv.h"

namespace tracekiln::tools {

// Members "file", "line" (both null for built-ins) and "name" of the object that is open. Lone surrogates become the
// text \udNNN.
void WriteFunctionName(const Profile& profile, FunctionId function, json::Writer* w);

// Members "calls", "primitive_calls", "own_ns", "cumulative_ns" of the object that is open.
void WriteCallStats(const CallStats& stats, json::Writer* w);

// ns / count as a value; null if the count is 0.
void WriteRatio(int64_t ns, int64_t count, json::Writer* w);

// Cells with the file and the line (both empty for built-ins) and the name, made harmless as AppendPrintable does.
void AppendFunctionCells(const Profile& profile, FunctionId function, CsvLine* line);

}  // namespace tracekiln::tools

#endif  // TRACEKILN_TOOLS_PROFILE_FIELDS_H_
