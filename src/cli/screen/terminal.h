#pragma once
// What is known about the terminal behind a file descriptor, and a full screen that is given back.
//
// Asked when needed, never cached: windows change their size. Only FullScreen changes anything.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <termios.h>

#include "base/time.h"
#include "cli/context.h"

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

// How things look: colours by meaning, and a symbol and a word beside every colour, so that colour
// is never the only carrier. Pure, but for look_at() which asks the terminal and the environment.

enum class Tone : std::uint8_t { kPlain, kGood, kBad, kWarn, kBusy, kDim, kStrong };

// What the reader can see, and what "now" is when times are shown.
struct Look {
  bool color = false;
  bool symbols = false;  // before states; only for people
  bool utf8 = false;
  std::size_t width = 0;  // 0: nothing is shortened
  Instant now;
};

// For what is written to stdout (1) or stderr (2).
Look look_at(const Context& context, int fd);

std::string paint(std::string_view text, Tone tone, const Look& look);

Tone tone_of_state(std::string_view state);
// "✓ Completed", "+ Completed" or "Completed".
std::string state_text(std::string_view state, const Look& look);

// How many columns a text takes on a terminal, and cutting it to so many.
//
// UTF-8 with wide and combining characters; what is not UTF-8 counts one column a byte. Any thread.

std::size_t display_width(std::string_view text);
// At most `columns` wide; what was cut is shown by an ellipsis ("…", or "~" in ASCII).
enum class Ellipsis : bool { kAscii, kUnicode };
std::string cut_to_width(std::string_view text, std::size_t columns, Ellipsis ellipsis);
// Text of others, safe in one line of a terminal: control characters become spaces, and marks of
// writing direction too.
std::string one_line(std::string_view text);
// Whole output as a terminal may have it: line ends, tabs and colours stay, everything else that
// would be obeyed or would reorder the text is shown instead (unseen.h). A colour ends with its
// line.
std::string for_terminal(std::string_view text);

}  // namespace vortex::cli
