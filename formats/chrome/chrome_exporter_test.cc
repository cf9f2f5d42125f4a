#include "formats/chrome/chrome_exporter.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "formats/chrome/chrome_importer.h"
#include "formats/chrome/export_plan.h"
#include "formats/intermediate/testing/batch_equality.h"
#include "formats/intermediate/testing/batch_generator.h"
#include "formats/io/byte_sink.h"
#include "formats/io/executor.h"
#include "formats/io/input.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simdjson.h"

namespace tracekiln::chrome {
namespace {

using ::testing::HasSubstr;

class MemorySource : public TraceSource {
 public:
  absl::StatusOr<bool> Next(EventBatch* batch) override {
    if (next_ == batches.size()) return false;
    *batch = batches[next_++];
    return true;
  }
  absl::Status Rewind() override {
    next_ = 0;
    return absl::OkStatus();
  }
  bool can_rewind() const override { return true; }
  const TraceInfo& info() const override { return trace_info; }

  std::vector<EventBatch> batches;
  TraceInfo trace_info;

 private:
  size_t next_ = 0;
};

// What the importer makes of a text.
MemorySource Import(const std::string& json) {
  io::InlineExecutor executor;
  MemorySource trace;
  auto input = io::OpenMemory(json, "test.json");
  EXPECT_TRUE(input.ok());
  auto source = OpenChromeJson(*std::move(input), {}, executor);
  EXPECT_TRUE(source.ok()) << source.status();
  for (;;) {
    EventBatch batch;
    const auto more = (*source)->Next(&batch);
    EXPECT_TRUE(more.ok()) << more.status() << "\n" << json;
    if (!more.ok() || !*more) break;
    trace.batches.push_back(std::move(batch));
  }
  trace.trace_info = (*source)->info();
  return trace;
}

std::string Export(MemorySource& trace, const FormatOptions& options, io::Executor& executor) {
  std::string out;
  io::StringSink sink(&out);
  const absl::Status status = ExportChrome(trace, ExportOptions{options}, sink, executor);
  EXPECT_TRUE(status.ok()) << status;
  return out;
}

std::string Export(MemorySource& trace, const FormatOptions& options = {}) {
  io::InlineExecutor executor;
  return Export(trace, options, executor);
}

std::string Export(const std::string& json, const FormatOptions& options = {}) {
  MemorySource trace = Import(json);
  return Export(trace, options);
}

const FormatOptions kOff = {{"lanes", "off"}};

// The events of an export, without the lines around them.
std::string Events(const std::string& json) {
  const std::string start = "\"traceEvents\": [\n";
  const size_t begin = json.find(start);
  EXPECT_NE(begin, std::string::npos) << json;
  return json.substr(begin + start.size(), json.rfind("\n]\n}\n") - begin - start.size());
}

// --- lanes=off ---

TEST(ExportAsImportedTest, KeepsRowsIdsOrderAndMetadata) {
  EXPECT_EQ(Export(R"({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 2},
"baseTimeNanoseconds": 1000, "displayTimeUnit": "ms", "traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "b\\", "pid": 1, "tid": "t 1", "ts": 5, "dur": 2.5, "args": {"a": 1, "b": 1.0, "c": [1, "x\\"]}},
{"ph": "X", "name": "a", "pid": -1, "tid": 0, "ts": 3.001, "dur": 0},
{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "p"}},
{"ph": "I", "s": "g", "ts": 1, "name": null},
{"ph": "X", "name": "unfinished", "pid": 1, "tid": 1, "ts": 7}
], "traceName": "x.json"})",
                   kOff),
            R"({
"schemaVersion": 1,
"distributedInfo": {"backend": "nccl","rank": 0,"world_size": 2},
"displayTimeUnit": "ms",
"baseTimeNanoseconds": 1000,
"traceEvents": [
{"ph":"X","cat":"cpu_op","name":"b\u005c","pid":1,"tid":"t 1","ts":5,"dur":2.500,"args":{"a":1,"b":1.0,"c":[1,"x\u005c"]}},
{"ph":"X","name":"a","pid":-1,"tid":0,"ts":3.001,"dur":0},
{"ph":"M","name":"process_name","pid":1,"args":{"name":"p"}},
{"ph":"I","ts":1,"s":"g","name":null},
{"ph":"X","name":"unfinished","pid":1,"tid":1,"ts":7}
],
"traceName": "x.json"
}
)");
}

TEST(ExportAsImportedTest, KeepsTheArrayForm) {
  EXPECT_EQ(Export(R"([{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1}])", kOff),
            "[\n{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1}\n]\n");
}

TEST(ExportTest, SaysThatATraceWasSalvaged) {
  MemorySource trace = Import(R"({"traceEvents": []})");
  trace.trace_info.report.salvaged = true;
  EXPECT_EQ(Export(trace, kOff), "{\n\"traceEvents\": [],\n\"tracekiln\": {\"salvaged\": true}\n}\n");
  EXPECT_THAT(Export(trace, {}), HasSubstr("\"salvaged\": true"));
  EXPECT_EQ(Export(Export(trace, kOff), kOff), Export(trace, kOff));
  trace.trace_info.array_form = true;
  EXPECT_EQ(Export(trace, kOff), "[]\n");
}

TEST(ExportAsImportedTest, WritesAnEmptyTrace) {
  EXPECT_EQ(Export(R"({"traceEvents": []})", kOff), "{\n\"traceEvents\": []\n}\n");
  EXPECT_EQ(Export("[]", kOff), "[]\n");
}

