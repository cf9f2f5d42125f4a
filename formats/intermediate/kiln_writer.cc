#include "formats/intermediate/kiln_writer.h"

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "formats/intermediate/graph_codec.h"
#include "formats/intermediate/kiln_records.h"
#include "formats/intermediate/ordered_tasks.h"
#include "formats/intermediate/profile_codec.h"

namespace tracekiln::kiln {

class KilnWriter::Impl {
 public:
  Impl(io::ByteSink& sink, const WriterOptions& options, io::Executor& executor)
      : sink_(sink),
        options_(options),
        max_pending_(static_cast<size_t>(executor.concurrency()) + 1),
        tasks_(executor) {
    WriteRecord(RecordKind::kHeader, EncodeFileHeader(options_.known_at_start));
  }

  absl::Status Write(EventBatch* batch) {
    if (!status_.ok()) return status_;
    if (batch->empty()) return absl::OkStatus();
    // Few rows can still be much: long texts, or a shape of its own for each row.
    const size_t text_bytes = batch->strings.bytes().size();
    const size_t fields = batch->args.field_count();
    if (group_rows_ + batch->rows() > EventBatch::kMaxRows || group_text_bytes_ + text_bytes > kEnoughTextBytes ||
        group_fields_ + fields > kEnoughFields) {
      EncodeGroup();
    }
    group_rows_ += batch->rows();
    group_text_bytes_ += text_bytes;
    group_fields_ += fields;
    if (free_batches_.empty()) free_batches_.emplace_back();
    group_.push_back(std::move(free_batches_.back()));
    free_batches_.pop_back();
    std::swap(group_.back(), *batch);
    if (group_rows_ >= options_.min_chunk_rows || group_text_bytes_ >= kEnoughTextBytes) EncodeGroup();
    return status_;
  }

  absl::Status WriteProfile(const Profile& profile) {
    return WriteSection("profile", &has_profile_,
                        [&](const auto& emit) { return EncodeProfile(profile, options_.encode, emit); });
  }

  absl::Status WriteGraph(const Graph& graph) {
    return WriteSection("graph", &has_graph_,
                        [&](const auto& emit) { return EncodeGraph(graph, options_.encode, emit); });
  }

  absl::Status Finish(const TraceInfo& info) {
    if (absl::Status status = WritePending(); !status.ok()) return status;
    footer_.info_offset = offset_;
    const std::string message = EncodeTraceInfo(info);
    if (message.size() > kMaxRecordBytes) {
      return status_ = absl::ResourceExhaustedError(absl::StrCat(sink_.name(), ": the trace's metadata takes ",
                                                                 message.size(), " bytes, more than the ",
                                                                 kMaxRecordBytes, " that a .kiln file can hold"));
    }
    WriteRecord(RecordKind::kInfo, message);
    // A file can do without an index that would be too large for a record.
    const uint64_t footer_offset = offset_;
    const std::string footer = EncodeFooter(footer_);
    if (footer.size() <= kMaxRecordBytes - kRecordPrefixBytes) {
      WriteRecord(RecordKind::kFooter, footer);
      WriteRecord(RecordKind::kTrailer, EncodeTrailer(footer_offset));
    }
    return status_ = sink_.status();
  }

 private:
  // Batches are not joined beyond these.
  static constexpr size_t kEnoughTextBytes = size_t{4} << 20;
  static constexpr size_t kEnoughFields = size_t{1} << 18;

  // Batches that become a chunk, or several if they can't be joined.
  struct Pending {
    explicit Pending(const EncodeOptions& options) : encoder(options) {}
    void Encode() {
      parts.clear();
      headers.clear();
      EventBatch* joined = nullptr;
      for (EventBatch& batch : batches) {
        if (joined != nullptr && joined->AppendAll(batch)) continue;
        if (joined != nullptr) EncodeChunk(*joined);
        joined = &batch;
      }
      EncodeChunk(*joined);
      for (EventBatch& batch : batches) batch.Clear();
    }
    void EncodeChunk(const EventBatch& batch) {
      if (status.ok()) status = encoder.Encode(batch, &headers.emplace_back(), &parts);
    }
    ChunkEncoder encoder;
    std::vector<EventBatch> batches;
    std::vector<ChunkHeader> headers;
    std::string parts;  // of all chunks
    absl::Status status;
  };

  void EncodeGroup() {
    if (group_.empty() || !status_.ok()) return;
    if (tasks_.size() >= max_pending_) WriteOldest();
    std::unique_ptr<Pending> pending;
    if (free_.empty()) {
      pending = std::make_unique<Pending>(options_.encode);
    } else {
      pending = std::move(free_.back());
      free_.pop_back();
    }
    pending->batches.swap(group_);
    group_rows_ = group_text_bytes_ = group_fields_ = 0;
    Pending* p = pending.get();
    pending_.push_back(std::move(pending));
    tasks_.Push([p] { p->Encode(); });
  }

