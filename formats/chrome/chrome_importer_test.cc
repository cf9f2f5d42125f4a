// What the importer makes of each form, phase and dialect, and of each kind of damage.
#include "formats/chrome/chrome_importer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "formats/chrome/testing/import_text.h"

namespace tracekiln::chrome {
namespace {

ImportedText Import(absl::string_view text, bool strict = false, bool salvage = false) {
  ImportTextOptions options;
  options.strict = strict;
  options.salvage = salvage;
  return ImportText(text, options);
}

// The only batch of a trace that imports without error.
EventBatch Events(absl::string_view text) {
  ImportedText got = Import(text);
  EXPECT_TRUE(got.status.ok()) << got.status;
  EXPECT_TRUE(got.info.report.IsBalanced());
  EXPECT_EQ(got.batches.size(), 1u);
  return got.batches.empty() ? EventBatch() : std::move(got.batches[0]);
}

std::string Names(const EventBatch& batch) {
  std::vector<std::string> names;
  for (size_t row = 0; row < batch.rows(); ++row) names.emplace_back(batch.NameOf(row));
  return absl::StrJoin(names, ",");
}

// "reason count@offset,offset; …" of one severity.
std::string Entries(const ImportedText& got, ImportReport::Severity severity) {
  std::vector<std::string> texts;
  for (const ImportReport::Entry& e : got.info.report.entries()) {
    if (e.severity == severity) {
      texts.push_back(absl::StrCat(e.reason, " ", e.count, "@", absl::StrJoin(e.first_offsets, ",")));
    }
  }
  return absl::StrJoin(texts, "; ");
}
std::string Repairs(const ImportedText& got) { return Entries(got, ImportReport::Severity::kRepaired); }
std::string Skips(const ImportedText& got) { return Entries(got, ImportReport::Severity::kSkipped); }
std::string Notes(const ImportedText& got) { return Entries(got, ImportReport::Severity::kNote); }

TEST(Form, ArrayIsRead) {
  const ImportedText got = Import(R"([{"ph":"X","name":"a","ts":1,"dur":2}, {"ph":"X","name":"b","ts":3,"dur":0}])");
  EXPECT_TRUE(got.info.array_form);
  EXPECT_EQ(Names(got.batches[0]), "a,b");
  EXPECT_EQ(Repairs(got), "");
}

TEST(Form, ArrayOfObjectsWithoutPhaseIsNoTrace) {
  const ImportedText got = Import(R"([{"cols": [1, 2]}, {"rows": []}])");
  EXPECT_EQ(got.status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(got.status.message().find("no Chrome trace"), absl::string_view::npos) << got.status;
}

TEST(Salvage, FindsTheEventsBehindDamageInFrontOfThem) {
  for (const char* text : {R"({"traceName":"a"b","traceEvents":[{"ph":"X","name":"x","ts":1,"dur":1}]})",
                           R"({"traceName":"a,"traceEvents" : [{"ph":"X","name":"x","ts":1,"dur":1}]})"}) {
    EXPECT_FALSE(Import(text).status.ok()) << text;
    const ImportedText got = Import(text, /*strict=*/false, /*salvage=*/true);
    ASSERT_TRUE(got.status.ok()) << got.status;
    EXPECT_TRUE(got.info.report.salvaged);
    ASSERT_EQ(got.batches.size(), 1u);
    EXPECT_EQ(Names(got.batches[0]), "x");
  }
}

TEST(Form, ManyKeysBesideTheEventsTakeLinearTime) {
  std::string text = "{";
  for (int i = 0; i < 200000; ++i) absl::StrAppend(&text, "\"k", i, "\":1,");
  text += R"("traceEvents":[{"ph":"i","ts":1}]})";
  const ImportedText got = Import(text);  // a quadratic search takes minutes and ends the test by its time limit
  ASSERT_TRUE(got.status.ok()) << got.status;
  EXPECT_EQ(got.info.metadata.size(), 200000u);
}

TEST(Form, EventWithTooManyMembersIsRefused) {
  std::string text = R"([{"ph":"i","ts":1,"args":{)";
  for (int i = 0; i < 530000; ++i) absl::StrAppend(&text, i > 0 ? "," : "", "\"k", i, "\":1");
  text += "}}]";
  const ImportedText got = Import(text);
  EXPECT_EQ(got.status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(got.status.message().find("at most 524288 members"), absl::string_view::npos) << got.status;
}

TEST(Pairs, KeepDurationArgsAndCategoryThatBothHalvesHave) {
  const EventBatch batch = Events(R"([{"ph":"B","name":"a","cat":"c1","ts":1,"dur":7,"args":[1,2]},
                                      {"ph":"E","cat":"c2","ts":3,"dur":9,"args":{"x":1}}])");
  ASSERT_EQ(batch.rows(), 1u);
  EXPECT_EQ(batch.dur_ns[0], 2000);
  EXPECT_EQ(batch.CategoryOf(0), "c1");
  EXPECT_EQ(batch.IntArg(0, "original dur", ArgPlace::kEvent), 7);
  EXPECT_EQ(batch.IntArg(0, "end original dur", ArgPlace::kEvent), 9);
  EXPECT_EQ(batch.StringArg(0, "end cat", ArgPlace::kEvent), absl::string_view("c2"));
  EXPECT_GE(batch.FindField(batch.shape[0], "original args", ArgPlace::kEvent), 0);
  EXPECT_EQ(batch.IntArg(0, "x"), 1);
  for (const char* own : {"dur", "args", "cat"}) EXPECT_LT(batch.FindField(batch.shape[0], own, ArgPlace::kEvent), 0);

  EXPECT_EQ(Events(R"([{"ph":"B","ts":1},{"ph":"E","cat":"q","ts":3}])").CategoryOf(0), "q");
}

