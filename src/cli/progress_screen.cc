#include "cli/progress_screen.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/human.h"
#include "cli/terminal.h"

namespace vortex::cli {
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
  write(back + bars(model, now));
}

void ProgressScreen::note(const std::string& text) {
  if (kind_ == Kind::kNone) return;
  if (kind_ == Kind::kBars) clear();
  write(text + "\n");
}

void ProgressScreen::finish(const ProgressModel& model, Instant now) {
  if (kind_ == Kind::kLines) {
    for (const std::string& line : lines_.take(model, now, ProgressLines::Due::kAll)) {
      write(line + "\n");
    }
    return;
  }
  draw(model, now);
}

}  // namespace vortex::cli
