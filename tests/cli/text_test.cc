// Widths, tables, times, streams and lines: everything that is only text.

#include <gtest/gtest.h>

#include "cli/client/api_client.h"
#include "cli/client/follow.h"
#include "cli/commands/log_source.h"
#include "cli/screen/human.h"
#include "cli/screen/json_view.h"
#include "cli/screen/listing.h"
#include "cli/screen/terminal.h"

namespace vortex::cli {
namespace {

TEST(Width, CountsColumnsNotBytes) {
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("äöü"), 3U);
  EXPECT_EQ(display_width("日本"), 4U);
  EXPECT_EQ(display_width("e\u0301"), 1U) << "a letter and its accent";
  EXPECT_EQ(display_width("\xff\xfe"), 2U) << "not UTF-8: one column a byte";
}

TEST(Width, CutsBetweenCharacters) {
  EXPECT_EQ(cut_to_width("abcdef", 4, Ellipsis::kAscii), "abc~");
  EXPECT_EQ(cut_to_width("日本語", 5, Ellipsis::kUnicode), "日本…");
  EXPECT_EQ(cut_to_width("日本語", 4, Ellipsis::kUnicode), "日…");
  EXPECT_EQ(cut_to_width("abc", 3, Ellipsis::kAscii), "abc");
  EXPECT_EQ(cut_to_width("abc", 0, Ellipsis::kAscii), "");
}

TEST(Width, OneLineHoldsNoControlCharacters) {
  EXPECT_EQ(one_line("a\nb\tc\x1b[31m"), "a b c [31m");
  EXPECT_EQ(one_line("\xc2\x9b"), " ") << "the one-character escape of Latin-1";
  EXPECT_EQ(one_line("a\u202eb\u2066c"), "a b c") << "marks of writing direction";
}

TEST(Screen, ShowsWhatItWouldObey) {
  EXPECT_EQ(for_terminal("a\tb\r\nc\n"), "a\tb\nc\n") << "lines and tabs stay";
  EXPECT_EQ(for_terminal("ä日\u05e9"), "ä日\u05e9") << "any language stays";
  EXPECT_EQ(for_terminal("\x1b]0;title\x07"), "^[]0;title^G") << "the title of the window";
  EXPECT_EQ(for_terminal("\x1b]52;c;aGk=\x1b\\"), "^[]52;c;aGk=^[\\") << "the clipboard";
  EXPECT_EQ(for_terminal("\x1b[2J\x1b[1;1H\x1b[?1049h"), "^[[2J^[[1;1H^[[?1049h");
  EXPECT_EQ(for_terminal("100%\rdone"), "100%^Mdone") << "nothing is written over";
  EXPECT_EQ(for_terminal("a\bb\x7f"), "a^Hb^?");
  EXPECT_EQ(for_terminal("\u009b2J\x9b"
                         "2J"),
            "<U+009B>2J<U+009B>2J")
      << "C1 in UTF-8 and without";
  EXPECT_EQ(for_terminal("a\u202eb\u2067"), "a<U+202E>b<U+2067>");
}

TEST(Screen, KeepsColoursUpToTheEndOfTheirLine) {
  EXPECT_EQ(for_terminal("\x1b[31mred\x1b[0m\n"), "\x1b[31mred\x1b[0m\n");
  EXPECT_EQ(for_terminal("\x1b[38;5;8;48:2:1:2:3mred\nplain"),
            "\x1b[38;5;8;48:2:1:2:3mred\x1b[0m\nplain");
  EXPECT_EQ(for_terminal("\x1b[31mred"), "\x1b[31mred\x1b[0m");
  EXPECT_EQ(for_terminal("\x1b[31"), "^[[31") << "unfinished";
  EXPECT_EQ(for_terminal("\x1b[?25m\x1b[>4;2m"), "^[[?25m^[[>4;2m") << "no colour, but settings";
  EXPECT_EQ(for_terminal("\x1b[" + std::string(100, '1') + "m").substr(0, 3), "^[[") << "no end";
}

Table two_columns() {
  return Table({{"NAME", Align::kLeft, Shown::kAlways, Shrinks::kMay},
                {"N", Align::kRight, Shown::kAlways, Shrinks::kNever},
                {"MORE", Align::kLeft, Shown::kWide, Shrinks::kNever}});
}

TEST(Table, AlignsByDisplayWidthWithoutTrailingSpaces) {
  Table table = two_columns();
  table.add({{"日本"}, {"7"}, {"x"}});
  table.add({{"abc"}, {"1234"}, {"y"}});
  EXPECT_EQ(table.text(Look{}),
            "NAME     N\n"
            "日本     7\n"
            "abc   1234\n");
  EXPECT_EQ(table.text(Look{}, Shown::kWide),
            "NAME     N  MORE\n"
            "日本     7  x\n"
            "abc   1234  y\n");
}

TEST(Table, ShortensOnlyWhereTheScreenIsNarrow) {
  Table table = two_columns();
  const std::string name(40, 'n');
  table.add({{name}, {"1"}, {"x"}});
  EXPECT_NE(table.text(Look{}).find(name), std::string::npos) << "off a terminal nothing is cut";
  Look narrow;
  narrow.width = 20;
  EXPECT_EQ(table.text(narrow), "NAME               N\nnnnnnnnnnnnnnnnn~  1\n");
}

TEST(Table, ColourIsNeverTheOnlyCarrier) {
  Look look;
  look.color = true;
  look.symbols = true;
  look.utf8 = true;
  EXPECT_EQ(state_text("Failed", look), "✗ Failed");
  look.utf8 = false;
  EXPECT_EQ(state_text("Failed", look), "x Failed");
  EXPECT_EQ(paint("x", Tone::kBad, look), "\x1b[1;31mx\x1b[0m");
  EXPECT_EQ(state_text("Failed", Look{}), "Failed") << "for tools the word alone";
  EXPECT_EQ(paint("x", Tone::kBad, Look{}), "x");
}

TEST(Human, DurationsAreShort) {
  EXPECT_EQ(human_duration(micros(12)), "12us");
  EXPECT_EQ(human_duration(millis(85)), "85ms");
  EXPECT_EQ(human_duration(millis(1'250)), "1.2s");
  EXPECT_EQ(human_duration(seconds(42)), "42s");
  EXPECT_EQ(human_duration(seconds(185)), "3m05s");
  EXPECT_EQ(human_duration(minutes(130)), "2h10m");
  EXPECT_EQ(human_duration(hours(123)), "5d3h");
}

TEST(Human, TimesAreRelative) {
  const Instant now{seconds(1'000'000).us};
  EXPECT_EQ(human_time(now - seconds(3), now), "3s ago");
  EXPECT_EQ(human_time(now - seconds(185), now), "3m ago");
  EXPECT_EQ(human_time(now - hours(26), now), "1d ago");
  EXPECT_EQ(human_time(now + seconds(20), now), "in 20s");
  EXPECT_EQ(human_time(now + millis(300), now), "now");
}

TEST(Human, TimesOfTheInterfaceAreRead) {
  EXPECT_EQ(parse_time("1970-01-01T00:00:01.500000Z")->us, 1'500'000);
  EXPECT_EQ(parse_time("2026-02-22T22:59:55.123456Z")->us, 1'771'801'195'123'456);
  EXPECT_EQ(parse_time("2026-02-22T22:59:55Z")->us, 1'771'801'195'000'000);
  for (const char* bad : {"", "null", "2026-02-30T00:00:00Z", "2026-02-22 22:59:55Z", "2026-02-22",
                          "2026-02-22T22:59:55", "-026-02-22T22:59:55Z"}) {
    EXPECT_FALSE(parse_time(bad)) << bad;
  }
  EXPECT_EQ(clock_text(*parse_time("2026-02-22T22:59:55Z")), "22:59:55");
  EXPECT_EQ(human_bytes(512), "512 B");
  EXPECT_EQ(human_bytes(3U << 20U), "3.0 MiB");
}

TEST(Json, IsPrettyAndKeepsItsOrder) {
  const auto value = boost::json::parse(R"({"b":1,"a":[1,{"x":null}],"e":{},"l":[]})");
  EXPECT_EQ(pretty_json(value),
            "{\n  \"b\": 1,\n  \"a\": [\n    1,\n    {\n      \"x\": null\n    }\n  ],\n"
            "  \"e\": {},\n  \"l\": []\n}\n");
}

TEST(Json, NumbersAreWrittenAsPeopleDo) {
  const auto value = boost::json::parse(R"({"jitter":0.2,"n":18446744073709551615,"m":-3})");
  EXPECT_EQ(compact_json(value), R"({"jitter":0.2,"n":18446744073709551615,"m":-3})");
}

TEST(Address, AnyNameFitsIntoAPath) {
  EXPECT_EQ(escaped("a/b c?d"), "a%2Fb%20c%3Fd");
  EXPECT_EQ(escaped(".."), "%2E%2E");
  EXPECT_EQ(with_query("/x", {{"a", "1"}, {"b", ""}, {"c", "&"}}), "/x?a=1&c=%26");
  EXPECT_EQ(with_query("/x?y=1", {{"a", "1"}}), "/x?y=1&a=1");
}

TEST(Sse, ReadsEventsInAnyPieces) {
  const std::string text =
      "retry: 2000\n: hello\n\nid: 7\ndata: {\"a\":1}\n\nid: 8\r\ndata: x\r\n\r\n";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    SseReader reader;
    std::string seen;
    for (std::size_t at = 0; at < text.size(); at += size) {
      reader.feed(std::string_view(text).substr(at, size), [&](const SseReader::Event& event) {
        seen += event.id + "=" + event.data + ";";
      });
    }
    EXPECT_EQ(seen, "7={\"a\":1};8=x;") << size;
  }
}

TEST(LogLines, PrefixAndPattern) {
  const auto pattern = LinePattern::make("err|warn");
  ASSERT_TRUE(pattern);
  std::string out;
  LineWriter writer("a | ", &*pattern, [&](std::string_view text) { out += text; });
  writer.feed("one err");
  writer.feed("or\ntwo\nwarn");
  EXPECT_EQ(out, "a | one error\n");
  writer.finish();
  EXPECT_EQ(out, "a | one error\na | warn\n");
  EXPECT_FALSE(LinePattern::make("("));
}

TEST(LogLines, BytesPassUntouchedWithoutPrefix) {
  std::string out;
  LineWriter writer("", nullptr, [&](std::string_view text) { out += text; });
  writer.feed("\x1b[31mhalf a li");
  EXPECT_EQ(out, "\x1b[31mhalf a li");
}

TEST(LogLines, TheLastLines) {
  EXPECT_EQ(last_lines_of("a\nb\nc\n", 2), "b\nc\n");
  EXPECT_EQ(last_lines_of("a\nb\nc", 2), "b\nc");
  EXPECT_EQ(last_lines_of("a\nb\n", 5), "a\nb\n");
  EXPECT_EQ(last_lines_of("a\nb\n", 2), "a\nb\n");
  EXPECT_EQ(last_lines_of("", 2), "");
  EXPECT_EQ(last_lines_of("\n\n", 1), "\n");
}

}  // namespace
}  // namespace vortex::cli
