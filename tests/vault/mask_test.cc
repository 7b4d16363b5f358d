#include "vault/mask.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "codec/text.h"

namespace vortex::vault {
namespace {

std::string masked(std::string_view text, std::vector<std::string_view> values) {
  return Mask(values).apply(text);
}

std::string base64(std::string_view bytes) {
  std::string text;
  codec::append_base64(text, bytes);
  return text;
}

TEST(Mask, V16_HidesAValueWhereverItStands) {
  EXPECT_EQ(masked("a hunter2 b", {"hunter2"}), "a *** b");
  EXPECT_EQ(masked("hunter2", {"hunter2"}), "***");
  EXPECT_EQ(masked("hunter2hunter2", {"hunter2"}), "***");
  EXPECT_EQ(masked("hunter2 hunter2", {"hunter2"}), "*** ***");
  EXPECT_EQ(masked("hhunter2", {"hunter2"}), "h***");
  EXPECT_EQ(masked("hunter", {"hunter2"}), "hunter");
  EXPECT_EQ(masked("", {"hunter2"}), "");
}

TEST(Mask, V16_OverlappingValuesAreHiddenTogether) {
  EXPECT_EQ(masked("xabcdefy", {"abcd", "cdef"}), "x***y");
  EXPECT_EQ(masked("xabcdefy", {"bcde", "abcdef"}), "x***y");
}

TEST(Mask, V16_HidesBase64AtEveryAlignmentInBothAlphabets) {
  const std::string value = "p\xc3\xa4ss?>wort~~??";
  for (std::size_t before = 0; before < 5; ++before) {
    for (std::size_t after = 0; after < 4; ++after) {
      const std::string text = base64(std::string(before, 'x') + value + std::string(after, 'y'));
      std::string url = text;
      std::ranges::replace(url, '+', '-');
      std::ranges::replace(url, '/', '_');
      for (const std::string& form : {text, url}) {
        const std::string shown = masked(form, {value});
        EXPECT_TRUE(shown.contains("***")) << form;
        EXPECT_LE(shown.size(), 3 + (before + after + 4) * 4 / 3 + 4) << form << " " << shown;
      }
    }
  }
}

TEST(Mask, V16_HidesUrlAndJsonForms) {
  const std::string value = "a b/c&d\"e";
  for (const char* form : {"a%20b%2Fc%26d%22e", "a%20b%2fc%26d%22e", "a+b%2Fc%26d%22e",
                           "a%20b/c%26d%22e", "a b/c&d\\\"e"}) {
    EXPECT_EQ(masked(std::string("<") + form + ">", {value}), "<***>") << form;
  }
}

TEST(Mask, V16_AValueOfSeveralLinesIsHiddenLineByLine) {
  const std::string value = "first line\nsecond line\r\nxy\nthird line\n";
  EXPECT_EQ(masked("1: first line\n2: second line\n3: third line\n", {value}),
            "1: ***\n2: ***\n3: ***\n");
  EXPECT_EQ(masked("<" + value, {value}), "<***\n");
}

TEST(Mask, V16_AnEndOfLineIsNotPartOfAValue) {
  EXPECT_EQ(masked("pw=hunter2;" + base64("hunter2"), {"hunter2\n"}), "pw=***;***");
}

TEST(Mask, V16_ShortValuesAreNotMasked) {
  EXPECT_EQ(masked("abc abc", {"abc"}), "abc abc");
  EXPECT_TRUE(Mask(std::vector<std::string_view>{"abc", ""}).empty());
}

TEST(Mask, V16_LongValuesAreHiddenWholeAndWrapped) {
  Rng rng(7);
  std::string value;
  for (int i = 0; i < 60'000; ++i) value += static_cast<char>('!' + rng.below(90));
  EXPECT_EQ(masked("<" + value + ">", {value}), "<***>");
  const std::string shown = masked(base64(value), {value});
  EXPECT_LE(shown.size(), 8U);
}

TEST(Mask, V16_FindsFormsOfALength) {
  const Mask mask(std::vector<std::string_view>{"true", "a long value"});
  EXPECT_TRUE(mask.finds("is a long value here", 8));
  EXPECT_TRUE(mask.finds(base64("a long value"), 8));
  EXPECT_FALSE(mask.finds("{\"fine\": true}", 8));
  EXPECT_TRUE(mask.finds("{\"fine\": true}", 4));
}

// However the output is cut, the result is the same, and little is held back.
TEST(Mask, V16_TheResultDoesNotDependOnHowTheOutputIsCut) {
  Rng rng(42);
  for (int round = 0; round < 400; ++round) {
    std::vector<std::string> values;
    const auto word = [&](std::size_t bytes) {
      std::string out;
      while (out.size() < bytes) out += static_cast<char>('a' + rng.below(3));
      return out;
    };
    for (std::uint64_t i = 0; i < 1 + rng.below(3); ++i) {
      values.push_back(word(4 + rng.below(round % 10 == 0 ? 300 : 8)));
    }
    const std::vector<std::string_view> views(values.begin(), values.end());
    const auto mask = std::make_shared<const Mask>(views);
    std::string text;
    while (text.size() < 600) {
      text += rng.below(3) == 0 ? values[rng.below(values.size())] : word(rng.below(20));
      if (rng.below(4) == 0) text += base64(values.front());
    }
    const std::string whole = mask->apply(text);
    for (const std::string& value : values) EXPECT_FALSE(whole.contains(value));
    MaskStream stream(mask);
    std::string out;
    for (std::string_view rest = text; !rest.empty();) {
      const std::size_t bytes = std::min<std::size_t>(1 + rng.below(40), rest.size());
      stream.feed(rest.substr(0, bytes), out);
      EXPECT_LE(stream.held(), Mask::kPieceBytesMax);
      rest.remove_prefix(bytes);
    }
    stream.finish(out);
    EXPECT_EQ(out, whole);
  }
}

TEST(Mask, V16_OutputWithoutSecretsIsLeftAsItIs) {
  Rng rng(3);
  const auto mask =
      std::make_shared<const Mask>(std::vector<std::string_view>{"hunter2", "s3cr3t"});
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += static_cast<char>(rng.below(256));
  ASSERT_FALSE(text.contains("hunter2"));
  MaskStream stream(mask);
  std::string out;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t bytes = std::min<std::size_t>(1 + rng.below(5'000), rest.size());
    stream.feed(rest.substr(0, bytes), out);
    rest.remove_prefix(bytes);
  }
  stream.finish(out);
  EXPECT_EQ(out, text);
}

}  // namespace
}  // namespace vortex::vault
