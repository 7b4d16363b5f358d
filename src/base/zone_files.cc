#include "base/zone_files.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

#include "base/file_text.h"

namespace vortex {
namespace {

constexpr std::size_t kZoneFileBytesMax = 1U << 20U;
constexpr std::size_t kZoneNameBytesMax = 100;
constexpr int kLastYear = 2100;
constexpr std::int64_t kHour = 3'600;
constexpr std::int64_t kDay = 86'400;

// Big-endian numbers, one after the other. Reading past the end gives 0 and is remembered.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : rest_(bytes) {}

  bool fine() const { return fine_; }
  std::string_view rest() const { return rest_; }
  std::string_view take(std::size_t size) {
    if (size > rest_.size()) {
      fine_ = false;
      size = rest_.size();
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::int64_t number(std::size_t size) {
    const std::string_view bytes = take(size);
    if (!fine_) return 0;
    std::uint64_t value =
        (static_cast<unsigned char>(bytes[0]) & 0x80U) != 0 ? ~std::uint64_t{0} : 0;
    for (const char c : bytes) value = value << 8U | static_cast<unsigned char>(c);
    return static_cast<std::int64_t>(value);
  }

 private:
  std::string_view rest_;
  bool fine_ = true;
};

struct Header {
  char version = 0;
  std::size_t utc_marks = 0;
  std::size_t standard_marks = 0;
  std::size_t leaps = 0;
  std::size_t times = 0;
  std::size_t types = 0;
  std::size_t letters = 0;
};

std::optional<Header> read_header(Bytes& in) {
  if (in.take(4) != "TZif") return std::nullopt;
  Header header;
  const std::string_view version = in.take(1);
  header.version = version.empty() ? '\0' : version[0];
  in.take(15);
  for (std::size_t* count : {&header.utc_marks, &header.standard_marks, &header.leaps,
                             &header.times, &header.types, &header.letters}) {
    const std::int64_t number = in.number(4);
    if (number < 0 || number > static_cast<std::int64_t>(kZoneFileBytesMax)) return std::nullopt;
    *count = static_cast<std::size_t>(number);
  }
  return in.fine() ? std::optional(header) : std::nullopt;
}

void skip_body(Bytes& in, const Header& header) {
  in.take(header.times * 5 + header.types * 6 + header.letters + header.leaps * 8 +
          header.standard_marks + header.utc_marks);
}

// Neighbours with the same offset differ in name alone: that is no change.
void append(std::vector<ZoneSpan>& spans, ZoneSpan span) {
  if (spans.back().offset_s != span.offset_s) spans.push_back(span);
}

std::optional<std::vector<ZoneSpan>> read_body(Bytes& in, const Header& header) {
  std::vector<std::int64_t> times;
  for (std::size_t i = 0; i < header.times && in.fine(); ++i) times.push_back(in.number(8));
  const std::string_view kinds = in.take(header.times);
  std::vector<std::int32_t> offsets;
  for (std::size_t i = 0; i < header.types && in.fine(); ++i) {
    offsets.push_back(static_cast<std::int32_t>(in.number(4)));
    in.take(2);
  }
  in.take(header.letters + header.leaps * 12 + header.standard_marks + header.utc_marks);
  if (!in.fine() || offsets.empty() || !std::ranges::is_sorted(times)) return std::nullopt;
  std::vector<ZoneSpan> spans{{std::numeric_limits<std::int64_t>::min(), offsets.front()}};
  for (std::size_t i = 0; i < times.size(); ++i) {
    const auto kind = static_cast<unsigned char>(kinds[i]);
    if (kind >= offsets.size()) return std::nullopt;
    append(spans, {times[i], offsets[kind]});
  }
  return spans;
}

// ---- The rule for all later years: CET-1CEST,M3.5.0,M10.5.0/3 ----

class RuleText {
 public:
  explicit RuleText(std::string_view text) : rest_(text) {}

  bool done() const { return rest_.empty(); }
  bool at(char c) const { return !rest_.empty() && rest_.front() == c; }
  bool take(char c) {
    if (!at(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool skip_name() {
    if (take('<')) {
      const std::size_t end = rest_.find('>');
      if (end == rest_.npos) return false;
      rest_.remove_prefix(end + 1);
      return true;
    }
    const std::size_t end =
        rest_.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
    const std::size_t size = std::min(end, rest_.size());
    rest_.remove_prefix(size);
    return size >= 3;
  }
  std::optional<int> number() {
    int value = 0;
    std::size_t digits = 0;
    while (digits < rest_.size() && digits < 4 && rest_[digits] >= '0' && rest_[digits] <= '9') {
      value = value * 10 + (rest_[digits++] - '0');
    }
    rest_.remove_prefix(digits);
    return digits > 0 ? std::optional(value) : std::nullopt;
  }
  // [+-]hh[:mm[:ss]] in seconds
  std::optional<std::int64_t> clock() {
    const std::int64_t sign = take('-') ? -1 : 1;
    if (sign > 0) take('+');
    const auto hour = number();
    if (!hour) return std::nullopt;
    std::int64_t sum = *hour * kHour;
    for (const std::int64_t unit : {std::int64_t{60}, std::int64_t{1}}) {
      if (!take(':')) break;
      const auto part = number();
      if (!part) return std::nullopt;
      sum += *part * unit;
    }
    return sign * sum;
  }

 private:
  std::string_view rest_;
};

struct YearlyChange {
  char kind = 'M';  // M: month, week, weekday; J: day without 29 February; n: day from 0
  std::array<int, 3> date{};
  std::int64_t time_s = 2 * kHour;
};

struct YearlyRule {
  std::int32_t standard_s = 0;
  std::int32_t summer_s = 0;
  std::optional<std::pair<YearlyChange, YearlyChange>> changes = {};
};

std::optional<YearlyChange> read_change(RuleText& in) {
  YearlyChange change;
  if (!in.take(',')) return std::nullopt;
  if (in.take('M')) {
    for (std::size_t i = 0; i < 3; ++i) {
      if (i > 0 && !in.take('.')) return std::nullopt;
      const auto number = in.number();
      if (!number) return std::nullopt;
      change.date[i] = *number;
    }
    if (change.date[0] < 1 || change.date[0] > 12 || change.date[1] < 1 || change.date[1] > 5 ||
        change.date[2] > 6) {
      return std::nullopt;
    }
  } else {
    change.kind = in.take('J') ? 'J' : 'n';
    const auto number = in.number();
    if (!number || *number > 365) return std::nullopt;
    change.date[0] = *number;
  }
  if (in.take('/')) {
    const auto time = in.clock();
    if (!time) return std::nullopt;
    change.time_s = *time;
  }
  return change;
}

std::optional<YearlyRule> read_rule(std::string_view text) {
  RuleText in(text);
  YearlyRule rule;
  if (!in.skip_name()) return std::nullopt;
  const auto west = in.clock();
  if (!west) return std::nullopt;
  rule.standard_s = static_cast<std::int32_t>(-*west);
  if (in.done()) return rule;
  if (!in.skip_name()) return std::nullopt;
  rule.summer_s = rule.standard_s + static_cast<std::int32_t>(kHour);
  if (!in.at(',')) {
    const auto summer_west = in.clock();
    if (!summer_west) return std::nullopt;
    rule.summer_s = static_cast<std::int32_t>(-*summer_west);
  }
  const auto begin = read_change(in);
  const auto end = begin ? read_change(in) : std::nullopt;
  if (!end || !in.done()) return std::nullopt;
  rule.changes = {*begin, *end};
  return rule;
}

// When the change comes in that year, by the clock on the wall, in seconds since 1970.
std::int64_t wall_time(const YearlyChange& change, std::chrono::year year) {
  using namespace std::chrono;
  sys_days day{year / 1 / 1};
  if (change.kind == 'M') {
    const month in_month{static_cast<unsigned>(change.date[0])};
    const weekday on{static_cast<unsigned>(change.date[2])};
    day = change.date[1] == 5
              ? sys_days{year / in_month / on[last]}
              : sys_days{year / in_month / on[static_cast<unsigned>(change.date[1])]};
  } else if (change.kind == 'J') {
    const bool past_february = year.is_leap() && change.date[0] >= 60;
    day += days{change.date[0] - 1 + (past_february ? 1 : 0)};
  } else {
    day += days{change.date[0]};
  }
  return day.time_since_epoch().count() * kDay + change.time_s;
}

void extend(std::vector<ZoneSpan>& spans, const YearlyRule& rule) {
  using namespace std::chrono;
  const std::int64_t known_until = spans.back().begins_s;
  if (!rule.changes) {
    if (spans.size() == 1) spans.front().offset_s = rule.standard_s;
    return;
  }
  const std::int64_t from = std::max<std::int64_t>(known_until, 0);
  const year_month_day first{sys_days{days{from / kDay}}};
  for (year y = first.year(); y <= year{kLastYear}; ++y) {
    std::array<ZoneSpan, 2> both{
        {{wall_time(rule.changes->first, y) - rule.standard_s, rule.summer_s},
         {wall_time(rule.changes->second, y) - rule.summer_s, rule.standard_s}}};
    std::ranges::sort(both, {}, &ZoneSpan::begins_s);
    for (const ZoneSpan& span : both) {
      if (span.begins_s > known_until) append(spans, span);
    }
  }
}

// Names come from users: nothing but a path below the folder of zones.
bool is_zone_name(std::string_view name) {
  if (name.empty() || name.size() > kZoneNameBytesMax || name.front() == '/') return false;
  if (name.find("..") != name.npos) return false;
  return std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
           c == '_' || c == '-' || c == '+';
  });
}

class SystemZones final : public ZoneSource {
 public:
  SystemZones() {
    const char* set = std::getenv("TZDIR");  // NOLINT(concurrency-mt-unsafe): nobody sets it
    folder_ = set != nullptr && *set != '\0' ? set : "/usr/share/zoneinfo";
  }

  ZonePtr find(std::string_view name) const override {
    if (name == "UTC") return std::make_shared<const Zone>();  // needs no file
    if (!is_zone_name(name)) return nullptr;
    const std::scoped_lock lock(mutex_);
    if (const auto known = read_.find(name); known != read_.end()) return known->second;
    const auto bytes = read_file_text(folder_ + "/" + std::string(name), kZoneFileBytesMax);
    if (!bytes) return nullptr;
    auto zone = read_zone(name, *bytes);
    if (!zone) return nullptr;
    return read_[std::string(name)] = std::make_shared<const Zone>(*std::move(zone));
  }

  std::vector<std::string> names() const override {
    namespace fs = std::filesystem;
    std::vector<std::string> names;
    std::error_code error;
    for (auto at = fs::recursive_directory_iterator(folder_, error);
         !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
      const std::string name = at->path().lexically_relative(folder_).string();
      if (name == "posix" || name == "right") {
        at.disable_recursion_pending();
        continue;
      }
      // Files beside the zones: lists and sources, all in small letters or with a point.
      const bool zone = name[0] >= 'A' && name[0] <= 'Z' && is_zone_name(name);
      std::error_code ignored;
      if (zone && at->is_regular_file(ignored)) names.push_back(name);
    }
    std::ranges::sort(names);
    return names;
  }

 private:
  std::string folder_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, ZonePtr, std::less<>> read_;
};

}  // namespace

std::optional<Zone> read_zone(std::string_view name, std::string_view bytes) {
  Bytes in(bytes);
  const auto old = read_header(in);
  if (!old || old->version < '2') return std::nullopt;
  skip_body(in, *old);
  const auto header = read_header(in);
  if (!header) return std::nullopt;
  auto spans = read_body(in, *header);
  if (!spans) return std::nullopt;
  std::string_view footer = in.rest();
  if (!footer.starts_with('\n') || !footer.ends_with('\n') || footer.size() < 2)
    return std::nullopt;
  footer = footer.substr(1, footer.size() - 2);
  if (!footer.empty()) {
    const auto rule = read_rule(footer);
    if (!rule) return std::nullopt;
    extend(*spans, *rule);
  }
  return Zone{std::string(name), *std::move(spans)};
}

const ZoneSource& system_zones() {
  static const SystemZones zones;
  return zones;
}

}  // namespace vortex
