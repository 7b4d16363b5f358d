#pragma once
// The runner: a tiny process of its own, one for each slot in use, that starts the tasks of the
// slot one after another and answers for every process of them.
//
// It is a child subreaper: whatever a task forks stays below it, so "all gone" is exact. When the
// task's first process ends, what is left is killed before it says so. When its worker is gone
// (the control socket ends, also by kill -9) it kills everything and ends; when its worker is
// there but did not move the fence on in time, frozen say, it kills its task. It waits in one poll
// and nowhere else, has no threads, and no signal but KILL and STOP reaches it.

namespace vortex::worker {

// Runs until the other end of `control_fd` is closed; the exit code of the process. To be called
// before anything else is set up: it closes all other descriptors and leaves the session.
int run_task_runner(int control_fd);

}  // namespace vortex::worker
