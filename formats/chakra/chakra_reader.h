// ReadChakra: Chakra execution traces (`.et`) as a Graph.
//
//   ImportReport report;
//   absl::StatusOr<Graph> graph = ReadChakra(*input->Stream(), {}, &report);
//
// Reads what et_def.proto describes (the reference converter and generator, ASTRA-sim's tools), in one pass; memory is
// that of the graph and of the largest record. What a newer schema added comes through: fields that aren't known as
// bytes, types of nodes as their numbers. Dependencies may be packed or not. A file of the schema before 0.0.4, whose
// first record is a node already, is read as well.
//
// The report: seen = records of nodes, imported = nodes. Notes (odd but kept):
//   no_metadata               the first record is a node
//   unknown_field             a field that et_def.proto lacks
//   unknown_node_type         a number above 7
//   attribute_without_value
//   and those of NoteGraphFaults
// Repaired, and an error if strict:
//   invalid_utf8              a text that is not UTF-8, each bad sequence replaced by U+FFFD
//   zero_padding              nothing but zeros behind the last node
//   trailing_damage           with salvage only: what is wrong with the rest of the file
// Skipped, with salvage only, behind the first whole node:
//   malformed_node            a record that is whole, but no node
#ifndef TRACEKILN_FORMATS_CHAKRA_CHAKRA_READER_H_
#define TRACEKILN_FORMATS_CHAKRA_CHAKRA_READER_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/intermediate/graph.h"
#include "formats/intermediate/import_report.h"
#include "formats/io/byte_source.h"

namespace tracekiln::chakra {

// A record may be so large.
inline constexpr uint64_t kMaxRecordBytes = uint64_t{64} << 20;

struct ReadChakraOptions {
  bool strict = false;
  // A file that is cut or damaged in the middle ends with its last whole node, instead of being an error.
  bool salvage = false;
};

// Reads `source` to its end. Sets `*report`'s counts and adds to its entries. Errors name file, offset and reason, and
// say how many whole nodes precede: DataLoss if the file ends inside a record, InvalidArgument for what is no message,
// ResourceExhausted for a record of more than kMaxRecordBytes, a node with more attributes than Graph::kMaxAttributes
// and more distinct text than a StringPool holds; errors of the source.
[[nodiscard]] absl::StatusOr<Graph> ReadChakra(io::ByteSource& source, const ReadChakraOptions& options,
                                               ImportReport* report);

// How sure it is that a file beginning with `head` is a Chakra trace. There is no magic: 85 if two records or all there
// are make sense, the first of them with a version or attributes; 60 if the first does and what follows is damaged or
// does not fit the head; else 0.
int SniffChakra(absl::string_view head);

}  // namespace tracekiln::chakra

#endif  // TRACEKILN_FORMATS_CHAKRA_CHAKRA_READER_H_
