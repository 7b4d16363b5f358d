#include <algorithm>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "model/check.h"

namespace vortex {
namespace {

using ::testing::HasSubstr;

TEST(TextCheck, DurationsAreShownInTheirLargestWholeUnit) {
  EXPECT_EQ(to_text(seconds(0)), "0s");
  EXPECT_EQ(to_text(minutes(2)), "120s");
  EXPECT_EQ(to_text(millis(1'500)), "1500ms");
  EXPECT_EQ(to_text(micros(-1)), "-1us");
  EXPECT_EQ(to_text(Duration{std::numeric_limits<std::int64_t>::min()}), "-9223372036854775808us");
}

TEST(TextCheck, QuotedShowsWhatCanNotBePrinted) {
  EXPECT_EQ(in_quotes("a b"), "'a b'");
  EXPECT_EQ(in_quotes(""), "''");
  EXPECT_EQ(in_quotes(std::string_view("\0\n\x7f\xc3", 4)), "'\\x00\\x0a\\x7f\\xc3'");
}

TEST(TextCheck, QuotedCutsAndSaysHowMuchThereWas) {
  EXPECT_EQ(in_quotes(std::string(100, 'x')), "'" + std::string(100, 'x') + "'");
  EXPECT_EQ(in_quotes(std::string(101, 'x')), "'" + std::string(100, 'x') + "'... (101 bytes)");
}

RC_GTEST_PROP(TextCheck, QuotedIsOneShortLineOfPlainCharacters, (const std::string& text)) {
  const std::string shown = in_quotes(text);
  RC_ASSERT(shown.size() < 500U);
  RC_ASSERT(std::all_of(shown.begin(), shown.end(), [](char c) { return c >= ' ' && c <= '~'; }));
}

TEST(TextCheck, ALineMayHoldAnyLanguageButNoControlCharacter) {
  const LineRule rule{.bytes_min = 1, .bytes_max = 10};
  EXPECT_FALSE(complain_of_line("label", "gr\xc3\xbc\xc3\x9f", rule));
  EXPECT_EQ(complain_of_line("label", "", rule), "label is empty");
  EXPECT_EQ(complain_of_line("label", "a\tb", rule),
            "label 'a\\x09b' contains a control character");
  EXPECT_TRUE(complain_of_line("label", std::string(11, 'x'), rule));
}

TEST(TextCheck, ALineHoldsNothingThatATerminalObeysOrReorders) {
  const LineRule rule{.bytes_min = 1, .bytes_max = 20};
  EXPECT_THAT(*complain_of_line("label", "a\x1b[2J", rule), HasSubstr("control character"));
  EXPECT_THAT(*complain_of_line("label",
                                "a\xc2\x9b"
                                "2J",
                                rule),
              HasSubstr("control character"))
      << "C1: the same in one character";
  EXPECT_THAT(*complain_of_line("label",
                                "a\x9b"
                                "2J",
                                rule),
              HasSubstr("control character"))
      << "C1 where UTF-8 is not spoken";
  EXPECT_EQ(*complain_of_line("label",
                              "a\xe2\x80\xae"
                              "b",
                              rule),
            "label 'a\\xe2\\x80\\xaeb' contains a character that changes the direction of text "
            "(<U+202E>)");
  for (const char* mark : {"\xd8\x9c", "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xaa",
                           "\xe2\x81\xa6", "\xe2\x81\xa9"}) {
    EXPECT_TRUE(complain_of_line("label", mark, rule)) << mark;
  }
  for (const char* fine :
       {"\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d", "\xe2\x82\xac", "\xc2\xa0", "e\xcc\x81"}) {
    EXPECT_FALSE(complain_of_line("label", fine, rule)) << fine;
  }
}

}  // namespace
}  // namespace vortex
