#pragma once
// How far a run is, and how it is shown: counted by group of tasks, drawn as bars over themselves
// on a terminal or as lines that are only ever added.
//
//   resize  [#####---] 412/500  3 failed  eta 40s
//
// Counting and drawing are pure, times are given in; only ProgressScreen writes, to stderr.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "base/time.h"
#include "cli/screen/terminal.h"
#include "model/plan.h"
#include "model/states.h"

namespace vortex::cli {

// How far a run is, by group of tasks: one group per node of its DAG.
//
// Fed with states as they were read and with events as they come; both may overlap, because an
// event says where a task is now and not how far it moved. Pure; knows nothing of screens or time.

struct TaskGroup {
  std::string name;
  std::uint32_t total = 0;
  std::array<std::uint32_t, kTaskStates> by_state{};
  std::string child = {};  // of sub-DAGs: the run that was started last

  std::uint32_t in(TaskState state) const { return by_state[number_of(state)]; }
  std::uint32_t ended() const;
  std::uint32_t held() const;
  bool started() const { return held() > 0 || ended() > 0 || !child.empty(); }
};

std::optional<TaskState> task_state_from(std::string_view text);

class ProgressModel {
 public:
  // All tasks wait. With `kWhole` there is one group for everything: too many tasks to know each.
  enum class Detail : std::uint8_t { kByNode, kWhole };
  ProgressModel(PlanPtr plan, Detail detail);

  // A map was made at run time: the same plan, laid out further. What is known of tasks stays.
  void grow(PlanPtr plan);
  void set(std::uint32_t index, TaskState state);
  // One event of this run.
  void apply(const boost::json::object& event);
  // The member `counts` of a run: the truth for a model with one group.
  void set_counts(const boost::json::object& counts);

  const std::vector<TaskGroup>& groups() const { return groups_; }
  TaskGroup total() const;
  const DagPlan& plan() const { return *plan_; }
  Detail detail() const { return detail_; }

 private:
  PlanPtr plan_;
  Detail detail_;
  std::vector<TaskGroup> groups_;
  std::vector<TaskState> states_;  // by index of the task; empty with one group
};

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

// Where progress is shown: bars drawn over themselves on a terminal, added lines elsewhere.
//
// Redrawn at most ten times a second by whoever owns it. Writes to stderr only. A note (a lost
// connection, for example) stands above the bars and stays.

class ProgressScreen {
 public:
  enum class Kind : std::uint8_t { kBars, kLines, kNone };
  ProgressScreen(Kind kind, Look look) : kind_(kind), look_(look) {}
  static ProgressScreen for_context(const Context& context);

  void draw(const ProgressModel& model, Instant now);
  // Lines under the bars, from the next picture on; elsewhere they are not shown.
  void set_life(std::vector<std::string> lines) { life_ = std::move(lines); }
  bool shows_life() const { return kind_ == Kind::kBars; }
  void note(const std::string& text);
  // The last picture, which stays.
  void finish(const ProgressModel& model, Instant now);
  const Look& look() const { return look_; }

 private:
  std::string bars(const ProgressModel& model, Instant now);
  std::string life(const ScreenSize& size);
  void clear();

  Kind kind_;
  Look look_;
  std::size_t drawn_ = 0;  // lines that stand on the screen
  std::vector<Pace> paces_;
  std::vector<std::string> life_;
  ProgressLines lines_;
};

}  // namespace vortex::cli
