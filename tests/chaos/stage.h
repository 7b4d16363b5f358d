#pragma once
// A stage for faults with real processes: a controller in this process,
// recorded for the history checkers, and supervisors with their workers as
// processes of their own.
//
// Tasks on it write a line to a file when they start (which epoch, which
// process, which worker, and whether the process of an earlier attempt was
// still alive), so that what really ran is known from the tasks themselves.
// Everything is ended by its process id when the stage goes.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/settings.h"
#include "cli/local/drill.h"
#include "cli/local/folder.h"
#include "cli/local/process.h"
#include "controller/controller.h"
#include "store/reader.h"
#include "tests/chaos/recording_store.h"

namespace vortex::chaos {

using cli::drill::TaskStart;

struct StageConfig {
  std::string program;
  std::uint32_t supervisors = 1;
  std::uint32_t workers = 2;  // of each supervisor
  std::uint32_t slots = 2;
  std::vector<std::string> settings{"--tuning=testing"};
};

class Stage {
 public:
  // Ends the program with a message when it cannot be set up: there is nothing
  // to test then.
  explicit Stage(StageConfig config);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  // `body` runs in `sh -euc` after the line was written; $GO is a folder tests
  // can put files in.
  static NodeSpec task(const std::string& name, const std::string& body);
  RunId submit(DagSpec dag);
  // The run's end; unset: it has not ended in time.
  std::optional<store::RunView> wait_for_end(RunId run, Duration limit);
  std::optional<store::RunView> view(RunId run);
  std::vector<store::TaskView> tasks(RunId run);
  std::vector<AttemptRow> attempts(TaskId task);
  store::Reader& reader() { return *reader_; }

  std::vector<TaskStart> starts(RunId run, std::uint32_t index) const;
  std::optional<TaskStart> wait_for_start(RunId run, std::uint32_t index, std::uint64_t epoch,
                                          Duration limit) const;
  // Of all tasks: processes that started while an earlier one of the same task
  // was alive.
  std::uint32_t overlaps() const;
  void let_go(const std::string& name);  // makes $GO/name

  std::vector<pid_t> worker_pids() const;
  std::vector<pid_t> worker_pids(std::size_t supervisor) const;
  cli::local::Process& supervisor(std::size_t index) { return *supervisors_[index]; }
  void start_supervisor(std::size_t index);
  std::uint64_t count_events(const std::string& name);
  std::string url() const { return controller_->url(); }
  bool wait_until(const std::function<bool()>& holds, Duration limit) const;

  History& history() { return *history_; }
  // Stops workers and controller, then judges the history.
  std::vector<std::string> finish();

 private:
  void start_controller();

  StageConfig config_;
  cli::local::TempFolder folder_;
  Settings settings_;
  std::unique_ptr<History> history_;
  std::unique_ptr<controller::Controller> controller_;
  store::Store* store_ = nullptr;
  std::unique_ptr<store::Reader> reader_;
  std::vector<std::unique_ptr<cli::local::Process>> supervisors_;
};

[[noreturn]] void give_up(const std::string& why);

}  // namespace vortex::chaos
