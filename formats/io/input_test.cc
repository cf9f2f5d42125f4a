#include "formats/io/input.h"

#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/io/byte_source.h"
#include "formats/io/decompress.h"
#include "formats/io/utf16_source.h"
#include "gtest/gtest.h"

namespace tracekiln::io {
namespace {

std::string Text(size_t size, int seed = 1) {
  std::mt19937 random(seed);
  std::string text;
  while (text.size() < size) {
    absl::StrAppend(&text, "{\"ph\":\"X\",\"name\":\"op_", random() % 40, "\",\"ts\":", random() % 100000, "},\n");
  }
  text.resize(size);
  return text;
}

// wbits as for deflateInit2: 31 gzip, -15 bare deflate.
std::string Deflate(const std::string& bytes, int wbits, int level = 6) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, level, Z_DEFLATED, wbits, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, bytes.size()) + 100, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

std::string Gzip(const std::string& bytes, int level = 6) { return Deflate(bytes, 31, level); }

// A member with every optional field of the header.
std::string GzipWithFields(const std::string& bytes) {
  std::string header("\x1f\x8b\x08\x1e\x01\x02\x03\x04\x00\x03", 10);
  header += std::string("\x05\x00", 2) + "extra" + std::string("name\0", 5) + std::string("comment\0", 8);
  const uint32_t crc = crc32(0, reinterpret_cast<const Bytef*>(header.data()), header.size());
  header.push_back(static_cast<char>(crc));
  header.push_back(static_cast<char>(crc >> 8));
  return header + Gzip(bytes).substr(10);
}

std::string Zstd(const std::string& bytes, bool has_checksum = true) {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, has_checksum ? 1 : 0);
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress2(context, out.data(), out.size(), bytes.data(), bytes.size()));
  ZSTD_freeCCtx(context);
  return out;
}

std::string Little(uint64_t value, int byte_count) {
  std::string bytes;
  for (int i = 0; i < byte_count; ++i) bytes.push_back(static_cast<char>(value >> 8 * i));
  return bytes;
}

std::string Skippable(const std::string& payload) {
  return std::string("\x53\x2a\x4d\x18", 4) + Little(payload.size(), 4) + payload;
}

// Writes zip archives, also wrong ones.
class ZipBuilder {
 public:
  struct Options {
    bool is_deflated = true;
    bool is_zip64 = false;
    uint16_t flags = 0;
    int method = -1;  // as it should be
    uint32_t crc_change = 0;
    int64_t size_change = 0;
  };

  ZipBuilder& Add(const std::string& name, const std::string& bytes) { return Add(name, bytes, Options()); }
  ZipBuilder& Add(const std::string& name, const std::string& bytes, const Options& options) {
    const std::string packed = options.is_deflated ? Deflate(bytes, -15) : bytes;
    const uint32_t crc = static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size())) ^
                         options.crc_change;
    const int method = options.method >= 0 ? options.method : options.is_deflated ? 8 : 0;
    const uint64_t size = static_cast<uint64_t>(static_cast<int64_t>(bytes.size()) + options.size_change);
    const uint64_t offset = file_.size();
    const std::string extra = "\xaa\xaa" + Little(2, 2) + "??";  // only in the local header
    file_ += "PK\x03\x04" + Little(20, 2) + Little(options.flags, 2) + Little(method, 2) + Little(0, 4) +
             Little(crc, 4) + Little(packed.size(), 4) + Little(size, 4) + Little(name.size(), 2) +
             Little(extra.size(), 2) + name + extra + packed;
    std::string extra64;
    if (options.is_zip64) {
      extra64 = "\xbb\xbb" + Little(1, 2) + "!" + Little(1, 2) + Little(24, 2) + Little(size, 8) +
                Little(packed.size(), 8) + Little(offset, 8);
    }
    const uint64_t none = 0xffffffff;
    directory_ += "PK\x01\x02" + Little(20, 2) + Little(20, 2) + Little(options.flags, 2) + Little(method, 2) +
                  Little(0, 4) + Little(crc, 4) + Little(options.is_zip64 ? none : packed.size(), 4) +
                  Little(options.is_zip64 ? none : size, 4) + Little(name.size(), 2) + Little(extra64.size(), 2) +
                  Little(0, 2) + Little(0, 2) + Little(0, 2) + Little(0, 4) +
                  Little(options.is_zip64 ? none : offset, 4) + name + extra64;
    ++count_;
    has_zip64_ |= options.is_zip64;
    return *this;
  }

  std::string Finish(const std::string& comment = "") const {
    std::string out = file_ + directory_;
    if (has_zip64_) {
      out += "PK\x06\x06" + Little(44, 8) + Little(45, 2) + Little(45, 2) + Little(0, 4) + Little(0, 4) +
             Little(count_, 8) + Little(count_, 8) + Little(directory_.size(), 8) + Little(file_.size(), 8);
      out += "PK\x06\x07" + Little(0, 4) + Little(file_.size() + directory_.size(), 8) + Little(1, 4);
      return out + "PK\x05\x06" + Little(0, 4) + Little(0xffff, 2) + Little(0xffff, 2) + Little(0xffffffff, 4) +
             Little(0xffffffff, 4) + Little(comment.size(), 2) + comment;
    }
    return out + "PK\x05\x06" + Little(0, 4) + Little(count_, 2) + Little(count_, 2) + Little(directory_.size(), 4) +
           Little(file_.size(), 4) + Little(comment.size(), 2) + comment;
  }

 private:
  std::string file_;
  std::string directory_;
  int count_ = 0;
  bool has_zip64_ = false;
};

