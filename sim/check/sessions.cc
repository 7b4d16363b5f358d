#include <map>
#include <set>

#include "sim/check/say.h"
#include "sim/check/subjects.h"

namespace vortex::sim {

namespace {

// 49: what is said for a worker counts only with a session that the worker was given.
class SessionsKept : public Checker {
 public:
  explicit SessionsKept(const CheckerTools& tools) : Checker("49-sessions-kept", tools) {}

  void fact(const Picture& picture, Instant, const Fact& fact) override {
    if (const auto* commit = std::get_if<Committed>(&fact)) {
      for (const WorkerRow& row : commit->rows.workers)
        given_[row.info->id].insert(row.session_hash);
    }
    const auto* told = std::get_if<ClientTold>(&fact);
    if (told == nullptr) return;
    if (const auto* sync = std::get_if<core::Sync>(&told->command)) {
      check(sync->body.worker, sync->session, std::holds_alternative<SyncReply>(told->answer));
    }
    const bool done = std::holds_alternative<core::Done>(told->answer);
    if (const auto* keep = std::get_if<core::KeepCheckpoint>(&told->command)) {
      check(keep->by.worker, keep->by.session, done);
    }
    if (const auto* exited = std::get_if<core::WorkerExited>(&told->command)) {
      // Proof about an earlier life is taken from anybody: it changes nothing.
      const WorkerRow* row = picture.workers().find(exited->worker);
      const bool current = row != nullptr && row->incarnation == exited->incarnation;
      check(exited->worker, exited->session, done && current);
    }
  }

 private:
  void check(const WorkerId& worker, const std::string& session, bool accepted) {
    const auto known = given_.find(worker);
    if (!accepted || known == given_.end() || known->second.contains(session)) return;
    violated("something was accepted for '{}' with the session '{}', which it never had",
             worker.text, session);
  }

  std::map<WorkerId, std::set<std::string>> given_;  // hashes, of all lives
};

}  // namespace

void add_session_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<SessionsKept>(tools));
}

}  // namespace vortex::sim
