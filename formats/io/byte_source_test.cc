#include "formats/io/byte_source.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "formats/io/random_access.h"
#include "gtest/gtest.h"

namespace tracekiln::io {
namespace {

std::string TestPath(const std::string& name) { return testing::TempDir() + "/" + name; }

std::string WriteFile(const std::string& name, const std::string& bytes) {
  const std::string path = TestPath(name);
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::string Pattern(size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31 + i / 253);
  return bytes;
}

std::string Drain(ByteSource* source, size_t step) {
  std::string all, part(step, '\0');
  while (const size_t got = source->Read(part.data(), step)) all.append(part, 0, got);
  return all;
}

// Delivers `bytes` a few at a time and then fails.
class FailingSource final : public ByteSource {
 public:
  FailingSource(std::string bytes, absl::Status end) : ByteSource("failing"), bytes_(std::move(bytes)), end_(end) {}
  int calls_after_end_count() const { return calls_after_end_count_; }

 protected:
  size_t ReadSome(char* out, size_t size) override {
    const size_t done = static_cast<size_t>(position());
    if (done == bytes_.size()) {
      ++calls_after_end_count_;
      set_status(end_);
      return 0;
    }
    const size_t got = std::min({size, size_t{3}, bytes_.size() - done});
    bytes_.copy(out, got, done);
    return got;
  }