// What opening and reading everything gives. `bytes` is what came before a failure.
struct Result {
  absl::Status status;
  std::string bytes;
  std::vector<std::string> notes;
  Container container = Container::kPlain;
  bool is_random_access = false;
  uint64_t start_position = 0;
};

Result Collect(absl::StatusOr<std::unique_ptr<Input>> input) {
  Result result;
  if (!input.ok()) {
    result.status = input.status();
    return result;
  }
  const std::string head((*input)->Head());
  result.notes = (*input)->notes();
  result.container = (*input)->container();
  result.is_random_access = (*input)->random_access() != nullptr;
  const std::unique_ptr<ByteSource> stream = (*input)->Stream();
  EXPECT_EQ((*input)->Stream(), nullptr);
  input->reset();  // the stream lives on
  result.start_position = stream->position();
  std::string part(30000, '\0');
  while (const size_t got = stream->Read(part.data(), part.size())) result.bytes.append(part, 0, got);
  EXPECT_EQ(stream->position() - result.start_position, result.bytes.size());
  result.status = stream->status();
  EXPECT_EQ(head, result.bytes.substr(0, kHeadBytes));
  return result;
}

Result Open(const std::string& bytes, bool read_ahead = false) {
  OpenOptions options;
  options.read_ahead = read_ahead;
  return Collect(OpenMemory(bytes, "in.json", options));
}

