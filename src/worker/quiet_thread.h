#pragma once
// A thread that receives no signals: those of a process are for its main thread, which waits for
// them and must not miss one because another thread was picked to take it.
//
// The mask is set before the thread exists, so there is no moment in which it could be picked.

#include <csignal>
#include <thread>
#include <utility>

#include <pthread.h>

namespace vortex::worker {

template <class Run>
std::thread quiet_thread(Run run) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(run));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace vortex::worker
