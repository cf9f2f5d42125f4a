#include "tools/output_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/io/byte_sink.h"
#include "gtest/gtest.h"
#include "tools/output_path.h"

namespace tracekiln::tools {
namespace {

class OutputDirectoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "/directory_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  static absl::Status Write(DirectoryOutput& directory, absl::string_view name, absl::string_view text) {
    absl::StatusOr<std::unique_ptr<io::ByteSink>> sink = directory.Create(name);
    if (!sink.ok()) return sink.status();
    (*sink)->Write(text);
    return (*sink)->Close();
  }
  static std::string ReadFile(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  std::string root_;
};

TEST_F(OutputDirectoryTest, FilesAppearWhenTheyAreWhole) {
  DirectoryOutput directory(root_ + "/new/", {});
  EXPECT_FALSE(FileExists(root_ + "/new"));
  absl::StatusOr<std::unique_ptr<io::ByteSink>> sink = directory.Create("a.prof");
  ASSERT_TRUE(sink.ok()) << sink.status();
  (*sink)->Write("text");
  EXPECT_FALSE(FileExists(root_ + "/new/a.prof"));
  ASSERT_TRUE((*sink)->Close().ok());
  EXPECT_EQ(ReadFile(root_ + "/new/a.prof"), "text");
  ASSERT_TRUE(directory.Create("never closed").ok());
  EXPECT_FALSE(FileExists(root_ + "/new/never closed"));
  EXPECT_EQ(directory.file_count(), 2u);
  directory.RemoveIfEmpty();
  EXPECT_TRUE(FileExists(root_ + "/new/a.prof"));
}

TEST_F(OutputDirectoryTest, NamesThatAreNoneOfAFileAreRefused) {
  DirectoryOutput directory(root_ + "/new", {});
  for (const std::string& name : {std::string(), std::string("."), std::string(".."), std::string("a/b"),
                                  std::string("/etc/passwd"), std::string("a\0b", 3), std::string(256, 'x')}) {
    EXPECT_EQ(directory.Create(name).status().code(), absl::StatusCode::kInvalidArgument) << name;
  }
  EXPECT_EQ(directory.file_count(), 0u);
  EXPECT_FALSE(FileExists(root_ + "/new"));
}

TEST_F(OutputDirectoryTest, NothingIsReplacedUnlessAllowed) {
  std::ofstream(root_ + "/a") << "precious";
  std::ofstream(root_ + "/input") << "input";
  ASSERT_EQ(symlink("nowhere", (root_ + "/link").c_str()), 0);
  {
    DirectoryOutput directory(root_, {});
    EXPECT_EQ(Write(directory, "a", "new").code(), absl::StatusCode::kAlreadyExists);
    EXPECT_EQ(Write(directory, "link", "new").code(), absl::StatusCode::kAlreadyExists);
  }
  DirectoryOutput directory(root_, {.replaces = true, .never = {root_ + "/input"}});
  EXPECT_EQ(Write(directory, "a", "new"), absl::OkStatus());
  EXPECT_EQ(Write(directory, "a", "newer").code(), absl::StatusCode::kAlreadyExists) << "its own file";
  EXPECT_EQ(Write(directory, "input", "new").code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(ReadFile(root_ + "/a"), "new");
  EXPECT_EQ(ReadFile(root_ + "/input"), "input");
}

TEST_F(OutputDirectoryTest, OnlyItsOwnEmptyDirectoryIsRemoved) {
  DirectoryOutput mine(root_ + "/mine", {});
  ASSERT_TRUE(mine.Create("a").ok());  // never closed
  EXPECT_TRUE(IsDirectory(root_ + "/mine"));
  mine.RemoveIfEmpty();
  EXPECT_FALSE(FileExists(root_ + "/mine"));

  ASSERT_EQ(mkdir((root_ + "/theirs").c_str(), 0755), 0);
  DirectoryOutput theirs(root_ + "/theirs", {});
  ASSERT_TRUE(theirs.Create("a").ok());
  theirs.RemoveIfEmpty();
  EXPECT_TRUE(IsDirectory(root_ + "/theirs"));
}

TEST_F(OutputDirectoryTest, CanBeDirectoryTable) {
  std::ofstream(root_ + "/file") << "x";
  EXPECT_TRUE(CanBeDirectory(root_));
  EXPECT_TRUE(CanBeDirectory(root_ + "/new"));
  EXPECT_TRUE(CanBeDirectory(root_ + "/new//"));
  EXPECT_TRUE(CanBeDirectory("/"));
  EXPECT_TRUE(CanBeDirectory("new"));
  EXPECT_FALSE(CanBeDirectory(""));
  EXPECT_FALSE(CanBeDirectory(root_ + "/file"));
  EXPECT_FALSE(CanBeDirectory(root_ + "/file/new"));
  EXPECT_FALSE(CanBeDirectory(root_ + "/no/new"));
}

}  // namespace
}  // namespace tracekiln::tools
