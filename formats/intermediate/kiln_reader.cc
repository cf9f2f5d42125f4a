#include "formats/intermediate/kiln_reader.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <utility>

#include "absl/strings/str_cat.h"
#include "formats/intermediate/graph_codec.h"
#include "formats/intermediate/ordered_tasks.h"
#include "formats/intermediate/profile_codec.h"
#include "formats/io/crc32c.h"

namespace tracekiln::kiln {
namespace {

int64_t EndOf(const EventBatch& batch, size_t row) {
  const int64_t ts = batch.ts_ns[row];
  if (batch.kind[row] != EventKind::kSlice) return ts;
  const int64_t dur = batch.dur_ns[row];
  int64_t end;
  if (dur == kUnfinished || (dur > 0 && __builtin_add_overflow(ts, dur, &end))) return INT64_MAX;
  return dur > 0 ? end : ts;
}

bool IsBefore(int64_t ts, const TimeWindow& window) { return window.end_ns == INT64_MAX || ts < window.end_ns; }

template <typename T>
void Compact(std::vector<T>* column, const std::vector<uint32_t>& rows) {
  for (size_t i = 0; i < rows.size(); ++i) (*column)[i] = (*column)[rows[i]];
  column->resize(rows.size());
}

}  // namespace

int SniffKiln(absl::string_view head) {
  Record record;
  if (head.size() < kRecordPrefixBytes) return 0;
  const absl::Status status = ParseRecordPrefix(head, "", 0, &record);
  // Another version is still a .kiln file.
  return status.ok() || absl::IsUnimplemented(status) ? 100 : 0;
}

class KilnReader::Impl {
 public:
  Impl(std::shared_ptr<const io::RandomAccessFile> file, const ReadOptions& options, io::Executor& executor)
      : file_(std::move(file)),
        options_(options),
        max_ahead_(static_cast<size_t>(executor.concurrency()) + 1),
        tasks_(executor) {}

  absl::Status Open();
  absl::StatusOr<bool> Next(EventBatch* batch);
  void Rewind();

  const TraceInfo& info() const { return info_; }
  const Profile* profile() const { return profile_ ? &*profile_ : nullptr; }
  const Graph* graph() const { return graph_ ? &*graph_ : nullptr; }
  const std::vector<IndexEntry>& chunks() const { return chunks_; }
  const std::vector<size_t>& selected() const { return selected_; }
  uint64_t bytes_read() const { return bytes_read_.load(std::memory_order_relaxed); }
  Progress progress() const { return {done_bytes_.load(std::memory_order_relaxed), file_->size()}; }

 private:
  struct Slot {
    size_t chunk = 0;
    ChunkDecoder decoder;
    std::string bytes;
    EventBatch batch;
    absl::Status status;
  };

  absl::Status ReadRecord(uint64_t offset, uint64_t limit, std::string* bytes, Record* record) const;
  absl::Status OpenByIndex(uint64_t header_end);
  absl::Status OpenByScan(uint64_t header_end);
  // A section that is read as a whole; *out stays empty if there is none. `what` it is, for messages.
  template <typename Decoder, typename T>
  absl::Status ReadSection(uint32_t section, absl::string_view what, std::optional<T>* out);
  absl::Status Repaired(absl::string_view reason, uint64_t offset, const std::string& detail);
  bool MayMatch(const ChunkHeader& header) const;
  void Decode(Slot* slot);
  void Filter(EventBatch* batch) const;
  absl::Status CountLoss(const Slot& slot);

  const std::shared_ptr<const io::RandomAccessFile> file_;
  const ReadOptions options_;
  const size_t max_ahead_;

  TraceInfo info_;
  std::optional<Graph> graph_;
  std::optional<Profile> profile_;
  ImportReport opened_report_;  // info_.report as it was after Open
  bool has_info_ = false;
  std::vector<IndexEntry> chunks_;
  std::vector<size_t> selected_;

