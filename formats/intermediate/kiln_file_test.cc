// The writer and the reader of .kiln files together: round trips, selection, recovery, damage.
#include <zstd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "formats/intermediate/event_batch.h"
#include "formats/intermediate/kiln_reader.h"
#include "formats/intermediate/kiln_records.h"
#include "formats/intermediate/kiln_writer.h"
#include "formats/intermediate/profile.h"
#include "formats/intermediate/testing/batch_equality.h"
#include "formats/intermediate/testing/batch_generator.h"
#include "formats/intermediate/testing/profile_equality.h"
#include "formats/intermediate/testing/profile_generator.h"
#include "formats/io/byte_sink.h"
#include "formats/io/executor.h"
#include "formats/io/random_access.h"
#include "gtest/gtest.h"

namespace tracekiln::kiln {
namespace {

TraceInfo MakeInfo(const std::vector<EventBatch>& batches) {
  TraceInfo info;
  info.source_format = "chrome";
  info.source_name = "rank0.json";
  info.base_ns = 1'712'345'678'000'000'000;
  info.has_base = true;
  info.rank = 3;
  info.metadata = {{"schemaVersion", "1", false}};
  for (const EventBatch& batch : batches) {
    info.report.imported += batch.rows();
    for (size_t i = 0; i < batch.rows(); ++i) info.report.seen += static_cast<uint64_t>(batch.ForeignEvents(i));
  }
  info.report.merged = info.report.seen - info.report.imported;
  return info;
}

std::string Write(std::vector<EventBatch> batches, io::Executor& executor, bool finish = true,
                  const Profile* profile = nullptr) {
  std::string bytes;
  io::StringSink sink(&bytes, "out.kiln");
  const TraceInfo info = MakeInfo(batches);
  {
    WriterOptions options;
    options.min_chunk_rows = 1;
    options.known_at_start.base_ns = info.base_ns;
    options.known_at_start.has_base = true;
    KilnWriter writer(sink, options, executor);
    for (EventBatch& batch : batches) {
      EXPECT_EQ(writer.Write(&batch), absl::OkStatus());
      EXPECT_TRUE(batch.empty());
    }
    if (profile != nullptr) {
      EXPECT_EQ(writer.WriteProfile(*profile), absl::OkStatus());
    }
    if (finish) {
      EXPECT_EQ(writer.Finish(info), absl::OkStatus());
    }
  }
  EXPECT_EQ(sink.Close(), absl::OkStatus());
  return bytes;
}

std::vector<EventBatch> SmallTrace() {
  std::vector<EventBatch> batches;
  for (uint64_t seed : {1, 2, 3, 4}) batches.push_back(GenerateBatch(seed, 20 + seed * 7));
  return batches;
}

std::vector<EventBatch> KinetoTrace(size_t chunks, size_t rows) {
  std::vector<EventBatch> batches;
  for (size_t c = 0; c < chunks; ++c) batches.push_back(GenerateKinetoBatch(1, rows, c * rows));
  return batches;
}

std::vector<std::string> RowTexts(const std::vector<EventBatch>& batches, bool with_args = true) {
  std::vector<std::string> rows;
  for (const EventBatch& batch : batches) {
    for (size_t i = 0; i < batch.rows(); ++i) rows.push_back(RowText(batch, i, with_args));
  }
  return rows;
}

struct Result {
  absl::Status status;
  std::optional<Profile> profile;
  std::vector<std::string> rows;
  TraceInfo info;
  size_t chunks_read = 0;
  uint64_t bytes_read = 0;
};

Result Read(const std::string& bytes, const ReadOptions& options, io::Executor& executor) {
  Result result;
  absl::StatusOr<std::unique_ptr<KilnReader>> reader =
      KilnReader::Open(io::MakeMemoryFile(bytes, "t.kiln"), options, executor);
  if (!reader.ok()) {
    result.status = reader.status();
    return result;
  }
  const Profile* const profile = (*reader)->profile();
  if (profile != nullptr) result.profile = *profile;
  EventBatch batch;
  for (;;) {
    absl::StatusOr<bool> more = (*reader)->Next(&batch);
    EXPECT_EQ((*reader)->profile(), profile);
    if (!more.ok()) {
      result.status = more.status();
      EXPECT_EQ((*reader)->Next(&batch).status(), result.status) << "errors are final";
      break;
    }
    if (!*more) break;
    EXPECT_FALSE(batch.empty());
    for (size_t i = 0; i < batch.rows(); ++i) {
      result.rows.push_back(RowText(batch, i, options.columns == ColumnSelection::kAll));
    }
  }
  result.info = (*reader)->info();
  result.chunks_read = (*reader)->selected().size();
  result.bytes_read = (*reader)->bytes_read();
  return result;
}

Result Read(const std::string& bytes, const ReadOptions& options = {}) {
  io::InlineExecutor executor;
  return Read(bytes, options, executor);
}

std::string Write(std::vector<EventBatch> batches, bool finish = true, const Profile* profile = nullptr) {
  io::InlineExecutor executor;
  return Write(std::move(batches), executor, finish, profile);
}

TEST(KilnFileTest, ReadsWhatWasWritten) {
  const std::vector<EventBatch> batches = SmallTrace();
  const Result result = Read(Write(batches), {.strict = true});
  EXPECT_EQ(result.status, absl::OkStatus());
  EXPECT_EQ(result.rows, RowTexts(batches));
  EXPECT_EQ(result.info.report.ToText(), MakeInfo(batches).report.ToText());
  EXPECT_EQ(result.info.rank, 3);
  EXPECT_EQ(result.info.source_name, "rank0.json");
  EXPECT_EQ(result.info.base_ns, 1'712'345'678'000'000'000);
  EXPECT_EQ(result.info.metadata.size(), 1u);
}

TEST(KilnFileTest, AnEmptyTraceIsAFile) {
  const Result result = Read(Write({}), {.strict = true});
  EXPECT_EQ(result.status, absl::OkStatus());
  EXPECT_TRUE(result.rows.empty());
}

TEST(KilnFileTest, BytesDoNotDependOnTheExecutor) {
  const std::vector<EventBatch> batches = KinetoTrace(9, 700);
  const std::string bytes = Write(batches);
  for (int threads : {1, 3}) {
    io::ThreadPool pool(threads);
    EXPECT_EQ(Write(batches, pool), bytes);
    EXPECT_EQ(Read(bytes, {}, pool).rows, RowTexts(batches));
  }
}

TEST(KilnFileTest, SmallBatchesAreJoined) {
  std::vector<EventBatch> batches = SmallTrace();
  for (EventBatch& batch : KinetoTrace(7, 900)) batches.push_back(std::move(batch));
  for (EventBatch& batch : SmallTrace()) batches.push_back(std::move(batch));
  std::string inline_bytes;
  for (int threads : {0, 2}) {
    io::InlineExecutor inline_executor;
    io::ThreadPool pool(2);
    io::Executor& executor = threads == 0 ? static_cast<io::Executor&>(inline_executor) : pool;
    std::string bytes;
    io::StringSink sink(&bytes);
    KilnWriter writer(sink, {.min_chunk_rows = 2000}, executor);
    for (EventBatch batch : batches) ASSERT_TRUE(writer.Write(&batch).ok());
    ASSERT_TRUE(writer.Finish({}).ok());
    const Result result = Read(bytes, {.strict = true});
    EXPECT_EQ(result.status, absl::OkStatus());
    EXPECT_EQ(result.rows, RowTexts(batches));
    EXPECT_EQ(result.chunks_read, 3u) << "2,000 rows and more; the last has what is left";
    if (threads == 0) inline_bytes = bytes;
    EXPECT_EQ(bytes, inline_bytes);
  }
}

// A reader and a writer used by work on the only thread of their own executor must not wait for each other.
TEST(KilnFileTest, WorksFromInsideItsOwnExecutor) {
  const std::vector<EventBatch> batches = KinetoTrace(6, 200);
  std::vector<std::string> rows;
  {
    io::ThreadPool pool(1);
    pool.Schedule([&] { rows = Read(Write(batches, pool), {}, pool).rows; });
  }
  EXPECT_EQ(rows, RowTexts(batches));
}

TEST(KilnFileTest, StockZstdReadsTheFile) {
  const std::string bytes = Write(SmallTrace());
  std::string out(1 << 20, '\0');
  size_t at = 0, frames = 0, total = 0;
  while (at < bytes.size()) {
    const size_t size = ZSTD_findFrameCompressedSize(bytes.data() + at, bytes.size() - at);
    ASSERT_FALSE(ZSTD_isError(size)) << at;
    at += size;
    ++frames;
  }
  EXPECT_EQ(frames, 1 + 4 * 3 + 3u) << "header, chunks of a record and two parts, info, footer, trailer";
  total = ZSTD_decompress(out.data(), out.size(), bytes.data(), bytes.size());
  ASSERT_FALSE(ZSTD_isError(total));
  EXPECT_GT(total, 0u);
  EXPECT_EQ(SniffKiln(bytes), 100);
  EXPECT_EQ(SniffKiln("{\"traceEvents\": []}          "), 0);
  EXPECT_EQ(SniffKiln(""), 0);
}

TEST(KilnFileTest, RewindsFromAnywhere) {
  const std::vector<EventBatch> batches = KinetoTrace(5, 100);
  io::ThreadPool pool(2);
  auto reader = KilnReader::Open(io::MakeMemoryFile(Write(batches), "t.kiln"), {}, pool);
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ((*reader)->info().report.seen, MakeInfo(batches).report.seen) << "known before the first batch";
  for (int stop : {0, 1, 3, 5}) {
    ASSERT_TRUE((*reader)->Rewind().ok());
    EventBatch batch;
    for (int i = 0; i < stop; ++i) {
      ASSERT_TRUE(*(*reader)->Next(&batch));
      EXPECT_EQ(FirstDifference(batch, batches[i]), "");
    }
  }
  EventBatch batch;
  EXPECT_FALSE(*(*reader)->Next(&batch));
  EXPECT_EQ((*reader)->progress().done_bytes, (*reader)->progress().total_bytes);
}

TEST(KilnFileTest, CoreColumnsLeaveArgumentsUnread) {
  const std::vector<EventBatch> batches = KinetoTrace(3, 1000);
  const std::string bytes = Write(batches);
  const Result core = Read(bytes, {.columns = ColumnSelection::kCore});
  EXPECT_EQ(core.rows, RowTexts(batches, /*with_args=*/false));
  EXPECT_LT(core.bytes_read, Read(bytes).bytes_read);
}

// The rows that a plain loop over all rows selects.
std::vector<std::string> Select(const std::vector<EventBatch>& batches,
                                const std::function<bool(const EventBatch&, size_t)>& wanted) {
  std::vector<std::string> rows;
  for (const EventBatch& batch : batches) {
    for (size_t i = 0; i < batch.rows(); ++i) {
      if (wanted(batch, i)) rows.push_back(RowText(batch, i));
    }
  }
  return rows;
}

TEST(KilnFileTest, SelectsByTimeWithoutReadingOtherChunks) {
  const std::vector<EventBatch> batches = KinetoTrace(20, 300);
  const std::string bytes = Write(batches);
  const TimeWindow window{batches[9].ts_ns[100], batches[10].ts_ns[20]};
  const Result result = Read(bytes, {.window = window});
  EXPECT_EQ(result.rows, Select(batches, [&](const EventBatch& b, size_t i) {
              return b.ts_ns[i] < window.end_ns &&
                     (b.ts_ns[i] >= window.begin_ns || b.ts_ns[i] + b.dur_ns[i] > window.begin_ns);
            }));
  EXPECT_FALSE(result.rows.empty());
  EXPECT_LT(result.chunks_read, 10u);
  EXPECT_LT(result.bytes_read, bytes.size() / 2);
}

TEST(KilnFileTest, UnfinishedSlicesReachIntoEveryLaterWindow) {
  EventBatch batch;
  EventRow row;
  row.track = batch.InternTrack({});
  row.ts_ns = 5;
  row.dur_ns = kUnfinished;
  batch.Append(row, ArgTable::kNoArgs, nullptr);
  const std::string bytes = Write({batch});
  EXPECT_EQ(Read(bytes, {.window = TimeWindow{1'000'000'000, INT64_MAX}}).rows.size(), 1u);
  EXPECT_EQ(Read(bytes, {.window = TimeWindow{0, 5}}).rows.size(), 0u);
  EXPECT_EQ(Read(bytes, {.window = TimeWindow{0, 6}}).rows.size(), 1u);
}

TEST(KilnFileTest, SelectsByCategoryKindAndTrack) {
  std::vector<EventBatch> batches = KinetoTrace(4, 500);
  for (uint64_t seed : {11, 12, 13}) batches.push_back(GenerateBatch(seed, 300));
  const std::string bytes = Write(batches);

  Result result = Read(bytes, {.categories = {"kernel", "gpu_memcpy"}, .keep_metadata = false});
  EXPECT_EQ(result.rows, Select(batches, [](const EventBatch& b, size_t i) {
              return b.CategoryOf(i) == "kernel" || b.CategoryOf(i) == "gpu_memcpy";
            }));
  EXPECT_EQ(result.chunks_read, 4u) << "the other chunks have no such category";

  result = Read(bytes, {.kinds = KindBit(EventKind::kCounter) | KindBit(EventKind::kInstant)});
  EXPECT_EQ(result.rows, Select(batches, [](const EventBatch& b, size_t i) {
              return b.kind[i] == EventKind::kCounter || b.kind[i] == EventKind::kInstant;
            }));

  const TrackKey stream = KeyOf(batches[0], {TrackPart::Int(0), TrackPart::Int(7)});
  result = Read(bytes, {.tracks = {stream}});
  EXPECT_EQ(result.rows, Select(batches, [&](const EventBatch& b, size_t i) {
              return b.kind[i] == EventKind::kMetadata || KeyOf(b, b.tracks()[Index(b.track[i])]) == stream;
            }));

  result = Read(bytes, {.categories = {"kernel"}, .filter_rows = false});
  EXPECT_GT(result.rows.size(), 2000u) << "whole chunks";
  EXPECT_TRUE(Read(bytes, {.categories = {"no such"}, .keep_metadata = false}).rows.empty());
}

TEST(KilnFileTest, RowsAreFilteredBeforeTheyAreWrittenAgain) {
  const std::vector<EventBatch> batches = KinetoTrace(2, 400);
  io::InlineExecutor executor;
  auto reader = KilnReader::Open(io::MakeMemoryFile(Write(batches), "t"), {.categories = {"kernel"}}, executor);
  ASSERT_TRUE(reader.ok());
  std::string bytes;
  io::StringSink sink(&bytes);
  ASSERT_TRUE(WriteKiln(**reader, {}, sink, executor).ok());
  EXPECT_EQ(Read(bytes).rows,
            Select(batches, [](const EventBatch& b, size_t i) { return b.CategoryOf(i) == "kernel"; }));
}

TEST(KilnFileTest, AWriterThatDiedLeavesItsChunks) {
  const std::vector<EventBatch> batches = SmallTrace();
  std::string bytes;
  io::StringSink sink(&bytes);
  io::InlineExecutor executor;
  {
    WriterOptions options;
    options.min_chunk_rows = 1;
    options.known_at_start = MakeInfo({});
    KilnWriter writer(sink, options, executor);
    for (EventBatch batch : batches) ASSERT_TRUE(writer.Write(&batch).ok());
  }
  // What is pending is lost: at most concurrency + 1 = 2 chunks.
  const Result result = Read(bytes);
  EXPECT_EQ(result.status, absl::OkStatus());
  EXPECT_EQ(result.rows, RowTexts({batches[0], batches[1]}));
  EXPECT_EQ(result.info.source_format, "chrome");
  EXPECT_NE(result.info.report.Find("missing_footer"), nullptr);
  EXPECT_EQ(result.info.report.imported, result.rows.size());
  EXPECT_TRUE(result.info.report.IsBalanced());
  EXPECT_TRUE(absl::IsDataLoss(Read(bytes, {.strict = true}).status));
}

TEST(KilnFileTest, ATornLastChunkIsDropped) {
  const std::vector<EventBatch> batches = SmallTrace();
  const std::string whole = Write(batches);
  io::InlineExecutor executor;
  auto reader = KilnReader::Open(io::MakeMemoryFile(whole, "t"), {}, executor);
  ASSERT_TRUE(reader.ok());
  const IndexEntry last = (*reader)->chunks()[3];
  const Result result = Read(whole.substr(0, last.parts_offset + 5));
  EXPECT_EQ(result.status, absl::OkStatus());
  EXPECT_EQ(result.rows, RowTexts({batches[0], batches[1], batches[2]}));
  const ImportReport::Entry* torn = result.info.report.Find("torn_chunk");
  ASSERT_NE(torn, nullptr);
  EXPECT_EQ(torn->first_offsets[0], last.offset);
  EXPECT_EQ(torn->severity, ImportReport::Severity::kRepaired);

  // The file has its length, but the last chunk's bytes never reached the disk.
  std::string zeros = whole.substr(0, last.parts_offset);
  zeros.resize(zeros.size() + last.header.parts_bytes());
  EXPECT_EQ(Read(zeros).rows, result.rows);
}

TEST(KilnFileTest, TruncationAnywhereIsAnErrorOrWholeChunksWithANote) {
  const std::vector<EventBatch> batches = SmallTrace();
  const std::string whole = Write(batches);
  const std::vector<std::string> rows = RowTexts(batches);
  size_t errors = 0;
  for (size_t size = 0; size < whole.size(); ++size) {
    const Result result = Read(whole.substr(0, size));
    if (!result.status.ok()) {
      ++errors;
      ASSERT_TRUE(absl::IsInvalidArgument(result.status) || absl::IsDataLoss(result.status)) << result.status;
      continue;
    }
    ASSERT_NE(result.info.report.Find("missing_footer"), nullptr) << size;
    ASSERT_LE(result.rows.size(), rows.size());
    ASSERT_TRUE(std::equal(result.rows.begin(), result.rows.end(), rows.begin())) << size;
    ASSERT_FALSE(Read(whole.substr(0, size), {.strict = true}).status.ok());
  }
  EXPECT_LT(errors, 200u) << "only the file's header must be whole";
}

TEST(KilnFileTest, FlippedBytesAreAnErrorOrTheSameRows) {
  std::vector<EventBatch> batches = {GenerateBatch(1, 15), GenerateBatch(2, 10)};
  const std::string whole = Write(batches);
  const std::vector<std::string> rows = RowTexts(batches);
  for (size_t i = 0; i < whole.size(); ++i) {
    for (int bit : {0, 7}) {
      std::string bad = whole;
      bad[i] = static_cast<char>(bad[i] ^ (1 << bit));
      const Result result = Read(bad);
      if (result.status.ok()) {
        ASSERT_EQ(result.rows, rows) << "byte " << i;
        ASSERT_EQ(result.info.report.imported, rows.size());
      } else {
        ASSERT_TRUE(absl::IsInvalidArgument(result.status) || absl::IsDataLoss(result.status) ||
                    absl::IsUnimplemented(result.status))
            << result.status;
      }
    }
  }
}

// Without an index every byte counts for the scan; the flip may also cut the file short, but never invents rows.
TEST(KilnFileTest, FlippedBytesWithoutAnIndexNeverInventRows) {
  std::vector<EventBatch> batches = {GenerateBatch(1, 15), GenerateBatch(2, 10), GenerateBatch(3, 10)};
  const std::string whole = Write(batches, /*finish=*/false);
  const std::vector<std::string> rows = RowTexts(batches);
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string bad = whole;
    bad[i] = static_cast<char>(bad[i] ^ 0x41);
    for (bool salvage : {false, true}) {
      const Result result = Read(bad, {.salvage = salvage});
      ASSERT_LE(result.rows.size(), rows.size());
      ASSERT_TRUE(std::equal(result.rows.begin(), result.rows.end(), rows.begin())) << "byte " << i;
    }
  }
}

TEST(KilnFileTest, SalvageLeavesOutDamagedChunksAndCountsThem) {
  const std::vector<EventBatch> batches = KinetoTrace(3, 200);
  std::string bytes = Write(batches);
  io::InlineExecutor executor;
  auto reader = KilnReader::Open(io::MakeMemoryFile(bytes, "t"), {}, executor);
  ASSERT_TRUE(reader.ok());
  bytes[(*reader)->chunks()[1].parts_offset + 30] ^= 1;
  const Result error = Read(bytes);
  EXPECT_TRUE(absl::IsDataLoss(error.status)) << error.status;
  EXPECT_EQ(error.status.message().substr(0, 7), "t.kiln:") << error.status;
  EXPECT_EQ(error.rows, RowTexts({batches[0]}));

  const Result salvaged = Read(bytes, {.salvage = true});
  EXPECT_EQ(salvaged.status, absl::OkStatus());
  EXPECT_EQ(salvaged.rows, RowTexts({batches[0], batches[2]}));
  EXPECT_TRUE(salvaged.info.report.salvaged);
  EXPECT_TRUE(salvaged.info.report.IsBalanced()) << salvaged.info.report.ToText();
  EXPECT_EQ(salvaged.info.report.imported, 400u);
  ASSERT_NE(salvaged.info.report.Find("damaged_chunk"), nullptr);
}

TEST(KilnFileTest, OtherFilesAreRefusedByName) {
  for (const std::string& bytes : {std::string(), std::string("{\"traceEvents\": []}"), std::string(1000, '\0')}) {
    const Result result = Read(bytes);
    EXPECT_TRUE(absl::IsInvalidArgument(result.status)) << result.status;
    EXPECT_EQ(result.status.message().substr(0, 8), "t.kiln:0") << result.status;
  }
}

TEST(KilnFileTest, ChunksOfOtherSectionsAreSkipped) {
  const std::vector<EventBatch> batches = SmallTrace();
  const std::string whole = Write(batches);
  ChunkHeader other;
  other.section = 9;
  other.rows = 5;
  other.foreign_events = 5;
  std::string record;
  AppendRecord(RecordKind::kChunk, EncodeChunkHeader(other), &record);
  io::InlineExecutor executor;
  auto reader = KilnReader::Open(io::MakeMemoryFile(whole, "t"), {}, executor);
  ASSERT_TRUE(reader.ok());
  const uint64_t at = (*reader)->chunks()[1].offset;
  // The index is out of place now, so the chunks are found by scanning.
  const Result result = Read(whole.substr(0, at) + record + whole.substr(at));
  EXPECT_EQ(result.status, absl::OkStatus());
  EXPECT_EQ(result.rows, RowTexts(batches));
}

TEST(KilnFileTest, ErrorsOfTheBatchAndOfTheSinkAreReported) {
  io::InlineExecutor executor;
  std::string bytes;
  io::StringSink sink(&bytes, "out.kiln");
  KilnWriter writer(sink, {.min_chunk_rows = 1}, executor);
  EventBatch batch;
  EventRow row;
  row.track = batch.InternTrack({});
  row.kind = EventKind::kSliceEnd;
  batch.Append(row, ArgTable::kNoArgs, nullptr);
  (void)writer.Write(&batch);
  const absl::Status status = writer.Finish({});
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_EQ(status.message().substr(0, 18), "out.kiln: chunk 0:") << status;
}

TEST(KilnFileTest, AProfileComesBackBesideTheRows) {
  const std::vector<EventBatch> batches = SmallTrace();
  for (const Profile& profile : {GenerateProfile(1, 300), GenerateProgramProfile(2, 50), Profile()}) {
    const std::string bytes = Write(batches, true, &profile);
    const Result result = Read(bytes, {.strict = true});
    EXPECT_EQ(result.status, absl::OkStatus());
    EXPECT_EQ(result.rows, RowTexts(batches));
    EXPECT_EQ(result.chunks_read, batches.size()) << "chunks of the profile are not among those that are read for rows";
    EXPECT_EQ(result.info.report.ToText(), MakeInfo(batches).report.ToText());
    ASSERT_TRUE(result.profile.has_value());
    EXPECT_EQ(FirstDifference(*result.profile, profile), "");
    io::ThreadPool pool(2);
    EXPECT_EQ(Write(batches, pool, true, &profile), bytes);
  }
  EXPECT_FALSE(Read(Write(batches)).profile.has_value());
}

TEST(KilnFileTest, AFileMayHoldAProfileOnly) {
  const Profile profile = GenerateProgramProfile(1, 70'000);  // several chunks
  const Result result = Read(Write({}, true, &profile), {.strict = true});
  EXPECT_EQ(result.status, absl::OkStatus());
  EXPECT_TRUE(result.rows.empty());
  ASSERT_TRUE(result.profile.has_value());
  EXPECT_EQ(FirstDifference(*result.profile, profile), "");
}

TEST(KilnFileTest, SelectionsOfRowsLeaveTheProfileWhole) {
  const std::vector<EventBatch> batches = KinetoTrace(3, 200);
  const Profile profile = GenerateProfile(5, 40);
  const Result result = Read(Write(batches, true, &profile), {.columns = ColumnSelection::kCore,
                                                              .window = TimeWindow{INT64_MIN, INT64_MIN + 1},
                                                              .categories = {"kernel"},
                                                              .keep_metadata = false});
  EXPECT_TRUE(result.rows.empty());
  ASSERT_TRUE(result.profile.has_value());
  EXPECT_EQ(FirstDifference(*result.profile, profile), "");
}

TEST(KilnFileTest, WritingASourceWritesItsProfile) {
  const Profile profile = GenerateProfile(6, 40);
  io::InlineExecutor executor;
  const std::string bytes = Write(SmallTrace(), true, &profile);
  auto reader = KilnReader::Open(io::MakeMemoryFile(bytes, "t"), {}, executor);
  ASSERT_TRUE(reader.ok());
  std::string again;
  io::StringSink sink(&again);
  ASSERT_TRUE(WriteKiln(**reader, {}, sink, executor).ok());
  const Result result = Read(again, {.strict = true});
  ASSERT_TRUE(result.profile.has_value());
  EXPECT_EQ(FirstDifference(*result.profile, profile), "");
  EXPECT_EQ(result.rows, RowTexts(SmallTrace()));
}

TEST(KilnFileTest, ASecondProfileIsRefused) {
  io::InlineExecutor executor;
  std::string bytes;
  io::StringSink sink(&bytes, "out.kiln");
  KilnWriter writer(sink, {}, executor);
  const Profile profile = GenerateProfile(6, 4);
  EXPECT_EQ(writer.WriteProfile(profile), absl::OkStatus());
  EXPECT_TRUE(absl::IsFailedPrecondition(writer.WriteProfile(profile)));
  EXPECT_EQ(writer.Finish({}), absl::OkStatus());
  EXPECT_EQ(FirstDifference(*Read(bytes, {.strict = true}).profile, profile), "");
}

TEST(KilnFileTest, AProfileIsThereWithoutTheIndexIfItsLastChunkIs) {
  const std::vector<EventBatch> batches = SmallTrace();
  const Profile profile = GenerateProfile(7, 60);
  const Result result = Read(Write(batches, /*finish=*/false, &profile));
  EXPECT_EQ(result.status, absl::OkStatus());
  EXPECT_EQ(result.rows, RowTexts(batches));
  EXPECT_EQ(result.info.report.imported, result.rows.size()) << "rows of the profile are no events";
  EXPECT_EQ(result.info.report.Find("torn_profile"), nullptr);
  ASSERT_TRUE(result.profile.has_value());
  EXPECT_EQ(FirstDifference(*result.profile, profile), "");
}

TEST(KilnFileTest, ATornProfileIsNone) {
  const std::vector<EventBatch> batches = SmallTrace();
  const Profile profile = GenerateProgramProfile(1, 40'000);
  const std::string whole = Write(batches, true, &profile);
  io::InlineExecutor executor;
  auto reader = KilnReader::Open(io::MakeMemoryFile(whole, "t"), {}, executor);
  ASSERT_TRUE(reader.ok());
  ASSERT_EQ((*reader)->chunks().size(), batches.size() + 2);
  const IndexEntry first = (*reader)->chunks()[batches.size()], second = (*reader)->chunks()[batches.size() + 1];
  for (const uint64_t size : {second.offset, second.parts_offset + 5}) {
    const Result result = Read(whole.substr(0, size));
    EXPECT_EQ(result.status, absl::OkStatus());
    EXPECT_EQ(result.rows, RowTexts(batches));
    EXPECT_FALSE(result.profile.has_value());
    ASSERT_NE(result.info.report.Find("torn_profile"), nullptr);
    EXPECT_EQ(result.info.report.Find("torn_profile")->first_offsets[0], first.offset);
    EXPECT_TRUE(absl::IsDataLoss(Read(whole.substr(0, size), {.strict = true}).status));
  }
}

TEST(KilnFileTest, ADamagedProfileIsAnErrorOrLeftOutAsAWhole) {
  const std::vector<EventBatch> batches = SmallTrace();
  const Profile profile = GenerateProfile(8, 60);
  std::string bytes = Write(batches, true, &profile);
  io::InlineExecutor executor;
  auto reader = KilnReader::Open(io::MakeMemoryFile(bytes, "t"), {}, executor);
  ASSERT_TRUE(reader.ok());
  const IndexEntry chunk = (*reader)->chunks()[batches.size()];
  ASSERT_EQ(chunk.header.section, kProfileSection);
  bytes[chunk.parts_offset + 30] ^= 1;
  const Result error = Read(bytes);
  EXPECT_TRUE(absl::IsDataLoss(error.status)) << error.status;
  EXPECT_EQ(error.status.message(),
            absl::StrCat("t.kiln:", chunk.parts_offset, ": the part's checksum does not match its bytes"));
  const Result salvaged = Read(bytes, {.salvage = true});
  EXPECT_EQ(salvaged.status, absl::OkStatus());
  EXPECT_EQ(salvaged.rows, RowTexts(batches));
  EXPECT_FALSE(salvaged.profile.has_value());
  EXPECT_TRUE(salvaged.info.report.salvaged);
  EXPECT_TRUE(salvaged.info.report.IsBalanced());
  ASSERT_NE(salvaged.info.report.Find("damaged_profile"), nullptr);
}

// Every byte of a file with rows and a profile: cut there, and changed.
TEST(KilnFileTest, DamageNeverChangesAProfile) {
  const std::vector<EventBatch> batches = {GenerateBatch(1, 10)};
  const Profile profile = GenerateProfile(9, 15);
  const std::string whole = Write(batches, true, &profile);
  const std::string unfinished = Write(batches, false, &profile);
  const auto expect_sound = [&](const Result& result, size_t at) {
    if (!result.status.ok()) {
      ASSERT_TRUE(absl::IsInvalidArgument(result.status) || absl::IsDataLoss(result.status) ||
                  absl::IsUnimplemented(result.status))
          << result.status;
    }
    if (result.profile.has_value()) {
      ASSERT_EQ(FirstDifference(*result.profile, profile), "") << at;
    } else if (result.status.ok()) {
      ASSERT_TRUE(result.info.report.repaired() > 0 || result.info.report.salvaged) << at;
    }
  };
  for (const bool salvage : {false, true}) {
    for (size_t i = 0; i < whole.size(); ++i) {
      ASSERT_NO_FATAL_FAILURE(expect_sound(Read(whole.substr(0, i), {.salvage = salvage}), i));
      std::string bad = whole;
      bad[i] = static_cast<char>(bad[i] ^ 0x21);
      ASSERT_NO_FATAL_FAILURE(expect_sound(Read(bad, {.salvage = salvage}), i));
      if (i >= unfinished.size()) continue;
      bad = unfinished;
      bad[i] = static_cast<char>(bad[i] ^ 0x21);
      ASSERT_NO_FATAL_FAILURE(expect_sound(Read(bad, {.salvage = salvage}), i));
    }
  }
}

}  // namespace
}  // namespace tracekiln::kiln
