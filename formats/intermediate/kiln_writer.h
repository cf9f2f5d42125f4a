// KilnWriter: batches -> a .kiln file (FORMAT.md).
//
//   kiln::KilnWriter writer(*sink, {}, executor);
//   while (…) {
//     absl::StatusOr<bool> more = source->Next(&batch);
//     …
//     if (absl::Status status = writer.Write(&batch); !status.ok()) return status;
//   }
//   absl::Status status = writer.Finish(source->info());
//   if (status.ok()) status = sink->Close();
//
// Batches are joined to chunks of at least min_chunk_rows. Chunks are encoded on the executor and written in order; the
// bytes do not depend on the executor. At most executor.concurrency() + 2 chunks are held, so memory is bounded. If the
// process dies, the chunks written so far can be read. Not thread-safe.
#ifndef TRACEKILN_FORMATS_INTERMEDIATE_KILN_WRITER_H_
#define TRACEKILN_FORMATS_INTERMEDIATE_KILN_WRITER_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "formats/intermediate/chunk_codec.h"
#include "formats/intermediate/event_batch.h"
#include "formats/intermediate/graph.h"
#include "formats/intermediate/profile.h"
#include "formats/intermediate/trace_source.h"
#include "formats/io/byte_sink.h"
#include "formats/io/executor.h"

namespace tracekiln::kiln {

struct WriterOptions {
  EncodeOptions encode = {};
  // Small chunks repeat their strings (FORMAT.md has the numbers). 1: every batch is a chunk of its own.
  uint32_t min_chunk_rows = 16384;
  // Written at the start of the file: all that a reader knows of the trace if the writer dies. Finish replaces it.
  TraceInfo known_at_start = {};
};

class KilnWriter {
 public:
  // Sink and executor must outlive the writer. The file's header is written at once.
  KilnWriter(io::ByteSink& sink, const WriterOptions& options, io::Executor& executor);
  // Without Finish the file ends after some chunk.
  ~KilnWriter();
  KilnWriter(const KilnWriter&) = delete;
  KilnWriter& operator=(const KilnWriter&) = delete;

  // Takes the rows of *batch and leaves it empty, with memory of an earlier batch for reuse. An empty batch is skipped.
  // Errors are those of ChunkEncoder::Encode and of the sink; they may belong to an earlier batch and are final.
  absl::Status Write(EventBatch* batch);

  // Writes what is pending, then the profile section. Until it returned OK and the sink has the bytes, a reader of a
  // torn file finds no profile: one is read whole or not at all. Call it at most once (else FailedPrecondition). Errors
  // are those of EncodeProfile and of the sink.
  absl::Status WriteProfile(const Profile& profile);

  // The same of the graph section. Errors are those of EncodeGraph and of the sink.
  absl::Status WriteGraph(const Graph& graph);

  // Writes what is pending, the info and the index. Does not close the sink. Call it once.
  absl::Status Finish(const TraceInfo& info);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Writes all of `source`, its graph and profile included, and finishes. The source need not be rewound: it is read from
// where it is.
absl::Status WriteKiln(TraceSource& source, const EncodeOptions& options, io::ByteSink& sink, io::Executor& executor);

}  // namespace tracekiln::kiln

#endif  // TRACEKILN_FORMATS_INTERMEDIATE_KILN_WRITER_H_
