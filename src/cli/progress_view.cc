#include "cli/progress_view.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "cli/human.h"
#include "cli/width.h"

namespace vortex::cli {
namespace {

constexpr std::size_t kNameMax = 28;
constexpr std::size_t kBarMin = 8;
constexpr std::size_t kBarMax = 40;
constexpr std::size_t kFiguresRoom = 36;  // "412/500  3 failed  12 running  eta 40s"
constexpr std::uint32_t kPaceMin = 3;     // ended tasks before an estimate is made
constexpr Duration kLineEvery = seconds(1);

std::string padded(std::string_view text, std::size_t width, const Look& look) {
  std::string out = cut_to_width(text, width, look.utf8 ? Ellipsis::kUnicode : Ellipsis::kAscii);
  out.append(width - std::min(width, display_width(out)), ' ');
  return out;
}

Tone bar_tone(const TaskGroup& group) {
  if (group.in(TaskState::kFailed) > 0) return Tone::kBad;
  if (group.ended() == group.total) return Tone::kGood;
  return group.held() > 0 ? Tone::kBusy : Tone::kDim;
}

// Lower is shown first.
int rank_of(const TaskGroup& group) {
  if (group.held() > 0) return 0;
  if (group.in(TaskState::kFailed) > 0) return 1;
  if (group.started() && group.ended() < group.total) return 2;
  return group.ended() == group.total ? 4 : 3;
}

std::string figures(const TaskGroup& group) {
  std::string out = fmt::format("{}/{}", group.ended(), group.total);
  const auto add = [&](TaskState state, const char* word) {
    if (group.in(state) > 0) out += fmt::format("  {} {}", group.in(state), word);
  };
  add(TaskState::kFailed, "failed");
  add(TaskState::kCancelled, "cancelled");
  add(TaskState::kSkipped, "skipped");
  if (group.held() > 0 && group.total > 1) out += fmt::format("  {} running", group.held());
  return out;
}

}  // namespace

void Pace::see(Instant now, std::uint32_t ended) {
  if (!first_) {
    first_ = now;
    at_first_ = ended;
  }
  // A task that is run again takes its end back.
  at_first_ = std::min(at_first_, ended);
  last_ = now;
  ended_ = ended;
}

std::optional<Duration> Pace::eta(std::uint32_t left) const {
  if (!first_ || left == 0 || ended_ < at_first_ + kPaceMin || last_ <= *first_) {
    return std::nullopt;
  }
  const std::int64_t each = (last_ - *first_).us / (ended_ - at_first_);
  return Duration{each * left};
}

BarRoom room_for(const std::vector<TaskGroup>& groups, std::size_t columns, std::size_t rows) {
  BarRoom room;
  for (const TaskGroup& group : groups) {
    room.name_width = std::max(room.name_width, display_width(group.name));
  }
  room.name_width = std::min(room.name_width, kNameMax);
  const std::size_t used = room.name_width + kFiguresRoom + 6;
  room.bar_width = std::clamp(columns > used ? columns - used : 0, kBarMin, kBarMax);
  room.rows = rows;
  return room;
}

std::string bar_line(const TaskGroup& group, const Pace& pace, const BarRoom& room,
                     const Look& look) {
  const std::size_t filled =
      group.total == 0 ? room.bar_width : room.bar_width * group.ended() / group.total;
  const std::string bar = std::string(filled, '#') + std::string(room.bar_width - filled, '-');
  std::string tail = figures(group);
  if (const auto eta = pace.eta(group.total - std::min(group.total, group.ended()))) {
    tail += "  eta " + human_duration(*eta);
  }
  // What does not fit into one line would break the drawing.
  const std::size_t before = room.name_width + room.bar_width + 5;
  if (look.width > 0) {
    const std::size_t left = look.width > before ? look.width - before : 0;
    tail = cut_to_width(tail, left, look.utf8 ? Ellipsis::kUnicode : Ellipsis::kAscii);
  }
  return fmt::format("{}  [{}] {}", padded(group.name, room.name_width, look),
                     paint(bar, bar_tone(group), look), tail);
}

std::vector<std::size_t> groups_to_show(const std::vector<TaskGroup>& groups, std::size_t rows) {
  std::vector<std::size_t> order(groups.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (groups.size() <= rows) return order;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return rank_of(groups[i]); });
  order.resize(rows);
  std::ranges::sort(order);
  return order;
}

std::vector<std::string> ProgressLines::take(const ProgressModel& model, Instant now, Due due) {
  const std::vector<TaskGroup>& groups = model.groups();
  told_.resize(groups.size());
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const TaskGroup& group = groups[i];
    Told& told = told_[i];
    const std::uint32_t failed = group.in(TaskState::kFailed);
    const bool changed =
        group.ended() != told.ended || failed != told.failed || group.started() != told.started;
    const bool soon = told.started && now - told.at < kLineEvery;
    // The last one is worth its line at once.
    const bool complete = group.ended() == group.total;
    if (!changed || (soon && due == Due::kInTime && !complete)) continue;
    told = {group.ended(), failed, group.started(), now};
    lines.push_back(fmt::format("{} {} {}", clock_text(now), group.name, figures(group)));
  }
  return lines;
}

}  // namespace vortex::cli