TEST(ExportAsImportedTest, UnfoldsMergedFlows) {
  const std::string events =
      R"({"ph":"X","cat":"cuda_runtime","name":"launch","pid":1,"tid":1,"ts":1,"dur":2,"args":{"correlation":7}},
{"ph":"s","cat":"ac2g","name":"ac2g","pid":1,"tid":1,"ts":1,"id":7},
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":5,"dur":2,"args":{"correlation":7}},
{"ph":"f","cat":"ac2g","name":"ac2g","pid":0,"tid":7,"ts":5,"id":7,"bp":"e"})";
  MemorySource trace = Import("{\"traceEvents\": [\n" + events + "\n]}");
  ASSERT_EQ(trace.batches.size(), 1u);
  ASSERT_EQ(trace.batches[0].rows(), 2u);  // the importer did merge them
  EXPECT_EQ(Events(Export(trace, kOff)), events);
}

TEST(ExportAsImportedTest, ImportingAgainGivesTheSameKinetoTrace) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    MemorySource trace;
    trace.trace_info.source_format = "chrome";
    trace.trace_info.has_base = true;
    trace.trace_info.base_ns = 1'000'000'000;
    trace.trace_info.metadata = {{"schemaVersion", "1", false}, {"traceName", "\"x\"", true}};
    trace.batches.push_back(GenerateKinetoBatch(seed, 2000));
    const MemorySource again = Import(Export(trace, kOff));
    EXPECT_EQ(again.trace_info.metadata, trace.trace_info.metadata);
    EXPECT_EQ(again.trace_info.base_ns, trace.trace_info.base_ns);
    ASSERT_EQ(again.batches.size(), 1u);
    ASSERT_EQ(FirstDifference(again.batches[0], trace.batches[0]), "") << seed;
  }
}

// Batches of any kind hold things that JSON says in another way (a correlation that is no argument); what is written is
// a fixed point all the same.
TEST(ExportAsImportedTest, ExportOfAnImportedExportIsTheSameText) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    MemorySource trace;
    trace.trace_info.source_format = "chrome";
    trace.batches.push_back(GenerateBatch(seed, 200));
    const std::string once = Export(trace, kOff);
    MemorySource again = Import(once);
    ASSERT_EQ(Export(again, kOff), once) << seed;
  }
}

// --- lanes=on: one fact each ---

TEST(ExportForViewersTest, PutsOverlappingSlicesIntoLanes) {
  const std::string json = Export(R"([
{"ph":"M","name":"thread_name","pid":1,"tid":7,"args":{"name":"stream 7"}},
{"ph":"M","name":"thread_sort_index","pid":1,"tid":7,"args":{"sort_index":7}},
{"ph":"M","name":"thread_sort_index","pid":1,"tid":3,"args":{"sort_index":9}},
{"ph":"X","name":"a","pid":1,"tid":7,"ts":0,"dur":10},
{"ph":"X","name":"in a","pid":1,"tid":7,"ts":1,"dur":2},
{"ph":"X","name":"b","pid":1,"tid":7,"ts":5,"dur":10},
{"ph":"X","name":"other","pid":1,"tid":3,"ts":5,"dur":10}])");
  EXPECT_EQ(Events(json), R"json({"ph":"M","name":"thread_name","pid":1,"tid":7,"args":{"name":"stream 7"}},
{"ph":"M","name":"thread_sort_index","pid":1,"tid":7,"args":{"sort_index":0}},
{"ph":"M","name":"thread_name","pid":1,"tid":8,"args":{"name":"stream 7 (lane 2)"}},
{"ph":"M","name":"thread_sort_index","pid":1,"tid":8,"args":{"sort_index":1}},
{"ph":"M","name":"thread_sort_index","pid":1,"tid":3,"args":{"sort_index":2}},
{"ph":"X","name":"a","pid":1,"tid":7,"ts":0,"dur":10},
{"ph":"X","name":"in a","pid":1,"tid":7,"ts":1,"dur":2},
{"ph":"X","name":"b","pid":1,"tid":8,"ts":5,"dur":10},
{"ph":"X","name":"other","pid":1,"tid":3,"ts":5,"dur":10})json");
  EXPECT_THAT(json, HasSubstr(R"("slices_on_other_lanes": 1)"));
  EXPECT_THAT(json, HasSubstr(R"({"pid": 1,"tid": 8,"original_pid": 1,"original_tid": 7,"lane": 2})"));
}

TEST(ExportForViewersTest, GivesLanesIdsBetweenThoseOfTheirNeighbours) {
  // Perfetto shows the main thread, whose tid is the pid, and then the other threads by tid.
  const auto lane_tids = [](const std::string& threads) {
    std::string json = "[";
    for (const absl::string_view tid : absl::StrSplit(threads, ' ')) {
      for (const char* time : {R"("ts":0,"dur":10)", R"("ts":5,"dur":10)"}) {
        absl::StrAppend(&json, json.size() > 1 ? "," : "", R"({"ph":"X","name":"a","pid":50,"tid":)", tid, ",", time,
                        "}");
      }
    }
    const std::string out = Export(json + "]");
    std::vector<std::string> tids;
    for (const char* end = "\"lane\": 2}"; const absl::string_view line : absl::StrSplit(out, "{\"pid\": ")) {
      if (line.find(end) == absl::string_view::npos) continue;
      const size_t at = line.find("\"tid\": ") + 7;
      tids.push_back(std::string(line.substr(at, line.find(',', at) - at)));
    }
    return absl::StrJoin(tids, " ");
  };
  EXPECT_EQ(lane_tids("7"), "8");
  EXPECT_EQ(lane_tids("7 16 9"), "8 17 10");
  EXPECT_EQ(lane_tids("50 7 16"), "6 8 17");  // before all others
  EXPECT_EQ(lane_tids("50 60"), "51 61");
  EXPECT_EQ(lane_tids("7 8 9"), "4000000000 4000000001 10");  // no room
  EXPECT_EQ(lane_tids("49"), "51");                           // 50 would be the main thread
  // Ids of other processes don't matter (Kineto names 16 GPUs, there or not).
  EXPECT_THAT(Export(R"([{"ph":"M","name":"process_name","pid":8,"args":{"name":"python"}},
{"ph":"X","name":"a","pid":5,"tid":7,"ts":0,"dur":10},
{"ph":"X","name":"b","pid":5,"tid":7,"ts":5,"dur":10},
{"ph":"X","name":"c","pid":5,"tid":16,"ts":0,"dur":10}])"),
              HasSubstr(R"({"pid": 5,"tid": 8,"original_pid": 5,"original_tid": 7,"lane": 2})"));
}

