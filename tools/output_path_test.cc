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
