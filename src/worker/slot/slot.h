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

#include <atomic>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/generic/seq_packet_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <sys/types.h>

#include "base/time.h"
#include "model/sync.h"
#include "worker/cgroup.h"
#include "worker/executor.h"
#include "worker/files.h"
#include "worker/slot/launch.h"
#include "worker/slot/runner_messages.h"
#include "worker/slot/slot_files.h"
#include "worker/slot/slot_record.h"
#include "worker/slot/slot_secrets.h"

namespace vortex::worker {

// The worker's end of one runner: starts the runner's process, sends it orders, hears its words.
//
// Nothing here waits for the runner: orders queue in the socket while it starts. A runner that
// cannot be spoken to is as good as dead and is reported lost, once. On the executor's thread;
// no callback comes from inside a call.

class RunnerLink : public std::enable_shared_from_this<RunnerLink> {
 public:
  struct Callbacks {
    std::function<void(Word)> on_word;
    std::function<void()> on_lost;
  };
  // `command` starts a runner that finds its socket as descriptor kRunnerControl. The error is an
  // errno.
  static std::expected<std::shared_ptr<RunnerLink>, int> start(
      boost::asio::io_context& io, const std::vector<std::string>& command, Callbacks callbacks);
  ~RunnerLink();
  RunnerLink(const RunnerLink&) = delete;
  RunnerLink& operator=(const RunnerLink&) = delete;

  pid_t pid() const { return pid_; }
  // Makes it enter these groups before it starts anything.
  void join(std::span<const Fd> entrances);
  // Its tasks have this folder as their root.
  void set_root(int folder);
  // Its tasks are held like this.
  void confine(const Confinement& confinement);
  // The user and limits of its tasks from here on. Precondition: it was confined, and has no task.
  void set_rights(const ConfineOrder& order);
  // Its tasks note themselves in this record, as those of this slot.
  void set_record(int file, std::uint32_t slot);
  // Its tasks are killed with this grace when the fence is passed.
  void set_fence(int fence, Duration grace);
  void start_task(Attempt attempt, const StartTexts& texts, int output);
  void kill_task(Duration grace);

  // No word is heard after this. The runner kills what it has and ends by itself.
  void hang_up();
  // Ends the runner at once and waits for it; what it had started becomes our child.
  void kill_now();

 private:
  RunnerLink(boost::asio::io_context& io, Callbacks callbacks);
  void listen();
  void send(const Order& order, std::string_view payload, std::span<const int> fds);
  void lost();
  void reap(int options);

  boost::asio::generic::seq_packet_protocol::socket socket_;
  boost::asio::socket_base::message_flags flags_ = 0;
  Callbacks callbacks_;
  Word word_;
  pid_t pid_ = -1;
  bool open_ = true;
};

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
  std::weak_ptr<SlotHost> self = {};
  WorkFolder home = {};                                  // where the files of tasks are
  WorkFolder secret_home = {};                           // the same for those of their secrets
  std::optional<boost::asio::thread_pool> janitor = {};  // removes folders; made when it is needed
  std::atomic<bool> closing = false;                     // what is left is removed by others

  void remove(Fd parent, std::string name);
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
  std::optional<SlotSecrets> secrets = {};
  bool told_of_secret = false;  // that a checkpoint was not taken because of one
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
  std::optional<Fault> begin_process();
  std::optional<Fault> choose_user();
  std::optional<Fault> prepare_secrets();
  void wipe_secrets(std::size_t variables);
  void end_secrets();
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
  void ship(std::string_view output);
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
  std::string rights_of_;         // whose the runner gives to tasks; empty: those of all tasks
  std::optional<TaskUser> user_;  // the same; unset: the worker's
  std::uint64_t tasks_ = 0;
  std::optional<SlotTask> task_;
  StartTexts texts_;
  Fd unheard_;  // its output, while nobody waits for it
  boost::asio::posix::stream_descriptor output_;
  boost::asio::steady_timer timer_;
  std::vector<char> buffer_;
};

}  // namespace vortex::worker
