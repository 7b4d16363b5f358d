#pragma once
// What a supervisor has to tell about its worker processes, on its way into the controller's
// monitor log (CONTRACT M01, M06).
//
// Every entry has a number and is written to a file before it is sent, in order, until a controller
// has taken it: also later, also by the next supervisor with this name. What is sent twice counts
// once. At most kEntriesMax wait; beyond that the oldest go, and the next one says how many. The
// file is not synced: it outlives kill -9, not a power cut. Sends on a thread of its own.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "model/event.h"
#include "model/ids.h"
#include "net/client.h"
#include "worker/known_controllers.h"
#include "worker/options.h"

namespace vortex::worker {

struct JournalEntry {
  EventKind kind = EventKind::kWorkerSpawn;
  WorkerId worker;
  Incarnation incarnation;  // of an end: the newest life that ended
  std::vector<EventField> data;
  std::string session = {};  // of an end: the secret of that life; empty: not known
};

class Journal {
 public:
  static constexpr std::size_t kEntriesMax = 1'000;
  static constexpr Duration kLastWords = seconds(2);

  struct Config {
    std::string path;  // kept until all is told
    std::string machine;
    std::string supervisor;
    std::shared_ptr<KnownControllers> controllers;  // learns from the answers
    OwnLog log;
  };
  // Takes over what an earlier supervisor could not tell.
  explicit Journal(Config config);
  // Tells what is left, to each controller once and for at most kLastWords, and ends. The file
  // stays if something is left.
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  void write(const JournalEntry& entry);

 private:
  struct Waiting {
    std::uint64_t number = 0;
    std::string json;
  };
  void read_file();
  void begin_anew();
  void rewrite();
  void run();
  enum class Told : std::uint8_t { kYes, kNotNow, kNever };
  Told tell(const std::vector<Waiting>& entries);

  Config config_;
  std::size_t turn_ = 0;  // of a controller; of the thread alone
  std::string told_;      // which controllers there are; of the thread alone
  std::string trouble_;   // told last; of the thread alone
  std::mutex guard_;
  std::condition_variable changed_;
  std::string journal_;  // its id
  std::uint64_t last_ = 0;
  std::uint64_t lost_ = 0;
  std::deque<Waiting> waiting_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace vortex::worker
