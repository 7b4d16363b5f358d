#include "sim/switchboard.h"

#include <utility>

namespace vortex::sim {

LinePtr Switchboard::call(Request request, std::function<void(const CallResult&)> done) {
  ++calls_[request.command.index()];
  auto line = std::make_shared<Line>();
  line->id = next_line_++;
  line->caller = request.from;
  line->callee = {request.controller};
  line->controller = request.controller;
  line->done = std::move(done);
  auto command = std::make_shared<const core::Command>(std::move(request.command));
  network_.send_request(request.from, line->callee, [this, line, command] {
    Callee& callee = *controllers_[line->controller];
    if (!callee.listens()) return drop(line);
    callee.receive(line, *command);
    // The caller was gone before its request came: the end of the line comes right behind it.
    if (line->closed && !line->answered) callee.line_closed(line);
  });
  agenda_.after(request.limit, [this, line] { break_line(line); });
  return line;
}

void Switchboard::hang_up(const LinePtr& line) {
  if (line->closed) return;
  line->closed = true;
  line->done = nullptr;
  tell_closed(line);
}

void Switchboard::break_line(const LinePtr& line) {
  if (line->closed) return;
  settle(line, NoAnswer{});
  tell_closed(line);
}

void Switchboard::answer(const LinePtr& line, CallResult result) {
  line->answered = true;
  network_.send(line->callee, line->caller,
                [this, line, result = std::move(result)] { settle(line, result); });
}

void Switchboard::drop(const LinePtr& line) {
  network_.send(line->callee, line->caller, [this, line] { settle(line, NoAnswer{}); });
}

void Switchboard::settle(const LinePtr& line, const CallResult& result) {
  if (line->closed) return;
  line->closed = true;
  const auto done = std::exchange(line->done, nullptr);
  done(result);
}

void Switchboard::tell_closed(const LinePtr& line) {
  const auto tell = [this, line] {
    Callee& callee = *controllers_[line->controller];
    if (callee.listens()) callee.line_closed(line);
  };
  if (network_.is_open(line->caller, line->callee)) {
    agenda_.after(network_.draw_delay(), tell);
  } else {
    agenda_.after(keep_alive_, tell);
  }
}

}  // namespace vortex::sim
