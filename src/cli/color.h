#pragma once
// How things look: colours by meaning, and a symbol and a word beside every colour, so that colour
// is never the only carrier. Pure, but for look_at() which asks the terminal and the environment.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"
#include "cli/context.h"

namespace vortex::cli {

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

}  // namespace vortex::cli
