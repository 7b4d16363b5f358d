#pragma once
// The audit log: who did what to what, when, and with which outcome.
//
// Entries wait in memory for a moment and are written together, so that a submit pays nothing for
// its entry; those of operators' acts are durable before the act is answered. Requests that fail
// again and again are counted and become one entry per minute, and what waits is bounded: a flood
// costs neither memory nor disk. Holds names and ids only, cut to a length; never secrets or
// bodies. Any thread.

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "api/backend.h"
#include "base/time.h"
#include "model/commit.h"

namespace vortex::api {

class AuditLog {
 public:
  static constexpr Duration kMergedFor = minutes(1);
  static constexpr std::uint32_t kSingleMax = 20;     // failures of a client with their own entry
  static constexpr std::size_t kClientsMax = 1'000;   // that are told apart when they fail
  static constexpr std::size_t kWaitingMax = 10'000;  // entries that wait to be written

  explicit AuditLog(Backend& backend) : backend_(backend) {}

  // `entry` without number and time.
  void note(AuditRow entry);
  // The same, and everything noted before: durable when it returns. When the store refuses, it
  // waits like any other entry.
  boost::asio::awaitable<void> write_now(AuditRow entry);

  // kDue: counted failures only once their minute is over.
  enum class Which : std::uint8_t { kDue, kAll };
  boost::asio::awaitable<void> flush(Which which);

 private:
  struct Waiting {
    AuditRow row;      // numbered once it was tried to be written
    Instant noted_at;  // boot clock
  };
  // Failures of one client with one status.
  struct Failures {
    Instant since;  // boot clock
    std::uint32_t single = 0;
    std::uint64_t more = 0;
    AuditRow merged;  // what the further ones have in common
    Instant last_at;  // boot clock
  };
  using ClientKey = std::tuple<std::string, std::string, std::uint32_t>;  // address, who, status

  bool is_merged(const AuditRow& entry, Instant now);
  void close_minutes(Instant now, Which which);
  void add(AuditRow entry, Instant noted_at);
  std::vector<AuditRow> take(Which which);
  void number(AuditRow& row, Instant noted_at, Instant now);
  boost::asio::awaitable<bool> write(std::vector<AuditRow> rows);

  Backend& backend_;
  std::mutex mutex_;  // around everything below; never held across a call
  std::deque<Waiting> waiting_;
  std::map<ClientKey, Failures> failures_;
  std::uint64_t dropped_ = 0;  // entries that found no room
  std::uint64_t last_seq_ = 0;
};

}  // namespace vortex::api
