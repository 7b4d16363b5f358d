#include "api/vault/rewrap.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "api/vault/hand_over.h"
#include "base/fault_point.h"

namespace vortex::api {
namespace {

namespace asio = boost::asio;

asio::awaitable<Expected<void>> write_one(Backend& backend, SideWrite side) {
  Asked<void> written = co_await backend.write(std::move(side));
  if (!written) co_return std::unexpected(from_unserved(written.error()));
  co_return Expected<void>{};
}

asio::awaitable<Expected<void>> rewrap_secret(Backend& backend, std::string name,
                                              RewrapReport& report) {
  auto versions = co_await fetch(
      backend, [&name](store::Reader& reader) { return reader.secret_versions(name); });
  if (!versions) co_return std::unexpected(std::move(versions.error()));
  for (const SecretVersionRow& row : *versions) {
    if (row.key_id == backend.vault().key_id()) continue;
    auto again = backend.vault().rewrap(place_of(row), sealed_of(row));
    if (!again) {
      report.failed.push_back(fmt::format("{}@{}", row.name, row.version));
      continue;
    }
    SideWrite side = WriteRewrap{
        {row.name, row.version, std::move(again->key_id), std::move(again->wrapped_key)}};
    auto written = co_await write_one(backend, std::move(side));
    if (!written) co_return std::unexpected(std::move(written.error()));
    ++report.versions;
    fault_point("rewrapped");
  }
  co_return Expected<void>{};
}

asio::awaitable<Expected<void>> rewrap_webhook(Backend& backend, WebhookRow row,
                                               RewrapReport& report) {
  if (vault::Vault::key_id_of(row.secret) == backend.vault().key_id()) co_return Expected<void>{};
  auto again = backend.vault().rewrap_text(place_of(row), row.secret);
  if (!again) {
    report.failed.push_back("webhook " + row.name);
    co_return Expected<void>{};
  }
  SideWrite side = WriteWebhookSeal{{row.name, row.created_at, *std::move(again)}};
  auto written = co_await write_one(backend, std::move(side));
  if (!written) co_return std::unexpected(std::move(written.error()));
  ++report.webhooks;
  co_return Expected<void>{};
}

}  // namespace

asio::awaitable<Expected<RewrapReport>> rewrap_all(Backend& backend) {
  RewrapReport report;
  if (!backend.vault().current()) co_return report;
  auto secrets = co_await fetch(backend, [](store::Reader& reader) { return reader.secrets(); });
  if (!secrets) co_return std::unexpected(std::move(secrets.error()));
  for (const SecretRow& row : *secrets) {
    auto done = co_await rewrap_secret(backend, row.name, report);
    if (!done) co_return std::unexpected(std::move(done.error()));
  }
  auto webhooks = co_await fetch(backend, [](store::Reader& reader) { return reader.webhooks(); });
  if (!webhooks) co_return std::unexpected(std::move(webhooks.error()));
  for (const WebhookRow& row : *webhooks) {
    auto done = co_await rewrap_webhook(backend, row, report);
    if (!done) co_return std::unexpected(std::move(done.error()));
  }
  co_return report;
}

store::Result<SealedThings> find_sealed(store::Reader& reader) {
  SealedThings found;
  const auto add = [&found](const std::string& key_id) {
    if (std::ranges::find(found.key_ids, key_id) == found.key_ids.end()) {
      found.key_ids.push_back(key_id);
    }
  };
  const auto secrets = reader.secrets();
  if (!secrets) return std::unexpected(secrets.error());
  for (const SecretRow& secret : *secrets) {
    const auto versions = reader.secret_versions(secret.name);
    if (!versions) return std::unexpected(versions.error());
    found.versions += versions->size();
    for (const SecretVersionRow& row : *versions) add(row.key_id);
  }
  const auto webhooks = reader.webhooks();
  if (!webhooks) return std::unexpected(webhooks.error());
  for (const WebhookRow& row : *webhooks) {
    if (vault::Vault::is_sealed(row.secret)) {
      add(vault::Vault::key_id_of(row.secret));
    } else {
      ++found.plain_webhooks;
    }
  }
  return found;
}

}  // namespace vortex::api
