#include "formats/json/text.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace tracekiln::json {
namespace {

class Recorder : public DamageSink {
 public:
  void OnDamage(Damage damage, const char* at) override { met.emplace_back(damage, at); }
  std::vector<std::pair<Damage, const char*>> met;
};

struct Utf8Case {
  std::string raw;
  std::string want;  // U+FFFD is shown as `?`
};

std::string Show(std::string text) {
  for (size_t at; (at = text.find("\xef\xbf\xbd")) != std::string::npos;) text.replace(at, 3, "?");
  return text;
}

TEST(DecodeString, ReplacesEachMaximalIllFormedSequence) {
  const Utf8Case cases[] = {
      {"\x80", "?"},
      {"a\xff\xfe z", "a?? z"},
      {"\xc0\xaf", "??"},  // overlong
      {"\xc1\xbf", "??"},
      {"\xe0\x80\xaf", "???"},
      {"\xf0\x80\x80\xaf", "????"},
      {"\xf8\x88\x80\x80\x80", "?????"},
      {"\xed\xa0\x80", "???"},  // a surrogate
      {"\xed\xbf\xbf", "???"},
      {"\xf4\x90\x80\x80", "????"},  // above U+10FFFF
      {"\xc3", "?"},                 // cut off
      {"\xe2\x82", "?"},
      {"\xf0\x9f\x9a", "?"},
      {"\xe2\x82z", "?z"},
      {"\xf0\x9f\xe2\x82\xac", "?\xe2\x82\xac"},
  };
  for (const Utf8Case& c : cases) {
    std::string out;
    Recorder sink;
    Error error;
    ASSERT_TRUE(DecodeString(c.raw, &out, &sink, &error));
    EXPECT_EQ(Show(out), c.want);
    ASSERT_EQ(sink.met.size(), 1u);
    EXPECT_EQ(sink.met[0].first, Damage::kInvalidUtf8);
    EXPECT_EQ(static_cast<unsigned char>(*sink.met[0].second) >= 0x80, true);
    EXPECT_FALSE(IsCleanUtf8(c.raw));
    EXPECT_TRUE(IsCleanUtf8(out));
  }
}

TEST(DecodeString, LeavesGoodTextAlone) {
  for (const std::string& text : {std::string(), std::string("aten::add"), std::string("\x7f"), std::string("\xc2\x80"),
                                  std::string("\xe0\xa0\x80\xef\xbf\xbf\xed\x9f\xbf\xee\x80\x80"),
                                  std::string("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf")}) {
    std::string out;
    Recorder sink;
    Error error;
    ASSERT_TRUE(DecodeString(text, &out, &sink, &error));
    EXPECT_EQ(out, text);
    EXPECT_TRUE(sink.met.empty());
    EXPECT_TRUE(IsCleanUtf8(text));
  }
}

TEST(DecodeString, ResolvesEscapes) {
  std::string out;
  Recorder sink;
  Error error;
  ASSERT_TRUE(DecodeString(R"(\"\\\/\b\f\n\r\t\u0041\u00E9\u20ac\ud83d\ude80\u0000.)", &out, &sink, &error));
  EXPECT_EQ(out, std::string("\"\\/\b\f\n\r\tA\xc3\xa9\xe2\x82\xac\xf0\x9f\x9a\x80\0.", 20));
  EXPECT_TRUE(sink.met.empty());
}

TEST(DecodeString, ReplacesLoneSurrogates) {
  for (const auto& [raw, want] :
       std::vector<std::pair<std::string, std::string>>{{R"(\ud83d)", "?"},
                                                        {R"(\ude80)", "?"},
                                                        {R"(\ud83dx)", "?x"},
                                                        {R"(\ud83d\n)", "?\n"},
                                                        {R"(\ud83d\ud83d\ude80)", "?\xf0\x9f\x9a\x80"},
                                                        {R"(\ude80\ud83d)", "??"},
                                                        {R"(\ud83d\u0041)", "?A"}}) {
    std::string out;
    Recorder sink;
    Error error;
    ASSERT_TRUE(DecodeString(raw, &out, &sink, &error)) << raw;
    EXPECT_EQ(Show(out), want) << raw;
    ASSERT_EQ(sink.met.size(), 1u) << raw;
    EXPECT_EQ(sink.met[0].first, Damage::kLoneSurrogate);
  }
}

TEST(DecodeString, RefusesUnknownEscapesAndTellsWhere) {
  for (const std::string& raw : {std::string(R"(ab\c)"), std::string(R"(ab\u12)"), std::string(R"(ab\u12g4)"),
                                 std::string("ab\\"), std::string(R"(ab\x41)"), std::string(R"(ab\U0041)")}) {
    std::string out;
    Recorder sink;
    Error error;
    EXPECT_FALSE(DecodeString(raw, &out, &sink, &error)) << raw;
    EXPECT_EQ(error.at, raw.data() + 2) << raw;
    EXPECT_FALSE(error.is_truncation);
  }
}

TEST(DecodeString, ReportsEachDamageOncePerString) {
  const std::string raw = std::string("a\x01") + "\x02\xff\xff\\ud800\\ud800\x03";
  std::string out;
  Recorder sink;
  Error error;
  ASSERT_TRUE(DecodeString(raw, &out, &sink, &error));
  ASSERT_EQ(sink.met.size(), 3u);
  EXPECT_EQ(sink.met[0], std::make_pair(Damage::kControlCharacter, raw.data() + 1));
  EXPECT_EQ(sink.met[1], std::make_pair(Damage::kInvalidUtf8, raw.data() + 3));
  EXPECT_EQ(sink.met[2], std::make_pair(Damage::kLoneSurrogate, raw.data() + 5));
}

// By code points: what RFC 3629 allows.
bool PlainIsClean(const std::string& text) {
  for (size_t i = 0; i < text.size();) {
    const auto byte = [&](size_t k) { return static_cast<uint32_t>(static_cast<unsigned char>(text[k])); };
    const uint32_t lead = byte(i);
    const size_t length = lead < 0x80             ? 1
                          : (lead & 0xe0) == 0xc0 ? 2
                          : (lead & 0xf0) == 0xe0 ? 3
                          : (lead & 0xf8) == 0xf0 ? 4
                                                  : 0;
    if (length == 0 || i + length > text.size()) return false;
    uint32_t code = length == 1 ? lead : lead & (0x7fu >> length);
    for (size_t k = 1; k < length; ++k) {
      if ((byte(i + k) & 0xc0) != 0x80) return false;
      code = code << 6 | (byte(i + k) & 0x3f);
    }
    static constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < kLeast[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) || code < 0x20) return false;
    i += length;
  }
  return true;
}