TEST(InputTest, FindsTheContainerByContent) {
  const std::string text = Text(200000);
  struct Case {
    const char* name;
    std::string input;
    Container container;
    std::string want;
  };
  const std::string kiln = Skippable("KILN rest of a header") + Zstd("chunk");
  const Case cases[] = {
      {"empty", "", Container::kPlain, ""},
      {"one byte", "\x1f", Container::kPlain, "\x1f"},
      {"plain", text, Container::kPlain, text},
      {"gzip", Gzip(text), Container::kGzip, text},
      {"gzip stored", Gzip(text, 0), Container::kGzip, text},
      {"gzip of nothing", Gzip(""), Container::kGzip, ""},
      {"gzip with all header fields", GzipWithFields(text), Container::kGzip, text},
      {"gzip of three members", Gzip("ab") + Gzip("") + Gzip(text), Container::kGzip, "ab" + text},
      {"gzip, zeros behind", Gzip(text) + std::string(1000000, '\0'), Container::kGzip, text},
      {"gzip, zeros between", Gzip("ab") + std::string(513, '\0') + Gzip("cd"), Container::kGzip, "abcd"},
      {"zstd", Zstd(text), Container::kZstd, text},
      {"zstd without checksum", Zstd(text, false), Container::kZstd, text},
      {"zstd of nothing", Zstd(""), Container::kZstd, ""},
      {"zstd of frames", Zstd("ab") + Skippable("xyz") + Zstd(text) + Skippable(""), Container::kZstd, "ab" + text},
      {"zstd, skippable first", Skippable("other") + Zstd("ab"), Container::kZstd, "ab"},
      {"our own file", kiln, Container::kPlain, kiln},
      {"zip deflated", ZipBuilder().Add("t.json", text).Finish(), Container::kZip, text},
      {"zip stored", ZipBuilder().Add("t.json", text, {.is_deflated = false}).Finish(), Container::kZip, text},
      {"zip with comment", ZipBuilder().Add("t.json", text).Finish("PK\x05\x06 not the end"), Container::kZip, text},
      {"zip64", ZipBuilder().Add("t.json", text, {.is_zip64 = true}).Finish(), Container::kZip, text},
      {"zip of an empty file", ZipBuilder().Add("t.json", "").Finish(), Container::kZip, ""},
      {"gzip in gzip", Gzip(Gzip(text)), Container::kGzip, text},
      {"gzip in zip", ZipBuilder().Add("t.json.gz", Gzip(text)).Finish(), Container::kZip, text},
      {"zip in zstd", Zstd(ZipBuilder().Add("t.json", text).Finish()), Container::kZstd, text},
      {"our own file in gzip", Gzip(kiln), Container::kGzip, kiln},
  };
  for (const Case& c : cases) {
    for (const bool read_ahead : {false, true}) {
      const Result result = Open(c.input, read_ahead);
      EXPECT_TRUE(result.status.ok()) << c.name << ": " << result.status;
      EXPECT_EQ(ContainerName(result.container), ContainerName(c.container)) << c.name;
      EXPECT_TRUE(result.bytes == c.want) << c.name << ": " << result.bytes.size() << " bytes";
      EXPECT_EQ(result.is_random_access, c.container == Container::kPlain) << c.name;
      EXPECT_TRUE(result.notes.empty()) << c.name;
    }
  }
}

TEST(InputTest, RefusesAThirdContainer) {
  const Result result = Open(Gzip(Zstd(Gzip("text"))));
  EXPECT_TRUE(absl::IsResourceExhausted(result.status)) << result.status;
}

TEST(InputTest, ConvertsTextEncodings) {
  struct Case {
    const char* name;
    std::string input;
    std::string want;
    const char* note;
  };
  const auto raw = [](const char* bytes, size_t size) { return std::string(bytes, size); };
  const Case cases[] = {
      {"UTF-8 mark", "\xef\xbb\xbf{}", "{}", "UTF-8 byte order mark skipped"},
      {"only a mark", "\xef\xbb\xbf", "", "UTF-8 byte order mark skipped"},
      {"two marks", "\xef\xbb\xbf\xef\xbb\xbf", "\xef\xbb\xbf", "UTF-8 byte order mark skipped"},
      {"half a mark", "\xef\xbb", "\xef\xbb", nullptr},
      {"little", raw("\xff\xfe{\0\xfc\0\x70\x65\x3d\xd8\x00\xde", 12), "{ü数😀", "UTF-16LE converted"},
      {"big", raw("\xfe\xff\0{\0\xfc\x65\x70\xd8\x3d\xde\x00", 12), "{ü数😀", "UTF-16BE converted"},
      {"little, no mark", raw("{\0\xfc\0", 4), "{ü", "UTF-16LE without a byte order mark converted"},
      {"zero bytes that are no UTF-16", raw("{\0\0x", 4), raw("{\0\0x", 4), nullptr},
      {"no JSON", raw("x\0y\0", 4), raw("x\0y\0", 4), nullptr},
      {"two units, no mark, little", raw("[\0]\0", 4), "[]", "UTF-16LE without a byte order mark converted"},
      {"two units, no mark, big", raw("\0[\0]", 4), "[]", "UTF-16BE without a byte order mark converted"},
      {"blanks, no mark", raw("\n\0[\0]\0", 6), "\n[]", "UTF-16LE without a byte order mark converted"},
      {"only a UTF-16 mark", "\xff\xfe", "", "UTF-16LE converted"},
      {"lone high", raw("\xff\xfe\x3d\xd8z\0", 6), "\xed\xa0\xbdz", "UTF-16LE converted"},
      {"lone low", raw("\xff\xfe\x00\xdez\0", 6), "\xed\xb8\x80z", "UTF-16LE converted"},
      {"high at the end", raw("\xff\xfez\0\x3d\xd8", 6), "z\xed\xa0\xbd", "UTF-16LE converted"},
      {"two high", raw("\xff\xfe\x3d\xd8\x3d\xd8\x00\xde", 8), "\xed\xa0\xbd😀", "UTF-16LE converted"},
      {"half a unit", raw("\xff\xfez\0z", 5), "z\xef\xbf\xbd", "UTF-16LE converted"},
  };
  for (const Case& c : cases) {
    for (const std::string& input : {c.input, Gzip(c.input)}) {
      const Result result = Open(input);
      EXPECT_TRUE(result.status.ok()) << c.name << ": " << result.status;
      EXPECT_EQ(result.bytes, c.want) << c.name;
      ASSERT_EQ(result.notes.size(), c.note == nullptr ? 0u : 1u) << c.name;
      if (c.note != nullptr) {
        EXPECT_EQ(result.notes[0], c.note) << c.name;
      }
    }
  }
  EXPECT_EQ(Open("\xef\xbb\xbf{}").start_position, 3u);
  EXPECT_TRUE(Open("\xef\xbb\xbf{}").is_random_access);
  EXPECT_FALSE(Open("\xff\xfe").is_random_access);
  EXPECT_TRUE(absl::IsUnimplemented(Open(raw("\xff\xfe\0\0{\0\0\0", 8)).status));
}

