#include "analysis/dataset/layout_rules.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analysis/dataset/dataset.h"
#include "gtest/gtest.h"

namespace tracekiln::dataset {
namespace {

constexpr int64_t kNone = -1;

struct Case {
  absl::string_view path;
  absl::string_view rule;
  int64_t rank;
  absl::string_view run = "";
  int64_t step = kNone;
  FileRole role = FileRole::kUnsaid;
};

NameFacts Match(absl::string_view path) {
  static const LayoutRules* const rules = new LayoutRules(*LayoutRules::Make(""));
  return rules->Match(path);
}

TEST(LayoutRules, KnowWhatFrameworksWrite) {
  const Case cases[] = {
      // Megatron-LM
      {"torch_profile/rank-12.json.gz", "megatron", 12},
      {"chakra/rank-0.json.gz", "megatron", 0},
      {"exp7/pytorch_profile/rank-3.json.gz", "megatron", 3, "exp7"},
      // TorchTitan
      {"iteration_10/rank3_trace.json", "torchtitan", 3, "", 10},
      {"out/profile_traces/iteration_20/rank0_trace.json.gz", "torchtitan", 0, "out", 20},
      {"out/memory_snapshot/iteration_20_exit/rank0_memory_snapshot.pickle", "torchtitan", 0, "out", 20},
      // TensorBoard's handler
      {"node7_4711.1725000000000.pt.trace.json", "tensorboard", kNone},
      {"node7_4711.1725000000000000003.pt.trace.json.gz", "tensorboard", kNone},
      {"worker0.1623143089861.pt.trace.json.gz", "tensorboard_worker", 0},
      {"worker2_step_12.1694128201554.pt.trace.json.gz", "tensorboard_worker", 2, "", 12},
      {"a/b.worker1.pt.trace.json", "tensorboard_worker", 1, "a"},
      {"rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz", "tensorboard_rank", 34},
      {"dp0_pp0_tp2_dcp0_ep2_rank2.1772000000000000002.pt.trace.json.gz", "tensorboard_rank", 2},
      {"coworker7x.1623143089861.pt.trace.json", "tensorboard", kNone},
      {"frank7.1623143089861.pt.trace.json", "tensorboard", kNone},
      // vLLM and SGLang
      {"nodea_4700.async_llm.1772000000000000001.pt.trace.json", "vllm_coordinator", kNone, "", kNone,
       FileRole::kCoordinator},
      {"capture_traces/graph_capture_rank_0.1773709679453551615.pt.trace.json.gz", "graph_capture", 0, "", kNone,
       FileRole::kCapture},
      {"s/capture_traces/bs_32_rank0.json.gz", "graph_capture", 0, "s", kNone, FileRole::kCapture},
      {"graph_execution.json.gz", "graph_execution", kNone, "", kNone, FileRole::kExecution},
      // Chakra's and NeMo's samples
      {"host.3.json", "chakra", 3, "", kNone, FileRole::kHost},
      {"device.3.json", "chakra", 3, "", kNone, FileRole::kDevice},
      {"linked.3.json", "chakra", 3, "", kNone, FileRole::kLinked},
      {"chakra_trace.3.et", "chakra", 3},
      {"host_0.json", "chakra", 0, "", kNone, FileRole::kHost},
      {"kineto_trace_5.json", "chakra", 5, "", kNone, FileRole::kDevice},
      {"chakra_host_et_5.json", "chakra", 5, "", kNone, FileRole::kHost},
      {"d/dlrm_host_3.json.gz", "chakra", 3, "d", kNone, FileRole::kHost},
      {"nemo/host/rank_4.json", "rank", 4, "nemo", kNone, FileRole::kHost},
      {"ghost_4.json", "", kNone},
      // Lightning
      {"fit-run-0-[Callback]TQDMProgressBar.on_fit_end.prof", "lightning", 0},
      {"validate-run-12-[Strategy]DDPStrategy.validation_step.prof", "lightning", 12},
      {"fit-run-a.prof", "lightning", kNone},
      {"logs/fit-perf-[Strategy]S.backward.prof", "lightning", kNone, "logs"},
      {"fit-a/fit-b-1-run_training_epoch.prof", "lightning", 1, "fit-a"},
      {"run-1-[Strategy]S.backward.prof", "lightning", 1},
      // Everybody else
      {"rank0.json", "rank", 0},
      {"profile_trace_rank_0.json.gz", "rank", 0},
      {"inference_rank_1.json.gz", "rank", 1},
      {"job.rank2.prof", "rank", 2},
      {"rank-3.kiln", "rank", 3},
      {"Rank=7.json", "rank", 7},
      {"rank_5/trace.json", "rank_directory", 5},
      {"step_100/rank_5/kineto/trace.json", "rank_directory", 5, "", 100},
      {"all_gather/all_gather.2.et", "astra_sim", 2, "all_gather"},
      {"linear_et.json.gz", "pair", kNone},
      {"x/linear_kineto.json.gz", "pair", kNone, "x"},
      // No rank
      {"rank.json", "", kNone},
      {"ranking3.json", "", kNone},
      {"prank3.json", "", kNone},
      {"notes.txt", "", kNone},
      {"", "", kNone},
      {"rank99999999999999999999.json", "rank", kNone},
      {absl::string_view("rank1\n\xff\xfe.json"), "rank", 1},
      {"a/../rank1.json", "rank", 1, "a/.."},
  };
  for (const Case& c : cases) {
    const NameFacts facts = Match(c.path);
    EXPECT_EQ(facts.rule, c.rule) << c.path;
    EXPECT_EQ(facts.rank.value_or(kNone), c.rank) << c.path;
    EXPECT_EQ(facts.run, c.run) << c.path;
    EXPECT_EQ(facts.step.value_or(kNone), c.step) << c.path;
    EXPECT_EQ(facts.role, c.role) << c.path;
  }
}

TEST(LayoutRules, TakeWorkerAndTimeOfTensorBoardsNames) {
  const NameFacts facts = Match("node7_4711.1725000000123.pt.trace.json.gz");
  EXPECT_EQ(facts.worker, "node7_4711");
  EXPECT_EQ(facts.stamp, uint64_t{1725000000123});
}

struct LightningCase {
  absl::string_view path;
  absl::string_view stage;
  absl::string_view series;
  absl::string_view action;
};

TEST(LayoutRules, TakeLightningsNamesApart) {
  const LightningCase cases[] = {
      {"fit-run-0-[LightningDataModule]my-data.setup.prof", "fit", "run", "[LightningDataModule]my-data.setup"},
      {"fit-run-0-run_training_epoch.prof", "fit", "run", "run_training_epoch"},
      {"fit-run-0-[Callback]E{'monitor': 'val_loss', 'mode': 'min'}.on_fit_end.prof", "fit", "run",
       "[Callback]E{'monitor': 'val_loss', 'mode': 'min'}.on_fit_end"},
      // A slash in the action: half of it is a directory.
      {"fit-perf_logs-[Callback]M{'monitor': 'val/f1', 'mode': 'max'}.on_fit_end.prof", "fit", "perf_logs",
       "[Callback]M{'monitor': 'val/f1', 'mode': 'max'}.on_fit_end"},
      {"fit-run-c.prof", "fit", "run", "c"},
      {"perf-[Strategy]S.backward.prof", "", "perf", "[Strategy]S.backward"},
  };
  for (const LightningCase& c : cases) {
    const NameFacts facts = Match(c.path);
    EXPECT_EQ(facts.stage, c.stage) << c.path;
    EXPECT_EQ(facts.series, c.series) << c.path;
    EXPECT_EQ(facts.action, c.action) << c.path;
    EXPECT_EQ(facts.run, "") << c.path;
  }
}

TEST(LayoutRules, TheUsersRuleReplacesTheTable) {
  const absl::StatusOr<LayoutRules> rules =
      LayoutRules::Make(R"((?P<run>job\d+)/.*-r(?P<rank>\d+)s(?P<step>\d+)\.(?P<kind>timeline|profile))");
  ASSERT_TRUE(rules.ok()) << rules.status();
  const NameFacts facts = rules->Match("job7/rank-1/x-r22s5.timeline.json");
  EXPECT_EQ(facts.rule, "layout");
  EXPECT_EQ(facts.rank, 22);
  EXPECT_EQ(facts.step, 5);
  EXPECT_EQ(facts.run, "job7");
  EXPECT_EQ(facts.kind, FileKind::kTimeline);
  const NameFacts unmatched = rules->Match("iteration_3/rank-1/rank-1.json");
  EXPECT_EQ(unmatched.rule, "");
  EXPECT_EQ(unmatched.rank, std::nullopt);
  EXPECT_EQ(unmatched.step, std::nullopt);
}

TEST(LayoutRules, RefuseWhatIsNoRule) {
  for (const char* layout :
       {"rank(", "rank\\d+", "rank(\\d+)", "(?P<rang>\\d+)", "(?P<rank>a)()()()()()()()()()()()()()()()()()"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(LayoutRules::Make(layout).status())) << layout;
  }
}

TEST(LayoutRules, TakeLongAndStrangePaths) {
  const std::string deep = absl::StrCat(std::string(200000, '/'), "rank-1.json");
  EXPECT_EQ(Match(deep).rank, 1);
  std::string all;
  for (int c = 1; c < 256; ++c) all += static_cast<char>(c);
  for (int i = 0; i < 8; ++i) all += all.substr(0, 255);
  EXPECT_EQ(Match(all).rank, std::nullopt);
  EXPECT_EQ(Match(absl::StrCat("fit-", std::string(100000, '-'), ".prof")).rank, std::nullopt);
}

}  // namespace
}  // namespace tracekiln::dataset
