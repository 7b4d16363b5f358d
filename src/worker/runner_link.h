#pragma once
// The worker's end of one runner: starts the runner's process, sends it orders, hears its words.
//
// Nothing here waits for the runner: orders queue in the socket while it starts. A runner that
// cannot be spoken to is as good as dead and is reported lost, once. On the executor's thread;
// no callback comes from inside a call.

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/generic/seq_packet_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <sys/types.h>

#include "base/time.h"
#include "model/sync.h"
#include "worker/fd.h"
#include "worker/runner_messages.h"
#include "worker/start_texts.h"

namespace vortex::worker {

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

}  // namespace vortex::worker
