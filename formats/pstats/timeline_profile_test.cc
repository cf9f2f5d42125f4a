#include "formats/pstats/timeline_profile.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "formats/intermediate/event_batch.h"
#include "formats/intermediate/field_catalog.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tracekiln::pstats {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;
using Options = TimelineProfileOptions;

// Rows by hand, times in ns.
class Trace final : public TraceSource {
 public:
  void Slice(int64_t tid, const char* category, const std::string& name, int64_t start_ns, int64_t end_ns,
             int64_t correlation = 0, int64_t external_id = 0, int64_t pid = 1) {
    SliceWithDuration(tid, category, name, start_ns, end_ns - start_ns, correlation, external_id, pid);
  }
  void SliceWithDuration(int64_t tid, const char* category, const std::string& name, int64_t start_ns, int64_t dur_ns,
                         int64_t correlation = 0, int64_t external_id = 0, int64_t pid = 1) {
    EventRow row;
    row.ts_ns = start_ns;
    row.dur_ns = dur_ns;
    row.correlation = correlation;
    row.track = batch_.InternTrack({TrackPart::Int(pid), TrackPart::Int(tid)});
    row.name = batch_.strings.Intern(name);
    EXPECT_TRUE(batch_.InternCategory(batch_.strings.Intern(category), &row.category));
    if (external_id == 0) {
      batch_.Append(row, ArgTable::kNoArgs, nullptr);
      return;
    }
    const ArgField field{batch_.strings.Intern(fields::kExternalId), ArgType::kInt, ArgPlace::kArgs};
    ShapeId shape;
    ASSERT_TRUE(batch_.args.InternShape({&field, 1}, true, &shape));
    const ArgValue value = ArgValue::Int(external_id);
    batch_.Append(row, shape, &value);
  }
  void ThreadName(int64_t tid, const std::string& name) {
    EventRow row;
    row.kind = EventKind::kMetadata;
    row.track = batch_.InternTrack({TrackPart::Int(1), TrackPart::Int(tid)});
    row.name = batch_.strings.Intern("thread_name");
    const ArgField field{batch_.strings.Intern(fields::kNameArg), ArgType::kString, ArgPlace::kArgs};
    ShapeId shape;
    ASSERT_TRUE(batch_.args.InternShape({&field, 1}, true, &shape));
    const ArgValue value = ArgValue::String(batch_.strings.Intern(name));
    batch_.Append(row, shape, &value);
  }
  void Kernel(const std::string& name, int64_t start_ns, int64_t end_ns, int64_t correlation, int64_t external_id = 0) {
    Slice(7, "kernel", name, start_ns, end_ns, correlation, external_id, 0);
  }
  // What follows goes to another batch.
  void EndBatch() {
    batches_.push_back(std::move(batch_));
    batch_ = EventBatch();
  }

  absl::StatusOr<bool> Next(EventBatch* batch) override {
    if (!batch_.empty()) EndBatch();
    if (next_ == batches_.size()) return false;
    *batch = batches_[next_++];
    return true;
  }
  const TraceInfo& info() const override { return info_; }

  TraceInfo info_;

 private:
  EventBatch batch_;
  std::vector<EventBatch> batches_;
  size_t next_ = 0;
};

std::string NameOf(const Profile& profile, FunctionId id) {
  const Profile::Function& f = profile.function(id);
  const std::string name(profile.name(id));
  return profile.file(id) == "~" && f.line == 0 ? name : absl::StrCat(profile.file(id), ":", f.line, "(", name, ")");
}

std::string StatsText(const CallStats& s) {
  return absl::StrCat(s.call_count,
                      s.primitive_call_count == s.call_count ? "" : absl::StrCat("/", s.primitive_call_count), " own ",
                      s.own_ns, " cum ", s.cumulative_ns);
}

