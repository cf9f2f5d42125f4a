#include "formats/pstats/pstats_reader.h"

#include <sys/stat.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/intermediate/import_report.h"
#include "formats/intermediate/profile.h"
#include "formats/io/byte_source.h"
#include "formats/io/input.h"
#include "formats/io/testing/slow_source.h"
#include "gtest/gtest.h"

namespace tracekiln::pstats {
namespace {

// Pieces of marshal streams. `f` sets FLAG_REF.
std::string I32(int64_t value) {
  std::string out;
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<char>(static_cast<uint64_t>(value) >> (8 * i)));
  return out;
}
std::string f(std::string object) {
  object[0] = static_cast<char>(object[0] | 0x80);
  return object;
}
std::string Z(const std::string& text) { return std::string("z") + static_cast<char>(text.size()) + text; }
std::string Long(char code, const std::string& text) { return code + I32(static_cast<int64_t>(text.size())) + text; }
std::string I(int64_t value) { return "i" + I32(value); }
std::string R(int64_t number) { return "r" + I32(number); }
std::string G(double value) {
  std::string out = "g........";
  std::memcpy(&out[1], &value, 8);
  return out;
}
std::string Text(const std::string& number) { return std::string("f") + static_cast<char>(number.size()) + number; }
std::string L(int32_t signed_count, const std::vector<int>& digits) {
  std::string out = "l" + I32(signed_count);
  for (const int digit : digits) {
    out.push_back(static_cast<char>(digit & 0xff));
    out.push_back(static_cast<char>(digit >> 8));
  }
  return out;
}
std::string T(const std::vector<std::string>& items) {
  std::string out = std::string(")") + static_cast<char>(items.size());
  for (const std::string& item : items) out += item;
  return out;
}
std::string Big(char code, const std::vector<std::string>& items) {
  std::string out = code + I32(static_cast<int64_t>(items.size()));
  for (const std::string& item : items) out += item;
  return out;
}
std::string D(const std::vector<std::string>& items) {
  std::string out = "{";
  for (const std::string& item : items) out += item;
  return out + "0";
}
std::string Key(const std::string& name) { return T({Z("f.py"), I(1), Z(name)}); }
std::string Row(const std::string& callers = "{0") { return T({I(1), I(2), G(0.25), G(0.5), callers}); }
std::string Caller() { return T({I(2), I(1), G(0.25), G(0.5)}); }

struct Result {
  absl::Status status;
  Profile profile;
  ImportReport report;
  std::string text;  // the profile in short
};

std::string Summary(const Profile& profile) {
  std::string out;
  const auto stats = [](const CallStats& s) {
    return absl::StrCat(s.primitive_call_count, "/", s.call_count, " ", s.own_ns, " ", s.cumulative_ns);
  };
  for (uint32_t i = 0; i < profile.functions().size(); ++i) {
    const FunctionId id{i};
    absl::StrAppend(&out, out.empty() ? "" : "; ", profile.file(id), ":", profile.function(id).line, " ",
                    profile.name(id), " ", profile.function(id).is_row ? stats(profile.function(id).stats) : "-");
  }
  for (const Profile::Edge& e : profile.edges()) {
    absl::StrAppend(&out, "; ", profile.name(e.caller), ">", profile.name(e.callee), " ", stats(e.stats));
  }
  return out;
}

Result ReadSource(io::ByteSource& source, bool strict = false) {
  Result result;
  absl::StatusOr<Profile> profile = ReadPstats(source, {strict}, &result.report);
  result.status = profile.status();
  if (profile.ok()) {
    result.profile = *std::move(profile);
    result.text = Summary(result.profile);
  }
  return result;
}

Result Read(const std::string& bytes, bool strict = false) {
  return ReadSource(*io::MakeMemorySource(bytes, "x.prof"), strict);
}

TEST(ReadPstats, ReadsEverySpelling) {
  struct Case {
    const char* name;
    std::string bytes;
    std::string want;
  };
  const std::string a = "f.py:1 a 1/2 250000000 500000000";
  const std::string ab = a + "; f.py:1 b -; b>a 1/2 250000000 500000000";
  const auto numbers = [](const std::string& cc, const std::string& nc, const std::string& tt, const std::string& ct) {
    return D({Key("a"), T({cc, nc, tt, ct, "{0"})});
  };
  const auto named = [](const std::string& name) { return D({T({Z("f.py"), I(1), name}), Row()}); };
  const auto has_name = [](const std::string& name) { return "f.py:1 " + name + " 1/2 250000000 500000000"; };
  const std::string escaped = "\xed\xb3\xbf";  // U+DCFF
  const Case kCases[] = {
      {"empty", "{0", ""},
      {"empty with a reference",
       "\xfb"
       "0",
       ""},
      {"plain", D({Key("a"), Row()}), a},
      {"a caller", D({Key("a"), Row(D({Key("b"), Caller()}))}), ab},
      {"wide tuples", D({Big('(', {Z("f.py"), I(1), Z("a")}), Big('(', {I(1), I(2), G(.25), G(.5), "{0"})}), a},
      {"lists",
       D({Key("a"), Big('[', {I(1), I(2), G(.25), G(.5), D({Key("b"), Big('[', {I(2), I(1), G(.25), G(.5)})})})}), ab},
      {"every text", D({T({Long('a', "f.py"), I(1), "Z\1a"}), Row()}), a},
      {"interned texts", D({T({Long('A', "f.py"), I(1), Long('t', "a")}), Row()}), a},
      {"unicode", named(Long('u', "\xc3\xa9")), has_name("\xc3\xa9")},
      {"empty name", named(Z("")), has_name("")},
      {"lone surrogate", named(Long('u', "\xed\xb2\x80")), has_name("\xed\xb2\x80")},
      {"surrogate pair of three bytes each", named(Long('u', "\xed\xa0\x80\xed\xb0\x80")),
       has_name("\xed\xa0\x80\xed\xb0\x80")},
      {"bytes", named(Long('s', "a\xff")), has_name("a" + escaped)},
      {"bytes that look like a surrogate", named(Long('s', "\xed\xb2\x80")),
       has_name("\xed\xb3\xad\xed\xb2\xb2\xed\xb2\x80")},
      {"interned bytes of Python 2", named(Long('t', "a\xff")), has_name("a" + escaped)},
      {"interned bytes, and what refers to them",
       D({T({Long('t', "f.py"), I(1), Long('t', "a")}), Row(D({T({"R" + I32(0), I(2), "R" + I32(1)}), Caller()}))}),
       "f.py:1 a 1/2 250000000 500000000; f.py:2 a -; a>a 1/2 250000000 500000000"},
      {"text floats", numbers(I(1), I(2), Text("0.25"), Text("5e-1")), a},
      {"integers as times", numbers(I(1), I(2), I(0), I(3)), "f.py:1 a 1/2 0 3000000000"},
      {"64-bit integers", numbers(I(1), std::string("I\0\0\0\0\0\1\0\0", 9), G(0), G(0)),
       "f.py:1 a 1/1099511627776 0 0"},
      {"long integers", numbers(L(3, {0, 0, 1}), L(-3, {5, 0, 1}), G(0), G(0)), "f.py:1 a 1073741824/-1073741829 0 0"},
      {"long zero", numbers("l" + I32(0), I(1), G(0), G(0)), "f.py:1 a 0/1 0 0"},
      {"the largest int64", numbers(L(5, {0x7fff, 0x7fff, 0x7fff, 0x7fff, 7}), I(1), G(0), G(0)),
       "f.py:1 a 9223372036854775807/1 0 0"},
      {"the smallest int64", numbers(L(-5, {0, 0, 0, 0, 8}), I(1), G(0), G(0)), "f.py:1 a -9223372036854775808/1 0 0"},
      {"True and False", numbers("T", "F", "F", "T"), "f.py:1 a 1/0 0 1000000000"},
      {"flagged True gets no number", D({T({f(Z("f.py")), I(1), f(Z("a"))}), T({"\xd4", I(2), f(G(.25)), R(2), "{0"})}),
       "f.py:1 a 1/2 250000000 250000000"},
      {"references to texts", D({T({f(Z("f.py")), I(1), Z("a")}), Row(D({T({R(0), I(1), Z("b")}), Caller()}))}), ab},
      {"references to numbers",
       D({T({Z("f.py"), f(I(1)), Z("a")}),
          T({R(0), f(I(2)), f(G(.25)), f(G(.5)), D({T({Z("f.py"), R(0), Z("b")}), T({R(1), R(0), R(2), R(3)})})})}),
       ab},
      {"references to keys", D({f(Key("a")), Row(D({R(0), Caller()}))}), a + "; a>a 1/2 250000000 500000000"},
      {"numbers of a key come after its own",
       D({f(T({f(Z("f.py")), I(1), f(Z("a"))})), Row(D({R(0), Caller(), T({R(1), I(1), Z("b")}), Caller()}))}),
       "f.py:1 a 1/2 250000000 500000000; f.py:1 b -; a>a 1/2 250000000 500000000; b>a 1/2 250000000 500000000"},
      {"the dict is number 0", f(D({f(Key("a")), Row(D({R(1), Caller()}))})), a + "; a>a 1/2 250000000 500000000"},
      {"shared numbers of a function", D({Key("a"), f(Row(D({Key("c"), Caller()}))), Key("b"), R(0)}),
       "f.py:1 a 1/2 250000000 500000000; f.py:1 c -; f.py:1 b 1/2 250000000 500000000; c>a 1/2 250000000 500000000; "
       "c>b 1/2 250000000 500000000"},
      {"a shared dict of callers", D({Key("a"), Row(f(D({Key("c"), Caller()}))), Key("b"), Row(R(0))}),
       "f.py:1 a 1/2 250000000 500000000; f.py:1 c -; f.py:1 b 1/2 250000000 500000000; c>a 1/2 250000000 500000000; "
       "c>b 1/2 250000000 500000000"},
      {"shared numbers of a caller", D({Key("a"), Row(D({Key("b"), f(Caller()), Key("c"), R(0)}))}),
       a + "; f.py:1 b -; f.py:1 c -; b>a 1/2 250000000 500000000; c>a 1/2 250000000 500000000"},
      {"callers that are counts", D({Key("a"), Row(D({Key("b"), I(7)}))}), a + "; f.py:1 b -; b>a 7/7 0 0"},
      {"a count by reference",
       D({T({Z("f.py"), I(1), Z("a")}), T({I(1), f(I(2)), G(.25), G(.5), D({Key("b"), R(0)})})}),
       a + "; f.py:1 b -; b>a 2/2 0 0"},
      {"the same key twice", D({Key("a"), Row(), Key("a"), Row()}), "f.py:1 a 2/4 500000000 1000000000"},
      {"the same caller twice", D({Key("a"), Row(D({Key("b"), Caller(), Key("b"), Caller()}))}),
       a + "; f.py:1 b -; b>a 2/4 500000000 1000000000"},
      {"times to the nearest ns", numbers(I(1), I(1), G(1e-9), G(1.4999e-9)), "f.py:1 a 1/1 1 1"},
      {"a time beyond float's integers", numbers(I(1), I(1), G(2251799.813685247), G(-2251799.813685247)),
       "f.py:1 a 1/1 2251799813685247 -2251799813685247"},
      {"times out of range", numbers(I(1), I(1), G(1e300), G(-1e300)),
       "f.py:1 a 1/1 9223372036854775807 -9223372036854775808"},
      {"integer times out of range", numbers(I(1), I(1), L(3, {0, 0, 1000}), L(-6, {0, 0, 0, 0, 0, 1})),
       "f.py:1 a 1/1 9223372036854775807 -9223372036854775808"},
      {"infinity and nan", numbers(I(1), I(1), Text("inf"), Text("nan")), "f.py:1 a 1/1 0 0"},
      {"fractional counts", numbers(G(2.0), G(1.75), G(0), G(0)), "f.py:1 a 2/2 0 0"},
      {"a count of nan", numbers(G(NAN), G(1e30), G(0), G(0)), "f.py:1 a 0/9223372036854775807 0 0"},
  };
  for (const Case& c : kCases) {
    const Result result = Read(c.bytes);
    EXPECT_TRUE(result.status.ok()) << c.name << ": " << result.status;
    EXPECT_EQ(result.text, c.want) << c.name;
    EXPECT_TRUE(result.report.IsBalanced()) << c.name;
    EXPECT_EQ(result.report.input_bytes, c.bytes.size()) << c.name;
  }
}

TEST(ReadPstats, ReportsWhatIsOdd) {
  struct Case {
    const char* name;
    std::string bytes;
    std::string want;  // reasons with their counts
    const char* detail = "";
  };
  const auto numbers = [](const std::string& cc, const std::string& nc, const std::string& tt, const std::string& ct) {
    return D({Key("a"), T({cc, nc, tt, ct, "{0"})});
  };
  const Case kCases[] = {
      {"nothing", D({Key("a"), Row()}), ""},
      {"empty", "{0", "empty_profile:1"},
      {"negative", numbers(I(1), I(1), G(-1), G(-1)), "negative_time:1", "a (f.py:1): kept"},
      {"nan", numbers(I(1), I(1), G(NAN), G(INFINITY)), "non_finite_time:1", "a (f.py:1): taken for 0"},
      {"292 years", numbers(I(1), I(1), G(1e10), G(0)), "time_out_of_range:1"},
      {"2^70", numbers(L(5, {0, 0, 0, 0, 1 << 10}), I(1), G(0), G(0)), "count_out_of_range:1",
       "1180591620717411303424"},
      {"-2^63 - 1", numbers(L(-5, {1, 0, 0, 0, 8}), I(1), G(0), G(0)), "count_out_of_range:1", "-9223372036854775809"},
      {"a very large one", numbers(L(40, std::vector<int>(40, 1)), I(1), G(0), G(0)), "count_out_of_range:1", "2^585"},
      {"a shared large one", numbers(f(L(5, {0, 0, 0, 0, 1 << 10})), R(0), G(0), G(0)), "count_out_of_range:1"},
      {"line", D({T({Z("f.py"), L(5, {0, 0, 0, 0, 1 << 10}), Z("a")}), Row()}), "line_out_of_range:1",
       "1180591620717411303424"},
      {"fraction", numbers(G(1.5), I(1), G(0), G(0)), "fractional_count:1"},
      {"profile's callers", D({Key("a"), Row(D({Key("a"), I(1)}))}), "callers_without_times:1"},
      {"no row", D({Key("a"), Row(D({Key("b"), Caller(), Key("c"), Caller()}))}), "caller_without_row:2", "b (f.py:1)"},
      {"duplicate caller", D({Key("a"), Row(D({Key("a"), Caller(), Key("a"), Caller()}))}), "duplicate_caller:1"},
      {"trailing", D({Key("a"), Row()}) + "xyz", "trailing_bytes:1", "3 bytes"},
      {"invalid UTF-8", D({T({Z("f.py"), I(1), Long('u', "a\xff\xe2\x82z")}), Row()}), "invalid_utf8:1"},
      {"ASCII that isn't", D({T({Z("f.py"), I(1), Z("a\xe9")}), Row()}), "non_ascii_text:1"},
      {"negative, of a caller twice",
       D({Key("a"), Row(D({Key("a"), f(T({I(1), I(1), G(-1), G(0)}))})), Key("b"), Row(D({Key("a"), R(0)}))}),
       "negative_time:2"},
      {"negative, by a reference to numbers", D({Key("a"), f(T({I(1), I(1), G(-1), G(0), "{0"})), Key("b"), R(0)}),
       "negative_time:2"},
      {"a control byte in the name", D({T({Z("f.py"), I(1), Z("a\n")}), T({I(1), I(1), G(-1), G(0), "{0"})}),
       "negative_time:1", "a\\x0a (f.py:1)"},
  };
  for (const Case& c : kCases) {
    const Result result = Read(c.bytes);
    ASSERT_TRUE(result.status.ok()) << c.name << ": " << result.status;
    std::string reasons;
    for (const ImportReport::Entry& e : result.report.entries()) {
      absl::StrAppend(&reasons, reasons.empty() ? "" : " ", e.reason, ":", e.count);
      EXPECT_TRUE(absl::StrContains(e.detail, c.detail)) << c.name << ": " << e.detail;
    }
    EXPECT_EQ(reasons, c.want) << c.name;
  }
}

TEST(ReadPstats, RepairsTextsUnlessStrict) {
  const std::string utf8 = D({T({Z("f.py"), I(1), Long('u', "a\xff\xe2\x82z")}), Row()});
  EXPECT_EQ(Read(utf8).text, "f.py:1 a\xef\xbf\xbd\xef\xbf\xbdz 1/2 250000000 500000000");
  EXPECT_EQ(Read(utf8).report.repaired(), 1u);
  const std::string latin1 = D({T({Z("f.py"), I(1), Z("a\xe9")}), Row()});
  EXPECT_EQ(Read(latin1).text, "f.py:1 a\xc3\xa9 1/2 250000000 500000000");
  for (const std::string& bytes : {utf8, latin1, D({Key("a"), Row()}) + "x"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Read(bytes, true).status)) << Read(bytes, true).status;
  }
  EXPECT_TRUE(Read(D({Key("a"), Row()}), true).status.ok());
}