 private:
  const std::string bytes_;
  const absl::Status end_;
  int calls_after_end_count_ = 0;
};

TEST(RandomAccessFileTest, FileAndMemoryReadTheSameAnywhere) {
  const std::string bytes = Pattern(5000);
  auto file = OpenRandomAccess(WriteFile("random", bytes));
  ASSERT_TRUE(file.ok()) << file.status();
  for (const std::shared_ptr<RandomAccessFile>& each : {*file, MakeMemoryFile(bytes, "memory")}) {
    EXPECT_EQ(each->size(), 5000u);
    std::string part(100, '\0');
    ASSERT_TRUE(each->ReadAt(4900, 100, part.data()).ok());
    EXPECT_EQ(part, bytes.substr(4900));
    ASSERT_TRUE(each->ReadAt(0, 1, part.data()).ok());
    EXPECT_EQ(part[0], bytes[0]);
    EXPECT_TRUE(each->ReadAt(5000, 0, part.data()).ok());
    EXPECT_TRUE(absl::IsOutOfRange(each->ReadAt(4901, 100, part.data())));
    EXPECT_TRUE(absl::IsOutOfRange(each->ReadAt(UINT64_MAX, 1, part.data())));
    EXPECT_TRUE(absl::IsOutOfRange(each->ReadAt(1, SIZE_MAX, part.data())));
  }
}

TEST(RandomAccessFileTest, SaysWhatCannotBeOpened) {
  const auto missing = OpenRandomAccess(TestPath("missing"));
  EXPECT_TRUE(absl::IsNotFound(missing.status())) << missing.status();
  EXPECT_TRUE(absl::StrContains(missing.status().message(), TestPath("missing")));
  EXPECT_TRUE(absl::IsInvalidArgument(OpenRandomAccess(testing::TempDir()).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(OpenRandomAccess("/dev/null").status()));
}

TEST(RandomAccessFileTest, AFileThatShrinksIsDataLoss) {
  const std::string path = WriteFile("shrinks", Pattern(100));
  auto file = OpenRandomAccess(path);
  ASSERT_TRUE(file.ok());
  ASSERT_EQ(::truncate(path.c_str(), 50), 0);
  std::string part(100, '\0');
  EXPECT_TRUE(absl::IsDataLoss((*file)->ReadAt(0, 100, part.data())));
  auto source = MakeFileSource(*file);
  EXPECT_EQ(Drain(source.get(), 1000), "");
  EXPECT_TRUE(absl::IsDataLoss(source->status()));
}

TEST(FileSourceTest, ReadsARangeInStepsOfAnySize) {
  const std::string bytes = Pattern(3000);
  auto file = OpenRandomAccess(WriteFile("range", bytes));
  ASSERT_TRUE(file.ok());
  for (const size_t step : {1, 7, 1000, 100000}) {
    auto source = MakeFileSource(*file, 10, 2000);
    EXPECT_EQ(source->size_hint(), 2000u);
    EXPECT_EQ(Drain(source.get(), step), bytes.substr(10, 2000));
    EXPECT_TRUE(source->status().ok());
    EXPECT_EQ(source->position(), 2000u);
    EXPECT_EQ(source->raw_position(), 2000u);
  }
  auto clipped = MakeFileSource(*file, 2990);
  EXPECT_EQ(Drain(clipped.get(), 7), bytes.substr(2990));
  auto behind = MakeFileSource(*file, 5000, 10);
  EXPECT_EQ(Drain(behind.get(), 7), "");
  EXPECT_TRUE(behind->status().ok());
}

TEST(MemorySourceTest, DeliversItsBytesUnderItsName) {
  auto source = MakeMemorySource("hello", "greeting");
  EXPECT_EQ(source->name(), "greeting");
  EXPECT_EQ(source->size_hint(), 5u);
  char out[10];
  EXPECT_EQ(source->Read(out, 0), 0u);  // not the end
  EXPECT_EQ(source->ReadFully(out, 10), 5u);
  EXPECT_EQ(std::string(out, 5), "hello");
}

TEST(FdSourceTest, ReadsAPipeWrittenInPieces) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::thread writer([&] {
    for (int i = 0; i < 5; ++i) {
      if (::write(ends[1], "abc", 3) != 3) abort();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    ::close(ends[1]);
  });
  auto source = MakeFdSource(ends[0], /*owns_fd=*/true, "pipe");
  EXPECT_FALSE(source->raw_size().has_value());
  EXPECT_EQ(Drain(source.get(), 4), "abcabcabcabcabc");
  EXPECT_TRUE(source->status().ok());
  writer.join();
}

TEST(FdSourceTest, ReportsAnErrorOfTheSystemWithTheName) {
  const int fd = ::open(testing::TempDir().c_str(), O_RDONLY);
  auto source = MakeFdSource(fd, /*owns_fd=*/true, "somewhere");
  EXPECT_EQ(Drain(source.get(), 4), "");
  EXPECT_FALSE(source->status().ok());
  EXPECT_TRUE(absl::StartsWith(source->status().message(), "somewhere:0: ")) << source->status();
}

TEST(StdinSourceTest, ReadsWhatIsRedirectedToIt) {
  const std::string path = WriteFile("stdin", "from standard input");
  const int saved = ::dup(STDIN_FILENO);
  const int fd = ::open(path.c_str(), O_RDONLY);
  ASSERT_GE(::dup2(fd, STDIN_FILENO), 0);
  {
    auto source = MakeStdinSource();
    EXPECT_EQ(source->name(), "<stdin>");
    EXPECT_EQ(Drain(source.get(), 5), "from standard input");
  }
  EXPECT_EQ(::lseek(STDIN_FILENO, 0, SEEK_CUR), 19);  // still open
  if (saved >= 0) ::dup2(saved, STDIN_FILENO);
  ::close(fd);
}

TEST(PrefixedSourceTest, PutsBytesBack) {
  auto inner = MakeMemorySource("0123456789", "digits");
  char peeked[4];
  ASSERT_EQ(inner->ReadFully(peeked, 4), 4u);
  auto source = MakePrefixedSource("123", std::move(inner));  // as if one byte had been a mark to skip
  EXPECT_EQ(source->position(), 1u);
  EXPECT_EQ(Drain(source.get(), 2), "123456789");
  EXPECT_EQ(source->position(), 10u);
}

TEST(ByteSourceTest, FailureComesAfterTheBytesAndStays) {
  FailingSource source("abcdefgh", absl::DataLossError("torn"));
  EXPECT_EQ(Drain(&source, 5), "abcdefgh");
  EXPECT_TRUE(absl::IsDataLoss(source.status()));
  char out[1];
  EXPECT_EQ(source.Read(out, 1), 0u);
  EXPECT_EQ(source.calls_after_end_count(), 1);
}

TEST(ReadAheadSourceTest, DeliversTheSameBytesForAnyRing) {
  const std::string bytes = Pattern(100000);
  for (const int buffer_count : {1, 2, 4}) {
    for (const size_t buffer_bytes : {1000, 4096, 100000, 1000000}) {
      for (const size_t step : {999, 70000}) {
        auto source = MakeReadAheadSource(MakeMemorySource(bytes, "m"), buffer_count, buffer_bytes);
        ASSERT_EQ(Drain(source.get(), step), bytes) << buffer_count << " " << buffer_bytes << " " << step;
        EXPECT_TRUE(source->status().ok());
        EXPECT_EQ(source->position(), bytes.size());
        EXPECT_EQ(source->raw_position(), bytes.size());
      }
    }
  }
}

TEST(ReadAheadSourceTest, FailureComesAfterTheBytes) {
  for (const size_t size : {0, 1, 8, 16, 17}) {
    const std::string bytes = Pattern(size);
    auto source = MakeReadAheadSource(std::make_unique<FailingSource>(bytes, absl::DataLossError("torn")), 2, 8);
    EXPECT_EQ(Drain(source.get(), 3), bytes);
    EXPECT_TRUE(absl::IsDataLoss(source->status())) << size;
  }
}

TEST(ReadAheadSourceTest, CanBeDestroyedAtAnyMoment) {
  for (int i = 0; i < 50; ++i) {
    auto source = MakeReadAheadSource(MakeMemorySource(Pattern(10000), "m"), 2, 100);
    std::string part(static_cast<size_t>(i) * 50 + 1, '\0');
    source->ReadFully(part.data(), part.size());
  }
}

TEST(ReadAheadSourceTest, CanBeDestroyedWhileItWaitsForAPipe) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const auto start = std::chrono::steady_clock::now();
  MakeReadAheadSource(MakeFdSource(ends[0], /*owns_fd=*/true, "silent pipe")).reset();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  ::close(ends[1]);
}

TEST(ReadAllTest, StopsAtTheLimit) {
  const std::string bytes = Pattern(200000);
  auto source = MakeMemorySource(bytes, "m");
  auto all = ReadAll(source.get(), 200000);
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(*all, bytes);
  source = MakeMemorySource(bytes, "m");
  EXPECT_TRUE(absl::IsResourceExhausted(ReadAll(source.get(), 199999).status()));
  FailingSource failing("abc", absl::DataLossError("torn"));
  EXPECT_TRUE(absl::IsDataLoss(ReadAll(&failing, 100).status()));
}

}  // namespace
}  // namespace tracekiln::io
