#include "api/webhook_secret.h"

#include <array>

#include <sodium.h>

#include "api/sodium_ready.h"
#include "codec/text.h"

namespace vortex::api {

namespace {

constexpr std::string_view kPrefix = "whsec_";
constexpr std::size_t kSecretBytes = 32;

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
