#pragma once
// Secrets at rest: each value is sealed with a key of its own, and that key with the master key.
//
// XChaCha20-Poly1305 both times, with what the value is (its kind, name and version) as associated
// data: a sealed value that is moved to another name, changed or cut does not open. Only the short
// wrapped keys change when the master key does. During such a change the previous key still opens.
// What is sealed is on disk: append-only. Any thread.

#include <cstdint>
#include <expected>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/wiped.h"

namespace vortex::vault {

// 256 random bits. Its text is `vxkey_` and base64url without padding.
class MasterKey {
 public:
  static constexpr std::size_t kBytes = 32;

  static MasterKey make();
  // Unset: not the text of a key. Space around it is passed over.
  static std::optional<MasterKey> parse(std::string_view text);

  SecretText text() const;
  std::string_view bytes() const { return bytes_.view(); }
  // Tells keys apart and gives nothing of them away; stored beside what they seal.
  const std::string& id() const { return id_; }

 private:
  explicit MasterKey(SecretText bytes);

  SecretText bytes_;
  std::string id_;
};
using KeyPtr = std::shared_ptr<const MasterKey>;

// What is sealed: no two things of one vault have the same place.
struct Place {
  std::string_view kind;  // "secret", "webhook"
  std::string_view name;
  std::uint64_t version = 0;
};

// All in base64.
struct Sealed {
  std::string key_id;  // of the master key
  std::string wrapped_key;
  std::string value;
};

enum class Fault : std::uint8_t {
  kNoKey,     // there is no master key
  kOtherKey,  // sealed with a key that is not here
  kDamaged,   // changed, cut, or sealed for another place
};

class Vault {
 public:
  Vault() = default;
  explicit Vault(KeyPtr current, KeyPtr previous = nullptr) { use(current, previous); }

  // From now on `current` seals and both open. Null: there is none.
  void use(KeyPtr current, KeyPtr previous);
  // Null: there is no master key.
  KeyPtr current() const;
  // The id of the key that seals; empty: none does.
  std::string key_id() const;
  // Whether there is a key that opens what this one sealed.
  bool has(std::string_view key_id) const;

  std::expected<Sealed, Fault> seal(const Place& place, std::string_view value) const;
  std::expected<SecretText, Fault> open(const Place& place, const Sealed& sealed) const;
  // The same value under the current key: only key_id and wrapped_key differ.
  std::expected<Sealed, Fault> rewrap(const Place& place, const Sealed& sealed) const;

  // The same as one text, for a column that held a plain value before.
  std::expected<std::string, Fault> seal_text(const Place& place, std::string_view value) const;
  // A text that is not sealed is its own value.
  std::expected<SecretText, Fault> open_text(const Place& place, std::string_view text) const;
  std::expected<std::string, Fault> rewrap_text(const Place& place, std::string_view text) const;
  static bool is_sealed(std::string_view text);
  // Of a sealed text; empty: it is not sealed.
  static std::string key_id_of(std::string_view text);

 private:
  KeyPtr find(std::string_view key_id) const;
  std::expected<SecretText, Fault> unwrap(const Place& place, const Sealed& sealed) const;

  mutable std::mutex guard_;  // only around the pointers
  KeyPtr current_;
  KeyPtr previous_;
};

}  // namespace vortex::vault