TEST(ExportForViewersTest, GivesSafeIdsAndKeepsTheOriginals) {
  const std::string json = Export(R"([
{"ph":"M","name":"process_name","pid":0,"args":{"name":"python"}},
{"ph":"X","name":"a","pid":0,"tid":-1,"ts":0,"dur":1},
{"ph":"X","name":"b","pid":"Spans","tid":4294967296,"ts":0,"dur":1},
{"ph":"X","name":"c","pid":4000000000,"tid":4294967295,"ts":0,"dur":1},
{"ph":"X","name":"d","ts":0,"dur":1}])");
  EXPECT_EQ(Events(json),
            R"json({"ph":"M","name":"process_name","pid":4000000001,"tid":4000000001,"args":{"name":"python (pid 0)"}},
{"ph":"M","name":"process_name","pid":4000000002,"tid":4000000002,"args":{"name":"Spans"}},
{"ph":"M","name":"thread_name","pid":4000000001,"tid":4000000003,"args":{"name":"thread -1"}},
{"ph":"M","name":"thread_name","pid":4000000002,"tid":4000000004,"args":{"name":"thread 4294967296"}},
{"ph":"M","name":"thread_name","pid":4000000001,"tid":4000000005,"args":{"name":"thread 0"}},
{"ph":"X","name":"a","pid":4000000001,"tid":4000000003,"ts":0,"dur":1},
{"ph":"X","name":"b","pid":4000000002,"tid":4000000004,"ts":0,"dur":1},
{"ph":"X","name":"c","pid":4000000000,"tid":4294967295,"ts":0,"dur":1},
{"ph":"X","name":"d","pid":4000000001,"tid":4000000005,"ts":0,"dur":1})json");
  EXPECT_THAT(
      json,
      HasSubstr(
          R"({"pid": 4000000002,"tid": 4000000004,"original_pid": "Spans","original_tid": 4294967296,"lane": 1})"));
}

TEST(ExportForViewersTest, TextsThatAreNumbersBecomeThoseNumbersIfFree) {
  EXPECT_EQ(Events(Export(R"([
{"ph":"X","name":"a","pid":"5","tid":"7","ts":0,"dur":1},
{"ph":"X","name":"b","pid":"5","tid":7,"ts":0,"dur":1},
{"ph":"X","name":"c","pid":6,"tid":"7","ts":0,"dur":1},
{"ph":"X","name":"d","pid":6,"tid":"07","ts":0,"dur":1}])")),
            R"({"ph":"M","name":"process_name","pid":5,"tid":5,"args":{"name":"5"}},
{"ph":"M","name":"thread_name","pid":5,"tid":4000000000,"args":{"name":"7"}},
{"ph":"M","name":"thread_name","pid":6,"tid":7,"args":{"name":"7"}},
{"ph":"M","name":"thread_name","pid":6,"tid":4000000001,"args":{"name":"07"}},
{"ph":"X","name":"a","pid":5,"tid":4000000000,"ts":0,"dur":1},
{"ph":"X","name":"b","pid":5,"tid":7,"ts":0,"dur":1},
{"ph":"X","name":"c","pid":6,"tid":7,"ts":0,"dur":1},
{"ph":"X","name":"d","pid":6,"tid":4000000001,"ts":0,"dur":1})");
}

TEST(ExportForViewersTest, MetadataThatViewersRefuseGetsAnotherKey) {
  const std::string json =
      Export(R"({"systemTraceEvents": [], "displayTimeUnit": "us", "traceEvents": [], "otherData": {"a": 1}})");
  EXPECT_THAT(json,
              HasSubstr("\"original systemTraceEvents\": [],\n\"original displayTimeUnit\": \"us\",\n\"otherData\""));
}

TEST(ExportForViewersTest, FansOneLaunchOutToSeveralKernels) {
  const std::string json = Export(R"({"distributedInfo": {"rank": 2}, "traceEvents": [
{"ph":"X","cat":"cuda_runtime","name":"graph launch","pid":1,"tid":1,"ts":1,"dur":2,"args":{"correlation":7}},
{"ph":"s","cat":"ac2g","name":"ac2g","pid":1,"tid":1,"ts":1,"id":7},
{"ph":"X","cat":"kernel","name":"k1","pid":9,"tid":7,"ts":5,"dur":2,"args":{"correlation":7}},
{"ph":"f","cat":"ac2g","name":"ac2g","pid":9,"tid":7,"ts":5,"id":7,"bp":"e"},
{"ph":"X","cat":"kernel","name":"k2","pid":9,"tid":7,"ts":8,"dur":2,"args":{"correlation":7}},
{"ph":"f","cat":"ac2g","name":"ac2g","pid":9,"tid":7,"ts":8,"id":7,"bp":"e"}]})",
                                  {{"args", "none"}});
  EXPECT_EQ(Events(json), R"({"ph":"X","cat":"cuda_runtime","name":"graph launch","pid":1,"tid":1,"ts":1,"dur":2},
{"ph":"s","id":8589934593,"pid":1,"tid":1,"ts":1,"cat":"ac2g","name":"ac2g"},
{"ph":"s","id":8589934594,"pid":1,"tid":1,"ts":1,"cat":"ac2g","name":"ac2g"},
{"ph":"X","cat":"kernel","name":"k1","pid":9,"tid":7,"ts":5,"dur":2},
{"ph":"f","id":8589934593,"pid":9,"tid":7,"ts":5,"cat":"ac2g","name":"ac2g","bp":"e"},
{"ph":"X","cat":"kernel","name":"k2","pid":9,"tid":7,"ts":8,"dur":2},
{"ph":"f","id":8589934594,"pid":9,"tid":7,"ts":8,"cat":"ac2g","name":"ac2g","bp":"e"})");
  EXPECT_THAT(json, HasSubstr("\"arrows\": 2,"));
}