// "name: calls own X cum Y", and "caller > name: …", sorted.
std::vector<std::string> Lines(const Profile& profile) {
  std::vector<std::string> lines;
  for (FunctionId f : profile.rows()) {
    lines.push_back(absl::StrCat(NameOf(profile, f), ": ", StatsText(profile.function(f).stats)));
  }
  for (const Profile::Edge& e : profile.edges()) {
    lines.push_back(
        absl::StrCat(NameOf(profile, e.caller), " > ", NameOf(profile, e.callee), ": ", StatsText(e.stats)));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

std::vector<std::string> WholeLines(Trace& trace, const Options& options) {
  TimelineProfiler profiler(options);
  const absl::Status status = profiler.Read(trace);
  EXPECT_TRUE(status.ok()) << status;
  return Lines(profiler.Whole());
}

Options WithoutRoot() {
  Options options;
  options.has_root = false;
  return options;
}

TEST(TimelineProfileTest, NestingBecomesCallsAndOwnTime) {
  Trace trace;
  trace.Slice(1, "python_function", "a.py(3): f", 0, 100);
  trace.Slice(1, "cpu_op", "aten::mm", 10, 40);
  trace.Slice(1, "cuda_runtime", "cudaLaunchKernel", 20, 25, 5);
  trace.Slice(1, "cpu_op", "aten::mm", 50, 60);
  EXPECT_THAT(WholeLines(trace, WithoutRoot()),
              ElementsAre("a.py:3(f) > aten::mm: 2 own 35 cum 40", "a.py:3(f): 1 own 60 cum 100",
                          "aten::mm > cudaLaunchKernel: 1 own 5 cum 5", "aten::mm: 2 own 35 cum 40",
                          "cudaLaunchKernel: 1 own 5 cum 5"));
}

TEST(TimelineProfileTest, RootAndThreadsStandAboveEverything) {
  Trace trace;
  trace.info_.rank = 3;
  trace.Slice(1, "cpu_op", "a", 0, 100);
  trace.Slice(1, "cpu_op", "b", 100, 150);
  trace.Slice(2, "cpu_op", "b", 0, 30);
  trace.ThreadName(2, "autograd");
  EXPECT_THAT(
      WholeLines(trace, Options()),
      ElementsAre("<rank 3> > <thread 1>: 1 own 0 cum 150", "<rank 3> > <thread 2 autograd>: 1 own 0 cum 30",
                  "<rank 3>: 1 own 0 cum 180", "<thread 1> > a: 1 own 100 cum 100", "<thread 1> > b: 1 own 50 cum 50",
                  "<thread 1>: 1 own 0 cum 150", "<thread 2 autograd> > b: 1 own 30 cum 30",
                  "<thread 2 autograd>: 1 own 0 cum 30", "a: 1 own 100 cum 100", "b: 2 own 80 cum 80"));
}

TEST(TimelineProfileTest, RecursionCountsCumulativeTimeOnce) {
  Trace trace;
  trace.Slice(1, "python_function", "a.py(1): f", 0, 100);
  trace.Slice(1, "python_function", "a.py(1): f", 10, 90);
  trace.Slice(1, "python_function", "a.py(1): f", 20, 30);
  EXPECT_THAT(WholeLines(trace, WithoutRoot()),
              ElementsAre("a.py:1(f) > a.py:1(f): 2/1 own 80 cum 80", "a.py:1(f): 3/1 own 100 cum 100"));
}

TEST(TimelineProfileTest, FileOrderAndBatchesDontMatter) {
  Trace trace;
  trace.Slice(1, "cuda_runtime", "cudaLaunchKernel", 20, 25, 5);
  trace.EndBatch();
  trace.Slice(1, "cpu_op", "aten::mm", 10, 40);
  trace.EndBatch();
  trace.Slice(1, "python_function", "a.py(3): f", 0, 100);
  EXPECT_THAT(WholeLines(trace, WithoutRoot()),
              ElementsAre("a.py:3(f) > aten::mm: 1 own 25 cum 30", "a.py:3(f): 1 own 70 cum 100",
                          "aten::mm > cudaLaunchKernel: 1 own 5 cum 5", "aten::mm: 1 own 25 cum 30",
                          "cudaLaunchKernel: 1 own 5 cum 5"));
}

TEST(TimelineProfileTest, EqualIntervalsNestByWhatTheyAre) {
  Trace trace;
  trace.Slice(1, "cuda_runtime", "call", 0, 10);
  trace.Slice(1, "cpu_op", "op", 0, 10);
  trace.Slice(1, "user_annotation", "note", 0, 10);
  trace.Slice(1, "python_function", "frame", 0, 10);
  EXPECT_THAT(WholeLines(trace, WithoutRoot()),
              ElementsAre("call: 1 own 10 cum 10", "frame > note: 1 own 0 cum 10", "frame: 1 own 0 cum 10",
                          "note > op: 1 own 0 cum 10", "note: 1 own 0 cum 10", "op > call: 1 own 10 cum 10",
                          "op: 1 own 0 cum 10"));
}

TEST(TimelineProfileTest, ChildThatEndsBehindItsParentByJitterIsAChild) {
  Trace trace;
  trace.Slice(1, "cpu_op", "parent", 0, 100'000);
  trace.Slice(1, "cpu_op", "child", 50'000, 100'001);
  EXPECT_THAT(WholeLines(trace, WithoutRoot()),
              ElementsAre("child: 1 own 50001 cum 50001", "parent > child: 1 own 50001 cum 50001",
                          "parent: 1 own 50000 cum 100000"));
}

TEST(TimelineProfileTest, OverlapWithoutNestingMakesNeighbours) {
  Trace trace;
  trace.Slice(1, "cpu_op", "around", 0, 100'000);
  trace.Slice(1, "cpu_op", "a", 10'000, 50'000);
  trace.Slice(1, "cpu_op", "b", 40'000, 80'000);
  EXPECT_THAT(
      WholeLines(trace, WithoutRoot()),
      ElementsAre("a: 1 own 40000 cum 40000", "around > a: 1 own 40000 cum 40000", "around > b: 1 own 40000 cum 40000",
                  "around: 1 own 30000 cum 100000", "b: 1 own 40000 cum 40000"));
}

TEST(TimelineProfileTest, UnfinishedAndNegativeSlicesAreLeftOutAndCounted) {
  Trace trace;
  trace.Slice(1, "cpu_op", "a", 0, 10);
  trace.SliceWithDuration(1, "cpu_op", "b", 2, kUnfinished);
  trace.SliceWithDuration(1, "cpu_op", "c", 3, -7);
  trace.Slice(1, "Trace", "PyTorch Profiler (0)", 0, 1000);
  TimelineProfiler profiler{WithoutRoot()};
  ASSERT_TRUE(profiler.Read(trace).ok());
  EXPECT_THAT(Lines(profiler.Whole()), ElementsAre("a: 1 own 10 cum 10"));
  EXPECT_THAT(profiler.Notes(),
              ElementsAre("1 slices that never ended are in no row", "1 slices of negative duration are in no row"));
}

void AddLaunches(Trace* trace) {
  trace->Slice(1, "python_function", "a.py(3): f", 0, 100);
  trace->Slice(1, "cpu_op", "aten::mm", 10, 40);
  trace->Slice(1, "cuda_runtime", "cudaLaunchKernel", 20, 25, 5);
  trace->Slice(1, "cuda_runtime", "cudaGraphLaunch", 50, 55, 6);
  trace->Kernel("gemm", 200, 300, 5);
  trace->Kernel("k1", 300, 310, 6);
  trace->Kernel("k2", 310, 330, 6);
  trace->Kernel("k1", 330, 340, 6);
}

TEST(TimelineProfileTest, DeviceWorkIsCalledByTheOperatorAroundItsLaunch) {
  Trace trace;
  AddLaunches(&trace);
  EXPECT_THAT(WholeLines(trace, WithoutRoot()),
              ElementsAre("<gpu gemm>: 1 own 100 cum 100", "<gpu k1>: 2 own 20 cum 20", "<gpu k2>: 1 own 20 cum 20",
                          "a.py:3(f) > <gpu k1>: 2 own 20 cum 20", "a.py:3(f) > <gpu k2>: 1 own 20 cum 20",
                          "a.py:3(f) > aten::mm: 1 own 25 cum 30", "a.py:3(f) > cudaGraphLaunch: 1 own 5 cum 5",
                          "a.py:3(f): 1 own 65 cum 100", "aten::mm > <gpu gemm>: 1 own 100 cum 100",
                          "aten::mm > cudaLaunchKernel: 1 own 5 cum 5", "aten::mm: 1 own 25 cum 30",
                          "cudaGraphLaunch: 1 own 5 cum 5", "cudaLaunchKernel: 1 own 5 cum 5"));
}

TEST(TimelineProfileTest, GpuOnlyCountsDeviceTimeAlongTheCalls) {
  Trace trace;
  AddLaunches(&trace);
  trace.Slice(1, "cpu_op", "launches nothing", 60, 70);
  Options options = WithoutRoot();
  options.gpu = Options::Gpu::kOnly;
  EXPECT_THAT(WholeLines(trace, options),
              ElementsAre("<gpu gemm>: 1 own 100 cum 100", "<gpu k1>: 2 own 20 cum 20", "<gpu k2>: 1 own 20 cum 20",
                          "a.py:3(f) > <gpu k1>: 2 own 20 cum 20", "a.py:3(f) > <gpu k2>: 1 own 20 cum 20",
                          "a.py:3(f) > aten::mm: 1 own 0 cum 100", "a.py:3(f): 1 own 0 cum 140",
                          "aten::mm > <gpu gemm>: 1 own 100 cum 100", "aten::mm: 1 own 0 cum 100"));
}

TEST(TimelineProfileTest, GpuOffAndFramesChooseRows) {
  Options options = WithoutRoot();
  options.gpu = Options::Gpu::kOff;
  options.frames = Options::Frames::kOps;
  Trace ops;
  AddLaunches(&ops);
  EXPECT_THAT(WholeLines(ops, options),
              ElementsAre("aten::mm > cudaLaunchKernel: 1 own 5 cum 5", "aten::mm: 1 own 25 cum 30",
                          "cudaGraphLaunch: 1 own 5 cum 5", "cudaLaunchKernel: 1 own 5 cum 5"));
  options.frames = Options::Frames::kPython;
  options.gpu = Options::Gpu::kRows;
  Trace python;
  AddLaunches(&python);
  EXPECT_THAT(WholeLines(python, options),
              ElementsAre("<gpu gemm>: 1 own 100 cum 100", "<gpu k1>: 2 own 20 cum 20", "<gpu k2>: 1 own 20 cum 20",
                          "a.py:3(f) > <gpu gemm>: 1 own 100 cum 100", "a.py:3(f) > <gpu k1>: 2 own 20 cum 20",
                          "a.py:3(f) > <gpu k2>: 1 own 20 cum 20", "a.py:3(f): 1 own 100 cum 100"));
}

TEST(TimelineProfileTest, WorkWithoutLaunchIsNotLost) {
  Trace trace;
  trace.Slice(1, "cpu_op", "op", 0, 10);
  trace.Kernel("k", 20, 50, 99);
  trace.Kernel("k", 50, 60, 0);
  TimelineProfiler profiler{Options()};
  ASSERT_TRUE(profiler.Read(trace).ok());
  EXPECT_THAT(Lines(profiler.Whole()),
              ElementsAre("<gpu k>: 2 own 40 cum 40", "<gpu work without launch> > <gpu k>: 2 own 40 cum 40",
                          "<gpu work without launch>: 1 own 0 cum 40", "<thread 1> > op: 1 own 10 cum 10",
                          "<thread 1>: 1 own 0 cum 10", "<trace> > <gpu work without launch>: 1 own 0 cum 40",
                          "<trace> > <thread 1>: 1 own 0 cum 10", "<trace>: 1 own 0 cum 50", "op: 1 own 10 cum 10"));
  EXPECT_THAT(profiler.Notes(), ElementsAre("2 of 2 kernels and copies have no launch in the trace"));
}

TEST(TimelineProfileTest, ExternalIdsLinkWhereThereAreNoRuntimeCalls) {
  Trace trace;
  trace.Slice(1, "cpu_op", "op", 0, 10, 0, 77);
  trace.Kernel("k", 20, 50, 99, 77);
  EXPECT_THAT(WholeLines(trace, WithoutRoot()),
              ElementsAre("<gpu k>: 1 own 30 cum 30", "op > <gpu k>: 1 own 30 cum 30", "op: 1 own 10 cum 10"));
}

TEST(TimelineProfileTest, SharedCorrelationGoesByExternalIdThenByTimeWithinAProcess) {
  Trace trace;
  trace.Slice(1, "cpu_op", "a", 0, 10, 0, 0, /*pid=*/1);
  trace.Slice(1, "cuda_runtime", "launch", 1, 2, 5, 70, 1);
  trace.Slice(1, "cpu_op", "b", 0, 10, 0, 0, /*pid=*/2);
  trace.Slice(1, "cuda_runtime", "launch", 1, 2, 5, 80, 2);
  trace.Kernel("known", 20, 50, 5, 80);
  trace.Kernel("unknown", 20, 50, 5);
  trace.Slice(3, "cpu_op", "c", 0, 10);
  trace.Slice(3, "cuda_runtime", "launch", 1, 2, 6);
  trace.Slice(3, "cpu_op", "d", 20, 30);
  trace.Slice(3, "cuda_runtime", "launch", 21, 22, 6);
  trace.Kernel("first", 15, 18, 6);
  trace.Kernel("second", 25, 28, 6);
  const std::vector<std::string> lines = WholeLines(trace, WithoutRoot());
  std::set<std::string> edges;
  for (const std::string& line : lines) {
    if (line.find("> <gpu") != std::string::npos) edges.insert(line.substr(0, line.find(':')));
  }
  EXPECT_THAT(edges, UnorderedElementsAre("b > <gpu known>", "<gpu work without launch> > <gpu unknown>",
                                          "c > <gpu first>", "d > <gpu second>"));
}

TEST(TimelineProfileTest, PathsKeepContextsApart) {
  Trace trace;
  trace.Slice(1, "python_function", "x.py(1): a_caller", 0, 100);
  trace.Slice(1, "python_function", "x.py(9): dispatch", 10, 90);
  trace.Slice(1, "python_function", "x.py(5): a", 20, 80);
  trace.Slice(1, "python_function", "x.py(2): b_caller", 100, 200);
  trace.Slice(1, "python_function", "x.py(9): dispatch", 110, 190);
  trace.Slice(1, "python_function", "x.py(6): b", 120, 180);
  Options options = WithoutRoot();
  options.has_paths = true;
  EXPECT_THAT(WholeLines(trace, options),
              ElementsAre("x.py:1(a_caller) > x.py:9(dispatch): 1 own 20 cum 80", "x.py:1(a_caller): 1 own 20 cum 100",
                          "x.py:2(b_caller) > x.py:9(dispatch @b_caller): 1 own 20 cum 80",
                          "x.py:2(b_caller): 1 own 20 cum 100", "x.py:5(a): 1 own 60 cum 60",
                          "x.py:6(b): 1 own 60 cum 60", "x.py:9(dispatch @b_caller) > x.py:6(b): 1 own 60 cum 60",
                          "x.py:9(dispatch @b_caller): 1 own 20 cum 80",
                          "x.py:9(dispatch) > x.py:5(a): 1 own 60 cum 60", "x.py:9(dispatch): 1 own 20 cum 80"));
}

TEST(TimelineProfileTest, DeeperCallsBelongToTheirCallersBeyondMaxDepth) {
  Trace trace;
  for (int i = 0; i < 10; ++i) trace.Slice(1, "cpu_op", absl::StrCat("f", i), i, 100 - i);
  Options options = WithoutRoot();
  options.max_depth = 3;
  EXPECT_THAT(WholeLines(trace, options),
              ElementsAre("f0 > f1: 1 own 2 cum 98", "f0: 1 own 2 cum 100", "f1 > f2: 1 own 96 cum 96",
                          "f1: 1 own 2 cum 98", "f2: 1 own 96 cum 96"));
}

TEST(TimelineProfileTest, StackOf3000FramesIsFine) {
  Trace trace;
  for (int i = 0; i < 3000; ++i) trace.Slice(1, "python_function", "r.py(1): f", i, 10000 - i);
  EXPECT_THAT(WholeLines(trace, WithoutRoot()),
              ElementsAre("r.py:1(f) > r.py:1(f): 2999/1 own 9998 cum 9998", "r.py:1(f): 3000/1 own 10000 cum 10000"));
}

TEST(TimelineProfileTest, WindowCutsWhatOverlapsIt) {
  Trace trace;
  AddLaunches(&trace);
  Options options = WithoutRoot();
  options.window_begin_ns = 22;
  options.window_end_ns = 52;
  // cudaLaunchKernel began before the window, so its kernel is not in it; cudaGraphLaunch's are.
  EXPECT_THAT(
      WholeLines(trace, options),
      ElementsAre("<gpu k1>: 2 own 20 cum 20", "<gpu k2>: 1 own 20 cum 20", "a.py:3(f) > <gpu k1>: 2 own 20 cum 20",
                  "a.py:3(f) > <gpu k2>: 1 own 20 cum 20", "a.py:3(f) > aten::mm: 1 own 15 cum 18",
                  "a.py:3(f) > cudaGraphLaunch: 1 own 2 cum 2", "a.py:3(f): 1 own 10 cum 30",
                  "aten::mm > cudaLaunchKernel: 1 own 3 cum 3", "aten::mm: 1 own 15 cum 18",
                  "cudaGraphLaunch: 1 own 2 cum 2", "cudaLaunchKernel: 1 own 3 cum 3"));
}

TEST(TimelineProfileTest, StepIsAWindowThatEndsWhereTheNextBegins) {
  Trace trace;
  trace.Slice(1, "user_annotation", "ProfilerStep#5", 0, 53);
  trace.Slice(1, "user_annotation", "ProfilerStep#6", 50, 100);
  trace.Slice(2, "user_annotation", "ProfilerStep#6", 60, 70);
  trace.Slice(3, "cpu_op", "backward", 40, 60);
  Options options = WithoutRoot();
  options.step = 5;
  EXPECT_THAT(WholeLines(trace, options), ElementsAre("ProfilerStep#5: 1 own 50 cum 50", "backward: 1 own 10 cum 10"));
  options.step = 6;
  Trace again;
  again.Slice(1, "user_annotation", "ProfilerStep#5", 0, 53);
  again.Slice(1, "user_annotation", "ProfilerStep#6", 50, 100);
  again.Slice(3, "cpu_op", "backward", 40, 60);
  EXPECT_THAT(WholeLines(again, options), ElementsAre("ProfilerStep#5: 1 own 3 cum 3",
                                                      "ProfilerStep#6: 1 own 50 cum 50", "backward: 1 own 10 cum 10"));
}

TEST(TimelineProfileTest, StepThatIsNotThereIsAnErrorThatSaysWhichAre) {
  Trace trace;
  trace.Slice(1, "user_annotation", "ProfilerStep#5", 0, 53);
  Options options;
  options.step = 7;
  TimelineProfiler profiler(options);
  const absl::Status status = profiler.Read(trace);
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("no ProfilerStep#7; there are 5 to 5"));
}

std::map<std::string, std::vector<std::string>> Actions(Trace& trace, const Options& options) {
  TimelineProfiler profiler(options);
  EXPECT_TRUE(profiler.Read(trace).ok());
  std::map<std::string, std::vector<std::string>> actions;
  const absl::Status status = profiler.ForEachAction([&](NamedProfile made) {
    std::vector<std::string> lines = Lines(made.profile);
    lines.push_back(absl::StrCat(made.call_count, " calls, ", made.duration_ns, " ns"));
    actions[made.name] = std::move(lines);
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
  return actions;
}

TEST(TimelineProfileTest, OuterActionHasAllThoughInnerOnesRun) {
  Trace trace;
  trace.Slice(1, "user_annotation", "[pl][profile]run_training_epoch", 0, 1000);
  trace.Slice(1, "user_annotation", "[pl][profile][Strategy]DDPStrategy.backward", 100, 300);
  trace.Slice(1, "cpu_op", "op", 150, 200);
  trace.Slice(1, "user_annotation", "[pl][profile][Strategy]DDPStrategy.backward", 400, 500);
  trace.Slice(1, "cpu_op", "outside", 2000, 2100);
  const auto actions = Actions(trace, Options());
  ASSERT_EQ(actions.size(), 2u);
  EXPECT_THAT(
      actions.at("run_training_epoch"),
      ElementsAre("[pl][profile][Strategy]DDPStrategy.backward > op: 1 own 50 cum 50",
                  "[pl][profile][Strategy]DDPStrategy.backward: 2 own 250 cum 300",
                  "[pl][profile]run_training_epoch > [pl][profile][Strategy]DDPStrategy.backward: 2 own 250 cum 300",
                  "[pl][profile]run_training_epoch: 1 own 700 cum 1000", "op: 1 own 50 cum 50", "1 calls, 1000 ns"));
  EXPECT_THAT(actions.at("[Strategy]DDPStrategy.backward"),
              ElementsAre("[pl][profile][Strategy]DDPStrategy.backward > op: 1 own 50 cum 50",
                          "[pl][profile][Strategy]DDPStrategy.backward: 2 own 250 cum 300", "op: 1 own 50 cum 50",
                          "2 calls, 300 ns"));
}

TEST(TimelineProfileTest, ActionHasWhatOtherThreadsDoMeanwhile) {
  Trace trace;
  trace.Slice(1, "user_annotation", "step", 0, 100);
  trace.Slice(2, "cpu_op", "long", 50, 500);
  trace.Slice(2, "cpu_op", "inner", 60, 70);
  trace.Slice(2, "cuda_runtime", "cudaLaunchKernel", 62, 64, 5);
  trace.Kernel("k", 80, 90, 5);
  Options options;
  EXPECT_THAT(Actions(trace, options).at("step"),
              ElementsAre("<gpu k>: 1 own 10 cum 10", "<thread 2> > long: 1 own 40 cum 50",
                          "<thread 2>: 1 own 0 cum 50", "cudaLaunchKernel: 1 own 2 cum 2",
                          "inner > <gpu k>: 1 own 10 cum 10", "inner > cudaLaunchKernel: 1 own 2 cum 2",
                          "inner: 1 own 8 cum 10", "long > inner: 1 own 8 cum 10", "long: 1 own 40 cum 50",
                          "step > <thread 2>: 1 own 0 cum 50", "step: 1 own 100 cum 100", "1 calls, 100 ns"));
  options.has_other_threads = false;
  Trace again;
  again.Slice(1, "user_annotation", "step", 0, 100);
  again.Slice(2, "cpu_op", "long", 50, 500);
  EXPECT_THAT(Actions(again, options).at("step"), ElementsAre("step: 1 own 100 cum 100", "1 calls, 100 ns"));
}

TEST(TimelineProfileTest, ActionsAreChosenByPattern) {
  Trace trace;
  trace.Slice(1, "user_annotation", "a.forward", 0, 100);
  trace.Slice(1, "user_annotation", "b.forward", 100, 200);
  Options options;
  options.actions = "^b";
  EXPECT_EQ(Actions(trace, options).size(), 1u);
  options.actions = "zzz";
  Trace again;
  again.Slice(1, "user_annotation", "a.forward", 0, 100);
  TimelineProfiler profiler(options);
  ASSERT_TRUE(profiler.Read(again).ok());
  const absl::Status status = profiler.ForEachAction([](NamedProfile) { return absl::OkStatus(); });
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("a.forward"));
  options.actions = "(";
  TimelineProfiler bad(options);
  EXPECT_TRUE(absl::IsInvalidArgument(bad.Read(again)));
}

TEST(TimelineProfileTest, ThreadsApartAddUpToAllTogether) {
  Trace trace;
  trace.Slice(1, "cpu_op", "a", 0, 100);
  trace.Slice(2, "cpu_op", "a", 0, 30);
  TimelineProfiler profiler{WithoutRoot()};
  ASSERT_TRUE(profiler.Read(trace).ok());
  std::vector<std::string> names;
  Profile sum;
  ASSERT_TRUE(profiler
                  .ForEachThread([&](NamedProfile made) {
                    names.push_back(made.name);
                    sum.Merge(made.profile);
                    return absl::OkStatus();
                  })
                  .ok());
  EXPECT_THAT(names, ElementsAre("thread 1", "thread 2"));
  EXPECT_EQ(Lines(sum), Lines(profiler.Whole()));
}

// The slow oracle: for each slice its parent by looking at all others, self time by marking every nanosecond.
struct PlainSlice {
  int64_t start, end;
  std::string name;
};

std::vector<std::string> PlainLines(std::vector<PlainSlice> slices) {
  std::stable_sort(slices.begin(), slices.end(), [](const PlainSlice& a, const PlainSlice& b) {
    return a.start != b.start ? a.start < b.start : a.end > b.end;
  });
  const size_t n = slices.size();
  std::vector<int> parent(n, -1);
  for (size_t i = 0; i < n; ++i) {
    // The last slice before it that holds it (all are nested here).
    for (size_t j = i; j-- > 0;) {
      if (slices[j].start <= slices[i].start && slices[i].end <= slices[j].end && slices[i].start < slices[j].end) {
        parent[i] = static_cast<int>(j);
        break;
      }
    }
  }
  std::map<std::string, CallStats> rows;
  std::map<std::pair<std::string, std::string>, CallStats> edges;
  for (size_t i = 0; i < n; ++i) {
    std::vector<bool> is_own(static_cast<size_t>(slices[i].end - slices[i].start), true);
    for (size_t c = 0; c < n; ++c) {
      if (parent[c] != static_cast<int>(i)) continue;
      for (int64_t t = slices[c].start; t < slices[c].end; ++t)
        is_own[static_cast<size_t>(t - slices[i].start)] = false;
    }
    const int64_t own = std::count(is_own.begin(), is_own.end(), true);
    const int64_t inclusive = slices[i].end - slices[i].start;
    bool is_primitive = true;
    bool is_edge_primitive = true;
    for (int a = parent[i]; a >= 0; a = parent[a]) {
      if (slices[a].name != slices[i].name) continue;
      is_primitive = false;
      if (parent[a] >= 0 && slices[parent[a]].name == slices[parent[i]].name) is_edge_primitive = false;
    }
    rows[slices[i].name].Add({1, is_primitive, own, is_primitive ? inclusive : 0});
    if (parent[i] >= 0) {
      edges[{slices[parent[i]].name, slices[i].name}].Add(
          {1, is_edge_primitive, own, is_edge_primitive ? inclusive : 0});
    }
  }
  std::vector<std::string> lines;
  for (const auto& [name, stats] : rows) lines.push_back(absl::StrCat(name, ": ", StatsText(stats)));
  for (const auto& [key, stats] : edges) {
    lines.push_back(absl::StrCat(key.first, " > ", key.second, ": ", StatsText(stats)));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

void MakeNested(std::mt19937* random, int64_t begin, int64_t end, int depth, std::vector<PlainSlice>* out) {
  int64_t at = begin;
  while (at < end && depth < 6) {
    at += static_cast<int64_t>((*random)() % 8);
    const int64_t stop = std::min<int64_t>(end, at + 1 + static_cast<int64_t>((*random)() % 60));
    if (at >= stop) return;
    out->push_back({at, stop, std::string(1, static_cast<char>('a' + (*random)() % 5))});
    if ((*random)() % 3 != 0) MakeNested(random, at, stop, depth + 1, out);
    at = stop;
  }
}

TEST(TimelineProfileTest, AgreesWithThePlainOracleOnRandomThreads) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    std::vector<PlainSlice> slices;
    MakeNested(&random, 0, 400, 0, &slices);
    // Shuffled, but equal intervals stay in order: which is the outer one follows from the file.
    std::vector<PlainSlice> shuffled = slices;
    if (seed % 2 == 0) {
      std::stable_sort(shuffled.begin(), shuffled.end(), [](const PlainSlice& a, const PlainSlice& b) {
        return (a.start * 7919 + a.end * 104729) % 1009 < (b.start * 7919 + b.end * 104729) % 1009;
      });
    }
    Trace trace;
    for (const PlainSlice& s : shuffled) {
      trace.Slice(1, "cpu_op", s.name, s.start, s.end);
      if (random() % 50 == 0) trace.EndBatch();
    }
    ASSERT_EQ(WholeLines(trace, WithoutRoot()), PlainLines(slices)) << "seed " << seed;
  }
}

// Enough slices for the radix sort, in a random order.
TEST(TimelineProfileTest, SortsLargeThreads) {
  std::mt19937 random(1);
  std::vector<int64_t> starts;
  for (int64_t i = 0; i < 5000; ++i) starts.push_back(i * 1'000'003);
  std::shuffle(starts.begin(), starts.end(), random);
  Trace trace;
  for (int64_t start : starts) {
    trace.Slice(1, "cpu_op", "inner", start + 10, start + 30);
    trace.Slice(1, "cpu_op", "outer", start, start + 100);
  }
  trace.EndBatch();
  EXPECT_THAT(WholeLines(trace, WithoutRoot()),
              ElementsAre("inner: 5000 own 100000 cum 100000", "outer > inner: 5000 own 100000 cum 100000",
                          "outer: 5000 own 400000 cum 500000"));
}

}  // namespace
}  // namespace tracekiln::pstats
