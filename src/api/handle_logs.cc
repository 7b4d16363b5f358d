// The output of attempts: read by pages, followed while it grows, and taken from workers.
#include <algorithm>
#include <optional>
#include <ranges>
#include <utility>

#include <fmt/format.h>

#include "api/call.h"
#include "api/handlers.h"
#include "api/query.h"
#include "api/views.h"

namespace vortex::api {

namespace {

constexpr Duration kLookAgain = millis(200);
constexpr std::size_t kChunkBytesMax = 4U << 20;
constexpr Bounds kReadBounds{1U << 20, 1, 8U << 20};
constexpr std::string_view kText = "text/plain; charset=utf-8";

struct LogsWanted {
  TaskId task;
  std::optional<std::uint64_t> epoch;
  std::optional<std::uint64_t> number;
  std::uint64_t offset = 0;
  std::optional<std::uint32_t> tail;  // only this many bytes at the end
  std::uint32_t limit = 0;
};

struct Piece {
  bool task_known = false;
  bool attempt_known = true;   // the one that was asked for
  std::optional<Epoch> epoch;  // unset: there was no attempt yet
  bool ended = false;
  store::LogText log;
  std::vector<std::string> known;  // attempts there are, when it is none of them
};

Expected<LogsWanted> read_wanted(const Call& call) {
  QueryReader query(call.request().query);
  LogsWanted wanted;
  wanted.task = call.task();
  wanted.epoch = query.number("epoch");
  wanted.number = query.number("attempt");
  wanted.offset = query.number("offset").value_or(0);
  wanted.limit = static_cast<std::uint32_t>(query.number("limit", kReadBounds));
  if (query.has("tail")) {
    wanted.tail = static_cast<std::uint32_t>(query.number("tail", {0, 1, kReadBounds.max}));
  }
  if (query.trouble()) return std::unexpected(*query.trouble());
  if (const auto& own = call.caller.attempt) {
    // An attempt reads its own output, not that of the ones before it.
    if (wanted.number || wanted.epoch.value_or(own->epoch.value) != own->epoch.value) {
      return std::unexpected(trouble(Code::kNotOfAttempt));
    }
    wanted.epoch = own->epoch.value;
  }
  return wanted;
}

// Which attempt is meant. Whether it has ended is known before its output is read, so that an ended
// one is read to its end.
void choose_attempt(Piece& piece, const LogsWanted& wanted, const TaskRow& task,
                    const std::vector<AttemptRow>& ended) {
  const bool held = is_held(task.state);
  piece.ended = is_final(task.state);
  if (held && (!wanted.epoch || *wanted.epoch == task.epoch.value) &&
      (!wanted.number || *wanted.number == task.counters.attempts)) {
    piece.epoch = task.epoch;
    piece.ended = false;
    return;
  }
  for (const AttemptRow& row : ended | std::views::reverse) {
    if (wanted.epoch && *wanted.epoch != row.attempt.epoch.value) continue;
    if (wanted.number && *wanted.number != row.number) continue;
    piece.epoch = row.attempt.epoch;
    piece.ended = true;
    return;
  }
  piece.attempt_known = !wanted.epoch && !wanted.number;
}

// By what was asked for: numbers or epochs. The newest first.
std::vector<std::string> known_attempts(const LogsWanted& wanted, const TaskRow& task,
                                        const std::vector<AttemptRow>& ended) {
  std::vector<std::string> known;
  const auto add = [&](std::uint64_t number, Epoch epoch) {
    known.push_back(fmt::to_string(wanted.number ? number : epoch.value));
  };
  if (is_held(task.state)) add(task.counters.attempts, task.epoch);
  for (const AttemptRow& row : ended | std::views::reverse) add(row.number, row.attempt.epoch);
  return known;
}

store::Result<Piece> read_piece(store::Reader& reader, const LogsWanted& wanted) {
  Piece piece;
  const auto task = reader.task(wanted.task);
  if (!task) return std::unexpected(task.error());
  if (!*task) return piece;
  piece.task_known = true;
  const auto ended = reader.attempts(wanted.task);
  if (!ended) return std::unexpected(ended.error());
  choose_attempt(piece, wanted, (*task)->row, *ended);
  if (!piece.attempt_known) piece.known = known_attempts(wanted, (*task)->row, *ended);
  if (!piece.epoch) return piece;
  store::LogRequest request;
  request.attempt = {wanted.task, *piece.epoch};
  request.offset = wanted.offset;
  request.bytes_max = wanted.tail.value_or(wanted.limit);
  request.from_end = wanted.tail.has_value();
  auto log = reader.log(request);
  if (!log) return std::unexpected(log.error());
  piece.log = *std::move(log);
  return piece;
}

Trouble no_attempt(const LogsWanted& wanted, const Piece& piece) {
  const std::uint64_t asked = wanted.number ? *wanted.number : wanted.epoch.value_or(0);
  Trouble out = no_such(Code::kNoSuchAttempt, fmt::to_string(asked), piece.known);
  out.detail = fmt::format("{} has no attempt {}", to_text(wanted.task), asked);
  return out;
}

boost::asio::awaitable<Expected<Piece>> fetch_piece(Call& call, const LogsWanted& wanted) {
  auto piece = co_await fetch(call.backend,
                              [&](store::Reader& reader) { return read_piece(reader, wanted); });
  if (piece && !piece->task_known) {
    co_return std::unexpected(trouble(Code::kNoSuchTask, to_text(wanted.task)));
  }
  if (piece && !piece->attempt_known) co_return std::unexpected(no_attempt(wanted, *piece));
  co_return piece;
}

net::Headers headers_of(const Piece& piece) {
  net::Headers headers{{"X-Vortex-Log-Offset", fmt::to_string(piece.log.offset)},
                       {"X-Vortex-Log-Next", fmt::to_string(piece.log.next_offset)},
                       {"X-Vortex-Log-Size", fmt::to_string(piece.log.size)},
                       {"X-Vortex-Log-Ended", piece.ended ? "true" : "false"}};
  if (piece.epoch) headers.emplace_back("X-Vortex-Log-Epoch", fmt::to_string(piece.epoch->value));
  return headers;
}

// The text for people: where something was cut out, it says so.
std::string text_of(const store::LogText& log) {
  std::string text = log.data;
  if (log.skipped > 0) text += fmt::format("\n[{} bytes were dropped]\n", log.skipped);
  return text;
}

std::string json_of(TaskId task, const Piece& piece) {
  return object_json([&](JsonWriter& json) {
    json.begin_object().field("task", to_text(task)).key("epoch");
    piece.epoch ? json.number(piece.epoch->value) : json.null();
    json.field("offset", piece.log.offset).field("next_offset", piece.log.next_offset);
    json.field("size", piece.log.size).field("skipped", piece.log.skipped);
    json.field("ended", piece.ended).field("text", piece.log.data).end_object();
  });
}

boost::asio::awaitable<void> follow(Call& call, net::Stream& stream, LogsWanted wanted,
                                    Piece piece) {
  TokenWatch token(call);
  while (true) {
    const bool admitted = co_await token.is_good();
    if (!admitted) co_return;
    if (piece.epoch) {
      wanted.epoch = piece.epoch->value;
      wanted.number.reset();
      wanted.tail.reset();
      wanted.offset = piece.log.next_offset;
      const std::string text = text_of(piece.log);
      if (!text.empty()) {
        const bool alive = co_await stream.write(text);
        if (!alive) co_return;
      }
    }
    const bool more = piece.epoch && wanted.offset < piece.log.size;
    if (piece.ended && !more) co_return;
    if (!more) {
      const bool alive = co_await pause(call.exchange, kLookAgain);
      if (!alive) co_return;
    }
    Expected<Piece> next = co_await fetch_piece(call, wanted);
    if (next)
      piece = *std::move(next);
    else if (next.error().code != Code::kStoreUnreadable)
      co_return;
    else
      piece.log = {wanted.offset, {}, 0, wanted.offset, wanted.offset};
  }
}

bool wants_json(const net::Request& request) {
  const auto accept = net::find_header(request.headers, "Accept");
  return accept && accept->find("application/json") != std::string_view::npos;
}

}  // namespace

Handled get_log(Call& call) {
  Expected<LogsWanted> wanted = read_wanted(call);
  if (!wanted) co_return std::unexpected(std::move(wanted.error()));
  QueryReader query(call.request().query);
  const bool following = query.flag("follow");
  if (query.trouble()) co_return std::unexpected(*query.trouble());
  Expected<Piece> piece = co_await fetch_piece(call, *wanted);
  if (!piece) co_return std::unexpected(std::move(piece.error()));
  net::Response response;
  if (following && !call.head_only) {
    net::Headers headers{{"Cache-Control", "no-cache"}, {"X-Request-Id", call.request_id}};
    net::Stream* stream =
        co_await call.exchange.begin_stream(200, std::string(kText), std::move(headers));
    if (stream != nullptr) co_await follow(call, *stream, *std::move(wanted), *std::move(piece));
    co_return response;
  }
  if (wants_json(call.request())) {
    co_return json_answer(json_of(wanted->task, *piece));
  }
  response.content_type = kText;
  response.headers = headers_of(*piece);
  response.body = text_of(piece->log);
  co_return response;
}

namespace {

struct LogEnd {
  bool wanted = false;  // it is the task's latest attempt
  std::uint64_t size = 0;
  WorkerId worker = {};                  // that it was assigned to
  std::optional<Trouble> stranger = {};  // the output does not come from that worker
};

// The output of an attempt, and whose word that is.
struct LogClaim {
  Attempt attempt;
  std::string session;  // hash; empty: none
};

// The latest attempt's output is taken also when it has ended: what it wrote while no controller
// could be reached still counts. An older one was given up, and so is what it has to say.
store::Result<LogEnd> find_log_end(store::Reader& reader, const LogClaim& claim) {
  const Attempt& attempt = claim.attempt;
  const auto task = reader.task(attempt.task);
  if (!task) return std::unexpected(task.error());
  if (!*task) return LogEnd{};
  const TaskRow& row = (*task)->row;
  const bool ran = is_held(row.state) || (is_final(row.state) && row.counters.attempts > 0);
  if (!ran || row.epoch != attempt.epoch) return LogEnd{};
  LogEnd end{true, 0, row.worker, {}};
  if (is_final(row.state)) {
    const auto ended = reader.attempts(attempt.task);
    if (!ended) return std::unexpected(ended.error());
    const auto own = std::ranges::find(*ended, attempt, &AttemptRow::attempt);
    if (own != ended->end()) end.worker = own->worker;
  }
  auto stranger = check_session(reader, end.worker, claim.session);
  if (!stranger) return std::unexpected(stranger.error());
  end.stranger = *std::move(stranger);
  const auto log = reader.log({attempt, 0, 0, false});
  if (!log) return std::unexpected(log.error());
  end.size = log->size;
  return end;
}

// Output is taken in order: a piece that begins behind the end of what is there is refused here,
// because in the store it would spoil the commit that it shares with others.
boost::asio::awaitable<std::optional<Trouble>> check_place(Call& call, const Attempt& attempt,
                                                           std::uint64_t offset) {
  const LogClaim claim{attempt, call.session_hash()};
  const auto place = co_await fetch(
      call.backend, [&](store::Reader& reader) { return find_log_end(reader, claim); });
  if (!place) co_return place.error();
  if (!place->wanted) {
    co_return trouble(Code::kAttemptNotHeld,
                      fmt::format("epoch {} is not the latest attempt at {}", attempt.epoch.value,
                                  to_text(attempt.task)));
  }
  if (auto bound = check_bound(call.caller, place->worker.text)) co_return bound;
  if (place->stranger) co_return place->stranger;
  if (offset <= place->size) co_return std::nullopt;
  co_return trouble(Code::kLogGap, fmt::format("{} bytes have arrived, but the piece starts at {}",
                                               place->size, offset));
}

}  // namespace

Handled write_log(Call& call) {
  QueryReader query(call.request().query);
  const auto epoch = query.number("epoch");
  const auto offset = query.number("offset");
  if (query.trouble()) co_return std::unexpected(*query.trouble());
  if (!epoch || !offset) {
    co_return std::unexpected(trouble(Code::kBadQuery, "epoch and offset are required"));
  }
  if (call.request().body.size() > kChunkBytesMax) {
    co_return std::unexpected(trouble(Code::kTooLarge, "a chunk of output must not exceed 4 MiB"));
  }
  const Attempt attempt{call.task(), {*epoch}};
  if (auto not_now = co_await check_place(call, attempt, *offset)) {
    co_return std::unexpected(*std::move(not_now));
  }
  WriteLog log{{attempt, *offset, std::move(call.exchange.request().body)}};
  SideWrite side = std::move(log);
  Asked<void> written = co_await call.backend.write(std::move(side));
  if (!written) co_return std::unexpected(from_unserved(written.error()));
  co_return empty_answer();
}

}  // namespace vortex::api
