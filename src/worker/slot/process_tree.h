#pragma once
// The processes below one process, read from /proc, and how to end them all.
//
// A process that is a child subreaper has everything it ever started below itself until it reaps
// it, however often it was forked or moved to a session of its own. So "no child is left" is an
// exact statement, and killing what is below, again and again, ends with nothing left.
// Process ids are used again by the system: no signal goes to a process that is not (or no longer)
// below. Any thread; nobody else in the process may wait for children it did not start itself.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <sys/types.h>

namespace vortex::worker {

struct ProcessStat {
  char state = '?';
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  std::uint64_t start_ticks = 0;  // since boot, in units of 1/sysconf(_SC_CLK_TCK)
};
std::optional<ProcessStat> read_process_stat(pid_t pid);

struct TreeProcess {
  pid_t pid = 0;
  pid_t parent = 0;  // as it was found
};

// All that is below `root`, without the processes of `spared` and what is below those.
std::vector<TreeProcess> processes_below(pid_t root, std::span<const pid_t> spared = {});

// False: it is gone, or is no longer where it was found.
bool signal_in_tree(TreeProcess process, int signal);

// TERM to everything below the caller: once to the group, once to each process outside of it.
void terminate_tree(pid_t leader);

struct TreeKill {
  std::span<const pid_t> spared;
  std::function<void()> reap;  // the dead, again and again: else they fill the list of children
};
// KILL to everything below the caller. All are stopped first, so that a tree that forks faster
// than it can be killed runs out of processes that could fork. New ones may be left: call again
// until no child is left.
void kill_tree(const TreeKill& kill);
// The same, reaping all that is not spared.
void kill_and_reap_tree(std::span<const pid_t> spared = {});

// Reaps the dead children of the caller that are not spared, and says how many children are left.
std::size_t reap_children(std::span<const pid_t> spared = {});

}  // namespace vortex::worker