TEST(ExportForViewersTest, FlowsFollowTheSliceAroundThemToItsLane) {
  // The second slice moves; its arrow leaves from its middle.
  const std::string events = Events(Export(R"([
{"ph":"X","name":"a","pid":1,"tid":7,"ts":0,"dur":10},
{"ph":"X","name":"a2","pid":1,"tid":7,"ts":1,"dur":1},
{"ph":"X","name":"b","pid":1,"tid":7,"ts":5,"dur":100},
{"ph":"s","cat":"c","name":"n","id":1,"pid":1,"tid":7,"ts":50},
{"ph":"X","name":"k","pid":1,"tid":8,"ts":60,"dur":10},
{"ph":"f","cat":"c","name":"n","id":1,"pid":1,"tid":8,"ts":61,"bp":"e"}])"));
  EXPECT_THAT(events, HasSubstr(R"({"ph":"s","id":1,"pid":1,"tid":4000000000,"ts":50,"cat":"c","name":"n"})"));
}

TEST(ExportForViewersTest, AFlowEndWithoutBpBelongsToTheNextSlice) {
  const std::string events = Events(Export(R"([
{"ph":"X","name":"a","pid":1,"tid":7,"ts":0,"dur":10},
{"ph":"s","cat":"c","name":"n","id":"x","pid":1,"tid":7,"ts":0},
{"ph":"f","cat":"c","name":"n","id":"x","pid":1,"tid":8,"ts":50},
{"ph":"X","name":"k","pid":1,"tid":8,"ts":60,"dur":10}])"));
  // It is written behind that slice, for "bp": "e" to find it.
  EXPECT_THAT(events, HasSubstr(R"({"ph":"f","id":1,"pid":1,"tid":8,"ts":60,"cat":"c","name":"n","bp":"e"})"));
}

TEST(ExportForViewersTest, LeavesOutAndCountsFlowsThatNobodyDraws) {
  const std::string json = Export(R"([
{"ph":"X","name":"a","pid":1,"tid":7,"ts":10,"dur":10},
{"ph":"f","cat":"c","name":"n","id":1,"pid":1,"tid":7,"ts":11,"bp":"e"},
{"ph":"s","cat":"c","name":"n","id":2,"pid":1,"tid":7,"ts":11},
{"ph":"s","cat":"c","name":"n","id":3,"pid":1,"tid":7,"ts":12},
{"ph":"f","cat":"c","name":"n","id":3,"pid":1,"tid":7,"ts":11,"bp":"e"},
{"ph":"s","cat":"c","name":"n","id":4,"pid":1,"tid":7,"ts":99},
{"ph":"f","cat":"c","name":"n","id":4,"pid":1,"tid":7,"ts":14,"bp":"e"},
{"ph":"s","cat":"c","name":"n","id":5,"pid":1,"tid":7,"ts":11},
{"ph":"f","cat":"c","name":"m","id":5,"pid":1,"tid":7,"ts":12,"bp":"e"},
{"ph":"s","cat":"c","name":"n","pid":1,"tid":7,"ts":11}])");
  EXPECT_EQ(Events(json), R"({"ph":"X","name":"a","pid":1,"tid":7,"ts":10,"dur":10})");
  EXPECT_THAT(json, HasSubstr(R"("left_out": {"flow_ends_before_their_start": 1,"flow_ends_without_start": 3,)"
                              R"("flow_starts_without_end": 3,"flows_outside_slices": 1,"flows_without_id": 1})"));
}

TEST(ExportForViewersTest, ChainsOfStepsBecomeArrows) {
  const std::string json = Export(R"([
{"ph":"X","name":"a","pid":1,"tid":7,"ts":0,"dur":100},
{"ph":"s","cat":"c","name":"n","id":1,"pid":1,"tid":7,"ts":1},
{"ph":"t","cat":"c","name":"n","id":1,"pid":1,"tid":7,"ts":2},
{"ph":"f","cat":"c","name":"n","id":1,"pid":1,"tid":7,"ts":3,"bp":"e"}])");
  EXPECT_EQ(Events(json), R"({"ph":"X","name":"a","pid":1,"tid":7,"ts":0,"dur":100},
{"ph":"s","id":1,"pid":1,"tid":7,"ts":1,"cat":"c","name":"n"},
{"ph":"f","id":1,"pid":1,"tid":7,"ts":2,"cat":"c","name":"n","bp":"e"},
{"ph":"s","id":2,"pid":1,"tid":7,"ts":2,"cat":"c","name":"n"},
{"ph":"f","id":2,"pid":1,"tid":7,"ts":3,"cat":"c","name":"n","bp":"e"})");
}

