#include "analysis/health/health.h"

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "formats/intermediate/field_catalog.h"
#include "gtest/gtest.h"

namespace tracekiln::health {
namespace {

// Rows by hand. Times in ns unless the name says otherwise.
class Trace {
 public:
  struct Track {
    int64_t pid;
    int64_t tid;
  };

  EventRow Row(EventKind kind, const char* category, const char* name, Track track, int64_t ts_ns, int64_t dur_ns) {
    EventRow row;
    row.kind = kind;
    row.ts_ns = ts_ns;
    row.dur_ns = dur_ns;
    row.track = batch_.InternTrack({TrackPart::Int(track.pid), TrackPart::Int(track.tid)});
    row.name = batch_.strings.Intern(name);
    if (*category != '\0') {
      EXPECT_TRUE(batch_.InternCategory(batch_.strings.Intern(category), &row.category));
    }
    return row;
  }

  void Slice(const char* category, const char* name, Track track, int64_t ts_ns, int64_t dur_ns,
             int64_t correlation = 0, uint8_t flags = 0) {
    EventRow row = Row(EventKind::kSlice, category, name, track, ts_ns, dur_ns);
    row.correlation = correlation;
    row.flags = flags;
    batch_.Append(row, ArgTable::kNoArgs, nullptr);
  }
  void SliceUs(const char* category, const char* name, Track track, double ts_us, double dur_us,
               int64_t correlation = 0) {
    Slice(category, name, track, static_cast<int64_t>(ts_us * 1000 + 0.5), static_cast<int64_t>(dur_us * 1000 + 0.5),
          correlation);
  }

  void SliceWithExternalId(const char* category, const char* name, Track track, int64_t ts_us, int64_t dur_us,
                           int64_t correlation, int64_t external_id) {
    EventRow row = Row(EventKind::kSlice, category, name, track, ts_us * 1000, dur_us * 1000);
    row.correlation = correlation;
    const ArgField field{batch_.strings.Intern(fields::kExternalId), ArgType::kInt, ArgPlace::kArgs};
    ShapeId shape;
    ASSERT_TRUE(batch_.args.InternShape({&field, 1}, true, &shape));
    const ArgValue value = ArgValue::Int(external_id);
    batch_.Append(row, shape, &value);
  }

  void Flow(EventKind kind, const char* category, const char* name, int64_t ts_ns, int64_t id, bool id_as_text) {
    const EventRow row = Row(kind, category, name, {10, 10}, ts_ns, 0);
    const ArgField field{batch_.strings.Intern("id"), id_as_text ? ArgType::kString : ArgType::kInt, ArgPlace::kEvent};
    ShapeId shape;
    ASSERT_TRUE(batch_.args.InternShape({&field, 1}, false, &shape));
    const ArgValue value = id_as_text ? ArgValue::String(batch_.strings.Intern(std::to_string(id))) : ArgValue::Int(id);
    batch_.Append(row, shape, &value);
  }

  // Ends a batch: what follows goes to another one with its own ids.
  void EndBatch() {
    ASSERT_TRUE(analyzer_.Add(batch_).ok());
    batch_ = EventBatch();
  }

  HealthReport Check(const TraceInfo& info = {}) {
    EXPECT_TRUE(analyzer_.Add(batch_).ok());
    return std::move(analyzer_).Finish(info);
  }