TEST(Pairs, DurationBeyondInt64CountsAsUnfinished) {
  const ImportedText got = Import(R"([{"ph":"B","ts":-9223372036854775},{"ph":"E","ts":9223372036854775}])");
  ASSERT_TRUE(got.status.ok());
  EXPECT_EQ(got.batches[0].dur_ns[0], kUnfinished);
  EXPECT_EQ(Notes(got), "duration_out_of_range_counts_as_unfinished 1@");
}

TEST(Phase, OfSeveralLettersIsKeptAndMeansNothing) {
  const EventBatch batch = Events(R"([{"ph":"BB","name":"a","ts":1},{"ph":"E2","ts":3},{"ph":"XX","ts":4,"dur":5}])");
  ASSERT_EQ(batch.rows(), 3u);
  for (size_t row = 0; row < 3; ++row) EXPECT_EQ(batch.kind[row], EventKind::kOther);
  EXPECT_EQ(batch.StringArg(0, "ph", ArgPlace::kEvent), absl::string_view("BB"));
  EXPECT_EQ(batch.IntArg(2, "dur", ArgPlace::kEvent), 5);
}

TEST(Form, EmptyListHasNoEvents) {
  for (const char* text : {"[]", " [ ] ", R"({"traceEvents":[]})", R"({"schemaVersion":1,"traceEvents":[ ]})"}) {
    const ImportedText got = Import(text);
    EXPECT_TRUE(got.status.ok()) << got.status;
    EXPECT_TRUE(got.batches.empty());
    EXPECT_EQ(got.info.report.seen, 0u);
    EXPECT_EQ(got.info.report.ToText().substr(0, 13), "0 events seen");
  }
}

TEST(Form, KeysAroundTheEventsAreKeptInOrder) {
  const ImportedText got = Import(R"({"schemaVersion": 1, "deviceProperties": [ {"name": "GPU [A]"} ],
    "note": "mentions \"traceEvents\": [ ] }", "traceEvents": [{"ph":"X","ts":0,"dur":10}],
    "displayTimeUnit": "ms", "stackFrames": {"1": {"name": "f"}}, "samples": [], "traceName": "a]b]-7.json"})");
  ASSERT_TRUE(got.status.ok()) << got.status;
  const std::vector<MetadataEntry> want = {
      {"schemaVersion", "1", false},
      {"deviceProperties", R"([{"name":"GPU [A]"}])", false},
      {"note", R"("mentions \"traceEvents\": [ ] }")", false},
      {"displayTimeUnit", R"("ms")", true},
      {"stackFrames", R"({"1":{"name":"f"}})", true},
      {"samples", "[]", true},
      {"traceName", R"("a]b]-7.json")", true},
  };
  EXPECT_EQ(got.info.metadata == want, true);
  EXPECT_FALSE(got.info.array_form);
  EXPECT_EQ(Repairs(got) + Skips(got) + Notes(got), "");
}

TEST(Form, MetadataMayCrossTheEdgeOfARead) {
  // The first 64 KiB end inside a word, a number, an escape.
  for (const absl::string_view value : {"true", "null", "-12.5e+3", "123456", "\"a\\u00e9b\"", "[1.25,false]"}) {
    for (size_t shift = 0; shift <= value.size(); ++shift) {
      const std::string head = "{\"a\": ";
      const std::string text =
          absl::StrCat(head, std::string(65536 - head.size() - shift, ' '), value, ",\"traceEvents\":[]}");
      const ImportedText got = Import(text);
      ASSERT_TRUE(got.status.ok()) << value << " " << shift << got.status;
      EXPECT_EQ(got.info.metadata.size(), 1u);
    }
  }
}

TEST(Form, ObjectWithoutEventsIsNoTrace) {
  const ImportedText got = Import(R"({"a": 1, "events": []})");
  EXPECT_EQ(got.status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(got.status.message(), "expected \"traceEvents\"")) << got.status;
}

TEST(Form, NullListIsAnEmptyOne) {
  const ImportedText got = Import(R"({"traceEvents":null,"displayTimeUnit":"ns"})");
  EXPECT_TRUE(got.status.ok()) << got.status;
  EXPECT_EQ(Notes(got), "null_event_list 1@1");
  EXPECT_EQ(got.info.report.seen, 0u);
  EXPECT_EQ(got.info.metadata.size(), 1u);
  const ImportedText twice = Import(R"({"traceEvents":[{"ph":"X","ts":0,"dur":1}],"traceEvents":null})");
  EXPECT_EQ(twice.row_count(), 1u);
  EXPECT_EQ(Repairs(twice), "duplicate_key 1@43");
}

