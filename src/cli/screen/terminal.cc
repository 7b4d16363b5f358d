#include "cli/screen/terminal.h"

#include <algorithm>
#include <clocale>
#include <cstdlib>
#include <cwchar>
#include <string>
#include <string_view>
#include <utility>

#include <locale.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/unseen.h"
#include "cli/context.h"

namespace vortex::cli {

bool is_terminal(int fd) { return ::isatty(fd) == 1; }

ScreenSize screen_size(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {size.ws_col, size.ws_row};
}

bool speaks_utf8() {
  // In the order of precedence of the C library.
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view text = value;
    return text.contains("UTF-8") || text.contains("utf8") || text.contains("utf-8");
  }
  return false;
}

FullScreen::FullScreen() {
  if (::tcgetattr(STDIN_FILENO, &before_) == 0) {
    termios keys = before_;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    // Stopping with Ctrl-Z would leave the other screen to the shell.
    keys.c_cc[VSUSP] = _POSIX_VDISABLE;
    changed_ = ::tcsetattr(STDIN_FILENO, TCSANOW, &keys) == 0;
  }
  print_raw_now("\x1b[?1049h\x1b[?25l");
}

FullScreen::~FullScreen() {
  print_raw_now("\x1b[?25h\x1b[?1049l");
  if (changed_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

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

namespace {

// The C library knows the widths of Unicode, but tells them only under a UTF-8 locale.
class Utf8Locale {
 public:
  Utf8Locale() : before_(::uselocale(utf8())) {}
  ~Utf8Locale() { ::uselocale(before_); }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

 private:
  // Without such a locale the present one stays, and every character counts one column.
  static locale_t utf8() {
    static const locale_t locale = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    return locale;
  }
  locale_t before_;
};

struct Glyph {
  char32_t code = 0;
  std::size_t bytes = 1;
};

Glyph glyph_at(std::string_view text, std::size_t at) {
  const std::size_t bytes = character_bytes(text, at);
  const auto byte = [&](std::size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[at + i]));
  };
  switch (bytes) {
    case 2:
      return {((byte(0) & 0x1FU) << 6U) | (byte(1) & 0x3FU), 2};
    case 3:
      return {((byte(0) & 0x0FU) << 12U) | ((byte(1) & 0x3FU) << 6U) | (byte(2) & 0x3FU), 3};
    case 4:
      return {((byte(0) & 0x07U) << 18U) | ((byte(1) & 0x3FU) << 12U) | ((byte(2) & 0x3FU) << 6U) |
                  (byte(3) & 0x3FU),
              4};
    default:
      return {byte(0), 1};
  }
}

// Under a UTF-8 locale.
std::size_t columns_of(const Glyph& glyph) {
  if (glyph.code < 0x7F) return 1;
  const int columns = ::wcwidth(static_cast<wchar_t>(glyph.code));
  return columns < 0 ? 1 : static_cast<std::size_t>(columns);
}

}  // namespace

std::size_t display_width(std::string_view text) {
  const Utf8Locale locale;
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Glyph glyph = glyph_at(text, at);
    columns += columns_of(glyph);
    at += glyph.bytes;
  }
  return columns;
}

std::string cut_to_width(std::string_view text, std::size_t columns, Ellipsis ellipsis) {
  if (display_width(text) <= columns) return std::string(text);
  if (columns == 0) return {};
  const Utf8Locale locale;
  std::size_t seen = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const Glyph glyph = glyph_at(text, at);
    if (seen + columns_of(glyph) > columns - 1) break;
    seen += columns_of(glyph);
    at += glyph.bytes;
  }
  std::string out(text.substr(0, at));
  return out += ellipsis == Ellipsis::kUnicode ? "…" : "~";
}

std::string one_line(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  std::size_t at = 0;
  while (const auto unseen = find_unseen(text, at)) {
    out += text.substr(at, unseen->at - at);
    out += ' ';
    at = unseen->at + unseen->bytes;
  }
  return out += text.substr(at);
}

namespace {

constexpr std::size_t kColorBytesMax = 64;

// The bytes of a sequence that sets colours, and nothing else, at `at`; 0: there is none.
std::size_t color_bytes(std::string_view text, std::size_t at) {
  text = text.substr(at, kColorBytesMax);
  if (!text.starts_with("\x1b[")) return 0;
  const std::size_t end = text.find_first_not_of("0123456789;:", 2);
  return end != text.npos && text[end] == 'm' ? end + 1 : 0;
}

}  // namespace

std::string for_terminal(std::string_view text) {
  constexpr std::string_view kPlain = "\x1b[0m";
  std::string out;
  out.reserve(text.size());
  std::size_t at = 0;
  bool colored = false;
  while (const auto unseen = find_unseen(text, at)) {
    out += text.substr(at, unseen->at - at);
    at = unseen->at;
    if (const std::size_t bytes = color_bytes(text, at)) {
      const std::string_view color = text.substr(at, bytes);
      colored = color != kPlain && color != "\x1b[m";
      out += color;
      at += bytes;
      continue;
    }
    at += unseen->bytes;
    if (unseen->code == '\n') {
      if (std::exchange(colored, false)) out += kPlain;
      out += '\n';
    } else if (unseen->code == '\t') {
      out += '\t';
    } else if (unseen->code != '\r' || at >= text.size() || text[at] != '\n') {
      out += unseen_text(*unseen);
    }
  }
  out += text.substr(at);
  if (colored) out += kPlain;
  return out;
}

}  // namespace vortex::cli
