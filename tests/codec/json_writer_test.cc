#include "codec/json_writer.h"

#include <cstdint>
#include <limits>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/text.h"
#include "codec/document.h"
#include "codec/text.h"

namespace vortex::codec {
namespace {

std::string written(std::string_view text) {
  std::string out;
  JsonWriter(out).text(text);
  return out;
}

std::string written(Instant at) {
  std::string out;
  JsonWriter(out).time(at);
  return out;
}

TEST(JsonWriter, CommasStandBetweenValuesAndNowhereElse) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().key("a").begin_array().end_array();
  json.key("b").begin_array().number(std::int64_t{-1}).boolean(true).null();
  json.begin_object().end_object().raw("[1]").end_array();
  json.field("c", "x").field("d", std::uint32_t{7}).field("e", false).end_object();
  EXPECT_EQ(out, R"({"a":[],"b":[-1,true,null,{},[1]],"c":"x","d":7,"e":false})");
}

TEST(JsonWriter, NumbersAreWrittenToTheirEnds) {
  std::string out;
  JsonWriter json(out);
  json.begin_array().number(std::numeric_limits<std::int64_t>::min());
  json.number(std::numeric_limits<std::uint64_t>::max()).end_array();
  EXPECT_EQ(out, "[-9223372036854775808,18446744073709551615]");
}

TEST(JsonWriter, EscapesWhatMustBeAndNothingElse) {
  EXPECT_EQ(written("a\"b\\c/d"), R"("a\"b\\c/d")");
  EXPECT_EQ(written("\b\f\n\r\t"), R"("\b\f\n\r\t")");
  EXPECT_EQ(written(std::string("\0\x01\x1f\x7f", 4)), "\"\\u0000\\u0001\\u001f\x7f\"");
  EXPECT_EQ(written("zürich €  \xF0\x9F\x98\x80"), "\"zürich €  \xF0\x9F\x98\x80\"");
}

TEST(JsonWriter, WhatIsNotUtf8IsReplaced) {
  EXPECT_EQ(written("a\xFFz"), "\"a\xEF\xBF\xBDz\"");
  EXPECT_EQ(written("\xE2\x82"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
  EXPECT_EQ(written("\xC0\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");  // overlong
  EXPECT_FALSE(is_utf8("\xED\xA0\x80"));                           // surrogate
  EXPECT_FALSE(is_utf8("\xF4\x90\x80\x80"));                       // above U+10FFFF
  EXPECT_TRUE(
      is_utf8("\xF4\x8F\xBF\xBF"
              "\xE0\xA0\x80"
              "\xC2\x80"
              "12345678"));
}

// A special byte is found wherever it stands in a run of plain ones.
TEST(JsonWriter, EveryPlaceInAWordIsLookedAt) {
  for (std::size_t at = 0; at < 20; ++at) {
    std::string text(20, 'x');
    text[at] = '"';
    const std::string expected =
        "\"" + std::string(at, 'x') + "\\\"" + std::string(19 - at, 'x') + "\"";
    EXPECT_EQ(written(text), expected);
    text[at] = '\x1f';
    EXPECT_NE(written(text).find("\\u001f"), std::string::npos);
  }
}

RC_GTEST_PROP(JsonWriter, AnyBytesBecomeValidJsonAndTextComesBack, (const std::string& bytes)) {
  Document document;
  const std::string json = written(bytes);
  RC_ASSERT(!document.parse(json).has_value());
  RC_ASSERT(is_utf8(document.text(0)));
  if (is_utf8(bytes)) RC_ASSERT(document.text(0) == bytes);
}

TEST(JsonWriter, TimesAreUtcWithMicroseconds) {
  EXPECT_EQ(written(Instant{1'771'801'195'123'456}), "\"2026-02-22T22:59:55.123456Z\"");
  EXPECT_EQ(written(Instant{0}), "\"1970-01-01T00:00:00.000000Z\"");
  EXPECT_EQ(written(Instant{-1}), "\"1969-12-31T23:59:59.999999Z\"");
  EXPECT_EQ(written(Instant{1'709'164'800'000'007}), "\"2024-02-29T00:00:00.000007Z\"");
  EXPECT_EQ(written(kNever), "null");
  EXPECT_EQ(written(Instant{std::numeric_limits<std::int64_t>::min()}), "null");
}

TEST(JsonWriter, IdsHaveTheTextOfTheModel) {
  const TaskId task{.run = {42}, .index = 7, .level = 1};
  EXPECT_EQ(QuotedId(task).view(), "\"" + to_text(task) + "\"");
  const TaskId longest{.run = {std::numeric_limits<std::uint64_t>::max()},
                       .index = std::numeric_limits<std::uint32_t>::max(),
                       .level = std::numeric_limits<std::uint32_t>::max()};
  EXPECT_EQ(QuotedId(longest).view(), "\"" + to_text(longest) + "\"");
  EXPECT_EQ(QuotedId(RunId{9}).view(), "\"r9\"");
}

RC_GTEST_PROP(Base64, BytesComeBack, (const std::string& bytes)) {
  std::string text;
  append_base64(text, bytes);
  RC_ASSERT(decode_base64(text) == bytes);
}

TEST(Base64, KnowsTheExamplesOfItsRfcAndNothingElse) {
  std::string text;
  append_base64(text, "fooba");
  EXPECT_EQ(text, "Zm9vYmE=");
  EXPECT_EQ(decode_base64("Zm9vYg=="), "foob");
  EXPECT_EQ(decode_base64(""), "");
  for (const char* bad : {"Zm9vYg=", "Zm9v=", "Zm9vYh==", "Zm 9", "====", "Z===", "Zm9vYmE=Zm9v"}) {
    EXPECT_EQ(decode_base64(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace vortex::codec
