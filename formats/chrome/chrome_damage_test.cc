// Damaged traces, and the property that what comes out depends neither on the tier that parsed it, nor on where blocks
// end, nor on the number of threads.
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "formats/chrome/testing/import_text.h"

namespace tracekiln::chrome {
namespace {

// Events of all sorts, Kineto's layout between them, strings that look like events.
std::vector<std::string> Events(uint32_t seed, int count) {
  std::mt19937 random(seed);
  const auto below = [&](uint32_t n) { return random() % n; };
  std::vector<std::string> events;
  for (int i = 0; i < count; ++i) {
    const std::string ts = absl::StrCat(1000 + i * 7, below(2) ? absl::StrCat(".", 100 + below(900)) : "");
    switch (below(16)) {
      case 0:
      case 1:
        events.push_back(absl::StrCat("{\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::op_", below(5),
                                      "\", \"pid\": 11, \"tid\": ", 11 + below(2), ",\n    \"ts\": ", ts,
                                      ", \"dur\": ", below(90), ".5,\n    \"args\": {\n      \"External id\": ", i,
                                      ",\"Input Dims\": [[", below(3), ", 1024], []], \"Ev Idx\": ", i,
                                      "\n    }\n  }"));
        break;
      case 2:
      case 3:
      case 4: {
        const bool out = below(2);
        events.push_back(absl::StrCat("{\n    \"ph\": \"X\", \"cat\": \"", out ? "cuda_runtime" : "kernel",
                                      "\", \"name\": \"launch\", \"pid\": 11, \"tid\": 12,\n    \"ts\": ", ts,
                                      ", \"dur\": 4.600,\n    \"args\": {\n      \"External id\": ", i,
                                      ", \"correlation\": ", i + 1, ", \"occupancy\": 0.", below(100),
                                      "1\n    }\n  }"));
        if (below(3)) {
          events.push_back(absl::StrCat(
              "{\n    \"ph\": \"", out ? "s" : "f", "\", \"id\": ", i + 1, ", \"pid\": 11, \"tid\": 12, \"ts\": ", ts,
              ",\n    \"cat\": \"ac2g\", \"name\": \"ac2g\"", out ? "" : ", \"bp\": \"e\"", "\n  }"));
        }
        break;
      }
      case 5:
        events.push_back(absl::StrCat(R"({"ph":"X","name":"trap }, {\"ph\":\"X\",\"ts\":1},{","pid":1,"tid":1,"ts":)",
                                      ts, R"(,"dur":1,"args":{"list":[{"name":"a"}, {"name":"b }, {"},{"ph":"X"}]}})"));
        break;
      case 6:
        events.push_back(absl::StrCat(R"({"args":{"x":true,"y":null,"z":-1.5e-3,"big":18446744073709551615},"ts":)", ts,
                                      R"(,"name":"n)", below(3),
                                      R"(","tid":"stream 7","pid":"Spans","ph":"i","s":"g"})"));
        break;
      case 7:
        events.push_back(absl::StrCat(R"({"ph":"B","ts":)", ts, R"(,"pid":1,"tid":2,"name":"b)", below(3), "\"}"));
        break;
      case 8:
        events.push_back(absl::StrCat(R"({"ph":"E","ts":)", ts, R"(,"pid":1,"tid":2)",
                                      below(2) ? absl::StrCat(R"(,"name":"b)", below(3), "\"") : "",
                                      below(2) ? R"(,"args":{"r":1})" : "", "}"));
        break;
      case 9: events.push_back(below(2) ? "{}" : "null"); break;
      case 10:
        events.push_back(absl::StrCat(R"({"ph":"C","name":"c","pid":1,"ts":)", ts, R"(,"args":{"v":)", i, "}}"));
        break;
      case 11:
        events.push_back(absl::StrCat(R"({"ph":"M","name":"process_name","pid":)", below(3), R"(,"args":{"name":"p )",
                                      std::string(below(300), 'x'), R"("}})"));
        break;
      case 12:
        events.push_back(
            absl::StrCat(R"({"ph":"X","name":"esc\n\u00e9\ud83d\ude80\\","pid":1,"tid":1,"ts":)", ts, R"(,"dur":2})"));
        break;
      case 13:
        events.push_back(
            absl::StrCat(R"({"ph":"n","cat":"a","id":"0x1","name":"x","pid":1,"tid":1,"ts":")", ts, "\"}"));
        break;
      case 14:
        events.push_back(absl::StrCat(R"({"ph":"X","pid":1,"tid":1,"ts":)", ts, R"(,"dur":)", below(50),
                                      ",\"name\":\"raw ", below(2) ? "\x01" : "\xff", "\\n\",\"args\":{\"q\":nan}}"));
        break;
      default:
        events.push_back(absl::StrCat(R"({"ph":"X","name":"n","name":"m","pid":1,"tid":1,"ts":)", ts, R"(,"dur":1,})"));
        break;
    }
  }
  return events;
}

