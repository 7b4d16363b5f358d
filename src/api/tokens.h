#pragma once
// Access tokens: how they are made, and the only form in which they are kept.
//
// A token is 256 random bits as text with the prefix `vx_`. Stored is a hash of it; as the secret
// has full entropy, a plain fast hash cannot be searched. Append-only: hashes are on disk.

#include <string>
#include <string_view>

namespace vortex::api {

std::string mint_token();
// In hexadecimal.
std::string hash_token(std::string_view secret);
// Takes the same time wherever the two differ.
bool same_hash(std::string_view a, std::string_view b);

}  // namespace vortex::api