 private:
  EventBatch batch_;
  HealthAnalyzer analyzer_;
};

constexpr Trace::Track kMain{10, 10};
constexpr Trace::Track kStream7{0, 7};
constexpr int64_t kSecond = 1'000'000'000;

uint64_t CountOf(const HealthReport& report, const char* code) {
  const Finding* finding = report.Find(code);
  return finding == nullptr ? 0 : finding->count;
}

TEST(Health, SaysThatATraceIsEmpty) {
  const HealthReport report = Trace().Check();
  EXPECT_EQ(CountOf(report, "no_events"), 1u);
  EXPECT_EQ(report.warning_count(), 0u);
  EXPECT_EQ(report.findings.size(), 1u);
  EXPECT_TRUE(report.devices.empty());
}

TEST(Health, CleanTraceHasNoWarnings) {
  TraceInfo info;
  info.rank = 0;
  Trace trace;
  trace.SliceUs("user_annotation", "ProfilerStep#1", kMain, 0, 50);
  trace.SliceUs("user_annotation", "ProfilerStep#2", kMain, 50, 50);
  trace.SliceUs("cuda_runtime", "cudaLaunchKernel", kMain, 10, 5, 9);
  trace.SliceUs("kernel", "gemm", kStream7, 20, 10, 9);
  const HealthReport report = trace.Check(info);
  EXPECT_TRUE(report.findings.empty()) << report.findings[0].code;
  EXPECT_EQ(report.step_count, 2u);
  EXPECT_EQ(report.slice_count, 4u);
}

TEST(Health, PassesOnWhatTheImporterReported) {
  TraceInfo info;
  info.report.seen = 5;
  info.report.imported = 2;
  info.report.merged = 1;
  info.report.Skip("no_phase", 17);
  info.report.Repair("invalid_utf8", 191, "replaced by U+FFFD");
  info.report.Note("unmatched_end", 250);
  info.report.salvaged = true;
  const HealthReport report = Trace().Check(info);  // 2 + 1 + 1 = 4, not 5
  EXPECT_EQ(CountOf(report, "report_unbalanced"), 1u);
  EXPECT_EQ(CountOf(report, "salvaged"), 1u);
  ASSERT_NE(report.Find("skipped.no_phase"), nullptr);
  EXPECT_EQ(report.Find("skipped.no_phase")->severity, Severity::kWarning);
  EXPECT_EQ(report.Find("repaired.invalid_utf8")->first[0].byte_offset, 191u);
  EXPECT_EQ(report.Find("repaired.invalid_utf8")->text, "replaced by U+FFFD");
  EXPECT_EQ(report.Find("noted.unmatched_end")->severity, Severity::kNote);
  EXPECT_EQ(report.findings[0].severity, Severity::kWarning);
}

TEST(Health, CountsDurationsThatCannotBe) {
  Trace trace;
  trace.Slice("cpu_op", "negative", kMain, 100, -5);
  trace.Slice("cpu_op", "more negative", kMain, 200, -700);
  trace.Slice("cpu_op", "open", kMain, 300, kUnfinished);
  trace.Slice("cpu_op", "eleven days", kMain, 400, 11 * 24 * 3600 * kSecond);
  trace.Slice("cpu_op", "overflow", kMain, 500, INT64_MAX);
  trace.Slice("cpu_op", "far", kMain, INT64_MAX, 1);
  trace.Slice("cpu_op", "farther", kMain, INT64_MIN, 1);
  trace.Slice("cpu_op", "early", kMain, -9, 1);
  const HealthReport report = trace.Check();
  EXPECT_EQ(CountOf(report, "negative_duration"), 2u);
  EXPECT_EQ(report.Find("negative_duration")->worst, -700);
  EXPECT_EQ(report.Find("negative_duration")->first[1].row, 1u);
  EXPECT_EQ(report.Find("negative_duration")->first[1].name, "more negative");
  EXPECT_EQ(report.Find("negative_duration")->first[1].track, "10/10");
  EXPECT_EQ(CountOf(report, "unfinished_slice"), 1u);
  EXPECT_EQ(CountOf(report, "impossible_duration"), 2u);
  EXPECT_EQ(report.Find("impossible_duration")->worst, INT64_MAX);
  EXPECT_EQ(CountOf(report, "impossible_timestamp"), 2u);
  EXPECT_EQ(CountOf(report, "negative_timestamp"), 1u);
  EXPECT_EQ(CountOf(report, "not_nested"), 0u);
}

TEST(Health, PutsNestingDifferencesUpToOneMicrosecondAmongTheNotes) {
  Trace trace;
  trace.Slice("python_function", "outer", kMain, 1000001, 99999);  // ends at 1100000
  trace.Slice("python_function", "inner", kMain, 1050002, 49999);  // ends at 1100001: 1 ns later
  trace.Slice("python_function", "a", kMain, 2000000, 10000);      // ends at 2010000
  trace.Slice("python_function", "b", kMain, 2005000, 10000);      // 5000 in, 5000 shared, 5000 out
  trace.Slice("python_function", "c", kMain, 3000000, 10000);
  trace.Slice("python_function", "d", kMain, 3009000, 9000);  // shares exactly 1000
  const HealthReport report = trace.Check();
  ASSERT_EQ(CountOf(report, "nearly_nested"), 2u);
  EXPECT_EQ(report.Find("nearly_nested")->worst, 1000);
  EXPECT_EQ(report.Find("nearly_nested")->severity, Severity::kNote);
  ASSERT_EQ(CountOf(report, "not_nested"), 1u);
  EXPECT_EQ(report.Find("not_nested")->worst, 5000);
  EXPECT_EQ(report.Find("not_nested")->first[0].name, "b");
  EXPECT_EQ(report.Find("not_nested")->first[0].row, 3u);
}

TEST(Health, ChecksNestingPerTrack) {
  Trace trace;
  trace.SliceUs("cpu_op", "a", {10, 10}, 0, 10);
  trace.SliceUs("cpu_op", "b", {10, 11}, 5, 10);
  trace.EndBatch();
  trace.SliceUs("cpu_op", "c", {11, 10}, 5, 10);  // another process, and track 0 of another batch
  EXPECT_EQ(CountOf(trace.Check(), "not_nested"), 0u);

  Trace split;
  split.SliceUs("cpu_op", "a", {10, 10}, 0, 10);
  split.EndBatch();
  split.SliceUs("cpu_op", "other", {99, 99}, 0, 1);
  split.SliceUs("cpu_op", "b", {10, 10}, 5, 10);  // the same track again, with another id
  EXPECT_EQ(CountOf(split.Check(), "not_nested"), 1u);
}

TEST(Health, OverlappingKernelsAreLegalAndUtilisationStaysBelowOne) {
  Trace trace;  // [0,10) [8,18) [18,23): union 23 of a span of 23, sum 25
  trace.SliceUs("kernel", "gemm_a", kStream7, 0, 10, 1);
  trace.SliceUs("kernel", "gemm_b", kStream7, 8, 10, 2);
  trace.SliceUs("kernel", "gemm_c", kStream7, 18, 5, 3);
  const HealthReport report = trace.Check();
  ASSERT_EQ(CountOf(report, "overlapping_kernels"), 1u);
  EXPECT_EQ(report.Find("overlapping_kernels")->severity, Severity::kNote);
  EXPECT_EQ(report.Find("overlapping_kernels")->worst, 2000);
  ASSERT_EQ(report.devices.size(), 1u);
  EXPECT_EQ(report.devices[0].device, "0");
  EXPECT_EQ(report.devices[0].work_count, 3u);
  EXPECT_EQ(report.devices[0].busy_ns, 23000);
  EXPECT_EQ(report.devices[0].sum_ns, 25000);
  EXPECT_EQ(report.devices[0].span_ns, 23000);
  EXPECT_EQ(report.devices[0].utilisation(), 1.0);
  EXPECT_EQ(CountOf(report, "no_launches"), 3u);
  EXPECT_EQ(report.warning_count(), 0u);
  EXPECT_EQ(CountOf(report, "not_nested"), 0u);
}

TEST(Health, BusyTimeIsTheUnionOverTheStreamsOfADevice) {
  Trace trace;  // device 0: [0,10) on 7, [5,15) on 9: 15; device 1 apart: [0,4)
  trace.SliceUs("kernel", "a", {0, 7}, 0, 10, 1);
  trace.SliceUs("gpu_memcpy", "b", {0, 9}, 5, 10, 2);
  trace.SliceUs("kernel", "c", {1, 7}, 0, 4, 3);
  const HealthReport report = trace.Check();
  ASSERT_EQ(report.devices.size(), 2u);
  EXPECT_EQ(report.devices[0].busy_ns, 15000);
  EXPECT_EQ(report.devices[1].busy_ns, 4000);
  EXPECT_EQ(CountOf(report, "overlapping_kernels"), 0u);
}

TEST(Health, KernelOfZeroDurationDividesByNothing) {
  Trace trace;
  trace.SliceUs("kernel", "a", kStream7, 5, 0, 1);
  const HealthReport report = trace.Check();
  EXPECT_EQ(report.devices[0].span_ns, 0);
  EXPECT_EQ(report.devices[0].utilisation(), 0.0);
}

TEST(Health, ReportsKernelsBeforeTheirLaunch) {
  Trace trace;  // 98.5 - 100 = -1.5; 118 - 110 = 8
  trace.SliceUs("cuda_driver", "cuLaunchKernelEx", kMain, 100, 4, 51);
  trace.SliceUs("kernel", "nccl", {0, 20}, 98.5, 12, 51);
  trace.SliceUs("cuda_runtime", "cudaLaunchKernel", kMain, 110, 5, 52);
  trace.SliceUs("kernel", "relu", kStream7, 118, 3, 52);
  const HealthReport report = trace.Check();
  ASSERT_EQ(CountOf(report, "kernel_before_launch"), 1u);
  EXPECT_EQ(report.Find("kernel_before_launch")->worst, -1500);
  EXPECT_EQ(report.Find("kernel_before_launch")->first[0].name, "nccl");
  EXPECT_EQ(report.launches.linked_work_count, 2u);
  EXPECT_EQ(report.launches.negative_delay_count, 1u);
  EXPECT_EQ(report.launches.delay_count, 1u);
  EXPECT_EQ(report.launches.mean_delay_ns, 8000);
}

TEST(Health, ReportsOrphansOfBothSides) {
  Trace trace;
  trace.SliceUs("kernel", "k0", kStream7, 0, 10, 901);
  trace.SliceUs("kernel", "k1", kStream7, 12, 10, 902);
  trace.SliceUs("cuda_runtime", "cudaLaunchKernel", kMain, 20, 2, 903);
  trace.SliceUs("kernel", "k2", kStream7, 25, 10, 903);  // 5 after its launch
  trace.SliceUs("cuda_runtime", "cudaLaunchKernel", kMain, 30, 2, 904);
  trace.SliceUs("kernel", "k3", kStream7, 36, 10, 904);  // 6 after: mean 5.5
  trace.SliceUs("cuda_runtime", "cudaLaunchKernel", kMain, 40, 2, 905);
  trace.SliceUs("cuda_runtime", "cudaDeviceSynchronize", kMain, 45, 2, 906);  // no launch
  trace.SliceUs("kernel", "k4", kStream7, 50, 1, 0);
  const HealthReport report = trace.Check();
  ASSERT_EQ(CountOf(report, "kernel_without_launch"), 2u);
  EXPECT_EQ(report.Find("kernel_without_launch")->severity, Severity::kWarning);
  EXPECT_EQ(report.Find("kernel_without_launch")->first[0].detail, "correlation 901");
  ASSERT_EQ(CountOf(report, "launch_without_kernel"), 1u);
  EXPECT_EQ(report.Find("launch_without_kernel")->first[0].detail, "correlation 905");
  EXPECT_EQ(CountOf(report, "kernel_without_correlation"), 1u);
  EXPECT_EQ(report.launches.mean_delay_ns, 5500);
  EXPECT_EQ(report.launches.delay_count, 2u);
  EXPECT_EQ(report.devices[0].busy_ns, 41000);
}

TEST(Health, GraphLaunchOwnsManyKernels) {
  Trace trace;  // delays 10, 20, 15, 30: only the first counts
  trace.SliceUs("cuda_runtime", "cudaGraphLaunch", kMain, 10, 4, 5);
  trace.SliceUs("kernel", "a", {0, 7}, 20, 10, 5);
  trace.SliceUs("kernel", "b", {0, 7}, 30, 10, 5);
  trace.SliceUs("kernel", "c", {0, 9}, 25, 6, 5);
  trace.SliceUs("kernel", "d", {0, 7}, 40, 10, 5);
  const HealthReport report = trace.Check();
  EXPECT_EQ(report.launches.linked_launch_count, 1u);
  EXPECT_EQ(report.launches.linked_work_count, 4u);
  EXPECT_EQ(report.launches.delay_count, 1u);
  EXPECT_EQ(report.launches.mean_delay_ns, 10000);
  EXPECT_EQ(report.warning_count(), 0u);
}

TEST(Health, RecognisesAMergedFileOfTwoRanks) {
  Trace trace;
  trace.SliceUs("cuda_runtime", "cudaLaunchKernel", {100, 100}, 10, 2, 7);
  trace.SliceUs("kernel", "gemm", {0, 7}, 15, 10, 7);
  trace.SliceUs("cuda_runtime", "cudaLaunchKernel", {200, 200}, 12, 2, 7);
  trace.SliceUs("kernel", "gemm", {1, 7}, 18, 12, 7);
  const HealthReport report = trace.Check();
  EXPECT_EQ(CountOf(report, "shared_correlation"), 1u);
  EXPECT_EQ(report.launches.linked_launch_count, 0u);  // no link is better than a wrong one
  EXPECT_FALSE(report.launches.mean_delay_ns.has_value());
}

TEST(Health, JoinsTheRanksOfAMergedFileByExternalId) {
  Trace trace;  // delays 5 and 6; the calls of external id 3 are of two processes, the kernel of 4 has no call
  trace.SliceWithExternalId("cuda_runtime", "cudaLaunchKernel", {100, 100}, 10, 2, 7, 1001);
  trace.SliceWithExternalId("kernel", "gemm", {0, 7}, 15, 10, 7, 1001);
  trace.SliceWithExternalId("cuda_runtime", "cudaLaunchKernel", {200, 200}, 12, 2, 7, 2001);
  trace.SliceWithExternalId("kernel", "gemm", {1, 7}, 18, 12, 7, 2001);
  trace.SliceWithExternalId("cuda_runtime", "cudaLaunchKernel", {100, 100}, 50, 2, 8, 3);
  trace.SliceWithExternalId("cuda_runtime", "cudaLaunchKernel", {200, 200}, 50, 2, 8, 3);
  trace.SliceWithExternalId("kernel", "gemm", {0, 7}, 60, 5, 8, 3);
  trace.SliceWithExternalId("kernel", "gemm", {0, 7}, 70, 5, 8, 4);
  const HealthReport report = trace.Check();
  EXPECT_EQ(CountOf(report, "shared_correlation"), 2u);
  EXPECT_EQ(report.launches.linked_launch_count, 2u);
  EXPECT_EQ(report.launches.linked_work_count, 2u);
  EXPECT_EQ(report.launches.mean_delay_ns, 5500);
}

TEST(Health, NotesDeviceWorkWithoutRank) {
  for (const bool has_rank : {false, true}) {
    for (const bool has_work : {false, true}) {
      Trace trace;
      trace.SliceUs("cpu_op", "aten::mm", kMain, 0, 5);
      if (has_work) trace.SliceUs("kernel", "gemm", {0, 7}, 15, 10, 7);
      TraceInfo info;
      if (has_rank) info.rank = 3;
      EXPECT_EQ(CountOf(trace.Check(info), "no_rank"), has_work && !has_rank ? 1u : 0u) << has_rank << has_work;
    }
  }
}

TEST(Health, ActivityIsWithoutBookkeeping) {
  Trace trace;
  trace.SliceUs("Trace", "PyTorch Profiler (0)", kMain, 0, 1000);
  EXPECT_FALSE(Trace().Check().first_activity_ns.has_value());
  trace.SliceUs("cpu_op", "aten::add", kMain, 100, 20);
  trace.SliceUs("kernel", "add", {0, 7}, 150, 10, 1);
  const HealthReport report = trace.Check();
  EXPECT_EQ(report.first_activity_ns, 100'000);
  EXPECT_EQ(report.last_activity_ns, 160'000);
}

// The definitions of the header over all pairs.
TEST(Health, LaunchesAgreeWithTheQuadraticJoin) {
  struct Event {
    bool is_launch;
    int64_t pid;
    int64_t ts_ns;
    int64_t correlation;
  };
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    std::vector<Event> events;
    for (int i = static_cast<int>(random() % 30); i > 0; --i) {
      const bool is_launch = random() % 2 == 0;
      events.push_back({is_launch, is_launch ? 100 + static_cast<int64_t>(random() % 2) : 0,
                        static_cast<int64_t>(random() % 1000), static_cast<int64_t>(random() % 12)});
    }
    Trace trace;
    for (const Event& e : events) {
      trace.Slice(e.is_launch ? "cuda_runtime" : "kernel", e.is_launch ? "cudaLaunchKernel" : "k",
                  e.is_launch ? Trace::Track{e.pid, 1} : kStream7, e.ts_ns, 1, e.correlation);
    }
    uint64_t orphan_kernels = 0, orphan_launches = 0, linked_work = 0, before_launch = 0, linked_launches = 0;
    uint64_t shared_correlations = 0, delays = 0, negative_delays = 0;
    int64_t delay_sum_ns = 0;
    bool has_calls = false;
    for (const Event& e : events) has_calls |= e.is_launch && e.correlation != 0;
    for (size_t i = 0; i < events.size(); ++i) {
      const Event& e = events[i];
      if (e.correlation == 0) continue;
      int64_t launch_ns = INT64_MAX, work_ns = INT64_MAX;
      bool is_shared = false, is_first_of_correlation = true;
      for (size_t j = 0; j < events.size(); ++j) {
        const Event& o = events[j];
        if (o.correlation != e.correlation) continue;
        (o.is_launch ? launch_ns : work_ns) = std::min(o.is_launch ? launch_ns : work_ns, o.ts_ns);
        if (j < i) is_first_of_correlation = false;
        for (const Event& other : events) {
          is_shared |= o.is_launch && other.is_launch && other.correlation == e.correlation && other.pid != o.pid;
        }
      }
      if (is_shared) {
        shared_correlations += is_first_of_correlation ? 1 : 0;
      } else if (launch_ns == INT64_MAX) {
        ++orphan_kernels;
      } else if (work_ns == INT64_MAX) {
        ++orphan_launches;
      } else {
        if (!e.is_launch) ++linked_work;
        if (!e.is_launch && e.ts_ns < launch_ns) ++before_launch;
        if (is_first_of_correlation) {
          ++linked_launches;
          (work_ns < launch_ns ? negative_delays : delays) += 1;
          delay_sum_ns += std::max<int64_t>(work_ns - launch_ns, 0);
        }
      }
    }
    const HealthReport report = trace.Check();
    ASSERT_EQ(CountOf(report, has_calls ? "kernel_without_launch" : "no_launches"), orphan_kernels);
    ASSERT_EQ(CountOf(report, "launch_without_kernel"), orphan_launches);
    ASSERT_EQ(CountOf(report, "kernel_before_launch"), before_launch);
    ASSERT_EQ(CountOf(report, "shared_correlation"), shared_correlations);
    ASSERT_EQ(report.launches.linked_work_count, linked_work);
    ASSERT_EQ(report.launches.linked_launch_count, linked_launches);
    ASSERT_EQ(report.launches.delay_count, delays);
    ASSERT_EQ(report.launches.negative_delay_count, negative_delays);
    ASSERT_EQ(report.launches.mean_delay_ns.value_or(-1),
              delays == 0 ? -1 : delay_sum_ns / static_cast<int64_t>(delays));
  }
}

TEST(Health, ZeroTimestampCountsOnlyFarFromAllOthers) {
  Trace near;
  near.SliceUs("kernel", "a", kStream7, 0, 10, 1);
  near.SliceUs("kernel", "b", kStream7, 20, 10, 2);
  EXPECT_EQ(CountOf(near.Check(), "zero_timestamp"), 0u);

  Trace far;
  far.Slice("kernel", "lost", kStream7, 0, 0, 1);
  far.Slice("kernel", "b", kStream7, 61 * kSecond, 1000, 2);
  const HealthReport report = far.Check();
  EXPECT_EQ(CountOf(report, "zero_timestamp"), 1u);
  EXPECT_EQ(report.devices[0].span_ns, 1000);  // not 61 s
  EXPECT_EQ(report.devices[0].work_count, 1u);
  EXPECT_EQ(CountOf(report, "time_gap"), 0u);
}

TEST(Health, FindsAGapOfMoreThanHalfTheSpan) {
  Trace trace;  // points 1, 2, 5, 6 s: the gap 2..5 is 3 of 5 s
  trace.Slice("cpu_op", "a", kMain, 1 * kSecond, kSecond);
  trace.Slice("cpu_op", "b", kMain, 5 * kSecond, kSecond);
  trace.Slice("Trace", "PyTorch Profiler (0)", {20, 20}, 0, 4 * kSecond);  // bookkeeping is no activity
  const HealthReport report = trace.Check();
  ASSERT_EQ(CountOf(report, "time_gap"), 1u);
  EXPECT_EQ(report.Find("time_gap")->worst, 3 * kSecond);
  EXPECT_EQ(report.Find("time_gap")->first[0].name, "b");

  Trace even;  // 1, 2, 3.5, 4.5: the gap 1.5 of 3.5 s is less than half
  even.Slice("cpu_op", "a", kMain, 1 * kSecond, kSecond);
  even.Slice("cpu_op", "b", kMain, 3'500'000'000, kSecond);
  EXPECT_EQ(CountOf(even.Check(), "time_gap"), 0u);
}

TEST(Health, FindsASingleJumpBackInOrderedRows) {
  Trace trace;
  for (int i = 0; i < 60; ++i) trace.SliceUs("cpu_op", "op", kMain, 100000 + i * 10, 5);
  for (int i = 0; i < 60; ++i) trace.SliceUs("cpu_op", "late", kMain, 50000 + i * 10, 5);
  const HealthReport report = trace.Check();
  ASSERT_EQ(CountOf(report, "clock_step_back"), 1u);
  EXPECT_EQ(report.Find("clock_step_back")->worst, 50590000);  // from 100590 us to 50000 us
  EXPECT_EQ(report.Find("clock_step_back")->first[0].row, 60u);
}

TEST(Health, DeviceWorkInNoOrderIsNoJumpBack) {
  Trace trace;  // two buffers of the profiler, the later one first
  for (int i = 0; i < 120; ++i) trace.SliceUs("kernel", "k", kStream7, 100000 + i * 10, 5, 1);
  for (int i = 0; i < 120; ++i) trace.SliceUs("kernel", "k", kStream7, 50000 + i * 10, 5, 1);
  EXPECT_EQ(CountOf(trace.Check(), "clock_step_back"), 0u);
}

TEST(Health, ParentWrittenBehindItsChildrenIsNoJumpBack) {
  Trace trace;
  for (int i = 0; i < 120; ++i) trace.SliceUs("cpu_op", "op", kMain, 100000 + i * 1000, 500);
  trace.SliceUs("cpu_op", "parent", kMain, 1000, 999999);
  EXPECT_EQ(CountOf(trace.Check(), "clock_step_back"), 0u);
}

TEST(Health, ChecksSteps) {
  Trace trace;
  trace.SliceUs("user_annotation", "ProfilerStep#5", {10, 10}, 0, 53);
  trace.SliceUs("user_annotation", "ProfilerStep#6", {10, 10}, 50, 50);
  trace.SliceUs("user_annotation", "ProfilerStep#6", {10, 20}, 52, 47);
  trace.SliceUs("user_annotation", "ProfilerStep#9", {10, 10}, 100, 50);     // 7 and 8 are missing
  trace.SliceUs("gpu_user_annotation", "ProfilerStep#6", kStream7, 50, 50);  // the device's copy is no step
  trace.SliceUs("user_annotation", "ProfilerStep#x", {10, 10}, 200, 50);
  const HealthReport report = trace.Check();
  EXPECT_EQ(report.step_count, 3u);
  EXPECT_EQ(CountOf(report, "duplicate_step"), 1u);
  EXPECT_EQ(report.Find("duplicate_step")->worst, 2);
  EXPECT_EQ(CountOf(report, "missing_step"), 2u);
  ASSERT_EQ(CountOf(report, "overlapping_steps"), 1u);
  EXPECT_EQ(report.Find("overlapping_steps")->worst, 3000);  // 53 - 50
  EXPECT_EQ(report.Find("overlapping_steps")->first[0].name, "ProfilerStep#6");
  EXPECT_EQ(CountOf(report, "no_steps"), 0u);
}

TEST(Health, StepsFarApartInNumberCostNothing) {
  Trace trace;
  trace.SliceUs("user_annotation", "ProfilerStep#-9223372036854775808", kMain, 0, 10);
  trace.SliceUs("user_annotation", "ProfilerStep#9223372036854775807", kMain, 10, 10);
  EXPECT_EQ(CountOf(trace.Check(), "missing_step"), UINT64_MAX - 1);  // 2^64 numbers less the two
}

TEST(Health, JoinsFlowsByCategoryNameAndId) {
  Trace trace;
  trace.Flow(EventKind::kFlowStart, "fwdbwd", "fwdbwd", 1, 1, false);
  trace.Flow(EventKind::kFlowEnd, "fwdbwd", "fwdbwd", 2, 1, true);   // "1" is 1
  trace.Flow(EventKind::kFlowEnd, "fwdbwd", "fwdbwd", 3, 2, false);  // no start
  trace.Flow(EventKind::kFlowEnd, "other", "fwdbwd", 4, 1, false);   // other category
  trace.Flow(EventKind::kFlowStart, "fwdbwd", "fwdbwd", 5, 3, false);
  // Merged flows: 7 is complete, half by flag and half by row; 8 ends only.
  trace.Slice("cuda_runtime", "cudaLaunchKernel", kMain, 10, 2, 7, kFlowOut);
  trace.Flow(EventKind::kFlowEnd, "ac2g", "ac2g", 20, 7, false);
  trace.Slice("kernel", "k", kStream7, 20, 2, 8, kFlowIn);
  const HealthReport report = trace.Check();
  EXPECT_EQ(CountOf(report, "dangling_flow_end"), 3u);
  EXPECT_EQ(report.Find("dangling_flow_end")->severity, Severity::kNote);
  EXPECT_EQ(report.Find("dangling_flow_end")->first[2].row, 7u);
  EXPECT_EQ(CountOf(report, "flow_without_end"), 1u);
}

TEST(Health, SaysOnceWhatTheImporterCountedAsWell) {
  auto codes = [](uint64_t importer_count) {
    Trace trace;
    trace.Slice("", "c", kMain, 20, kUnfinished);
    TraceInfo info;
    info.report.Add(ImportReport::Severity::kNote, "begin_without_end", 7, "", importer_count);
    const HealthReport report = trace.Check(info);
    return CountOf(report, "noted.begin_without_end") * 10 + CountOf(report, "unfinished_slice");
  };
  EXPECT_EQ(codes(1), 1u);
  EXPECT_EQ(codes(2), 21u);
}

TEST(Health, TakesLongAndMissingNames) {
  Trace trace;
  const std::string name(70000, 'x');
  trace.SliceUs("cpu_op", name.c_str(), kMain, 0, -1);
  const HealthReport report = trace.Check();
  ASSERT_EQ(CountOf(report, "negative_duration"), 1u);
  EXPECT_EQ(report.Find("negative_duration")->first[0].name.size(), 200u);
}

}  // namespace
}  // namespace tracekiln::health
