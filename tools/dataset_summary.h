// `tracekiln info DIR`: what a run directory holds.
#ifndef TRACEKILN_TOOLS_DATASET_SUMMARY_H_
#define TRACEKILN_TOOLS_DATASET_SUMMARY_H_

#include <string>

#include "analysis/dataset/dataset.h"
#include "formats/json/writer.h"
#include "tools/command.h"

namespace tracekiln::tools {

// For people: counts by kind, a table of ranks for each run, findings. Long lists are cut and say so.
std::string DatasetText(const dataset::Dataset& found);

// For programs: everything. Names that are not UTF-8 are written as JSON can; "path_hex" then has their bytes.
void WriteDataset(const dataset::Dataset& found, json::Writer* w);

// Scans the directory and appends the text, or one line of JSON, to *out. kDoneWithLosses if files were unreadable,
// empty or damaged, or a limit was reached.
int DescribeDirectory(const std::string& directory, const ParsedFlags& flags, CommandContext& context, bool is_json,
                      std::string* out);

}  // namespace tracekiln::tools

#endif  // TRACEKILN_TOOLS_DATASET_SUMMARY_H_
