// Secrets and the master key: set, listed, rotated, deleted. No answer contains a value or a key.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/handlers.h"
#include "api/query.h"
#include "api/vault/hand_over.h"
#include "api/vault/rewrap.h"
#include "api/views.h"
#include "base/wiped.h"
#include "codec/parts.h"
#include "codec/reading.h"
#include "codec/text.h"
#include "model/check.h"

namespace vortex::api {
namespace {

using codec::NodeIx;
using codec::NodeKind;
using codec::Reading;

constexpr std::size_t kVersionsKept = 20;  // of one secret; the oldest are deleted

struct SecretBody {
  SecretText value;
  bool has_value = false;
  std::optional<std::string> dag;
  std::optional<std::string> queue;
  std::optional<Labels> labels;
};

// Messages about a value never show it.
void take_value(Reading& in, NodeIx node, std::string_view value, SecretBody& out) {
  if (out.has_value) return in.problem(node, "give value or value_base64, not both");
  if (value.empty()) return in.problem(node, "the value is empty");
  if (value.size() > kSecretBytesMax) {
    return in.problem(node, fmt::format("the value has {} bytes; at most {} are allowed",
                                        value.size(), kSecretBytesMax));
  }
  out.value = SecretText(value);
  out.has_value = true;
}

void read_value(Reading& in, NodeIx node, SecretBody& out) {
  if (in.document().kind(node) != NodeKind::kText) {
    return in.problem(node, "the value must be a string");
  }
  take_value(in, node, in.document().text(node), out);
}

void read_value_base64(Reading& in, NodeIx node, SecretBody& out) {
  std::optional<std::string> value;
  if (in.document().kind(node) == NodeKind::kText) {
    value = codec::decode_base64(in.document().text(node));
  }
  if (!value) return in.problem(node, "value_base64 must be base64 with its padding");
  take_value(in, node, *value, out);
  wipe(*value);
}

template <auto Member>
void read_scope_name(Reading& in, NodeIx node, SecretBody& out) {
  const auto text = codec::text_of(in, node);
  if (!text) return;
  if (!text->empty()) {
    if (auto wrong = complain_of_name(in.document().name_of(node), *text)) {
      return in.problem(node, *std::move(wrong));
    }
  }
  (out.*Member).emplace(*text);
}

constexpr codec::Field<SecretBody> kValueFields[] = {
    {"value", read_value},
    {"value_base64", read_value_base64},
};
constexpr codec::Field<SecretBody> kSecretFields[] = {
    {"value", read_value},
    {"value_base64", read_value_base64},
    {"dag", read_scope_name<&SecretBody::dag>},
    {"queue", read_scope_name<&SecretBody::queue>},
    {"labels",
     [](Reading& in, NodeIx node, SecretBody& out) {
       codec::read_labels(in, node, out.labels.emplace());
       if (out.labels->size() > kEntriesMax) in.problem(node, "there are too many labels");
     }},
};

template <std::size_t N>
codec::Decoded<SecretBody> read_secret_body(std::string_view json,
                                            const codec::Field<SecretBody> (&fields)[N]) {
  return codec::decode<SecretBody>(
      json, codec::UnknownKeys::kRefused, [&](Reading& in, NodeIx root, SecretBody& out) {
        codec::read_object(in, root, {}, fields, out);
        if (!out.has_value && in.fine()) {
          in.problem(root, "there is no value", "give value or value_base64");
        }
      });
}

Trouble busy_with_secrets() {
  Trouble busy = trouble(Code::kBusy, "another request is changing secrets or tokens");
  busy.retry_after = seconds(1);
  return busy;
}

Trouble from_vault(vault::Fault fault) {
  if (fault == vault::Fault::kNoKey) return trouble(Code::kNoMasterKey);
  return trouble(Code::kOtherMasterKey);
}

// The secret that the path names; one that was deleted is there for its numbers only.
boost::asio::awaitable<Expected<SecretRow>> find_secret(Call& call) {
  const std::string name = call.text();
  auto rows = co_await fetch(call.backend, [](store::Reader& reader) { return reader.secrets(); });
  if (!rows) co_return std::unexpected(std::move(rows.error()));
  const auto found = std::ranges::find(*rows, name, &SecretRow::name);
  if (found != rows->end() && !found->deleted) co_return std::move(*found);
  std::vector<std::string> known;
  for (const SecretRow& row : *rows) {
    if (!row.deleted) known.push_back(row.name);
  }
  co_return std::unexpected(no_such(Code::kNoSuchSecret, name, known));
}

boost::asio::awaitable<Expected<std::vector<SecretVersionRow>>> read_versions(Call& call) {
  const std::string name = call.text();
  co_return co_await fetch(call.backend,
                           [&name](store::Reader& reader) { return reader.secret_versions(name); });
}

boost::asio::awaitable<Expected<void>> write_change(Call& call, SecretChange change,
                                                    std::string what) {
  core::NoteSecrets note;
  note.changes.push_back({change.row.name, std::move(what), change.row.latest, call.caller.name});
  SideWrite side = WriteSecret{std::move(change)};
  Asked<void> written = co_await call.backend.write(std::move(side));
  if (!written) co_return std::unexpected(from_unserved(written.error()));
  core::Command command = std::move(note);
  auto noted = co_await ask<core::Done>(call.backend, std::move(command));
  if (!noted) co_return std::unexpected(std::move(noted.error()));
  co_return Expected<void>{};
}

net::Response secret_answer(const SecretRow& row) {
  return json_answer(object_json([&](JsonWriter& json) { write_secret(json, row); }));
}

// A new version of the row, which is not written yet; the oldest ones beyond the limit go with it.
Handled add_version(Call& call, SecretRow row, const SecretBody& body, std::string what) {
  auto versions = co_await read_versions(call);
  if (!versions) co_return std::unexpected(std::move(versions.error()));
  row.updated_at = call.backend.now();
  row.updated_by = call.caller.name;
  SecretVersionRow version;
  version.name = row.name;
  version.version = ++row.latest;
  version.bytes = static_cast<std::uint32_t>(body.value.size());
  version.created_at = row.updated_at;
  version.created_by = row.updated_by;
  auto sealed = call.backend.vault().seal(place_of(version), body.value.view());
  if (!sealed) co_return std::unexpected(from_vault(sealed.error()));
  version.key_id = std::move(sealed->key_id);
  version.wrapped_key = std::move(sealed->wrapped_key);
  version.sealed = std::move(sealed->value);
  SecretChange change{row, {std::move(version)}};
  for (std::size_t i = 0; i + kVersionsKept <= versions->size(); ++i) {
    (*versions)[i].gone = true;
    change.versions.push_back(std::move((*versions)[i]));
  }
  auto written = co_await write_change(call, std::move(change), std::move(what));
  if (!written) co_return std::unexpected(std::move(written.error()));
  co_return secret_answer(row);
}

// What must hold before a body with a value in it is looked at. It is wiped in any case.
std::optional<Trouble> check_value_request(Call& call) {
  call.exchange.request().wiped = true;
  if (!is_private(call.request())) return trouble(Code::kNotPrivate);
  if (auto wrong = complain_of_secret_name(call.path[0])) {
    return trouble(Code::kBadBody, *std::move(wrong));
  }
  if (!call.backend.vault().current()) return trouble(Code::kNoMasterKey);
  return std::nullopt;
}

}  // namespace

Handled list_secrets(Call& call) {
  auto rows = co_await fetch(call.backend, [](store::Reader& reader) { return reader.secrets(); });
  if (!rows) co_return std::unexpected(std::move(rows.error()));
  co_return json_answer(object_json([&](JsonWriter& json) {
    json.begin_object().key("secrets").begin_array();
    for (const SecretRow& row : *rows) {
      if (!row.deleted) write_secret(json, row);
    }
    json.end_array().end_object();
  }));
}

Handled get_secret(Call& call) {
  auto row = co_await find_secret(call);
  if (!row) co_return std::unexpected(std::move(row.error()));
  co_return secret_answer(*row);
}

Handled list_secret_versions(Call& call) {
  auto row = co_await find_secret(call);
  if (!row) co_return std::unexpected(std::move(row.error()));
  auto versions = co_await read_versions(call);
  if (!versions) co_return std::unexpected(std::move(versions.error()));
  co_return json_answer(object_json([&](JsonWriter& json) {
    json.begin_object().key("versions").begin_array();
    for (const SecretVersionRow& version : *versions) write_secret_version(json, version);
    json.end_array().end_object();
  }));
}

Handled set_secret(Call& call) {
  if (auto wrong = check_value_request(call)) co_return std::unexpected(*std::move(wrong));
  const auto read = [](std::string_view json) { return read_secret_body(json, kSecretFields); };
  auto body = co_await read_body(call, read);
  if (!body) co_return std::unexpected(std::move(body.error()));
  const auto change = call.access.begin_change();
  if (!change) co_return std::unexpected(busy_with_secrets());
  const std::string name = call.text();
  auto known =
      co_await fetch(call.backend, [&](store::Reader& reader) { return reader.secret(name); });
  if (!known) co_return std::unexpected(std::move(known.error()));
  SecretRow row;
  row.name = name;
  row.created_at = call.backend.now();
  if (*known) row.latest = (*known)->latest;
  const bool is_new = !*known || (*known)->deleted;
  if (!is_new) row = **known;
  if (body->dag) row.dag = *body->dag;
  if (body->queue) row.queue = *body->queue;
  if (body->labels) row.labels = *body->labels;
  co_return co_await add_version(call, std::move(row), *body, is_new ? "created" : "set");
}

Handled rotate_secret(Call& call) {
  if (auto wrong = check_value_request(call)) co_return std::unexpected(*std::move(wrong));
  const auto read = [](std::string_view json) { return read_secret_body(json, kValueFields); };
  auto body = co_await read_body(call, read);
  if (!body) co_return std::unexpected(std::move(body.error()));
  const auto change = call.access.begin_change();
  if (!change) co_return std::unexpected(busy_with_secrets());
  auto row = co_await find_secret(call);
  if (!row) co_return std::unexpected(std::move(row.error()));
  co_return co_await add_version(call, *std::move(row), *body, "rotated");
}

Handled delete_secret(Call& call) {
  QueryReader query(call.request().query);
  const std::optional<std::uint64_t> only = query.number("version");
  if (query.trouble()) co_return std::unexpected(*query.trouble());
  const auto change = call.access.begin_change();
  if (!change) co_return std::unexpected(busy_with_secrets());
  auto row = co_await find_secret(call);
  if (!row) co_return std::unexpected(std::move(row.error()));
  auto versions = co_await read_versions(call);
  if (!versions) co_return std::unexpected(std::move(versions.error()));
  SecretChange gone{*std::move(row), {}};
  for (SecretVersionRow& version : *versions) {
    if (only && version.version != *only) continue;
    version.gone = true;
    gone.versions.push_back(std::move(version));
  }
  if (only && gone.versions.empty()) {
    co_return std::unexpected(
        trouble(Code::kNoSuchSecret, fmt::format("{} has no version {}", call.path[0], *only)));
  }
  if (only && *only == gone.row.latest) {
    Trouble wrong = trouble(Code::kWrongState, fmt::format("{} is the latest version", *only));
    wrong.hint = "rotate the secret first, or delete it as a whole";
    co_return std::unexpected(std::move(wrong));
  }
  gone.row.deleted = !only;
  gone.row.updated_at = call.backend.now();
  gone.row.updated_by = call.caller.name;
  std::string what = only ? fmt::format("version {} deleted", *only) : "deleted";
  auto written = co_await write_change(call, std::move(gone), std::move(what));
  if (!written) co_return std::unexpected(std::move(written.error()));
  co_return empty_answer();
}

Handled get_master_key(Call& call) {
  auto found =
      co_await fetch(call.backend, [](store::Reader& reader) { return find_sealed(reader); });
  if (!found) co_return std::unexpected(std::move(found.error()));
  const vault::Vault& vault = call.backend.vault();
  const auto foreign = std::ranges::count_if(
      found->key_ids, [&](const std::string& key_id) { return !vault.has(key_id); });
  co_return json_answer(object_json([&](JsonWriter& json) {
    const std::string id = vault.key_id();
    json.begin_object().field("configured", !id.empty()).key("key_id");
    id.empty() ? json.null() : json.text(id);
    json.field("versions", found->versions);
    json.field("other_keys", static_cast<std::uint64_t>(foreign));
    json.field("plain_webhooks", found->plain_webhooks).end_object();
  }));
}

namespace {

struct KeyBody {
  std::shared_ptr<const vault::MasterKey> key;  // null: as it is configured
};

constexpr codec::Field<KeyBody> kKeyFields[] = {
    {"key",
     [](Reading& in, NodeIx node, KeyBody& out) {
       std::optional<vault::MasterKey> key;
       if (in.document().kind(node) == NodeKind::kText) {
         key = vault::MasterKey::parse(in.document().text(node));
       }
       if (!key) {
         return in.problem(node, "this is not a master key",
                           "one looks like vxkey_ and 43 characters; `vortex secrets init` makes "
                           "one");
       }
       out.key = std::make_shared<const vault::MasterKey>(*std::move(key));
     }},
};

codec::Decoded<KeyBody> read_key_body(std::string_view json) {
  return codec::decode<KeyBody>(json, codec::UnknownKeys::kRefused,
                                [](Reading& in, NodeIx root, KeyBody& out) {
                                  codec::read_object(in, root, {}, kKeyFields, out);
                                });
}

// The keys as they are configured now, read off the I/O threads.
boost::asio::awaitable<Expected<vault::Keys>> configured_keys(Call& call) {
  std::expected<vault::Keys, std::string> keys = std::unexpected(std::string("it was not read"));
  std::function<void()> work = [&] { keys = call.backend.read_keys(); };
  Backend::Turn turn{client_of(call), false};
  const bool taken = co_await call.backend.digest(std::move(turn), std::move(work));
  if (!taken) co_return std::unexpected(busy_with_secrets());
  if (!keys) {
    Trouble wrong = trouble(Code::kWrongState, std::move(keys.error()));
    wrong.hint = "fix the configured master key; nothing was changed";
    co_return std::unexpected(std::move(wrong));
  }
  co_return *std::move(keys);
}

// A key that sealed something must not be forgotten before that is wrapped again.
boost::asio::awaitable<std::optional<Trouble>> check_opened_by(Call& call,
                                                               const vault::Keys& keys) {
  auto found =
      co_await fetch(call.backend, [](store::Reader& reader) { return find_sealed(reader); });
  if (!found) co_return std::move(found.error());
  for (const std::string& id : found->key_ids) {
    const bool opened = id == keys.current->id() || (keys.previous && id == keys.previous->id());
    if (!opened) {
      co_return trouble(Code::kOtherMasterKey,
                        fmt::format("something is sealed with key {}; nothing was changed", id));
    }
  }
  co_return std::nullopt;
}

}  // namespace

Handled rotate_master_key(Call& call) {
  call.exchange.request().wiped = true;
  if (!is_private(call.request())) co_return std::unexpected(trouble(Code::kNotPrivate));
  auto body = co_await read_body(call, read_key_body);
  if (!body) co_return std::unexpected(std::move(body.error()));
  const auto change = call.access.begin_change();
  if (!change) co_return std::unexpected(busy_with_secrets());
  vault::Vault& vault = call.backend.vault();
  vault::Keys keys;
  keys.current = std::move(body->key);
  if (!keys.current) {
    auto configured = co_await configured_keys(call);
    if (!configured) co_return std::unexpected(std::move(configured.error()));
    keys = *std::move(configured);
  }
  if (!keys.current) co_return std::unexpected(trouble(Code::kNoMasterKey));
  // The key in use opens what it sealed until the last of it is wrapped again.
  const vault::KeyPtr used = vault.current();
  const bool is_other = used && used->id() != keys.current->id();
  if (is_other) keys.previous = used;
  if (auto wrong = co_await check_opened_by(call, keys)) co_return std::unexpected(*wrong);
  vault.use(keys.current, keys.previous);
  auto report = co_await rewrap_all(call.backend);
  if (!report) co_return std::unexpected(std::move(report.error()));
  if (!report->failed.empty()) {
    co_return std::unexpected(trouble(
        Code::kOtherMasterKey, fmt::format("{} and {} more cannot be opened",
                                           report->failed.front(), report->failed.size() - 1)));
  }
  core::NoteSecrets note;
  note.changes.push_back({"master-key", "rotated to " + keys.current->id(), 0, call.caller.name});
  core::Command command = std::move(note);
  auto noted = co_await ask<core::Done>(call.backend, std::move(command));
  if (!noted) co_return std::unexpected(std::move(noted.error()));
  co_return json_answer(object_json([&](JsonWriter& json) {
    json.begin_object().field("key_id", std::string_view(keys.current->id()));
    json.field("versions", report->versions).field("webhooks", report->webhooks).end_object();
  }));
}

}  // namespace vortex::api
