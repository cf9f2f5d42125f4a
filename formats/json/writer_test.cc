#include "formats/json/writer.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simdjson.h"

namespace tracekiln::json {
namespace {

template <typename WriteValue>
std::string Written(WriteValue&& write, const Layout& layout = {}) {
  std::string out;
  Writer writer(&out, layout);
  write(writer);
  writer.Flush();
  return out;
}

std::string WrittenString(absl::string_view bytes) {
  return Written([&](Writer& w) { w.String(bytes); });
}

// The oracle: decodes as WHATWG's "UTF-8 decode" does, a byte at a time, and puts U+FFFD for errors.
std::string RepairedReference(const std::string& in) {
  std::string out, pending;
  int needed = 0;
  unsigned lower = 0x80, upper = 0xBF;
  const auto fail = [&] {
    out += "\xEF\xBF\xBD";
    pending.clear();
    needed = 0;
    lower = 0x80;
    upper = 0xBF;
  };
  for (size_t i = 0; i < in.size();) {
    const unsigned c = static_cast<unsigned char>(in[i]);
    if (needed == 0) {
      ++i;
      if (c < 0x80) {
        out += static_cast<char>(c);
        continue;
      }
      pending = static_cast<char>(c);
      if (c >= 0xC2 && c <= 0xDF) {
        needed = 1;
      } else if (c >= 0xE0 && c <= 0xEF) {
        needed = 2;
        if (c == 0xE0) lower = 0xA0;
        if (c == 0xED) upper = 0x9F;
      } else if (c >= 0xF0 && c <= 0xF4) {
        needed = 3;
        if (c == 0xF0) lower = 0x90;
        if (c == 0xF4) upper = 0x8F;
      } else {
        fail();
      }
      continue;
    }
    if (c < lower || c > upper) {
      fail();
      continue;  // the byte is looked at again
    }
    ++i;
    lower = 0x80;
    upper = 0xBF;
    pending += static_cast<char>(c);
    if (--needed == 0) {
      out += pending;
      pending.clear();
    }
  }
  if (needed != 0) fail();
  return out;
}

// The oracle of escaping: one character at a time.
std::string EscapedReference(const std::string& bytes) {
  const std::string text = RepairedReference(bytes);
  std::string out = "\"";
  for (size_t i = 0; i < text.size(); ++i) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    const char* const known = std::strchr("\"\"\\\\\bb\ff\nn\rr\tt", c);
    if (c == '\\' && i + 1 == text.size()) {
      out += "\\u005c";
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c >= 0x20) {
      out += static_cast<char>(c);
    } else if (c != 0 && known != nullptr) {
      out += '\\';
      out += known[1];
    } else {
      char hex[8];
      std::snprintf(hex, sizeof hex, "\\u%04x", c);
      out += hex;
    }
  }
  return out + '"';
}

std::string ParsedString(const std::string& json) {
  simdjson::dom::parser parser;
  std::string_view value;
  const std::string document = "[" + json + "]";
  simdjson::padded_string padded(document);
  const auto error = parser.parse(padded).at(0).get(value);
  EXPECT_EQ(error, simdjson::SUCCESS) << json;
  return std::string(value);
}

TEST(WriterTest, WritesStrings) {
  struct Case {
    const char* name;
    std::string input, want;
  };
  const Case cases[] = {
      {"empty", "", R"("")"},
      {"plain", "void foo<int>(a, b)", "\"void foo<int>(a, b)\""},
      {"quotes", R"(say "hi")", R"("say \"hi\"")"},
      {"backslash inside", R"(C:\dir\x)", R"("C:\\dir\\x")"},
      {"backslash at the end", R"(C:\dir\)", R"("C:\\dir\u005c")"},
      {"two backslashes at the end", R"(a\\)", R"("a\\\u005c")"},
      {"only a backslash", R"(\)", R"("\u005c")"},
      {"backslash before a quote", R"(\")", R"("\\\"")"},
      {"quote at the end", R"(a")", R"("a\"")"},
      {"control bytes", std::string("a\0b\x01\x1f\b\f\n\r\t", 10), R"("a\u0000b\u0001\u001f\b\f\n\r\t")"},
      {"delete is not escaped", "\x7f", "\"\x7f\""},
      {"slash is not escaped", "a/b", R"("a/b")"},
      {"UTF-8 stays", "é→🚀", "\"é→🚀\""},
      {"line separators stay", "\xE2\x80\xA8", "\"\xE2\x80\xA8\""},
      {"lone continuation", "a\x80z", "\"a\xEF\xBF\xBDz\""},
      {"overlong", "\xC0\xAF", "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},
      {"surrogate", "\xED\xA0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},
      {"cut sequence, one mark", "\xF0\x9F\x9A", "\"\xEF\xBF\xBD\""},
      {"cut sequence, then text", "\xE2\x82z", "\"\xEF\xBF\xBDz\""},
      {"cut sequence, then another", "\xE2\x82\xE2\x82\xAC", "\"\xEF\xBF\xBD\xE2\x82\xAC\""},
      {"above U+10FFFF", "\xF4\x90\x80\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},
      {"cut sequence before a quote", "\xE2\"", "\"\xEF\xBF\xBD\\\"\""},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(WrittenString(c.input), c.want) << c.name;
    EXPECT_EQ(EscapedReference(c.input), c.want) << c.name << " (oracle)";
  }
}

TEST(WriterTest, AnySpecialByteAtAnyPlaceOfAnyLengthIsEscaped) {
  for (size_t length = 1; length <= 80; ++length) {
    for (size_t at = 0; at < length; ++at) {
      for (const char special : {'"', '\\', '\0', '\x1f', '\x80', '\xc3'}) {
        std::string text(length, 'x');
        text[at] = special;
        ASSERT_EQ(WrittenString(text), EscapedReference(text)) << length << " " << at << " " << int{special};
      }
    }
  }
}

TEST(WriterTest, AnyBytesBecomeValidJsonThatReadsBackAsTheRepairedBytes) {
  std::mt19937_64 random(1);
  const std::string alphabet = std::string("\"\\\n\0\x1f", 5) + "a/ é€🚀\x80\xC2\xE0\xA0\xED\x9F\xF0\x90\xF4\x8F\xFF";
  for (int round = 0; round < 20000; ++round) {
    std::string text(random() % 100, '\0');
    const int mode = static_cast<int>(random() % 3);
    for (char& c : text) {
      c = mode == 0   ? static_cast<char>(random())
          : mode == 1 ? alphabet[random() % alphabet.size()]
                      : (random() % 20 == 0 ? static_cast<char>(random()) : static_cast<char>('a' + random() % 26));
    }
    const std::string json = WrittenString(text);
    ASSERT_EQ(json, EscapedReference(text));
    ASSERT_EQ(ParsedString(json), RepairedReference(text));
    ASSERT_FALSE(json.ends_with(R"(\\")")) << json;  // Perfetto would refuse it
  }
}

TEST(WriterTest, WritesLongStringsOfEscapes) {
  const std::string text(100000, '\x01');
  EXPECT_EQ(WrittenString(text).size(), 600002u);
  EXPECT_EQ(WrittenString(std::string(100000, '\xFF')).size(), 300002u);
}

TEST(WriterTest, WritesNumbers) {
  const auto number = [](auto value) {
    return Written([&](Writer& w) {
      if constexpr (std::is_same_v<decltype(value), double>) {
        w.Double(value);
      } else if constexpr (std::is_same_v<decltype(value), uint64_t>) {
        w.Uint(value);
      } else {
        w.Int(value);
      }
    });
  };
  EXPECT_EQ(number(int64_t{0}), "0");
  EXPECT_EQ(number(std::numeric_limits<int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(number(std::numeric_limits<uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(number(1.0), "1.0");
  EXPECT_EQ(number(-0.0), "-0.0");
  EXPECT_EQ(number(0.1), "0.1");
  EXPECT_EQ(number(1e300), "1e+300");
  EXPECT_EQ(number(123456789.0), "123456789.0");
  EXPECT_EQ(number(5e-324), "5e-324");
  EXPECT_EQ(number(std::numeric_limits<double>::quiet_NaN()), "\"NaN\"");
  EXPECT_EQ(number(std::numeric_limits<double>::infinity()), "\"Infinity\"");
  EXPECT_EQ(number(-std::numeric_limits<double>::infinity()), "\"-Infinity\"");
}

TEST(WriterTest, DoublesReadBackAsTheSameDouble) {
  std::mt19937_64 random(2);
  simdjson::dom::parser parser;
  for (int round = 0; round < 20000; ++round) {
    const uint64_t bits = random();
    double value;
    std::memcpy(&value, &bits, 8);
    if (!(value - value == 0)) continue;  // not finite
    const std::string json = Written([&](Writer& w) { w.Double(value); });
    ASSERT_NE(json.find_first_of(".e"), std::string::npos) << json;
    double back;
    ASSERT_EQ(parser.parse("[" + json + "]").at(0).get(back), simdjson::SUCCESS) << json;
    ASSERT_EQ(back, value) << json;
  }
}

TEST(WriterTest, WritesMicroseconds) {
  const auto micros = [](int64_t ns) { return Written([&](Writer& w) { w.MicrosFromNanos(ns); }); };
  struct Case {
    int64_t ns;
    const char* want;
  };
  const Case cases[] = {{0, "0"},
                        {1, "0.001"},
                        {999, "0.999"},
                        {1000, "1"},
                        {1010, "1.010"},
                        {1500, "1.500"},
                        {-1, "-0.001"},
                        {-1000, "-1"},
                        {-1001, "-1.001"},
                        {1712195495519689123, "1712195495519689.123"},
                        {std::numeric_limits<int64_t>::max(), "9223372036854775.807"},
                        {std::numeric_limits<int64_t>::min(), "-9223372036854775.808"}};
  for (const Case& c : cases) EXPECT_EQ(micros(c.ns), c.want);
}

void WriteSample(Writer& w) {
  w.BeginObject();
  w.Key("rank");
  w.Int(0);
  w.Key("none");
  w.BeginArray();
  w.EndArray();
  w.Key("events");
  w.BeginArray();
  w.BeginObject();
  w.Key(Escaped("a\"b"));
  w.String(Escaped("x\\"));
  w.Key("raw");
  w.Raw("[1,[2]]");
  w.EndObject();
  w.BeginObject();
  w.EndObject();
  w.Bool(true);
  w.Bool(false);
  w.Null();
  w.EndArray();
  w.EndObject();
}

TEST(WriterTest, PutsCommasAndLineBreaks) {
  EXPECT_EQ(Written(WriteSample),
            R"({"rank":0,"none":[],"events":[{"a\"b":"x\u005c","raw":[1,[2]]},{},true,false,null]})");
  EXPECT_EQ(
      Written(WriteSample, {.break_depth = 2, .indent = 0, .blank_after_colon = true}),
      "{\n\"rank\": 0,\n\"none\": [],\n\"events\": [\n{\"a\\\"b\": \"x\\u005c\",\"raw\": [1,[2]]},\n{},\ntrue,\nfalse,"
      "\nnull\n]\n}");
  EXPECT_EQ(
      Written(WriteSample, {.break_depth = 64, .indent = 2, .blank_after_colon = true}),
      "{\n  \"rank\": 0,\n  \"none\": [],\n  \"events\": [\n    {\n      \"a\\\"b\": \"x\\u005c\",\n      \"raw\": "
      "[1,[2]]\n    },\n    {},\n    true,\n    false,\n    null\n  ]\n}");
}

TEST(WriterTest, ContinuesAnArrayBegunElsewhere) {
  const Layout layout = {.break_depth = 2, .indent = 0, .blank_after_colon = false};
  std::string out;
  Writer outer(&out, layout);
  outer.BeginObject();
  outer.Key("traceEvents");
  outer.BeginArray();
  outer.Flush();
  for (int piece = 0; piece < 2; ++piece) {
    Writer inner(&out, layout, 2, piece > 0);
    inner.Int(piece);
    inner.Int(7);
  }
  EXPECT_EQ(out, "{\n\"traceEvents\":[\n0,\n7,\n1,\n7");
}

TEST(WriterTest, AppendsToWhatTheBufferHolds) {
  std::string out = "before ";
  {
    Writer w(&out);
    w.String("x");
    EXPECT_EQ(w.size(), 10u);
  }
  EXPECT_EQ(out, "before \"x\"");
}

TEST(WriterTest, GoesOnAfterFlush) {
  std::string out;
  Writer w(&out);
  w.BeginArray();
  for (int i = 0; i < 3; ++i) {
    w.Int(i);
    w.Flush();
  }
  w.EndArray();
  w.Flush();
  EXPECT_EQ(out, "[0,1,2]");
}

TEST(WriterTest, RespellsEscapedBackslashesAtTheEndOfRawStrings) {
  const auto raw = [](absl::string_view json) { return Written([&](Writer& w) { w.Json(json); }); };
  EXPECT_EQ(raw(R"(["a\\b",1])"), R"(["a\\b",1])");
  EXPECT_EQ(raw(R"(["a\\",1])"), R"(["a\u005c",1])");
  EXPECT_EQ(raw(R"(["a\\\\",1])"), R"(["a\\\u005c",1])");
  EXPECT_EQ(raw(R"(["a\\\"b",1])"), R"(["a\\\"b",1])");
  EXPECT_EQ(raw(R"({"k\\":"\\"})"), R"({"k\u005c":"\u005c"})");
}

TEST(WriterTest, PutsBlanksIntoCanonicalJson) {
  const auto json = [](absl::string_view text) {
    return Written([&](Writer& w) { w.Json(text); }, {.break_depth = 0, .indent = 0, .blank_after_colon = true});
  };
  EXPECT_EQ(json(R"({"rank":0,"a:b":{"c\\x":"\":\\:","d":[]}})"), R"({"rank": 0,"a:b": {"c\\x": "\":\\:","d": []}})");
  EXPECT_EQ(json(R"({"x":"a\\"})"), R"({"x": "a\u005c"})");
}

}  // namespace
}  // namespace tracekiln::json
