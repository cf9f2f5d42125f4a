#include "formats/chrome/chrome_importer.h"

#include <gtest/gtest.h>
TEST(Smoke, Compiles) {}
