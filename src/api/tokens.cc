#include "api/tokens.h"

#include <array>

#include <sodium.h>

#include "api/sodium_ready.h"

namespace vortex::api {

namespace {

constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kHashBytes = 32;

}  // namespace

std::string mint_token() {
  sodium_ready();
  std::array<unsigned char, kSecretBytes> secret{};
  randombytes_buf(secret.data(), secret.size());
  constexpr int kVariant = sodium_base64_VARIANT_URLSAFE_NO_PADDING;
  std::array<char, 64> text{};
  sodium_bin2base64(text.data(), text.size(), secret.data(), secret.size(), kVariant);
  sodium_memzero(secret.data(), secret.size());
  return "vx_" + std::string(text.data());
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

}  // namespace vortex::api
