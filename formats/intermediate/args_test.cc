#include "formats/intermediate/args.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace tracekiln {
namespace {

TEST(ArgsTest, ShapeZeroHasNoFieldsAndNoArgsObject) {
  ArgTable table;
  ASSERT_EQ(table.shapes().size(), 1u);
  EXPECT_FALSE(table.shape(ArgTable::kNoArgs).has_args_object);
  ShapeId id;
  ASSERT_TRUE(table.InternShape({}, false, &id));
  EXPECT_EQ(id, ArgTable::kNoArgs);
  ASSERT_TRUE(table.InternShape({}, true, &id));
  EXPECT_NE(id, ArgTable::kNoArgs) << "an empty args object is not the same as none";
}

TEST(ArgsTest, OrderTypePlaceAndObjectAreParts) {
  const ArgField a{StringId{0}, ArgType::kInt, ArgPlace::kArgs};
  const ArgField b{StringId{1}, ArgType::kInt, ArgPlace::kArgs};
  ArgField other_type = a, other_place = a;
  other_type.type = ArgType::kDouble;
  other_place.place = ArgPlace::kEvent;
  ArgTable table;
  std::vector<ShapeId> ids;
  for (const auto& [fields, object] : std::vector<std::pair<std::vector<ArgField>, bool>>{
           {{a, b}, true}, {{b, a}, true}, {{a, b}, false}, {{a}, true}, {{other_type}, true}, {{other_place}, true}}) {
    ShapeId id, again;
    ASSERT_TRUE(table.InternShape(fields, object, &id));
    ASSERT_TRUE(table.InternShape(fields, object, &again));
    EXPECT_EQ(id, again);
    for (ShapeId known : ids) EXPECT_NE(id, known);
    ids.push_back(id);
  }
}

TEST(ArgsTest, InternsThousandsOfShapesLikeTheOracle) {
  using Key = std::vector<std::tuple<uint32_t, int, int>>;
  std::mt19937_64 random(4);
  std::map<std::pair<Key, bool>, ShapeId> oracle;
  ArgTable table;
  for (int i = 0; i < 20000; ++i) {
    Key key;
    std::vector<ArgField> fields;
    for (uint64_t n = random() % 4; n > 0; --n) {
      const uint32_t name = static_cast<uint32_t>(random() % 12) * 4 + static_cast<uint32_t>(n);
      const int type = static_cast<int>(random() % 7), place = static_cast<int>(random() % 2);
      key.emplace_back(name, type, place);
      fields.push_back({StringId{name}, static_cast<ArgType>(type), static_cast<ArgPlace>(place)});
    }
    const bool object = random() % 2 == 0;
    ShapeId id;
    ASSERT_TRUE(table.InternShape(fields, object, &id));
    if (key.empty() && !object) {
      ASSERT_EQ(id, ArgTable::kNoArgs);
      continue;
    }
    const auto [it, is_new] = oracle.emplace(std::make_pair(key, object), id);
    ASSERT_EQ(it->second, id);
    ASSERT_TRUE(!is_new || Index(id) == oracle.size());
  }
}

TEST(ArgsTest, StopsAtTheLimitOfShapes) {
  ArgTable table;
  ShapeId id;
  for (uint32_t i = 1; i < ArgTable::kMaxShapes; ++i) {
    const ArgField field{StringId{i}, ArgType::kInt, ArgPlace::kArgs};
    ASSERT_TRUE(table.InternShape({&field, 1}, true, &id));
  }
  const ArgField known{StringId{7}, ArgType::kInt, ArgPlace::kArgs};
  const ArgField one_too_many{StringId{0}, ArgType::kInt, ArgPlace::kArgs};
  EXPECT_FALSE(table.InternShape({&one_too_many, 1}, true, &id));
  EXPECT_TRUE(table.InternShape({&known, 1}, true, &id));
}

TEST(ArgColumnTest, WidensWhenAValueDoesNotFit) {
  const std::vector<int64_t> values = {0,
                                       -1,
                                       std::numeric_limits<int32_t>::max(),
                                       std::numeric_limits<int32_t>::min(),
                                       int64_t{std::numeric_limits<int32_t>::max()} + 1,
                                       std::numeric_limits<int64_t>::min(),
                                       5};
  ArgColumn column(ArgType::kInt);
  for (size_t i = 0; i < values.size(); ++i) {
    column.Append(ArgValue::Int(values[i]));
    EXPECT_EQ(column.is_wide(), i >= 4);
    for (size_t j = 0; j <= i; ++j) EXPECT_EQ(column.Get(static_cast<uint32_t>(j)).i, values[j]);
  }
}

TEST(ArgColumnTest, EachTypeKeepsItsValue) {
  ArgColumn number(ArgType::kDouble), flag(ArgType::kBool), text(ArgType::kString), null(ArgType::kNull);
  number.Append(ArgValue::Double(-0.0));
  flag.Append(ArgValue::Int(1));
  text.Append(ArgValue::String(StringId{77}));
  null.Append(ArgValue::Int(5));
  EXPECT_TRUE(std::signbit(number.Get(0).d));
  EXPECT_EQ(flag.Get(0).i, 1);
  EXPECT_EQ(text.Get(0).s, StringId{77});
  EXPECT_EQ(null.AllocatedBytes(), 0u);
}

}  // namespace
}  // namespace tracekiln
