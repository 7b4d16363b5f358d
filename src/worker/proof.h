#pragma once
// Tells the controller that a worker process is gone and nothing of its tasks is left: PROOF.
//
// Runs on a thread of its own, so that the supervisor is never held up by the network. Each proof
// is repeated, at every controller in turn, until one has taken it or its time is over: by then the
// silence of the worker has told the same.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/time.h"
#include "model/sync.h"
#include "net/client.h"
#include "worker/options.h"

namespace vortex::worker {

struct Proof {
  WorkerId worker;
  Incarnation incarnation;         // the newest of its lives
  std::vector<Attempt> started;    // what ran in it; it may not have had the time to say so
  std::vector<Incarnation> lives;  // all it had: it may have registered anew by itself
  std::optional<int> status = {};  // how it ended, as from waitpid; unset: nobody saw it
  std::string session = {};        // the secret of its newest life that is known
};
// What the controller is sent.
std::string proof_body(const Proof& proof);

class ProofTeller {
 public:
  struct Config {
    std::vector<net::ClientConfig> controllers;
    Duration give_up_after = seconds(60);
    OwnLog log;  // called on the teller's thread
  };
  explicit ProofTeller(Config config);
  // Tells what is still to be told once more, for at most `kLastWords`, and ends. Of a worker in
  // which nothing ran each controller is told only once.
  ~ProofTeller();
  ProofTeller(const ProofTeller&) = delete;
  ProofTeller& operator=(const ProofTeller&) = delete;

  static constexpr Duration kLastWords = seconds(2);

  void tell(Proof proof);

 private:
  struct Pending {
    Proof proof;
    Instant since;
    std::size_t tries = 0;
  };
  void run();
  bool try_once(const Pending& pending);

  Config config_;
  std::size_t current_ = 0;
  std::mutex guard_;
  std::condition_variable changed_;
  std::deque<Pending> pending_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace vortex::worker
