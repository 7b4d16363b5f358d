// docs/configuration.md is the rendering of the settings table.

#include "tests/base/settings_docs.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "base/settings_table.h"

namespace vortex {
namespace {

const std::string kPage = std::string(VX_SOURCE_ROOT) + "/docs/configuration.md";

std::string page_text() {
  std::ifstream stream(kPage, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

TEST(SettingsDocs, V08_PageInTheRepositoryEqualsTheTable) {
  if (std::getenv("VX_UPDATE_DOCS") != nullptr) std::ofstream(kPage) << settings_reference();
  EXPECT_TRUE(page_text() == settings_reference())
      << "docs/configuration.md is not what the settings table says; run the tests once with "
         "VX_UPDATE_DOCS=1 and commit the page";
}

TEST(SettingsDocs, EveryRowIsDocumented) {
  for (const SettingSpec& spec : settings_table()) {
    EXPECT_GE(spec.doc.size(), 20U) << spec.full_key();
    EXPECT_EQ(spec.doc.back(), '.') << spec.full_key();
  }
}

}  // namespace
}  // namespace vortex
