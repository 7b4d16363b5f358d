#pragma once
// One connection to a PostgreSQL server, and what its errors mean for the store.
//
// No wait has no end: a server that does not answer in time is taken for lost and the connection is
// closed. Belongs to one thread at a time.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "store/error.h"

struct pg_conn;
struct pg_result;

namespace vortex::store::postgres {

enum class Use : std::uint8_t { kWrite, kRead, kWatch, kTool };

struct ConnectionSetup {
  std::string url;
  Use use = Use::kRead;
  Duration timeout = seconds(10);  // of one wait for the server
};

// What an SQLSTATE asks of the caller.
Fault fault_of(std::string_view sqlstate);

// The moment on the steady clock when something that starts now has taken too long.
std::int64_t deadline_after(Duration timeout);

struct ResultDeleter {
  void operator()(pg_result* result) const;
};
using ResultPtr = std::unique_ptr<pg_result, ResultDeleter>;

class Connection {
 public:
  static Result<std::unique_ptr<Connection>> open(const ConnectionSetup& setup);
  // After open() failed: a server is up and turns us away for what the settings say (user,
  // password, database), so that trying again is of no use.
  static bool is_refused(const ConnectionSetup& setup);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  Connection(Connection&&) = delete;
  Connection& operator=(Connection&&) = delete;

  pg_conn* handle() const { return db_; }
  int socket() const;
  int backend_pid() const;
  // The other side has closed it, or it failed. Looks without waiting.
  bool is_lost();

  // Outside of the pipeline: runs statements one after the other, all in one transaction unless
  // they say otherwise. The rows of the last one, as text.
  using Row = std::vector<std::optional<std::string>>;
  Result<std::vector<Row>> exec(const std::string& sql, Duration timeout);
  Result<std::vector<Row>> exec(const std::string& sql) { return exec(sql, setup_.timeout); }

  // Waits until the server has something to say or, with `to_write`, takes more. False: the time is
  // up or the connection failed.
  bool wait(bool to_write, std::int64_t deadline) const;

  Error lost(std::string_view doing) const;  // what the library says
  static Error error_of(const pg_result* result, std::string_view doing);

  // A warning arrived since this was last set to false.
  bool warned = false;
  std::string warning;

 private:
  Connection(pg_conn* db, ConnectionSetup setup) : db_(db), setup_(std::move(setup)) {}
  Result<void> set_up();

  pg_conn* db_;
  ConnectionSetup setup_;
};

}  // namespace vortex::store::postgres