std::string ArrayForm(const std::vector<std::string>& events) {
  std::string text = "[";
  for (size_t i = 0; i < events.size(); ++i) absl::StrAppend(&text, i > 0 ? ",\n" : "\n", events[i]);
  return text + "\n]\n";
}

std::string ObjectForm(const std::vector<std::string>& events) {
  return absl::StrCat(R"({"schemaVersion": 1, "with_stack": true, "deviceProperties": [{"id": 0, "name": "a [}"}],
  "baseTimeNanoseconds": 1712195495000000000, "traceEvents": )",
                      ArrayForm(events), R"(, "traceName": "x ]}", "distributedInfo": {"rank": 3, "world_size": 8}})");
}

void ExpectSame(const ImportedText& a, const ImportedText& b, const std::string& text, bool same_blocks) {
  ASSERT_EQ(a.status.code(), b.status.code()) << a.status << "\n" << b.status << "\n" << text;
  EXPECT_EQ(a.status.message(), b.status.message()) << text;
  EXPECT_EQ(a.report_text(), b.report_text()) << text;
  EXPECT_EQ(a.info.metadata == b.info.metadata, true);
  if (same_blocks) {
    EXPECT_EQ(a.rows(), b.rows()) << text;
    EXPECT_EQ(a.batches.size(), b.batches.size());
  } else if (a.status.ok()) {
    EXPECT_EQ(a.foreign_rows(), b.foreign_rows()) << text;
  }
}

// All ways to read `text` give the same.
void CheckAllWays(const std::string& text, bool salvage, const std::vector<size_t>& block_sizes,
                  const std::vector<int>& thread_counts) {
  ImportTextOptions options;
  options.salvage = salvage;
  const ImportedText whole = ImportText(text, options);
  if (whole.status.ok()) {
    EXPECT_TRUE(whole.info.report.IsBalanced());
  }
  for (const size_t block_bytes : block_sizes) {
    options.tuning.block_bytes = block_bytes;
    options.tuning.general_tier_only = true;
    options.thread_count = 0;
    const ImportedText general = ImportText(text, options);
    SCOPED_TRACE(absl::StrCat("blocks of ", block_bytes));
    ExpectSame(whole, general, text, false);
    options.tuning.general_tier_only = false;
    for (const int threads : thread_counts) {
      options.thread_count = threads;
      SCOPED_TRACE(absl::StrCat(threads, " threads"));
      ExpectSame(general, ImportText(text, options), text, true);
    }
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(AnyWayOfReading, GivesTheSame) {
  for (uint32_t seed = 1; seed <= 12; ++seed) {
    const std::vector<std::string> events = Events(seed, 120);
    for (const std::string& text : {ArrayForm(events), ObjectForm(events)}) {
      CheckAllWays(text, false, {64, 100, 500, 4096, 1 << 20}, {0, 1, 2, 4});
      if (HasFailure()) return;
    }
  }
}

TEST(AnyWayOfReading, GivesTheSameWhateverTheBlanks) {
  const std::vector<std::string> events = Events(99, 60);
  const std::string text = ObjectForm(events);
  for (const std::string& other :
       {absl::StrReplaceAll(text, {{"\n", ""}}), absl::StrReplaceAll(text, {{"\n", "\r\n\t\t\t\t\t\t\t\t\t\t"}}),
        absl::StrReplaceAll(text, {{",\n", std::string(300, ' ') + ",\n" + std::string(300, '\n')}})}) {
    CheckAllWays(other, false, {64, 250, 4096}, {0, 3});
    EXPECT_EQ(ImportText(text).rows(), ImportText(other).rows());
  }
}

TEST(AnyWayOfReading, GivesTheSameForEventsLongerThanABlock) {
  std::vector<std::string> events = Events(5, 10);
  events.push_back(absl::StrCat(R"({"ph":"X","name":"long","ts":1,"dur":1,"args":{"a":")", std::string(5000, 'x'),
                                R"(","b":[)", std::string(3000, ' '), R"(true,null,1.5,-2e3]}})"));
  CheckAllWays(ArrayForm(events), false, {64, 65, 66, 67, 1000}, {0, 2});
}