// Against an encoder that knows only whole code points, across the converter's block borders.
TEST(Utf16SourceTest, ConvertsWhatAPlainEncoderMade) {
  std::mt19937 random(5);
  std::string utf16, utf8;
  for (int i = 0; i < 100000; ++i) {
    uint32_t c = random() % 3 == 0 ? random() % 0x110000 : random() % 0x300;
    if (c >= 0xd800 && c < 0xe000) c = 'x';
    if (c < 0x80) {
      utf8 += Little(c, 1);
    } else if (c < 0x800) {
      utf8 += Little(0xc0 + c / 64, 1) + Little(0x80 + c % 64, 1);
    } else if (c < 0x10000) {
      utf8 += Little(0xe0 + c / 4096, 1) + Little(0x80 + c / 64 % 64, 1) + Little(0x80 + c % 64, 1);
    } else {
      utf8 += Little(0xf0 + c / 262144, 1) + Little(0x80 + c / 4096 % 64, 1) + Little(0x80 + c / 64 % 64, 1) +
              Little(0x80 + c % 64, 1);
    }
    if (c < 0x10000) {
      utf16 += Little(c, 2);
    } else {
      utf16 += Little(0xd800 + (c - 0x10000) / 1024, 2) + Little(0xdc00 + (c - 0x10000) % 1024, 2);
    }
  }
  for (const bool is_big_endian : {false, true}) {
    std::string bytes = utf16;
    if (is_big_endian) {
      for (size_t i = 0; i + 1 < bytes.size(); i += 2) std::swap(bytes[i], bytes[i + 1]);
    }
    auto source = MakeUtf16Source(MakeMemorySource(bytes, "m"), is_big_endian);
    auto all = ReadAll(source.get(), UINT64_MAX);
    ASSERT_TRUE(all.ok());
    EXPECT_TRUE(*all == utf8);
  }
}

