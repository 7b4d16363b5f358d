#include "cli/color.h"

#include <algorithm>
#include <cstdlib>

#include <unistd.h>

#include "base/clock.h"
#include "cli/terminal.h"

namespace vortex::cli {
namespace {

struct StateLook {
  std::string_view state;
  Tone tone;
  std::string_view symbol;
  std::string_view plain;  // where only ASCII is understood
};

// Words of tasks, runs, workers, letters and checks. Upper and lower case matter: a worker that is
// RUNNING is well, a task that is Running is busy.
constexpr StateLook kStates[] = {
    {"Completed", Tone::kGood, "✓", "+"}, {"Failed", Tone::kBad, "✗", "x"},
    {"Cancelled", Tone::kDim, "⊘", "/"},  {"Skipped", Tone::kDim, "↷", ">"},
    {"Running", Tone::kBusy, "▶", ">"},   {"Scheduled", Tone::kBusy, "◔", "~"},
    {"Queued", Tone::kPlain, "…", ":"},   {"Waiting", Tone::kDim, "·", "."},
    {"Paused", Tone::kWarn, "‖", "="},    {"IDLE", Tone::kGood, "○", "o"},
    {"RUNNING", Tone::kGood, "●", "*"},   {"REGISTERING", Tone::kBusy, "◌", "~"},
    {"DRAINING", Tone::kWarn, "◐", "-"},  {"INACTIVE", Tone::kDim, "⊘", "/"},
    {"OFFLINE", Tone::kBad, "✗", "x"},    {"open", Tone::kBad, "✗", "x"},
    {"redriven", Tone::kGood, "↻", "+"},  {"discarded", Tone::kDim, "⊘", "/"},
    {"online", Tone::kGood, "●", "*"},    {"offline", Tone::kBad, "✗", "x"},
    {"ok", Tone::kGood, "✓", "+"},        {"warn", Tone::kWarn, "!", "!"},
    {"fail", Tone::kBad, "✗", "x"},       {"held", Tone::kGood, "●", "*"},
    {"free", Tone::kDim, "○", "o"},       {"expired", Tone::kWarn, "!", "!"},
    {"paused", Tone::kWarn, "‖", "="},    {"active", Tone::kGood, "●", "*"},
    {"INFO", Tone::kPlain, "·", "."},     {"WARN", Tone::kWarn, "!", "!"},
    {"ERROR", Tone::kBad, "✗", "x"},
};

const StateLook* find_state(std::string_view state) {
  const auto* found = std::ranges::find(kStates, state, &StateLook::state);
  return found == std::end(kStates) ? nullptr : found;
}

std::string_view code_of(Tone tone) {
  switch (tone) {
    case Tone::kPlain:
      return {};
    case Tone::kGood:
      return "\x1b[32m";
    case Tone::kBad:
      return "\x1b[1;31m";
    case Tone::kWarn:
      return "\x1b[33m";
    case Tone::kBusy:
      return "\x1b[36m";
    case Tone::kDim:
      return "\x1b[2m";
    case Tone::kStrong:
      return "\x1b[1m";
  }
  return {};
}

// no-color.org: set to anything but nothing.
bool environment_forbids_color() {
  const char* value = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
  return (value != nullptr && *value != '\0') || dumb;
}

}  // namespace

Look look_at(const Context& context, int fd) {
  const bool terminal = is_terminal(fd);
  Look look;
  look.color = context.color == ColorMode::kAlways ||
               (context.color == ColorMode::kAuto && terminal && !environment_forbids_color());
  look.symbols = terminal;
  look.utf8 = speaks_utf8();
  look.width = terminal ? screen_size(fd).columns : 0;
  look.now = wall_clock_now();
  return look;
}

std::string paint(std::string_view text, Tone tone, const Look& look) {
  const std::string_view code = code_of(tone);
  if (!look.color || code.empty()) return std::string(text);
  std::string out(code);
  out += text;
  return out += "\x1b[0m";
}

Tone tone_of_state(std::string_view state) {
  const StateLook* found = find_state(state);
  return found == nullptr ? Tone::kPlain : found->tone;
}

std::string state_text(std::string_view state, const Look& look) {
  const StateLook* found = find_state(state);
  if (!look.symbols || found == nullptr) return std::string(state);
  std::string out(look.utf8 ? found->symbol : found->plain);
  out += ' ';
  return out += state;
}

}  // namespace vortex::cli
