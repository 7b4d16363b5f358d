#pragma once
// Where the master key comes from: a file, a command that prints it (so that a KMS or a vault can
// be asked), the environment, or a systemd credential, in this order.
//
// A file must belong to this user or to root and be closed to everybody else. The variable is
// removed from the environment once it was read, so that no process started later inherits it.
// Errors are sentences for people that say what to do; they never contain any of the key. Blocks;
// for the start and for an operator's order, not for requests.

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "base/settings.h"
#include "base/time.h"
#include "vault/vault.h"

namespace vortex::vault {

inline constexpr const char* kKeyVariable = "VORTEX_SECRETS_MASTER_KEY";
inline constexpr const char* kCredentialName = "vortex-master-key";

struct Keys {
  KeyPtr current;    // null: none is configured
  KeyPtr previous;   // null: the same
  std::string from;  // where the current one was found, for the log
};

// Remembers what the environment said, as it is there only once.
class KeySource {
 public:
  explicit KeySource(SecretsSettings settings) : settings_(std::move(settings)) {}

  std::expected<Keys, std::string> read();

 private:
  std::expected<KeyPtr, std::string> read_current(std::string& from);

  SecretsSettings settings_;
  KeyPtr of_environment_;
};

// Overwrites the variable and removes it, so that nobody can read it from /proc either.
void forget_key_variable();

std::expected<KeyPtr, std::string> read_key_file(const std::string& path);

// Writes a new key with mode 0600; a file that is there already is left alone.
std::expected<KeyPtr, std::string> make_key_file(const std::string& path);

// What the command prints, up to a few kilobytes. Run by the shell, in a group of its own that is
// killed when the time is up.
std::expected<SecretText, std::string> run_key_command(const std::string& command, Duration limit);

}  // namespace vortex::vault
