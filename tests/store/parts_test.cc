// The small pieces: times as text, cursors, packed bytes, lists as JSON.

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/text.h"
#include "store/cursor.h"
#include "store/packed.h"
#include "store/row_json.h"

namespace vortex::store {
namespace {

std::string text_of(Instant at) {
  const TimeText text = time_text(at);
  return {text.data(), text.size()};
}

TEST(TimeText, ShowsUtcToTheMicrosecond) {
  EXPECT_EQ(text_of({0}), "1970-01-01 00:00:00.000000");
  EXPECT_EQ(text_of({1'771'800'000'123'456}), "2026-02-22 22:40:00.123456");
  EXPECT_EQ(text_of({-1}), "1969-12-31 23:59:59.999999");
  EXPECT_FALSE(has_time_text(kNever));
}

TEST(TimeText, ReadsBackWhatItShowsAndSortsLikeTime) {
  Rng rng(3);
  for (int i = 0; i < 2'000; ++i) {
    const Instant a{rng.between(-62'167'219'200'000'000, 253'402'300'799'999'999)};
    const Instant b{rng.between(-62'167'219'200'000'000, 253'402'300'799'999'999)};
    ASSERT_EQ(parse_time_text(text_of(a)), a);
    ASSERT_EQ(text_of(a) < text_of(b), a < b);
  }
}

TEST(TimeText, RefusesWhatIsNotATime) {
  for (const char* text : {"", "2026-02-22", "2026-02-30 00:00:00.000000",
                           "2026-13-01 00:00:00.000000", "2026-02-22T22:40:00.123456",
                           "2026-02-22 22:40:00.12345x", "2026-02-22 22:40:00.1234567"}) {
    EXPECT_FALSE(parse_time_text(text)) << text;
  }
}

TEST(Cursor, IsReadByItsOwnListOnly) {
  const CursorKey key{.first = 1, .second = ~std::uint64_t{0}, .third = 7, .text = "a\xff z"};
  const std::string text = write_cursor(CursorKind::kLeases, key);
  EXPECT_EQ(**read_cursor(CursorKind::kLeases, text), key);
  EXPECT_FALSE(read_cursor(CursorKind::kTasks, text));
  EXPECT_FALSE(read_cursor(CursorKind::kLeases, text + "g0"));
  EXPECT_FALSE(*read_cursor(CursorKind::kLeases, "")) << "the first page";
}

TEST(Packer, GivesBackWhatItPacked) {
  Packer packer;
  for (const std::string& data : {std::string{}, std::string("x"), std::string(100'000, 'y')}) {
    EXPECT_EQ(unpack(packer.pack(data)), data);
  }
  EXPECT_FALSE(unpack("not packed at all"));
  std::string broken(packer.pack(std::string(1'000, 'z')));
  broken.resize(broken.size() - 1);
  EXPECT_FALSE(unpack(broken));
}

TEST(RowJson, KeepsListsExactly) {
  const Labels labels{{"a", "1"}, {"b", "\"quoted\" \n \xff"}, {"c", ""}};
  EXPECT_EQ(read_labels(labels_json(labels)), labels);
  EXPECT_EQ(read_numbers(numbers_json({0, 7, ~std::uint32_t{0}})),
            (std::vector<std::uint32_t>{0, 7, ~std::uint32_t{0}}));
  WorkerInfo info;
  info.queues = {"a", "b"};
  info.labels = {{"os", "linux"}};
  info.runtimes = {"python"};
  info.users = {"build", "deploy"};
  info.resources = {.cpu_milli = -1, .memory_bytes = 1LL << 40, .named = {{"gpu", 3}}};
  WorkerInfo read;
  ASSERT_TRUE(read_abilities(abilities_json(info), read));
  EXPECT_EQ(read, info);
  WorkerInfo older;
  ASSERT_TRUE(read_abilities(R"({"queues":["a"],"labels":{},"runtimes":[],"cpu_milli":0,)"
                             R"("memory_bytes":0,"named":{}})",
                             older))
      << "as it was written before there were users";
  EXPECT_TRUE(older.users.empty());
  for (const char* text : {"", "[]", "{\"a\":1}", "nonsense"})
    EXPECT_FALSE(read_labels(text)) << text;
  for (const char* text : {"", "{}", "[-1]", "[4294967296]", "[\"1\"]"}) {
    EXPECT_FALSE(read_numbers(text)) << text;
  }
  EXPECT_FALSE(read_abilities("{}", read));
}

}  // namespace
}  // namespace vortex::store