TEST(Form, ListThatIsNoneIsAnErrorAtItsPlace) {
  for (const char* value : {"{}", "17", "\"x\"", "nan", "nul1"}) {
    const ImportedText got = Import(absl::StrCat("{\"a\":1,\"traceEvents\":", value, "}"));
    EXPECT_EQ(got.status.code(), absl::StatusCode::kInvalidArgument) << value;
    EXPECT_TRUE(absl::StartsWith(got.status.message(), "t.json:21: expected a list of events")) << got.status;
  }
}

TEST(Form, ByteOrderMarkIsSkippedAndCounted) {
  const ImportedText got = Import("\xef\xbb\xbf[{\"ph\":\"X\",\"ts\":0,\"dur\":1},]");
  EXPECT_TRUE(got.status.ok()) << got.status;
  EXPECT_EQ(Repairs(got), "trailing_comma 1@29");
}

struct PhaseCase {
  char phase;
  EventKind kind;
  const char* kept_phase;  // nullptr: it follows from the kind
};

TEST(Phase, MakesItsKindOfRow) {
  const PhaseCase cases[] = {
      {'X', EventKind::kSlice, nullptr},
      {'i', EventKind::kInstant, nullptr},
      {'I', EventKind::kInstant, "I"},
      {'R', EventKind::kInstant, "R"},
      {'C', EventKind::kCounter, nullptr},
      {'b', EventKind::kAsyncBegin, nullptr},
      {'n', EventKind::kAsyncInstant, nullptr},
      {'e', EventKind::kAsyncEnd, nullptr},
      {'s', EventKind::kFlowStart, nullptr},
      {'t', EventKind::kFlowStep, nullptr},
      {'f', EventKind::kFlowEnd, nullptr},
      {'M', EventKind::kMetadata, nullptr},
      {'P', EventKind::kSample, nullptr},
      {'O', EventKind::kObject, nullptr},
      {'N', EventKind::kObject, "N"},
      {'D', EventKind::kObject, "D"},
      {'S', EventKind::kOther, "S"},
      {'T', EventKind::kOther, "T"},
      {'p', EventKind::kOther, "p"},
      {'F', EventKind::kOther, "F"},
      {'V', EventKind::kOther, "V"},
      {'v', EventKind::kOther, "v"},
      {'c', EventKind::kOther, "c"},
      {'(', EventKind::kOther, "("},
      {')', EventKind::kOther, ")"},
  };
  for (const PhaseCase& c : cases) {
    const EventBatch batch =
        Events(absl::StrCat("[{\"ph\":\"", std::string(1, c.phase),
                            R"(","name":"n","cat":"c","id":"0x7","ts":5,"dur":2,"pid":1,"tid":2}])"));
    ASSERT_EQ(batch.rows(), 1u);
    EXPECT_EQ(batch.kind[0], c.kind) << c.phase;
    EXPECT_EQ(batch.ts_ns[0], 5000);
    EXPECT_EQ(batch.dur_ns[0], c.phase == 'X' ? 2000 : 0);
    EXPECT_EQ(batch.StringArg(0, "id", ArgPlace::kEvent).value(), "0x7");
    const auto kept = batch.StringArg(0, "ph", ArgPlace::kEvent);
    EXPECT_EQ(kept.has_value(), c.kept_phase != nullptr) << c.phase;
    if (kept.has_value() && c.kept_phase != nullptr) {
      EXPECT_EQ(*kept, c.kept_phase);
    }
    EXPECT_EQ(batch.IntArg(0, "dur", ArgPlace::kEvent).has_value(), c.phase != 'X');
  }
}

TEST(Phase, DurationOfAnEventThatHasNoneIsKeptAsWritten) {
  const EventBatch batch = Events(R"([{"dur":1.0,"ph":"i","ts":1}, {"ph":"i","ts":1,"dur":1.2345}])");
  for (size_t row = 0; row < 2; ++row) {
    const int f = batch.FindField(batch.shape[row], "dur", ArgPlace::kEvent);
    ASSERT_GE(f, 0);
    EXPECT_EQ(batch.args.shape(batch.shape[row]).fields[static_cast<size_t>(f)].type, ArgType::kDouble);
    EXPECT_EQ(batch.Arg(row, f).d, row == 0 ? 1.0 : 1.2345);
  }
}

TEST(Phase, SliceWithoutDurationIsUnfinished) {
  const ImportedText got = Import(R"([{"ph":"X","name":"a","ts":1}])");
  EXPECT_EQ(got.batches[0].dur_ns[0], kUnfinished);
  EXPECT_EQ(Notes(got), "slice_without_duration 1@1");
}

TEST(Phase, MetadataWithoutTimestampIsMarked) {
  const EventBatch batch = Events(R"([{"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"T"}},
    {"ph":"M","name":"thread_name","pid":1,"tid":2,"ts":0,"args":{"name":"T"}}])");
  EXPECT_EQ(batch.flags[0], kNoTimestamp);
  EXPECT_EQ(batch.flags[1], 0);
}

