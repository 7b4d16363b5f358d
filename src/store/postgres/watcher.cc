#include "store/postgres/watcher.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <libpq-fe.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/assert.h"
#include "store/postgres/sql.gen.h"

namespace vortex::store::postgres {
namespace {

// A wait on the server holds a snapshot, which keeps VACUUM from removing rows: so it is short.
constexpr Duration kLockWait = seconds(2);
constexpr Duration kPauseMin = millis(50);
constexpr Duration kPauseMax = seconds(1);

}  // namespace

Watcher::Watcher(ConnectionSetup setup, std::function<void()> may_be_free)
    : setup_(std::move(setup)),
      may_be_free_(std::move(may_be_free)),
      stop_(::eventfd(0, EFD_CLOEXEC)),
      thread_([this] { run(); }) {
  VX_ASSERT(stop_ >= 0);
}

Watcher::~Watcher() {
  const std::uint64_t one = 1;
  VX_ASSERT(::write(stop_, &one, sizeof one) == sizeof one);
  thread_.join();
  ::close(stop_);
}

bool Watcher::pause(Duration how_long) const {
  pollfd stop{.fd = stop_, .events = POLLIN, .revents = 0};
  return ::poll(&stop, 1, static_cast<int>(how_long.us / 1'000)) == 0;
}

void Watcher::run() {
  Duration between = kPauseMin;
  std::unique_ptr<Connection> db;
  while (pause({})) {
    if (!db) {
      auto made = Connection::open(setup_);
      if (made) db = *std::move(made);
    }
    const std::optional<bool> free = db ? wait_for_lock(*db) : std::nullopt;
    if (free == false) {
      between = kPauseMin;
      continue;
    }
    if (!free) db.reset();
    if (free && pause({})) may_be_free_();
    // As long as nobody takes the lead, and while there is no server, less and less often.
    if (!pause(between)) return;
    between = std::min(between * 2, kPauseMax);
  }
}

std::optional<bool> Watcher::wait_for_lock(Connection& db) const {
  const std::string sql = fmt::format(sql::kWaitForLeaderLock, kLockWait.us / 1'000);
  if (PQsendQuery(db.handle(), sql.c_str()) == 0) return std::nullopt;
  const std::int64_t deadline = deadline_after(kLockWait + setup_.timeout);
  std::optional<bool> free;
  while (true) {
    const int flushed = PQflush(db.handle());
    if (flushed < 0) return std::nullopt;
    while (PQisBusy(db.handle()) == 0) {
      const ResultPtr result(PQgetResult(db.handle()));
      if (!result) return free;
      if (PQresultStatus(result.get()) != PGRES_TUPLES_OK) return std::nullopt;
      free = std::string_view(PQgetvalue(result.get(), 0, 0)) == "t";
    }
    std::array<pollfd, 2> waits{
        pollfd{.fd = db.socket(),
               .events = static_cast<short>(flushed > 0 ? POLLIN | POLLOUT : POLLIN),
               .revents = 0},
        pollfd{.fd = stop_, .events = POLLIN, .revents = 0}};
    const Duration left{deadline - deadline_after({})};
    if (left <= Duration{}) return std::nullopt;
    ::poll(waits.data(), waits.size(), static_cast<int>(left.us / 1'000 + 1));
    if (waits[1].revents != 0) return std::nullopt;
    if (PQconsumeInput(db.handle()) == 0) return std::nullopt;
  }
}

}  // namespace vortex::store::postgres
