#include "cli/screen/progress.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/screen/human.h"
#include "cli/screen/json_view.h"
#include "cli/screen/terminal.h"

namespace vortex::cli {
namespace {

// Where a task is after an event; unset: it says nothing about that. A failed attempt is followed
// by a second event that tells whether there is another try.
std::optional<TaskState> state_after(std::string_view event) {
  constexpr std::pair<std::string_view, TaskState> kAfter[] = {
      {"task_claimed", TaskState::kScheduled},   {"task_started", TaskState::kRunning},
      {"task_complete", TaskState::kCompleted},  {"task_dead_lettered", TaskState::kFailed},
      {"task_quarantined", TaskState::kFailed},  {"task_requeued", TaskState::kQueued},
      {"task_retry", TaskState::kQueued},        {"task_redriven", TaskState::kQueued},
      {"task_cancelled", TaskState::kCancelled},
  };
  for (const auto& [name, state] : kAfter) {
    if (name == event) return state;
  }
  return std::nullopt;
}

std::string data_text(const boost::json::object& event, std::string_view name) {
  const auto* data = event.if_contains("data");
  return data != nullptr && data->is_object() ? text_at(data->get_object(), name) : std::string();
}

}  // namespace

std::uint32_t TaskGroup::ended() const {
  return in(TaskState::kCompleted) + in(TaskState::kFailed) + in(TaskState::kCancelled) +
         in(TaskState::kSkipped);
}

std::uint32_t TaskGroup::held() const {
  return in(TaskState::kRunning) + in(TaskState::kScheduled);
}

std::optional<TaskState> task_state_from(std::string_view text) {
  for (std::size_t i = 0; i < kTaskStates; ++i) {
    const auto state = static_cast<TaskState>(i);
    if (to_text(state) == text) return state;
  }
  return std::nullopt;
}

ProgressModel::ProgressModel(PlanPtr plan, Detail detail)
    : plan_(std::move(plan)), detail_(detail) {
  const auto waiting = number_of(TaskState::kWaiting);
  if (detail_ == Detail::kWhole) {
    TaskGroup all{"all tasks", plan_->tasks, {}};
    all.by_state[waiting] = plan_->tasks;
    groups_.push_back(std::move(all));
    return;
  }
  for (std::uint32_t node = 0; node < plan_->nodes.size(); ++node) {
    TaskGroup group{plan_->node_spec(node).name, plan_->tasks_of(node), {}};
    group.by_state[waiting] = group.total;
    groups_.push_back(std::move(group));
  }
  states_.assign(plan_->tasks, TaskState::kWaiting);
}

void ProgressModel::grow(PlanPtr plan) {
  plan_ = std::move(plan);
  const auto add = [](TaskGroup& group, std::uint32_t total) {
    group.by_state[number_of(TaskState::kWaiting)] += total - group.total;
    group.total = total;
  };
  if (detail_ == Detail::kWhole) return add(groups_.front(), plan_->tasks);
  for (std::uint32_t node = 0; node < groups_.size(); ++node) {
    add(groups_[node], plan_->tasks_of(node));
  }
  states_.resize(plan_->tasks, TaskState::kWaiting);
}

void ProgressModel::set(std::uint32_t index, TaskState state) {
  if (index >= states_.size()) return;
  TaskGroup& group = groups_[plan_->node_of_task(index)];
  const TaskState before = std::exchange(states_[index], state);
  --group.by_state[number_of(before)];
  ++group.by_state[number_of(state)];
}

void ProgressModel::apply(const boost::json::object& event) {
  const auto state = state_after(text_at(event, "event"));
  const auto task = parse_task_id(text_at(event, "task_id"));
  if (state && task) set(task->index, *state);
  if (text_at(event, "event") != "child_started" || !task || detail_ == Detail::kWhole) return;
  if (task->index >= states_.size()) return;
  groups_[plan_->node_of_task(task->index)].child = data_text(event, "child");
}

void ProgressModel::set_counts(const boost::json::object& counts) {
  if (detail_ != Detail::kWhole) return;
  TaskGroup& all = groups_.front();
  std::uint32_t made = 0;
  for (std::size_t i = 0; i < kTaskStates; ++i) {
    const auto count =
        static_cast<std::uint32_t>(number_at(counts, to_text(static_cast<TaskState>(i))));
    all.by_state[i] = count;
    made += count;
  }
  // Tasks that are not made yet wait too.
  if (made < all.total) all.by_state[number_of(TaskState::kWaiting)] += all.total - made;
}

TaskGroup ProgressModel::total() const {
  TaskGroup all{"all tasks", plan_->tasks, {}};
  for (const TaskGroup& group : groups_) {
    for (std::size_t i = 0; i < kTaskStates; ++i) all.by_state[i] += group.by_state[i];
  }
  return all;
}

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
  if (!group.child.empty() && group.ended() < group.total) out += "  run " + group.child;
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

namespace {

constexpr std::size_t kRowsKept = 4;  // of the screen, for what stood before and the total

void write(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

ProgressScreen ProgressScreen::for_context(const Context& context) {
  const Look look = look_at(context, STDERR_FILENO);
  if (context.quiet) return {Kind::kNone, look};
  return {is_terminal(STDERR_FILENO) ? Kind::kBars : Kind::kLines, look};
}

void ProgressScreen::clear() {
  if (drawn_ > 0) write(fmt::format("\x1b[{}F\x1b[J", drawn_));
  drawn_ = 0;
}

std::string ProgressScreen::bars(const ProgressModel& model, Instant now) {
  const ScreenSize size = screen_size(STDERR_FILENO);
  look_.width = size.columns;
  const std::vector<TaskGroup>& groups = model.groups();
  paces_.resize(groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) paces_[i].see(now, groups[i].ended());
  const std::size_t rows = size.rows > kRowsKept + 1 ? size.rows - kRowsKept : 1;
  const BarRoom room = room_for(groups, size.columns, rows);
  const std::vector<std::size_t> shown = groups_to_show(groups, rows);
  std::string out;
  for (const std::size_t i : shown) out += bar_line(groups[i], paces_[i], room, look_) + "\n";
  drawn_ = shown.size();
  if (shown.size() < groups.size()) {
    const TaskGroup all = model.total();
    out += fmt::format("... and {}; {}/{} tasks in total\n",
                       counted(groups.size() - shown.size(), "more group"), all.ended(), all.total);
    ++drawn_;
  }
  return out + life(size);
}

std::string ProgressScreen::life(const ScreenSize& size) {
  constexpr std::size_t kIndent = 2;
  std::string out;
  for (const std::string& line : life_) {
    if (drawn_ + kRowsKept >= size.rows) break;
    const std::string cut = cut_to_width(line, size.columns > kIndent ? size.columns - kIndent : 1,
                                         look_.utf8 ? Ellipsis::kUnicode : Ellipsis::kAscii);
    out += std::string(kIndent, ' ') + paint(cut, Tone::kDim, look_) + "\n";
    ++drawn_;
  }
  return out;
}

void ProgressScreen::draw(const ProgressModel& model, Instant now) {
  if (kind_ == Kind::kNone) return;
  if (kind_ == Kind::kLines) {
    for (const std::string& line : lines_.take(model, now)) write(line + "\n");
    return;
  }
  // One write for the whole picture: no flicker.
  const std::string back = drawn_ > 0 ? fmt::format("\x1b[{}F\x1b[J", drawn_) : "";
  write(back + for_terminal(bars(model, now)));
}

void ProgressScreen::note(const std::string& text) {
  if (kind_ == Kind::kNone) return;
  if (kind_ == Kind::kLines) return write(text + "\n");
  clear();
  write(for_terminal(text + "\n"));
}

void ProgressScreen::finish(const ProgressModel& model, Instant now) {
  if (kind_ == Kind::kLines) {
    for (const std::string& line : lines_.take(model, now, ProgressLines::Due::kAll)) {
      write(line + "\n");
    }
    return;
  }
  life_.clear();
  draw(model, now);
}

}  // namespace vortex::cli