TEST(Phase, FlowOfVersionTwoKeepsItsKeys) {
  const EventBatch batch =
      Events(R"([{"ph":"X","ts":1,"dur":1,"bind_id":"0x9","flow_out":true,"id2":{"local": "1"}}])");
  EXPECT_EQ(batch.StringArg(0, "bind_id", ArgPlace::kEvent).value(), "0x9");
  const int id2 = batch.FindField(batch.shape[0], "id2", ArgPlace::kEvent);
  ASSERT_GE(id2, 0);
  EXPECT_EQ(batch.Text(batch.Arg(0, id2).s), R"({"local":"1"})");
}

TEST(BeginAndEnd, ArePairedInsideOut) {
  const EventBatch batch =
      Events(R"([{"ph":"B","ts":0,"pid":1,"tid":1,"name":"a"},{"ph":"B","ts":5,"pid":1,"tid":1,"name":"b"},
    {"ph":"E","ts":9,"pid":1,"tid":1},{"ph":"E","ts":12,"pid":1,"tid":1}])");
  EXPECT_EQ(Names(batch), "b,a");
  EXPECT_EQ(batch.dur_ns[0], 4000);
  EXPECT_EQ(batch.dur_ns[1], 12000);
}

TEST(BeginAndEnd, ArePairedByNameWhereTheEndHasOne) {
  const EventBatch batch =
      Events(R"([{"ph":"B","ts":0,"name":"a"},{"ph":"B","ts":1,"name":"b"},{"ph":"E","ts":2,"name":"a"},
    {"ph":"E","ts":3}])");
  EXPECT_EQ(Names(batch), "a,b");
  EXPECT_EQ(batch.dur_ns[0], 2000);
  EXPECT_EQ(batch.dur_ns[1], 2000);
}

TEST(BeginAndEnd, ArePairedPerThread) {
  const EventBatch batch = Events(R"([{"ph":"B","ts":0,"tid":1,"name":"a"},{"ph":"B","ts":1,"tid":"1","name":"b"},
    {"ph":"E","ts":2,"tid":1},{"ph":"E","ts":7,"tid":"1"}])");
  EXPECT_EQ(Names(batch), "a,b");
  EXPECT_EQ(batch.dur_ns[0], 2000);
  EXPECT_EQ(batch.dur_ns[1], 6000);
}

TEST(BeginAndEnd, ArePairedAcrossBlocks) {
  std::string text = R"([{"ph":"B","ts":0,"pid":1,"tid":1,"name":"a","args":{"x":"begin"}})";
  for (int i = 0; i < 50; ++i) absl::StrAppend(&text, R"(,{"ph":"X","ts":1,"dur":1,"name":"between"})");
  text += R"(,{"ph":"E","ts":9,"pid":1,"tid":1,"args":{"y":"end"}}])";
  ImportTextOptions options;
  options.tuning.block_bytes = 100;
  const ImportedText got = ImportText(text, options);
  ASSERT_TRUE(got.status.ok());
  ASSERT_GT(got.batches.size(), 5u);
  const EventBatch& last = got.batches.back();
  const size_t row = last.rows() - 1;
  EXPECT_EQ(last.NameOf(row), "a");
  EXPECT_EQ(last.dur_ns[row], 9000);
  EXPECT_EQ(last.StringArg(row, "x").value(), "begin");
  EXPECT_EQ(last.StringArg(row, "y").value(), "end");
  EXPECT_EQ(got.info.report.merged, 1u);
}

// Case 033.
TEST(BeginAndEnd, LeftAloneAreReported) {
  const ImportedText got = Import(R"([{"ph":"E","ts":12,"name":"stray"},{"ph":"B","ts":20,"name":"c"},
    {"ph":"B","ts":21,"name":"d"},{"ph":"E","ts":25,"name":"d"}])");
  EXPECT_EQ(Skips(got), "end_without_begin 1@");
  EXPECT_EQ(got.info.report.Find("end_without_begin")->detail, "stray at ts 12");
  EXPECT_EQ(got.info.report.Find("begin_without_end")->detail, "c at ts 20");
  ASSERT_EQ(got.batches.size(), 2u);
  EXPECT_EQ(got.batches[0].dur_ns[0], 4000);
  EXPECT_EQ(got.batches[1].dur_ns[0], kUnfinished);
}

TEST(BeginAndEnd, ArgumentsOfTheEndWinAndTheirTimesAreKeptApart) {
  const ImportedText got = Import(R"([{"ph":"B","ts":0,"tts":5,"args":{"correlation":3,"x":1}},
    {"ph":"E","ts":9,"tts":8,"args":{"correlation":4,"y":1.5}}])");
  const EventBatch& b = got.batches[0];
  EXPECT_EQ(b.correlation[0], 4);
  EXPECT_EQ(b.IntArg(0, "tts", ArgPlace::kEvent), 5);
  EXPECT_EQ(b.IntArg(0, "end tts", ArgPlace::kEvent), 8);
  EXPECT_EQ(b.IntArg(0, "x"), 1);
  EXPECT_EQ(Notes(got), "end_argument_replaces_begins 1@");
  // No row of the table is left without an event.
  for (const ArgShape& s : b.args.shapes()) EXPECT_LE(s.rows, b.rows());
}

