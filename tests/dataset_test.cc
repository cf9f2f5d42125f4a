// ScanDataset with all formats, over made-up trees and the real ones of TRACEKILN_SHARED.
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analysis/dataset/dataset.h"
#include "formats/all_formats.h"
#include "formats/io/executor.h"
#include "gtest/gtest.h"

namespace tracekiln::dataset {
namespace {

constexpr int64_t kNone = -1;

std::string Kineto(int64_t rank, int64_t world_size) {
  return absl::StrCat(
      R"({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": )", rank, R"(, "world_size": )",
      world_size,
      R"(}, "traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 2, "pid": 0, "tid": 7}]})");
}
const char kAnonymous[] = R"({"traceEvents": [{"ph": "X", "name": "k", "ts": 1, "dur": 2, "pid": 0, "tid": 7}]})";
const char kExecutionTrace[] = R"({"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": [], "finish_ts": 1})";
// {("a", 1, "f"): (1, 1, 0.5, 0.5, {})} by marshal.dumps, version 4.
const char kProfile[] =
    "{\xa9\x03\xda\x01"
    "a\xe9\x01\x00\x00\x00\xda\x01"
    "f";

std::string Gzip(const std::string& text) {
  z_stream stream = {};
  deflateInit2(&stream, 1, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

class DatasetTest : public testing::Test {
 protected:
  DatasetTest() : directory_(absl::StrCat(testing::TempDir(), "/dataset.", ::getpid(), ".", ++count_)) {
    std::filesystem::create_directories(directory_);
  }
  ~DatasetTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  void Put(const std::string& path, const std::string& bytes) {
    const std::filesystem::path full = std::filesystem::path(directory_) / path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full, std::ios::binary) << bytes;
  }

  Dataset Scan(const std::string& layout = "", int max_depth = 32) {
    ScanOptions options;
    options.layout = layout;
    options.max_depth = max_depth;
    io::ThreadPool pool(3);
    absl::StatusOr<Dataset> found = ScanDataset(directory_, options, AllFormats(), pool);
    EXPECT_TRUE(found.ok()) << found.status();
    return found.ok() ? *std::move(found) : Dataset();
  }

  std::string directory_;

 private:
  static int count_;
};
int DatasetTest::count_ = 0;

// "code: file, file" of each finding, files by name; notes begin with "(".
std::vector<std::string> Findings(const Dataset& found) {
  std::vector<std::string> texts;
  for (const Finding& finding : found.findings) {
    std::string text = absl::StrCat(finding.severity == Severity::kNote ? "(" : "", finding.code, ":");
    for (const size_t i : finding.files) absl::StrAppend(&text, " ", found.files[i].path);
    if (finding.files.empty()) absl::StrAppend(&text, " ", RankRanges(finding.ranks));
    texts.push_back(std::move(text));
  }
  return texts;
}

using Texts = std::vector<std::string>;

std::string List(const Dataset& found, const std::vector<size_t>& files) {
  std::string text;
  for (const size_t i : files) absl::StrAppend(&text, text.empty() ? "" : "+", found.files[i].path);
  return text;
}

// "run|rank|step|window: timelines | execution traces | the rest" of each entry.
Texts Ranks(const Dataset& found) {
  Texts texts;
  for (const RankFiles& e : found.ranks) {
    std::string rest;
    for (const auto* files : {&e.kilns, &e.profiles, &e.memory_snapshots, &e.chakras, &e.captures, &e.linked}) {
      if (!files->empty()) absl::StrAppend(&rest, rest.empty() ? "" : "+", List(found, *files));
    }
    texts.push_back(absl::StrCat(e.run, "|", e.rank ? absl::StrCat(*e.rank) : "?", "|",
                                 e.step ? absl::StrCat(*e.step) : "-", "|", e.window, ": ", List(found, e.timelines),
                                 " | ", List(found, e.execution_traces), rest.empty() ? "" : " | ", rest));
  }
  return texts;
}

const DatasetFile& File(const Dataset& found, absl::string_view path) {
  for (const DatasetFile& file : found.files) {
    if (file.path == path) return file;
  }
  static const DatasetFile* const none = new DatasetFile();
  ADD_FAILURE() << "no file " << path;
  return *none;
}

TEST_F(DatasetTest, MegatronsTracesFindTheirExecutionTraces) {
  for (int rank = 0; rank < 2; ++rank) {
    Put(absl::StrCat("torch_profile/rank-", rank, ".json.gz"), Gzip(Kineto(rank, 2)));
    Put(absl::StrCat("chakra/rank-", rank, ".json.gz"), Gzip(kExecutionTrace));
  }
  const Dataset found = Scan();
  EXPECT_EQ(Ranks(found), (Texts{"|0|-|0: torch_profile/rank-0.json.gz | chakra/rank-0.json.gz",
                                 "|1|-|0: torch_profile/rank-1.json.gz | chakra/rank-1.json.gz"}));
  EXPECT_EQ(Findings(found), Texts());
  ASSERT_EQ(found.runs.size(), 1u);
  EXPECT_EQ(found.runs[0].world_size, 2);
  EXPECT_EQ(File(found, "torch_profile/rank-0.json.gz").rank_source, RankSource::kContent);
  EXPECT_EQ(File(found, "chakra/rank-0.json.gz").rank_source, RankSource::kName);
  EXPECT_EQ(File(found, "chakra/rank-0.json.gz").container, io::Container::kGzip);
}

TEST_F(DatasetTest, TorchTitansIterationsAreSteps) {
  for (int step : {10, 20}) {
    for (int rank = 0; rank < 2; ++rank) {
      Put(absl::StrCat("iteration_", step, "/rank", rank, "_trace.json"), Kineto(rank, 2));
    }
  }
  const Dataset found = Scan();
  EXPECT_EQ(Ranks(found),
            (Texts{"|0|10|0: iteration_10/rank0_trace.json | ", "|0|20|0: iteration_20/rank0_trace.json | ",
                   "|1|10|0: iteration_10/rank1_trace.json | ", "|1|20|0: iteration_20/rank1_trace.json | "}));
  EXPECT_EQ(Findings(found), Texts());
}

TEST_F(DatasetTest, TensorBoardsFilesOfOneProcessAreWindows) {
  Put("hosta_1.1725000000200.pt.trace.json", Kineto(0, 2));
  Put("hosta_1.1725000000100.pt.trace.json", Kineto(0, 2));
  Put("hosta_2.1725000000150.pt.trace.json", Kineto(1, 2));
  const Dataset found = Scan();
  EXPECT_EQ(Ranks(found),
            (Texts{"|0|-|0: hosta_1.1725000000100.pt.trace.json | ", "|0|-|1: hosta_1.1725000000200.pt.trace.json | ",
                   "|1|-|0: hosta_2.1725000000150.pt.trace.json | "}));
  EXPECT_EQ(Findings(found), (Texts{"(several_windows: hosta_1.1725000000100.pt.trace.json "
                                    "hosta_1.1725000000200.pt.trace.json"}));
}

TEST_F(DatasetTest, TwoProcessesOfOneRankAreADuplicate) {
  Put("hosta_1.1725000000100.pt.trace.json", Kineto(0, 1));
  Put("hosta_9.1725000000200.pt.trace.json", Kineto(0, 1));
  const Dataset found = Scan();
  EXPECT_EQ(Findings(found), (Texts{"duplicate_rank: hosta_1.1725000000100.pt.trace.json "
                                    "hosta_9.1725000000200.pt.trace.json"}));
  ASSERT_EQ(found.ranks.size(), 1u);
  EXPECT_EQ(found.ranks[0].timelines.size(), 2u);
}

TEST_F(DatasetTest, ChakrasSamplesPair) {
  for (int rank = 0; rank < 2; ++rank) {
    Put(absl::StrCat("host.", rank, ".json"), kExecutionTrace);
    Put(absl::StrCat("device.", rank, ".json"), kAnonymous);
    Put(absl::StrCat("linked.", rank, ".json"), kExecutionTrace);
    Put(absl::StrCat("chakra_trace.", rank, ".et"),
        "\x07\x0a\x05"
        "0.0.4");
  }
  const Dataset found = Scan();
  EXPECT_EQ(Ranks(found), (Texts{"|0|-|0: device.0.json | host.0.json | chakra_trace.0.et+linked.0.json",
                                 "|1|-|0: device.1.json | host.1.json | chakra_trace.1.et+linked.1.json"}));
  EXPECT_EQ(Findings(found), Texts());
}

TEST_F(DatasetTest, WorkloadsInOneDirectoryAreRunsIfThereAreSeveral) {
  for (const char* name : {"dlrm", "resnet"}) {
    Put(absl::StrCat("d/", name, "_host_0.json"), kExecutionTrace);
    Put(absl::StrCat("d/", name, "_device_0.json"), kAnonymous);
  }
  Put("e/dlrm_host_0.json", kExecutionTrace);
  Put("e/dlrm_device_0.json", kAnonymous);
  const Dataset found = Scan();
  EXPECT_EQ(Ranks(found), (Texts{"d/dlrm|0|-|0: d/dlrm_device_0.json | d/dlrm_host_0.json",
                                 "d/resnet|0|-|0: d/resnet_device_0.json | d/resnet_host_0.json",
                                 "e|0|-|0: e/dlrm_device_0.json | e/dlrm_host_0.json"}));
  EXPECT_EQ(Findings(found), (Texts{"(several_runs: "}));
}

TEST_F(DatasetTest, PairsWithoutRanksFindEachOther) {
  Put("a_et.json", kExecutionTrace);
  Put("a_kineto.json", kAnonymous);
  Put("b_et.json", kExecutionTrace);
  Put("b_trace.json", Kineto(3, 4));
  const Dataset found = Scan();
  EXPECT_EQ(Ranks(found), (Texts{"|3|-|0: b_trace.json | b_et.json", "|?|-|0: a_kineto.json | a_et.json"}));
  EXPECT_EQ(File(found, "b_et.json").rank_source, RankSource::kPair);
}

TEST_F(DatasetTest, GraphCapturesAreNoDuplicates) {
  Put("capture_traces/bs_1_rank0.json", Kineto(0, 1));
  Put("capture_traces/bs_2_rank0.json", Kineto(0, 1));
  Put("decode.json", Kineto(0, 1));
  const Dataset found = Scan();
  EXPECT_EQ(Ranks(found),
            (Texts{"|0|-|0: decode.json |  | capture_traces/bs_1_rank0.json+capture_traces/bs_2_rank0.json"}));
  EXPECT_EQ(Findings(found), Texts());
}

TEST_F(DatasetTest, AConflictIsSaidAndTheContentCounts) {
  Put("rank-0.json", Kineto(1, 2));
  Put("rank-1.json", Kineto(0, 2));
  const Dataset found = Scan();
  EXPECT_EQ(Findings(found), (Texts{"rank_conflict: rank-0.json", "rank_conflict: rank-1.json"}));
  EXPECT_TRUE(
      absl::StrContains(found.findings[0].detail, "rank 1 by its content and rank 0 by its name; taken as rank 1"))
      << found.findings[0].detail;
  EXPECT_EQ(File(found, "rank-0.json").rank, 1);
  EXPECT_EQ(File(found, "rank-0.json").name_rank, 0);
  EXPECT_EQ(File(found, "rank-0.json").content_rank, 1);
}

TEST_F(DatasetTest, TheUsersRuleCountsMoreThanTheContentAndSaysSo) {
  Put("r0.json", Kineto(0, 2));
  Put("r1.json", Kineto(0, 2));
  const Dataset found = Scan(R"(r(?P<rank>\d+)\.json)");
  EXPECT_EQ(Findings(found), (Texts{"rank_conflict: r1.json"}));
  EXPECT_EQ(File(found, "r1.json").rank, 1);
  EXPECT_EQ(File(found, "r1.json").rank_source, RankSource::kLayout);
  EXPECT_EQ(Findings(Scan(R"(nothing(?P<rank>\d+))")),
            (Texts{"duplicate_rank: r0.json r1.json", "layout_unmatched: ", "missing_rank: 1"}));
}

TEST_F(DatasetTest, TheUsersRuleGivesRunsStepsAndKinds) {
  Put("x-7-3.json", kAnonymous);
  Put("y-7-3.json", kAnonymous);
  const Dataset found = Scan(R"((?P<run>\w)-(?P<rank>\d+)-(?P<step>\d+))");
  EXPECT_EQ(Ranks(found), (Texts{"x|7|3|0: x-7-3.json | ", "y|7|3|0: y-7-3.json | "}));
  Put("z.profile", kAnonymous);
  EXPECT_EQ(Findings(Scan(R"(z\.(?P<kind>profile))"))[0], "kind_conflict: z.profile");
}

TEST_F(DatasetTest, ABadRuleIsRefused) {
  ScanOptions options;
  options.layout = "rank(";
  io::InlineExecutor executor;
  EXPECT_TRUE(absl::IsInvalidArgument(ScanDataset(directory_, options, AllFormats(), executor).status()));
  EXPECT_TRUE(absl::IsNotFound(ScanDataset(directory_ + "/none", {}, AllFormats(), executor).status()));
  Put("file", "x");
  EXPECT_TRUE(absl::IsInvalidArgument(ScanDataset(directory_ + "/file", {}, AllFormats(), executor).status()));
}

TEST_F(DatasetTest, MissingRanksAreNamed) {
  for (const int rank : {0, 3, 7}) Put(absl::StrCat("rank", rank, ".json"), Kineto(rank, 10));
  const Dataset found = Scan();
  EXPECT_EQ(Findings(found), (Texts{"missing_rank: 1, 2, 4-6, 8, 9"}));
  EXPECT_EQ(found.findings[0].detail, "ranks 1, 2, 4-6, 8, 9 of 10 are missing");
  EXPECT_EQ(found.runs[0].missing_count, 7);
}

TEST_F(DatasetTest, WithoutAWorldSizeGapsAreMissing) {
  for (const int rank : {0, 2}) Put(absl::StrCat("rank", rank, ".json"), kAnonymous);
  EXPECT_EQ(Findings(Scan()), (Texts{"missing_rank: 1"}));
}

TEST_F(DatasetTest, OneRankAloneMissesNone) {
  Put("rank5.json", kAnonymous);
  EXPECT_EQ(Findings(Scan()), Texts());
}

TEST_F(DatasetTest, HugeRanksCostNothing) {
  Put("rank0.json", kAnonymous);
  Put("rank9223372036854775807.json", kAnonymous);
  const Dataset found = Scan();
  ASSERT_EQ(found.runs.size(), 1u);
  EXPECT_EQ(found.runs[0].missing_count, INT64_MAX - 1);
  EXPECT_EQ(found.runs[0].missing.size(), kMaxListed);
}

TEST_F(DatasetTest, RanksOutsideOfTheWorldAreSaid) {
  Put("rank0.json", Kineto(0, 2));
  Put("rank1.json", Kineto(1, 2));
  Put("rank2.json", Kineto(2, 2));
  Put("neg.json", Kineto(-1, 2));
  EXPECT_EQ(Findings(Scan()), (Texts{"rank_out_of_range: neg.json rank2.json"}));
}

TEST_F(DatasetTest, AMixtureOfWorldSizesIsSaid) {
  Put("rank0.json", Kineto(0, 2));
  Put("rank1.json", Kineto(1, 3));
  const Dataset found = Scan();
  EXPECT_EQ(Findings(found), (Texts{"missing_rank: 2", "world_size_mixture: rank0.json rank1.json"}));
  EXPECT_EQ(found.runs[0].world_size, 3);
}

TEST_F(DatasetTest, ARankWithHalfOfItsPairIsSaid) {
  Put("device.0.json", kAnonymous);
  Put("host.0.json", kExecutionTrace);
  Put("device.1.json", kAnonymous);
  Put("host.2.json", kExecutionTrace);
  EXPECT_EQ(Findings(Scan()), (Texts{"unpaired: device.1.json", "unpaired: host.2.json"}));
}

TEST_F(DatasetTest, FilesWithoutRankAreSaid) {
  Put("hosta_11.1000000000.pt.trace.json", kAnonymous);
  Put("hosta_12.1001000000.pt.trace.json", kAnonymous);
  const Dataset found = Scan();
  EXPECT_EQ(Findings(found), (Texts{"no_rank: hosta_11.1000000000.pt.trace.json hosta_12.1001000000.pt.trace.json"}));
  EXPECT_EQ(Ranks(found),
            (Texts{"|?|-|0: hosta_11.1000000000.pt.trace.json | ", "|?|-|0: hosta_12.1001000000.pt.trace.json | "}));
}

TEST_F(DatasetTest, LightningsProfilesOfOneProcessNeedNoRank) {
  Put("fit-perf-[Strategy]S.backward.prof", std::string(kProfile, sizeof(kProfile) - 1));
  Put("fit-perf-run_training_epoch.prof", std::string(kProfile, sizeof(kProfile) - 1));
  const Dataset found = Scan();
  EXPECT_EQ(Findings(found), Texts());
  EXPECT_EQ(Ranks(found), (Texts{"|?|-|0:  |  | fit-perf-[Strategy]S.backward.prof+fit-perf-run_training_epoch.prof"}));
  EXPECT_EQ(File(found, "fit-perf-run_training_epoch.prof").kind, FileKind::kProfile);
}

TEST_F(DatasetTest, LeftoversAndStrangersAreListed) {
  Put("rank0.json", Kineto(0, 2));
  Put("rank1.json", "");
  Put("rank1.json.tmp", "{\"traceEvents\": [");
  Put("._rank0.json", std::string("\x00\x05\x16\x07", 4));
  Put("notes.txt", "learning rate 0.1\n");
  Put("picture.png", "\x89PNG\r\n\x1a\n");
  const Dataset found = Scan();
  EXPECT_EQ(Findings(found), (Texts{"empty_file: rank1.json", "missing_rank: 1", "(leftover: ._rank0.json",
                                    "(leftover: rank1.json.tmp", "(stranger: picture.png", "(text: notes.txt"}));
  EXPECT_EQ(File(found, "notes.txt").kind, FileKind::kText);
  EXPECT_EQ(File(found, "rank1.json").rank, 1);
  EXPECT_EQ(found.findings[0].detail, "rank1.json (rank 1) is empty");
}

TEST_F(DatasetTest, NotesOfABatchAreNoTraces) {
  Put("kiln/rank0.json", Kineto(0, 1));
  Put(".batch/lock", "");
  Put(".batch/results/rank-0.json", "{\n \"task\": \"rank-0\"\n}\n");
  const Dataset found = Scan();
  EXPECT_EQ(Findings(found), (Texts{"(leftover: .batch/lock", "(leftover: .batch/results/rank-0.json"}));
  EXPECT_EQ(File(found, ".batch/results/rank-0.json").name_rank, std::nullopt);
}

TEST_F(DatasetTest, DamageThatTheBeginningShowsIsSaid) {
  const std::string whole = Kineto(0, 4);
  Put("rank0.json", whole.substr(0, whole.size() - 20));
  std::string packed = Gzip(Kineto(1, 4));
  Put("rank1.json.gz", packed.substr(0, packed.size() - 4));
  Put("rank2.json.gz", packed.substr(0, 12));
  // Larger than the head, cut off.
  std::string large = R"({"distributedInfo": {"rank": 3, "world_size": 4}, "traceEvents": [)";
  while (large.size() < 200000) large += R"({"ph": "X", "name": "k", "ts": 1, "dur": 2, "pid": 0, "tid": 7},)";
  Put("rank3.json", large);
  const Dataset found = Scan();
  EXPECT_EQ(Findings(found), (Texts{"damaged: rank0.json", "damaged: rank1.json.gz", "damaged: rank2.json.gz",
                                    "damaged: rank3.json", "missing_rank: 2"}));
  EXPECT_EQ(File(found, "rank2.json.gz").rank, 2);
}

TEST_F(DatasetTest, TheCoordinatorIsNoRank) {
  Put("nodea_4711.1725000000000000003.pt.trace.json", Kineto(0, 1));
  Put("nodea_4700.async_llm.1772000000000000001.pt.trace.json", kAnonymous);
  EXPECT_EQ(Findings(Scan()), (Texts{"(coordinator: nodea_4700.async_llm.1772000000000000001.pt.trace.json"}));
}

TEST_F(DatasetTest, LinksAreFollowedOnceEach) {
  Put("real/rank0.json", Kineto(0, 1));
  std::filesystem::create_directory_symlink("..", directory_ + "/real/up");
  std::filesystem::create_directory_symlink("real", directory_ + "/again");
  std::filesystem::create_symlink("rank0.json", directory_ + "/real/latest.json");
  std::filesystem::create_symlink("nowhere", directory_ + "/real/dangling.json");
  const Dataset found = Scan();
  EXPECT_EQ(Findings(found),
            (Texts{"unreadable: real/dangling.json", "(link_loop: ", "(link_loop: ", "(same_file: real/latest.json"}));
  EXPECT_EQ(Ranks(found), (Texts{"real|0|-|0: real/rank0.json | "}));
}

TEST_F(DatasetTest, DepthIsBounded) {
  Put("a/b/c/rank0.json", Kineto(0, 1));
  Put("a/rank0.json", Kineto(0, 1));
  const Dataset found = Scan("", 1);
  EXPECT_EQ(Findings(found), (Texts{"limit: "}));
  EXPECT_EQ(found.files.size(), 1u);
}

TEST_F(DatasetTest, UnreadableFilesAreSaid) {
  if (::geteuid() == 0) GTEST_SKIP() << "root reads everything";
  Put("rank0.json", Kineto(0, 1));
  Put("d/rank0.json", Kineto(0, 1));
  ::chmod((directory_ + "/rank0.json").c_str(), 0);
  ::chmod((directory_ + "/d").c_str(), 0);
  const Dataset found = Scan();
  ::chmod((directory_ + "/d").c_str(), 0755);
  EXPECT_EQ(Findings(found), (Texts{"unreadable: ", "unreadable: rank0.json"}));
}

TEST_F(DatasetTest, PipesAreNotOpened) {
  ASSERT_EQ(::mkfifo((directory_ + "/rank0.json").c_str(), 0600), 0);
  EXPECT_EQ(Findings(Scan()), (Texts{"(stranger: rank0.json"}));
}

TEST_F(DatasetTest, HostileNamesAreBytes) {
  const std::string long_name = absl::StrCat(std::string(240, 'x'), "-rank-1.json");
  const Texts names = {"rank0\n\x1b[31m.json",
                       "..rank1.json",
                       "rank2 \xff\xfe.json",
                       "rank3'\".json",
                       absl::StrCat(std::string(242, 'x'), "_rank4.json"),
                       "[rank5]*?.json"};
  for (size_t i = 0; i < names.size(); ++i) Put(names[i], "");
  const Dataset found = Scan();
  ASSERT_EQ(found.files.size(), names.size());
  for (size_t i = 0; i < names.size(); ++i) EXPECT_EQ(File(found, names[i]).rank, static_cast<int64_t>(i)) << i;
  for (const Finding& finding : found.findings) {
    for (const char c : finding.detail) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << finding.detail;
  }
}

TEST_F(DatasetTest, AnEmptyDirectoryIsEmpty) {
  const Dataset found = Scan();
  EXPECT_TRUE(found.files.empty() && found.runs.empty() && found.ranks.empty() && found.findings.empty());
}

TEST_F(DatasetTest, TheResultDoesNotDependOnThreads) {
  for (int i = 0; i < 200; ++i) Put(absl::StrCat("rank", i, ".json"), i % 7 == 0 ? "" : Kineto(i / 2, 100));
  io::InlineExecutor one;
  io::ThreadPool many(8);
  const absl::StatusOr<Dataset> a = ScanDataset(directory_, {}, AllFormats(), one);
  const absl::StatusOr<Dataset> b = ScanDataset(directory_, {}, AllFormats(), many);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(Ranks(*a), Ranks(*b));
  EXPECT_EQ(Findings(*a), Findings(*b));
  EXPECT_GT(a->findings.size(), 3u);
}

TEST(RankRanges, JoinNeighbours) {
  EXPECT_EQ(RankRanges({}), "");
  EXPECT_EQ(RankRanges({5}), "5");
  EXPECT_EQ(RankRanges({0, 1, 2, 4, 6, 7}), "0-2, 4, 6, 7");
}

std::optional<std::string> Shared(const std::string& below) {
  const char* const from = std::getenv("TRACEKILN_SHARED");
  std::string directory = absl::StrCat(from != nullptr ? from : "../shared", "/", below);
  if (std::filesystem::is_directory(directory)) return directory;
  std::cout << "SKIPPED, NOTHING TESTED: no " << directory << " (set TRACEKILN_SHARED)\n";
  return std::nullopt;
}

Dataset ScanShared(const std::string& directory) {
  io::ThreadPool pool(2);
  absl::StatusOr<Dataset> found = ScanDataset(directory, {}, AllFormats(), pool);
  EXPECT_TRUE(found.ok()) << found.status();
  return found.ok() ? *std::move(found) : Dataset();
}

std::vector<std::string> Warnings(const Dataset& found) {
  std::vector<std::string> texts;
  for (const Finding& finding : found.findings) {
    if (finding.severity == Severity::kWarning) texts.push_back(absl::StrCat(finding.code, ": ", finding.detail));
  }
  return texts;
}

TEST(RealDirectories, EightRanksOfDlrm) {
  const auto directory = Shared("data/traces/param/dlrm_kineto_8rank");
  if (!directory) GTEST_SKIP();
  const Dataset found = ScanShared(*directory);
  EXPECT_EQ(Warnings(found), Texts());
  ASSERT_EQ(found.ranks.size(), 8u);
  for (int64_t rank = 0; rank < 8; ++rank) {
    EXPECT_EQ(found.ranks[static_cast<size_t>(rank)].rank, rank);
    EXPECT_EQ(found.ranks[static_cast<size_t>(rank)].step, 12);
  }
}

TEST(RealDirectories, MegatronsLayoutFromTorch) {
  const auto directory = Shared("data/torch_cpu");
  if (!directory) GTEST_SKIP();
  const Dataset found = ScanShared(*directory);
  EXPECT_EQ(Warnings(found), Texts());
  EXPECT_EQ(Ranks(found),
            (Texts{"basic|0|-|0: basic/pytorch_profile/rank-0.json.gz | basic/chakra/rank-0.json.gz",
                   "ddp|0|-|0: ddp/pytorch_profile/rank-0.json.gz | ddp/chakra/rank-0.json.gz",
                   "ddp|1|-|0: ddp/pytorch_profile/rank-1.json.gz | ddp/chakra/rank-1.json.gz",
                   "ddp|2|-|0: ddp/pytorch_profile/rank-2.json.gz | ddp/chakra/rank-2.json.gz",
                   "ddp|3|-|0: ddp/pytorch_profile/rank-3.json.gz | ddp/chakra/rank-3.json.gz",
                   "pipeline|0|-|0: pipeline/pytorch_profile/rank-0.json.gz | pipeline/chakra/rank-0.json.gz",
                   "pipeline|1|-|0: pipeline/pytorch_profile/rank-1.json.gz | "
                   "pipeline/chakra/rank-1.json.gz"}));
}

TEST(RealDirectories, ChakrasPairsAndWorkloads) {
  const auto directory = Shared("data/chakra");
  if (!directory) GTEST_SKIP();
  const Dataset found = ScanShared(*directory);
  std::map<std::string, std::set<int64_t>> paired, chakras;
  for (const RankFiles& entry : found.ranks) {
    if (!entry.timelines.empty() && !entry.execution_traces.empty())
      paired[entry.run].insert(entry.rank.value_or(kNone));
    if (!entry.chakras.empty()) chakras[entry.run].insert(entry.rank.value_or(kNone));
  }
  EXPECT_EQ(paired["derived/dlrm"], (std::set<int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(paired["derived/simple_add"], (std::set<int64_t>{0}));
  EXPECT_EQ(paired["hta"], (std::set<int64_t>{0}));
  EXPECT_EQ(chakras["astra-sim"], (std::set<int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(chakras["astra-sim/all_gather"], (std::set<int64_t>{0, 1, 2, 3}));
}

TEST(RealDirectories, LightningsProfiles) {
  const auto directory = Shared("data/lightning");
  if (!directory) GTEST_SKIP();
  const Dataset found = ScanShared(*directory);
  EXPECT_EQ(Warnings(found), Texts());
  ASSERT_EQ(found.ranks.size(), 1u);
  EXPECT_EQ(found.ranks[0].profiles.size(), 68u);
  for (const size_t i : found.ranks[0].profiles) EXPECT_EQ(found.files[i].stage, "fit") << found.files[i].path;
}

TEST(RealDirectories, HtasTracesHaveTheRanksOfTheManifest) {
  const auto directory = Shared("data/traces/hta");
  if (!directory) GTEST_SKIP();
  const Dataset found = ScanShared(*directory);
  const std::map<std::string, int64_t> want = {
      {"cpu_only/rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz", 34},
      {"df_index_resolver/df_index_resolver.json.gz", 1},
      {"trace_diff/control/control.json.gz", 3},
      {"trace_file_list/inference_rank_1.json.gz", 1},
      {"negative_queue_length_values_check/rank0.json.gz", 0},
      {"rank_unavailable/rank_not_found.json.gz", kNone},
      {"triton_example/triton_example.json.gz", kNone},
      {"execution_trace/benchmark_simple_add_et.json.gz", 0},
      {"call_stack/backward_thread.json", 0},
  };
  for (const auto& [path, rank] : want) EXPECT_EQ(File(found, path).rank.value_or(kNone), rank) << path;
  EXPECT_EQ(File(found, "cpu_only/rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz").world_size, 300);
}

}  // namespace
}  // namespace tracekiln::dataset