  size_t next_ = 0;  // into selected_: the next chunk to begin with
  absl::Status status_;
  std::atomic<uint64_t> bytes_read_{0};
  std::atomic<uint64_t> done_bytes_{0};
  std::vector<std::unique_ptr<Slot>> free_;
  std::deque<std::unique_ptr<Slot>> slots_;  // those of tasks_, in the same order
  OrderedTasks tasks_;                       // last, so that it ends before what its work uses
};

// Reads the record at `offset`, which must end at or before `limit`. DataLoss if it does not.
absl::Status KilnReader::Impl::ReadRecord(uint64_t offset, uint64_t limit, std::string* bytes, Record* record) const {
  const auto cut_off = [&] {
    return absl::DataLossError(
        absl::StrCat(file_->name(), ":", offset, ": expected a whole record, got the end of the file"));
  };
  if (offset > limit || limit - offset < kRecordPrefixBytes) return cut_off();
  bytes->resize(kRecordPrefixBytes);
  if (absl::Status status = file_->ReadAt(offset, kRecordPrefixBytes, bytes->data()); !status.ok()) return status;
  if (absl::Status status = ParseRecordPrefix(*bytes, file_->name(), offset, record); !status.ok()) return status;
  if (record->total_bytes > limit - offset) return cut_off();
  bytes->resize(record->total_bytes);
  if (absl::Status status = file_->ReadAt(offset, bytes->size(), bytes->data()); !status.ok()) return status;
  return ParseRecord(*bytes, file_->name(), offset, record);
}

absl::Status KilnReader::Impl::Repaired(absl::string_view reason, uint64_t offset, const std::string& detail) {
  if (options_.strict) return absl::DataLossError(absl::StrCat(file_->name(), ":", offset, ": ", detail));
  info_.report.Repair(reason, offset, detail);
  return absl::OkStatus();
}

absl::Status KilnReader::Impl::Open() {
  std::string bytes;
  Record record;
  if (file_->size() < kRecordPrefixBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(file_->name(), ":0: expected a .kiln file, got ", file_->size(), " bytes"));
  }
  if (absl::Status status = ReadRecord(0, file_->size(), &bytes, &record); !status.ok()) return status;
  if (record.kind != RecordKind::kHeader) {
    return absl::InvalidArgumentError(absl::StrCat(file_->name(), ":0: expected the header of a .kiln file"));
  }
  if (absl::Status status = DecodeFileHeader(record.message, &info_); !status.ok()) {
    return absl::Status(status.code(), absl::StrCat(file_->name(), ":0: ", status.message()));
  }
  const uint64_t header_end = record.total_bytes;
  if (absl::Status by_index = OpenByIndex(header_end); !by_index.ok()) {
    if (absl::Status status = OpenByScan(header_end); !status.ok()) return status;
    if (absl::Status status = Repaired("missing_footer", file_->size(),
                                       absl::StrCat("the file has no index at its end (", by_index.message(), ")"));
        !status.ok()) {
      return status;
    }
  }
  if (absl::Status s = ReadSection<GraphDecoder>(kGraphSection, "graph", &graph_); !s.ok()) return s;
  if (absl::Status s = ReadSection<ProfileDecoder>(kProfileSection, "profile", &profile_); !s.ok()) return s;
  if (info_.source_name.empty()) info_.source_name = file_->name();
  for (size_t c = 0; c < chunks_.size(); ++c) {
    if (MayMatch(chunks_[c].header)) selected_.push_back(c);
  }
  opened_report_ = info_.report;
  return absl::OkStatus();
}