TEST(ReadPstats, CountsMergedRows) {
  const Result result =
      Read(D({Key("a"), Row(D({Key("b"), Caller()})), Key("b"), Row(), Key("a"), Row(D({Key("b"), Caller()}))}));
  EXPECT_EQ(result.text,
            "f.py:1 a 2/4 500000000 1000000000; f.py:1 b 1/2 250000000 500000000; b>a 2/4 500000000 1000000000");
  EXPECT_EQ(result.report.seen, 3u);
  EXPECT_EQ(result.report.imported, 2u);
  EXPECT_EQ(result.report.merged, 1u);
  EXPECT_TRUE(result.report.entries().empty()) << result.report.ToText();
}

TEST(ReadPstats, RefusesWhatIsNoProfile) {
  struct Case {
    std::string bytes;
    const char* want;
  };
  std::string nested = "{";
  for (int i = 0; i < 20000; ++i) nested += ")\1";
  const std::string code(96, '\0');
  const Case kCases[] = {
      {"", "x.prof:0: expected a statistics dictionary, got an empty file"},
      {std::string("\x80\x04\x95}q\0timings.unit", 18),
       "x.prof:0: expected a statistics dictionary, got what is not marshal data; it looks like a pickle of "
       "line_profiler"},
      {std::string("\x80\x02}q\1"), "not marshal data; it looks like a pickle"},
      {"(dp0\nS'a'\np1\n", "not marshal data; it looks like a pickle"},
      {std::string("(K\1K\0tq\0.", 9), "not marshal data; it looks like a pickle"},  // as a tuple: of 4 GB
      {"c" + code, "x.prof:0: expected a statistics dictionary, got a code object (type 'c')"},
      {"\xe3" + code, "x.prof:0: expected a statistics dictionary, got a code object (type 'c')"},
      {"\xa7\r\r\n" + std::string(12, '\0') + "\xe3" + code,
       "x.prof:16: expected a statistics dictionary, got the code object"},
      {"{\"traceEvents\": []}", "not marshal data; it looks like JSON"},
      {"{\n  \"a\": 1}", "not marshal data; it looks like JSON"},
      {"[1, 2]", "not marshal data; it looks like JSON"},
      {"import time: self [us] | cumulative\n", "not marshal data; it looks like the text of python -X importtime"},
      {"<!DOCTYPE html>", "not marshal data; it looks like an HTML page"},
      {"ncalls tottime\n", "not marshal data; it looks like plain text"},
      {T({I(1)}), "x.prof:0: expected a statistics dictionary, got a tuple"},
      {nested,
       "x.prof:1: expected a function (file, line, name), got a tuple of 1; this is not a statistics dictionary"},
      {"{(" + I32(0x7fffffff), "x.prof:1: expected a function (file, line, name), got a tuple of 2147483647"},
      {"{(" + I32(-1), "got a tuple of -1"},
      {D({Z("a"), I(1)}), "x.prof:1: expected a function (file, line, name), got a text"},
      {D({Big('[', {Z("f.py"), I(1), Z("a")}), Row()}), "x.prof:1: expected a function (file, line, name), got a list"},
      {D({T({I(1), I(1), Z("a")}), Row()}), "x.prof:3: expected a text, got an integer"},
      {D({T({"N", I(1), Z("a")}), Row()}), "x.prof:3: expected a text, got None"},
      {D({T({Z("f"), G(1), Z("a")}), Row()}), "x.prof:6: expected a line number, got a float"},
      {D({T({Z("f"), Z("1"), Z("a")}), Row()}), "x.prof:6: expected a line number, got a text"},
      {"{)\3u" + I32(-1), "x.prof:3: expected a text, got a text of -1 bytes"},
      {"{)\3u" + I32(0x7ffffff0), "x.prof:3: a text of 2147483632 bytes; the limit is 67108864"},
      {D({Key("a"), Caller()}),
       "x.prof:17: expected the numbers of a function (cc, nc, tt, ct, callers), got a tuple of 4"},
      {D({Key("a"), Row(), Key("b"), "N"}), "expected the numbers of a function (cc, nc, tt, ct, callers), got None"},
      {D({Key("a"), T({I(1), I(1), Z("x"), G(1), "{0"})}), "expected a number, got a text"},
      {D({Key("a"), T({I(1), I(1), G(1), G(1), I(1)})}), "expected a dict of callers, got an integer"},
      {D({Key("a"), Row(D({Key("b"), Row()}))}), "expected the numbers of a caller (nc, cc, tt, ct), got a tuple of 5"},
      {D({Key("a"), Row(D({Key("b"), G(1)}))}), "expected the numbers of a caller (nc, cc, tt, ct), got a float"},
      {D({Key("a"), Row(D({Key("b"), f(T({I(1), I(1), G(0), R(0)}))}))}),
       "a circular reference: object 0 is not finished"},
      {f(D({Key("a"), R(0)})), "a circular reference: object 0 is not finished yet"},
      {D({f(T({R(0), I(1), Z("a")})), Row()}), "x.prof:3: expected a text, got a circular reference"},
      {D({Key("a"), f(T({I(1), I(1), G(1), G(1), R(0)}))}), "expected a dict of callers, got a circular reference"},
      {D({Key("a"), Row(f(D({R(0), Caller()})))}), "expected a function (file, line, name), got a circular reference"},
      {D({R(7), Row()}),
       "x.prof:1: expected a function (file, line, name), got a reference to object 7, but there are 0"},
      {D({R(-1), Row()}), "a reference to object -1"},
      {D({T({"R" + I32(0), I(1), Z("a")}), Row()}), "a reference to interned text 0 of Python 2, but there are 0"},
      {D({T({f(Z("f.py")), I(1), Z("a")}), R(0)}), "got a reference to a text"},
      {D({T({Z("f.py"), f(I(1)), R(0)}), Row()}), "expected a text, got a reference to a number"},
      {D({f(Key("a")), Row(R(0))}), "expected a dict of callers, got a reference to a function"},
      {D({Key("a"), f(Row()), Key("b"), Row(D({Key("c"), R(0)}))}), "got a reference to the numbers of a function"},
      {D({Key("a"), T({Text("1x"), I(1), G(0), G(0), "{0"})}), "expected a float, got text that is no number"},
      {D({Key("a"), T({Text("0x10"), I(1), G(0), G(0), "{0"})}), "expected a float, got text that is no number"},
      {D({Key("a"), T({Text(" 1"), I(1), G(0), G(0), "{0"})}), "expected a float, got text that is no number"},
      {D({Key("a"), T({L(1, {0x8000}), I(1), G(0), G(0), "{0"})}), "one with an impossible digit"},
      {D({Key("a"), T({L(2, {1, 0}), I(1), G(0), G(0), "{0"})}), "one with an impossible digit"},
      {D({Key("a"), T({"l" + I32(0x7fffffff), I(1), I(1), I(1), "{0"})}), "an integer of 2147483647 digits"},
      {D({Key("a"), T({"l" + I32(INT32_MIN), I(1), I(1), I(1), "{0"})}), "an integer of 2147483648 digits"},
      {D({Key("a"), T({"y................", I(1), I(1), I(1), "{0"})}), "got a complex number"},
      {D({"?", I(1)}), "x.prof:1: expected a function (file, line, name), got the unknown type code 0x3f"},
  };
  for (const Case& c : kCases) {
    const Result result = Read(c.bytes);
    EXPECT_FALSE(result.status.ok()) << c.want;
    EXPECT_TRUE(absl::StrContains(result.status.message(), c.want)) << c.want << "\n" << result.status;
    EXPECT_TRUE(absl::StartsWith(result.status.message(), "x.prof:")) << result.status;
    EXPECT_EQ(result.status.message().find('\n'), absl::string_view::npos) << result.status;
  }
}

