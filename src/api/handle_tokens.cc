// Tokens: made, listed, revoked. The secret leaves once, in the answer that makes it.
#include <algorithm>
#include <utility>

#include "api/bodies.h"
#include "api/handlers.h"
#include "api/tokens.h"
#include "api/views.h"

namespace vortex::api {

namespace {

boost::asio::awaitable<Expected<std::vector<TokenRow>>> read_rows(Call& call) {
  co_return co_await fetch(call.backend, [](store::Reader& reader) { return reader.tokens(); });
}

boost::asio::awaitable<Expected<void>> write_row(Call& call, TokenRow row) {
  SideWrite side = WriteToken{std::move(row)};
  Asked<void> written = co_await call.backend.write(std::move(side));
  call.access.forget();
  if (!written) co_return std::unexpected(from_unserved(written.error()));
  co_return Expected<void>{};
}

}  // namespace

Handled list_tokens(Call& call) {
  auto rows = co_await read_rows(call);
  if (!rows) co_return std::unexpected(std::move(rows.error()));
  co_return json_answer(object_json([&](JsonWriter& json) {
    json.begin_object().key("tokens").begin_array();
    for (const TokenRow& row : *rows) write_token(json, row);
    json.end_array().end_object();
  }));
}

Handled create_token(Call& call) {
  auto body = read_token_request(call.request().body);
  if (!body)
    co_return std::unexpected(
        from_problems(std::move(body.error()), call.request().body, Code::kBadBody));
  auto rows = co_await read_rows(call);
  if (!rows) co_return std::unexpected(std::move(rows.error()));
  for (const TokenRow& row : *rows) {
    if (row.name == body->name && !row.revoked) {
      co_return std::unexpected(trouble(Code::kTokenExists, body->name));
    }
  }
  const std::string secret = mint_token();
  const TokenRow row{std::move(body->name), body->role, hash_token(secret), call.backend.now(),
                     false};
  const Expected<void> written = co_await write_row(call, row);
  if (!written) co_return std::unexpected(written.error());
  net::Response response =
      json_answer(object_json([&](JsonWriter& json) { write_token(json, row, secret); }), 201);
  response.headers.emplace_back("Cache-Control", "no-store");
  co_return response;
}

Handled revoke_token(Call& call) {
  auto rows = co_await read_rows(call);
  if (!rows) co_return std::unexpected(std::move(rows.error()));
  const std::string name = call.text();
  const auto found = std::ranges::find_if(
      *rows, [&](const TokenRow& row) { return row.name == name && !row.revoked; });
  if (found == rows->end()) co_return std::unexpected(trouble(Code::kNoSuchToken, name));
  TokenRow row = *found;
  row.revoked = true;
  const Expected<void> written = co_await write_row(call, std::move(row));
  if (!written) co_return std::unexpected(written.error());
  co_return empty_answer();
}

}  // namespace vortex::api
