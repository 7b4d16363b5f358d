#pragma once
// Calls to controllers: a request goes there, at most one answer comes back, and the line between
// the two can break.
//
// What the caller learns is an answer or that there is none; then it does not know whether the call
// had an effect. What the controller learns is that the line closed: soon when the caller hung up
// and the way is open, only by keep-alive when it is not.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "core/command.h"
#include "core/effects.h"
#include "sim/agenda.h"
#include "sim/network.h"

namespace vortex::sim {

struct NoAnswer {};
struct NotLeader {  // nothing was done
  std::optional<std::uint32_t> leader;
};
using CallResult = std::variant<NoAnswer, NotLeader, core::ReplyBody>;

struct Line {
  std::uint64_t id = 0;  // in the order of the calls
  HostId caller;
  HostId callee;
  std::uint32_t controller = 0;
  bool closed = false;  // the caller has its result or does not want one any more
  bool answered = false;
  std::function<void(const CallResult&)> done;
};
using LinePtr = std::shared_ptr<Line>;

// The controller's end of the switchboard.
class Callee {
 public:
  Callee() = default;
  virtual ~Callee() = default;
  Callee(const Callee&) = delete;
  Callee& operator=(const Callee&) = delete;
  virtual bool listens() const = 0;  // false: connections are refused
  virtual void receive(const LinePtr& line, const core::Command& command) = 0;
  virtual void line_closed(const LinePtr& line) = 0;
};

class Switchboard {
 public:
  Switchboard(Agenda& agenda, Network& network, Duration keep_alive)
      : agenda_(agenda), network_(network), keep_alive_(keep_alive) {}

  void add_controller(Callee* callee) { controllers_.push_back(callee); }
  // Calls so far, by alternative of the command.
  const std::array<std::uint64_t, std::variant_size_v<core::Command>>& calls() const {
    return calls_;
  }
  std::uint32_t controllers() const { return static_cast<std::uint32_t>(controllers_.size()); }

  struct Request {
    HostId from;
    std::uint32_t controller = 0;
    core::Command command;
    Duration limit;
  };
  // `done` comes at most once: with an answer, or with NoAnswer at the limit at the latest.
  LinePtr call(Request request, std::function<void(const CallResult&)> done);
  // The caller is gone or wants no answer any more.
  void hang_up(const LinePtr& line);
  // Something in between resets the connection: both ends see it close.
  void break_line(const LinePtr& line);

  // The controller answers, or drops the line without a word.
  void answer(const LinePtr& line, CallResult result);
  void drop(const LinePtr& line);

 private:
  void settle(const LinePtr& line, const CallResult& result);
  void tell_closed(const LinePtr& line);

  Agenda& agenda_;
  Network& network_;
  Duration keep_alive_;
  std::uint64_t next_line_ = 1;
  std::vector<Callee*> controllers_;
  std::array<std::uint64_t, std::variant_size_v<core::Command>> calls_{};
};

}  // namespace vortex::sim