// Texts longer than the buffer, and enough rows to refill it at every possible place.
TEST(ReadPstats, DoesNotDependOnBuffers) {
  const std::string long_name(300'000, 'n');
  std::vector<std::string> items = {T({Long('a', long_name), I(1), Long('u', long_name + "\xc3\xa9")}), Row()};
  for (int i = 0; i < 4000; ++i) {
    items.push_back(T({Z("f.py"), I(i), Z(std::string(static_cast<size_t>(i % 200), 'x'))}));
    items.push_back(Row(i % 3 == 0 ? D({Key("b"), Caller()}) : "{0"));
  }
  const std::string bytes = D(items);
  const Result whole = Read(bytes);
  ASSERT_TRUE(whole.status.ok()) << whole.status;
  EXPECT_EQ(whole.profile.row_count(), 4001u);
  EXPECT_EQ(whole.profile.file(FunctionId{0}).size(), 300'000u);
  for (const size_t step : {size_t{1}, size_t{7}, size_t{100'003}}) {
    io::SlowSource source(bytes, step, "slow.prof");
    EXPECT_EQ(ReadSource(source).text, whole.text) << step;
  }
}

TEST(ReadPstats, ManyCallersOfOneFunction) {
  std::vector<std::string> callers;
  for (int i = 0; i < 100; ++i) {
    callers.push_back(T({Z("g.py"), I(i % 60), Z("c")}));
    callers.push_back(Caller());
  }
  const Result result = Read(D({Key("a"), Row(D(callers)), Key("b"), Row(D(callers))}));
  ASSERT_TRUE(result.status.ok()) << result.status;
  ASSERT_EQ(result.profile.edges().size(), 120u);
  for (const Profile::Edge& e : result.profile.edges()) {
    EXPECT_EQ(e.stats.call_count, result.profile.function(e.caller).line < 40 ? 4 : 2);
  }
  EXPECT_EQ(result.report.Find("duplicate_caller")->count, 2u);
}

// A dict of callers that many rows refer to must not make a small file a large profile.
TEST(ReadPstats, BoundsWhatReferencesStandFor) {
  std::vector<std::string> callers, rows;
  for (int i = 0; i < 2000; ++i) {
    callers.push_back(T({Z("g"), I(i), Z("c")}));
    callers.push_back(I(1));
  }
  rows = {Key("a"), Row(f(D(callers)))};
  for (int i = 0; i < 2000; ++i) {
    rows.push_back(T({Z("f"), I(i), Z("x")}));
    rows.push_back(Row(R(0)));
  }
  const Result result = Read(D(rows));
  EXPECT_TRUE(absl::IsResourceExhausted(result.status)) << result.status;
}

// A small file with every kind of object: what damage does to it is an error, or a profile.
std::string SmallFile() {
  return f(D({f(T({f(Z("f.py")), f(I(1)), Long('u', "\xc3\xa9")})),
              T({I(1), I(2), f(G(.25)), Text("0.5"), D({R(1), f(Caller()), T({R(2), R(3), Z("b")}), R(5)})}),
              T({R(2), I(2), Long('s', "b\xff")}), f(T({L(3, {0, 0, 1}), I(2), R(4), G(.5), f(D({R(1), I(3)}))}))}));
}

TEST(ReadPstats, SurvivesDamage) {
  const std::string good = SmallFile();
  ASSERT_TRUE(Read(good).status.ok()) << Read(good).status;
  for (size_t size = 0; size < good.size(); ++size) {
    const Result result = Read(good.substr(0, size));
    EXPECT_FALSE(result.status.ok()) << size;
    if (size > 0) {
      EXPECT_TRUE(absl::IsDataLoss(result.status)) << size << " " << result.status;
      EXPECT_TRUE(absl::StrContains(result.status.message(), absl::StrCat("x.prof:", size, ":"))) << result.status;
    }
  }
  int survivors = 0;
  for (size_t i = 0; i < good.size(); ++i) {
    for (int change = 1; change < 256; ++change) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ change);
      const Result result = Read(bad);
      if (result.status.ok()) {
        ++survivors;
        EXPECT_TRUE(result.report.IsBalanced());
      } else {
        EXPECT_FALSE(absl::IsInternal(result.status));
        EXPECT_TRUE(absl::StartsWith(result.status.message(), "x.prof:")) << result.status;
      }
    }
  }
  EXPECT_GT(survivors, 100);  // damaged numbers and letters are still numbers and letters
}

TEST(SniffPstats, Table) {
  struct Case {
    std::string head;
    int want;
  };
  const Case kCases[] = {
      {D({Key("a"), Row()}), 90},
      {f(D({f(Key("a")), Row()})), 90},
      {D({Big('(', {Long('t', "f.py"), I(1), Z("a")})}), 90},
      {D({f(Key("a")), Row()}), 90},
      {"{0", 60},
      {"\xfb"
       "0",
       60},
      {"{)\1)\1)\1", 20},
      {"{(\xff\xff\xff\x7fi", 20},
      {"{(" + I32(2), 20},
      {std::string("c\0\0\0\0\0", 6), 20},
      {"\xa7\r\r\n" + std::string(12, '\0') + std::string("\xe3\0\0\0\0\0", 6), 20},
      {T({I(1)}), 20},
      {D({Z("a"), I(1)}), 20},
      {"\xfb", 20},
      {"", 0},
      {"{", 0},
      {"{\"traceEvents\": []}", 0},
      {"{ \"a\": 1}", 0},
      {"{\n\t\"a\": 1}", 0},
      {"{}", 0},
      {"{'a': 1}", 0},
      {"{0: 1}", 20},
      {"[{\"ph\": \"X\"}]", 0},
      {"[\n\n\n\n{", 0},
      {"[1, 2]", 0},
      {"(dp0\nS'a'", 0},
      {") \n", 0},
      {"\x80\x02}q", 0},
      {"\x1f\x8b\x08", 0},
      {"import time: self [us]", 0},
      {"copyright\n", 0},
  };
  for (const Case& c : kCases) EXPECT_EQ(SniffPstats(c.head), c.want) << c.head;
}

// Every profile of the shared collection, as far as it should be readable.
TEST(SharedProfiles, AllAreRead) {
  const char* const from_environment = std::getenv("TRACEKILN_SHARED");
  const std::string shared = from_environment != nullptr ? from_environment : "../shared";
  if (struct stat info; ::stat((shared + "/data/lightning").c_str(), &info) != 0) {
    GTEST_SKIP() << "NO SHARED PROFILES at " << shared << " (TRACEKILN_SHARED): no real profile was read";
  }
  int count = 0;
  for (const char* const folder : {"/data/lightning", "/data/samples/generated/pstats", "/data/samples/hatchet"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(shared + folder)) {
      const std::string path = entry.path().string();
      if (!absl::EndsWith(path, ".prof") && !absl::EndsWith(path, ".pstats")) continue;
      ++count;
      auto input = io::OpenInput(path);
      ASSERT_TRUE(input.ok()) << input.status();
      EXPECT_GE(SniffPstats((*input)->Head()), 60) << path;
      const Result result = ReadSource(*(*input)->Stream());
      ASSERT_TRUE(result.status.ok()) << result.status;
      EXPECT_TRUE(result.report.IsBalanced());
      EXPECT_EQ(result.report.repaired(), 0u) << path << "\n" << result.report.ToText();
      EXPECT_EQ(result.report.Find("trailing_bytes"), nullptr);
      EXPECT_EQ(result.profile.empty(), absl::EndsWith(path, "c_empty.prof"));
      EXPECT_TRUE(result.report.entries().empty() || !absl::StrContains(path, "/lightning/")) << path;
    }
  }
  EXPECT_GE(count, 68 + 19 + 2);
}

}  // namespace
}  // namespace tracekiln::pstats