TEST(IsCleanUtf8, EqualsThePlainRule) {
  std::mt19937 random(1);
  const unsigned char bytes[] = {'a',  0x1f, 0x20, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf,
                                 0xc1, 0xc2, 0xdf, 0xe0, 0xed, 0xef, 0xf0, 0xf4, 0xf5, 0xff};
  int clean = 0;
  for (int round = 0; round < 300000; ++round) {
    std::string text(random() % 20, 'a');
    const size_t odd = random() % 5;
    for (size_t i = 0; i < odd; ++i)
      text.insert(random() % (text.size() + 1), 1, static_cast<char>(bytes[random() % 20]));
    const bool want = PlainIsClean(text);
    clean += want;
    ASSERT_EQ(IsCleanUtf8(text), want);
    if (text.find('\\') != std::string::npos) continue;
    std::string out;
    Recorder sink;
    Error error;
    ASSERT_TRUE(DecodeString(text, &out, &sink, &error));
    ASSERT_EQ(sink.met.empty(), want);
    if (want) {
      ASSERT_EQ(out, text);
    }
  }
  EXPECT_GT(clean, 10000);
}

TEST(AppendAsUtf8Test, ReplacesWhatIsIllFormed) {
  const auto repaired = [](absl::string_view bytes) {
    std::string out = ">";
    const bool is_clean = AppendAsUtf8(bytes, &out);
    EXPECT_EQ(is_clean, out.substr(1) == bytes);
    return out;
  };
  EXPECT_EQ(repaired(""), ">");
  EXPECT_EQ(repaired("plain text of some length\n\x01"), ">plain text of some length\n\x01");
  EXPECT_EQ(repaired("\xe6\xbc\xa2 \xf0\x9f\x98\x80"), ">\xe6\xbc\xa2 \xf0\x9f\x98\x80");
  EXPECT_EQ(repaired("12345678\xff"
                     "abc\xe6\xbc"),
            ">12345678\xef\xbf\xbd"
            "abc\xef\xbf\xbd");
  EXPECT_EQ(repaired("\xed\xa0\x80"), ">\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");  // a surrogate
}

}  // namespace
}  // namespace tracekiln::json