absl::Status KilnReader::Impl::OpenByIndex(uint64_t header_end) {
  const auto malformed = [](absl::string_view what) { return absl::InvalidArgumentError(what); };
  if (file_->size() < header_end + kTrailerBytes) return malformed("too short");
  const uint64_t trailer_offset = file_->size() - kTrailerBytes;
  std::string bytes;
  Record record;
  if (absl::Status status = ReadRecord(trailer_offset, file_->size(), &bytes, &record); !status.ok()) return status;
  uint64_t footer_offset = 0;
  if (record.kind != RecordKind::kTrailer) return malformed("no trailer");
  if (absl::Status status = DecodeTrailer(record.message, &footer_offset); !status.ok()) return status;
  if (absl::Status status = ReadRecord(footer_offset, trailer_offset, &bytes, &record); !status.ok()) return status;
  if (record.kind != RecordKind::kFooter || footer_offset + record.total_bytes != trailer_offset) {
    return malformed("no footer");
  }
  Footer footer;
  if (absl::Status status = DecodeFooter(record.message, &footer); !status.ok()) return status;
  uint64_t end = header_end;
  uint64_t rows = 0;
  for (const IndexEntry& entry : footer.chunks) {
    if (entry.offset < end || entry.parts_offset < entry.offset || entry.parts_offset > footer_offset ||
        entry.header.parts_bytes() > footer_offset - entry.parts_offset) {
      return malformed("chunks out of place");
    }
    end = entry.parts_offset + entry.header.parts_bytes();
    if (entry.header.section != kTimelineSection) continue;
    if (entry.header.first_row != rows) return malformed("rows out of place");
    rows += entry.header.rows;
  }
  if (absl::Status status = ReadRecord(footer.info_offset, footer_offset, &bytes, &record); !status.ok()) return status;
  TraceInfo info;
  if (record.kind != RecordKind::kInfo) return malformed("no info");
  if (absl::Status status = DecodeTraceInfo(record.message, &info); !status.ok()) return status;
  info_ = std::move(info);
  has_info_ = true;
  chunks_ = std::move(footer.chunks);
  return absl::OkStatus();
}

absl::Status KilnReader::Impl::OpenByScan(uint64_t header_end) {
  const uint64_t size = file_->size();
  const TraceInfo known_at_start = info_;
  struct Torn {
    uint64_t offset;
    std::string detail;
  };
  std::optional<Torn> torn;
  uint64_t rows = 0;
  uint64_t offset = header_end;
  std::string bytes;
  Record record;
  std::string salvaged;
  while (offset < size && !torn) {
    const absl::Status status = ReadRecord(offset, size, &bytes, &record);
    if (!status.ok()) {
      // Cut off: the file ends inside this record. Anything else is damage of which nobody knows the extent.
      const bool is_cut_off =
          size - offset < kRecordPrefixBytes || (record.message.empty() && absl::IsDataLoss(status));
      if (is_cut_off) {
        torn = Torn{offset, absl::StrCat("the last ", size - offset, " bytes of the file are no whole chunk")};
      } else if (options_.salvage) {
        salvaged = std::string(status.message());
        break;
      } else {
        return status;
      }
      continue;
    }
    const uint64_t start = offset;
    offset += record.total_bytes;
    switch (record.kind) {
      case RecordKind::kHeader:
        return absl::InvalidArgumentError(
            absl::StrCat(file_->name(), ":", start, ": expected a chunk, got the header of another .kiln file"));
      case RecordKind::kChunk: {
        IndexEntry entry;
        entry.offset = start;
        entry.parts_offset = offset;
        if (absl::Status decoded = DecodeChunkHeader(record.message, &entry.header); !decoded.ok()) {
          return absl::InvalidArgumentError(absl::StrCat(file_->name(), ":", start, ": ", decoded.message()));
        }
        const uint64_t parts_bytes = entry.header.parts_bytes();
        if (parts_bytes > size - offset) {
          torn = Torn{start, absl::StrCat("the last chunk, of ", entry.header.rows, " rows, is cut off")};
          break;
        }
        offset += parts_bytes;
        if (entry.header.section == kTimelineSection) {
          if (entry.header.first_row != rows) {
            return absl::InvalidArgumentError(absl::StrCat(file_->name(), ":", start, ": expected a chunk that begins ",
                                                           "with row ", rows, ", got ", entry.header.first_row));
          }
          rows += entry.header.rows;
        }
        chunks_.push_back(std::move(entry));
        break;
      }
      case RecordKind::kInfo:
        if (absl::Status decoded = DecodeTraceInfo(record.message, &info_); !decoded.ok()) {
          return absl::InvalidArgumentError(absl::StrCat(file_->name(), ":", start, ": ", decoded.message()));
        }
        has_info_ = true;
        break;
      case RecordKind::kFooter:
      case RecordKind::kTrailer: break;
    }
  }
  // A writer that died may leave a last chunk whose bytes never reached the disk.
  if (!has_info_ && !torn && salvaged.empty() && !chunks_.empty()) {
    const IndexEntry& last = chunks_.back();
    uint64_t at = last.parts_offset;
    for (const PartInfo& part : last.header.parts) {
      bytes.resize(part.encoded_bytes);
      if (absl::Status status = file_->ReadAt(at, bytes.size(), bytes.data()); !status.ok()) return status;
      if (io::Crc32c(bytes) != part.crc32c) {
        torn = Torn{last.offset, absl::StrCat("the last chunk, of ", last.header.rows, " rows, is damaged")};
        chunks_.pop_back();
        break;
      }
      at += part.encoded_bytes;
    }
  }
  if (!has_info_) {
    info_ = known_at_start;
    info_.report = ImportReport();
    for (const IndexEntry& entry : chunks_) {
      if (entry.header.section != kTimelineSection) continue;
      info_.report.imported += entry.header.rows;
      info_.report.merged += entry.header.foreign_events - entry.header.rows;
    }
    info_.report.seen = info_.report.imported + info_.report.merged;
  }
  // Behind the info record there is nothing but the index.
  if (torn && !has_info_) return Repaired("torn_chunk", torn->offset, torn->detail);
  if (!salvaged.empty()) {
    info_.report.salvaged = true;
    info_.report.Repair("damaged_rest", offset, salvaged);
  }
  return absl::OkStatus();
}

