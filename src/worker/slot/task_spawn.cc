#include "worker/slot/task_spawn.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <span>
#include <string_view>

#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

// Clang's thread sanitizer takes every clone() for a fork, and a child in the memory of its parent
// then ends the parent's bookkeeping. It does not know the other name of the same function.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
extern "C" int __clone(int (*main)(void*), void* stack, int flags, void* argument, ...);
#define clone __clone
#endif
#endif

namespace vortex::worker {
namespace {

constexpr std::string_view kDefaultPath = "/usr/local/bin:/usr/bin:/bin";

// What the child needs and what it leaves behind: it runs in the memory of its parent, which waits.
struct ChildPlan {
  const SpawnOrder* order = nullptr;
  std::span<const char* const> candidates;
  pid_t parent = 0;
  StartStep step = StartStep::kPrepare;
  int error = 0;
};

// Loads the first candidate that can be loaded, as execvp does, but never a shell for a file that
// is no program.
[[gnu::no_sanitize_address]] int load_program(const ChildPlan& plan) {
  int worst = ENOENT;
  for (const char* candidate : plan.candidates) {
    ::execve(candidate, plan.order->argv.data(), plan.order->env.data());
    if (errno != ENOENT && errno != ENOTDIR && errno != EACCES) return errno;
    // A folder of PATH that may not be searched is not the program's fault.
    if (errno == EACCES && ::access(candidate, F_OK) == 0) worst = EACCES;
  }
  return worst;
}

[[gnu::no_sanitize_address]] bool enter_root(int root) {
  if (::fchdir(root) != 0 || ::chroot(".") != 0) return false;
  // The right to do this was kept for the runner; a task has no use for it.
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_LOWER, CAP_SYS_CHROOT, 0, 0);
  return true;
}

// On a stack that is not a thread's: nothing for the address sanitizer.
[[gnu::no_sanitize_address]] int child_main(void* raw) {
  ChildPlan& plan = *static_cast<ChildPlan*>(raw);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The runner died before that took effect: nobody would end this process.
  if (::getppid() != plan.parent) ::_exit(127);
  ::setsid();
  ::setpriority(PRIO_PROCESS, 0, plan.order->nice);
  if (::dup2(plan.order->output, STDOUT_FILENO) < 0 ||
      ::dup2(plan.order->output, STDERR_FILENO) < 0) {
    plan.error = errno;
    ::_exit(127);
  }
  if (plan.order->root >= 0 && !enter_root(plan.order->root)) {
    plan.error = errno;
    ::_exit(127);
  }
  if (plan.order->confine != nullptr) {
    plan.error = give_up_rights(*plan.order->confine);
    if (plan.error != 0) ::_exit(127);
    // A change of user has taken it back.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != plan.parent) ::_exit(127);
  }
  plan.step = StartStep::kWorkdir;
  if (*plan.order->workdir != '\0' && ::chdir(plan.order->workdir) != 0) {
    plan.error = errno;
    ::_exit(127);
  }
  plan.step = StartStep::kProgram;
  if (plan.order->note != nullptr) __atomic_store_n(plan.order->note, ::getpid(), __ATOMIC_RELEASE);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  plan.error = load_program(plan);
  ::_exit(127);
}

std::string_view search_path(const std::vector<char*>& env) {
  for (const char* entry : env) {
    if (entry != nullptr && std::strncmp(entry, "PATH=", 5) == 0) return entry + 5;
  }
  return kDefaultPath;
}

}  // namespace

void TaskSpawner::find_candidates(const SpawnOrder& order) {
  const std::string_view program = order.argv.front();
  texts_.clear();
  starts_.clear();
  candidates_.clear();
  if (program.empty()) return;
  if (program.contains('/')) return candidates_.push_back(order.argv.front());
  std::string_view path = search_path(order.env);
  for (bool more = true; more;) {
    const std::size_t colon = path.find(':');
    more = colon != path.npos;
    const std::string_view folder = path.substr(0, colon);
    starts_.push_back(texts_.size());
    // An empty entry is the working directory, as it always was.
    if (!folder.empty()) texts_.append(folder).push_back('/');
    texts_.append(program).push_back('\0');
    if (more) path.remove_prefix(colon + 1);
  }
  for (const std::size_t start : starts_) candidates_.push_back(texts_.data() + start);
}

Spawned TaskSpawner::spawn(const SpawnOrder& order) {
  find_candidates(order);
  ChildPlan plan{.order = &order, .candidates = candidates_, .parent = ::getpid()};
  const pid_t pid =
      ::clone(child_main, stack_.data() + stack_.size(), CLONE_VM | CLONE_VFORK | SIGCHLD, &plan);
  if (pid < 0) return {.pid = -1, .error = errno, .step = StartStep::kPrepare};
  if (plan.error == 0) return {.pid = pid};
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return {.pid = -1, .error = plan.error, .step = plan.step};
}

}  // namespace vortex::worker
