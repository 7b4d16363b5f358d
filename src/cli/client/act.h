#pragma once
// Commands that change something: one call, and what it came to in every form of -o.
//
// With table output the outcome is said on stderr: there is no data. JSON is the server's answer.

#include <functional>
#include <string>
#include <vector>

#include "cli/client/api_client.h"

namespace vortex::cli {

struct Act {
  ApiRequest request;
  std::string name;                                // of what it was done to, for -o name
  std::string done;                                // "run r42 is being cancelled"
  std::function<Failure(Failure)> explained = {};  // adds what the caller knows; unset: nothing
};

ExitCode act(const Context& context, ApiClient& api, Act what);

// One after the other; goes on after a failure and ends with the first one's exit code.
ExitCode act_on_all(const Context& context, ApiClient& api, std::vector<Act> acts);

inline ApiRequest post_request(std::string target, std::string body = {}) {
  return {net::Method::kPost, std::move(target), std::move(body), {}, {}};
}

}  // namespace vortex::cli
