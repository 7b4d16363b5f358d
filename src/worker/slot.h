#pragma once
// One slot of a worker: its runner, its files, its groups, and the task that is in it now.
//
//   idle -> starting -> running -> ending (all gone, output being read and shipped) -> idle
//             |                \-> adopting (runner lost: what it left is being killed) -> ending
//             \-> idle (could not start)
//
// A runner that is stopped is continued; one that does not do as it was asked is killed, which is
// a loss like any other. Each task ends with exactly one call of `ended`, when the slot is idle
// again. Executor's thread.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include "worker/executor.h"
#include "worker/fd.h"
#include "worker/limits.h"
#include "worker/runner_link.h"
#include "worker/slot_files.h"
#include "worker/slot_record.h"

namespace vortex::worker {

// What the slots of one executor share.
struct SlotHost {
  boost::asio::io_context& io;
  ExecutorConfig config;
  LogSink& sink;
  Executor::Tell tell;
  std::function<void(Slot&, agent::Input)> ended;
  std::function<std::vector<pid_t>()> runner_pids;
  CgroupRoots roots;
  SlotRecord record;
  std::vector<std::string> environment;
  bool told_of_limits = false;
  std::string told_fault = {};
  std::map<TaskId, std::uint32_t> runner_losses = {};  // of tasks that lost theirs here
  std::optional<boost::asio::thread_pool> janitor;     // removes folders; made when it is needed

  void remove_folder(std::string folder);
  void notice_limits(const std::string& text);
  void notice_fault(const std::string& text);  // of this worker; the same one only once in a row
  // A runner was lost under this task. True: so often that the task must have had a hand in it.
  bool suspects(TaskId task);
};

// The task that is in a slot now.
struct SlotTask {
  Launch launch;
  std::uint64_t number = 0;
  Instant ordered_at;
  bool started = false;
  bool start_told = false;
  bool kill_asked = false;
  std::uint64_t out_of_memory_before = 0;
  std::optional<int> status;  // set: all its processes are gone
  EndedBy ended_by = EndedBy::kItself;
  bool runner_lost = false;
  bool output_open = false;
  bool wrote_files = false;  // known at its end
  std::uint64_t output_bytes = 0;
  std::uint64_t output_told = 0;
  bool saving = false;              // a checkpoint is on its way
  bool end_waits = false;           // for that
  std::uint64_t refused_bytes = 0;  // a checkpoint of this size was not taken; 0: none was refused
  Instant gone_at;
  Instant kill_by = kNever;  // the runner has had all the time it needs
};

class Slot : public std::enable_shared_from_this<Slot> {
 public:
  Slot(SlotHost& host, std::uint32_t number);

  void start(Launch launch);
  void kill(Duration grace);
  // Somebody has stopped its runner: continues it.
  void set_fence_grace(Duration wanted);
  void wake_runner();
  // Tells what is new in the files of the task.
  void look_at_files();
  // Tells its start and ships output from now on, if the task has been in the slot for a moment.
  void listen(Instant now);
  bool is_listening() const { return !task_ || !unheard_; }

  pid_t runner_pid() const { return link_ ? link_->pid() : -1; }
  // The end of the executor: the runner kills its task and ends.
  void hang_up();
  // Precondition: hang_up(), and its processes are gone.
  void remove_group() { group_.remove(); }

 private:
  using Whose = agent::ProcessCouldNotStart::Fault;
  struct Fault {
    int code = 0;
    std::string text;
    Whose whose = Whose::kWorker;
  };

  std::optional<Fault> begin();
  std::optional<Fault> begin_runner();
  std::optional<Fault> open_output(int& write_end);
  void could_not_start(Fault fault);
  void not_started_in_time();

  void on_word(Word word);
  void on_lost();
  void watch_kill(Duration wait);
  void give_up_runner();
  void kill_adopted();
  void all_gone();

  void attach_output();
  void read_output();
  bool read_what_is_there();
  void close_output();
  void linger();
  void finish_files();
  void save(SlotFiles::NewCheckpoint checkpoint);
  void on_saved(const Saved& saved);
  void say_in_log(std::string_view text);
  void close_log();
  void end();
  void tell_start();
  void tell_files(SlotFiles::Moment moment);
  agent::Input result_of(SlotTask& task);
  agent::Input result_of_loss(Attempt attempt);

  SlotHost& host_;
  std::uint32_t number_;
  Duration fence_grace_;  // what the runner was given
  SlotGroup group_;
  std::optional<SlotFiles> files_;
  std::shared_ptr<RunnerLink> link_;
  std::uint64_t tasks_ = 0;
  std::optional<SlotTask> task_;
  StartTexts texts_;
  Fd unheard_;  // its output, while nobody waits for it
  boost::asio::posix::stream_descriptor output_;
  boost::asio::steady_timer timer_;
  std::vector<char> buffer_;
};

}  // namespace vortex::worker
