#include "codec/time_text.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace vortex::codec {
namespace {

constexpr std::int64_t kMicrosPerSecond = 1'000'000;
constexpr std::int64_t kFirstSecond = -62'167'219'200;  // 0000-01-01T00:00:00
constexpr std::int64_t kLastSecond = 253'402'300'799;   // 9999-12-31T23:59:59

// "2026-02-22T22:59:55.123456Z" in quotes
constexpr std::size_t kBytes = 29;
constexpr std::size_t kFractionAt = 21;
using TimeText = std::array<char, kBytes>;

void put(TimeText& text, std::size_t at, std::size_t digits, std::uint64_t number) {
  for (std::size_t i = digits; i > 0; --i) {
    text[at + i - 1] = static_cast<char>('0' + number % 10);
    number /= 10;
  }
}

TimeText text_of_second(std::int64_t second) {
  namespace ch = std::chrono;
  const ch::sys_seconds at{ch::seconds(second)};
  const auto day = ch::floor<ch::days>(at);
  const ch::year_month_day date{day};
  const ch::hh_mm_ss clock{at - day};
  TimeText text{'"', '0', '0', '0', '0', '-', '0', '0', '-', '0', '0', 'T', '0', '0', ':',
                '0', '0', ':', '0', '0', '.', '0', '0', '0', '0', '0', '0', 'Z', '"'};
  put(text, 1, 4, static_cast<std::uint64_t>(static_cast<int>(date.year())));
  put(text, 6, 2, static_cast<unsigned>(date.month()));
  put(text, 9, 2, static_cast<unsigned>(date.day()));
  put(text, 12, 2, static_cast<std::uint64_t>(clock.hours().count()));
  put(text, 15, 2, static_cast<std::uint64_t>(clock.minutes().count()));
  put(text, 18, 2, static_cast<std::uint64_t>(clock.seconds().count()));
  return text;
}

struct LastSecond {
  std::int64_t second = std::numeric_limits<std::int64_t>::min();
  TimeText text{};
};

}  // namespace

void append_time(std::string& out, Instant at) {
  thread_local LastSecond last;
  std::int64_t second = at.us / kMicrosPerSecond;
  std::int64_t fraction = at.us % kMicrosPerSecond;
  if (fraction < 0) --second, fraction += kMicrosPerSecond;
  if (second < kFirstSecond || second > kLastSecond) {
    out += "null";
    return;
  }
  if (second != last.second) last = {.second = second, .text = text_of_second(second)};
  put(last.text, kFractionAt, 6, static_cast<std::uint64_t>(fraction));
  out.append(last.text.data(), last.text.size());
}

}  // namespace vortex::codec
