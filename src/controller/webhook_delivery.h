#pragma once
// One try to tell a receiver one message: signed, within a limit, redirects not followed.
//
// Taken is what was answered with 2xx; everything else is trouble in words for people. Runs on the
// executor of the client that it is given.

#include <string>

#include <boost/asio/awaitable.hpp>

#include "api/backend.h"
#include "controller/webhook_message.h"
#include "net/client.h"

namespace vortex::controller {

struct Receiver {
  net::WebAddress address;
  std::string secret;
};

net::ClientConfig client_config(const Receiver& receiver);

boost::asio::awaitable<api::Delivery> deliver(net::Client& client, const Receiver& receiver,
                                              const WebhookMessage& message);

// Sending the same again would be answered in the same way: it is the message that is not wanted.
bool refuses_message(const api::Delivery& delivery);

}  // namespace vortex::controller
