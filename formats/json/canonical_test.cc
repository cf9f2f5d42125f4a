#include "formats/json/canonical.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "formats/json/scan.h"

namespace tracekiln::json {
namespace {

class Recorder : public DamageSink {
 public:
  void OnDamage(Damage damage, const char* at) override { met.emplace_back(damage, at - base); }
  const char* base = nullptr;
  std::vector<std::pair<Damage, int64_t>> met;
};

struct Result {
  bool ok = false;
  std::string text;
  std::vector<std::pair<Damage, int64_t>> damage;
  Error error;
  int64_t error_at = -1;
  int64_t end = -1;
};

Result Canonical(const std::string& text) {
  const std::string padded = text + std::string(kPadding, '\0');
  Result r;
  Recorder sink;
  sink.base = padded.data();
  const char* end = AppendCanonical(padded.data(), padded.data() + text.size(), &r.text, &sink, &r.error);
  r.ok = end != nullptr;
  r.damage = sink.met;
  if (r.ok) r.end = end - padded.data();
  if (!r.ok) r.error_at = r.error.at - padded.data();
  return r;
}

TEST(AppendCanonical, DropsBlanksAndSpellsStringsOneWay) {
  for (const auto& [text, want] : std::vector<std::pair<std::string, std::string>>{
           {" [ 1 , 2.50 ,\n{ \"a\" : null } ] ", "[1,2.50,{\"a\":null}]"},
           {R"("\u0041\/\n\u00e9")", "\"A/\\n\xc3\xa9\""},
           {R"({"":{"":[]}})", R"({"":{"":[]}})"},
           {"-0", "-0"},
           {"1E5", "1E5"},
           {"18446744073709551616", "18446744073709551616"},
           {"true", "true"},
       }) {
    const Result r = Canonical(text);
    ASSERT_TRUE(r.ok) << text << r.error.reason;
    EXPECT_EQ(r.text, want);
    EXPECT_TRUE(r.damage.empty());
  }
}

TEST(AppendCanonical, MendsConfinedDamage) {
  struct Case {
    std::string text, want;
    Damage damage;
    int64_t at;
  };
  for (const Case& c : std::vector<Case>{
           {"[1,]", "[1]", Damage::kTrailingComma, 2},
           {"{\"a\":1 , }", "{\"a\":1}", Damage::kTrailingComma, 7},
           {"[nan]", "[\"nan\"]", Damage::kNonFiniteNumber, 1},
           {"[-Infinity]", "[\"-Infinity\"]", Damage::kNonFiniteNumber, 1},
           {"{\"a\":1,\"a\":2}", "{\"a\":1,\"a\":2}", Damage::kDuplicateKey, 7},
           {"{\"a\":1,\"\\u0061\":2}", "{\"a\":1,\"a\":2}", Damage::kDuplicateKey, 7},
           {"[\"\xff\"]", "[\"\xef\xbf\xbd\"]", Damage::kInvalidUtf8, 2},
           {"[\"\x01\"]", "[\"\\u0001\"]", Damage::kControlCharacter, 2},
       }) {
    const Result r = Canonical(c.text);
    ASSERT_TRUE(r.ok) << c.text << r.error.reason;
    EXPECT_EQ(r.text, c.want);
    ASSERT_EQ(r.damage.size(), 1u) << c.text;
    EXPECT_EQ(r.damage[0], std::make_pair(c.damage, c.at)) << c.text;
  }
}

TEST(AppendCanonical, RefusesWhatIsNoJsonAndTellsWhere) {
  struct Case {
    const char* text;
    int64_t at;
    bool is_truncation;
  };
  for (const Case& c :
       {Case{"", 0, true},      {"[", 1, true},      {"[1", 2, true},         {"[1,", 3, true},    {"{\"a\"", 4, true},
        {"{\"a\":", 5, true},   {"\"ab", 3, true},   {"tru", 3, true},        {"[fals", 5, true},  {"-", 1, true},
        {"[1.", 3, true},       {"[1e+", 4, true},   {"[-in", 4, true},       {"[,1]", 1, false},  {"[1 2]", 3, false},
        {"[1}", 2, false},      {"{a:1}", 1, false}, {"{\"a\" 1}", 5, false}, {"[01]", 1, false},  {"[trux]", 1, false},
        {"[truex]", 5, false},  {"[1x]", 2, false},  {"[+1]", 1, false},      {"['a']", 1, false}, {"[-x]", 2, false},
        {"[\"\\x\"]", 2, false}}) {
    const Result r = Canonical(c.text);
    ASSERT_FALSE(r.ok) << c.text;
    EXPECT_EQ(r.error_at, c.at) << c.text;
    EXPECT_EQ(r.error.is_truncation, c.is_truncation) << c.text << ": " << r.error.reason;
  }
}

TEST(AppendCanonical, EveryBeginningOfAValueIsATruncation) {
  const std::string text = R"({"a": [1.5e-3, true, false, null, -12, "x\n\u00e9"], "b": {"c": {}}, "d": [[], inf]})";
  for (size_t size = 0; size < text.size(); ++size) {
    const Result r = Canonical(text.substr(0, size));
    ASSERT_FALSE(r.ok) << size;
    EXPECT_TRUE(r.error.is_truncation) << text.substr(0, size) << ": " << r.error.reason;
    EXPECT_EQ(r.error_at, static_cast<int64_t>(size));
  }
}

TEST(AppendCanonical, LimitsTheDepth) {
  const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(Canonical(nested(kMaxDepth)).ok);
  const Result r = Canonical(nested(kMaxDepth + 1));
  EXPECT_FALSE(r.ok);
  EXPECT_EQ(r.error_at, kMaxDepth);
  EXPECT_FALSE(Canonical(std::string(10'000'000, '[')).ok);
}

// Any value, spelt in any way that JSON allows.
std::string Generate(std::mt19937& random, int depth) {
  const auto blanks = [&] { return std::string(random() % 4 == 0 ? random() % 40 : 0, " \n\t\r"[random() % 4]); };
  const auto text = [&] {
    static const char* const kParts[] = {"a",    "\\n", "\\u00e9", "\xc3\xa9", "\\ud83d\\ude80", "\\\"", "\\\\",
                                         "}, {", "[",   "\\/",     " "};
    std::string s = "\"";
    for (size_t n = random() % 5; n > 0; --n) s += kParts[random() % 11];
    return s + "\"";
  };
  std::string value;
  switch (random() % (depth > 5 ? 5 : 8)) {
    case 0: value = std::to_string(static_cast<int>(random() % 2000) - 1000); break;
    case 1: value = absl::StrCat(random() % 1000, ".", random() % 1000, random() % 2 ? "e-5" : ""); break;
    case 2: value = random() % 2 ? "true" : "null"; break;
    case 3:
    case 4: value = text(); break;
    case 5:
    case 6: {
      value = "[";
      for (size_t n = random() % 4, i = 0; i < n; ++i) value += (i > 0 ? "," : "") + Generate(random, depth + 1);
      value += (value == "[" ? blanks() : "") + "]";
      break;
    }
    default: {
      value = "{";
      for (size_t n = random() % 4, i = 0; i < n; ++i) {
        // Distinct keys.
        absl::StrAppend(&value, i > 0 ? "," : "", blanks(), "\"k", i, text().substr(1), blanks(), ":",
                        Generate(random, depth + 1));
      }
      value += "}";
    }
  }
  return blanks() + value + blanks();
}

// The value as simdjson reads it; numbers by their text.
std::string Describe(const simdjson::dom::element& e) {
  switch (e.type()) {
    case simdjson::dom::element_type::ARRAY: {
      std::string s = "[";
      simdjson::dom::array array;
      EXPECT_EQ(e.get_array().get(array), simdjson::SUCCESS);
      for (auto item : array) s += Describe(item) + ",";
      return s + "]";
    }
    case simdjson::dom::element_type::OBJECT: {
      std::string s = "{";
      simdjson::dom::object object;
      EXPECT_EQ(e.get_object().get(object), simdjson::SUCCESS);
      for (auto item : object) s += std::string(item.key) + "=" + Describe(item.value) + ",";
      return s + "}";
    }
    case simdjson::dom::element_type::STRING: {
      std::string_view s;
      EXPECT_EQ(e.get_string().get(s), simdjson::SUCCESS);
      return "'" + std::string(s) + "'";
    }
    case simdjson::dom::element_type::DOUBLE: {
      double d = 0;
      EXPECT_EQ(e.get_double().get(d), simdjson::SUCCESS);
      return absl::StrCat("d", d);
    }
    case simdjson::dom::element_type::INT64: {
      int64_t i = 0;
      EXPECT_EQ(e.get_int64().get(i), simdjson::SUCCESS);
      return absl::StrCat("i", i);
    }
    default: return simdjson::minify(e);
  }
}

TEST(AppendCanonical, SaysWhatSimdjsonReads) {
  std::mt19937 random(1);
  simdjson::dom::parser parser;
  simdjson::dom::parser parser_of_canonical;
  for (int round = 0; round < 20000; ++round) {
    const std::string text = Generate(random, 0);
    simdjson::dom::element want;
    ASSERT_EQ(parser.parse(text).get(want), simdjson::SUCCESS) << text;
    const Result r = Canonical(text);
    ASSERT_TRUE(r.ok) << text << r.error.reason;
    ASSERT_TRUE(r.damage.empty()) << text;
    simdjson::dom::element got;
    ASSERT_EQ(parser_of_canonical.parse(r.text).get(got), simdjson::SUCCESS) << r.text;
    ASSERT_EQ(Describe(got), Describe(want));
    ASSERT_EQ(Canonical(r.text).text, r.text);
  }
}

TEST(Member, FindsValues) {
  const std::string object = Canonical(R"({"a": 1, "b\n": {"c": [1, "]}"]}, "a": "two", "e": []})").text;
  EXPECT_EQ(Members(object).size(), 4u);
  EXPECT_EQ(AsString(Member(object, "a").value()).value(), "two");
  EXPECT_EQ(Member(object, "b\n").value(), R"({"c":[1,"]}"]})");
  EXPECT_EQ(Member(object, "e").value(), "[]");
  EXPECT_FALSE(Member(object, "c").has_value());
  EXPECT_TRUE(Members("[1]").empty());
  EXPECT_TRUE(Members("{}").empty());
  EXPECT_EQ(AsInt("12"), 12);
  EXPECT_FALSE(AsInt("12.0").has_value());
  EXPECT_FALSE(AsInt("\"12\"").has_value());
  EXPECT_FALSE(AsString("12").has_value());
}

}  // namespace
}  // namespace tracekiln::json