TEST(ExportForViewersTest, ArgumentsOfArrowsDoNotClash) {
  // catapult joins those of both ends and warns when they differ.
  const std::string events = Events(Export(R"([
{"ph":"X","name":"a","pid":1,"tid":7,"ts":0,"dur":100},
{"ph":"s","cat":"c","name":"n","id":1,"pid":1,"tid":7,"ts":1,"args":{"weight":1}},
{"ph":"f","cat":"c","name":"n","id":1,"pid":1,"tid":7,"ts":3,"bp":"e","args":{"weight":2}}])"));
  EXPECT_THAT(events, HasSubstr(R"("name":"n","args":{"weight":1}})"));
  EXPECT_THAT(events, HasSubstr(R"("name":"n","bp":"e","args":{"end weight":2}})"));
}

TEST(ExportForViewersTest, AChildThatStartsWithItsParentStandsBehindIt) {
  EXPECT_EQ(Events(Export(R"([
{"ph":"X","name":"grandchild","pid":1,"tid":7,"ts":0,"dur":1},
{"ph":"X","name":"child","pid":1,"tid":7,"ts":0,"dur":5},
{"ph":"X","name":"elsewhere","pid":1,"tid":8,"ts":0,"dur":5},
{"ph":"X","name":"parent","pid":1,"tid":7,"ts":0,"dur":9},
{"ph":"X","name":"later","pid":1,"tid":7,"ts":20,"dur":9}])")),
            R"({"ph":"X","name":"elsewhere","pid":1,"tid":8,"ts":0,"dur":5},
{"ph":"X","name":"parent","pid":1,"tid":7,"ts":0,"dur":9},
{"ph":"X","name":"child","pid":1,"tid":7,"ts":0,"dur":5},
{"ph":"X","name":"grandchild","pid":1,"tid":7,"ts":0,"dur":1},
{"ph":"X","name":"later","pid":1,"tid":7,"ts":20,"dur":9})");
}

TEST(ExportForViewersTest, CountersHoldNumbersOnly) {
  const std::string json = Export(R"([
{"ph":"C","name":"c","pid":1,"tid":1,"ts":1,"args":{"a":1,"b":NaN,"c":"2.5","d":"word","e":null,"":1.5}},
{"ph":"C","name":"only words","pid":1,"tid":1,"ts":2,"args":{"a":"x"}},
{"ph":"C","name":"none","pid":1,"tid":1,"ts":3}])");
  EXPECT_EQ(Events(json), R"({"ph":"C","name":"c","pid":1,"tid":1,"ts":1,"args":{"a":1,"c":2.5,"":1.5}})");
  EXPECT_THAT(json, HasSubstr(R"("left_out": {"counter_values_that_are_no_numbers": 4,"counters_without_values": 2})"));
}

TEST(ExportForViewersTest, EventsHaveNamesAndUnfinishedSlicesBegin) {
  EXPECT_EQ(Events(Export(R"([
{"ph":"X","pid":1,"tid":1,"ts":1,"dur":1},
{"ph":"X","name":null,"cat":null,"pid":1,"tid":1,"ts":2,"dur":1,"tts":"x","tdur":2},
{"ph":"X","name":"open","pid":1,"tid":1,"ts":3}])")),
            R"({"ph":"X","name":"[No name]","pid":1,"tid":1,"ts":1,"dur":1},
{"ph":"X","name":"[No name]","pid":1,"tid":1,"ts":2,"dur":1,"original name":null,"original cat":null,"original tts":"x","tdur":2},
{"ph":"B","name":"open","pid":1,"tid":1,"ts":3})");
}

TEST(ExportForViewersTest, MakesTimesSmallAndNotNegative) {
  // Epoch microseconds: whole units of Kineto's go into the base.
  const std::string epoch = Export(R"([{"ph":"X","name":"a","pid":1,"tid":1,"ts":1712195495519689.123,"dur":1}])");
  EXPECT_THAT(epoch, HasSubstr("\"baseTimeNanoseconds\": 1711964646000000000,"));
  EXPECT_THAT(epoch, HasSubstr("\"ts\":230849519689.123,"));
  const std::string negative = Export(
      R"({"baseTimeNanoseconds": 100, "traceEvents": [{"ph":"X","name":"a","pid":1,"tid":1,"ts":-1.5,"dur":1}]})");
  EXPECT_THAT(negative, HasSubstr("\"baseTimeNanoseconds\": -7889237999999900,"));
  EXPECT_THAT(negative, HasSubstr("\"ts\":7889237999998.500,"));
  const std::string small =
      Export(R"({"baseTimeNanoseconds": 5, "traceEvents": [{"ph":"X","name":"a","pid":1,"tid":1,"ts":7,"dur":1}]})");
  EXPECT_THAT(small, HasSubstr("\"baseTimeNanoseconds\": 5,"));
  EXPECT_THAT(small, HasSubstr("\"ts\":7,"));
}

TEST(ExportForViewersTest, SaysTheRankOfTracesFromElsewhere) {
  MemorySource trace;
  trace.trace_info.rank = 3;
  trace.trace_info.world_size = 8;
  EXPECT_THAT(Export(trace), HasSubstr("\"distributedInfo\": {\n\"rank\": 3,"));
  EXPECT_THAT(Export(trace, kOff), HasSubstr("\"rank\": 3,"));
}

// --- options ---

constexpr char kThree[] = R"([
{"ph":"X","cat":"kernel","name":"gemm","pid":1,"tid":1,"ts":0,"dur":10,"args":{"x":1}},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":2,"ts":20,"dur":10,"args":{"x":1}},
{"ph":"C","name":"memory","pid":1,"tid":2,"ts":40,"args":{"x":1}},
{"ph":"M","name":"process_name","pid":1,"args":{"name":"p"}}])";

