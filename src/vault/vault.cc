#include "vault/vault.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <sodium.h>

#include "base/assert.h"
#include "codec/text.h"

namespace vortex::vault {
namespace {

constexpr std::string_view kKeyPrefix = "vxkey_";
constexpr std::string_view kTextPrefix = "vxs1:";
constexpr int kKeyVariant = sodium_base64_VARIANT_URLSAFE_NO_PADDING;
constexpr std::size_t kKeyTextBytes = 43;
constexpr std::size_t kIdBytes = 6;
constexpr std::size_t kNonceBytes = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES;
constexpr std::size_t kTagBytes = crypto_aead_xchacha20poly1305_ietf_ABYTES;
static_assert(MasterKey::kBytes == crypto_aead_xchacha20poly1305_ietf_KEYBYTES);

// Only the first call does anything. Without random bits there is no sealing.
void library_ready() {
  static const bool done = sodium_init() >= 0;
  VX_ASSERT(done && "libsodium could not be initialised");
}

const unsigned char* in_bytes(std::string_view text) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes are bytes to the library.
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* out_bytes(char* text) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): as above.
  return reinterpret_cast<unsigned char*>(text);
}

// No part can pass for a piece of its neighbour: each is closed by a byte that none may contain.
std::string associated(std::string_view what, const Place& place, std::string_view key_id) {
  std::string data;
  for (const std::string_view part : {what, place.kind, place.name, key_id}) {
    data.append(part).push_back('\0');
  }
  return data + std::to_string(place.version);
}

struct Box {
  std::string_view key;
  const std::string& associated;
};

// The nonce, then what is sealed, in base64.
std::string encrypt(const Box& box, std::string_view plain) {
  std::string out(kNonceBytes + plain.size() + kTagBytes, '\0');
  randombytes_buf(out.data(), kNonceBytes);
  crypto_aead_xchacha20poly1305_ietf_encrypt(
      out_bytes(out.data() + kNonceBytes), nullptr, in_bytes(plain), plain.size(),
      in_bytes(box.associated), box.associated.size(), nullptr, in_bytes(out), in_bytes(box.key));
  std::string text;
  codec::append_base64(text, out);
  return text;
}

std::expected<SecretText, Fault> decrypt(const Box& box, std::string_view text) {
  const auto sealed = codec::decode_base64(text);
  if (!sealed || sealed->size() < kNonceBytes + kTagBytes) return std::unexpected(Fault::kDamaged);
  SecretText plain(sealed->size() - kNonceBytes - kTagBytes);
  const int failed = crypto_aead_xchacha20poly1305_ietf_decrypt(
      out_bytes(plain.data()), nullptr, nullptr, in_bytes(*sealed) + kNonceBytes,
      sealed->size() - kNonceBytes, in_bytes(box.associated), box.associated.size(),
      in_bytes(*sealed), in_bytes(box.key));
  if (failed != 0) return std::unexpected(Fault::kDamaged);
  return plain;
}

