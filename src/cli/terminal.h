#pragma once
// What is known about the terminal behind a file descriptor, and a full screen that is given back.
//
// Asked when needed, never cached: windows change their size. Only FullScreen changes anything.

#include <cstddef>

#include <termios.h>

namespace vortex::cli {

struct ScreenSize {
  std::size_t columns = 80;
  std::size_t rows = 24;
};

bool is_terminal(int fd);
ScreenSize screen_size(int fd);
// Whether the environment says that UTF-8 is understood.
bool speaks_utf8();

// The other screen, keys without Enter, no cursor. Everything is as before once it is destroyed;
// whoever holds it turns signals into an ordinary return.
class FullScreen {
 public:
  FullScreen();
  ~FullScreen();
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;

 private:
  termios before_{};
  bool changed_ = false;
};

}  // namespace vortex::cli
