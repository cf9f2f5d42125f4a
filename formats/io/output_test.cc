#include "formats/io/output.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/io/executor.h"
#include "gtest/gtest.h"

namespace tracekiln::io {
namespace {

// A fresh empty directory.
std::string TestDirectory() {
  std::string path = testing::TempDir() + "/outXXXXXX";
  EXPECT_NE(::mkdtemp(path.data()), nullptr);
  return path;
}

std::vector<std::string> List(const std::string& directory) {
  std::vector<std::string> names;
  DIR* const dir = ::opendir(directory.c_str());
  while (const dirent* const entry = ::readdir(dir)) {
    if (entry->d_name[0] != '.') names.push_back(entry->d_name);
  }
  ::closedir(dir);
  return names;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::string TraceText(size_t size) {
  std::mt19937 random(7);
  std::string text;
  while (text.size() < size) {
    absl::StrAppend(&text, "{\"ph\":\"X\",\"name\":\"aten::op_", random() % 50, "\",\"ts\":", random() % 1000000,
                    "},\n");
  }
  text.resize(size);
  return text;
}

std::string Noise(size_t size) {
  std::mt19937 random(8);
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

// The first member only, as catapult reads a file; `rest` is what stands behind it.
std::string ZlibGunzip(const std::string& bytes, size_t* rest) {
  z_stream stream = {};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  std::string out, part(1 << 20, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  int code = Z_OK;
  while (code == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(part.data());
    stream.avail_out = static_cast<uInt>(part.size());
    code = inflate(&stream, Z_NO_FLUSH);
    out.append(part, 0, part.size() - stream.avail_out);
  }
  EXPECT_EQ(code, Z_STREAM_END);
  *rest = stream.avail_in;
  inflateEnd(&stream);
  return out;
}

std::string Unzstd(const std::string& bytes) {
  std::string out;
  size_t at = 0;
  while (at < bytes.size()) {
    const size_t frame_bytes = ZSTD_findFrameCompressedSize(&bytes[at], bytes.size() - at);
    if (ZSTD_isError(frame_bytes)) return "not a frame";
    std::string part(ZSTD_getFrameContentSize(&bytes[at], frame_bytes), '\0');
    const size_t got = ZSTD_decompress(part.data(), part.size(), &bytes[at], frame_bytes);
    if (ZSTD_isError(got) || got != part.size()) return "damaged frame";
    out += part;
    at += frame_bytes;
  }
  return out;
}

std::string Compress(const std::string& bytes, Compression compression, int level, Executor* executor,
                     size_t write_bytes) {
  std::string out;
  auto sink = MakeCompressingSink(std::make_unique<StringSink>(&out), compression, level, executor);
  EXPECT_TRUE(sink.ok()) << sink.status();
  for (size_t at = 0; at < bytes.size(); at += write_bytes) {
    (*sink)->Write(absl::string_view(bytes).substr(at, write_bytes));
  }
  EXPECT_EQ((*sink)->bytes_written(), bytes.size());
  const absl::Status status = (*sink)->Close();
  EXPECT_TRUE(status.ok()) << status;
  return out;
}

TEST(CreateOutputTest, TargetAppearsWholeAtClose) {
  const std::string directory = TestDirectory();
  const std::string path = directory + "/out.json";
  std::ofstream(path) << "old";
  auto sink = CreateOutput(path);
  ASSERT_TRUE(sink.ok()) << sink.status();
  (*sink)->Write("new ");
  (*sink)->Write("text");
  EXPECT_EQ(ReadFile(path), "old");
  EXPECT_EQ(List(directory).size(), 2u);
  EXPECT_TRUE((*sink)->Close().ok());
  EXPECT_TRUE((*sink)->Close().ok());
  (*sink)->Write("after the end");
  sink->reset();
  EXPECT_EQ(ReadFile(path), "new text");
  EXPECT_EQ(List(directory), std::vector<std::string>{"out.json"});
}

TEST(CreateOutputTest, WithoutCloseNothingIsLeft) {
  const std::string directory = TestDirectory();
  const std::string path = directory + "/out.json";
  std::ofstream(path) << "old";
  for (const Compression compression : {Compression::kNone, Compression::kGzip, Compression::kZstd}) {
    auto sink = CreateOutput(path, {.compression = compression});
    ASSERT_TRUE(sink.ok());
    (*sink)->Write(Noise(3 << 20));
    sink->reset();
    EXPECT_EQ(ReadFile(path), "old");
    EXPECT_EQ(List(directory), std::vector<std::string>{"out.json"});
  }
}

TEST(CreateOutputTest, TwoWritersOfOnePathDoNotMix) {
  const std::string path = TestDirectory() + "/out";
  auto first = CreateOutput(path);
  auto second = CreateOutput(path);
  ASSERT_TRUE(first.ok() && second.ok());
  (*first)->Write("first");
  (*second)->Write("second");
  EXPECT_TRUE((*second)->Close().ok());
  EXPECT_TRUE((*first)->Close().ok());
  EXPECT_EQ(ReadFile(path), "first");
}

TEST(CreateOutputTest, NamesMayBeAsLongAsTheFileSystemAllows) {
  const std::string directory = TestDirectory();
  std::string umlauts = "x";
  while (umlauts.size() < 255) umlauts += "\xc3\xb6";
  std::vector<std::unique_ptr<ByteSink>> sinks;
  for (const std::string& name : {std::string(254, 'a') + "a", std::string(254, 'a') + "b", umlauts}) {
    absl::StatusOr<std::unique_ptr<ByteSink>> sink = CreateOutput(directory + "/" + name);
    ASSERT_TRUE(sink.ok()) << sink.status();
    (*sink)->Write(name);
    sinks.push_back(*std::move(sink));
  }
  for (const std::unique_ptr<ByteSink>& sink : sinks) EXPECT_TRUE(sink->Close().ok());
  ASSERT_EQ(List(directory).size(), 3u);
  for (const std::string& name : List(directory)) EXPECT_EQ(ReadFile(directory + "/" + name), name);
}

TEST(CreateOutputTest, WritesThroughASymbolicLink) {
  const std::string directory = TestDirectory();
  std::ofstream(directory + "/target") << "old";
  ASSERT_EQ(::symlink("target", (directory + "/link").c_str()), 0);
  auto sink = CreateOutput(directory + "/link");
  ASSERT_TRUE(sink.ok());
  (*sink)->Write("new");
  EXPECT_TRUE((*sink)->Close().ok());
  EXPECT_EQ(ReadFile(directory + "/target"), "new");
  struct stat info;
  ASSERT_EQ(::lstat((directory + "/link").c_str(), &info), 0);
  EXPECT_TRUE(S_ISLNK(info.st_mode));
}

TEST(CreateOutputTest, SaysWhatCannotBeCreated) {
  const std::string directory = TestDirectory();
  const absl::Status missing = CreateOutput(directory + "/no/such").status();
  EXPECT_TRUE(absl::IsNotFound(missing)) << missing;
  EXPECT_TRUE(absl::StrContains(missing.message(), directory + "/no/such"));
  EXPECT_TRUE(absl::IsInvalidArgument(CreateOutput(directory).status()));
  for (const int level : {-1, 4}) {
    EXPECT_TRUE(absl::IsInvalidArgument(
        CreateOutput(directory + "/x", {.compression = Compression::kGzip, .level = level}).status()));
  }
  for (const int level : {0, 20}) {
    EXPECT_TRUE(absl::IsInvalidArgument(
        CreateOutput(directory + "/x", {.compression = Compression::kZstd, .level = level}).status()));
  }
  EXPECT_TRUE(List(directory).empty());
}

TEST(CreateOutputTest, AFullDiskIsAnErrorThatStays) {
  for (const Compression compression : {Compression::kNone, Compression::kGzip, Compression::kZstd}) {
    auto sink = CreateOutput("/dev/full", {.compression = compression});
    ASSERT_TRUE(sink.ok()) << sink.status();
    for (int i = 0; i < 40; ++i) (*sink)->Write(Noise(1 << 18));
    EXPECT_FALSE((*sink)->status().ok());
    const absl::Status status = (*sink)->Close();
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "/dev/full")) << status;
    EXPECT_EQ((*sink)->Close(), status);
  }
  auto small = CreateOutput("/dev/full");
  ASSERT_TRUE(small.ok());
  (*small)->Write("waits in the buffer");
  EXPECT_TRUE((*small)->status().ok());
  EXPECT_TRUE(absl::IsResourceExhausted((*small)->Close()));
}

TEST(CreateOutputTest, AClosedPipeIsAnErrorWithTheName) {
  const auto old_handler = std::signal(SIGPIPE, SIG_IGN);
  const int saved = ::dup(STDOUT_FILENO);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  ::dup2(ends[1], STDOUT_FILENO);
  absl::Status status;
  {
    auto sink = CreateOutput("-");
    (*sink)->Write("nobody reads this");
    status = (*sink)->Close();
  }
  ::dup2(saved, STDOUT_FILENO);
  ::close(saved);
  ::close(ends[1]);
  std::signal(SIGPIPE, old_handler);
  EXPECT_FALSE(status.ok());
  EXPECT_TRUE(absl::StartsWith(status.message(), "<stdout>: ")) << status;
}

TEST(CreateOutputTest, DashIsStandardOutputAndStaysOpen) {
  const std::string path = TestDirectory() + "/stdout";
  const int saved = ::dup(STDOUT_FILENO);
  const int fd = ::open(path.c_str(), O_CREAT | O_WRONLY, 0600);
  ::dup2(fd, STDOUT_FILENO);
  bool is_ok;
  {
    auto sink = CreateOutput("-");
    (*sink)->Write("text");
    is_ok = (*sink)->Close().ok();
  }
  const bool is_open = ::fcntl(STDOUT_FILENO, F_GETFD) >= 0;
  ::dup2(saved, STDOUT_FILENO);
  ::close(saved);
  ::close(fd);
  EXPECT_TRUE(is_ok && is_open);
  EXPECT_EQ(ReadFile(path), "text");
}

TEST(CompressingSinkTest, OtherProgramsReadWhatIsWritten) {
  for (const size_t size :
       {size_t{0}, size_t{1}, size_t{100000}, size_t{512} << 10, (size_t{512} << 10) + 1, size_t{5} << 20}) {
    for (const bool is_noise : {false, true}) {
      const std::string bytes = is_noise ? Noise(size) : TraceText(size);
      for (int level = 0; level <= 3; ++level) {
        const std::string packed = Compress(bytes, Compression::kGzip, level, nullptr, 1 << 20);
        size_t rest = 0;
        ASSERT_TRUE(ZlibGunzip(packed, &rest) == bytes) << size << " level " << level;
        EXPECT_EQ(rest, 0u) << "more than one member";
        EXPECT_LE(packed.size(), size + size / 100 + 100);
      }
      const std::string packed = Compress(bytes, Compression::kZstd, 3, nullptr, 1 << 20);
      ASSERT_TRUE(Unzstd(packed) == bytes) << size;
      EXPECT_FALSE(packed.empty());
    }
  }
}

TEST(CompressingSinkTest, OutputDoesNotDependOnThreadsOrWrites) {
  const std::string bytes = TraceText(9 << 20);
  for (const Compression compression : {Compression::kGzip, Compression::kZstd}) {
    const std::string want = Compress(bytes, compression, 1, nullptr, bytes.size());
    for (const int thread_count : {1, 2, 5}) {
      ThreadPool pool(thread_count);
      EXPECT_TRUE(Compress(bytes, compression, 1, &pool, 77777) == want) << thread_count;
    }
    InlineExecutor executor;
    EXPECT_TRUE(Compress(bytes, compression, 1, &executor, 1 << 22) == want);
  }
}

TEST(CompressingSinkTest, CanBeUsedFromTheOnlyThreadOfItsExecutor) {
  const std::string bytes = TraceText(4 << 20);
  std::string packed;
  {
    ThreadPool pool(1);
    pool.Schedule([&] { packed = Compress(bytes, Compression::kGzip, 1, &pool, 100000); });
  }
  size_t rest = 0;
  EXPECT_TRUE(ZlibGunzip(packed, &rest) == bytes);
}

TEST(CompressingSinkTest, CanBeDestroyedWithWorkInFlight) {
  std::string out;
  ThreadPool pool(2);
  for (int i = 0; i < 10; ++i) {
    auto sink = MakeCompressingSink(std::make_unique<StringSink>(&out), Compression::kGzip, 1, &pool);
    (*sink)->Write(TraceText(2 << 20));
  }
}

TEST(CompressionForPathTest, LooksAtTheEnd) {
  EXPECT_EQ(CompressionForPath("a/b.json.gz"), Compression::kGzip);
  EXPECT_EQ(CompressionForPath("b.json.zst"), Compression::kZstd);
  EXPECT_EQ(CompressionForPath("b.gz.json"), Compression::kNone);
  EXPECT_EQ(CompressionForPath("-"), Compression::kNone);
}

}  // namespace
}  // namespace tracekiln::io
