#include "codec/units.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace vortex::codec {
namespace {

constexpr int kExponentMax = 18;

// Wide enough for every amount times every unit, before the limits are looked at.
__extension__ using Wide = __int128;

constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();
// More decimals than any unit has powers of ten, and few enough that nothing overflows.
constexpr std::size_t kDecimalsMax = 18;

constexpr AmountFault kTooLarge = "is too large";

struct Unit {
  std::string_view name;
  std::int64_t scale = 1;
};

// Largest first: the canonical text takes the first that fits.
constexpr std::array<Unit, 6> kTimeUnits{{{"d", hours(24).us},
                                          {"h", hours(1).us},
                                          {"m", minutes(1).us},
                                          {"s", seconds(1).us},
                                          {"ms", millis(1).us},
                                          {"us", 1}}};
// The last two are read and never written: earlier versions do not know them.
constexpr std::array<Unit, 9> kSizeUnits{{{"GiB", 1'073'741'824},
                                          {"GB", 1'000'000'000},
                                          {"MiB", 1'048'576},
                                          {"MB", 1'000'000},
                                          {"KiB", 1'024},
                                          {"KB", 1'000},
                                          {"B", 1},
                                          {"TiB", 1'099'511'627'776},
                                          {"TB", 1'000'000'000'000}}};

// Units as other tools and hurried people write them, in lower case.
using Alias = std::pair<std::string_view, std::string_view>;
constexpr std::array<Alias, 26> kTimeAliases{{{"", "s"},
                                              {"sec", "s"},
                                              {"secs", "s"},
                                              {"second", "s"},
                                              {"seconds", "s"},
                                              {"min", "m"},
                                              {"mins", "m"},
                                              {"minute", "m"},
                                              {"minutes", "m"},
                                              {"hr", "h"},
                                              {"hrs", "h"},
                                              {"hour", "h"},
                                              {"hours", "h"},
                                              {"day", "d"},
                                              {"days", "d"},
                                              {"msec", "ms"},
                                              {"msecs", "ms"},
                                              {"millis", "ms"},
                                              {"milliseconds", "ms"},
                                              {"usec", "us"},
                                              {"micros", "us"},
                                              {"s", "s"},
                                              {"m", "m"},
                                              {"h", "h"},
                                              {"d", "d"},
                                              {"ms", "ms"}}};
constexpr std::array<Alias, 21> kSizeAliases{
    {{"k", "KiB"},   {"ki", "KiB"},   {"kib", "KiB"}, {"kb", "KB"},  {"m", "MiB"},   {"mi", "MiB"},
     {"mib", "MiB"}, {"mb", "MB"},    {"g", "GiB"},   {"gi", "GiB"}, {"gib", "GiB"}, {"gb", "GB"},
     {"t", "TiB"},   {"ti", "TiB"},   {"tib", "TiB"}, {"tb", "TB"},  {"b", "B"},     {"byte", "B"},
     {"bytes", "B"}, {"kbyte", "KB"}, {"mbyte", "MB"}}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// How the faults of one kind of amount are called.
struct Words {
  AmountFault not_one;
  AmountFault too_fine;
};

using Amount = std::expected<std::int64_t, AmountFault>;

// "12.5" times the scale: digits, and with a point digits on both sides of it.
Amount scale_number(std::string_view number, std::int64_t scale, const Words& words) {
  const std::size_t point = number.find('.');
  const std::string_view whole = number.substr(0, point);
  const std::string_view fraction = point == number.npos ? "0" : number.substr(point + 1);
  if (whole.empty() || fraction.empty()) return std::unexpected(words.not_one);
  Wide sum = 0;
  for (const char c : whole) {
    if (!is_digit(c)) return std::unexpected(words.not_one);
    if (sum <= kInt64Max) sum = sum * 10 + (c - '0');
  }
  Wide part = 0;
  Wide power = 1;
  for (std::size_t i = 0; i < fraction.size(); ++i) {
    if (!is_digit(fraction[i])) return std::unexpected(words.not_one);
    if (i >= kDecimalsMax) continue;
    part = part * 10 + (fraction[i] - '0');
    power *= 10;
  }
  const bool more = fraction.find_first_not_of('0', kDecimalsMax) != fraction.npos;
  if (more || part * scale % power != 0) return std::unexpected(words.too_fine);
  sum = sum * scale + part * scale / power;
  if (sum > kInt64Max) return std::unexpected(kTooLarge);
  return static_cast<std::int64_t>(sum);
}

Amount parse_amount(std::string_view text, std::span<const Unit> units, const Words& words) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto unit = std::ranges::find(units, text.substr(end), &Unit::name);
  if (unit == units.end()) return std::unexpected(words.not_one);
  return scale_number(text.substr(0, end), unit->scale, words);
}

// 2E-1, as some programs write 0.2, with its point where it belongs. What is none stays as it is.
std::string without_exponent(std::string_view number) {
  const std::size_t mark = std::min(number.find_first_of("eE"), number.size());
  const std::size_t point = std::min(number.find('.'), mark);
  int shift = 0;
  const char* from = number.data() + mark + 1;
  const char* end = number.data() + number.size();
  if (mark == number.size() || from == end) return std::string(number);
  if (*from == '+') ++from;
  const auto read = std::from_chars(from, end, shift);
  const bool fine = read.ec == std::errc{} && read.ptr == end && std::abs(shift) <= kExponentMax;
  if (!fine || point == 0) return std::string(number);
  std::string digits(number.substr(0, point));
  if (point < mark) digits += number.substr(point + 1, mark - point - 1);
  auto at = static_cast<std::ptrdiff_t>(point) + shift;
  if (at <= 0) {
    digits.insert(0, static_cast<std::size_t>(1 - at), '0');
    at = 1;
  }
  const auto whole = static_cast<std::size_t>(at);
  if (whole >= digits.size()) return digits + std::string(whole - digits.size(), '0');
  return digits.insert(whole, 1, '.');
}

std::string amount_text(std::int64_t amount, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (amount % unit.scale == 0) return fmt::format("{}{}", amount / unit.scale, unit.name);
  }
  return {};
}

// "1 Gi" with the aliases of sizes: 1GiB. Empty: nobody can tell what was meant.
std::string likely(std::string_view text, std::span<const Alias> aliases) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::size_t unit = std::min(text.find_first_not_of(' ', digits), text.size());
  std::string name(text.substr(unit));
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  const auto meant = std::ranges::find(aliases, name, &Alias::first);
  if (digits == 0 || digits > kDecimalsMax || meant == aliases.end()) return {};
  return fmt::format("did you mean {}{}? ", text.substr(0, digits), meant->second);
}

}  // namespace

std::string duration_help(std::string_view text) {
  return likely(text, kTimeAliases) +
         "write a number and a unit, such as \"90s\"; units: us, ms, s, m, h, d";
}

std::string size_help(std::string_view text) {
  return likely(text, kSizeAliases) +
         "write a number and a unit, such as \"512MiB\"; units: B, KiB, MiB, GiB, TiB, KB, MB, GB, "
         "TB";
}

std::expected<Duration, AmountFault> parse_duration(std::string_view text) {
  const auto us = parse_amount(text, kTimeUnits,
                               {.not_one = "is not a duration", .too_fine = "is finer than 1us"});
  if (!us) return std::unexpected(us.error());
  if (*us > kForever.us) return std::unexpected(kTooLarge);
  return Duration{*us};
}

std::string duration_text(Duration duration) {
  return duration.us == 0 ? "0s" : amount_text(duration.us, kTimeUnits);
}

std::expected<Rate, AmountFault> parse_rate(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == text.npos) return std::unexpected("is not a rate");
  const std::string_view count = text.substr(0, slash);
  Rate rate;
  const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), rate.count);
  if (error != std::errc{} || end != count.data() + count.size()) {
    return std::unexpected("is not a rate");
  }
  if (rate.count == 0) return std::unexpected("would let nothing start");
  if (rate.count > kRateMax) return std::unexpected(kTooLarge);
  const auto window = parse_duration(text.substr(slash + 1));
  if (!window) return std::unexpected("is not a rate");
  rate.window = *window;
  return rate;
}

std::string rate_text(const Rate& rate) {
  return std::to_string(rate.count) + "/" + duration_text(rate.window);
}

std::expected<std::int64_t, AmountFault> parse_size(std::string_view text) {
  return parse_amount(text, kSizeUnits,
                      {.not_one = "is not a size", .too_fine = "is not a whole number of bytes"});
}

std::string size_text(std::int64_t bytes) {
  return bytes == 0 ? "0B" : amount_text(bytes, kSizeUnits);
}

std::expected<std::int64_t, AmountFault> parse_thousandths(std::string_view number) {
  return scale_number(
      without_exponent(number), 1'000,
      {.not_one = "is not a decimal number", .too_fine = "is finer than a thousandth"});
}

std::string thousandths_text(std::int64_t thousandths) {
  std::string text = fmt::format("{}", thousandths / 1'000);
  const std::int64_t rest = thousandths % 1'000;
  if (rest == 0) return text;
  text += fmt::format(".{:03}", rest);
  text.erase(text.find_last_not_of('0') + 1);
  return text;
}

std::uint64_t whole_millis(Duration duration) {
  if (duration.us <= 0) return 0;
  return (static_cast<std::uint64_t>(duration.us) + 999) / 1'000;
}

}  // namespace vortex::codec
