#include "formats/pstats/safe_name.h"

#include <random>
#include <string>

#include "formats/intermediate/profile.h"
#include "formats/pstats/generalized_utf8.h"
#include "gtest/gtest.h"

namespace tracekiln::pstats {
namespace {

TEST(SafeName, Table) {
  struct Case {
    std::string name;
    std::string want;
  };
  const Case kCases[] = {
      {"", ""},
      {"step", "step"},
      {"<built-in method builtins.len>", "<built-in method builtins.len>"},
      {"<gpu void k<float, 4>(float*)>", "<gpu void k<float, 4>(float*)>"},
      {"C:\\x.py", "C:\\x.py"},
      {"caf\xc3\xa9 \xf0\x9f\x98\x80 \xe2\x80\xa8 \xc2\x85", "caf\xc3\xa9 \xf0\x9f\x98\x80 \xe2\x80\xa8 \xc2\x85"},
      {"\"quoted\" 'too' &amp; >", "\"quoted\" 'too' &amp; >"},
      {std::string("a\0b", 3), "a\\x00b"},
      {"a\n\t\r\x1f\x7f", "a\\x0a\\x09\\x0d\\x1f\\x7f"},
      {"\x1b[31mred", "\\x1b[31mred"},
      {"lone \xed\xb2\x80", "lone \\udc80"},
      {"\xed\xa0\x80\xed\xb0\x80", "\\ud800\\udc00"},
      {"\xed\x9f\xbf \xee\x80\x80", "\xed\x9f\xbf \xee\x80\x80"},  // U+D7FF, U+E000: beside the surrogates
      {"\xef\xbf\xbd \xef\xbf\xbe \xef\xbf\xbf", "\xef\xbf\xbd \\ufffe \\uffff"},
      {"\xff", "\\xff"},
      {"a\xe2\x82", "a\\xe2\\x82"},
      {"\xc0\x80", "\\xc0\\x80"},
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
      {"</script>", "<\\/script>"},
      {"</ScRiPt>", "<\\/ScRiPt>"},
      {"</scrip", "</scrip"},
      {"<script>", "<script>"},
      {"<!--<script>", "<\\!--<script>"},
      {"<!-", "<!-"},
      {"<</script", "<<\\/script"},
  };
  for (const Case& c : kCases) {
    EXPECT_EQ(SafeName(c.name), c.want) << c.name;
    EXPECT_EQ(IsSafeName(c.name), c.name == c.want) << c.name;
  }
}

TEST(SafeName, OfAnyBytesIsSafe) {
  std::mt19937 random(1);
  constexpr char kLetters[] = "a<!-/script>SCRIPT\\x0\n\0\x7f\xed\xa0\xb2\x80\xef\xbf\xbe\xf0\x9f\xc3\xff ";
  const std::string letters(kLetters, sizeof(kLetters) - 1);
  for (int i = 0; i < 20000; ++i) {
    std::string name;
    for (uint32_t n = random() % 12; n > 0; --n) {
      switch (random() % 8) {
        case 0: name += "</script"; break;
        case 1: name += "<!--"; break;
        default: name.push_back(letters[random() % letters.size()]);
      }
    }
    const std::string safe = SafeName(name);
    ASSERT_TRUE(IsSafeName(safe)) << name;
    ASSERT_EQ(SafeName(safe), safe);
    ASSERT_EQ(IsSafeName(name), safe == name);
    ASSERT_TRUE(IsGeneralizedUtf8(safe));
  }
}

std::string Key(const Profile& profile, const SafeKeys& keys, uint32_t function) {
  const FunctionId id{function};
  return std::string(keys.strings().Get(keys.file(id))) + ":" + std::to_string(profile.function(id).line) + " " +
         std::string(keys.strings().Get(keys.name(id)));
}

TEST(SafeKeys, KeepsFunctionsApart) {
  Profile profile;
  profile.AddFunction("f.py", 1, "a\n");
  profile.AddFunction("f.py", 1, "a\\x0a");      // keeps its name, though it comes later
  profile.AddFunction("f.py", 1, "a\\x0a (2)");  // and so does this
  profile.AddFunction("f.py", 2, "a\n");
  profile.AddFunction("f\n.py", 1, "b");
  profile.AddFunction("f\\x0a.py", 1, "b");
  profile.AddFunction("f.py", 3, "\xff");
  profile.AddFunction("f.py", 3, "\\xff");
  profile.AddFunction("plain", 1, "plain");
  const SafeKeys keys(profile);
  EXPECT_EQ(Key(profile, keys, 0), "f.py:1 a\\x0a (3)");
  EXPECT_EQ(Key(profile, keys, 1), "f.py:1 a\\x0a");
  EXPECT_EQ(Key(profile, keys, 2), "f.py:1 a\\x0a (2)");
  EXPECT_EQ(Key(profile, keys, 3), "f.py:2 a\\x0a");
  EXPECT_EQ(Key(profile, keys, 4), "f\\x0a.py:1 b (2)");
  EXPECT_EQ(Key(profile, keys, 5), "f\\x0a.py:1 b");
  EXPECT_EQ(Key(profile, keys, 6), "f.py:3 \\xff (2)");
  EXPECT_EQ(Key(profile, keys, 7), "f.py:3 \\xff");
  EXPECT_EQ(Key(profile, keys, 8), "plain:1 plain");
  EXPECT_EQ(keys.changed_function_count(), 4u);
}

TEST(SafeKeys, RawChangesOnlyWhatMarshalCannotHold) {
  Profile profile;
  profile.AddFunction("f.py", 1, "a\n</script");
  profile.AddFunction("f.py", 1, "\xed\xb2\x80");
  EXPECT_EQ(SafeKeys(profile, SafeKeys::Texts::kRaw).changed_function_count(), 0u);
  profile.AddFunction("f.py", 1, "a\n\xff");
  const SafeKeys keys(profile, SafeKeys::Texts::kRaw);
  EXPECT_EQ(keys.changed_function_count(), 1u);
  EXPECT_EQ(Key(profile, keys, 0), "f.py:1 a\n</script");
  EXPECT_EQ(Key(profile, keys, 1), "f.py:1 \xed\xb2\x80");
  EXPECT_EQ(Key(profile, keys, 2), "f.py:1 a\n\\xff");
}

TEST(SafeKeys, LeavesSafeProfilesAlone) {
  Profile profile;
  profile.AddFunction("f.py", 1, "a");
  const SafeKeys keys(profile);
  EXPECT_EQ(&keys.strings(), &profile.strings);
  EXPECT_EQ(keys.changed_function_count(), 0u);
}

// Many that become equal: numbered in order, without trying each number for each.
TEST(SafeKeys, ManyEqualNames) {
  Profile profile;
  constexpr int kCount = 243;  // names of five parts, each spelled in three ways that look the same when safe
  for (int i = 0; i < kCount; ++i) {
    std::string name;
    for (int rest = i, part = 0; part < 5; ++part, rest /= 3) {
      name += rest % 3 == 0   ? "\xff"
              : rest % 3 == 1 ? "\\xff"
                              : "\\xf"
                                "f\x01";
    }
    profile.AddFunction("f.py", 1, name);
  }
  const SafeKeys keys(profile);
  Profile safe;
  for (uint32_t i = 0; i < profile.functions().size(); ++i) {
    safe.AddFunction("f.py", 1, keys.strings().Get(keys.name(FunctionId{i})));
  }
  EXPECT_EQ(safe.functions().size(), profile.functions().size());
}

}  // namespace
}  // namespace tracekiln::pstats