TEST(BeginAndEnd, UnfinishedOnesComeOutInFileOrder) {
  std::string text = "[";
  std::string want;
  for (int i = 0; i < 40; ++i) {
    absl::StrAppend(&text, i > 0 ? "," : "", R"({"ph":"B","ts":1,"tid":)", i * 7 % 40, R"(,"name":"n)", i, "\"}");
    absl::StrAppend(&want, i > 0 ? "," : "", "n", i);
  }
  EXPECT_EQ(Names(Events(text + "]")), want);
}

TEST(BeginAndEnd, NoneIsLostWhereVeryManyAreOpen) {
  std::string text = "[";
  for (int i = 0; i < 70000; ++i) {
    absl::StrAppend(&text, R"({"ph":"B","ts":1,"tid":1,"name":"n"},)",
                    i % 4 == 0 ? R"({"ph":"E","ts":2,"tid":1},)" : "");
  }
  text.back() = ']';
  const ImportedText got = Import(text);
  ASSERT_TRUE(got.status.ok()) << got.status;
  EXPECT_TRUE(got.info.report.IsBalanced());
  EXPECT_EQ(got.row_count(), 70000u);
  EXPECT_EQ(got.info.report.merged, 17500u);
}

TEST(Track, KeepsNumbersTextsAndAbsence) {
  const EventBatch b = Events(
      R"([{"ph":"X","ts":0,"dur":1,"pid":10,"tid":139911223344128},{"ph":"X","ts":0,"dur":1,"pid":"10","tid":-1812345600},
    {"ph":"X","ts":0,"dur":1,"tid":"stream 7"},{"ph":"X","ts":0,"dur":1,"pid":1.5,"tid":null},{"ph":"X","ts":0,"dur":1,"pid":18446744073709551615,"tid":true}])");
  ASSERT_EQ(b.tracks().size(), 5u);
  const auto track = [&](size_t row) { return b.tracks()[Index(b.track[row])]; };
  const auto text = [&](const TrackPart& p) { return std::string(b.Text(StringId{static_cast<uint32_t>(p.value)})); };
  EXPECT_EQ(track(0).tid.value, 139911223344128);
  EXPECT_EQ(track(1).pid.type, TrackPart::Type::kText);
  EXPECT_EQ(track(1).tid.value, -1812345600);
  EXPECT_EQ(track(2).pid.type, TrackPart::Type::kAbsent);
  EXPECT_EQ(text(track(2).tid), "stream 7");
  EXPECT_EQ(text(track(3).pid), "1.5");
  EXPECT_EQ(text(track(3).tid), "null");
  EXPECT_EQ(text(track(4).pid), "18446744073709551615");
  EXPECT_EQ(track(4).tid.type, TrackPart::Type::kJson);
}

TEST(Time, IsExactToTheNanosecond) {
  struct Case {
    const char* ts;
    int64_t ns;
  };
  for (const Case& c : {Case{"1712195495519689.047", 1712195495519689047},
                        {"0", 0},
                        {"-0.001", -1},
                        {"1.5e3", 1500000},
                        {"\"12.5\"", 12500},
                        {"9223372036854775.807", INT64_MAX},
                        {"51200.25", 51200250},
                        {"0.0004", 0},
                        {"0.0005", 1}}) {
    const EventBatch b = Events(absl::StrCat("[{\"ph\":\"i\",\"ts\":", c.ts, "}]"));
    ASSERT_EQ(b.rows(), 1u) << c.ts;
    EXPECT_EQ(b.ts_ns[0], c.ns) << c.ts;
  }
}

TEST(Time, ThatIsNoneSkipsTheEvent) {
  for (const char* ts : {"null", "\"soon\"", "1e300", "[]"}) {
    const ImportedText got = Import(absl::StrCat("[{\"ph\":\"X\",\"dur\":1,\"ts\":", ts, "}]"));
    EXPECT_EQ(Skips(got), "bad_timestamp 1@1") << ts;
  }
}

TEST(Kineto, BaseAndDistributedInfoAreRead) {
  for (const bool after : {false, true}) {
    const std::string info = R"("distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 16})";
    const std::string events = R"("traceEvents": [{"ph":"X","ts":1,"dur":1}])";
    const ImportedText got =
        Import(absl::StrCat("{\"baseTimeNanoseconds\": 1711937640000000000, ",
                            after ? absl::StrCat(events, ",", info) : absl::StrCat(info, ",", events), "}"));
    ASSERT_TRUE(got.status.ok()) << got.status;
    EXPECT_EQ(got.info.base_ns, 1711937640000000000);
    EXPECT_TRUE(got.info.has_base);
    EXPECT_EQ(got.info.rank, 3);
    EXPECT_EQ(got.info.world_size, 16);
    ASSERT_EQ(got.info.metadata.size(), 1u);
    EXPECT_EQ(got.info.metadata[0].after_events, after);
  }
}

constexpr char kLaunch[] =
    R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":5.100,"dur":2,"args":{"correlation":7}})";
constexpr char kStart[] = R"({"ph":"s","id":7,"pid":1,"tid":1,"ts":5.100,"cat":"ac2g","name":"ac2g"})";
constexpr char kEnd[] = R"({"ph":"f","id":7,"pid":1,"tid":1,"ts":5.100,"cat":"ac2g","name":"ac2g","bp":"e"})";