std::vector<std::string> NamesOf(const std::string& json) {
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  EXPECT_EQ(parser.parse(json).get(document), simdjson::SUCCESS) << json;
  simdjson::dom::array events;
  EXPECT_EQ(document["traceEvents"].get(events), simdjson::SUCCESS);
  std::vector<std::string> names;
  for (const simdjson::dom::element e : events) {
    std::string_view name, ph;
    EXPECT_EQ(e["name"].get(name), simdjson::SUCCESS);
    EXPECT_EQ(e["ph"].get(ph), simdjson::SUCCESS);
    if (ph != "M") names.emplace_back(name);
  }
  return names;
}

TEST(ExporterOptionsTest, SelectEvents) {
  using Names = std::vector<std::string>;
  struct Case {
    FormatOptions options;
    Names want;
  };
  const Case cases[] = {
      {{}, {"gemm", "aten::mm", "memory"}},
      {{{"categories", "kernel,other"}}, {"gemm"}},
      {{{"name", "mm$"}}, {"gemm", "aten::mm"}},
      {{{"name", "^aten"}}, {"aten::mm"}},
      {{{"window", "5..25"}}, {"gemm", "aten::mm"}},
      {{{"window", "10..20"}}, {}},
      {{{"window", "29.999.."}}, {"aten::mm", "memory"}},
      {{{"window", "..20"}}, {"gemm"}},
      {{{"window", "40..40.001"}}, {"memory"}},
      {{{"categories", "kernel"}, {"categories", "cpu_op"}}, {"aten::mm"}},
  };
  for (const char* lanes : {"on", "off"}) {
    for (const Case& c : cases) {
      MemorySource trace = Import(kThree);
      trace.trace_info.array_form = false;
      FormatOptions options = c.options;
      options.emplace_back("lanes", lanes);
      EXPECT_EQ(NamesOf(Export(trace, options)), c.want)
          << (c.options.empty() ? "" : c.options[0].second) << " " << lanes;
    }
  }
}

TEST(ExporterOptionsTest, ArgsNoneKeepsCountersAndMetadata) {
  for (const char* lanes : {"on", "off"}) {
    const std::string json = Export(kThree, {{"args", "none"}, {"lanes", lanes}});
    EXPECT_THAT(json, HasSubstr("\"ts\":0,\"dur\":10}"));
    EXPECT_THAT(json, HasSubstr("\"ts\":40,\"args\":{\"x\":1}}"));
    EXPECT_THAT(json, HasSubstr("\"args\":{\"name\":\"p\"}}"));
  }
}

TEST(ExporterOptionsTest, PrettyIsTheSameJson) {
  const std::string pretty = Export(kThree, {{"pretty", "on"}});
  EXPECT_THAT(pretty, HasSubstr("\n    {\n      \"ph\": \"X\",\n      \"cat\": \"kernel\",\n"));
  simdjson::dom::parser one, two;
  simdjson::dom::element a, b;
  ASSERT_EQ(one.parse(pretty).get(a), simdjson::SUCCESS) << pretty;
  ASSERT_EQ(two.parse(Export(kThree)).get(b), simdjson::SUCCESS);
  EXPECT_EQ(simdjson::minify(a), simdjson::minify(b));
}

TEST(ExporterOptionsTest, RefusesWhatItDoesNotKnow) {
  struct Case {
    const char *key, *value, *want;
  };
  const Case cases[] = {{"lane", "on", "`lane` is no option of the chrome format"},
                        {"lanes", "yes", "lanes: expected on or off, got `yes`"},
                        {"args", "", "args: expected all or none, got ``"},
                        {"window", "5", "window: expected START..END, got `5`"},
                        {"window", "a..b", "window: `a` is no time in microseconds"},
                        {"name", "(", "name: `(` is no RE2 pattern"}};
  for (const Case& c : cases) {
    const auto parsed = ParseExporterOptions({{c.key, c.value}});
    ASSERT_FALSE(parsed.ok()) << c.key;
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(parsed.status().message()), HasSubstr(c.want));
  }
}

TEST(ExporterOptionsTest, AllAreDocumented) {
  for (const OptionSpec& spec : ExporterOptionSpecs()) {
    const std::string value = spec.key == "window" ? "1..2" : std::string(spec.default_value);
    EXPECT_TRUE(ParseExporterOptions({{std::string(spec.key), value}}).ok()) << spec.key;
  }
}

// --- properties ---

struct ShownSlice {
  int64_t start, end;
};

int64_t Ns(const simdjson::dom::element& e, const char* key) {
  double us = 0;
  EXPECT_EQ(e[key].get(us), simdjson::SUCCESS) << key;
  return std::llround(us * 1000);
}

