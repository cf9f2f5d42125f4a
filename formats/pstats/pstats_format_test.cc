#include "formats/pstats/pstats_format.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/format/format.h"
#include "formats/intermediate/event_batch.h"
#include "formats/intermediate/profile.h"
#include "formats/intermediate/testing/profile_generator.h"
#include "formats/intermediate/trace_source.h"
#include "formats/io/byte_sink.h"
#include "formats/io/executor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tracekiln {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// One slice, or none, and perhaps a profile, which is there when all is read.
class Source final : public TraceSource {
 public:
  Source(bool has_slice, bool has_profile) : has_batch_(has_slice) {
    if (has_profile) profile_ = GenerateProfile(1, 30);
  }
  absl::StatusOr<bool> Next(EventBatch* batch) override {
    is_read_ = !std::exchange(has_batch_, false);
    if (is_read_) return false;
    *batch = EventBatch();
    EventRow row;
    row.dur_ns = 1000;
    row.track = batch->InternTrack({TrackPart::Int(1), TrackPart::Int(2)});
    row.name = batch->strings.Intern("forward");
    EXPECT_TRUE(batch->InternCategory(batch->strings.Intern("user_annotation"), &row.category));
    batch->Append(row, ArgTable::kNoArgs, nullptr);
    return true;
  }
  const TraceInfo& info() const override { return info_; }
  const Profile* profile() const override { return is_read_ && profile_ ? &*profile_ : nullptr; }

 private:
  bool has_batch_;
  bool is_read_ = false;
  std::optional<Profile> profile_;
  const TraceInfo info_;
};

// The notes while `source` is written to one file.
std::vector<std::string> NotesOfWriting(Source source) {
  std::vector<std::string> notes;
  ExportOptions options;
  options.note = [&](absl::string_view note) { notes.emplace_back(note); };
  std::string bytes;
  io::StringSink sink(&bytes);
  io::InlineExecutor executor;
  EXPECT_EQ(PstatsFormat().write(source, options, sink, executor), absl::OkStatus());
  EXPECT_EQ(PstatsFormat().sniff(bytes), 90);
  return notes;
}

class Files final : public OutputDirectory {
 public:
  absl::StatusOr<std::unique_ptr<io::ByteSink>> Create(absl::string_view) override {
    return std::make_unique<io::StringSink>(&bytes_);
  }

 private:
  std::string bytes_;
};

TEST(PstatsFormat, SaysThatTheProfileIsLostWhereThereAreSlices) {
  EXPECT_THAT(NotesOfWriting(Source(true, true)),
              ElementsAre(HasSubstr("its profile section is not in the output, which is made of its slices")));
  EXPECT_THAT(NotesOfWriting(Source(true, false)), IsEmpty());
  EXPECT_THAT(NotesOfWriting(Source(false, true)), IsEmpty());
}

TEST(PstatsFormat, SaysItOfSeveralFilesToo) {
  std::vector<std::string> notes;
  ExportOptions options;
  options.format = {{"per", "action"}};
  options.note = [&](absl::string_view note) { notes.emplace_back(note); };
  Source source(true, true);
  Files files;
  io::InlineExecutor executor;
  ASSERT_EQ(PstatsFormat().write_directory(source, options, files, executor), absl::OkStatus());
  EXPECT_THAT(notes, ElementsAre(HasSubstr("its profile section is not in the output")));
}

}  // namespace
}  // namespace tracekiln