TEST(AnyWayOfReading, GivesTheSameForTwoLists) {
  const std::string list = ArrayForm(Events(7, 40));
  const std::string text = absl::StrCat("{\"traceEvents\":", list, ",\"a\":1,\"traceEvents\":", list, "}");
  CheckAllWays(text, false, {64, 300, 4096}, {0, 1, 4});
}

TEST(AnyWayOfReading, GivesTheSameForSuperfluousCommas) {
  for (const absl::string_view blanks : {"", "  ", "                                                            \n"}) {
    const std::string text = absl::StrCat("[{\"ph\":\"X\",\"ts\":1,\"dur\":1}", blanks, ",", blanks, blanks, "]");
    CheckAllWays(text, false, {8, 16, 29, 30, 31, 64}, {0, 2});
    ImportTextOptions strict;
    strict.strict = true;
    for (size_t block_bytes : {8, 29, 30, 31, 1000}) {
      strict.tuning.block_bytes = block_bytes;
      EXPECT_EQ(
          ImportText(text, strict).status.message(),
          absl::StrCat("t.json:", text.find(",", 20), ": superfluous comma before `]` (1 whole event precedes it)"));
    }
  }
}

// About 2 KB.
std::string Small(bool array_form) {
  std::vector<std::string> events;
  for (const std::string& e : Events(3, 16)) events.push_back(e);
  return array_form ? ArrayForm(events) : ObjectForm(events);
}

TEST(Truncation, IsAnErrorOrARepairEverywhere) {
  for (const bool array_form : {true, false}) {
    const std::string text = Small(array_form);
    const size_t end = text.find_last_not_of('\n') + 1;
    for (size_t size = 0; size < end; ++size) {
      const std::string cut = text.substr(0, size);
      const ImportedText got = ImportText(cut);
      if (got.status.ok()) {
        ASSERT_TRUE(array_form) << size;
        EXPECT_NE(got.info.report.Find("missing_closing_bracket"), nullptr) << size;
        EXPECT_TRUE(got.info.report.IsBalanced());
        ImportTextOptions strict;
        strict.strict = true;
        EXPECT_FALSE(ImportText(cut, strict).status.ok()) << size;
        continue;
      }
      if (size > 0 && !absl::StartsWith(got.status.message(), "t.json:0: expected a trace")) {
        EXPECT_EQ(got.status.code(), absl::StatusCode::kDataLoss) << size << got.status;
        EXPECT_EQ(got.status.message().substr(0, 7 + std::to_string(size).size() + 1),
                  absl::StrCat("t.json:", size, ":"));
      }
    }
  }
}

TEST(Truncation, SalvageKeepsTheWholeEventsBefore) {
  const std::string text = Small(false);
  const size_t list = text.find("\"traceEvents\"");
  const std::vector<std::string> events = Events(3, 16);
  for (size_t size = list + 16; size < text.size() - 1; size += 1 + size % 3) {
    uint64_t whole = 0;
    size_t at = list;
    for (const std::string& e : events) {
      at = text.find(e, at) + e.size();
      if (at <= size) ++whole;
    }
    ImportTextOptions options;
    options.salvage = true;
    const ImportedText got = ImportText(text.substr(0, size), options);
    ASSERT_TRUE(got.status.ok()) << size << got.status;
    EXPECT_TRUE(got.info.report.salvaged) << size;
    EXPECT_TRUE(got.info.report.IsBalanced());
    const ImportReport::Entry* cut = got.info.report.Find("truncated");
    const bool is_in_event = cut != nullptr && cut->severity == ImportReport::Severity::kSkipped;
    EXPECT_EQ(got.info.report.seen, whole + is_in_event) << size;
  }
}

TEST(Truncation, DoesNotDependOnBlocksOrTier) {
  const std::string text = Small(false);
  for (size_t size = 1; size < text.size(); size += 13) {
    CheckAllWays(text.substr(0, size), size % 2 == 0, {64, 300}, {0, 2});
    if (HasFailure()) return;
  }
}