std::string hex_id(std::string_view key) {
  std::array<unsigned char, crypto_generichash_BYTES> hash{};
  constexpr std::string_view kContext = "vortex master key id";
  crypto_generichash(hash.data(), hash.size(), in_bytes(key), key.size(), in_bytes(kContext),
                     kContext.size());
  std::array<char, 2 * kIdBytes + 1> text{};
  sodium_bin2hex(text.data(), text.size(), hash.data(), kIdBytes);
  return text.data();
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

Sealed parts_of(std::string_view text) {
  std::vector<std::string> parts(3);
  text.remove_prefix(kTextPrefix.size());
  for (std::string& part : parts) {
    const std::size_t end = std::min(text.find(':'), text.size());
    part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {std::move(parts[0]), std::move(parts[1]), std::move(parts[2])};
}

std::string text_of(const Sealed& sealed) {
  std::string text(kTextPrefix);
  return text + sealed.key_id + ':' + sealed.wrapped_key + ':' + sealed.value;
}

}  // namespace

MasterKey::MasterKey(SecretText bytes) : bytes_(std::move(bytes)), id_(hex_id(bytes_.view())) {}

MasterKey MasterKey::make() {
  library_ready();
  SecretText bytes(kBytes);
  randombytes_buf(bytes.data(), kBytes);
  return MasterKey(std::move(bytes));
}

std::optional<MasterKey> MasterKey::parse(std::string_view text) {
  library_ready();
  text = trimmed(text);
  if (!text.starts_with(kKeyPrefix)) return std::nullopt;
  text.remove_prefix(kKeyPrefix.size());
  SecretText bytes(kBytes);
  std::size_t size = 0;
  const char* end = nullptr;
  const int failed = sodium_base642bin(out_bytes(bytes.data()), kBytes, text.data(), text.size(),
                                       nullptr, &size, &end, kKeyVariant);
  if (failed != 0 || size != kBytes || end != text.data() + text.size()) return std::nullopt;
  return MasterKey(std::move(bytes));
}

SecretText MasterKey::text() const {
  SecretText encoded(kKeyTextBytes + 1);
  sodium_bin2base64(encoded.data(), encoded.size(), in_bytes(bytes_.view()), kBytes, kKeyVariant);
  SecretText text(kKeyPrefix.size() + kKeyTextBytes);
  std::memcpy(text.data(), kKeyPrefix.data(), kKeyPrefix.size());
  std::memcpy(text.data() + kKeyPrefix.size(), encoded.data(), kKeyTextBytes);
  return text;
}

void Vault::use(KeyPtr current, KeyPtr previous) {
  const std::scoped_lock lock(guard_);
  current_ = std::move(current);
  previous_ = std::move(previous);
}

KeyPtr Vault::current() const {
  const std::scoped_lock lock(guard_);
  return current_;
}

std::string Vault::key_id() const {
  const KeyPtr key = current();
  return key ? key->id() : std::string();
}

KeyPtr Vault::find(std::string_view key_id) const {
  const std::scoped_lock lock(guard_);
  for (const KeyPtr& key : {current_, previous_}) {
    if (key && key->id() == key_id) return key;
  }
  return nullptr;
}

bool Vault::has(std::string_view key_id) const { return find(key_id) != nullptr; }

std::expected<Sealed, Fault> Vault::seal(const Place& place, std::string_view value) const {
  const KeyPtr master = current();
  if (!master) return std::unexpected(Fault::kNoKey);
  SecretText own(MasterKey::kBytes);
  randombytes_buf(own.data(), own.size());
  const std::string of_value = associated("value", place, {});
  const std::string of_key = associated("key", place, master->id());
  return Sealed{master->id(), encrypt({master->bytes(), of_key}, own.view()),
                encrypt({own.view(), of_value}, value)};
}

std::expected<SecretText, Fault> Vault::unwrap(const Place& place, const Sealed& sealed) const {
  if (!current()) return std::unexpected(Fault::kNoKey);
  const KeyPtr master = find(sealed.key_id);
  if (!master) return std::unexpected(Fault::kOtherKey);
  const std::string of_key = associated("key", place, sealed.key_id);
  auto own = decrypt({master->bytes(), of_key}, sealed.wrapped_key);
  if (own && own->size() != MasterKey::kBytes) return std::unexpected(Fault::kDamaged);
  return own;
}

std::expected<SecretText, Fault> Vault::open(const Place& place, const Sealed& sealed) const {
  const auto own = unwrap(place, sealed);
  if (!own) return std::unexpected(own.error());
  const std::string of_value = associated("value", place, {});
  return decrypt({own->view(), of_value}, sealed.value);
}

std::expected<Sealed, Fault> Vault::rewrap(const Place& place, const Sealed& sealed) const {
  const auto own = unwrap(place, sealed);
  if (!own) return std::unexpected(own.error());
  const KeyPtr master = current();
  if (!master) return std::unexpected(Fault::kNoKey);
  const std::string of_key = associated("key", place, master->id());
  return Sealed{master->id(), encrypt({master->bytes(), of_key}, own->view()), sealed.value};
}

bool Vault::is_sealed(std::string_view text) { return text.starts_with(kTextPrefix); }

std::string Vault::key_id_of(std::string_view text) {
  return is_sealed(text) ? parts_of(text).key_id : std::string();
}

std::expected<std::string, Fault> Vault::seal_text(const Place& place,
                                                   std::string_view value) const {
  const auto sealed = seal(place, value);
  if (!sealed) return std::unexpected(sealed.error());
  return text_of(*sealed);
}

std::expected<SecretText, Fault> Vault::open_text(const Place& place, std::string_view text) const {
  if (!is_sealed(text)) return SecretText(text);
  return open(place, parts_of(text));
}

std::expected<std::string, Fault> Vault::rewrap_text(const Place& place,
                                                     std::string_view text) const {
  if (!is_sealed(text)) return seal_text(place, text);
  const auto sealed = rewrap(place, parts_of(text));
  if (!sealed) return std::unexpected(sealed.error());
  return text_of(*sealed);
}

}  // namespace vortex::vault
