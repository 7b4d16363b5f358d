// A tree of processes that never stays where it is: each one forks and ends, many side by side,
// every eighth in a session of its own. Ends by itself after some time, whoever lost.
//
// fork_storm <how many side by side> <seconds>

#include <cstdlib>
#include <ctime>

#include <unistd.h>

namespace {

[[noreturn]] void walk(std::time_t until) {
  while (std::time(nullptr) < until) {
    const pid_t child = fork();
    if (child > 0) _exit(0);
    if (child < 0) usleep(1000);
  }
  _exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::time_t until = std::time(nullptr) + std::atoi(argv[2]);
  const int count = std::atoi(argv[1]);
  for (int i = 0; i < count; ++i) {
    // Said early: soon this process stands in line behind the others.
    if (i == count / 3 && write(1, "on\n", 3) != 3) return 1;
    if (fork() != 0) continue;
    if (i % 8 == 0) setsid();
    walk(until);
  }
  while (std::time(nullptr) < until) usleep(10'000);
  return 0;
}