TEST(FlippedBytes, AreAnErrorOrABalancedAccount) {
  for (const bool array_form : {true, false}) {
    const std::string text = Small(array_form);
    std::mt19937 random(1);
    for (size_t i = 0; i < text.size(); ++i) {
      // Two of the values in turn: all of them at every byte would take minutes.
      const char values[] = {'"', '\\', '{', '}', ']', ',', '0', ' ', '\x80', '\0', static_cast<char>(random())};
      for (const char value : {values[i % 11], values[(i * 7 + 3) % 11]}) {
        std::string flipped = text;
        flipped[i] = value;
        ImportTextOptions options;
        options.tuning.block_bytes = 256;
        for (const bool salvage : {false, true}) {
          options.salvage = salvage;
          options.tuning.general_tier_only = false;
          const ImportedText fast = ImportText(flipped, options);
          EXPECT_NE(fast.status.code(), absl::StatusCode::kInternal) << fast.status;
          if (fast.status.ok()) {
            EXPECT_TRUE(fast.info.report.IsBalanced());
          } else {
            EXPECT_TRUE(absl::StartsWith(fast.status.message(), "t.json:")) << fast.status;
          }
          if (i % 3 != 0) continue;
          options.tuning.general_tier_only = true;
          ExpectSame(fast, ImportText(flipped, options), flipped, true);
        }
        if (HasFailure()) return;
      }
    }
  }
}

double Seconds(const std::string& text, bool salvage) {
  const auto begin = std::chrono::steady_clock::now();
  ImportTextOptions options;
  options.salvage = salvage;
  const ImportedText got = ImportText(text, options);
  EXPECT_NE(got.status.code(), absl::StatusCode::kInternal) << got.status;
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Limits are generous: a quadratic step would take minutes.
constexpr double kMaxSeconds = 20;

std::string Repeat(absl::string_view head, absl::string_view part, size_t bytes) {
  std::string text(head);
  while (text.size() < bytes) text.append(part.data(), part.size());
  return text;
}

TEST(Time, StaysLinearInHostileText) {
  const std::string event = R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1},)";
  const std::string open_event = R"({"ph":"X","args":{"a":[[[1}},)";
  const std::string nesting_event = R"({"ph":"X","args":{"a":[1,)";
  const size_t kBytes = 8 << 20;
  for (const bool salvage : {false, true}) {
    EXPECT_LT(Seconds(Repeat("[" + event + R"({"ph":"X","name":"no end )", std::string(100, 'x'), 20 << 20), salvage),
              kMaxSeconds);
    EXPECT_LT(Seconds(Repeat("[" + event + R"({"ph":"X","name":"no end )", event, 20 << 20), salvage), kMaxSeconds);
    EXPECT_LT(Seconds(Repeat("[", open_event, kBytes), salvage), kMaxSeconds);
    EXPECT_LT(Seconds(Repeat("[", nesting_event, 1 << 20), salvage), kMaxSeconds);
    EXPECT_LT(Seconds(Repeat("[" + event, std::string(1000, ' '), kBytes), salvage), kMaxSeconds);
  }
}

TEST(Time, StaysLinearInTheNumberOfKeysOfAnEvent) {
  std::string text = R"([{"ph":"X","ts":1,"dur":1,"args":{)";
  for (int i = 0; i < 300000; ++i) absl::StrAppend(&text, i > 0 ? "," : "", "\"k", i, "\":", i);
  text += "}}]";
  EXPECT_LT(Seconds(text, false), kMaxSeconds);
  EXPECT_EQ(ImportText(text).row_count(), 1u);
}

TEST(Time, StaysLinearInTheDepthOfOpenSlices) {
  std::string text = "[";
  for (int i = 0; i < 150000; ++i) absl::StrAppend(&text, R"({"ph":"B","name":"n","ts":)", i, "},");
  for (int i = 0; i < 150000; ++i) absl::StrAppend(&text, R"({"ph":"E","name":"stray","ts":)", i, "},");
  text.back() = ']';
  EXPECT_LT(Seconds(text, false), kMaxSeconds);
  const ImportedText got = ImportText(text);
  EXPECT_EQ(got.info.report.Find("begin_without_end")->count, 150000u);
  EXPECT_EQ(got.info.report.Find("end_without_begin")->count, 150000u);
  EXPECT_EQ(got.row_count(), 150000u);
}

}  // namespace
}  // namespace tracekiln::chrome