TEST(Kineto, FlowThatRestatesACorrelationBecomesAFlag) {
  EXPECT_EQ(Events(absl::StrCat("[", kLaunch, ",", kStart, "]")).flags[0], kFlowOut);
  const ImportedText end = Import(absl::StrCat("[", kLaunch, ",", kEnd, "]"));
  EXPECT_EQ(end.batches[0].flags[0], kFlowIn);
  EXPECT_EQ(end.info.report.merged, 1u);
  EXPECT_EQ(Notes(end), "flow_end_without_start 1@");
}

TEST(Kineto, FlowThatSaysMoreStaysARow) {
  const std::string flow = kStart;
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"\"id\":7", "\"id\":8"},
                                                        {"\"tid\":1", "\"tid\":2"},
                                                        {"5.100", "5.101"},
                                                        {"\"cat\":\"ac2g\"", "\"cat\":\"fwdbwd\""},
                                                        {"\"id\":7", "\"id\":\"7\""},
                                                        {"\"id\":7", "\"id\":7,\"args\":{}"},
                                                        {"\"id\":7", "\"id\":7,\"bp\":\"e\""}}) {
    std::string changed = flow;
    changed.replace(changed.find(from), from.size(), to);
    EXPECT_EQ(Events(absl::StrCat("[", kLaunch, ",", changed, "]")).rows(), 2u) << changed;
  }
  // One slice takes one flow.
  EXPECT_EQ(Events(absl::StrCat("[", kLaunch, ",", kStart, ",", kStart, "]")).rows(), 2u);
  EXPECT_EQ(Events(absl::StrCat("[", kStart, ",", kLaunch, "]")).rows(), 2u);
}

TEST(Kineto, DanglingFlowEndsAreCounted) {
  const std::string other =
      R"({"ph":"f","id":"x","ts":1,"cat":"c","name":"n"},{"ph":"f","id":18446744073709551615,"ts":1,"cat":"c","name":"n"},
    {"ph":"s","id":18446744073709551614,"ts":1,"cat":"c","name":"n"})";
  EXPECT_EQ(Notes(Import(absl::StrCat("[", kLaunch, ",", kStart, ",", kEnd, "]"))), "");
  EXPECT_EQ(Notes(Import(absl::StrCat("[", kEnd, ",", kEnd, ",", other, "]"))), "flow_end_without_start 4@");
}

TEST(Kineto, CorrelationIsACoreColumnIfItIsAPositiveInteger) {
  for (const auto& [text, want] : std::vector<std::pair<std::string, int64_t>>{
           {"7", 7}, {"0", 0}, {"-1", 0}, {"7.0", 0}, {"\"7\"", 0}, {"4294967296", 4294967296}}) {
    const EventBatch b =
        Events(absl::StrCat("[{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"args\":{\"correlation\":", text, "}}]"));
    EXPECT_EQ(b.correlation[0], want) << text;
  }
  EXPECT_EQ(Events(R"([{"ph":"X","ts":1,"dur":1,"correlation":7}])").correlation[0], 0);
}

// Case 019.
TEST(Args, KeepEveryDigit) {
  const EventBatch b = Events(
      R"([{"ph":"X","ts":1,"dur":1,"args":{"a":18446744073709551615,"b":36893488147419103232,"c":140737488355329,"d":1.0,"e":-0}}])");
  EXPECT_EQ(b.Text(b.Arg(0, b.FindField(b.shape[0], "a")).s), "18446744073709551615");
  EXPECT_EQ(b.Text(b.Arg(0, b.FindField(b.shape[0], "b")).s), "36893488147419103232");
  EXPECT_EQ(b.IntArg(0, "c"), 140737488355329);
  EXPECT_EQ(b.args.shape(b.shape[0]).fields[3].type, ArgType::kDouble);
  EXPECT_EQ(b.Text(b.Arg(0, 4).s), "-0");
}

TEST(Args, KeyWithEscapesIsTheSameKey) {
  const EventBatch b = Events(R"([{"\u0070h":"X","t\u0073":1,"dur":2,"n\u0061me":"a","\u0061rgs":{"\u006b":1}}])");
  ASSERT_EQ(b.rows(), 1u);
  EXPECT_EQ(b.kind[0], EventKind::kSlice);
  EXPECT_EQ(b.NameOf(0), "a");
  EXPECT_EQ(b.IntArg(0, "k"), 1);
}

// Case 015.
TEST(Elements, ThatAreNoEventsAreSkippedWithAReason) {
  const ImportedText got =
      Import(R"([{"ph":"X","ts":0,"dur":1},{},null,5,"x",[1],{"ph":"X"},{"name":"a","ts":1},{"ph":7,"ts":1}])");
  ASSERT_TRUE(got.status.ok()) << got.status;
  EXPECT_EQ(Skips(got),
            "empty_object 1@27; null_element 1@30; not_an_object 3@35,37,41; no_timestamp 1@45; no_phase 2@56,76");
  EXPECT_EQ(got.row_count(), 1u);
  EXPECT_TRUE(Import("[{},null]", true).status.ok());
}

struct DamageCase {
  const char* what;
  std::string text;
  std::string repairs;
  uint64_t offset;  // of the first
};

