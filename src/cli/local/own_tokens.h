#pragma once
// The tokens of a controller for its own user: made at its first start, found by the commands and
// workers of the same user on the same machine without being named.
//
// They are kept next to the database and, while the controller runs, in a folder of the user by
// the port they are for. Files have mode 0600 in folders that nobody else can write; no link is
// followed. A token is only given to a port on which a process of this user listens: whoever takes
// the port of a controller that is gone gets nothing. Blocks like any file does.

#include <cstdint>
#include <expected>
#include <string>

namespace vortex::cli::local {

struct OwnTokens {
  std::string admin;
  std::string worker;
};

enum class TokenFor : std::uint8_t { kCommands, kWorkers };

// The file next to the database.
std::string token_path(const std::string& database, TokenFor whom);

// Those next to the database; made when they are missing. The error is for people. Precondition:
// nobody else starts a controller on this database.
std::expected<OwnTokens, std::string> own_tokens(const std::string& database);

// Where this user's programs look, as long as it lives. The error is for people, and no reason to
// stop: the tokens can still be named.
class PublishedTokens {
 public:
  static std::expected<PublishedTokens, std::string> publish(std::uint16_t port, OwnTokens tokens);
  ~PublishedTokens();
  PublishedTokens(PublishedTokens&& other) noexcept;
  PublishedTokens& operator=(PublishedTokens&&) = delete;

 private:
  PublishedTokens(std::string folder, std::uint16_t port, OwnTokens tokens);

  std::string folder_;
  std::uint16_t port_ = 0;  // 0: moved from
  OwnTokens tokens_;
};

// Empty: there is none, or what listens there is not ours.
std::string find_token(std::uint16_t port, TokenFor whom);

// Where what must survive a kill -9, but not a reboot, is kept.
std::string default_state_dir();

}  // namespace vortex::cli::local
