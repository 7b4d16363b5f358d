#pragma once
// What several controllers over one database made durable, in the order of their terms, for the
// simulator's history checkers.
//
// Each controller's store is wrapped: it tells commits and terms, and obeys its Plug, which cuts or
// stalls it. The database itself notes every step of the term clock in the transaction that makes
// it (kNoteCommits): so a commit whose answer was lost is looked up and not guessed, and a commit
// under an older term than the newest shows. From any thread; judge() is for after the end.

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "core/state/policy.h"
#include "sim/history.h"
#include "store/store.h"

namespace vortex::chaos {

// Makes the table commit_notes; to be run in the schema of the store.
extern const char* const kNoteCommits;
// Reads it, as text for SharedHistory::judge.
extern const char* const kReadNotes;

class SharedHistory {
 public:
  void began(const store::Won& won);
  enum class Answer : std::uint8_t { kDurable, kLost };
  void committed(const Commit& commit, Answer answer);
  // The checkers are not shown events of this kind: they must notice.
  void leave_out(EventKind kind);

  struct Verdict {
    std::uint64_t terms = 0;
    std::uint64_t commits = 0;
    std::uint64_t lost_answers = 0;
    std::uint64_t lost_but_durable = 0;
    std::vector<std::string> violations;
  };
  Verdict judge(const core::Policy& policy, const std::string& notes);

 private:
  struct Entry {
    Instant at;
    sim::Fact fact;
    Instant clock;  // of a commit
    bool is_commit = false;
    Answer answer = Answer::kDurable;
  };
  std::mutex guard_;
  std::map<Term, std::vector<Entry>> terms_;
  std::set<EventKind> left_out_;
  std::vector<std::string> broken_;
};

// Between one controller and its database.
class Plug {
 public:
  void cut();  // from now on nothing reaches the database: for the controller it is gone
  void stall();
  void go_on();
  // Waits while it stalls; false: it is cut.
  bool passes();

 private:
  std::mutex guard_;
  std::condition_variable changed_;
  bool cut_ = false;
  bool stalls_ = false;
};

// Passes everything on to `inner` as far as `plug` lets it. `history` outlives it.
std::unique_ptr<store::Store> record(std::unique_ptr<store::Store> inner, SharedHistory& history,
                                     std::shared_ptr<Plug> plug);

}  // namespace vortex::chaos
