#pragma once
// Secrets on their way to a worker: opened for one attempt, just before its assignment leaves.
//
// Only over TLS or from this machine, only what the node names, only if its scope allows it. What
// cannot be had is a sentence for the user whose task it is, with what to do; it never contains a
// value. The values are wiped with the assignment. On a thread of the read pool.

#include <expected>
#include <string>
#include <vector>

#include "core/command.h"
#include "model/commit.h"
#include "model/sync.h"
#include "net/http.h"
#include "store/reader.h"
#include "vault/vault.h"

namespace vortex::api {

bool has_secrets(const Assignment& assignment);

// Whether values may be sent in the answer to this request.
bool is_private(const net::Request& request);
std::string not_private(const net::Request& request);

struct OpenedSecrets {
  SecretsPtr values;
  std::vector<core::NoteSecrets::Use> uses;
};
// The outer error is the store's, the inner one the user's.
store::Result<std::expected<OpenedSecrets, std::string>> open_secrets(store::Reader& reader,
                                                                      const vault::Vault& vault,
                                                                      const Assignment& assignment);

inline vault::Place place_of(const SecretVersionRow& row) {
  return {"secret", row.name, row.version};
}
inline vault::Place place_of(const WebhookRow& row) {
  return {"webhook", row.name, static_cast<std::uint64_t>(row.created_at.us)};
}
inline vault::Sealed sealed_of(const SecretVersionRow& row) {
  return {row.key_id, row.wrapped_key, row.sealed};
}

}  // namespace vortex::api