TEST(InputTest, ErrorsNameFileOffsetAndReason) {
  const std::string text = Text(300000);
  const std::string gzip = Gzip(text);
  std::string bad_crc = gzip, bad_size = gzip, bad_method = gzip;
  bad_crc[bad_crc.size() - 8] ^= 1;
  bad_size[bad_size.size() - 4] ^= 1;
  bad_method[2] = 7;
  std::string bad_zstd_sum = Zstd(text);
  bad_zstd_sum.back() ^= 1;
  using Code = absl::StatusCode;
  struct Case {
    const char* name;
    std::string input;
    Code code;
    std::string message;  // a part of it
    size_t min_bytes;     // delivered before
  };
  const Case cases[] = {
      {"cut gzip", gzip.substr(0, gzip.size() - 9), Code::kDataLoss,
       absl::StrCat("in.json:", gzip.size() - 9, ": expected more gzip data"), 290000},
      {"cut gzip trailer", gzip.substr(0, gzip.size() - 1), Code::kDataLoss, "truncated", 300000},
      {"cut second member", gzip + "\x1f", Code::kDataLoss, "truncated", 300000},
      {"gzip checksum", bad_crc, Code::kDataLoss, "wrong checksum", 300000},
      {"gzip length", bad_size, Code::kDataLoss, "wrong checksum or length", 300000},
      {"gzip method", bad_method, Code::kDataLoss, "method", 0},
      {"garbage behind gzip", gzip + "garbage", Code::kInvalidArgument,
       absl::StrCat("in.json:", gzip.size(), ": expected the end of the file"), 300000},
      {"garbage behind zeros", gzip + std::string(5, '\0') + "g", Code::kInvalidArgument,
       absl::StrCat("in.json:", gzip.size() + 5, ": "), 300000},
      {"cut zstd", Zstd(text).substr(0, Zstd(text).size() - 1), Code::kDataLoss,
       absl::StrCat("in.json:", Zstd(text).size() - 1, ": expected more zstd data"), 300000},
      {"zstd checksum", bad_zstd_sum, Code::kDataLoss, "checksum", 300000},
      {"garbage behind zstd", Zstd(text) + "garbage", Code::kInvalidArgument,
       absl::StrCat("in.json:", Zstd(text).size(), ": "), 300000},
      {"little behind zstd", Zstd(text) + "g", Code::kDataLoss, "truncated", 300000},
      {"zstd window of 256 MiB", std::string("\x28\xb5\x2f\xfd\x00\x90\x01\x00\x00", 9), Code::kResourceExhausted,
       "in.json:", 0},
      {"cut zip", ZipBuilder().Add("t.json", text).Finish().substr(0, 1000), Code::kDataLoss, "zip archive", 0},
      {"empty zip", ZipBuilder().Finish(), Code::kInvalidArgument, "got none", 0},
      {"two members", ZipBuilder().Add("a.json", "1").Add("b.json", "2").Finish(), Code::kInvalidArgument,
       "zip archive: expected one trace, got 2: 'a.json', 'b.json'", 0},
      {"encrypted", ZipBuilder().Add("a.json", "1", {.flags = 1}).Finish(), Code::kUnimplemented,
       "zip archive: the member 'a.json' is encrypted", 0},
      {"method", ZipBuilder().Add("a.json", "1", {.method = 93}).Finish(), Code::kUnimplemented, "method 93", 0},
      {"zip checksum", ZipBuilder().Add("a.json", text, {.crc_change = 1}).Finish(), Code::kDataLoss,
       "in.json(a.json): wrong checksum", 300000},
      {"zip member longer than told", ZipBuilder().Add("a.json", text, {.size_change = -1}).Finish(), Code::kDataLoss,
       "got more", 200000},
      {"zip member shorter than told", ZipBuilder().Add("a.json", text, {.size_change = 1}).Finish(), Code::kDataLoss,
       "got 300000", 300000},
      {"stored with two sizes", ZipBuilder().Add("a.json", text, {.is_deflated = false, .size_change = 1}).Finish(),
       Code::kDataLoss, "two sizes", 0},
  };
  for (const Case& c : cases) {
    for (const bool read_ahead : {false, true}) {
      const Result result = Open(c.input, read_ahead);
      EXPECT_EQ(result.status.code(), c.code) << c.name << ": " << result.status;
      EXPECT_TRUE(absl::StrContains(result.status.message(), c.message)) << c.name << ": " << result.status;
      EXPECT_TRUE(absl::StartsWith(result.status.message(), "in.json")) << c.name << ": " << result.status;
      EXPECT_GE(result.bytes.size(), c.min_bytes) << c.name;
      EXPECT_EQ(result.bytes, text.substr(0, result.bytes.size())) << c.name;
    }
  }
}