// Checks what chrome_exporter.h promises for viewers, on the text alone. Returns the slices (name, ts + base, dur).
std::multiset<std::string> CheckForViewers(const std::string& json) {
  std::multiset<std::string> slices;
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  EXPECT_EQ(parser.parse(json).get(document), simdjson::SUCCESS) << json;
  int64_t base = 0;
  if (document["baseTimeNanoseconds"].get(base) != simdjson::SUCCESS) base = 0;
  std::map<std::pair<int64_t, int64_t>, std::vector<ShownSlice>> rows;
  struct End {
    std::string kind;
    int64_t ts;
    std::pair<int64_t, int64_t> row;
  };
  std::map<int64_t, std::vector<End>> arrows;
  bool has_seen_event = false;
  simdjson::dom::array events;
  EXPECT_EQ(document["traceEvents"].get(events), simdjson::SUCCESS);
  for (const simdjson::dom::element e : events) {
    std::string_view ph, name;
    EXPECT_EQ(e["ph"].get(ph), simdjson::SUCCESS);
    EXPECT_EQ(e["name"].get(name), simdjson::SUCCESS);
    int64_t pid = 0, tid = 0;
    EXPECT_EQ(e["pid"].get(pid), simdjson::SUCCESS);
    EXPECT_EQ(e["tid"].get(tid), simdjson::SUCCESS);
    EXPECT_TRUE(pid >= 1 && pid <= 0xffffffff && tid >= 1 && tid <= 0xffffffff) << pid << " " << tid;
    if (ph == "M") {
      if (TrackFactOf(absl::string_view(name.data(), name.size())) != TrackFact::kNone) {
        EXPECT_FALSE(has_seen_event);
      }
      continue;
    }
    has_seen_event = true;
    const int64_t ts = Ns(e, "ts");
    EXPECT_GE(ts, 0);
    if (ph == "X" || ph == "B") {
      const int64_t end = ph == "X" ? ts + std::max<int64_t>(0, Ns(e, "dur")) : std::numeric_limits<int64_t>::max();
      std::vector<ShownSlice>& row = rows[{pid, tid}];
      row.push_back({ts, end});
      slices.insert(absl::StrCat(std::string(name), " ", ts + base, " ", ph == "X" ? Ns(e, "dur") : kUnfinished));
    } else if (ph == "s" || ph == "f") {
      int64_t id = 0;
      EXPECT_EQ(e["id"].get(id), simdjson::SUCCESS);
      arrows[id].push_back({std::string(ph), ts, {pid, tid}});
    } else if (ph == "C") {
      simdjson::dom::object args;
      EXPECT_EQ(e["args"].get(args), simdjson::SUCCESS);
      EXPECT_GT(args.size(), 0u);
      for (const auto& field : args) EXPECT_TRUE(field.value.is_number());
    }
  }
  for (auto& [row, list] : rows) {
    // As a viewer does: stable by ts, then a stack.
    std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
    std::vector<int64_t> open;
    for (const ShownSlice& s : list) {
      while (!open.empty() && open.back() <= s.start) open.pop_back();
      EXPECT_TRUE(open.empty() || s.end <= open.back()) << s.start << " " << s.end;
      open.push_back(s.end);
    }
  }
  for (const auto& [id, ends] : arrows) {
    EXPECT_EQ(ends.size(), 2u);
    if (ends.size() != 2) continue;
    const End& from = ends[0].kind == "s" ? ends[0] : ends[1];
    const End& to = ends[0].kind == "s" ? ends[1] : ends[0];
    EXPECT_EQ(from.kind, "s");
    EXPECT_EQ(to.kind, "f");
    EXPECT_LE(from.ts, to.ts);
    if (from.ts == to.ts) {
      EXPECT_EQ(ends[0].kind, "s");
    }
    for (const End& end : ends) {
      const std::vector<ShownSlice>& list = rows[end.row];
      EXPECT_TRUE(
          std::any_of(list.begin(), list.end(),
                      [&](const ShownSlice& s) { return s.start <= end.ts && (end.ts < s.end || s.start == end.ts); }))
          << "arrow " << id;
    }
  }
  return slices;
}

// A trace with everything that makes layout hard: crossing slices, shared starts, odd ids, flows of all kinds, on few
// tracks.
EventBatch HardBatch(std::mt19937_64& random, size_t rows) {
  EventBatch batch;
  const auto below = [&](uint64_t n) { return static_cast<int64_t>(random() % n); };
  std::vector<TrackId> tracks;
  for (const int64_t tid : {int64_t{1}, int64_t{-1}, int64_t{0}, int64_t{1} << 40}) {
    tracks.push_back(batch.InternTrack({TrackPart::Int(tid == -1 ? 0 : 5), TrackPart::Int(tid)}));
  }
  tracks.push_back(batch.InternTrack({TrackPart::Text(batch.strings.Intern("Spans")), TrackPart()}));
  CategoryId category;
  (void)batch.InternCategory(batch.strings.Intern("c"), &category);
  const StringId flow_name = batch.strings.Intern("flow");
  ShapeId with_id, with_bp;
  const ArgField id{batch.strings.Intern("id"), ArgType::kInt, ArgPlace::kEvent};
  const ArgField bp{batch.strings.Intern("bp"), ArgType::kString, ArgPlace::kEvent};
  (void)batch.args.InternShape({id}, false, &with_id);
  (void)batch.args.InternShape({id, bp}, false, &with_bp);
  const StringId e = batch.strings.Intern("e");
  for (size_t i = 0; i < rows; ++i) {
    EventRow row;
    row.ts_ns = below(300);
    row.track = tracks[static_cast<size_t>(below(tracks.size()))];
    row.category = category;
    row.name = batch.strings.Intern(absl::StrCat("n", i));
    if (below(3) != 0) {
      row.dur_ns = below(100) == 0 ? kUnfinished : below(40) - 2;
      row.correlation = 1 + below(30);
      row.flags = static_cast<uint8_t>(below(3));
      batch.Append(row, ArgTable::kNoArgs, nullptr);
      continue;
    }
    row.kind = static_cast<EventKind>(static_cast<int>(EventKind::kFlowStart) + below(3));
    row.name = flow_name;
    const ArgValue values[] = {ArgValue::Int(below(30)), ArgValue::String(e)};
    batch.Append(row, below(2) == 0 ? with_id : with_bp, values);
  }
  return batch;
}

