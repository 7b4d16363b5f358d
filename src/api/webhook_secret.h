#pragma once
// The secret of a webhook and the signature it makes, in the form of Standard Webhooks 1.0: the
// receiver can tell that a message is ours, whole, and recent. Pure but for the random bits.

#include <string>
#include <string_view>

namespace vortex::api {

// `whsec_` and 256 random bits in base64.
std::string mint_webhook_secret();

struct SignedParts {
  std::string_view id;         // of the message
  std::string_view timestamp;  // seconds since 1970, as text
  std::string_view body;
};
// `v1,` and the HMAC-SHA256 of the parts in base64. Empty: this is not a secret of ours.
std::string sign_webhook(std::string_view secret, const SignedParts& parts);

}  // namespace vortex::api