TEST(InputTest, ZipMembersWithUnsafeNamesAreToldAndNotRead) {
  for (const char* const name : {"../x.json", "a/../../x.json", "..", "/abs.json", "C:x.json", "a\\b.json", "a\nb"}) {
    const Result one = Open(ZipBuilder().Add(name, "bad").Add("good.json", "good").Finish());
    EXPECT_EQ(one.bytes, "good") << name << ": " << one.status;
    ASSERT_EQ(one.notes.size(), 1u) << name;
    EXPECT_TRUE(absl::StrContains(one.notes[0], name[0] == 'a' ? "'a" : name)) << one.notes[0];
    const Result none = Open(ZipBuilder().Add(name, "bad").Finish());
    EXPECT_TRUE(absl::IsInvalidArgument(none.status)) << name << ": " << none.status;
    EXPECT_TRUE(absl::StrContains(none.status.message(), "unsafe")) << none.status;
  }
}

TEST(InputTest, ZipMemberThatIsCalledLikeATraceIsChosen) {
  const Result result =
      Open(ZipBuilder().Add("readme.txt", "hello").Add("a/t.JSON.gz", "trace").Add("log", "x").Finish());
  EXPECT_EQ(result.bytes, "trace") << result.status;
  ASSERT_EQ(result.notes.size(), 1u);
  EXPECT_EQ(result.notes[0], "other zip members, not read: 'readme.txt', 'log'");
  EXPECT_FALSE(Open(ZipBuilder().Add("readme.txt", "hello").Add("log", "x").Finish()).status.ok());
  EXPECT_FALSE(Open(ZipBuilder().Add("t.json", "1").Add("log", "x").Add("u.kiln", "2").Finish()).status.ok());
}

TEST(InputTest, ZipClutterIsIgnored) {
  const Result result = Open(ZipBuilder()
                                 .Add("dir/", "")
                                 .Add("dir/..t.json", "trace")
                                 .Add("__MACOSX/dir/t.json", "fork")
                                 .Add("dir/._t.json", "fork")
                                 .Add("dir/.DS_Store", "settings")
                                 .Finish());
  EXPECT_EQ(result.bytes, "trace") << result.status;
  EXPECT_TRUE(result.notes.empty());
}

TEST(InputTest, BombsAreReadInBoundedPieces) {
  const std::string zeros(50 << 20, '\0');
  const auto input = OpenMemory(Gzip(zeros), "bomb", {});
  ASSERT_TRUE(input.ok());
  char part[1000];
  auto stream = (*input)->Stream();
  EXPECT_GT(stream->ReadFully(part, sizeof(part)), 0u);  // and goes away without having unpacked the rest

  OpenOptions options;
  options.zip_in_memory_limit_bytes = 1 << 20;
  const std::string zip = ZipBuilder().Add("t", std::string(2 << 20, 'x'), {.is_deflated = false}).Finish();
  EXPECT_TRUE(absl::IsResourceExhausted(OpenMemory(Gzip(zip), "in", options).status()));
  EXPECT_TRUE(OpenMemory(zip, "in", options).ok());  // lies in memory already
}

// Every prefix of a file is refused, or gives all bytes when only padding is missing; what is delivered is right.
TEST(DamageTest, EveryTruncationIsNoticed) {
  const std::string text = Text(3000);
  const std::string zip = ZipBuilder().Add("t.json", text).Finish();
  for (const std::string& file : {Gzip(text), GzipWithFields(text), Gzip(text, 0), Zstd(text), zip,
                                  ZipBuilder().Add("t.json", text, {.is_zip64 = true}).Finish()}) {
    ASSERT_TRUE(Open(file).status.ok());
    for (size_t size = 4; size < file.size(); ++size) {  // shorter ones have no container's mark
      const Result result = Open(file.substr(0, size));
      ASSERT_TRUE(absl::IsDataLoss(result.status)) << size << " of " << file.size() << ": " << result.status;
      ASSERT_EQ(result.bytes, text.substr(0, result.bytes.size())) << size;
    }
  }
  // Between two members a cut cannot be seen.
  const std::string first = Gzip(text), both = first + Gzip(text);
  for (size_t size = 4; size < both.size(); ++size) {
    const Result result = Open(both.substr(0, size));
    ASSERT_EQ(result.status.ok(), size == first.size()) << size;
    ASSERT_EQ(result.bytes, (text + text).substr(0, result.bytes.size())) << size;
  }
}