template <typename Decoder, typename T>
absl::Status KilnReader::Impl::ReadSection(uint32_t section, absl::string_view what, std::optional<T>* out) {
  const auto is_of_it = [section](const IndexEntry& entry) { return entry.header.section == section; };
  const auto first = std::find_if(chunks_.begin(), chunks_.end(), is_of_it);
  if (first == chunks_.end()) return absl::OkStatus();
  Decoder decoder;
  std::string bytes;
  absl::Status status;
  for (auto entry = first; entry != chunks_.end() && status.ok(); ++entry) {
    if (!is_of_it(*entry)) continue;
    bytes.resize(entry->header.parts_bytes());
    status = file_->ReadAt(entry->parts_offset, bytes.size(), bytes.data());
    if (!status.ok()) return status;
    bytes_read_.fetch_add(bytes.size(), std::memory_order_relaxed);
    status = decoder.Add(entry->header, bytes, file_->name(), entry->parts_offset);
  }
  // The writer died in the middle of it.
  if (status.ok() && !has_info_ && !decoder.is_complete()) {
    return Repaired(absl::StrCat("torn_", what), first->offset,
                    absl::StrCat("the ", what, " was not written to its end"));
  }
  if (status.ok()) {
    absl::StatusOr<T> decoded = std::move(decoder).Finish(file_->name());
    status = decoded.status();
    if (status.ok()) *out = *std::move(decoded);
  }
  if (status.ok() || !options_.salvage || absl::IsUnimplemented(status)) return status;
  info_.report.salvaged = true;
  info_.report.Repair(absl::StrCat("damaged_", what), first->offset, status.message());
  return absl::OkStatus();
}

