#include "worker/lifecycle_log.h"

#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "codec/event_json.h"
#include "worker/fd.h"

namespace vortex::worker {

namespace {

Severity severity_of(EventKind kind) {
  if (kind == EventKind::kWorkerSpawnFailed) return Severity::kError;
  const bool bad = kind == EventKind::kWorkerCrash || kind == EventKind::kWorkerSpawnRetry;
  return bad ? Severity::kWarning : Severity::kInfo;
}

}  // namespace

void LifecycleLog::write(EventKind kind, const WorkerId& worker,
                         std::vector<EventField> data) const {
  if (path_.empty()) return;
  Event event;
  event.at = wall_clock_now();
  event.kind = kind;
  event.severity = severity_of(kind);
  event.worker = worker;
  event.data = std::move(data);
  std::string line;
  codec::write_event(line, event);
  const Fd file(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644));
  if (file) static_cast<void>(!::write(file.get(), line.data(), line.size()));
}

}  // namespace vortex::worker
