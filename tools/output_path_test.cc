#include "tools/output_path.h"

#include <string>

#include "gtest/gtest.h"

namespace tracekiln::tools {
namespace {

TEST(OutputName, Table) {
  Format json;
  json.extension = ".json";
  Format kiln;
  kiln.extension = ".kiln";
  const Format* const formats[] = {&json, &kiln};
  struct Case {
    const char* input;
    const Format* to;
    io::Compression compression;
    const char* want;
  };
  const Case kCases[] = {
      {"rank0.json", &kiln, io::Compression::kNone, "rank0.kiln"},
      {"runs/a.b/rank0.json.gz", &kiln, io::Compression::kNone, "rank0.kiln"},
      {"/x/rank0.pt.trace.json.zst", &kiln, io::Compression::kNone, "rank0.pt.trace.kiln"},
      {"rank0.kiln", &json, io::Compression::kGzip, "rank0.json.gz"},
      {"rank0", &json, io::Compression::kZstd, "rank0.json.zst"},
      {"trace.zip", &json, io::Compression::kNone, "trace.json"},
      {"rank0.txt", &json, io::Compression::kNone, "rank0.txt.json"},
      {".json", &kiln, io::Compression::kNone, ".json.kiln"},
      {"dir/", &kiln, io::Compression::kNone, "trace.kiln"},
      {"../..", &kiln, io::Compression::kNone, "...kiln"},
      {"", &kiln, io::Compression::kNone, "trace.kiln"},
  };
  for (const Case& c : kCases) EXPECT_EQ(OutputName(c.input, *c.to, c.compression, formats), c.want) << c.input;
}

TEST(OutputName, LongNamesAreCutAndStayApart) {
  Format kiln;
  kiln.extension = ".kiln";
  const Format* const formats[] = {&kiln};
  const auto name = [&](const std::string& input) { return OutputName(input, kiln, io::Compression::kNone, formats); };
  EXPECT_EQ(name(std::string(250, 'x')), std::string(250, 'x') + ".kiln");
  const std::string a = name(std::string(250, 'x') + "a");
  const std::string b = name(std::string(250, 'x') + "b");
  EXPECT_EQ(a.size(), 255u);
  EXPECT_EQ(b.size(), 255u);
  EXPECT_NE(a, b);
  EXPECT_EQ(a.substr(0, 238), std::string(237, 'x') + "~");
  EXPECT_EQ(a.substr(250), ".kiln");
  EXPECT_EQ(name("dir/" + std::string(250, 'x') + "a"), a);
  // Between characters: the limit of 237 bytes is within the 119th.
  std::string umlauts;
  for (int i = 0; i < 126; ++i) umlauts += "\xc3\xb6";
  EXPECT_EQ(name(umlauts).substr(0, 237), umlauts.substr(0, 236) + "~");
}

TEST(ParseCompression, Table) {
  EXPECT_EQ(ParseCompression("none")->compression, io::Compression::kNone);
  EXPECT_EQ(ParseCompression("gzip")->compression, io::Compression::kGzip);
  EXPECT_FALSE(ParseCompression("gzip")->level.has_value());
  EXPECT_EQ(ParseCompression("zstd:19")->compression, io::Compression::kZstd);
  EXPECT_EQ(ParseCompression("zstd:19")->level, 19);
  for (const char* bad : {"", "bzip2", "none:3", "zstd:", "zstd:x", "gzip:1:2", "GZIP"}) {
    EXPECT_FALSE(ParseCompression(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace tracekiln::tools
