// Prints the description of the API, for the types of the dashboard.
#include <iostream>

#include "api/schema/schema.h"
#include "base/version.h"

int main() { std::cout << vortex::api::openapi_json(vortex::version()) << '\n'; }
