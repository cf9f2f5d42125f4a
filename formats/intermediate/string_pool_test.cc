#include "formats/intermediate/string_pool.h"

#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace tracekiln {
namespace {

TEST(StringPoolTest, AnEmptyTextMayBeNull) {
  StringPool pool;
  const StringId empty = pool.Intern("");
  EXPECT_EQ(pool.Intern(absl::string_view()), empty);
  EXPECT_EQ(pool.Find(absl::string_view()), empty);
}

TEST(StringPoolTest, NumbersByFirstAppearance) {
  StringPool pool;
  EXPECT_EQ(Index(pool.Intern("b")), 0u);
  EXPECT_EQ(Index(pool.Intern("a")), 1u);
  EXPECT_EQ(Index(pool.Intern("")), 2u);
  EXPECT_EQ(Index(pool.Intern("b")), 0u);
  EXPECT_EQ(pool.size(), 3u);
  EXPECT_EQ(pool.Get(StringId{2}), "");
  EXPECT_EQ(pool.bytes(), "ba");
  EXPECT_EQ(pool.Find("a"), StringId{1});
  EXPECT_EQ(pool.Find("c"), kNoString);
}

TEST(StringPoolTest, TellsApartWhatDiffersInZerosOnly) {
  StringPool pool;
  const StringId none = pool.Intern("");
  const StringId one = pool.Intern(absl::string_view("\0", 1));
  const StringId two = pool.Intern(absl::string_view("\0\0", 2));
  EXPECT_NE(none, one);
  EXPECT_NE(one, two);
}

// Against std::unordered_map, through several growths and a Clear.
TEST(StringPoolTest, AgreesWithTheOracle) {
  std::mt19937_64 random(3);
  StringPool pool;
  for (int round = 0; round < 2; ++round) {
    pool.Clear();
    std::unordered_map<std::string, uint32_t> oracle;
    std::vector<std::string> in_order;
    for (int i = 0; i < 60000; ++i) {
      std::string text = absl::StrCat(random() % 20000);
      text.append(random() % 20, 'x');
      if (random() % 50 == 0) text = std::string(random() % 9, '\0');
      const auto [it, is_new] = oracle.emplace(text, static_cast<uint32_t>(in_order.size()));
      if (is_new) in_order.push_back(text);
      ASSERT_EQ(Index(pool.Intern(text)), it->second);
      ASSERT_EQ(pool.Find(text), StringId{it->second});
    }
    ASSERT_EQ(pool.size(), in_order.size());
    for (size_t i = 0; i < in_order.size(); ++i) {
      ASSERT_EQ(std::string(pool.Get(StringId{static_cast<uint32_t>(i)})), in_order[i]);
    }
  }
}

TEST(StringPoolTest, AdoptedStringsAreFoundAndExtended) {
  StringPool pool;
  pool.Intern("gone");
  ASSERT_TRUE(pool.Adopt("abc", {0, 1, 1, 3}));
  EXPECT_EQ(pool.size(), 3u);
  EXPECT_EQ(pool.Get(StringId{2}), "bc");
  EXPECT_EQ(pool.Intern("bc"), StringId{2});
  EXPECT_EQ(pool.Intern(""), StringId{1});
  EXPECT_EQ(pool.Intern("new"), StringId{3});
  EXPECT_EQ(pool.Find("gone"), kNoString);
}

TEST(StringPoolTest, RefusesToAdoptDuplicates) {
  StringPool pool;
  EXPECT_FALSE(pool.Adopt("abab", {0, 2, 4}));
  EXPECT_EQ(pool.size(), 0u);
  EXPECT_EQ(pool.Intern("x"), StringId{0});
}

}  // namespace
}  // namespace tracekiln
