#pragma once
// The description of the interface as OpenAPI 3.1, made from the route table and the schemas.
// Nothing is written by hand, so it cannot say what the program does not do.

#include <string>
#include <string_view>

namespace vortex::api {

std::string openapi_json(std::string_view version);

}  // namespace vortex::api
