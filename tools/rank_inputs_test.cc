#include "tools/rank_inputs.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tracekiln::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ParseRanksTest, TakesNumbersAndRangesInAnyOrder) {
  EXPECT_THAT(*ParseRanks("3,0, 8-10,9"), ElementsAre(0, 3, 8, 9, 10));
  EXPECT_THAT(*ParseRanks("7"), ElementsAre(7));
  EXPECT_THAT(*ParseRanks(""), IsEmpty());
}

TEST(ParseRanksTest, RefusesAnythingElse) {
  for (const char* text : {"a", "1-", "-1", "3-2", "1,x", "0-99999999999", "1-2-3", "1.5"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseRanks(text).status())) << text;
  }
}

}  // namespace
}  // namespace tracekiln::tools