std::vector<DamageCase> DamageCases() {
  return {
      {"case 003", "{\"traceEvents\":[\n{\"ph\":\"X\",\"ts\":1,\"dur\":1},\n]}", "trailing_comma 1@42", 42},
      {"no bracket", "[{\"ph\":\"X\",\"ts\":1,\"dur\":1}", "missing_closing_bracket 1@26", 26},
      {"no bracket, comma", "[{\"ph\":\"X\",\"ts\":1,\"dur\":1},\n",
       "trailing_comma 1@26; missing_closing_bracket 1@28", 28},
      {"bad UTF-8", "[{\"ph\":\"X\",\"name\":\"ab\xff\xfe\",\"ts\":1,\"dur\":1}]", "invalid_utf8 1@21", 21},
      {"raw control", "[{\"ph\":\"X\",\"name\":\"a\x01\x02\",\"ts\":1,\"dur\":1}]", "control_character 1@20", 20},
      {"lone surrogate", "[{\"ph\":\"X\",\"name\":\"a\\ud800\",\"ts\":1,\"dur\":1}]", "lone_surrogate 1@20", 20},
      {"nan", "[{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"args\":{\"a\":nan,\"b\":-Infinity}}]", "non_finite_number 2@38,46",
       38},
      {"nested inf", "[{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"args\":{\"a\":[inf]}}]", "non_finite_number 1@39", 39},
      {"comma in args", "[{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"args\":{\"a\":1,}}]", "trailing_comma 1@39", 39},
      {"comma in event", "[{\"ph\":\"X\",\"ts\":1,\"dur\":1,}]", "trailing_comma 1@25", 25},
      {"twice dur", "[{\"ph\":\"X\",\"ts\":1,\"dur\":5,\"dur\":1}]", "duplicate_key 1@26", 26},
      {"comma in document", "{\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"dur\":1}],}", "trailing_comma 1@42", 42},
      {"two bases",
       "{\"baseTimeNanoseconds\":1,\"baseTimeNanoseconds\":2,\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"dur\":1}]}",
       "duplicate_key 1@25", 25},
  };
}

TEST(Damage, ThatIsConfinedIsRepairedAndLocated) {
  for (const DamageCase& c : DamageCases()) {
    const ImportedText got = Import(c.text);
    ASSERT_TRUE(got.status.ok()) << c.what << got.status;
    EXPECT_EQ(Repairs(got), c.repairs) << c.what;
    EXPECT_EQ(got.row_count(), 1u) << c.what;
    EXPECT_EQ(got.batches[0].dur_ns[0], 1000) << c.what;
    EXPECT_FALSE(got.info.report.salvaged);
  }
}

TEST(Damage, ThatIsConfinedIsAnErrorInStrictMode) {
  for (const DamageCase& c : DamageCases()) {
    const ImportedText got = Import(c.text, true);
    EXPECT_FALSE(got.status.ok()) << c.what;
    EXPECT_TRUE(absl::StartsWith(got.status.message(), absl::StrCat("t.json:", c.offset, ": ")))
        << c.what << got.status;
  }
}

// Case 017.
TEST(Damage, LastOfADuplicateKeyCounts) {
  const ImportedText got = Import(R"({"traceEvents":[{"ph":"X","name":"a","ts":0,"dur":1}],"traceEvents":[
    {"ph":"X","name":"k","ts":40,"dur":5,"dur":50,"args":{"correlation":7,"correlation":8}}]})");
  ASSERT_TRUE(got.status.ok()) << got.status;
  EXPECT_EQ(got.row_count(), 2u);
  const EventBatch& b = got.batches.back();
  EXPECT_EQ(b.dur_ns[0], 50000);
  EXPECT_EQ(b.correlation[0], 8);
  EXPECT_EQ(Repairs(got), "duplicate_key 3@54,111,144");
}

TEST(Damage, OfTheSameTextSpeltWellBeforeIsStillFound) {
  const ImportedText got = Import(
      "[{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"name\":\"a\\u0001\"},{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"name\":\"a\x01\"}]");
  EXPECT_EQ(Repairs(got), "control_character 1@78");
}

struct ErrorCase {
  const char* what;
  std::string text;
  absl::StatusCode code;
  std::string message;  // begins with
};

