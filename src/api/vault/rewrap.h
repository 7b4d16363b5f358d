#pragma once
// Everything that is sealed, brought under the current master key: version by version, so that a
// crash in between leaves what both keys open, and the next start goes on from there.
//
// Plain secrets of webhooks, from before there was a master key, are sealed on the way. What is
// under the current key already is left alone: a second pass writes nothing.

#include <cstdint>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "api/backend.h"
#include "api/call.h"

namespace vortex::api {

struct RewrapReport {
  std::uint64_t versions = 0;       // of secrets, wrapped again
  std::uint64_t webhooks = 0;       // sealed, or wrapped again
  std::vector<std::string> failed;  // names of what could not be opened
};

boost::asio::awaitable<Expected<RewrapReport>> rewrap_all(Backend& backend);

// What in the store is sealed, and with which keys. For the start: needs no master key.
struct SealedThings {
  std::vector<std::string> key_ids;  // of all that is sealed, each once
  std::uint64_t versions = 0;
  std::uint64_t plain_webhooks = 0;
};
store::Result<SealedThings> find_sealed(store::Reader& reader);

}  // namespace vortex::api
