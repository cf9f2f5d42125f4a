#include "formats/pstats/pstats_writer.h"

#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/intermediate/import_report.h"
#include "formats/intermediate/profile.h"
#include "formats/io/byte_sink.h"
#include "formats/io/byte_source.h"
#include "formats/pstats/pstats_reader.h"
#include "formats/pstats/safe_name.h"
#include "formats/pstats/seconds.h"
#include "gtest/gtest.h"

namespace tracekiln::pstats {
namespace {

std::string Write(const Profile& profile, const WritePstatsOptions& options = {}) {
  std::string bytes;
  io::StringSink sink(&bytes);
  const absl::Status status = WritePstats(profile, options, sink);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(sink.Close().ok());
  return bytes;
}

Profile Read(const std::string& bytes, ImportReport* report = nullptr) {
  absl::StatusOr<Profile> profile = ReadPstats(*io::MakeMemorySource(bytes, "x.prof"), {.strict = true}, report);
  EXPECT_TRUE(profile.ok()) << profile.status();
  return profile.ok() ? *std::move(profile) : Profile();
}

// A profile by names, in an order of its own.
using NamedKey = std::tuple<std::string, int64_t, std::string>;
std::string Canonical(const Profile& profile, bool safe_names = false, bool with_caller_rows = false) {
  std::map<NamedKey, std::string> functions;
  const auto key = [&](FunctionId id) {
    std::string file(profile.file(id)), name(profile.name(id));
    if (safe_names) file = SafeName(file), name = SafeName(name);
    return NamedKey{file, profile.function(id).line, name};
  };
  const auto stats = [](const CallStats& s) {
    return absl::StrCat(s.primitive_call_count, "/", s.call_count, " ", s.own_ns, " ", s.cumulative_ns);
  };
  for (uint32_t i = 0; i < profile.functions().size(); ++i) {
    const Profile::Function& f = profile.functions()[i];
    functions[key(FunctionId{i})] = f.is_row || with_caller_rows ? stats(f.stats) : "-";
  }
  std::map<std::pair<NamedKey, NamedKey>, std::string> edges;
  for (const Profile::Edge& e : profile.edges()) edges[{key(e.callee), key(e.caller)}] = stats(e.stats);
  std::string out;
  const auto text = [](const NamedKey& k) {
    return absl::StrCat(absl::CHexEscape(std::get<0>(k)), ":", std::get<1>(k), " ", absl::CHexEscape(std::get<2>(k)));
  };
  for (const auto& [k, s] : functions) absl::StrAppend(&out, text(k), " ", s, "\n");
  for (const auto& [k, s] : edges) absl::StrAppend(&out, text(k.first), " < ", text(k.second), " ", s, "\n");
  return out;
}

TEST(WritePstats, WritesTheseBytes) {
  Profile profile;
  const FunctionId a = profile.AddFunction("f.py", 1, "a");
  const FunctionId b = profile.AddFunction("f.py", 2, "b\xc3\xa9");
  profile.AddStats(a, {2, 1, 250'000'000, 500'000'000});
  profile.AddStats(b, {int64_t{1} << 31, 3, 0, 0});
  profile.AddCallerStats(a, b, {7, 6, 0, 0});
  const std::string quarter("g\0\0\0\0\0\0\xd0\x3f", 9), half("g\0\0\0\0\0\0\xe0\x3f", 9), zero("g\0\0\0\0\0\0\0\0", 9);
  const auto i = [](char value) { return std::string("i") + value + std::string(3, '\0'); };
  const auto rest_of_a = ")\5" + i(1) + i(2) + quarter + half + "{0";
  const auto numbers_of_b = ")\5" + i(3) + std::string("l\3\0\0\0\0\0\0\0\2\0", 11) + zero + zero;
  const auto from_a = ")\4" + i(7) + i(6) + zero + zero;
  EXPECT_EQ(Write(profile, {.references = false}), "{)\3z\4f.py" + i(1) + "z\1a" + rest_of_a + ")\3z\4f.py" + i(2) +
                                                       std::string("u\3\0\0\0b\xc3\xa9", 8) + numbers_of_b +
                                                       "{)\3z\4f.py" + i(1) + "z\1a" + from_a + "00");
  EXPECT_EQ(Write(profile), "\xfb\xa9\3\xfa\4f.py" + i(1) + "z\1a" + rest_of_a + ")\3r" + std::string("\2\0\0\0", 4) +
                                i(2) + std::string("u\3\0\0\0b\xc3\xa9", 8) + numbers_of_b + "{r" +
                                std::string("\1\0\0\0", 4) + from_a + "00");
}

TEST(WritePstats, RefusesAnEmptyProfile) {
  Profile profile;
  for (int i = 0; i < 2; ++i) {
    std::string bytes;
    io::StringSink sink(&bytes, "out.prof");
    const absl::Status status = WritePstats(profile, {}, sink);
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_TRUE(absl::StartsWith(status.message(), "out.prof: there is nothing to write")) << status;
    EXPECT_EQ(bytes, "");
    profile.AddFunction("f.py", 1, "not a row");
  }
  EXPECT_EQ(Write(Profile(), {.references = false, .allow_empty = true}), "{0");
  EXPECT_EQ(Write(Profile(), {.allow_empty = true}),
            "\xfb"
            "0");
}

TEST(WritePstats, MakesRowsOfCallers) {
  Profile profile;
  const FunctionId caller = profile.AddFunction("f.py", 1, "caller");
  const FunctionId row = profile.AddFunction("f.py", 2, "row");
  const FunctionId middle = profile.AddFunction("f.py", 3, "middle");
  profile.AddFunction("f.py", 4, "neither");
  profile.AddStats(row, {1, 1, 5, 5});
  profile.AddCallerStats(middle, row, {1, 1, 5, 5});
  profile.AddCallerStats(caller, middle, {1, 1, 0, 5});
  const std::string row_line = "f.py:2 row 1/1 5 5\n";
  const std::string edges = "f.py:2 row < f.py:3 middle 1/1 5 5\nf.py:3 middle < f.py:1 caller 1/1 0 5\n";
  EXPECT_EQ(Canonical(Read(Write(profile))), "f.py:1 caller 0/0 0 0\n" + row_line + "f.py:3 middle 0/0 0 0\n" + edges);
  EXPECT_EQ(Canonical(Read(Write(profile, {.caller_rows = false}))),
            "f.py:1 caller -\n" + row_line + "f.py:3 middle 0/0 0 0\n" + edges);
  EXPECT_EQ(Read(Write(profile)).name(FunctionId{0}), "row");  // rows first
}

TEST(WritePstats, KeepsTheOrderOfRows) {
  Profile profile;
  const FunctionId second = profile.AddFunction("f.py", 1, "second");
  const FunctionId first = profile.AddFunction("f.py", 2, "first");
  profile.AddStats(first, {1, 1, 0, 0});
  profile.AddStats(second, {1, 1, 0, 0});
  const Profile back = Read(Write(profile));
  ASSERT_EQ(back.row_count(), 2u);
  EXPECT_EQ(back.name(back.rows()[0]), "first");
}

TEST(WritePstats, WritesSafeNamesUnlessToldOtherwise) {
  Profile profile;
  for (const char* const name : {"a\n", "a\\x0a", "</script>", "\xed\xb2\x80"}) {
    profile.AddStats(profile.AddFunction("f.py", 1, name), {1, 1, 5, 5});
  }
  EXPECT_EQ(Canonical(Read(Write(profile))),
            "f.py:1 <\\\\/script> 1/1 5 5\nf.py:1 \\\\udc80 1/1 5 5\nf.py:1 a\\\\x0a 1/1 5 5\n"
            "f.py:1 a\\\\x0a (2) 1/1 5 5\n");
  EXPECT_EQ(Canonical(Read(Write(profile, {.safe_names = false}))), Canonical(profile));
}

TEST(WritePstats, LongTexts) {
  Profile profile;
  for (const size_t size : {0, 1, 255, 256, 300'000}) {
    for (const char* const end : {"", "\xc3\xa9"}) {
      profile.AddStats(profile.AddFunction(std::string(size, 'f'), 1, std::string(size, 'n') + end), {1, 1, 5, 5});
    }
  }
  for (const bool references : {true, false}) {
    EXPECT_EQ(Canonical(Read(Write(profile, {.references = references}))), Canonical(profile));
  }
}

class FailingSink final : public io::ByteSink {
 public:
  FailingSink() : ByteSink("full.prof") {}

 protected:
  void WriteSome(absl::string_view) override { set_status(absl::ResourceExhaustedError("full.prof: no space")); }
  void Finish() override {}
};

TEST(WritePstats, ReturnsErrorsOfTheSink) {
  Profile profile;
  profile.AddStats(profile.AddFunction("f.py", 1, "a"), {1, 1, 5, 5});
  FailingSink sink;
  EXPECT_TRUE(absl::IsResourceExhausted(WritePstats(profile, {}, sink)));
}

Profile RandomProfile(uint32_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&random](uint64_t limit) { return random() % limit; };
  const auto integer = [&]() -> int64_t {
    const int64_t limits[] = {
        INT64_MIN, INT64_MAX, INT32_MIN, INT32_MAX, int64_t{INT32_MAX} + 1, int64_t{INT32_MIN} - 1, 0, -1};
    if (below(4) == 0) return limits[below(8)];
    return static_cast<int64_t>(random()) >> below(64);
  };
  const auto time = [&] {  // what seconds can hold
    const int64_t ns = static_cast<int64_t>(random()) >> (12 + below(50));
    return below(8) == 0 ? 0 : ns;
  };
  const auto stats = [&] { return CallStats{integer(), integer(), time(), time()}; };
  const char* const kPieces[] = {"a", "step", "<", "\xc3\xa9", "\xed\xb2\x80", "\n", "</script", "\\x0a", "\\", " (2)"};
  const auto text = [&] {
    std::string out;
    for (uint64_t n = below(4); n > 0; --n) out += kPieces[below(10)];
    return out;
  };
  Profile profile;
  const uint64_t count = 1 + below(30);
  for (uint64_t i = 0; i < count; ++i) {
    const FunctionId f =
        profile.AddFunction(text(), below(5) == 0 ? integer() : static_cast<int64_t>(below(3)), text());
    if (i == 0 || below(5) != 0) profile.AddStats(f, stats());
  }
  for (uint64_t i = below(60); i > 0; --i) {
    const FunctionId caller{static_cast<uint32_t>(below(profile.functions().size()))};
    const FunctionId callee{static_cast<uint32_t>(below(profile.functions().size()))};
    const CallStats s = stats();
    // Adding up could saturate or leave what a double can hold.
    if (profile.AddCallerStats(caller, callee, {}))
      profile.edge_stats(static_cast<uint32_t>(profile.edges().size() - 1)) = s;
  }
  return profile;
}

TEST(WritePstats, ReadsBackAsWritten) {
  int checked = 0;
  for (uint32_t seed = 0; seed < 1500; ++seed) {
    const Profile profile = RandomProfile(seed);
    for (const bool references : {true, false}) {
      const std::string raw = Write(profile, {.references = references, .safe_names = false, .caller_rows = false});
      EXPECT_EQ(static_cast<unsigned char>(raw[0]), references ? 0xfb : 0x7b);
      const Profile back = Read(raw);
      // Functions in no edge and no row are not written, callees become rows; so compare with all as rows of zeros.
      if (back.functions().size() == profile.functions().size()) {
        ASSERT_EQ(Canonical(back, false, true), Canonical(profile, false, true)) << seed;
        ++checked;
      }
      ASSERT_EQ(Write(back, {.references = references, .safe_names = false, .caller_rows = false}), raw) << seed;

      const Profile safe = Read(Write(profile, {.references = references}));
      ASSERT_EQ(safe.functions().size(), back.functions().size()) << seed;
      ASSERT_EQ(safe.row_count(), safe.functions().size()) << seed;
      ASSERT_EQ(safe.edges().size(), profile.edges().size()) << seed;
      for (size_t i = 0; i < profile.row_count(); ++i) {
        ASSERT_EQ(safe.function(safe.rows()[i]).stats, profile.function(profile.rows()[i]).stats) << seed;
      }
      for (uint32_t i = 0; i < safe.strings.size(); ++i) ASSERT_TRUE(IsSafeName(safe.strings.Get(StringId{i}))) << seed;
    }
  }
  EXPECT_GT(checked, 1000);
}

TEST(Seconds, GoThereAndBack) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 200'000; ++i) {
    const int64_t ns = static_cast<int64_t>(random()) >> (12 + random() % 52);  // |ns| <= 2^51
    ASSERT_EQ(NanosFromSeconds(SecondsFromNanos(ns)), ns);
  }
  for (const int64_t ns :
       {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{1} << 51, -(int64_t{1} << 51), (int64_t{1} << 51) - 1}) {
    EXPECT_EQ(NanosFromSeconds(SecondsFromNanos(ns)), ns);
  }
  EXPECT_EQ(NanosFromSeconds(1e300), INT64_MAX);
  EXPECT_EQ(NanosFromSeconds(-1e300), INT64_MIN);
  EXPECT_EQ(NanosFromSeconds(9223372036.854775), 9223372036854774475);  // the double is 9223372036.85477447509765625
  EXPECT_EQ(NanosFromSeconds(0.49e-9), 0);
  EXPECT_EQ(NanosFromSeconds(0.51e-9), 1);
  EXPECT_EQ(NanosFromSeconds(-0.51e-9), -1);
  EXPECT_EQ(NanosFromSeconds(5e-324), 0);
  EXPECT_EQ(SecondsFromNanos(INT64_MIN), -9223372036.854775808);
  EXPECT_EQ(SecondsFromNanos(INT64_MAX), 9223372036.854775807);
}

// Against exact arithmetic: no double is nearer to ns / 10^9.
TEST(Seconds, AreTheNearestDoubles) {
  std::mt19937_64 random(8);
  for (int i = 0; i < 100'000; ++i) {
    const int64_t ns = static_cast<int64_t>(random()) >> random() % 12;
    const double seconds = SecondsFromNanos(ns);
    // |ns / 10^9 - seconds| in units of 2^-60 / 10^9; seconds is a multiple of 2^-30 here (|seconds| >= 2^20).
    if (std::abs(ns) < (int64_t{1} << 51)) continue;
    const auto error = [ns](double s) {
      const __int128 exact = static_cast<__int128>(ns) << 36;
      const __int128 scaled = static_cast<__int128>(std::ldexp(s, 36)) * 1'000'000'000;
      return exact > scaled ? exact - scaled : scaled - exact;
    };
    ASSERT_LE(error(seconds), error(std::nextafter(seconds, INFINITY))) << ns;
    ASSERT_LE(error(seconds), error(std::nextafter(seconds, -INFINITY))) << ns;
  }
}

}  // namespace
}  // namespace tracekiln::pstats
