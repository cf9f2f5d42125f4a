#include "analysis/profile_table/rename_functions.h"

#include "gtest/gtest.h"

namespace tracekiln::profile_table {
namespace {

TEST(RenameFunctionsTest, FunctionsAndEdgesThatBecomeOneAddUp) {
  Profile profile;
  const FunctionId x = profile.AddFunction("/x/a.py", 1, "f");
  const FunctionId y = profile.AddFunction("/y/a.py", 1, "f");
  const FunctionId g = profile.AddFunction("g.py", 2, "g");
  const FunctionId only_caller = profile.AddFunction("z/a.py", 1, "f");
  profile.AddStats(g, {5, 5, 50, 50});
  profile.AddStats(y, {2, 2, 20, 200});
  profile.AddStats(x, {1, 1, 10, 100});
  profile.AddCallerStats(x, g, {2, 2, 15, 15});
  profile.AddCallerStats(y, g, {3, 3, 35, 35});
  profile.AddCallerStats(only_caller, x, {1, 1, 1, 1});

  const Profile stripped = StripDirectories(profile);
  ASSERT_EQ(stripped.functions().size(), 2u);
  EXPECT_EQ(stripped.row_count(), 2u);
  const FunctionId f = *stripped.FindFunction("a.py", 1, "f");
  const FunctionId g2 = *stripped.FindFunction("g.py", 2, "g");
  EXPECT_EQ(stripped.rows(), (std::vector<FunctionId>{g2, f}));
  EXPECT_EQ(stripped.function(f).stats, (CallStats{3, 3, 30, 300}));
  ASSERT_EQ(stripped.edges().size(), 2u);
  // pstats would say 3: it keeps one of the two callers' numbers.
  EXPECT_EQ(stripped.edges()[0].stats, (CallStats{5, 5, 50, 50}));
  EXPECT_EQ(stripped.edges()[1].caller, f);
  EXPECT_EQ(stripped.edges()[1].callee, f);
}

TEST(RenameFunctionsTest, DirectoriesAreWhatIsBeforeTheLastSlash) {
  Profile profile;
  for (const char* file : {"a/b/c.py", "c.py/", "/", "", "~", "C:\\a\\b.py", "x/~"}) {
    profile.AddStats(profile.AddFunction(file, 0, file), {});
  }
  const Profile stripped = StripDirectories(profile);
  std::vector<std::string> files;
  for (const FunctionId row : stripped.rows()) files.emplace_back(stripped.file(row));
  EXPECT_EQ(files, (std::vector<std::string>{"c.py", "", "", "", "~", "C:\\a\\b.py", "~"}));
}

TEST(RenameFunctionsTest, LinesCanBeIgnored) {
  Profile profile;
  profile.AddStats(profile.AddFunction("a.py", 1, "<lambda>"), {1, 1, 1, 1});
  profile.AddStats(profile.AddFunction("a.py", 2, "<lambda>"), {2, 2, 2, 2});
  profile.AddStats(profile.AddFunction("b.py", 2, "<lambda>"), {4, 4, 4, 4});
  const Profile ignored = IgnoreLines(profile);
  ASSERT_EQ(ignored.row_count(), 2u);
  EXPECT_EQ(ignored.functions()[0].stats, (CallStats{3, 3, 3, 3}));
  EXPECT_EQ(ignored.functions()[1].line, 0);
}

}  // namespace
}  // namespace tracekiln::profile_table
