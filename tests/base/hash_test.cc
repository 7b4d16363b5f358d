#include "base/hash.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace vortex {
namespace {

std::uint64_t hash_of(const std::vector<std::string>& texts) {
  Hasher hasher;
  for (const std::string& text : texts) hasher.add(text);
  return hasher.value();
}

RC_GTEST_PROP(Hash, TheSameInputGivesTheSameValue, (const std::vector<std::string>& texts)) {
  RC_ASSERT(hash_of(texts) == hash_of(texts));
}

TEST(Hash, TheValueOfAnInputNeverChanges) {
  Hasher hasher;
  hasher.add(std::uint64_t{42});
  hasher.add("vortex");
  EXPECT_EQ(hasher.value(), 0x5279E5B097C56283ULL);
}

RC_GTEST_PROP(Hash, OtherTextsGiveAnotherValue,
              (const std::vector<std::string>& a, const std::vector<std::string>& b)) {
  RC_ASSERT((hash_of(a) == hash_of(b)) == (a == b));
}

TEST(Hash, WhereATextEndsMatters) {
  EXPECT_NE(hash_of({"ab", "c"}), hash_of({"a", "bc"}));
  EXPECT_NE(hash_of({"abc"}), hash_of({"abc", ""}));
  EXPECT_NE(hash_of({std::string("a\0", 2)}), hash_of({"a"}));
}

TEST(Hash, OrderMatters) { EXPECT_NE(hash_of({"a", "b"}), hash_of({"b", "a"})); }

TEST(Hash, BytesAreTakenWithoutSign) { EXPECT_NE(hash_of({"\xff"}), hash_of({"\x7f"})); }

TEST(Hash, SmallNumbersSpreadOverAllValues) {
  std::set<std::uint64_t> high_bits;
  std::set<std::uint64_t> values;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    Hasher hasher;
    hasher.add(i);
    values.insert(hasher.value());
    high_bits.insert(hasher.value() >> 56);
  }
  EXPECT_EQ(values.size(), 10'000U);
  EXPECT_EQ(high_bits.size(), 256U);
}

}  // namespace
}  // namespace vortex
