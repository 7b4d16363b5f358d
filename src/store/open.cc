#include "store/open.h"

#include "base/text.h"
#include "store/postgres/open.h"
#include "store/sqlite/open.h"

namespace vortex::store {

Result<std::unique_ptr<Store>> open_store(const DatabaseSettings& settings,
                                          const std::function<void(const std::string&)>& notice) {
  const LogLimits logs{.head_bytes = std::uint64_t{settings.log_head_kib} << 10U,
                       .tail_bytes = std::uint64_t{settings.log_tail_kib} << 10U};
  if (!settings.url.empty()) {
    PostgresOptions options;
    options.url = settings.url;
    options.logs = logs;
    options.io_timeout = settings.io_timeout;
    return open_postgres(options);
  }
  SqliteOptions options;
  options.path = settings.path;
  options.logs = logs;
  options.notice = notice;
  return open_sqlite(options);
}

std::string name_of_store(const DatabaseSettings& settings) {
  return settings.url.empty() ? settings.path : without_password(settings.url);
}

std::string flag_of_store(const DatabaseSettings& settings) {
  return (settings.url.empty() ? "--database.path=" : "--database.url=") + name_of_store(settings);
}

}  // namespace vortex::store
