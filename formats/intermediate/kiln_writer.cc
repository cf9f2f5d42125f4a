#include "formats/intermediate/kiln_writer.h"

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "formats/intermediate/kiln_records.h"
#include "formats/intermediate/ordered_tasks.h"

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
    if (tasks_.size() >= max_pending_) {
      if (absl::Status status = WriteOldest(); !status.ok()) return status;
    }
    std::unique_ptr<Pending> pending;
    if (free_.empty()) {
      pending = std::make_unique<Pending>(options_.encode);
    } else {
      pending = std::move(free_.back());
      free_.pop_back();
    }
    std::swap(pending->batch, *batch);
    Pending* p = pending.get();
    pending_.push_back(std::move(pending));
    tasks_.Push([p] { p->Encode(); });
    return absl::OkStatus();
  }

  absl::Status Finish(const TraceInfo& info) {
    while (status_.ok() && tasks_.size() > 0) (void)WriteOldest();
    if (!status_.ok()) return status_;
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
  struct Pending {
    explicit Pending(const EncodeOptions& options) : encoder(options) {}
    void Encode() {
      parts.clear();
      status = encoder.Encode(batch, &header, &parts);
      batch.Clear();
    }
    ChunkEncoder encoder;
    EventBatch batch;
    ChunkHeader header;
    std::string parts;
    absl::Status status;
  };

  void WriteRecord(RecordKind kind, absl::string_view message) {
    record_.clear();
    AppendRecord(kind, message, &record_);
    sink_.Write(record_);
    offset_ += record_.size();
  }

  absl::Status WriteOldest() {
    tasks_.Pop();
    std::unique_ptr<Pending> pending = std::move(pending_.front());
    pending_.pop_front();
    if (!pending->status.ok()) {
      return status_ = absl::Status(
                 pending->status.code(),
                 absl::StrCat(sink_.name(), ": chunk ", footer_.chunks.size(), ": ", pending->status.message()));
    }
    IndexEntry entry;
    entry.offset = offset_;
    entry.header = pending->header;
    entry.header.first_row = rows_;
    rows_ += entry.header.rows;
    WriteRecord(RecordKind::kChunk, EncodeChunkHeader(entry.header));
    entry.parts_offset = offset_;
    sink_.Write(pending->parts);
    offset_ += pending->parts.size();
    footer_.chunks.push_back(std::move(entry));
    free_.push_back(std::move(pending));
    return status_ = sink_.status();
  }

  io::ByteSink& sink_;
  const WriterOptions options_;
  const size_t max_pending_;
  absl::Status status_;
  std::string record_;
  uint64_t offset_ = 0;  // bytes written to the file
  uint64_t rows_ = 0;
  Footer footer_;
  std::vector<std::unique_ptr<Pending>> free_;
  std::deque<std::unique_ptr<Pending>> pending_;  // those of tasks_, in the same order
  OrderedTasks tasks_;                            // last, so that it ends before what its work uses
};

KilnWriter::KilnWriter(io::ByteSink& sink, const WriterOptions& options, io::Executor& executor)
    : impl_(std::make_unique<Impl>(sink, options, executor)) {}
KilnWriter::~KilnWriter() = default;

absl::Status KilnWriter::Write(EventBatch* batch) { return impl_->Write(batch); }
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
  return writer.Finish(source.info());
}

}  // namespace tracekiln::kiln
