#include "formats/kiln/kiln_format.h"

#include <zstd.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "formats/intermediate/event_batch.h"
#include "formats/intermediate/kiln_writer.h"
#include "formats/intermediate/testing/batch_equality.h"
#include "formats/intermediate/testing/batch_generator.h"
#include "formats/io/byte_sink.h"
#include "formats/io/executor.h"
#include "formats/io/input.h"
#include "gtest/gtest.h"

namespace tracekiln {
namespace {

std::string MakeFile() {
  std::string bytes;
  io::StringSink sink(&bytes);
  io::InlineExecutor executor;
  kiln::KilnWriter writer(sink, {}, executor);
  EventBatch batch = GenerateBatch(1, 300);
  EXPECT_TRUE(writer.Write(&batch).ok());
  EXPECT_TRUE(writer.Finish({}).ok());
  return bytes;
}

absl::Status ReadAll(std::unique_ptr<io::Input> input, const ImportOptions& options, EventBatch* batch) {
  io::InlineExecutor executor;
  auto source = KilnFormat().open(std::move(input), options, executor);
  if (!source.ok()) return source.status();
  EXPECT_TRUE((*source)->can_rewind());
  absl::StatusOr<bool> more = (*source)->Next(batch);
  return more.status();
}

TEST(KilnFormatTest, IsFoundByContentAndRead) {
  auto input = io::OpenMemory(MakeFile(), "x.json");
  ASSERT_TRUE(input.ok()) << input.status();
  EXPECT_EQ((*input)->container(), io::Container::kPlain);
  EXPECT_EQ(KilnFormat().sniff((*input)->Head()), 100);
  EventBatch batch;
  ASSERT_EQ(ReadAll(*std::move(input), {}, &batch), absl::OkStatus());
  EXPECT_EQ(FirstDifference(batch, GenerateBatch(1, 300)), "");
}

TEST(KilnFormatTest, IsReadOutOfAContainer) {
  const std::string file = MakeFile();
  std::string packed(ZSTD_compressBound(file.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), file.data(), file.size(), 1));
  auto input = io::OpenMemory(packed, "x.kiln.zst");
  ASSERT_TRUE(input.ok()) << input.status();
  EXPECT_EQ((*input)->container(), io::Container::kZstd);
  EXPECT_EQ(KilnFormat().sniff((*input)->Head()), 100);
  EventBatch batch;
  ASSERT_EQ(ReadAll(*std::move(input), {}, &batch), absl::OkStatus());
  EXPECT_EQ(FirstDifference(batch, GenerateBatch(1, 300)), "");
}

TEST(KilnFormatTest, WritesWhatItReads) {
  const std::string file = MakeFile();
  io::InlineExecutor executor;
  for (const char* level : {"1", "19"}) {
    auto source = KilnFormat().open(*io::OpenMemory(file, "x"), {}, executor);
    ASSERT_TRUE(source.ok());
    std::string out;
    io::StringSink sink(&out);
    ExportOptions options;
    options.format = {{"level", level}};
    ASSERT_EQ(KilnFormat().write(**source, options, sink, executor), absl::OkStatus());
    EventBatch batch;
    ASSERT_EQ(ReadAll(*io::OpenMemory(out, "y"), {}, &batch), absl::OkStatus());
    EXPECT_EQ(FirstDifference(batch, GenerateBatch(1, 300)), "");
  }
}

TEST(KilnFormatTest, RefusesOptionsThatItDoesNotHave) {
  io::InlineExecutor executor;
  ImportOptions import;
  import.format = {{ "nothing", "1" }};
  EventBatch batch;
  EXPECT_TRUE(absl::IsInvalidArgument(ReadAll(*io::OpenMemory(MakeFile(), "x"), import, &batch)));
  for (const std::pair<std::string, std::string>& option :
       {std::pair<std::string, std::string>{"level", "0"}, {"level", "20"}, {"level", "high"}, {"other", "1"}}) {
    auto source = KilnFormat().open(*io::OpenMemory(MakeFile(), "x"), {}, executor);
    std::string out;
    io::StringSink sink(&out);
    ExportOptions options;
    options.format = {option};
    EXPECT_TRUE(absl::IsInvalidArgument(KilnFormat().write(**source, options, sink, executor))) << option.second;
  }
}

TEST(KilnFormatTest, StrictAndSalvageReachTheReader) {
  const std::string torn = MakeFile().substr(0, 1500);
  EventBatch batch;
  ImportOptions strict;
  strict.strict = true;
  EXPECT_TRUE(absl::IsDataLoss(ReadAll(*io::OpenMemory(torn, "x"), strict, &batch)));
  EXPECT_TRUE(ReadAll(*io::OpenMemory(torn, "x"), {}, &batch).ok());
}

}  // namespace
}  // namespace tracekiln
