#include "formats/format/spool.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "formats/intermediate/event_batch.h"
#include "formats/intermediate/testing/batch_equality.h"
#include "formats/intermediate/testing/batch_generator.h"
#include "formats/intermediate/testing/profile_equality.h"
#include "formats/intermediate/testing/profile_generator.h"
#include "gtest/gtest.h"

namespace tracekiln {
namespace {

// Can be read once, knows its info only at the end, and may fail instead of ending.
class OncePassSource final : public TraceSource {
 public:
  OncePassSource(std::vector<EventBatch> batches, absl::Status end) : batches_(std::move(batches)), end_(end) {
    info_.source_name = "input.json";
  }
  absl::StatusOr<bool> Next(EventBatch* batch) override {
    if (next_ == batches_.size()) {
      if (!end_.ok()) return end_;
      info_.rank = 5;
      profile_ = GenerateProfile(1, 30);
      info_.metadata = {{"traceName", "\"x\"", true}};
      info_.report.seen = 77;
      info_.report.Skip("no_ts", 8, "detail");
      return false;
    }
    *batch = batches_[next_++];
    return true;
  }
  const TraceInfo& info() const override { return info_; }
  const Profile* profile() const override { return profile_.empty() ? nullptr : &profile_; }

 private:
  std::vector<EventBatch> batches_;
  absl::Status end_;
  size_t next_ = 0;
  Profile profile_;
  TraceInfo info_;
};

std::vector<EventBatch> Batches() { return {GenerateBatch(1, 200), GenerateKinetoBatch(2, 3000), GenerateBatch(3, 1)}; }

void ExpectSameRowsTwice(TraceSource& source, const std::vector<EventBatch>& batches) {
  EventBatch want;
  for (const EventBatch& batch : batches) ASSERT_TRUE(want.AppendAll(batch));
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(source.Rewind().ok());
    EventBatch batch, got;
    while (*source.Next(&batch)) ASSERT_TRUE(got.AppendAll(batch));
    EXPECT_EQ(FirstDifference(want, got), "");
  }
}

TEST(SpoolTest, GivesTheSameRowsInfoAndProfileFromMemoryAndFromAFile) {
  io::ThreadPool pool(2);
  const std::string directory = testing::TempDir();
  for (uint64_t limit : {uint64_t{1} << 30, uint64_t{1000}, uint64_t{0}}) {
    const auto files_before = std::distance(std::filesystem::directory_iterator(directory), {});
    auto source = MakeRewindable(std::make_unique<OncePassSource>(Batches(), absl::OkStatus()), pool,
                                 {.memory_limit_bytes = limit, .directory = directory});
    ASSERT_TRUE(source.ok()) << source.status();
    EXPECT_EQ((*source)->info().source_name, "input.json");
    EXPECT_EQ((*source)->info().rank, 5);
    EXPECT_EQ((*source)->info().metadata.size(), 1u);
    EXPECT_EQ((*source)->info().report.seen, 77u);
    EXPECT_EQ((*source)->info().report.skipped(), 1u);
    ASSERT_NE((*source)->profile(), nullptr);
    EXPECT_EQ(FirstDifference(*(*source)->profile(), GenerateProfile(1, 30)), "");
    ExpectSameRowsTwice(**source, Batches());
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory), {}), files_before) << "no file has a name";
  }
}

TEST(SpoolTest, ReturnsARewindableSourceAsItIs) {
  io::InlineExecutor executor;
  auto first = MakeRewindable(std::make_unique<OncePassSource>(Batches(), absl::OkStatus()), executor);
  ASSERT_TRUE(first.ok());
  TraceSource* const pointer = first->get();
  auto second = MakeRewindable(*std::move(first), executor);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->get(), pointer);
}

TEST(SpoolTest, PassesOnTheErrorOfTheSource) {
  io::InlineExecutor executor;
  const absl::Status error = absl::DataLossError("input.json:99: cut off");
  EXPECT_EQ(MakeRewindable(std::make_unique<OncePassSource>(Batches(), error), executor).status(), error);
}

TEST(SpoolTest, NamesTheDirectoryThatCannotBeWritten) {
  io::InlineExecutor executor;
  const absl::Status status = MakeRewindable(std::make_unique<OncePassSource>(Batches(), absl::OkStatus()), executor,
                                             {.memory_limit_bytes = 0, .directory = "/no/such/directory"})
                                  .status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_NE(status.message().find("input.json"), absl::string_view::npos) << status;
}

TEST(SpoolTest, BytesCanBeReadAtAnyOffset) {
  std::string bytes;
  for (int i = 0; i < 3'000'000; ++i) bytes.push_back(static_cast<char>(i * 31 >> 3));
  for (uint64_t limit : {uint64_t{1} << 30, uint64_t{100'000}}) {
    auto source = io::MakeMemorySource(bytes, "pipe");
    auto file = SpoolBytes(*source, {.memory_limit_bytes = limit, .directory = testing::TempDir()});
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ((*file)->name(), "pipe");
    ASSERT_EQ((*file)->size(), bytes.size());
    std::string part(1000, '\0');
    ASSERT_TRUE((*file)->ReadAt(2'345'678, part.size(), part.data()).ok());
    EXPECT_EQ(part, bytes.substr(2'345'678, part.size()));
  }
}

}  // namespace
}  // namespace tracekiln
