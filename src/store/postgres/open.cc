#include "store/postgres/open.h"

#include <utility>

#include "store/plan_shelf.h"
#include "store/postgres/connection.h"
#include "store/postgres/layout.h"
#include "store/postgres/session.h"
#include "store/postgres/sql.gen.h"
#include "store/postgres/watcher.h"
#include "store/postgres/writer.h"
#include "store/sql/reader.h"

namespace vortex::store {
namespace postgres {
namespace {

class PostgresStore final : public Store {
 public:
  explicit PostgresStore(const PostgresOptions& options)
      : options_(options),
        writer_(setup_for(Use::kWrite), shelf_, options_.logs, options_.wall_clock) {}

  Writer& writer() override { return writer_; }
  bool is_ours_alone() const override { return false; }
  void watch(std::function<void()> may_be_free) override {
    watcher_.reset();
    if (!may_be_free) return;
    watcher_ = std::make_unique<Watcher>(setup_for(Use::kWatch), std::move(may_be_free));
  }

  Result<std::unique_ptr<Reader>> reader() override {
    auto session = std::make_unique<Session>(setup_for(Use::kRead));
    if (auto done = session->connect(); !done) return std::unexpected(done.error());
    return store::sql::make_reader(std::move(session), shelf_);
  }

 private:
  ConnectionSetup setup_for(Use use) const {
    return {.url = options_.url, .use = use, .timeout = options_.io_timeout};
  }

  PostgresOptions options_;
  PlanShelf shelf_;
  PostgresWriter writer_;
  std::unique_ptr<Watcher> watcher_;
};

}  // namespace
}  // namespace postgres

Result<std::unique_ptr<Store>> open_postgres(const PostgresOptions& options) {
  using namespace postgres;
  const ConnectionSetup setup{
      .url = options.url, .use = Use::kWrite, .timeout = options.io_timeout};
  auto db = Connection::open(setup);
  if (!db) {
    Error error = std::move(db.error());
    if (error.fault == Fault::kUnavailable && Connection::is_refused(setup)) {
      error.fault = Fault::kBadRequest;
    }
    return std::unexpected(std::move(error));
  }
  if (auto done = migrate(**db); !done) return std::unexpected(done.error());
  const auto mark = (*db)->exec(std::string(postgres::sql::kCopyMark));
  if (!mark) return std::unexpected(mark.error());
  if (!mark->empty() && !options.takes_copies) {
    return std::unexpected(Error{Fault::kBadRequest,
                                 "the database is an unfinished copy: run `vortex db copy` again"});
  }
  return std::make_unique<PostgresStore>(options);
}

}  // namespace vortex::store
