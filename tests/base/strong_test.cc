#include "base/strong.h"

#include <string>
#include <type_traits>

#include <gtest/gtest.h>

namespace vortex {
namespace {

using Apples = StrongNumber<struct AppleTag>;
using Pears = StrongNumber<struct PearTag>;
using Place = StrongIndex<struct PlaceTag>;
using Name = StrongText<struct NameTag>;
using Title = StrongText<struct TitleTag>;

static_assert(!std::is_convertible_v<Apples, Pears> && !std::is_constructible_v<Apples, Pears>);
static_assert(!std::is_convertible_v<Apples, std::uint64_t>);
static_assert(!std::is_convertible_v<std::string, Name> && !std::is_constructible_v<Name, Title>);

TEST(Strong, NumbersOrderAndCountOn) {
  EXPECT_LT(Apples{1}, Apples{2});
  EXPECT_EQ(Apples{1}.next(), Apples{2});
  EXPECT_EQ(Apples{}.value, 0U);
}

TEST(Strong, AnIndexIsNoneUntilItIsSet) {
  EXPECT_FALSE(Place{}.valid());
  EXPECT_EQ(Place{}, Place::none());
  EXPECT_TRUE(Place{0}.valid());
}

TEST(Strong, TextsOrderAsTheirTexts) {
  EXPECT_LT(Name("a"), Name("b"));
  EXPECT_EQ(Name("a"), Name(std::string("a")));
  EXPECT_TRUE(Name().empty());
}

}  // namespace
}  // namespace vortex
