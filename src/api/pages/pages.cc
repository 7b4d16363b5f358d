#include "api/pages/pages.h"

#include <algorithm>
#include <string>

namespace vortex::api {
namespace {

// Scripts, styles and connections of our own origin alone; no inline script, no plug-in, no frame.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

constexpr std::string_view kNone =
    "This build of vortex has no dashboard.\n"
    "Build it with -DVX_DASHBOARD=ON (the default), which needs npm. The API is at /api/, and the\n"
    "commands `vortex status` and `vortex top` show the system in a terminal.\n";

constexpr std::string_view kIndex = "/index.html";

bool is_kept(const PageFile& file) { return file.path.starts_with("/assets/"); }

bool has_it(const net::Request& request, const PageFile& file) {
  const auto known = net::find_header(request.headers, "If-None-Match");
  return known && (*known == "*" || known->find(file.etag) != std::string_view::npos);
}

net::Response answer_file(const net::Request& request, const PageFile& file) {
  net::Response response;
  response.content_type = file.type;
  response.headers = {
      {"ETag", std::string(file.etag)},
      {"Cache-Control", is_kept(file) ? "public, max-age=31536000, immutable" : "no-cache"},
      {"Content-Security-Policy", std::string(kPolicy)}};
  if (has_it(request, file)) {
    response.status = 304;
    return response;
  }
  response.headers.emplace_back("Content-Encoding", "gzip");
  response.body = file.gzip;
  return response;
}

net::Response answer_none() {
  net::Response response;
  response.status = 404;
  response.content_type = "text/plain; charset=utf-8";
  response.body = kNone;
  return response;
}

const PageFile* find_file(std::span<const PageFile> files, std::string_view path) {
  const auto found = std::ranges::find(files, path, &PageFile::path);
  return found == files.end() ? nullptr : &*found;
}

}  // namespace

Pages serve_pages(Dashboard dashboard) {
  return [dashboard](const net::Request& request) -> std::optional<net::Response> {
    std::string path;
    for (const std::string& segment : request.segments) path += "/" + segment;
    if (dashboard.files.empty()) {
      return path.empty() ? std::optional(answer_none()) : std::nullopt;
    }
    // An address within the page is answered with the page, which then shows what it names.
    const bool is_place =
        path.empty() ||
        std::ranges::find(dashboard.places, request.segments.front()) != dashboard.places.end();
    const PageFile* file = find_file(dashboard.files, is_place ? kIndex : path);
    if (file == nullptr) return std::nullopt;
    return answer_file(request, *file);
  };
}

}  // namespace vortex::api
