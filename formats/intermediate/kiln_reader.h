// KilnReader: a .kiln file as a TraceSource, all of it or a selection.
//
//   absl::StatusOr<std::unique_ptr<kiln::KilnReader>> reader =
//       kiln::KilnReader::Open(file, {.columns = kiln::ColumnSelection::kCore, .categories = {"kernel"}}, executor);
//   if (!reader.ok()) return reader.status();
//   … (*reader)->Next(&batch) …
//
// Chunks in which nothing can match are not read; columns that are not wanted are neither read nor decompressed. Chunks
// are decoded ahead on the executor, at most executor.concurrency() + 1 of them, and come in file order. Rewindable;
// the info is known from the start.
//
// The graph and profile sections, where there are some, are read when the file is opened, whatever is selected of the
// rows. One that is not whole is none: half a profile would be wrong in every sum, half a graph in every path.
//
// Without an index (the writer died, or the end of the file is damaged) the chunks are found by their headers. A torn
// last chunk is dropped, and so is a graph or profile that was not written to its end. All this is noted in
// info().report.
#ifndef TRACEKILN_FORMATS_INTERMEDIATE_KILN_READER_H_
#define TRACEKILN_FORMATS_INTERMEDIATE_KILN_READER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "formats/intermediate/chunk_codec.h"
#include "formats/intermediate/event_batch.h"
#include "formats/intermediate/graph.h"
#include "formats/intermediate/kiln_records.h"
#include "formats/intermediate/trace_source.h"
#include "formats/io/executor.h"
#include "formats/io/random_access.h"

namespace tracekiln::kiln {

// A row is in the window if it starts in [begin_ns, end_ns) or starts before and ends after begin_ns.
struct TimeWindow {
  int64_t begin_ns = INT64_MIN;  // from the trace's base
  int64_t end_ns = INT64_MAX;    // INT64_MAX: no end
};

constexpr uint32_t KindBit(EventKind kind) { return uint32_t{1} << static_cast<int>(kind); }
inline constexpr uint32_t kAllKinds = (uint32_t{1} << kEventKindCount) - 1;

struct ReadOptions {
  ColumnSelection columns = ColumnSelection::kAll;

  // What is wanted: rows that satisfy all four.
  std::optional<TimeWindow> window = std::nullopt;
  std::vector<std::string> categories = {};  // empty: all rows, also those without a category
  uint32_t kinds = kAllKinds;                // KindBit(…) | …
  std::vector<TrackKey> tracks = {};         // empty: all
  // Rows of kind kMetadata (names of tracks) are wanted whatever window, categories and tracks say.
  bool keep_metadata = true;
  // False: whole chunks that may hold wanted rows, which costs nothing per row.
  bool filter_rows = true;

  // What the report would only note (no index, a torn last chunk, graph or profile) is an error.
  bool strict = false;
  // Chunks that are damaged are left out and counted in the report instead of being an error; so is a damaged graph
  // or profile, as a whole.
  bool salvage = false;
};

class KilnReader final : public TraceSource {
 public:
  // InvalidArgument: no .kiln file, or a malformed one. DataLoss: cut off inside the header, or a checksum does not
  // match. Unimplemented: of another version or with features that are not known. `executor` must outlive the reader.
  static absl::StatusOr<std::unique_ptr<KilnReader>> Open(std::shared_ptr<const io::RandomAccessFile> file,
                                                          const ReadOptions& options, io::Executor& executor);
  ~KilnReader() override;

  absl::StatusOr<bool> Next(EventBatch* batch) override;
  absl::Status Rewind() override;
  bool can_rewind() const override { return true; }
  const TraceInfo& info() const override;
  const Profile* profile() const override;
  const Graph* graph() const override;
  Progress progress() const override;

  // All chunks of the file, in file order, and which of them are read (positions in chunks(), ascending).
  const std::vector<IndexEntry>& chunks() const;
  const std::vector<size_t>& selected() const;
  // Bytes of chunks read from the file since it was opened.
  uint64_t bytes_read() const;

 private:
  class Impl;
  explicit KilnReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// How sure it is that a file beginning with `head` is a .kiln file: 100 or 0.
int SniffKiln(absl::string_view head);

}  // namespace tracekiln::kiln

#endif  // TRACEKILN_FORMATS_INTERMEDIATE_KILN_READER_H_
