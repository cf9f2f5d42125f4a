#include "formats/chrome/chrome_peek.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "formats/chrome/chrome_importer.h"
#include "formats/io/executor.h"
#include "formats/io/input.h"
#include "gtest/gtest.h"

namespace tracekiln::chrome {
namespace {

constexpr int64_t kUnknown = -1000;

std::pair<int64_t, int64_t> Peek(absl::string_view head) {
  TraceInfo info;
  PeekChromeJson(head, &info);
  return {info.rank.value_or(kUnknown), info.world_size.value_or(kUnknown)};
}

struct Case {
  absl::string_view name;
  absl::string_view head;
  int64_t rank;
  int64_t world_size;
};

TEST(ChromePeek, FindsRankAndWorldSize) {
  const Case cases[] = {
      {"kineto", R"({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},)", 3, 8},
      {"no blanks", R"({"distributedInfo":{"rank":3,"world_size":8},"traceEvents":[)", 3, 8},
      {"rank only", R"({"distributedInfo": {"rank": 0}, )", 0, kUnknown},
      {"behind other objects", R"({"deviceProperties": [{"id": 0, "rank": 7}], "distributedInfo": {"rank": 1}})", 1,
       kUnknown},
      {"behind the events", R"({"traceEvents": [{"ph": "X", "args": {"rank": 9}}], "distributedInfo": {"rank": 1}})", 1,
       kUnknown},
      {"cut inside the process groups",
       R"({"distributedInfo": {"rank": 5, "world_size": 16, "pg_config": [{"ranks": [0, )", 5, 16},
      {"cut inside a number", R"({"distributedInfo": {"rank": 5, "world_size": 1)", 5, kUnknown},
      {"cut behind a number", R"({"distributedInfo": {"rank": 5)", kUnknown, kUnknown},
      {"cut inside the key", R"({"distributedInf)", kUnknown, kUnknown},
      {"rank inside of a group is no rank", R"({"distributedInfo": {"pg_config": {"rank": 4}, "world_size": 2}})",
       kUnknown, 2},
      {"inside of an event", R"({"traceEvents": [{"args": {"distributedInfo": {"rank": 1}}}]})", kUnknown, kUnknown},
      {"inside of a string", R"({"traceName": "\"distributedInfo\": {\"rank\": 1}", "a": 1})", kUnknown, kUnknown},
      {"no object", R"({"distributedInfo": [0, 1]})", kUnknown, kUnknown},
      {"null", R"({"distributedInfo": null, "rank": 1})", kUnknown, kUnknown},
      {"text", R"({"distributedInfo": {"rank": "3", "world_size": 4.0}})", kUnknown, kUnknown},
      {"too large", R"({"distributedInfo": {"rank": 9223372036854775808, "world_size": 4}})", kUnknown, 4},
      {"negative", R"({"distributedInfo": {"rank": -1, "world_size": 4}})", -1, 4},
      {"the last one counts", R"({"distributedInfo": {"rank": 1, "world_size": 2}, "distributedInfo": {"rank": 3}})", 3,
       kUnknown},
      {"superfluous commas", R"({,"distributedInfo": {,"rank": 1,,"world_size": 2,},)", 1, 2},
      {"array form", R"([{"distributedInfo": {"rank": 1}}])", kUnknown, kUnknown},
      {"empty", "", kUnknown, kUnknown},
      {"junk", "\"distributedInfo\" \x80\xff {", kUnknown, kUnknown},
      {"unterminated string", "{\"a\": \"distributedInfo\", \"b\": \"", kUnknown, kUnknown},
      {"backslash at the end", "{\"distributedInfo\": {\"rank\\", kUnknown, kUnknown},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(Peek(c.head), std::make_pair(c.rank, c.world_size)) << c.name;
  }
}

constexpr absl::string_view kTrace =
    R"({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "a\"}]"}], "distributedInfo": {"backend": "nccl", )"
    R"("rank": 12, "world_size": 345, "pg_config": [{"pg_name": "0", "ranks": [0, 1]}]}, "traceEvents": [)"
    R"({"ph": "X", "name": "f", "ts": 1, "dur": 2, "pid": 1, "tid": 1}], "traceName": "x"})";

TEST(ChromePeek, NeverGivesAWrongNumberWhereverTheHeadEnds) {
  for (size_t size = 0; size <= kTrace.size(); ++size) {
    const auto [rank, world_size] = Peek(kTrace.substr(0, size));
    EXPECT_TRUE(rank == kUnknown || rank == 12) << size;
    EXPECT_TRUE(world_size == kUnknown || world_size == 345) << size;
  }
  EXPECT_EQ(Peek(kTrace), std::make_pair(int64_t{12}, int64_t{345}));
}

TEST(ChromePeek, AgreesWithTheImporter) {
  for (
      const absl::string_view text :
      {kTrace,
       absl::string_view(R"({"traceEvents": [{"ph": "i", "ts": 1, "name": "x"}], "distributedInfo": {"rank": 2}})"),
       absl::string_view(R"({"traceEvents": []})"),
       absl::string_view(
           R"({"distributedInfo": {"rank": 1, "world_size": 2}, "distributedInfo": {"rank": 3}, "traceEvents": []})")}) {
    absl::StatusOr<std::unique_ptr<io::Input>> input = io::OpenMemory(std::string(text), "t.json");
    ASSERT_TRUE(input.ok());
    io::InlineExecutor executor;
    absl::StatusOr<std::unique_ptr<TraceSource>> source = OpenChromeJson(*std::move(input), {}, executor);
    ASSERT_TRUE(source.ok()) << source.status();
    EventBatch batch;
    for (;;) {
      const absl::StatusOr<bool> more = (*source)->Next(&batch);
      ASSERT_TRUE(more.ok()) << more.status();
      if (!*more) break;
    }
    TraceInfo peeked;
    PeekChromeJson(text, &peeked);
    EXPECT_EQ(peeked.rank, (*source)->info().rank) << text;
    EXPECT_EQ(peeked.world_size, (*source)->info().world_size) << text;
  }
}

TEST(ChromePeek, SurvivesAnyByteChanged) {
  std::string text(kTrace);
  for (size_t i = 0; i < text.size(); ++i) {
    for (const char c : {'"', '\\', '{', '}', '[', '\0', '\x80', ','}) {
      const char old = text[i];
      text[i] = c;
      Peek(text);
      text[i] = old;
    }
  }
}

}  // namespace
}  // namespace tracekiln::chrome
