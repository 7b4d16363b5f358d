#include <utility>

#include <fmt/format.h>

#include "base/hash.h"
#include "sim/worker_host.h"

namespace vortex::sim {

void WorkerHost::write_journal(EventKind kind, Incarnation incarnation) {
  if (!scene_.setup.journals) return;
  journal_.push_back({++written_, kind, id(), incarnation, {}, session_of(incarnation)});
  if (std::exchange(telling_, true)) return;
  tell_journal(static_cast<std::uint32_t>(words_rng_.below(scene_.setup.controllers)));
}

// All that was not taken yet, again and again: what comes twice counts once.
void WorkerHost::tell_journal(std::uint32_t controller) {
  const core::TellLifecycle command{
      {}, setup_.info.machine.text + "/" + id().text, fmt::format("j{}", journals_), journal_};
  const auto done = supervisor_.life();
  const auto told = [this, command, controller, done](const CallResult& result) {
    supervisor_.run_in(done, [this, command, controller, result] {
      auto next = static_cast<std::uint32_t>((controller + 1) % scene_.setup.controllers);
      if (const auto* body = std::get_if<core::ReplyBody>(&result)) {
        scene_.recorder.fact(ClientTold{command, *body});
        const std::uint64_t last = command.entries.back().number;
        std::erase_if(journal_, [last](const auto& entry) { return entry.number <= last; });
        next = controller;
      }
      if (const auto* hint = std::get_if<NotLeader>(&result); hint && hint->leader) {
        next = *hint->leader;
      }
      telling_ = !journal_.empty();
      if (!telling_) return;
      const Duration beat = scene_.setup.timings.policy.heartbeat_interval;
      const Duration wait = words_rng_.between(millis(10), beat);
      scene_.agenda.after(wait, supervisor_.mine([this, next] { tell_journal(next); }));
    });
  };
  const Duration limit = scene_.setup.timings.policy.heartbeat_interval;
  scene_.board.call({host_, controller, command, limit}, told);
}

// What has no value has none in every answer that would carry it.
bool WorkerHost::is_unresolved(const Attempt& attempt) const {
  Hasher hash;
  hash.add(scene_.setup.seed);
  hash.add(attempt.task.run.value);
  hash.add(attempt.task.index);
  hash.add(attempt.epoch.value);
  return Rng(hash.value() + 1).chance(scene_.setup.unsent_permille);
}

// Plays the part of the controller that writes answers: some assignment has no value for one of its
// expressions, or the answer was full. The answer goes on only when that was heard.
void WorkerHost::answered(const Exchange& exchange, const CallResult& result) {
  const auto* body = std::get_if<core::ReplyBody>(&result);
  const auto* reply = body != nullptr ? std::get_if<SyncReply>(body) : nullptr;
  const std::uint32_t permille = scene_.setup.unsent_permille;
  if (reply == nullptr || permille == 0) return take_answer(exchange, result);
  core::Unsent command;
  command.worker = id();
  command.mark = reply->mark;
  SyncReply rest = *reply;
  for (const Assignment& assignment : reply->assignments) {
    if (is_unresolved(assignment.attempt)) {
      command.unresolved.push_back({assignment.attempt, "no value"});
    } else if (words_rng_.chance(permille)) {
      command.left_out.push_back(assignment.attempt);
    } else {
      continue;
    }
    std::erase_if(rest.assignments,
                  [&](const Assignment& a) { return a.attempt == assignment.attempt; });
  }
  if (rest.assignments.size() == reply->assignments.size()) return take_answer(exchange, result);
  say_unsent(exchange, {std::move(command), std::move(rest)});
}

void WorkerHost::say_unsent(const Exchange& exchange, std::pair<core::Unsent, SyncReply> words) {
  const auto done = [this, exchange, reply = std::move(words.second),
                     life = process_.life()](const CallResult& result) {
    process_.run_in(life, [this, exchange, reply, result] {
      const bool heard = std::holds_alternative<core::ReplyBody>(result);
      if (heard) return take_answer(exchange, core::ReplyBody{reply});
      feed(agent::CallFailed{exchange.call, {}, {}});
    });
  };
  const Duration limit = scene_.setup.timings.policy.heartbeat_interval;
  scene_.board.call({host_, exchange.controller, std::move(words.first), limit}, done);
}

void WorkerHost::upload(Attempt attempt, bool too_large) {
  if (!agent_) return;
  const core::CheckpointClaim by{id(), agent_->incarnation(), attempt,
                                 session_of(agent_->incarnation())};
  const std::uint64_t most = scene_.setup.timings.policy.upload_bytes_max;
  core::Command command;
  // One in twenty is given up on its way, whatever its size.
  if (words_rng_.chance(too_large ? 500 : 50)) {
    command = core::RefuseCheckpoint{{}, by, "not taken", most + 1};
  } else {
    // Numbers of uploads are the store's: none comes twice.
    const std::uint64_t number = (last_incarnation_.value + 1) * 1000 + ++uploads_;
    command = core::KeepCheckpoint{{}, by, {number, too_large ? most + 1 : 10 + uploads_}};
  }
  const auto controller = static_cast<std::uint32_t>(words_rng_.below(scene_.setup.controllers));
  const Duration limit = scene_.setup.timings.policy.heartbeat_interval;
  const auto done = [this, command](const CallResult& result) {
    if (const auto* body = std::get_if<core::ReplyBody>(&result)) {
      scene_.recorder.fact(ClientTold{command, *body});
    }
  };
  scene_.board.call({host_, controller, command, limit}, done);
}

}  // namespace vortex::sim
