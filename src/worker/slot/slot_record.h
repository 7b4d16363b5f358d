#pragma once
// Which processes a worker has started, in a file that outlives it: for its supervisor, which tells
// what ran in a dead worker, and for the next supervisor on this host, when both were killed
// together and left something behind.
//
// The file is mapped: a change costs a few stores, and kill -9 at any moment loses none. It says
// nothing after a restart of the machine, and needs no sync to disk for that reason. A process is
// named by its id and the span of time in which it must have been started, so that an id that was
// used again is recognised. Ids mean something only in the process space they were written in,
// which the file names as well. On disk: append-only. Each entry has one writer at a time: the
// executor's thread, or the first process of a task, which notes itself before it is that task.

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/time.h"
#include "model/sync.h"
#include "worker/files.h"

namespace vortex::worker {

// The identity of this start of the machine.
std::string boot_id();
// The process space of the caller (its namespace), as a number; 0: not known.
std::uint32_t own_pid_space();

struct RecordedProcess {
  pid_t pid = 0;
  Instant from;  // boot clock; it was started in this span
  Instant until;
  Attempt attempt = {};  // of a leader: what it works on; epoch 0: none
};

// Whether the process with this id is that one, now.
bool is_alive(const RecordedProcess& process);
RecordedProcess this_process();

class SlotRecord {
 public:
  struct Config {
    std::string path;
    std::uint32_t slots = 0;
    std::string work_dir;  // tasks have paths below it in their environment
    std::uint32_t pid_space = own_pid_space();
    std::string worker = {};  // its id
  };
  static std::expected<SlotRecord, std::string> create(const Config& config);
  // The same record in another process. One that cannot be mapped writes nothing.
  static SlotRecord open(Fd file);

  SlotRecord() = default;  // writes nothing
  ~SlotRecord();
  SlotRecord(SlotRecord&& other) noexcept;
  SlotRecord& operator=(SlotRecord&& other) noexcept;
  SlotRecord(const SlotRecord&) = delete;
  SlotRecord& operator=(const SlotRecord&) = delete;

  enum class Role : std::uint8_t { kRunner, kLeader, kWorker };
  struct Cell {
    std::uint32_t slot = 0;  // means nothing for kWorker
    Role role = Role::kRunner;
  };
  void set(Cell cell, const RecordedProcess& process);
  // Writes all but the id, which the process stores itself where this points: from then on it is
  // recorded. Null: nothing is written here.
  std::int32_t* expect(Cell cell, const RecordedProcess& process);
  void clear(Cell cell);
  // From one thread: a life that the worker is about to register. On record before anybody hears of
  // it, so that proof of its end covers it.
  void note_life(Incarnation life);

  // From the same thread: the secret of a life that was noted, before anything is said in it, so
  // that its end can be proved.
  void note_session(Incarnation life, const std::string& session);

  // For another process; -1: there is none.
  int file() const { return file_.get(); }

 private:
  struct Mapped;

  Fd file_;
  Mapped* mapped_ = nullptr;
  std::size_t bytes_ = 0;
};

struct RecordContents {
  std::string boot_id;
  std::string work_dir;
  std::uint32_t pid_space = 0;            // 0: an older file, which knew of one only
  std::optional<RecordedProcess> worker;  // whose record it is; an older file does not say
  std::vector<RecordedProcess> processes;
  std::vector<Incarnation> lives;  // the newest, in any order
  std::string session = {};        // of the newest life whose secret is known; empty: of none
  std::string worker_id = {};      // empty: an older file does not say
};
// Whether its ids mean the same to the caller.
bool is_of_own_pid_space(const RecordContents& record);
// What a record says; nothing at all when it is damaged or of another kind.
RecordContents read_record(const std::string& path);
// The attempts whose processes are recorded.
std::vector<Attempt> recorded_attempts(const RecordContents& record);

}  // namespace vortex::worker
