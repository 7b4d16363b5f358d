// The second half of a task in its slot: its output, its files, and what became of it.

#include <cerrno>
#include <chrono>
#include <csignal>
#include <expected>
#include <string>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/wiped.h"
#include "worker/slot/runner_messages.h"
#include "worker/slot/slot.h"

namespace vortex::worker {
namespace {

namespace asio = boost::asio;

// Somebody outside of the task may hold its output open: once all is gone and what was written has
// been read, the end is not waited for.
constexpr Duration kLinger = millis(50);
constexpr Duration kLingerLongest = seconds(2);
constexpr int kReadsAtEnd = 16;
// How long nobody may answer before a checkpoint is given up; a slot waits at the end.
constexpr Duration kPatience = seconds(60);
constexpr Duration kPatienceAtEnd = seconds(5);

}  // namespace

// To wait for output costs more than a short task writes, so at first nobody does: the pipe holds
// what comes, and a task that ends soon is read at its end.
void Slot::listen(Instant now) {
  if (!task_ || !unheard_ || now - task_->ordered_at < kUnheardFor) return;
  tell_start();
  attach_output();
}

void Slot::tell_start() {
  if (!task_->started || std::exchange(task_->start_told, true)) return;
  host_.tell(agent::ProcessStarted{task_->launch.attempt});
}

void Slot::attach_output() {
  boost::system::error_code fault;
  output_.assign(unheard_.get(), fault);
  if (!fault) {
    static_cast<void>(unheard_.release());
    return read_output();
  }
  host_.config.notice(LogLevel::kWarn,
                      fmt::format("cannot read the output of {}: {}",
                                  to_text(task_->launch.attempt.task), fault.message()));
  unheard_.reset();
  task_->output_open = false;
}

// True: that was all. False: somebody outside of the task holds it open, and may go on writing.
bool Slot::read_what_is_there() {
  for (int i = 0; i < kReadsAtEnd; ++i) {
    const ssize_t bytes = ::read(unheard_.get(), buffer_.data(), buffer_.size());
    if (bytes > 0) {
      ship({buffer_.data(), static_cast<std::size_t>(bytes)});
    } else if (bytes == 0 || (errno != EINTR && errno != EAGAIN)) {
      return true;
    } else if (errno == EAGAIN) {
      return false;
    }
  }
  return false;
}

// One bounded read at a time, then it is the others' turn.
void Slot::read_output() {
  output_.async_read_some(asio::buffer(buffer_),
                          [weak = weak_from_this(), number = task_->number](
                              boost::system::error_code fault, std::size_t bytes) {
                            const auto self = weak.lock();
                            if (!self || !self->task_ || self->task_->number != number) return;
                            if (!self->task_->output_open) return;
                            if (bytes > 0) {
                              self->task_->output_bytes += bytes;
                              self->ship({self->buffer_.data(), bytes});
                            }
                            if (!fault) return self->read_output();
                            self->close_output();
                          });
}

void Slot::close_output() {
  task_->output_open = false;
  boost::system::error_code ignored;
  output_.close(ignored);
  unheard_.reset();
  if (!task_->status) return;
  timer_.cancel();
  finish_files();
}

void Slot::linger() {
  timer_.expires_after(std::chrono::microseconds(kLinger.us));
  timer_.async_wait(
      [weak = weak_from_this(), number = task_->number](boost::system::error_code fault) {
        const auto self = weak.lock();
        if (fault || !self || !self->task_ || self->task_->number != number) return;
        if (!self->task_->output_open) return;
        int waiting = 0;
        ::ioctl(self->output_.native_handle(), FIONREAD, &waiting);
        const bool late = boot_clock_now() - self->task_->gone_at > kLingerLongest;
        if (waiting == 0 || late) return self->close_output();
        self->linger();
      });
}

// What a task prints leaves this process only without the values of its secrets.
void Slot::ship(std::string_view output) {
  const Attempt attempt = task_->launch.attempt;
  if (!task_->secrets) return host_.sink.write(attempt, output);
  const std::string shown = task_->secrets->mask(output);
  if (!shown.empty()) host_.sink.write(attempt, shown);
}

void Slot::close_log() {
  if (task_->secrets) {
    const std::string rest = task_->secrets->mask_rest();
    if (!rest.empty()) host_.sink.write(task_->launch.attempt, rest);
  }
  host_.sink.close(task_->launch.attempt, [weak = weak_from_this(), number = task_->number] {
    const auto self = weak.lock();
    if (self && self->task_ && self->task_->number == number) self->end();
  });
}

void Slot::look_at_files() {
  if (!task_ || !task_->started || task_->status) return;
  tell_files(SlotFiles::Moment::kRunning);
  if (!task_->launch.report_output || task_->output_told == task_->output_bytes) return;
  task_->output_told = task_->output_bytes;
  host_.tell(agent::ProcessOutput{task_->launch.attempt, task_->output_bytes});
}

void Slot::tell_files(SlotFiles::Moment moment) {
  tell_start();
  const Attempt attempt = task_->launch.attempt;
  if (auto progress = files_->new_progress()) {
    if (task_->secrets) {
      std::string shown = task_->secrets->mask_text(progress->step);
      wipe(progress->step);
      progress->step = std::move(shown);
    }
    host_.tell(agent::ProcessProgress{attempt, std::move(*progress)});
  }
  if (task_->saving) return;
  auto fresh = files_->new_checkpoint(moment);
  if (!fresh) return;
  if (fresh->file || fresh->is_no_file) return save(std::move(*fresh));
  if (task_->secrets && task_->secrets->are_in(fresh->data)) {
    wipe(fresh->data);
    if (std::exchange(task_->told_of_secret, true)) return;
    return say_in_log("the checkpoint was rejected: it contains the value of a secret");
  }
  host_.tell(agent::ProcessCheckpoint{attempt, std::move(fresh->data)});
}

// Into what the task itself wrote, where whoever looks for it will see it.
void Slot::say_in_log(std::string_view text) {
  const Attempt attempt = task_->launch.attempt;
  host_.config.notice(LogLevel::kWarn, fmt::format("{}: {}", to_text(attempt.task), text));
  ship(fmt::format("[vortex] {}\n", text));
}

void Slot::save(SlotFiles::NewCheckpoint checkpoint) {
  SlotTask& task = *task_;
  const bool completed = task.status && *task.status == 0 && task.ended_by == EndedBy::kItself;
  if ((completed && checkpoint.file) || !host_.config.save) return;
  if (task.refused_bytes > 0 && checkpoint.bytes >= task.refused_bytes) return;
  task.saving = true;
  CheckpointCarrier::Upload upload;
  upload.attempt = task.launch.attempt;
  upload.file = std::move(checkpoint.file);
  upload.bytes = checkpoint.bytes;
  if (checkpoint.is_no_file) upload.reason = "it is not a regular file";
  upload.patience = task.status ? kPatienceAtEnd : kPatience;
  const auto here = [weak = weak_from_this(), number = task.number]() -> std::shared_ptr<Slot> {
    auto self = weak.lock();
    const bool same = self && self->task_ && self->task_->number == number;
    return same ? self : nullptr;
  };
  upload.is_same = [here] {
    const auto self = here();
    return self && self->files_->checkpoint_is_same();
  };
  upload.done = [here, bytes = checkpoint.bytes](const Saved& saved) {
    const auto self = here();
    if (!self) return;
    if (saved.how == Saved::How::kRefused && bytes > 0) self->task_->refused_bytes = bytes;
    self->on_saved(saved);
  };
  host_.config.save(std::move(upload));
}

void Slot::on_saved(const Saved& saved) {
  task_->saving = false;
  switch (saved.how) {
    case Saved::How::kKept:
      break;
    case Saved::How::kChanged:
      files_->checkpoint_again();
      break;
    case Saved::How::kRefused:
    case Saved::How::kFailed:
      say_in_log(fmt::format("the checkpoint was rejected: {}", saved.why));
      break;
  }
  if (task_->end_waits) finish_files();
}

// All processes are gone and the output was read. What the task saved last is on its way before its
// end is told.
void Slot::finish_files() {
  if (!task_->saving && !files_->is_untouched()) tell_files(SlotFiles::Moment::kEnd);
  task_->end_waits = task_->saving;
  if (!task_->end_waits) close_log();
}

void Slot::end() {
  task_->wrote_files = !files_->is_untouched();
  agent::Input word = result_of(*task_);
  tell_start();
  if (task_->wrote_files) files_->clean_up();
  end_secrets();
  task_.reset();
  host_.ended(*this, std::move(word));
}

// The runner is part of the worker: that it was killed is not the task's failure. But a task that
// kills its runners must not go round for ever.
agent::Input Slot::result_of_loss(Attempt attempt) {
  if (!host_.suspects(attempt.task)) {
    return agent::ProcessExited{attempt, agent::Killed{agent::Killed::By::kRunnerLoss}};
  }
  return agent::ProcessExited{attempt,
                              Failed{Failed::Cause::kSignal, SIGKILL,
                                     "its runner was killed together with the task: signal 9 "
                                     "(KILL); this has happened every time the task ran here"}};
}

agent::Input Slot::result_of(SlotTask& task) {
  const Attempt attempt = task.launch.attempt;
  const int status = *task.status;
  if (task.ended_by == EndedBy::kOrder || (task.runner_lost && task.kill_asked)) {
    return agent::ProcessExited{attempt, agent::Killed{}};
  }
  if (task.ended_by == EndedBy::kFence) {
    return agent::ProcessExited{attempt, agent::Killed{agent::Killed::By::kFence}};
  }
  if (task.runner_lost) return result_of_loss(attempt);
  if (status != 0) {
    const std::int64_t limit = task.launch.resources.memory_bytes;
    const bool starved = limit > 0 && group_.out_of_memory_count() > task.out_of_memory_before;
    return agent::ProcessExited{attempt,
                                starved ? out_of_memory(status, limit) : failure_of(status)};
  }
  std::expected<std::string, SlotFiles::OutputsFault> outputs;
  if (task.wrote_files) outputs = files_->outputs();
  if (!outputs && outputs.error().whose == SlotFiles::Whose::kWorker) {
    host_.config.notice(LogLevel::kWarn,
                        fmt::format("{}: {}", to_text(attempt.task), outputs.error().text));
    return agent::ProcessExited{attempt, agent::Killed{agent::Killed::By::kWorkerFault}};
  }
  if (outputs && task.secrets && task.secrets->are_in(*outputs)) {
    wipe(*outputs);
    return agent::ProcessExited{
        attempt,
        Failed{Failed::Cause::kExitCode, 0,
               "its outputs contain the value of a secret; outputs are stored and shown, so write "
               "something else to $VORTEX_OUTPUTS"}};
  }
  if (!outputs) {
    std::string text = std::move(outputs.error().text);
    if (task.secrets) text = task.secrets->mask_text(text);
    return agent::ProcessExited{attempt, Failed{Failed::Cause::kExitCode, 0, std::move(text)}};
  }
  if (auto complaint = complain_of_missing(*outputs, task.launch.outputs)) {
    if (!files_->is_in_place()) *complaint += ": the directory was removed or replaced";
    return agent::ProcessExited{attempt,
                                Failed{Failed::Cause::kExitCode, 0, *std::move(complaint)}};
  }
  return agent::ProcessExited{attempt, Completed{std::move(*outputs)}};
}

}  // namespace vortex::worker
