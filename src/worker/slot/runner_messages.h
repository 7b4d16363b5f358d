#pragma once
// What a worker and the runners of its slots say to each other, over a SOCK_SEQPACKET pair.
//
// Both ends are the same program on the same machine, so these are plain structs in host order.
// Descriptors travel with an order by SCM_RIGHTS. Beside the socket there is the fence, one number
// in shared memory: how long tasks may run without another word of the worker. Nothing here
// allocates or blocks, so that the runner may use all of it.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>

#include <sys/uio.h>

#include "base/time.h"
#include "model/sync.h"
#include "worker/files.h"

namespace vortex::worker {

// The descriptor on which a runner finds its end of the pair.
inline constexpr int kRunnerControl = 3;

enum class OrderKind : std::uint32_t {
  kJoin = 1,  // descriptors: files `cgroup.procs` to enter, before anything is started
  kStart,     // descriptors: the output's write end, then the payload unless it is inline
  kKill,      // TERM, then KILL after the grace; a shorter grace replaces a longer one
  kRoot,      // descriptor: the folder that tasks have as their root, before anything is started
  kRecord,    // descriptor: the record in which tasks note themselves, before anything is started
  kFence,     // descriptor: the memory of a Fence; grace of the kill when it is passed
  kConfine,   // a ConfineOrder and the writable folder follow; before anything is started
  kRights,    // a ConfineOrder follows: user and limits of the tasks from here on
};

// The payload of kStart: argv, then environment, then the working directory, each text closed by
// a zero byte. An empty working directory is the runner's own.
struct Order {
  OrderKind kind = OrderKind::kJoin;
  std::uint32_t argc = 0;
  std::uint32_t envc = 0;
  std::uint32_t grace_ms = 0;
  std::uint64_t payload_bytes = 0;
  std::uint32_t payload_inline = 0;  // 1: follows this struct in the packet; 0: is a memfd
  std::uint32_t slot = 0;            // of kRecord
  std::uint64_t run = 0;             // of kStart, for the record: what the task is an attempt at
  std::uint64_t epoch = 0;
  std::uint32_t task = 0;
  std::uint32_t level = 0;
};

// The longest payload that goes into the packet itself; well below the limit of the socket.
inline constexpr std::size_t kPayloadInlineMax = 32 * 1024;
inline constexpr std::size_t kOrderFdsMax = 8;

// That a task has started is said after this long: of one that ends sooner its end says enough, and
// to wake the worker twice is a good part of what a short task costs.
constexpr Duration kStartSaidAfter = millis(4);

enum class WordKind : std::uint32_t {
  kStarted = 1,  // it runs; not said of a task that ended soon
  kNotStarted,   // code: errno, step: where it failed; nothing failed if it was fenced
  kGone,         // code: the leader's wait status; every process of the task is gone and reaped
};

enum class StartStep : std::uint32_t { kPrepare, kWorkdir, kProgram };

// Whether the task's first process ended before the runner sent it a signal, and if not, why the
// runner did.
enum class EndedBy : std::uint32_t { kItself, kOrder, kFence };

struct Word {
  WordKind kind = WordKind::kStarted;
  std::int32_t code = 0;
  StartStep step = StartStep::kPrepare;
  EndedBy ended_by = EndedBy::kItself;
};

// Until when the tasks of a worker may run, by the boot clock. The worker moves it on with every
// answer of a controller; a runner that finds it passed ends its task, whatever became of the
// worker. To move it costs one store, to look at it one load.
class Fence {
 public:
  // A new one, passed already. The error is an errno.
  static std::expected<Fence, int> create();
  // The same in another process; one that cannot be mapped is passed for ever.
  static Fence open(Fd file);

  Fence() = default;  // never passed
  ~Fence();
  Fence(Fence&& other) noexcept;
  Fence& operator=(Fence&& other) noexcept;
  Fence(const Fence&) = delete;
  Fence& operator=(const Fence&) = delete;

  void move_to(Instant until);  // any thread
  Instant until() const;
  int file() const { return file_.get(); }  // for another process; -1: there is none

 private:
  Fd file_;
  std::int64_t* until_us_ = nullptr;
  Instant without_ = kNever;  // while there is no memory
};

// Never waits. False: not sent, errno says why.
bool send_packet(int socket, std::span<iovec> parts, std::span<const int> fds);

struct Packet {
  std::size_t bytes = 0;  // 0: the other end is gone
  std::size_t fd_count = 0;
  Fd fds[kOrderFdsMax];
};

// Never waits. False: nothing came (errno EAGAIN) or the packet did not fit.
bool receive_packet(int socket, std::span<std::byte> into, Packet& packet);

// How a task ended or why it did not start, in words for the person whose task it is.
//
// Pure functions; a program and a folder are quoted as they were given, and cut when very long.

struct StartFault {
  StartStep step = StartStep::kPrepare;
  int error = 0;
  std::string_view program;
  std::string_view workdir;
};
std::string could_not_start_text(const StartFault& fault);

// "killed by signal 9 (KILL)"
std::string signal_text(int signal);
// "512 MiB", or bytes when it is no round number of a unit.
std::string size_text(std::int64_t bytes);

// Of a wait status that is not exit code 0.
Failed failure_of(int wait_status);
Failed out_of_memory(int wait_status, std::int64_t limit_bytes);

}  // namespace vortex::worker
