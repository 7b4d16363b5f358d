#pragma once
// The controller as a whole: store, engine, committer, reads, HTTP, wired and started in order.
//
// It stops in the reverse order: no new connections, parked calls answered, everything stepped is
// committed, leadership given back. The process may also be killed at any instant: what was
// acknowledged is in the store, and the next start goes on from there.

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/settings.h"
#include "base/time.h"
#include "model/commit.h"
#include "net/tls_files.h"
#include "store/store.h"

namespace vortex::net {
class ServerTls;
}

namespace vortex::controller {

// The certificate and key that the settings name, read and checked; null: plain HTTP. The error is
// for people.
std::expected<std::shared_ptr<net::ServerTls>, std::string> open_tls(
    const ControllerSettings& settings);

struct ControllerParts {
  LoadedSettings settings;
  std::string id;  // of this controller; empty: made from host and process
  std::unique_ptr<store::Store> store;
  // What it trusts of other controllers' certificates; null: what the system trusts.
  std::shared_ptr<net::ClientTrust> trust = {};
  std::vector<TokenRow> tokens = {};  // valid besides those in the store
  // Told the port before the first request is answered.
  std::function<void(std::uint16_t port)> listening = [](std::uint16_t) {};
  std::function<void(LogLevel, const std::string&)> log = [](LogLevel, const std::string&) {};
};

class Controller {
 public:
  // Opens the listener and begins to lead. The error is a sentence for people with a fix.
  static std::expected<std::unique_ptr<Controller>, std::string> start(ControllerParts parts);

  Controller() = default;
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;
  virtual ~Controller() = default;
  virtual std::uint16_t port() const = 0;
  virtual std::string url() const = 0;
  virtual bool serves() const = 0;    // it leads, and what it knew is loaded
  virtual bool is_ready() const = 0;  // it serves, or passes on what it cannot serve
  virtual void reload() = 0;          // looks at the certificate's files now
  virtual void stop() = 0;            // idempotent; returns when all is committed and closed
};

}  // namespace vortex::controller
