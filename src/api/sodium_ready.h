#pragma once
// libsodium must be set up before its first use, so whatever uses it here asks for that first.
//
// Only the first call does anything. Any thread. Ends the process if the library cannot be set up:
// without random bits there are no secrets.

namespace vortex::api {

void sodium_ready();

}  // namespace vortex::api
