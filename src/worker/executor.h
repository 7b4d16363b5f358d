#pragma once
// Runs the tasks of a worker: starts their processes, drains their output, reads their files, kills
// them, and says what became of each.
//
// A task is over only when every process of it is gone, its output was read to its end and the sink
// has let go of it: then, and not before, ProcessExited is told and its slot is free. Never more
// tasks at once than slots (the caller's promise). A runner that is killed costs its attempt, not
// the worker and not the task's retries. Everything, callbacks too, is on the thread that runs the
// io_context; nothing is told from inside start() or kill(). The worker process becomes a child
// subreaper, and children it did not start as runners are taken for what a dead runner left behind:
// nobody else may have any.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "agent/messages.h"
#include "base/time.h"
#include "model/dag.h"
#include "model/sync.h"
#include "worker/cgroup.h"
#include "worker/checkpoints.h"
#include "worker/log_shipper.h"
#include "worker/options.h"
#include "worker/slot/confinement.h"

namespace vortex::worker {

struct Launch {
  Attempt attempt;
  std::vector<std::string> argv;                         // with the shell in front, if there is one
  std::vector<std::pair<std::string, std::string>> env;  // on top of the worker's; later ones win
  std::string workdir;                                   // empty: the worker's
  Resources resources;
  std::string checkpoint;       // of an earlier attempt
  std::string checkpoint_file;  // instead: a file that becomes it
  Duration kill_grace;          // shorter than the worker's own: counts instead; zero: the worker's
  bool report_output = false;   // how much it writes is told, as a sign of life
  std::vector<std::string> outputs;  // names it must write, or it has failed
  SecretsPtr secrets = nullptr;      // wiped when it was started; null: none
  std::string user = {};             // whom the task chose; empty: as all tasks
  std::string inputs = {};           // of $VORTEX_INPUTS; empty: none
};

// The output of a task is waited for only after it has run this long.
constexpr Duration kUnheardFor = millis(5);

struct ExecutorConfig {
  std::uint32_t slots = 1;
  std::string work_dir;  // this worker's own: a folder for each slot is made in it
  // Starts a runner (runner.h), which finds its socket as descriptor 3.
  std::vector<std::string> runner = {"/proc/self/exe", "task-runner"};
  Duration kill_grace = seconds(10);  // from TERM to KILL
  Duration look_every = millis(500);  // at the files of running tasks
  // What a report carries; a larger checkpoint is saved beside the reports.
  std::size_t checkpoint_bytes_max = 64 * 1024;
  std::size_t outputs_bytes_max = 256 * 1024;
  std::function<void(CheckpointCarrier::Upload)> save;  // null: none is
  Containment containment = Containment::kAuto;
  GroupName group;                       // of this worker's control groups
  std::uint32_t processes_max = 4096;    // of one task, where it can be limited; 0: no limit
  std::string record_path;               // see slot_record.h; empty: none is kept
  std::vector<std::string> environment;  // NAME=value, of every task; empty: the worker's own
  Confinement confinement = {};          // of every task
  int root = -1;   // descriptor of the folder that tasks have as their root; -1: the worker's
  int fence = -1;  // of runner_messages.h, moved on by the caller; -1: tasks run without one
  OwnLog notice = [](LogLevel, const std::string&) {};
};

class Slot;
struct SlotHost;

class Executor {
 public:
  using Tell = std::function<void(agent::Input)>;
  Executor(boost::asio::io_context& io, ExecutorConfig config, LogSink& sink, Tell tell);
  // Kills everything at once and waits for it; nothing is told.
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Precondition: fewer than `slots` run, and this attempt is not one of them.
  void start(Launch launch);
  // TERM, grace, KILL. Does nothing for an attempt that does not run.
  void kill(Attempt attempt);
  // KILL for all, without a grace. Each still ends with its ProcessExited.
  void kill_everything_now();
  std::size_t running() const { return busy_.size(); }
  // The processes of the runners, one for each slot that was ever used.
  std::vector<pid_t> runner_pids() const;

 private:
  void remove_files_of_before();
  void look_at_files();
  void wake_runners();
  void listen_soon();
  void ended(Slot& slot, agent::Input word);

  std::shared_ptr<SlotHost> host_;
  std::vector<std::shared_ptr<Slot>> slots_;
  std::vector<Slot*> free_;  // the one used last is used next: its runner is there
  std::map<Attempt, Slot*> busy_;
  boost::asio::steady_timer look_;
  boost::asio::steady_timer ear_;
  bool looking_ = false;
  bool listening_soon_ = false;
};

}  // namespace vortex::worker
