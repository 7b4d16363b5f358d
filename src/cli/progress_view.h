#pragma once
// Progress as text: bars that are drawn over themselves, or lines that are only ever added.
//
//   resize  [#####---] 412/500  3 failed  eta 40s
//
// Pure: times are given in, and what is returned is written by somebody else.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "cli/color.h"
#include "cli/progress_model.h"

namespace vortex::cli {

// How fast a group ends tasks, as far as it was watched.
class Pace {
 public:
  // What there was when the watching began does not count.
  void see(Instant now, std::uint32_t ended);
  // Until `left` more have ended; unset: not known yet.
  std::optional<Duration> eta(std::uint32_t left) const;

 private:
  std::optional<Instant> first_;
  Instant last_;
  std::uint32_t at_first_ = 0;
  std::uint32_t ended_ = 0;
};

struct BarRoom {
  std::size_t name_width = 0;
  std::size_t bar_width = 0;
  std::size_t rows = 0;  // at most so many bars
};
BarRoom room_for(const std::vector<TaskGroup>& groups, std::size_t columns, std::size_t rows);

std::string bar_line(const TaskGroup& group, const Pace& pace, const BarRoom& room,
                     const Look& look);

// The groups worth a line when not all fit: first those under way, then those that ended badly,
// then what waits, in the order of the DAG.
std::vector<std::size_t> groups_to_show(const std::vector<TaskGroup>& groups, std::size_t rows);

// Append-only: a line for each group that changed, at most one per group and second.
class ProgressLines {
 public:
  // kAll: also those that changed less than a second ago, for the end.
  enum class Due : bool { kInTime, kAll };
  std::vector<std::string> take(const ProgressModel& model, Instant now, Due due = Due::kInTime);

 private:
  struct Told {
    std::uint32_t ended = 0;
    std::uint32_t failed = 0;
    bool started = false;
    Instant at;
  };
  std::vector<Told> told_;
};

}  // namespace vortex::cli
