#include "formats/kiln/kiln_peek.h"

#include <zstd.h>

#include <memory>
#include <optional>
#include <string>

#include "formats/intermediate/kiln_records.h"
#include "formats/intermediate/kiln_writer.h"
#include "formats/intermediate/testing/batch_generator.h"
#include "formats/io/byte_sink.h"
#include "formats/io/executor.h"
#include "formats/io/input.h"
#include "gtest/gtest.h"

namespace tracekiln::kiln {
namespace {

// A file of some chunks that says `info` at its end.
std::string MakeFile(const TraceInfo& info, int chunk_count = 3) {
  std::string bytes;
  io::StringSink sink(&bytes);
  io::InlineExecutor executor;
  KilnWriter writer(sink, {}, executor);
  for (int i = 0; i < chunk_count; ++i) {
    EventBatch batch = GenerateBatch(static_cast<uint64_t>(i) + 1, 5000);
    EXPECT_TRUE(writer.Write(&batch).ok());
  }
  EXPECT_TRUE(writer.Finish(info).ok());
  return bytes;
}

TraceInfo Peek(std::string bytes) {
  const absl::StatusOr<std::unique_ptr<io::Input>> input = io::OpenMemory(std::move(bytes), "x.kiln");
  TraceInfo info;
  if (input.ok()) PeekKiln(**input, &info);
  return info;
}

TraceInfo Rank(int64_t rank, int64_t world_size) {
  TraceInfo info;
  info.rank = rank;
  info.world_size = world_size;
  return info;
}

TEST(KilnPeek, ReadsTheInfoAtTheEnd) {
  const std::string file = MakeFile(Rank(7, 1024), 40);
  ASSERT_GT(file.size(), io::kHeadBytes);
  const TraceInfo info = Peek(file);
  EXPECT_EQ(info.rank, 7);
  EXPECT_EQ(info.world_size, 1024);
}

TEST(KilnPeek, ReadsTheHeaderOfAFileWithoutEnd) {
  std::string file;
  AppendRecord(RecordKind::kHeader, EncodeFileHeader(Rank(3, 4)), &file);
  EXPECT_EQ(Peek(file).rank, 3);
  EXPECT_EQ(Peek(file).world_size, 4);
}

TEST(KilnPeek, KnowsNothingWhereNothingIsSaid) {
  const TraceInfo info = Peek(MakeFile({}));
  EXPECT_EQ(info.rank, std::nullopt);
  EXPECT_EQ(info.world_size, std::nullopt);
}

TEST(KilnPeek, ReadsASmallFileInAContainer) {
  const std::string file = MakeFile(Rank(7, 8), 0);
  ASSERT_LT(file.size(), io::kHeadBytes);
  std::string packed(ZSTD_compressBound(file.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), file.data(), file.size(), 1));
  EXPECT_EQ(Peek(packed).rank, 7);
}

TEST(KilnPeek, SaysTheTruthOrNothingOfDamagedFiles) {
  const std::string file = MakeFile(Rank(7, 8), 1);
  for (size_t size = 0; size<file.size(); size += size> file.size() - 400 ? 1 : 97) {
    EXPECT_EQ(Peek(file.substr(0, size)).rank, std::nullopt) << size;
  }
  std::string damaged = file;
  for (size_t i = file.size() - 400; i < file.size(); ++i) {
    damaged[i] ^= '\x41';
    const TraceInfo info = Peek(damaged);
    EXPECT_EQ(info.rank.value_or(7), 7) << i;
    EXPECT_EQ(info.world_size.value_or(8), 8) << i;
    damaged[i] ^= '\x41';
  }
}

}  // namespace
}  // namespace tracekiln::kiln
