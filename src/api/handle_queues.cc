// Queues, named limits, the dead-letter queue, and the ledger of recoveries.
#include <algorithm>
#include <charconv>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/bodies.h"
#include "api/handlers.h"
#include "api/query.h"
#include "api/views.h"

namespace vortex::api {

namespace {

constexpr std::uint32_t kNamesLookedAt = 100;  // for one that was meant

// A queue that has no work and never had a worker is a typing mistake.
boost::asio::awaitable<Expected<void>> expect_queue(Call& call, const std::string& name) {
  Asked<std::vector<QueueDepth>> queues = co_await call.backend.queues();
  if (!queues) co_return std::unexpected(from_unserved(queues.error()));
  std::vector<std::string> known{"default"};
  for (const QueueDepth& queue : *queues) {
    if (queue.name != known.front()) known.push_back(queue.name);
  }
  if (std::ranges::find(known, name) != known.end()) co_return Expected<void>{};
  co_return std::unexpected(no_such(Code::kNoSuchQueue, name, known));
}

Handled set_paused(Call& call, bool paused) {
  const std::string name = call.text();
  if (auto known = co_await expect_queue(call, name); !known) {
    co_return std::unexpected(std::move(known.error()));
  }
  core::Command command = core::PauseQueue{{}, name, paused};
  auto done = co_await ask<core::Done>(call.backend, std::move(command));
  if (!done) co_return std::unexpected(std::move(done.error()));
  co_return json_answer(
      object_json([&](JsonWriter& json) { write_queue_state(json, {name, paused}); }));
}

// The newest dead letter of the task.
store::Result<std::optional<store::DeadLetterView>> find_letter(store::Reader& reader, TaskId id) {
  store::DeadLetterFilter filter;
  filter.run = id.run;
  store::PageRequest page{1'000, {}};
  do {
    auto letters = reader.dead_letters(filter, page);
    if (!letters) return std::unexpected(letters.error());
    for (store::DeadLetterView& letter : letters->items) {
      if (letter.row.attempt.task == id) return std::optional(std::move(letter));
    }
    page.cursor = std::move(letters->next_cursor);
  } while (!page.cursor.empty());
  return std::optional<store::DeadLetterView>{};
}

// Letters that are open, the newest first.
boost::asio::awaitable<Trouble> no_letter(Call& call) {
  auto letters = co_await fetch(call.backend, [](store::Reader& reader) {
    store::DeadLetterFilter open;
    open.state = DeadLetterState::kOpen;
    return reader.dead_letters(open, {kNamesLookedAt, {}});
  });
  std::vector<std::string> known;
  if (letters) {
    for (const auto& letter : letters->items) known.push_back(to_text(letter.row.attempt.task));
  }
  co_return no_such(Code::kNoDeadLetter, to_text(call.task()), known);
}

Handled answer_letter(Call& call) {
  const TaskId id = call.task();
  auto letter =
      co_await fetch(call.backend, [id](store::Reader& reader) { return find_letter(reader, id); });
  if (!letter) co_return std::unexpected(std::move(letter.error()));
  if (!*letter) co_return std::unexpected(co_await no_letter(call));
  co_return json_answer(object_json([&](JsonWriter& json) { write_dead_letter(json, **letter); }));
}

// A task that is unknown or has no open letter is the same to the asker.
Handled act_on_letter(Call& call, core::Command command) {
  auto done = co_await ask<core::Done>(call.backend, std::move(command));
  if (done) co_return co_await answer_letter(call);
  const Code why = done.error().code;
  if (why == Code::kNoSuchTask || why == Code::kNoDeadLetter) {
    co_return std::unexpected(co_await no_letter(call));
  }
  co_return std::unexpected(std::move(done.error()));
}

constexpr std::size_t kLettersAtOnce = 1'000;  // then it is seen whether the core still answers

using TaskIds = std::vector<TaskId>;

// Every task that has an open letter, of the run if one is given. Stops well above `most`.
store::Result<TaskIds> open_letters(store::Reader& reader, std::optional<RunId> run,
                                    std::uint64_t most) {
  store::DeadLetterFilter filter;
  filter.state = DeadLetterState::kOpen;
  filter.run = run;
  store::PageRequest page{1'000, {}};
  TaskIds out;
  do {
    auto letters = reader.dead_letters(filter, page);
    if (!letters) return std::unexpected(letters.error());
    for (const auto& letter : letters->items) out.push_back(letter.row.attempt.task);
    page.cursor = std::move(letters->next_cursor);
  } while (!page.cursor.empty() && out.size() <= most + 1'000);
  return out;
}

struct BulkAnswer {
  std::size_t done = 0;
  std::vector<std::pair<TaskId, Trouble>> refused;
};

using MakeCommand = core::Command (*)(TaskId);

boost::asio::awaitable<BulkAnswer> act_on_letters(Backend& backend, MakeCommand make,
                                                  std::span<const TaskId> tasks) {
  std::vector<core::Command> commands;
  commands.reserve(tasks.size());
  for (const TaskId task : tasks) commands.push_back(make(task));
  const auto answers = co_await backend.ask_all(std::move(commands));
  BulkAnswer out;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    auto done = answer_as<core::Done>(answers[i]);
    if (done) {
      ++out.done;
    } else {
      out.refused.emplace_back(tasks[i], std::move(done.error()));
    }
  }
  co_return out;
}

void write_bulk(JsonWriter& json, const BulkAnswer& answer) {
  json.begin_object().field("done", answer.done).key("refused").begin_array();
  for (const auto& [task, why] : answer.refused) {
    json.begin_object().field("task", to_text(task)).field("code", about(why.code).text);
    json.field("detail", why.detail.empty() ? about(why.code).title : std::string_view(why.detail));
    json.end_object();
  }
  json.end_array().end_object();
}

// The core or the store gave out in the middle: what was done before stays done.
std::optional<Trouble> broken_off(BulkAnswer& answer) {
  const auto bad = std::ranges::find_if(
      answer.refused, [](const auto& one) { return about(one.second.code).status >= 500; });
  if (bad == answer.refused.end()) return std::nullopt;
  Trouble out = std::move(bad->second);
  if (answer.done == 0) return out;
  out.detail = fmt::format("{} done, then: {}", answer.done, out.detail);
  out.code = Code::kOutcomeUnknown;
  return out;
}

Handled act_on_open_letters(Call& call, MakeCommand make) {
  auto body = co_await read_body(call, read_bulk_letters);
  if (!body) co_return std::unexpected(std::move(body.error()));
  auto tasks = co_await fetch(call.backend, [&](store::Reader& reader) {
    return open_letters(reader, body->run, body->expected);
  });
  if (!tasks) co_return std::unexpected(std::move(tasks.error()));
  if (tasks->size() != body->expected) {
    // Those of a very long list are not counted to its end.
    const bool longer = tasks->size() > body->expected + 1'000;
    co_return std::unexpected(
        trouble(Code::kCountDrifted,
                fmt::format("there are {}{} open dead letters now, not {}",
                            longer ? "at least " : "", tasks->size(), body->expected)));
  }
  BulkAnswer answer;
  std::span<const TaskId> left = *tasks;
  while (!left.empty()) {
    const auto some = left.first(std::min(left.size(), kLettersAtOnce));
    BulkAnswer part = co_await act_on_letters(call.backend, make, some);
    answer.done += part.done;
    std::ranges::move(part.refused, std::back_inserter(answer.refused));
    if (auto why = broken_off(answer)) co_return std::unexpected(*std::move(why));
    left = left.subspan(some.size());
  }
  co_return json_answer(object_json([&](JsonWriter& json) { write_bulk(json, answer); }));
}

RecoveryId recovery_in(const Call& call) {
  RecoveryId id;
  std::from_chars(call.path[0].data(), call.path[0].data() + call.path[0].size(), id.value);
  return id;
}

struct RecoveryWhole {
  std::optional<store::RecoveryView> recovery;
  store::Page<RecoveryItemRow> items;
  std::vector<std::string> known;  // the newest ones, when there is no such recovery
};

store::Result<RecoveryWhole> read_recovery(store::Reader& reader, RecoveryId id,
                                           const store::PageRequest& page) {
  RecoveryWhole out;
  auto recovery = reader.recovery(id);
  if (!recovery) return std::unexpected(recovery.error());
  if (!*recovery) {
    const auto newest = reader.recoveries({}, {kNamesLookedAt, {}});
    if (!newest) return std::unexpected(newest.error());
    for (const auto& known : newest->items) out.known.push_back(fmt::to_string(known.row.id.value));
    return out;
  }
  auto items = reader.recovery_items(id, page);
  if (!items) return std::unexpected(items.error());
  out.recovery = *std::move(recovery);
  out.items = *std::move(items);
  return out;
}

// ---- Named limits ----

using Infos = std::vector<core::LimitInfo>;

Handled answer_limit(Call& call, const std::string& name) {
  Asked<Infos> limits = co_await call.backend.limits();
  if (!limits) co_return std::unexpected(from_unserved(limits.error()));
  std::vector<std::string> known;
  for (const core::LimitInfo& limit : *limits) {
    if (limit.row.name == name) {
      co_return json_answer(object_json([&](JsonWriter& json) { write_limit(json, limit); }));
    }
    known.push_back(limit.row.name);
  }
  co_return std::unexpected(no_such(Code::kNoSuchLimit, name, known));
}

}  // namespace

Handled list_queues(Call& call) {
  Asked<std::vector<QueueDepth>> queues = co_await call.backend.queues();
  if (!queues) co_return std::unexpected(from_unserved(queues.error()));
  co_return json_answer(object_json([&](JsonWriter& json) {
    json.begin_object().key("queues").begin_array();
    for (const QueueDepth& queue : *queues) write_queue(json, queue);
    json.end_array().end_object();
  }));
}

Handled pause_queue(Call& call) { co_return co_await set_paused(call, true); }
Handled resume_queue(Call& call) { co_return co_await set_paused(call, false); }

Handled list_limits(Call& call) {
  Asked<Infos> limits = co_await call.backend.limits();
  if (!limits) co_return std::unexpected(from_unserved(limits.error()));
  co_return json_answer(object_json([&](JsonWriter& json) {
    json.begin_object().key("limits").begin_array();
    for (const core::LimitInfo& limit : *limits) write_limit(json, limit);
    json.end_array().end_object();
  }));
}

Handled get_limit(Call& call) { co_return co_await answer_limit(call, call.text()); }

Handled set_limit(Call& call) {
  auto body = co_await read_body(call, read_limit_body);
  if (!body) co_return std::unexpected(std::move(body.error()));
  core::Command command =
      core::SetLimit{{}, call.text(), body->slots, body->rate, body->window, call.caller.name};
  auto done = co_await ask<core::Done>(call.backend, std::move(command));
  if (!done) co_return std::unexpected(std::move(done.error()));
  co_return co_await answer_limit(call, call.text());
}

Handled delete_limit(Call& call) {
  core::Command command = core::DeleteLimit{{}, call.text(), call.caller.name};
  auto done = co_await ask<core::Done>(call.backend, std::move(command));
  if (done) co_return empty_answer();
  if (done.error().code != Code::kNoSuchLimit) co_return std::unexpected(std::move(done.error()));
  co_return co_await answer_limit(call, call.text());
}

Handled list_dead_letters(Call& call) {
  QueryReader query(call.request().query);
  store::DeadLetterFilter filter;
  if (const auto state = query.word("state", words_of<DeadLetterState>())) {
    filter.state = static_cast<DeadLetterState>(*state);
  }
  filter.run = query.run("run");
  const store::PageRequest page = query.page();
  if (query.trouble()) co_return std::unexpected(*query.trouble());
  co_return co_await fetch_answer(call.backend, [&](store::Reader& reader) {
    return page_answer("dead_letters", reader.dead_letters(filter, page), write_dead_letter);
  });
}

Handled get_dead_letter(Call& call) { co_return co_await answer_letter(call); }

Handled redrive_dead_letter(Call& call) {
  core::Command command = core::RedriveDeadLetter{{}, call.task(), nullptr};
  co_return co_await act_on_letter(call, std::move(command));
}

Handled discard_dead_letter(Call& call) {
  core::Command command = core::DiscardDeadLetter{{}, call.task()};
  co_return co_await act_on_letter(call, std::move(command));
}

Handled redrive_dead_letters(Call& call) {
  co_return co_await act_on_open_letters(call, [](TaskId task) -> core::Command {
    return core::RedriveDeadLetter{{}, task, nullptr};
  });
}

Handled discard_dead_letters(Call& call) {
  co_return co_await act_on_open_letters(
      call, [](TaskId task) -> core::Command { return core::DiscardDeadLetter{{}, task}; });
}

Handled list_recoveries(Call& call) {
  QueryReader query(call.request().query);
  store::RecoveryFilter filter;
  if (query.has("worker")) filter.worker = WorkerId(query.text("worker"));
  filter.task = query.task("task");
  const store::PageRequest page = query.page();
  if (query.trouble()) co_return std::unexpected(*query.trouble());
  const auto write = [](JsonWriter& json, const store::RecoveryView& view) {
    json.begin_object();
    write_recovery_fields(json, view.row);
    json.end_object();
  };
  co_return co_await fetch_answer(call.backend, [&](store::Reader& reader) {
    return page_answer("recoveries", reader.recoveries(filter, page), write);
  });
}

Handled get_recovery(Call& call) {
  QueryReader query(call.request().query);
  const store::PageRequest page = query.page();
  if (query.trouble()) co_return std::unexpected(*query.trouble());
  const RecoveryId id = recovery_in(call);
  auto whole = co_await fetch(
      call.backend, [&](store::Reader& reader) { return read_recovery(reader, id, page); });
  if (!whole) co_return std::unexpected(std::move(whole.error()));
  if (!whole->recovery) {
    co_return std::unexpected(no_such(Code::kNoSuchRecovery, call.text(), whole->known));
  }
  co_return json_answer(object_json([&](JsonWriter& json) {
    json.begin_object();
    write_recovery_fields(json, whole->recovery->row);
    json.key("items").begin_array();
    for (const RecoveryItemRow& item : whole->items.items) write_recovery_item(json, item);
    json.end_array();
    write_cursor(json, whole->items.next_cursor);
    json.end_object();
  }));
}

}  // namespace vortex::api
