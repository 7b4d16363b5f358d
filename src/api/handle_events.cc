// The monitor log as pages and as a live stream. A stream is one sequence without gap or
// repetition, wherever its parts come from: the store for what memory no longer holds, the feed for
// the rest.

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/bodies.h"
#include "api/call.h"
#include "api/event_lines.h"
#include "api/handlers.h"
#include "api/peers/peers.h"
#include "api/query.h"
#include "api/secrets.h"
#include "api/vault/hand_over.h"
#include "api/views.h"
#include "base/clock.h"
#include "base/networks.h"
#include "base/text.h"
#include "net/client.h"

namespace vortex::api {

bool wants_event_stream(const net::Request& request) {
  const auto accept = net::find_header(request.headers, "Accept");
  const bool accepts = accept && accept->find("text/event-stream") != std::string_view::npos;
  return accepts || QueryReader(request.query).flag("follow");
}

namespace {

constexpr Duration kTryAgain = millis(250);  // when the store cannot be read
constexpr std::uint32_t kReadBytes = 1U << 20;
constexpr std::size_t kScanBytesMax = 8U << 20;  // of one page with a filter that matches little
constexpr Bounds kEventBounds{1'000, 1, 10'000};

struct EventsWanted {
  EventFilter filter;
  std::optional<std::uint64_t> after;
  std::size_t limit = 0;
  bool stream = false;
};

std::optional<std::uint64_t> last_event_id(const net::Request& request) {
  const auto header = net::find_header(request.headers, "Last-Event-ID");
  if (!header) return std::nullopt;
  std::uint64_t id = 0;
  const auto [end, error] = std::from_chars(header->data(), header->data() + header->size(), id);
  if (error != std::errc{} || end != header->data() + header->size()) return std::nullopt;
  return id;
}

Expected<EventsWanted> read_wanted(const net::Request& request, const std::string& run) {
  QueryReader query(request.query);
  const auto run_asked = query.run("run");
  EventsWanted wanted{
      EventFilter(query.text("kind"), query.text("worker"), run_asked ? to_text(*run_asked) : run),
      query.number("after"), query.number("limit", kEventBounds),
      query.flag("follow") || wants_event_stream(request)};
  // A browser that connects again repeats the address, but says where it was.
  if (const auto last = last_event_id(request)) wanted.after = last;
  if (query.trouble()) return std::unexpected(*query.trouble());
  return wanted;
}

struct EventPage {
  std::string json;  // the events, separated by commas
  std::size_t count = 0;
  std::uint64_t position = 0;
  std::uint64_t last = 0;  // the newest that is stored, or `position`
};

// Adds what is wanted of these lines; stops when the page is full.
void add_lines(EventPage& page, std::string_view lines, const EventsWanted& wanted) {
  EventLine line;
  while (page.count < wanted.limit && take_event(lines, line)) {
    if (line.seq <= page.position) continue;
    page.position = line.seq;
    if (!wanted.filter.wants(line)) continue;
    if (page.count++ > 0) page.json += ',';
    page.json += line.json;
  }
}

store::Result<EventPage> read_page(store::Reader& reader, const EventsWanted& wanted, Instant now) {
  EventPage page;
  page.position = wanted.after.value_or(0);
  for (std::size_t scanned = 0; scanned < kScanBytesMax && page.count < wanted.limit;) {
    const auto lines = reader.events_after(page.position, kReadBytes);
    if (!lines) return std::unexpected(lines.error());
    if (lines->first_seq == 0 || lines->last_seq <= page.position) break;
    scanned += lines->lines.size();
    add_lines(page, lines->lines, wanted);
  }
  // A controller that does not lead has no newer ones in memory.
  const auto totals = reader.totals(now);
  if (!totals) return std::unexpected(totals.error());
  page.last = std::max(page.position, totals->counters.next_event - 1);
  return page;
}

Handled answer_page(Call& call, const EventsWanted& wanted) {
  const Instant now = call.backend.now();
  auto page = co_await fetch(call.backend, [&wanted, now](store::Reader& reader) {
    return read_page(reader, wanted, now);
  });
  if (!page) co_return std::unexpected(std::move(page.error()));
  const std::uint64_t last = std::max(call.backend.events().last_seq(), page->last);
  co_return json_answer(fmt::format(R"({{"events":[{}],"next_after":{},"last_seq":{}}})",
                                    page->json, page->position, last));
}

// Where a stream is, and what waits to be written.
struct Position {
  std::uint64_t after = 0;
  std::string out;
};

void add_to_stream(Position& at, std::string_view lines, const EventFilter& filter) {
  EventLine line;
  while (take_event(lines, line)) {
    if (line.seq <= at.after) continue;
    at.after = line.seq;
    if (filter.wants(line)) append_sse(at.out, line);
  }
}

// What memory no longer holds, one piece at a time; the feed says again when more is missing.
boost::asio::awaitable<Expected<void>> catch_up(Backend& backend, Position& at,
                                                const EventFilter& filter, std::uint64_t read_to) {
  const std::uint64_t after = at.after;
  auto lines = co_await fetch(
      backend, [after](store::Reader& reader) { return reader.events_after(after, kReadBytes); });
  if (!lines) co_return std::unexpected(std::move(lines.error()));
  if (lines->first_seq > after + 1) {
    at.out += fmt::format(": events {} to {} have expired\n\n", after + 1, lines->first_seq - 1);
  }
  add_to_stream(at, lines->lines, filter);
  // Nothing is kept up to there: go on behind it.
  if (lines->first_seq == 0) at.after = std::max(after, read_to);
  co_return Expected<void>{};
}

// Another controller may lead by now: whoever reads connects again and gets to it.
bool has_live_events(Backend& backend) {
  const Peers* peers = backend.peers();
  return peers == nullptr || peers->is_alone() || peers->leads();
}

boost::asio::awaitable<void> stream_events(Call& call, net::Stream& stream, Position at,
                                           const EventFilter& filter) {
  using namespace boost::asio::experimental::awaitable_operators;
  EventFeed& feed = call.backend.events();
  at.out = "retry: 2000\n: connected\n\n";
  Instant next_beat{};
  TokenWatch token(call);
  while (true) {
    const bool admitted = co_await token.is_good();
    if (!admitted || !has_live_events(call.backend)) co_return;
    if (!at.out.empty()) {
      const bool alive = co_await stream.write(at.out);
      if (!alive) co_return;
      at.out.clear();
      next_beat = boot_clock_now() + feed.beat();
    }
    // Counted from the last write, not from the last event: those that the filter keeps back show
    // nobody that this stream is alive.
    const Duration left = std::clamp(next_beat - boot_clock_now(), micros(0), TokenWatch::kEvery);
    auto first = co_await (feed.next(at.after, left) || call.exchange.closed());
    if (first.index() != 0) co_return;
    const EventFeed::Next next = std::get<0>(std::move(first));
    if (next.behind) {
      const Expected<void> read = co_await catch_up(call.backend, at, filter, next.read_to);
      if (read) continue;
      at.out += ": the store cannot be read right now\n\n";
      const bool alive = co_await pause(call.exchange, kTryAgain);
      if (!alive) co_return;
      continue;
    }
    for (const EventFeed::Lines& lines : next.lines) add_to_stream(at, *lines.text, filter);
    if (at.out.empty() && boot_clock_now() >= next_beat) at.out = ": \n\n";
  }
}

Handled answer_events(Call& call, std::string run) {
  Expected<EventsWanted> wanted = read_wanted(call.request(), run);
  if (!wanted) co_return std::unexpected(std::move(wanted.error()));
  if (!wanted->stream) co_return co_await answer_page(call, *wanted);
  net::Response head;
  head.content_type = "text/event-stream";
  if (call.head_only) co_return head;
  net::Headers headers{{"Cache-Control", "no-cache"},
                       {"X-Accel-Buffering", "no"},
                       {"X-Request-Id", call.request_id}};
  Position at;
  at.after = wanted->after.value_or(call.backend.events().last_seq());
  net::Stream* stream =
      co_await call.exchange.begin_stream(200, "text/event-stream", std::move(headers));
  if (stream != nullptr) co_await stream_events(call, *stream, std::move(at), wanted->filter);
  co_return head;
}

}  // namespace

Handled get_events(Call& call) { co_return co_await answer_events(call, {}); }

Handled get_run_events(Call& call) {
  const RunId id = call.run();
  auto run = co_await fetch(call.backend, [id](store::Reader& reader) { return reader.run(id); });
  if (!run) co_return std::unexpected(std::move(run.error()));
  if (!*run) co_return std::unexpected(trouble(Code::kNoSuchRun, to_text(id)));
  co_return co_await answer_events(call, to_text(id));
}

// Webhooks: made, listed, tried, deleted. The secret leaves once, in the answer that makes it.

namespace {

constexpr std::string_view kEndsOfRuns = "run_complete";

using Rows = std::vector<WebhookRow>;

boost::asio::awaitable<Expected<Rows>> read_webhook_rows(Call& call) {
  co_return co_await fetch(call.backend, [](store::Reader& reader) { return reader.webhooks(); });
}

// The one that the path names.
boost::asio::awaitable<Expected<WebhookRow>> find_row(Call& call) {
  auto rows = co_await read_webhook_rows(call);
  if (!rows) co_return std::unexpected(std::move(rows.error()));
  const std::string name = call.text();
  const auto found = std::ranges::find(*rows, name, &WebhookRow::name);
  if (found == rows->end()) co_return std::unexpected(trouble(Code::kNoSuchWebhook, name));
  co_return std::move(*found);
}

boost::asio::awaitable<Expected<void>> write_row(Call& call, WebhookRow row) {
  SideWrite side = WriteWebhook{std::move(row)};
  Asked<void> written = co_await call.backend.write(std::move(side));
  if (!written) co_return std::unexpected(from_unserved(written.error()));
  co_return Expected<void>{};
}

// What can be told from the URL alone. A name is judged when it is resolved, for each delivery.
std::optional<Trouble> check_receiver(const std::string& url, const Settings& settings) {
  const auto address = net::parse_web_address(url);
  if (!address) return std::nullopt;  // the reader of the body has judged it
  const std::string& host = address->endpoint.host;
  const auto ip = parse_ip(same_ignoring_case(host, "localhost") ? "127.0.0.1" : host);
  const auto allowed = Networks::parse(settings.controller.webhook_networks);
  if (!ip || is_public(*ip) || (allowed && allowed->contains(*ip))) return std::nullopt;
  return trouble(Code::kForeignReceiver, fmt::format("'{}' is not a public address", host));
}

WebhookRow make_row(const Call& call, WebhookBody body) {
  WebhookRow row;
  row.name = std::move(body.name);
  row.url = std::move(body.url);
  row.kinds = body.kinds.empty() ? kEndsOfRuns : fmt::format("{}", fmt::join(body.kinds, ","));
  row.dag = std::move(body.dag);
  row.secret = mint_webhook_secret();
  row.created_at = call.backend.now();
  row.progress.after = body.after.value_or(call.backend.events().last_seq());
  return row;
}

}  // namespace

Handled list_webhooks(Call& call) {
  auto rows = co_await read_webhook_rows(call);
  if (!rows) co_return std::unexpected(std::move(rows.error()));
  co_return json_answer(object_json([&](JsonWriter& json) {
    json.begin_object().key("webhooks").begin_array();
    for (const WebhookRow& row : *rows) write_webhook(json, row, Secret::kHidden);
    json.end_array().end_object();
  }));
}

Handled get_webhook(Call& call) {
  auto row = co_await find_row(call);
  if (!row) co_return std::unexpected(std::move(row.error()));
  co_return json_answer(
      object_json([&](JsonWriter& json) { write_webhook(json, *row, Secret::kHidden); }));
}

Handled create_webhook(Call& call) {
  auto body = co_await read_body(call, read_webhook_request);
  if (!body) co_return std::unexpected(std::move(body.error()));
  call.subject = body->name;
  auto rows = co_await read_webhook_rows(call);
  if (!rows) co_return std::unexpected(std::move(rows.error()));
  if (std::ranges::find(*rows, body->name, &WebhookRow::name) != rows->end()) {
    co_return std::unexpected(trouble(Code::kWebhookExists, body->name));
  }
  if (auto wrong = check_receiver(body->url, call.backend.settings().settings)) {
    co_return std::unexpected(*std::move(wrong));
  }
  const WebhookRow row = make_row(call, *std::move(body));
  WebhookRow stored = row;
  if (auto sealed = call.backend.vault().seal_text(place_of(row), row.secret)) {
    stored.secret = *std::move(sealed);  // without a master key it stays as it is
  }
  const Expected<void> written = co_await write_row(call, std::move(stored));
  if (!written) co_return std::unexpected(written.error());
  net::Response response = json_answer(
      object_json([&](JsonWriter& json) { write_webhook(json, row, Secret::kShown); }), 201);
  response.headers.emplace_back("Cache-Control", "no-store");
  co_return response;
}

Handled try_webhook(Call& call) {
  auto row = co_await find_row(call);
  if (!row) co_return std::unexpected(std::move(row.error()));
  const Delivery delivery = co_await call.backend.try_webhook(*std::move(row));
  co_return json_answer(object_json([&](JsonWriter& json) { write_delivery(json, delivery); }));
}

Handled delete_webhook(Call& call) {
  auto row = co_await find_row(call);
  if (!row) co_return std::unexpected(std::move(row.error()));
  row->deleted = true;
  const Expected<void> written = co_await write_row(call, *std::move(row));
  if (!written) co_return std::unexpected(written.error());
  co_return empty_answer();
}

}  // namespace vortex::api
