#include "base/zone_files.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "base/file_text.h"

namespace vortex {
namespace {

TEST(ZoneFiles, ReadsTheZonesOfTheSystem) {
  const ZonePtr berlin = system_zones().find("Europe/Berlin");
  ASSERT_TRUE(berlin);
  EXPECT_EQ(berlin->name, "Europe/Berlin");
  const auto change = std::ranges::find(berlin->spans, 1'774'746'000, &ZoneSpan::begins_s);
  ASSERT_NE(change, berlin->spans.end());  // 2026-03-29 01:00 UTC
  EXPECT_EQ(change->offset_s, 7'200);
  // Beyond what the file lists, by the rule in its last line.
  EXPECT_GT(berlin->spans.back().begins_s, 4'070'908'800);  // 2099
  EXPECT_EQ(system_zones().find("Europe/Berlin"), berlin);
}

TEST(ZoneFiles, NamesZonesAndNothingElse) {
  const auto names = system_zones().names();
  EXPECT_GT(names.size(), 400U);
  EXPECT_TRUE(std::ranges::binary_search(names, "America/New_York"));
  EXPECT_TRUE(std::ranges::binary_search(names, "UTC"));
  EXPECT_FALSE(std::ranges::binary_search(names, "posix/UTC"));
  for (const std::string& name : names) EXPECT_TRUE(system_zones().find(name)) << name;
}

TEST(ZoneFiles, ReadsNoOtherFile) {
  for (const char* name : {"", "/etc/passwd", "../../../etc/passwd", "zone.tab", "Europe",
                           "europe/berlin", "Europe/Nowhere", "Europe/Berlin/x"}) {
    EXPECT_FALSE(system_zones().find(name)) << name;
  }
}

TEST(ZoneFiles, RefusesWhatIsCutOrMade) {
  const auto whole = read_file_text("/usr/share/zoneinfo/Europe/Berlin", 1U << 20U);
  ASSERT_TRUE(whole);
  ASSERT_TRUE(read_zone("x", *whole));
  for (std::size_t size = 0; size < whole->size(); ++size) {
    EXPECT_FALSE(read_zone("x", whole->substr(0, size))) << size;
  }
  EXPECT_FALSE(read_zone("x", "TZif1" + std::string(100, '\0')));
  for (const char* rule : {"CET", "CET-1CEST", "CET-1CEST,M3.5.0", "CET-1CEST,M13.5.0,M10.5.0",
                           "CET-1CEST,M3.5.0,M10.5.0/", "CET-1CEST,M3.5.0,M10.5.0x", "-1"}) {
    const std::string cut = whole->substr(0, whole->rfind('\n', whole->size() - 2) + 1);
    EXPECT_FALSE(read_zone("x", cut + rule + "\n")) << rule;
  }
}

}  // namespace
}  // namespace vortex
