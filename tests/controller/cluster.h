#pragma once
// Several whole controllers in the test's own process over one store in memory, and clients that
// talk to any of them over real HTTP. The clock that judges their leases can be moved on.

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "base/time.h"
#include "cli/local/folder.h"
#include "controller/controller.h"
#include "net/client.h"
#include "store/store.h"

namespace vortex::controller {

struct ClusterAnswer {
  int status = 0;  // 0: none came
  boost::json::value body;
  std::string text;
  net::Headers headers;
  std::string code() const;  // of a problem
  std::string text_at(const std::string& key) const;
};

class Cluster {
 public:
  // With `tokens` they are required.
  explicit Cluster(std::size_t controllers, std::vector<std::string> flags = {},
                   const std::vector<TokenRow>& tokens = {});
  ~Cluster();

  std::size_t leader() const;   // which of them leads; waits for one
  std::size_t standby() const;  // one that does not, and is ready
  Controller& at(std::size_t i) { return *controllers_[i]; }
  bool is_running(std::size_t i) const { return controllers_[i] != nullptr; }
  void stop(std::size_t i) { controllers_[i].reset(); }
  // As if the database's clock had jumped: every lease has ended.
  void end_leases() { skew_us_ += hours(1).us; }
  store::Store& store() { return *store_; }

  net::ClientConfig client(std::size_t i) const;
  ClusterAnswer call(std::size_t i, net::Call call) const;
  ClusterAnswer get(std::size_t i, const std::string& target) const;
  ClusterAnswer post(std::size_t i, const std::string& target, const std::string& body = {},
                     net::Headers headers = {}) const;
  // Registers a worker there: the session's header and its incarnation.
  struct Session {
    net::Headers headers;
    std::int64_t incarnation = 0;
  };
  Session enlist(std::size_t i, const std::string& worker, const std::string& address = {}) const;
  static std::string sync_body(const Session& session, int seq, int wait_ms,
                               const std::string& held = "[]", const std::string& reports = "[]");

 private:
  cli::local::TempFolder folder_;
  std::atomic<std::int64_t> skew_us_{0};
  std::unique_ptr<store::Store> store_;
  std::vector<std::unique_ptr<Controller>> controllers_;
};

// Whether this becomes true within a minute.
bool soon(const std::function<bool()>& holds);

}  // namespace vortex::controller
