#include "cli/terminal.h"

#include <cstdlib>
#include <string>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

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
  print_now("\x1b[?1049h\x1b[?25l");
}

FullScreen::~FullScreen() {
  print_now("\x1b[?25h\x1b[?1049l");
  if (changed_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

}  // namespace vortex::cli
