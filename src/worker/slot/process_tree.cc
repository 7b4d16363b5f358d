#include "worker/slot/process_tree.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string_view>

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "worker/files.h"

namespace vortex::worker {
namespace {

// How often the tree is looked through for processes that were forked meanwhile. A tree that still
// grows after that is killed as far as it is known, and looked through again.
constexpr int kFreezePasses = 64;

std::string_view read_small(const char* path, std::span<char> buffer) {
  const Fd file(::open(path, O_RDONLY | O_CLOEXEC));
  if (!file) return {};
  const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
  return got <= 0 ? std::string_view() : std::string_view(buffer.data(), static_cast<size_t>(got));
}

template <class Number>
bool next_number(std::string_view& text, Number& out) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (fault != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

std::optional<pid_t> number_of(const char* name) {
  std::string_view text(name);
  pid_t pid = 0;
  if (!next_number(text, pid) || !text.empty()) return std::nullopt;
  return pid;
}

class Folder {
 public:
  explicit Folder(const char* path) : dir_(::opendir(path)) {}
  ~Folder() {
    if (dir_ != nullptr) ::closedir(dir_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  // The next entry that is a number; unset at the end.
  std::optional<pid_t> next() {
    while (dir_ != nullptr) {
      const dirent* entry = ::readdir(dir_);
      if (entry == nullptr) return std::nullopt;
      if (auto pid = number_of(entry->d_name)) return pid;
    }
    return std::nullopt;
  }

 private:
  DIR* dir_;
};

// A list may be longer than one read; the kernel gives it in pieces that end anywhere.
void append_list(int file, pid_t parent, std::vector<TreeProcess>& out) {
  char buffer[4096];
  pid_t number = 0;
  for (ssize_t got = 0; (got = ::read(file, buffer, sizeof(buffer))) > 0;) {
    for (const char c : std::string_view(buffer, static_cast<std::size_t>(got))) {
      if (c >= '0' && c <= '9') {
        number = number * 10 + (c - '0');
      } else if (number > 0) {
        out.push_back({number, parent});
        number = 0;
      }
    }
  }
}

void append_children_of_thread(pid_t parent, pid_t thread, std::vector<TreeProcess>& out) {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/%d/task/%d/children", parent, thread);
  const Fd file(::open(path, O_RDONLY | O_CLOEXEC));
  if (file) append_list(file.get(), parent, out);
}

void append_children(pid_t parent, std::vector<TreeProcess>& out) {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/%d/task", parent);
  struct stat threads{};
  if (::stat(path, &threads) != 0) return;
  // Two links of its own and one for each thread: most processes have one.
  if (threads.st_nlink <= 3) return append_children_of_thread(parent, parent, out);
  Folder folder(path);
  while (const auto thread = folder.next()) append_children_of_thread(parent, *thread, out);
}

// Kernels without the list of children: every process of the machine is asked for its parent.
std::vector<TreeProcess> all_processes() {
  std::vector<TreeProcess> all;
  Folder processes("/proc");
  while (const auto pid = processes.next()) {
    if (const auto stat = read_process_stat(*pid)) all.push_back({*pid, stat->parent});
  }
  return all;
}

bool kernel_lists_children() {
  static const bool listed = [] {
    char path[64];
    std::snprintf(path, sizeof(path), "/proc/self/task/%ld/children", ::syscall(SYS_gettid));
    return ::access(path, R_OK) == 0;
  }();
  return listed;
}

bool contains(std::span<const pid_t> pids, pid_t pid) {
  return std::ranges::find(pids, pid) != pids.end();
}

int pidfd_of(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }

// Who is whose child: from the kernel's lists as they are now, or from one look at all processes.
class Children {
 public:
  Children() : listed_(kernel_lists_children()) {
    if (!listed_) all_ = all_processes();
  }
  void append(pid_t parent, std::span<const pid_t> spared, std::vector<TreeProcess>& out) const {
    const auto before = static_cast<std::ptrdiff_t>(out.size());
    if (listed_) {
      append_children(parent, out);
    } else {
      std::ranges::copy_if(all_, std::back_inserter(out),
                           [&](TreeProcess process) { return process.parent == parent; });
    }
    const auto spare = [&](TreeProcess process) { return contains(spared, process.pid); };
    out.erase(std::remove_if(out.begin() + before, out.end(), spare), out.end());
  }

 private:
  bool listed_;
  std::vector<TreeProcess> all_;
};

// Calls `visit` for each as soon as it is found: what is looked at later may be gone by then.
enum class Depth { kChildren, kAll };
template <class Visit>
std::vector<TreeProcess> walk(Depth depth, std::span<const pid_t> spared, Visit visit) {
  const Children children;
  std::vector<TreeProcess> found;
  children.append(::getpid(), spared, found);
  std::ranges::for_each(found, visit);
  for (std::size_t i = 0; depth == Depth::kAll && i < found.size(); ++i) {
    const std::size_t before = found.size();
    children.append(found[i].pid, spared, found);
    for (std::size_t fresh = before; fresh < found.size(); ++fresh) visit(found[fresh]);
  }
  return found;
}

// To be scheduled before what is being killed, where that is allowed.
class Urgent {
 public:
  Urgent() : before_(::getpriority(PRIO_PROCESS, 0)) { ::setpriority(PRIO_PROCESS, 0, -20); }
  ~Urgent() { ::setpriority(PRIO_PROCESS, 0, before_); }
  Urgent(const Urgent&) = delete;
  Urgent& operator=(const Urgent&) = delete;

 private:
  int before_;
};

}  // namespace

std::optional<ProcessStat> read_process_stat(pid_t pid) {
  char path[64];
  char buffer[1024];
  std::snprintf(path, sizeof(path), "/proc/%d/stat", pid);
  std::string_view text = read_small(path, buffer);
  const std::size_t after_name = text.rfind(')');  // the name may hold anything
  if (after_name == text.npos || after_name + 3 >= text.size()) return std::nullopt;
  ProcessStat stat;
  stat.state = text[after_name + 2];
  text.remove_prefix(after_name + 3);
  if (!next_number(text, stat.parent) || !next_number(text, stat.group) ||
      !next_number(text, stat.session)) {
    return std::nullopt;
  }
  std::int64_t skipped = 0;
  for (int field = 7; field < 22; ++field) {
    if (!next_number(text, skipped)) return std::nullopt;
  }
  if (!next_number(text, stat.start_ticks)) return std::nullopt;
  return stat;
}

std::vector<TreeProcess> processes_below(pid_t root, std::span<const pid_t> spared) {
  const Children children;
  std::vector<TreeProcess> found;
  children.append(root, spared, found);
  for (std::size_t i = 0; i < found.size(); ++i) children.append(found[i].pid, spared, found);
  return found;
}

bool signal_in_tree(TreeProcess process, int signal) {
  const pid_t self = ::getpid();
  // Only the caller reaps its own children: their ids cannot be used again meanwhile.
  if (process.parent == self) return ::kill(process.pid, signal) == 0;
  const Fd handle(pidfd_of(process.pid));
  if (!handle) return false;
  // The handle holds one process. If that one has the right parent it is the one that was found.
  const auto stat = read_process_stat(process.pid);
  if (!stat || (stat->parent != process.parent && stat->parent != self)) return false;
  return ::syscall(SYS_pidfd_send_signal, handle.get(), signal, nullptr, 0) == 0;
}

void terminate_tree(pid_t leader) {
  ::kill(-leader, SIGTERM);
  ::kill(-leader, SIGCONT);
  walk(Depth::kAll, {}, [leader](TreeProcess process) {
    if (::getpgid(process.pid) == leader) return;
    signal_in_tree(process, SIGTERM);
    signal_in_tree(process, SIGCONT);
  });
}

namespace {

// Stops what is found. True: there was something that had not been stopped before.
class Freezer {
 public:
  explicit Freezer(const TreeKill& kill) : kill_(kill) {}
  bool pass(Depth depth) {
    bool fresh = false;
    kill_.reap();
    std::vector<pid_t> now;
    walk(depth, kill_.spared, [&](TreeProcess process) {
      const bool signalled = signal_in_tree(process, SIGSTOP);
      now.push_back(process.pid);
      fresh = fresh || (signalled && !std::ranges::binary_search(before_, process.pid));
    });
    std::ranges::sort(now);
    before_ = std::move(now);
    return fresh;
  }

 private:
  const TreeKill& kill_;
  std::vector<pid_t> before_;  // sorted; what was stopped cannot have given its id to another
};

}  // namespace

void kill_tree(const TreeKill& kill) {
  const Urgent urgent;
  Freezer freezer(kill);
  for (int pass = 0; pass < kFreezePasses; ++pass) {
    // Those that lost their parent are our children. They are found at little cost, before they
    // can move on; what is below them takes longer.
    for (int quick = 0; quick < kFreezePasses && freezer.pass(Depth::kChildren); ++quick) {
    }
    if (!freezer.pass(Depth::kAll)) break;
  }
  walk(Depth::kAll, kill.spared, [](TreeProcess process) { signal_in_tree(process, SIGKILL); });
}

void kill_and_reap_tree(std::span<const pid_t> spared) {
  kill_tree({.spared = spared, .reap = [spared] { reap_children(spared); }});
}

std::size_t reap_children(std::span<const pid_t> spared) {
  std::vector<TreeProcess> children;
  Children().append(::getpid(), spared, children);
  std::size_t left = 0;
  for (const TreeProcess child : children) {
    if (::waitpid(child.pid, nullptr, WNOHANG) == 0) ++left;
  }
  return left;
}

}  // namespace vortex::worker
