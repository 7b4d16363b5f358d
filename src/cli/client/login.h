#pragma once
// What `vortex login` keeps for this user: one controller's address, its CA and a token.
//
// In a folder of the user's own (0700, files 0600) below the configuration folder. It is written as
// a whole or not at all. What is not ours or can be written by others counts as absent.

#include <expected>
#include <optional>
#include <string>

namespace vortex::cli {

struct Login {
  std::string url;
  std::string token;    // empty: none is needed
  std::string ca_file;  // empty: what the system trusts
};

std::optional<Login> read_login();
// `ca` is PEM, or empty. The folder it went to, or what went wrong.
std::expected<std::string, std::string> write_login(const Login& login, const std::string& ca);
// False: there was none.
bool remove_login();

}  // namespace vortex::cli
