// A runner and nothing else, as the tests start it.

#include "worker/slot/runner.h"

#include "worker/slot/runner_messages.h"

int main() { return vortex::worker::run_task_runner(vortex::worker::kRunnerControl); }
