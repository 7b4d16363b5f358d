// A runner and nothing else, as the tests start it.

#include "worker/runner.h"

#include "worker/runner_messages.h"

int main() { return vortex::worker::run_task_runner(vortex::worker::kRunnerControl); }
