#include "formats/intermediate/category_roles.h"

#include "gtest/gtest.h"

namespace tracekiln {
namespace {

TEST(CategoryRolesTest, KnowsTheCategoriesOfProfilers) {
  EXPECT_EQ(RoleOfCategory("python_function"), CategoryRole::kPythonFrame);
  EXPECT_EQ(RoleOfCategory("Kernel"), CategoryRole::kDeviceWork);
  EXPECT_EQ(RoleOfCategory("xpu_driver"), CategoryRole::kHostCall);
  EXPECT_EQ(RoleOfCategory("Trace"), CategoryRole::kBookkeeping);
}

TEST(CategoryRolesTest, WhatIsUnknownIsOtherWorkOfTheHost) {
  EXPECT_EQ(RoleOfCategory(""), CategoryRole::kHostOther);
  EXPECT_EQ(RoleOfCategory("KERNEL"), CategoryRole::kHostOther);
}

TEST(CategoryRolesTest, HostRolesAreThoseOfHostThreads) {
  EXPECT_TRUE(IsHostRole(CategoryRole::kPythonFrame));
  EXPECT_TRUE(IsHostRole(CategoryRole::kHostOther));
  EXPECT_FALSE(IsHostRole(CategoryRole::kDeviceWork));
  EXPECT_FALSE(IsHostRole(CategoryRole::kBookkeeping));
}

}  // namespace
}  // namespace tracekiln
