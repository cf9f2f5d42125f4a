// ReadPytorchEt: PyTorch execution traces (ExecutionTraceObserver's JSON) as a Graph.
//
//   ImportReport report;
//   absl::StatusOr<Graph> graph = ReadPytorchEt(*input->Stream(), {}, &report);
//
// Reads schema 1.0.1 to 1.1.1 and what is made of them (the reference linker's files). It goes by the keys of a node,
// not by the schema's tag, since tags and contents disagree in real files:
//
//   nested (1.0.2 …)   id, name, ctrl_deps, inputs and outputs {values, shapes, types, strides}, attrs [{name, type,
//                      value}]
//   flat (1.0.1)       id, name, parent, inputs, input_shapes, input_types, outputs, output_shapes, output_types, and
//                      the attributes as keys: fw_parent, seq_id, scope, tid, fw_tid, rf_id, op_schema
//
// Values, shapes, types and strides become canonical JSON (formats/json/canonical.h). Keys of a node that are none of
// these become attributes, after the others. Keys beside "nodes" become attributes of the graph. Attributes get the
// type that the file names, else that of their value; a value that is no number, text or truth stands as JSON text.
//
// PyTorch writes the names of nodes without escaping them: a quote or backslash in an annotation makes the whole file
// invalid JSON. Its layout tells where a name ends (`"id": N, "name": "…", "ctrl_deps": N,` and then "inputs"), so
// that such a name (of up to 8 KiB) is taken as it stands and counted. A name that is valid JSON is read as JSON.
// Source: pytorch/pytorch, torch/csrc/profiler/standalone/execution_trace_observer.cpp.
//
// One pass; memory is that of the graph and of the largest node.
//
// The report: seen = nodes of the file; imported = those in the graph. Notes (odd but kept):
//   attribute_type_mismatch   the value is not of the type that the file names; it gets its own type
//   truncated_list            a list of 4,096 entries: PyTorch cuts longer ones there
//   unequal_lists             values, shapes and types of a node's inputs or outputs differ in length
//   and those of NoteGraphFaults
// Repaired, and an error if strict:
//   unescaped_name            as said above
//   and confined damage, by its names in formats/json/damage.h
// Skipped, with salvage only:
//   malformed_node            up to the next node
#ifndef TRACEKILN_FORMATS_PYTORCH_ET_PYTORCH_ET_READER_H_
#define TRACEKILN_FORMATS_PYTORCH_ET_PYTORCH_ET_READER_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/intermediate/graph.h"
#include "formats/intermediate/import_report.h"
#include "formats/io/byte_source.h"

namespace tracekiln::pytorch_et {

struct ReadOptions {
  bool strict = false;
  // A cut file ends with its last whole node, and nodes that can't be read are left out, instead of being an error.
  bool salvage = false;
};

// Reads `source` to its end. Sets `*report`'s counts and adds to its entries. Errors name file, offset and reason, and
// say how many whole nodes precede: DataLoss for a cut file, InvalidArgument for what is no such trace,
// ResourceExhausted for a node of more than 256 MiB, a node with more attributes than Graph::kMaxAttributes and more
// distinct text than a StringPool holds; errors of the source.
[[nodiscard]] absl::StatusOr<Graph> ReadPytorchEt(io::ByteSource& source, const ReadOptions& options,
                                                  ImportReport* report);

// How sure it is that a file beginning with `head` is an execution trace: 95 if its first keys are "schema" and then
// "nodes"; else 0.
int SniffPytorchEt(absl::string_view head);

}  // namespace tracekiln::pytorch_et

#endif  // TRACEKILN_FORMATS_PYTORCH_ET_PYTORCH_ET_READER_H_
