#include "api/secrets.h"

#include <array>
#include <charconv>

#include <sodium.h>

#include "base/assert.h"
#include "codec/text.h"

namespace vortex::api {
namespace {

// libsodium must be set up before its first use, so whatever uses it here asks for that first.
//
// Only the first call does anything. Any thread. Ends the process if the library cannot be set up:
// without random bits there are no secrets.

void sodium_ready() {
  static const bool done = sodium_init() >= 0;
  VX_ASSERT(done && "libsodium could not be initialised");
}

constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kHashBytes = 32;

}  // namespace

namespace {

constexpr int kBase64 = sodium_base64_VARIANT_URLSAFE_NO_PADDING;

std::string mint(std::string_view prefix) {
  sodium_ready();
  std::array<unsigned char, kSecretBytes> secret{};
  randombytes_buf(secret.data(), secret.size());
  std::array<char, 64> text{};
  sodium_bin2base64(text.data(), text.size(), secret.data(), secret.size(), kBase64);
  sodium_memzero(secret.data(), secret.size());
  return std::string(prefix) + text.data();
}

// NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes are bytes to the library.
const unsigned char* raw(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// Of what stands before the last dot, for one purpose. The key is text of 64 bytes, which the hash
// takes whole.
std::string mac_of(std::string_view key, std::string_view named,
                   std::string_view purpose = "vortex attempt 1 ") {
  sodium_ready();
  VX_ASSERT(key.size() >= crypto_generichash_KEYBYTES_MIN &&
            key.size() <= crypto_generichash_KEYBYTES_MAX);
  const std::string message = std::string(purpose) + std::string(named);
  std::array<unsigned char, kHashBytes> mac{};
  crypto_generichash(mac.data(), mac.size(), raw(message), message.size(), raw(key), key.size());
  std::array<char, 64> text{};
  sodium_bin2base64(text.data(), text.size(), mac.data(), mac.size(), kBase64);
  return text.data();
}

}  // namespace

std::string mint_token() { return mint("vx_"); }
std::string mint_session() { return mint("vxs_"); }

std::string attempt_token(std::string_view key, const Attempt& attempt) {
  const std::string named = to_text(attempt.task) + "." + std::to_string(attempt.epoch.value);
  return std::string(kAttemptTokenPrefix) + named + "." + mac_of(key, named);
}

std::optional<Attempt> read_attempt_token(std::string_view key, std::string_view token) {
  if (!token.starts_with(kAttemptTokenPrefix)) return std::nullopt;
  token.remove_prefix(kAttemptTokenPrefix.size());
  const std::size_t mac_at = token.rfind('.');
  if (mac_at == token.npos) return std::nullopt;
  const std::string_view named = token.substr(0, mac_at);
  if (!same_hash(mac_of(key, named), token.substr(mac_at + 1))) return std::nullopt;
  // We wrote what follows.
  const std::size_t epoch_at = named.rfind('.');
  if (epoch_at == named.npos) return std::nullopt;
  const auto task = parse_task_id(named.substr(0, epoch_at));
  Attempt attempt;
  const auto [end, fault] = std::from_chars(named.data() + epoch_at + 1,
                                            named.data() + named.size(), attempt.epoch.value);
  if (!task || fault != std::errc() || end != named.data() + named.size()) return std::nullopt;
  attempt.task = *task;
  return attempt;
}

std::string sign_for_controllers(std::string_view cluster_key, std::string_view message) {
  sodium_ready();
  VX_ASSERT(cluster_key.size() >= crypto_generichash_KEYBYTES_MIN &&
            cluster_key.size() <= crypto_generichash_KEYBYTES_MAX);
  constexpr std::string_view kPurpose = "vortex controllers 1";
  std::array<unsigned char, kHashBytes> key{};
  crypto_generichash(key.data(), key.size(), raw(kPurpose), kPurpose.size(), raw(cluster_key),
                     cluster_key.size());
  std::array<unsigned char, kHashBytes> mac{};
  crypto_generichash(mac.data(), mac.size(), raw(message), message.size(), key.data(), key.size());
  sodium_memzero(key.data(), key.size());
  std::array<char, 64> text{};
  sodium_bin2base64(text.data(), text.size(), mac.data(), mac.size(), kBase64);
  return text.data();
}

namespace {

struct SessionKind {
  std::string_view prefix;
  std::string_view purpose;
};
SessionKind kind_of(SessionUse use) {
  if (use == SessionUse::kLogin) return {kLoginPrefix, "vortex login 1 "};
  return {"vxc_", "vortex session 1 "};
}

}  // namespace

std::string mint_session_id() { return mint(""); }

std::string seal_session(std::string_view key, SessionUse use, const Session& session) {
  const std::string named =
      session.token_hash + "." + std::to_string(session.until_seconds) + "." + session.id;
  const SessionKind kind = kind_of(use);
  return std::string(kind.prefix) + named + "." + mac_of(key, named, kind.purpose);
}

std::optional<Session> open_session(std::string_view key, SessionUse use, std::string_view text) {
  const SessionKind kind = kind_of(use);
  if (!text.starts_with(kind.prefix)) return std::nullopt;
  text.remove_prefix(kind.prefix.size());
  const std::size_t mac_at = text.rfind('.');
  if (mac_at == text.npos) return std::nullopt;
  const std::string_view named = text.substr(0, mac_at);
  if (!same_hash(mac_of(key, named, kind.purpose), text.substr(mac_at + 1))) return std::nullopt;
  // We wrote what follows.
  const std::size_t until_at = named.find('.');
  const std::size_t id_at = named.rfind('.');
  if (until_at == named.npos || id_at == until_at) return std::nullopt;
  Session session;
  session.token_hash = named.substr(0, until_at);
  session.id = named.substr(id_at + 1);
  const auto [end, fault] =
      std::from_chars(named.data() + until_at + 1, named.data() + id_at, session.until_seconds);
  if (fault != std::errc() || end != named.data() + id_at) return std::nullopt;
  return session;
}

std::string hash_token(std::string_view secret) {
  sodium_ready();
  std::array<unsigned char, kHashBytes> hash{};
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes are bytes to the library.
  const auto* bytes = reinterpret_cast<const unsigned char*>(secret.data());
  crypto_generichash(hash.data(), hash.size(), bytes, secret.size(), nullptr, 0);
  std::array<char, kHashBytes * 2 + 1> text{};
  sodium_bin2hex(text.data(), text.size(), hash.data(), hash.size());
  return text.data();
}

bool same_hash(std::string_view a, std::string_view b) {
  return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

namespace {

constexpr std::string_view kPrefix = "whsec_";

const unsigned char* bytes_of(std::string_view text) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes are bytes to the library.
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

std::string mint_webhook_secret() {
  sodium_ready();
  std::string bytes(kSecretBytes, '\0');
  randombytes_buf(bytes.data(), bytes.size());
  std::string secret(kPrefix);
  codec::append_base64(secret, bytes);
  sodium_memzero(bytes.data(), bytes.size());
  return secret;
}

std::string sign_webhook(std::string_view secret, const SignedParts& parts) {
  sodium_ready();
  if (!secret.starts_with(kPrefix)) return {};
  const auto key = codec::decode_base64(secret.substr(kPrefix.size()));
  if (!key) return {};
  crypto_auth_hmacsha256_state state;
  crypto_auth_hmacsha256_init(&state, bytes_of(*key), key->size());
  for (const std::string_view part :
       {parts.id, std::string_view("."), parts.timestamp, std::string_view("."), parts.body}) {
    crypto_auth_hmacsha256_update(&state, bytes_of(part), part.size());
  }
  std::string hash(crypto_auth_hmacsha256_BYTES, '\0');
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): as above.
  crypto_auth_hmacsha256_final(&state, reinterpret_cast<unsigned char*>(hash.data()));
  std::string signature = "v1,";
  codec::append_base64(signature, hash);
  return signature;
}

}  // namespace vortex::api
