#pragma once
// What a controller answers while its database is away at start: /livez says that the process runs,
// /readyz and /health say that it cannot serve, everything else is 503 with Retry-After.
//
// Listens where the controller will, on a thread of its own, and is gone when the object is: then
// the controller takes the port. Needs no database and no tokens, and tells nothing about either.

#include <expected>
#include <memory>
#include <string>
#include <thread>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include "base/settings.h"
#include "net/server.h"

namespace vortex::controller {

class WaitingRoom {
 public:
  // The error is a sentence for people.
  static std::expected<std::unique_ptr<WaitingRoom>, std::string> open(const Settings& settings);
  ~WaitingRoom();
  WaitingRoom(const WaitingRoom&) = delete;
  WaitingRoom& operator=(const WaitingRoom&) = delete;

 private:
  WaitingRoom();

  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::unique_ptr<net::Server> server_;
  std::thread thread_;
};

}  // namespace vortex::controller
