#pragma once
// Where a request claims to come from and go to: the guards against other sites in the browser.
//
// Pure functions over headers. On loopback only the names of loopback are served, so that a foreign
// name that resolves to 127.0.0.1 (DNS rebinding) reaches nothing; a page of another origin is
// refused with every method.

#include <optional>
#include <string>
#include <string_view>

#include "api/trouble.h"
#include "net/http.h"

namespace vortex::api {

// `host`, `host:port`, `[::1]`, `[::1]:port`.
bool is_loopback_host(std::string_view host);

std::optional<Trouble> check_host(const net::Headers& headers, bool loopback_only);
std::optional<Trouble> check_origin(const net::Headers& headers);

}  // namespace vortex::api