// Every single-bit change gives an error, or the same text, or is a file of another kind. Never a wrong text.
TEST(DamageTest, EveryFlippedBitIsNoticed) {
  const std::string text = Text(1500);
  for (const std::string& file :
       {Gzip(text), GzipWithFields(text), Gzip(text, 0), Zstd(text), ZipBuilder().Add("t.json", text).Finish(),
        ZipBuilder().Add("t.json", text, {.is_zip64 = true}).Finish()}) {
    const Container container = Open(file).container;
    int refused_count = 0;
    for (size_t at = 0; at < file.size(); ++at) {
      for (int bit = 0; bit < 8; ++bit) {
        std::string damaged = file;
        damaged[at] ^= static_cast<char>(1 << bit);
        const Result result = Open(damaged);
        if (!result.status.ok()) {
          ++refused_count;
        } else if (result.container == container) {
          ASSERT_EQ(result.bytes, text) << "bit " << bit << " of byte " << at;
        }
      }
    }
    EXPECT_GT(refused_count, 8 * static_cast<int>(file.size()) / 2);
  }
}

TEST(DamageTest, BytesBeforeTheDamageAreDelivered) {
  const std::string text = Text(4 << 20);
  for (const std::string& packed : {Gzip(text), Zstd(text)}) {
    std::string damaged = packed;
    std::fill_n(damaged.begin() + static_cast<std::ptrdiff_t>(damaged.size() / 2), 64, '\xff');
    for (const bool read_ahead : {false, true}) {
      const Result result = Open(damaged, read_ahead);
      EXPECT_FALSE(result.status.ok());
      EXPECT_GE(result.bytes.size(), text.size() / 3);
      // The library may decode a little of the damage before it notices.
      const size_t sure = result.bytes.size() - std::min<size_t>(result.bytes.size(), 300000);
      EXPECT_TRUE(result.bytes.substr(0, sure) == text.substr(0, sure));
    }
  }
}

// Hands out one byte at a time, as a slow pipe may.
class DribblingSource final : public ByteSource {
 public:
  explicit DribblingSource(std::string bytes) : ByteSource("dribble"), bytes_(std::move(bytes)) {}

 protected:
  size_t ReadSome(char* out, size_t) override {
    if (position() == bytes_.size()) return 0;
    *out = bytes_[static_cast<size_t>(position())];
    return 1;
  }

 private:
  const std::string bytes_;
};

TEST(DecompressTest, BorderOfReadsDoesNotMatter) {
  const std::string text = Text(20000);
  const std::string gzip = GzipWithFields(text) + std::string(3, '\0') + Gzip("", 0) + Gzip(text);
  const std::string zstd = Zstd(text) + Skippable("abc") + Zstd(text);
  for (const size_t step : {1, 3, 1000, 1000000}) {
    for (int i = 0; i < 4; ++i) {
      std::unique_ptr<ByteSource> source;
      if (i % 2 == 0) {
        source = std::make_unique<DribblingSource>(i < 2 ? gzip : zstd);
      } else {
        source = MakeMemorySource(i < 2 ? gzip : zstd, "m");
      }
      source = i < 2 ? MakeGzipSource(std::move(source)) : MakeZstdSource(std::move(source));
      std::string all, part(step, '\0');
      while (const size_t got = source->Read(part.data(), step)) all.append(part, 0, got);
      EXPECT_TRUE(source->status().ok()) << source->status();
      EXPECT_TRUE(all == text + text) << step << " " << i << " " << all.size();
    }
  }
}

