#pragma once
// What is secret: access tokens, sessions of workers, tokens of attempts, keys of webhooks. How
// they are made, the only form in which they are kept, and how a message is signed.
//
// Random bits come from libsodium; without them there are no secrets and the process ends. Hashes
// are on disk: append-only. Any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/sync.h"

namespace vortex::api {

// Access tokens: how they are made, and the only form in which they are kept.
//
// A token is 256 random bits as text with the prefix `vx_`. Stored is a hash of it; as the secret
// has full entropy, a plain fast hash cannot be searched. Append-only: hashes are on disk.

std::string mint_token();
// The secret of one life of a worker: `vxs_` and as many bits. Kept in the same form.
std::string mint_session();
// In hexadecimal.
std::string hash_token(std::string_view secret);
// Takes the same time wherever the two differ.
bool same_hash(std::string_view a, std::string_view b);

// The token of one attempt: `vxa_`, the task, the epoch, and a MAC of both under the key of the
// cluster. Nothing is stored of it, and every controller of the cluster knows it.

inline constexpr std::string_view kAttemptTokenPrefix = "vxa_";
std::string attempt_token(std::string_view key, const Attempt& attempt);
// What it was made for. Unset: it was not made with this key.
std::optional<Attempt> read_attempt_token(std::string_view key, std::string_view token);

// What one controller of a database says to another, under a key of its own that is derived from
// the key of the cluster: a MAC as text.
std::string sign_for_controllers(std::string_view cluster_key, std::string_view message);

// What a browser holds instead of a token: the hash of the token, when it ends, and a MAC of both
// under the key of the cluster. Every controller of the cluster knows it, and it opens nothing once
// its token is revoked. A pass to log in has the same form; it is made to be used once.

struct Session {
  std::string token_hash;
  std::uint64_t until_seconds = 0;  // since 1970
  std::string id;                   // random
};
enum class SessionUse : std::uint8_t { kCookie, kLogin };
std::string seal_session(std::string_view key, SessionUse use, const Session& session);
// Unset: not made with this key for this use.
std::optional<Session> open_session(std::string_view key, SessionUse use, std::string_view text);
std::string mint_session_id();
inline constexpr std::string_view kLoginPrefix = "vxl_";

// The secret of a webhook and the signature it makes, in the form of Standard Webhooks 1.0: the
// receiver can tell that a message is ours, whole, and recent. Pure but for the random bits.

// `whsec_` and 256 random bits in base64.
std::string mint_webhook_secret();

struct SignedParts {
  std::string_view id;         // of the message
  std::string_view timestamp;  // seconds since 1970, as text
  std::string_view body;
};
// `v1,` and the HMAC-SHA256 of the parts in base64. Empty: this is not a secret of ours.
std::string sign_webhook(std::string_view secret, const SignedParts& parts);

}  // namespace vortex::api
