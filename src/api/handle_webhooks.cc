// Webhooks: made, listed, tried, deleted. The secret leaves once, in the answer that makes it.
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/bodies.h"
#include "api/handlers.h"
#include "api/views.h"
#include "api/webhook_secret.h"

namespace vortex::api {

namespace {

constexpr std::string_view kEndsOfRuns = "run_complete";

using Rows = std::vector<WebhookRow>;

boost::asio::awaitable<Expected<Rows>> read_rows(Call& call) {
  co_return co_await fetch(call.backend, [](store::Reader& reader) { return reader.webhooks(); });
}

// The one that the path names.
boost::asio::awaitable<Expected<WebhookRow>> find_row(Call& call) {
  auto rows = co_await read_rows(call);
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
  auto rows = co_await read_rows(call);
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
  auto body = read_webhook_request(call.request().body);
  if (!body) {
    co_return std::unexpected(
        from_problems(std::move(body.error()), call.request().body, Code::kBadBody));
  }
  auto rows = co_await read_rows(call);
  if (!rows) co_return std::unexpected(std::move(rows.error()));
  if (std::ranges::find(*rows, body->name, &WebhookRow::name) != rows->end()) {
    co_return std::unexpected(trouble(Code::kWebhookExists, body->name));
  }
  const WebhookRow row = make_row(call, *std::move(body));
  const Expected<void> written = co_await write_row(call, row);
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