bool KilnReader::Impl::MayMatch(const ChunkHeader& header) const {
  if (header.section != kTimelineSection) return false;
  const size_t metadata = static_cast<size_t>(EventKind::kMetadata);
  if (options_.keep_metadata && (options_.kinds & KindBit(EventKind::kMetadata)) != 0 &&
      header.rows_by_kind[metadata] != 0) {
    return true;
  }
  bool has_kind = false;
  for (size_t k = 0; k < header.rows_by_kind.size(); ++k) {
    has_kind |= (options_.kinds >> k & 1) != 0 && header.rows_by_kind[k] != 0;
  }
  if (!has_kind) return false;
  if (options_.window) {
    if (!IsBefore(header.min_ts_ns, *options_.window) || header.max_end_ns < options_.window->begin_ns) return false;
  }
  if (!options_.categories.empty() && header.has_all_categories) {
    bool has_category = false;
    for (const ChunkHeader::Category& c : header.categories) {
      has_category |=
          std::find(options_.categories.begin(), options_.categories.end(), c.name) != options_.categories.end();
    }
    if (!has_category) return false;
  }
  if (!options_.tracks.empty() && header.has_all_tracks) {
    bool has_track = false;
    for (const TrackKey& t : header.tracks) {
      has_track |= std::find(options_.tracks.begin(), options_.tracks.end(), t) != options_.tracks.end();
    }
    if (!has_track) return false;
  }
  return true;
}

void KilnReader::Impl::Filter(EventBatch* batch) const {
  if (!options_.filter_rows ||
      (!options_.window && options_.categories.empty() && options_.tracks.empty() && options_.kinds == kAllKinds)) {
    return;
  }
  std::vector<char> is_category_wanted(batch->categories().size(), 1), is_track_wanted(batch->tracks().size(), 1);
  if (!options_.categories.empty()) {
    for (size_t c = 0; c < is_category_wanted.size(); ++c) {
      const absl::string_view text = batch->Text(batch->categories()[c]);
      is_category_wanted[c] =
          std::find(options_.categories.begin(), options_.categories.end(), text) != options_.categories.end();
    }
  }
  if (!options_.tracks.empty()) {
    for (size_t t = 0; t < is_track_wanted.size(); ++t) {
      is_track_wanted[t] = std::find(options_.tracks.begin(), options_.tracks.end(),
                                     KeyOf(*batch, batch->tracks()[t])) != options_.tracks.end();
    }
  }
  std::vector<uint32_t> rows;
  for (size_t i = 0; i < batch->rows(); ++i) {
    if ((options_.kinds >> static_cast<int>(batch->kind[i]) & 1) == 0) continue;
    if (!options_.keep_metadata || batch->kind[i] != EventKind::kMetadata) {
      if (batch->category[i] == kNoCategory ? !options_.categories.empty()
                                            : !is_category_wanted[Index(batch->category[i])]) {
        continue;
      }
      if (!is_track_wanted[Index(batch->track[i])]) continue;
      if (options_.window) {
        const int64_t ts = batch->ts_ns[i];
        if (!IsBefore(ts, *options_.window)) continue;
        if (ts < options_.window->begin_ns && EndOf(*batch, i) <= options_.window->begin_ns) continue;
      }
    }
    rows.push_back(static_cast<uint32_t>(i));
  }
  if (rows.size() == batch->rows()) return;
  Compact(&batch->ts_ns, rows);
  Compact(&batch->dur_ns, rows);
  Compact(&batch->correlation, rows);
  Compact(&batch->name, rows);
  Compact(&batch->track, rows);
  Compact(&batch->args_row, rows);
  Compact(&batch->shape, rows);
  Compact(&batch->category, rows);
  Compact(&batch->kind, rows);
  Compact(&batch->flags, rows);
}

void KilnReader::Impl::Decode(Slot* slot) {
  const IndexEntry& entry = chunks_[slot->chunk];
  const uint64_t size = ChunkDecoder::BytesNeeded(entry.header, options_.columns);
  slot->bytes.resize(size);
  slot->status = file_->ReadAt(entry.parts_offset, size, slot->bytes.data());
  if (!slot->status.ok()) return;
  bytes_read_.fetch_add(size, std::memory_order_relaxed);
  slot->status = slot->decoder.Decode(entry.header, slot->bytes, options_.columns, file_->name(), entry.parts_offset,
                                      &slot->batch);
  if (slot->status.ok()) Filter(&slot->batch);
}

