#pragma once
// Where progress is shown: bars drawn over themselves on a terminal, added lines elsewhere.
//
// Redrawn at most ten times a second by whoever owns it. Writes to stderr only. A note (a lost
// connection, for example) stands above the bars and stays.

#include <string>
#include <vector>

#include "cli/color.h"
#include "cli/progress_model.h"
#include "cli/progress_view.h"

namespace vortex::cli {

class ProgressScreen {
 public:
  enum class Kind : std::uint8_t { kBars, kLines, kNone };
  ProgressScreen(Kind kind, Look look) : kind_(kind), look_(look) {}
  static ProgressScreen for_context(const Context& context);

  void draw(const ProgressModel& model, Instant now);
  void note(const std::string& text);
  // The last picture, which stays.
  void finish(const ProgressModel& model, Instant now);
  const Look& look() const { return look_; }

 private:
  std::string bars(const ProgressModel& model, Instant now);
  void clear();

  Kind kind_;
  Look look_;
  std::size_t drawn_ = 0;  // lines that stand on the screen
  std::vector<Pace> paces_;
  ProgressLines lines_;
};

}  // namespace vortex::cli