  // A section that is written as a whole. `encode` takes what is to be called for each chunk.
  template <typename Encode>
  absl::Status WriteSection(absl::string_view name, bool* has_it, Encode encode) {
    if (!status_.ok()) return status_;
    if (*has_it) return absl::FailedPreconditionError(absl::StrCat(sink_.name(), ": has a ", name, " already"));
    *has_it = true;
    if (absl::Status status = WritePending(); !status.ok()) return status;
    const absl::Status status = encode([this](const ChunkHeader& header, absl::string_view parts) {
      if (sink_.status().ok()) WriteChunk(header, parts);
    });
    if (!status.ok()) {
      return status_ = absl::Status(status.code(), absl::StrCat(sink_.name(), ": ", name, ": ", status.message()));
    }
    return status_ = sink_.status();
  }

  absl::Status WritePending() {
    if (status_.ok()) EncodeGroup();
    while (status_.ok() && tasks_.size() > 0) WriteOldest();
    return status_;
  }

  // `parts` are those of the chunk.
  void WriteChunk(ChunkHeader header, absl::string_view parts) {
    IndexEntry entry;
    entry.offset = offset_;
    entry.header = std::move(header);
    WriteRecord(RecordKind::kChunk, EncodeChunkHeader(entry.header));
    entry.parts_offset = offset_;
    sink_.Write(parts);
    offset_ += parts.size();
    footer_.chunks.push_back(std::move(entry));
  }

  void WriteRecord(RecordKind kind, absl::string_view message) {
    record_.clear();
    AppendRecord(kind, message, &record_);
    sink_.Write(record_);
    offset_ += record_.size();
  }

  void WriteOldest() {
    tasks_.Pop();
    std::unique_ptr<Pending> pending = std::move(pending_.front());
    pending_.pop_front();
    if (!pending->status.ok()) {
      status_ = absl::Status(pending->status.code(), absl::StrCat(sink_.name(), ": chunk ", footer_.chunks.size(), ": ",
                                                                  pending->status.message()));
      return;
    }
    absl::string_view parts = pending->parts;
    for (ChunkHeader& header : pending->headers) {
      header.first_row = rows_;
      rows_ += header.rows;
      const uint64_t size = header.parts_bytes();
      WriteChunk(std::move(header), parts.substr(0, size));
      parts.remove_prefix(size);
    }
    for (EventBatch& batch : pending->batches) free_batches_.push_back(std::move(batch));
    pending->batches.clear();
    free_.push_back(std::move(pending));
    status_ = sink_.status();
  }

  io::ByteSink& sink_;
  const WriterOptions options_;
  const size_t max_pending_;
  absl::Status status_;
  std::string record_;
  uint64_t offset_ = 0;  // bytes written to the file
  uint64_t rows_ = 0;    // of the timeline
  bool has_profile_ = false;
  bool has_graph_ = false;
  Footer footer_;
  std::vector<EventBatch> group_;  // not yet enough for a chunk
  size_t group_rows_ = 0;
  size_t group_text_bytes_ = 0;
  size_t group_fields_ = 0;
  std::vector<EventBatch> free_batches_;
  std::vector<std::unique_ptr<Pending>> free_;
  std::deque<std::unique_ptr<Pending>> pending_;  // those of tasks_, in the same order
  OrderedTasks tasks_;                            // last, so that it ends before what its work uses
};

KilnWriter::KilnWriter(io::ByteSink& sink, const WriterOptions& options, io::Executor& executor)
    : impl_(std::make_unique<Impl>(sink, options, executor)) {}
KilnWriter::~KilnWriter() = default;

absl::Status KilnWriter::Write(EventBatch* batch) { return impl_->Write(batch); }
absl::Status KilnWriter::WriteGraph(const Graph& graph) { return impl_->WriteGraph(graph); }
absl::Status KilnWriter::WriteProfile(const Profile& profile) { return impl_->WriteProfile(profile); }
absl::Status KilnWriter::Finish(const TraceInfo& info) { return impl_->Finish(info); }

absl::Status WriteKiln(TraceSource& source, const EncodeOptions& options, io::ByteSink& sink, io::Executor& executor) {
  WriterOptions writer_options;
  writer_options.encode = options;
  writer_options.known_at_start = source.info();
  KilnWriter writer(sink, writer_options, executor);
  EventBatch batch;
  for (;;) {
    absl::StatusOr<bool> more = source.Next(&batch);
    if (!more.ok()) return more.status();
    if (!*more) break;
    if (absl::Status status = writer.Write(&batch); !status.ok()) return status;
  }
  if (const Graph* graph = source.graph(); graph != nullptr) {
    if (absl::Status status = writer.WriteGraph(*graph); !status.ok()) return status;
  }
  if (const Profile* profile = source.profile(); profile != nullptr) {
    if (absl::Status status = writer.WriteProfile(*profile); !status.ok()) return status;
  }
  return writer.Finish(source.info());
}

}  // namespace tracekiln::kiln