TEST(Damage, OfUnclearExtentIsAnErrorThatTellsThePlace) {
  const absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;
  const absl::StatusCode kLoss = absl::StatusCode::kDataLoss;
  const std::string event = R"({"ph":"X","ts":1,"dur":1})";  // 25 bytes
  const ErrorCase cases[] = {
      {"empty", "", kInvalid, "t.json:0: expected a trace, got an empty file"},
      {"no JSON", "hello", kInvalid, "t.json:0: expected `{` or `[` at the beginning of a trace, got `h`"},
      {"case 004", "[,{\"ph\":\"B\"}]", kInvalid, "t.json:1: expected a value, got `,` (0 whole events precede it)"},
      {"case 005", "[" + event + "]\n[" + event + "]", kInvalid,
       "t.json:28: trailing data: expected the end of the file, got `[`"},
      {"case 009", "[" + event + R"(,{"name":"site\core"}])", kInvalid,
       "t.json:40: invalid escape `\\c` in \"site\\core\""},
      {"case 011", "[" + event + R"(,{"ts":1,tid":0}])", kInvalid,
       "t.json:35: expected an object key in quotes, got `t` (1 whole event precedes it)"},
      {"quote in name", R"([{"name":"say "hi"","ph":"X"}])", kInvalid, "t.json:15: expected `,` or `}`, got `h`"},
      {"no separator", "[" + event + event + "]", kInvalid, "t.json:26: expected `,` or `]` behind an event, got `{`"},
      {"cut object", "{\"traceEvents\":[" + event + ",", kLoss, "t.json:42: expected an event, got end of input"},
      {"cut document", "{\"traceEvents\":[" + event + "]", kLoss, "t.json:42: expected `,` or `}`, got end of input"},
      {"cut event", "[" + event + ",{\"ph\":\"X", kLoss, "t.json:35: expected the end of a string, got end of input"},
      {"cut word", "[" + event + ",{\"a\":tru", kLoss, "t.json:35: expected the rest of a value, got end of input"},
      {"cut key", "{\"trac", kLoss, "t.json:6: expected the value of a key, got end of input"},
      {"bad document", "{\"a\" 1,\"traceEvents\":[]}", kInvalid, "t.json:5: expected `:`, got `1`"},
      {"bad number", "[{\"ts\":01}]", kInvalid, "t.json:7: expected a"},
  };
  for (const ErrorCase& c : cases) {
    const ImportedText got = Import(c.text);
    EXPECT_EQ(got.status.code(), c.code) << c.what << got.status;
    EXPECT_EQ(std::string(got.status.message().substr(0, c.message.size())), c.message) << c.what;
  }
}

TEST(Damage, ErrorAfterATruncatedBlockIsNoTruncation) {
  std::string text = "[";
  for (int i = 0; i < 20; ++i) absl::StrAppend(&text, R"({"ph":"X","name":"a long name of an event","ts":1,"dur":1},)");
  absl::StrAppend(&text, R"({"name":"a\cb"},{"ph":"X","ts":1,"dur":1}])");
  for (const size_t block_bytes : {16, 40, 64, 1000}) {
    ImportTextOptions options;
    options.tuning.block_bytes = block_bytes;
    const ImportedText got = ImportText(text, options);
    EXPECT_EQ(got.status.code(), absl::StatusCode::kInvalidArgument) << got.status;
  }
}

TEST(Size, OfAnEventIsLimited) {
  const ImportedText got = Import(absl::StrCat(R"([{"ph":"X","ts":1,"dur":1,"name":")", std::string(80 << 20, 'a')));
  EXPECT_EQ(got.status.code(), absl::StatusCode::kResourceExhausted) << got.status;
  EXPECT_TRUE(absl::StrContains(got.status.message(), "t.json:1: an event of more than")) << got.status;
}

TEST(Depth, IsLimited) {
  const auto nested = [](int depth) {
    return absl::StrCat(R"([{"ph":"X","ts":1,"dur":1,"args":{"a":)", std::string(static_cast<size_t>(depth), '['),
                        std::string(static_cast<size_t>(depth), ']'), "}}]");
  };
  EXPECT_TRUE(Import(nested(512)).status.ok());
  EXPECT_EQ(Import(nested(513)).status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Import(nested(1000000)).status.code(), absl::StatusCode::kInvalidArgument);
}

TEST(Salvage, KeepsWhatIsWhole) {
  const std::string event = R"({"ph":"X","name":"a","ts":1,"dur":1})";
  const auto check = [&](const std::string& text, uint64_t rows, const std::string& skips) {
    const ImportedText got = Import(text, false, true);
    EXPECT_TRUE(got.status.ok()) << text << got.status;
    EXPECT_EQ(got.row_count(), rows) << text;
    EXPECT_EQ(Skips(got), skips) << text;
    EXPECT_TRUE(got.info.report.salvaged) << text;
    EXPECT_TRUE(got.info.report.IsBalanced());
  };
  check("[" + event + R"(,{"name":"say "hi""},)" + event + "]", 2, "damaged 1@52");
  check("[" + event + event + "]", 2, "");
  check("[" + event + "," + event + "]\n[" + event + "]", 2, "");
  check("[," + event + ",, ," + event + ",,]", 2, "");
  check("[" + event + R"(,{"name":"cut)", 1, "truncated 1@38");
  check("{\"traceEvents\":[" + event, 1, "");
  check("{\"traceEvents\":[" + event + "],\"a\":", 1, "");
  check("[" + event + R"(,{"name":"a\cb"}])", 1, "damaged 1@48");
}

TEST(Sniff, TellsTracesFromOtherJson) {
  EXPECT_GE(SniffChromeJson(R"( {"schemaVersion": 1, "traceEvents": [)"), 80);
  EXPECT_GE(SniffChromeJson(R"([{"name": "a", "ph": "X")"), 70);
  EXPECT_LE(SniffChromeJson(R"({"schema": "1.0", "nodes": [)"), 0);
  EXPECT_EQ(SniffChromeJson("hello"), 0);
  EXPECT_EQ(SniffChromeJson(""), 0);
}

}  // namespace
}  // namespace tracekiln::chrome
