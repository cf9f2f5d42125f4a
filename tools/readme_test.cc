// The README's table of formats is the one that `tracekiln formats --markdown` prints.
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "formats/all_formats.h"
#include "gtest/gtest.h"
#include "tools/command.h"
#include "tools/commands.h"

namespace tracekiln::tools {
namespace {

constexpr char kBegin[] = "<!-- formats -->\n";
constexpr char kEnd[] = "<!-- /formats -->";

TEST(Readme, TableOfFormatsIsUpToDate) {
  std::ifstream file("README.md");
  ASSERT_TRUE(file.is_open());
  std::stringstream readme_stream;
  readme_stream << file.rdbuf();
  const std::string readme = readme_stream.str();
  const size_t begin = readme.find(kBegin);
  const size_t end = readme.find(kEnd);
  ASSERT_NE(begin, std::string::npos) << "README.md has no line " << kBegin;
  ASSERT_NE(end, std::string::npos) << "README.md has no line " << kEnd;
  ASSERT_LT(begin, end);

  std::string want;
  io::StringSink out(&want);
  Streams streams;
  streams.out = &out;
  streams.err = [](absl::string_view text) { ADD_FAILURE() << text; };
  static const Command* const commands[] = {&FormatsCommand()};
  const std::string args[] = {"formats", "--markdown"};
  ASSERT_EQ(RunTool(commands, AllFormats(), streams, args), kDone);
  const size_t from = begin + sizeof(kBegin) - 1;
  EXPECT_EQ(readme.substr(from, end - from), want)
      << "README.md is out of date: put the output of\n  tracekiln formats --markdown\nbetween its two markers";
}

}  // namespace
}  // namespace tracekiln::tools
