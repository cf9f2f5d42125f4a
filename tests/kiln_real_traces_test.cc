// Real Kineto traces as .kiln files: the same rows come back, and they take at most 5 bytes per event with all
// arguments. Skipped where the shared data is not at hand.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "formats/all_formats.h"
#include "formats/intermediate/event_batch.h"
#include "formats/intermediate/kiln_reader.h"
#include "formats/intermediate/kiln_writer.h"
#include "formats/intermediate/testing/batch_equality.h"
#include "formats/io/byte_sink.h"
#include "formats/io/executor.h"
#include "formats/io/input.h"
#include "formats/io/random_access.h"
#include "gtest/gtest.h"

namespace tracekiln {
namespace {

constexpr double kMaxBytesPerEvent = 5.0;

// The directory of the shared data, or empty.
std::string SharedDirectory() {
  const char* from_environment = std::getenv("TRACEKILN_SHARED");
  if (from_environment != nullptr && std::filesystem::exists(from_environment)) return from_environment;
  // Runfiles are links to the checkout.
  const char* source = std::getenv("TEST_SRCDIR");
  const char* workspace = std::getenv("TEST_WORKSPACE");
  if (source == nullptr || workspace == nullptr) return "";
  std::error_code error;
  const std::filesystem::path marker =
      std::filesystem::canonical(std::filesystem::path(source) / workspace / "WORKSPACE", error);
  if (error) return "";
  const std::filesystem::path shared = marker.parent_path().parent_path() / "shared";
  return std::filesystem::exists(shared) ? shared.string() : "";
}

std::unique_ptr<TraceSource> Import(const std::string& path, io::Executor& executor) {
  auto input = io::OpenInput(path);
  if (!input.ok()) return nullptr;
  for (const Format* format : AllFormats()) {
    if (format->name != "chrome") continue;
    auto source = format->open(*std::move(input), {}, executor);
    return source.ok() ? *std::move(source) : nullptr;
  }
  return nullptr;
}

// The rows of a source one after the other, whatever its batches are.
class Rows {
 public:
  explicit Rows(TraceSource& source) : source_(source) {}
  // Empty at the end.
  std::string Next() {
    if (row_ == batch_.rows()) {
      absl::StatusOr<bool> more = source_.Next(&batch_);
      if (!more.ok()) return std::string(more.status().message());
      if (!*more) return "";
      row_ = 0;
    }
    return RowText(batch_, row_++);
  }

 private:
  TraceSource& source_;
  EventBatch batch_;
  size_t row_ = 0;
};

TEST(KilnRealTracesTest, SameRowsInAtMostFiveBytesPerEvent) {
  const std::string shared = SharedDirectory();
  if (shared.empty()) {
    std::printf("SKIPPED: no shared data; set TRACEKILN_SHARED to check real traces\n");
    GTEST_SKIP() << "no shared data";
  }
  for (const char* name : {"hta/df_index_resolver/df_index_resolver.json.gz",
                           "hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
                           "hta/nccl_parser_config/nccl_data.json.gz",
                           "kineto_tb_plugin/samples/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz",
                           "param/resnet_kineto.json.gz", "tracelens/b200/eager_trace.json.gz",
                           "tracelens/h100/google_owlv2-large-patch14-ensemble__1016001.json.gz",
                           "tracelens/mi300/facebook_timesformer-base-finetuned-k400__1016002.json.gz"}) {
    SCOPED_TRACE(name);
    const std::string path = shared + "/data/traces/" + name;
    io::ThreadPool pool(2);
    std::unique_ptr<TraceSource> source = Import(path, pool);
    ASSERT_NE(source, nullptr);
    std::string bytes;
    io::StringSink sink(&bytes, "out.kiln");
    ASSERT_EQ(kiln::WriteKiln(*source, {}, sink, pool), absl::OkStatus());

    auto reader = kiln::KilnReader::Open(io::MakeMemoryFile(bytes, "out.kiln"), {}, pool);
    ASSERT_TRUE(reader.ok()) << reader.status();
    uint64_t events = 0;
    for (const kiln::IndexEntry& chunk : (*reader)->chunks()) events += chunk.header.foreign_events;
    const double bytes_per_event = static_cast<double>(bytes.size()) / static_cast<double>(events);
    std::printf("%5.2f bytes/event, %8llu events, %s\n", bytes_per_event, static_cast<unsigned long long>(events),
                name);
    EXPECT_LE(bytes_per_event, kMaxBytesPerEvent);

    std::unique_ptr<TraceSource> again = Import(path, pool);
    ASSERT_NE(again, nullptr);
    Rows want(*again), got(**reader);
    for (uint64_t row = 0;; ++row) {
      const std::string text = want.Next();
      ASSERT_EQ(got.Next(), text) << "row " << row;
      if (text.empty()) break;
    }
    EXPECT_EQ((*reader)->info().report.ToText(), again->info().report.ToText());
    EXPECT_EQ((*reader)->info().metadata, again->info().metadata);
  }
}

}  // namespace
}  // namespace tracekiln