absl::Status KilnReader::Impl::CountLoss(const Slot& slot) {
  const IndexEntry& entry = chunks_[slot.chunk];
  if (!options_.salvage || absl::IsUnimplemented(slot.status)) return slot.status;
  ImportReport& report = info_.report;
  const uint64_t rows = entry.header.rows, flows = entry.header.foreign_events - rows;
  report.imported -= std::min(report.imported, rows);
  report.merged -= std::min(report.merged, flows);
  report.salvaged = true;
  report.Add(ImportReport::Severity::kSkipped, "damaged_chunk", entry.offset, slot.status.message(), rows + flows);
  return absl::OkStatus();
}

absl::StatusOr<bool> KilnReader::Impl::Next(EventBatch* batch) {
  if (!status_.ok()) return status_;
  for (;;) {
    while (tasks_.size() < max_ahead_ && next_ < selected_.size()) {
      std::unique_ptr<Slot> slot;
      if (free_.empty()) {
        slot = std::make_unique<Slot>();
      } else {
        slot = std::move(free_.back());
        free_.pop_back();
      }
      slot->chunk = selected_[next_++];
      Slot* s = slot.get();
      slots_.push_back(std::move(slot));
      tasks_.Push([this, s] { Decode(s); });
    }
    if (tasks_.size() == 0) {
      done_bytes_.store(file_->size(), std::memory_order_relaxed);
      batch->Clear();
      return false;
    }
    tasks_.Pop();
    std::unique_ptr<Slot> slot = std::move(slots_.front());
    slots_.pop_front();
    done_bytes_.store(chunks_[slot->chunk].parts_offset + chunks_[slot->chunk].header.parts_bytes(),
                      std::memory_order_relaxed);
    if (!slot->status.ok()) {
      if (status_ = CountLoss(*slot); !status_.ok()) return status_;
    } else if (!slot->batch.empty()) {
      std::swap(*batch, slot->batch);
      free_.push_back(std::move(slot));
      return true;
    }
    free_.push_back(std::move(slot));
  }
}

void KilnReader::Impl::Rewind() {
  tasks_.Clear();
  while (!slots_.empty()) {
    free_.push_back(std::move(slots_.front()));
    slots_.pop_front();
  }
  next_ = 0;
  status_ = absl::OkStatus();
  done_bytes_.store(0, std::memory_order_relaxed);
  info_.report = opened_report_;
}

absl::StatusOr<std::unique_ptr<KilnReader>> KilnReader::Open(std::shared_ptr<const io::RandomAccessFile> file,
                                                             const ReadOptions& options, io::Executor& executor) {
  auto impl = std::make_unique<Impl>(std::move(file), options, executor);
  if (absl::Status status = impl->Open(); !status.ok()) return status;
  return std::unique_ptr<KilnReader>(new KilnReader(std::move(impl)));
}

KilnReader::KilnReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
KilnReader::~KilnReader() = default;

absl::StatusOr<bool> KilnReader::Next(EventBatch* batch) { return impl_->Next(batch); }
absl::Status KilnReader::Rewind() {
  impl_->Rewind();
  return absl::OkStatus();
}
const TraceInfo& KilnReader::info() const { return impl_->info(); }
const Profile* KilnReader::profile() const { return impl_->profile(); }
const Graph* KilnReader::graph() const { return impl_->graph(); }
TraceSource::Progress KilnReader::progress() const { return impl_->progress(); }
const std::vector<IndexEntry>& KilnReader::chunks() const { return impl_->chunks(); }
const std::vector<size_t>& KilnReader::selected() const { return impl_->selected(); }
uint64_t KilnReader::bytes_read() const { return impl_->bytes_read(); }

}  // namespace tracekiln::kiln