TEST(ExportForViewersTest, KeepsItsPromisesOnRandomTraces) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    MemorySource trace;
    for (size_t b = random() % 3 + 1; b > 0; --b) trace.batches.push_back(HardBatch(random, 1 + random() % 60));
    std::multiset<std::string> want;
    for (const EventBatch& batch : trace.batches) {
      for (size_t row = 0; row < batch.rows(); ++row) {
        if (batch.kind[row] != EventKind::kSlice) continue;
        want.insert(absl::StrCat(std::string(batch.NameOf(row)), " ", batch.ts_ns[row], " ", batch.dur_ns[row]));
      }
    }
    const std::string json = Export(trace);
    ASSERT_EQ(CheckForViewers(json), want) << round;
    if (HasFailure()) FAIL() << json;
  }
}

TEST(ExportForViewersTest, AnyBatchGivesValidJsonAndTheSameBytesOnAnyExecutor) {
  io::ThreadPool pool(4);
  for (uint64_t seed = 0; seed < 100; ++seed) {
    MemorySource trace;
    for (uint64_t b = 0; b < 5; ++b) trace.batches.push_back(GenerateBatch(seed * 5 + b, 40));
    for (const FormatOptions& options : {FormatOptions{}, kOff}) {
      const std::string json = Export(trace, options);
      simdjson::dom::parser parser;
      ASSERT_EQ(parser.parse(json).error(), simdjson::SUCCESS) << seed;
      ASSERT_EQ(Export(trace, options, pool), json) << seed;
    }
  }
}

TEST(ExportForViewersTest, WindowsOfAnySizeGiveTheSamePlan) {
  std::mt19937_64 random(5);
  MemorySource trace;
  for (int b = 0; b < 4; ++b) trace.batches.push_back(HardBatch(random, 500));
  const auto filter = RowFilter::Make({});
  ASSERT_TRUE(filter.ok());
  const auto whole = BuildExportPlan(trace, **filter);
  for (const size_t window_items : {size_t{2}, size_t{50}, size_t{300}}) {
    ASSERT_TRUE(trace.Rewind().ok());
    PlanLimits limits;
    limits.window_items = window_items;
    const auto parts = BuildExportPlan(trace, **filter, limits);
    ASSERT_TRUE(parts.ok());
    EXPECT_EQ(parts->lanes, whole->lanes);
    EXPECT_EQ(parts->deferred_by_anchor, whole->deferred_by_anchor);
    EXPECT_EQ(parts->arrows.size(), whole->arrows.size());
  }
}

// A .kiln file made by hand can hold any bytes where JSON should be; the output must stay JSON.
TEST(ExportTest, WritesTextThatShouldBeJsonButIsNotAsAString) {
  EventBatch batch;
  const ArgField fields[] = {{batch.strings.Intern("a"), ArgType::kJson, ArgPlace::kArgs},
                             {batch.strings.Intern("b"), ArgType::kNumber, ArgPlace::kArgs},
                             {batch.strings.Intern("c"), ArgType::kJson, ArgPlace::kArgs}};
  ShapeId shape;
  ASSERT_TRUE(batch.args.InternShape(fields, true, &shape));
  EventRow row;
  row.name = batch.strings.Intern("x");
  row.dur_ns = 1000;
  row.track = batch.InternTrack({TrackPart::Int(1), TrackPart::Int(2)});
  const ArgValue values[] = {ArgValue::String(batch.strings.Intern("[1,")),
                             ArgValue::String(batch.strings.Intern("1}")),
                             ArgValue::String(batch.strings.Intern("[1]"))};
  batch.Append(row, shape, values);
  MemorySource trace;
  trace.batches.push_back(std::move(batch));
  trace.trace_info.metadata = {{"m", "}", false}};
  io::InlineExecutor executor;
  for (const char* lanes : {"on", "off"}) {
    const std::string json = Export(trace, {{"lanes", lanes}}, executor);
    EXPECT_THAT(json, HasSubstr(R"("a":"[1,","b":"1}","c":[1])")) << json;
    EXPECT_THAT(json, HasSubstr(R"("m": "}")")) << json;
    simdjson::dom::parser parser;
    simdjson::dom::element document;
    EXPECT_EQ(parser.parse(json).get(document), simdjson::SUCCESS) << json;
  }
}

TEST(ExportForViewersTest, KeepsFieldsWhoseNamesAreItsOwnUnderAnotherName) {
  MemorySource trace =
      Import(R"([{"ph":"X","name":"x","pid":1,"tid":2,"ts":1,"dur":2,"args":"__stripped__","tts":"soon"}])");
  io::InlineExecutor executor;
  const std::string json = Export(trace, {}, executor);
  EXPECT_THAT(json, HasSubstr(R"("original args":"__stripped__","original tts":"soon")")) << json;
}

TEST(ExportTest, PassesErrorsOfSourceAndSinkOn) {
  class Failing : public MemorySource {
   public:
    absl::StatusOr<bool> Next(EventBatch*) override { return absl::DataLossError("chunk 3 is damaged"); }
  } failing;
  io::InlineExecutor executor;
  for (const FormatOptions& options : {FormatOptions{}, kOff}) {
    std::string out;
    io::StringSink sink(&out);
    EXPECT_EQ(ExportChrome(failing, ExportOptions{options}, sink, executor).code(), absl::StatusCode::kDataLoss);
  }
  class FullDisk : public io::ByteSink {
   public:
    FullDisk() : ByteSink("full") {}
    void WriteSome(absl::string_view) override { set_status(absl::ResourceExhaustedError("full: no space left")); }
    void Finish() override {}
  } full;
  MemorySource trace = Import(kThree);
  EXPECT_EQ(ExportChrome(trace, ExportOptions{}, full, executor).code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace tracekiln::chrome
