#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/text.h"

namespace vortex {
namespace {

std::string_view nearest(std::string_view wanted, std::vector<std::string_view> known) {
  return nearest_name(wanted, known);
}

TEST(NearName, FindsATypingMistake) {
  EXPECT_EQ(nearest("resise", {"list", "resize", "report"}), "resize");
  EXPECT_EQ(nearest("reszie", {"list", "resize", "report"}), "resize");
  EXPECT_EQ(nearest("resizes", {"list", "resize", "report"}), "resize");
  EXPECT_EQ(nearest("esize", {"list", "resize", "report"}), "resize");
  EXPECT_EQ(nearest("lst", {"list", "resize"}), "list");
}

TEST(NearName, UpperAndLowerCaseAreTheSame) {
  EXPECT_EQ(nearest("LIST", {"list"}), "list");
  EXPECT_EQ(nearest("A", {"b", "a"}), "a");
}

TEST(NearName, ThreeMistakesAreAnotherName) {
  EXPECT_EQ(nearest("xyzize", {"resize"}), "");
  EXPECT_EQ(nearest("resize", {"resize123"}), "");
}

TEST(NearName, ShortNamesHaveToBeNearer) {
  EXPECT_EQ(nearest("a", {"b"}), "");
  EXPECT_EQ(nearest("list", {"lint"}), "lint");
  EXPECT_EQ(nearest("list", {"mint"}), "");
}

TEST(NearName, TheNearestWinsAndThenTheFirst) {
  EXPECT_EQ(nearest("resize", {"resi", "resise", "resixe"}), "resise");
}

TEST(NearName, NothingIsNearToNothing) {
  EXPECT_EQ(nearest("", {"a", ""}), "");
  EXPECT_EQ(nearest("abc", {}), "");
  EXPECT_EQ(nearest("abc", {""}), "");
}

TEST(NearName, TextsTooLongToBeNamesAreNotCompared) {
  const std::string long_text(1'000'000, 'x');
  EXPECT_EQ(nearest(long_text, {long_text}), "");
  EXPECT_EQ(
      nearest(std::string(100, 'x'), {long_text, std::string_view(long_text).substr(0, 99)}).size(),
      99U);
}

// The textbook way, with the whole table, to compare with.
std::size_t plain_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> above(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::vector<std::size_t> row{i};
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t swapped = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row.push_back(std::min({swapped, above[j] + 1, row[j - 1] + 1}));
    }
    above = row;
  }
  return above[b.size()];
}

RC_GTEST_PROP(NearName, NearIsExactlyTwoEditsOrFewer, ()) {
  const auto letters = rc::gen::container<std::string>(rc::gen::elementOf(std::string("abc")));
  const std::string wanted =
      *rc::gen::suchThat(letters, [](const auto& t) { return t.size() >= 5; });
  // A few changes of the wanted text, so that some are near and some are not.
  std::string known = wanted;
  for (int changes = *rc::gen::inRange(0, 5); changes > 0; --changes) {
    const auto at = *rc::gen::inRange<std::size_t>(0, known.size() + 1);
    const auto cut = *rc::gen::inRange<std::size_t>(0, 2);
    known.replace(at, cut, *rc::gen::inRange<std::size_t>(0, 2), 'b');
  }
  RC_ASSERT((nearest(wanted, {known}) == known) == (plain_distance(wanted, known) <= 2));
}

RC_GTEST_PROP(NearName, AnyTextAgainstAnyTextIsSafe,
              (const std::string& wanted, const std::vector<std::string>& known)) {
  const std::vector<std::string_view> views(known.begin(), known.end());
  const auto found = nearest_name(wanted, views);
  RC_ASSERT(found.empty() || std::find(known.begin(), known.end(), found) != known.end());
}

}  // namespace
}  // namespace vortex
