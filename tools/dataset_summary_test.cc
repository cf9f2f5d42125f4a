#include "tools/dataset_summary.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/json/canonical.h"
#include "gtest/gtest.h"

namespace tracekiln::tools {
namespace {

using dataset::Dataset;
using dataset::DatasetFile;
using dataset::FileKind;

// `count` ranks of one run, a timeline each.
Dataset Ranks(size_t count) {
  Dataset found;
  found.directory = "run7";
  dataset::Run run;
  for (size_t i = 0; i < count; ++i) {
    DatasetFile& file = found.files.emplace_back();
    file.path = absl::StrCat("rank", i, ".json");
    file.kind = FileKind::kTimeline;
    file.size_bytes = 100;
    file.rank = static_cast<int64_t>(i);
    file.rank_source = dataset::RankSource::kName;
    dataset::RankFiles& entry = found.ranks.emplace_back();
    entry.rank = file.rank;
    entry.timelines = {i};
    run.ranks.push_back(static_cast<int64_t>(i));
  }
  if (count > 0) found.runs.push_back(run);
  return found;
}

std::string Json(const Dataset& found) {
  std::string text;
  json::Writer w(&text);
  WriteDataset(found, &w);
  w.Flush();
  return text;
}

TEST(DatasetSummary, SaysWhichFileIsWhichRanks) {
  EXPECT_EQ(DatasetText(Ranks(2)),
            "run7\n"
            "  kind      files  bytes\n"
            "  timeline      2    200\n"
            "\n"
            "  run .: ranks 0, 1\n"
            "    rank  by    timeline\n"
            "       0  name  rank0.json\n"
            "       1  name  rank1.json\n");
  EXPECT_EQ(DatasetText(Ranks(0)), "run7\n  no files\n");
}

TEST(DatasetSummary, CutsLongListsAndSaysSo) {
  Dataset found = Ranks(1000);
  for (int i = 0; i < 50; ++i) {
    dataset::Finding& finding = found.findings.emplace_back();
    finding.code = "stranger";
    finding.detail = absl::StrCat("x", i);
  }
  const std::string text = DatasetText(found);
  EXPECT_TRUE(absl::StrContains(text, "and 936 more (--format json has all)")) << text;
  EXPECT_TRUE(absl::StrContains(text, "note stranger: and 30 more (--format json has all)")) << text;
  EXPECT_FALSE(absl::StrContains(text, "rank64.json"));
  EXPECT_TRUE(absl::StrContains(Json(found), "rank999.json"));
}

TEST(DatasetSummary, MakesHostileNamesHarmless) {
  Dataset found = Ranks(1);
  found.directory = "a\x1b[31mb";
  found.files[0].path = "x\n\x1b]0;t\x07\"\\\xff.json";
  found.files[0].action = "\xc3(";
  found.ranks[0].run = found.runs[0].name = "r\run";
  const std::string text = DatasetText(found);
  for (const char c : text) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << text;
  EXPECT_TRUE(absl::StrContains(text, "rank0") || absl::StrContains(text, ".json")) << text;
  const std::string json = Json(found);
  EXPECT_TRUE(json::IsJson(json)) << json;
  EXPECT_TRUE(absl::StrContains(json, "\"path_hex\":\"780a1b5d303b7407225cff2e6a736f6e\"")) << json;
}

}  // namespace
}  // namespace tracekiln::tools