TEST(OpenInputTest, ReadsFilesPipesAndStandardInput) {
  const std::string text = Text(100000);
  const std::string path = testing::TempDir() + "/x.json";
  const int saved = ::dup(STDIN_FILENO);
  for (const std::string& file :
       {text, Gzip(text), Zstd(text), ZipBuilder().Add("t.json", text).Finish(), std::string()}) {
    std::ofstream(path, std::ios::binary) << file;
    const Result by_name = Collect(OpenInput(path));
    EXPECT_TRUE(by_name.status.ok()) << by_name.status;
    EXPECT_TRUE(file.empty() ? by_name.bytes.empty() : by_name.bytes == text);

    FILE* const redirected = std::fopen(path.c_str(), "rb");
    ::dup2(::fileno(redirected), STDIN_FILENO);
    const Result by_stdin = Collect(OpenInput("-"));
    EXPECT_TRUE(by_stdin.bytes == by_name.bytes) << by_stdin.status;
    std::fclose(redirected);

    FILE* const pipe = ::popen(absl::StrCat("cat '", path, "'").c_str(), "r");
    ::dup2(::fileno(pipe), STDIN_FILENO);
    const Result by_pipe = Collect(OpenInput("-"));
    EXPECT_TRUE(by_pipe.bytes == by_name.bytes) << by_pipe.status;
    EXPECT_FALSE(by_pipe.is_random_access);
    ::pclose(pipe);
  }
  ::dup2(saved, STDIN_FILENO);
  ::close(saved);
}

TEST(OpenInputTest, SaysWhatCannotBeOpened) {
  const absl::Status missing = OpenInput("/no/such/trace.json").status();
  EXPECT_TRUE(absl::IsNotFound(missing)) << missing;
  EXPECT_TRUE(absl::StrContains(missing.message(), "/no/such/trace.json"));
  EXPECT_TRUE(absl::IsInvalidArgument(OpenInput(testing::TempDir()).status()));
}

TEST(OpenInputTest, ReportsProgressInBytesOfTheFile) {
  const std::string packed = Gzip(Text(3 << 20));
  const std::string path = testing::TempDir() + "/progress.gz";
  std::ofstream(path, std::ios::binary) << packed;
  const auto input = OpenInput(path);
  ASSERT_TRUE(input.ok());
  auto stream = (*input)->Stream();
  EXPECT_EQ(stream->raw_size(), packed.size());
  EXPECT_FALSE(stream->size_hint().has_value());
  auto all = ReadAll(stream.get(), UINT64_MAX);
  EXPECT_EQ(stream->raw_position(), packed.size());
}

// The cases of the shared collection that are about containers and encodings.
TEST(SharedCasesTest, ContainersAndEncodings) {
  const char* const shared = std::getenv("TRACEKILN_SHARED");
  const std::string cases = absl::StrCat(shared != nullptr ? shared : "../shared", "/cases/");
  if (struct stat info; ::stat(cases.c_str(), &info) != 0) GTEST_SKIP() << "NO SHARED CASES at " << cases;
  const auto open = [&cases](const std::string& path) { return Collect(OpenInput(cases + path)); };
  EXPECT_EQ(open("020-utf8-bom/input.json").bytes.size(), 231u);
  EXPECT_EQ(open("021-utf16-file/input.json").bytes, open("020-utf8-bom/input.json").bytes);
  const Result hostile = open("070-hostile-names-in-archive-and-trace/input.zip");
  EXPECT_TRUE(hostile.status.ok()) << hostile.status;
  EXPECT_EQ(hostile.bytes.size(), 523u);
  ASSERT_EQ(hostile.notes.size(), 1u);
  for (const char* const name : {"../../escape/rank1.json", "/abs/rank2.json", "sub/../../rank3.json"}) {
    EXPECT_TRUE(absl::StrContains(hostile.notes[0], name)) << hostile.notes[0];
  }
  const Result members = open("071-gzip-with-several-members/input.json.gz");
  EXPECT_TRUE(members.status.ok()) << members.status;
  EXPECT_TRUE(members.bytes.find("]") != std::string::npos && members.notes.empty());
  const std::string plain = open("074-extension-does-not-match-content/input.b.json.gz").bytes;
  for (const char* const name : {"input.a.json", "input.c.json", "input.noext"}) {
    EXPECT_EQ(open(absl::StrCat("074-extension-does-not-match-content/", name)).bytes, plain);
  }
  EXPECT_EQ(open("077-zip-with-one-trace/input.zip").bytes.size(), 226u);
}

}  // namespace
}  // namespace tracekiln::io
