#include "formats/intermediate/field_catalog.h"

#include <cctype>
#include <set>
#include <string>
#include <utility>

#include "gtest/gtest.h"

namespace tracekiln {
namespace {

TEST(FieldCatalogTest, FindsFieldsByEitherSpelling) {
  const Field* field = FindField("External id");
  ASSERT_NE(field, nullptr);
  EXPECT_EQ(field->name, "external_id");
  EXPECT_EQ(FindField("external id"), field);
  EXPECT_EQ(FindField("memory bandwidth (GB/s)")->unit, "GB/s");
  EXPECT_EQ(FindField(fields::kBaseTimeNanoseconds, FieldPlace::kTopLevel)->unit, "ns");
  EXPECT_EQ(FindField(fields::kBaseTimeNanoseconds), nullptr) << "it is no argument";
  EXPECT_EQ(FindField("no such field"), nullptr);
  EXPECT_EQ(FindField(""), nullptr);
}

TEST(FieldCatalogTest, EachSpellingStandsOncePerPlace) {
  std::set<std::pair<int, std::string>> seen;
  for (const Field& field : AllFields()) {
    EXPECT_TRUE(seen.emplace(static_cast<int>(field.place), field.spelling).second) << field.spelling;
    if (!field.older_spelling.empty()) {
      EXPECT_TRUE(seen.emplace(static_cast<int>(field.place), field.older_spelling).second) << field.older_spelling;
    }
  }
}

TEST(FieldCatalogTest, NamesAreSnakeCaseAndMeaningsAreGiven) {
  for (const Field& field : AllFields()) {
    EXPECT_FALSE(field.meaning.empty()) << field.spelling;
    for (char c : field.name) EXPECT_TRUE(std::islower(c) || std::isdigit(c) || c == '_') << field.name;
  }
}

}  // namespace
}  // namespace tracekiln
