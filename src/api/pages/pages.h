#pragma once
// The dashboard's files as the controller serves them: held in the binary, compressed, public.
//
// Nothing secret is in them; everything they show is fetched from the API with a token or session.
// Names of files carry a digest of their content and may be kept for ever; the page itself is asked
// for again each time. Pure functions over a table that never changes: any thread.

#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "net/http.h"

namespace vortex::api {

struct PageFile {
  std::string_view path;  // /assets/index-3fa9.js
  std::string_view type;
  std::string_view etag;  // with its quotes
  std::string_view gzip;
};

struct Dashboard {
  std::span<const PageFile> files;           // empty: built without a dashboard
  std::span<const std::string_view> places;  // first segments of addresses within the page
};

// Made by the build from web/ (see web/CMakeLists.txt).
Dashboard dashboard();

// The answer to a GET or HEAD outside of the API; unset: no such file or page.
using Pages = std::function<std::optional<net::Response>(const net::Request&)>;
Pages serve_pages(Dashboard dashboard);

}  // namespace vortex::api
