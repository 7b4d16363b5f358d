#pragma once
// A whole controller inside the test's own process, on a temporary folder and a free port, and a
// client that talks to it over real HTTP.
//
// Each test has its own. `again()` stops it and starts a new one on the same database.

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <boost/json.hpp>

#include "bench/vortex/fleet.h"
#include "cli/local/folder.h"
#include "controller/controller.h"
#include "net/client.h"
#include "store/sqlite/open.h"

namespace vortex::controller {

class TestServer {
 public:
  struct Options {
    std::vector<std::string> flags{"--tuning=testing"};
  };
  explicit TestServer(Options options);
  TestServer() : TestServer(Options{}) {}
  ~TestServer();

  void start();
  void start_without_waiting();
  void stop();
  void again() { stop(), start(); }
  void set_flags(std::vector<std::string> flags) { options_.flags = std::move(flags); }

  net::Endpoint endpoint() const;
  const std::string& folder() const { return folder_.path(); }
  std::string database() const { return folder_.path() + "/vortex.db"; }

  struct Answer {
    int status = 0;  // 0: none came
    boost::json::value body;
    std::string text;
    net::Headers headers;
  };
  Answer get(const std::string& target);
  Answer remove(const std::string& target);
  Answer post(const std::string& target, const std::string& body = {}, net::Headers headers = {});

  // Submits a DAG given as the JSON of its tasks; its run id.
  std::string submit(const std::string& tasks, const std::string& key = {});
  // Asks until the value at `key` of the answer is as wanted; false: not within a minute.
  bool eventually(const std::string& target, const std::string& key, const std::string& wanted);
  // Whether the controller's own log has, or gets within a minute, such a line at this level.
  bool logged(LogLevel level, const std::string& part);

 private:
  Answer call(net::Call call);

  struct Log {
    std::mutex guard;
    std::vector<std::pair<LogLevel, std::string>> lines;
  };

  Options options_;
  std::shared_ptr<Log> log_ = std::make_shared<Log>();
  cli::local::TempFolder folder_;
  std::unique_ptr<Controller> controller_;
};

// A worker driven by hand.
class TestWorker {
 public:
  TestWorker(TestServer& server, std::string id, int slots = 1);
  // One call of sync: held and reports as JSON arrays. The answer's body.
  boost::json::object sync(const std::string& held = "[]", const std::string& reports = "[]",
                           int wait_ms = 0);
  // Syncs until something is assigned: its (task, epoch).
  struct Given {
    std::string task;
    std::int64_t epoch = 0;
  };
  Given take();
  boost::json::object report(const Given& given, const std::string& kind,
                             const std::string& more = {});
  int last_status() const { return last_status_; }
  std::string incarnation() const { return std::to_string(incarnation_); }
  net::Headers headers() const { return {{"Vortex-Session", session_}}; }

 private:
  TestServer& server_;
  std::string id_;
  int slots_;
  std::int64_t incarnation_ = 0;
  std::string session_;
  std::int64_t seq_ = 0;
  std::string ack_ = R"({"term":0,"reply":0})";
  int last_status_ = 0;
};

}  // namespace vortex::controller
