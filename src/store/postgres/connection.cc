#include "store/postgres/connection.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <libpq-fe.h>
#include <poll.h>

#include "store/postgres/sql.gen.h"

namespace vortex::store::postgres {
namespace {

constexpr int kOldestServer = 130'000;

std::string trimmed(const char* message) {
  std::string text = message == nullptr ? "" : message;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  std::ranges::replace(text, '\n', ' ');
  std::erase(text, '\t');
  return text;
}

std::int64_t steady_us() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(since).count();
}

void note_warning(void* connection, const PGresult* result) {
  auto* self = static_cast<Connection*>(connection);
  self->warned = true;
  self->warning = trimmed(PQresultErrorMessage(result));
}

struct Given {
  bool several_hosts = false;
  bool session_attributes = false;
};

Result<Given> read_url(const std::string& url) {
  char* problem = nullptr;
  PQconninfoOption* options = PQconninfoParse(url.c_str(), &problem);
  if (options == nullptr) {
    Error error{Fault::kBadRequest,
                fmt::format("database.url is not a connection string: {}", trimmed(problem))};
    PQfreemem(problem);
    return std::unexpected(std::move(error));
  }
  Given given;
  for (const PQconninfoOption* option = options; option->keyword != nullptr; ++option) {
    if (option->val == nullptr) continue;
    const std::string_view keyword = option->keyword;
    const std::string_view value = option->val;
    if (keyword == "host" || keyword == "hostaddr") {
      given.several_hosts = given.several_hosts || value.find(',') != std::string_view::npos;
    }
    if (keyword == "target_session_attrs") given.session_attributes = true;
  }
  PQconninfoFree(options);
  return given;
}

std::string_view name_of(Use use) {
  switch (use) {
    case Use::kWrite:
      return "vortex writer";
    case Use::kRead:
      return "vortex reader";
    case Use::kWatch:
      return "vortex watcher";
    case Use::kTool:
      return "vortex db";
  }
  return "vortex";
}

// What libpq is given. Ours first: what the connection string says replaces it.
class ConnectWords {
 public:
  ConnectWords(const ConnectionSetup& setup, const Given& given)
      : texts_{std::string(name_of(setup.use)),
               std::to_string(whole_seconds(setup)),
               std::to_string(std::min<std::int64_t>(setup.timeout.us / 1'000, 60'000)),
               std::to_string(std::max<std::int64_t>(whole_seconds(setup) / 2, 1)),
               "1",
               "3",
               setup.url,
               "UTF8",
               "read-write"} {
    for (const std::string& text : texts_) values_.push_back(text.c_str());
    values_.push_back(nullptr);
    if (!given.several_hosts || given.session_attributes) keywords_[8] = nullptr;
  }
  const char* const* keywords() const { return keywords_.data(); }
  const char* const* values() const { return values_.data(); }

 private:
  static std::int64_t whole_seconds(const ConnectionSetup& setup) {
    return std::clamp<std::int64_t>((setup.timeout.us + 999'999) / 1'000'000, 2, 60);
  }

  std::array<const char*, 10> keywords_{"application_name",
                                        "connect_timeout",
                                        "tcp_user_timeout",
                                        "keepalives_idle",
                                        "keepalives_interval",
                                        "keepalives_count",
                                        "dbname",
                                        "client_encoding",
                                        "target_session_attrs",
                                        nullptr};
  std::vector<std::string> texts_;
  std::vector<const char*> values_;
};

// SQLSTATEs of a server that is up and will not let us in until somebody changes something: who we
// are (28), which database (3D), what we may do.
bool is_turned_away(std::string_view said) {
  while (!said.empty()) {
    const std::size_t end = std::min(said.find('\n'), said.size());
    const std::string_view line = said.substr(0, end);
    said.remove_prefix(std::min(end + 1, said.size()));
    if (line.size() < 5) continue;
    const std::string_view state = line.substr(line.size() - 5);
    if (state.starts_with("28") || state.starts_with("3D") || state == "42501") return true;
  }
  return false;
}

}  // namespace

Fault fault_of(std::string_view sqlstate) {
  if (sqlstate == "53100") return Fault::kFull;
  const std::string_view kind = sqlstate.substr(0, 2);
  // Values and constraints: the request makes no sense.
  if (kind == "22" || kind == "23" || kind == "54") return Fault::kBadRequest;
  // A statement of ours does not fit what is there, or its pages are damaged.
  if (sqlstate == "42501") return Fault::kUnavailable;  // no permission
  if (kind == "42" || kind == "XX") return Fault::kDamaged;
  return Fault::kUnavailable;
}

std::int64_t deadline_after(Duration timeout) { return steady_us() + timeout.us; }

void ResultDeleter::operator()(pg_result* result) const { PQclear(result); }

Result<std::unique_ptr<Connection>> Connection::open(const ConnectionSetup& setup) {
  const auto given = read_url(setup.url);
  if (!given) return std::unexpected(given.error());
  const ConnectWords words(setup, *given);
  PGconn* db = PQconnectdbParams(words.keywords(), words.values(), 1);
  std::unique_ptr<Connection> connection(new Connection(db, setup));
  if (db == nullptr || PQstatus(db) != CONNECTION_OK) {
    return std::unexpected(connection->lost("connecting to the database"));
  }
  PQsetNoticeReceiver(db, note_warning, connection.get());
  if (auto done = connection->set_up(); !done) return std::unexpected(done.error());
  return connection;
}

bool Connection::is_refused(const ConnectionSetup& setup) {
  const auto given = read_url(setup.url);
  if (!given) return true;
  const ConnectWords words(setup, *given);
  Connection probe(PQconnectStartParams(words.keywords(), words.values(), 1), setup);
  if (probe.db_ == nullptr) return false;
  // The state alone, whatever the language of the server.
  PQsetErrorVerbosity(probe.db_, PQERRORS_SQLSTATE);
  const std::int64_t deadline = deadline_after(setup.timeout);
  for (bool to_write = true;;) {
    if (PQstatus(probe.db_) == CONNECTION_BAD || !probe.wait(to_write, deadline)) break;
    const PostgresPollingStatusType next = PQconnectPoll(probe.db_);
    if (next == PGRES_POLLING_OK || next == PGRES_POLLING_FAILED) break;
    to_write = next == PGRES_POLLING_WRITING;
  }
  return PQstatus(probe.db_) == CONNECTION_BAD && is_turned_away(PQerrorMessage(probe.db_));
}

Result<void> Connection::set_up() {
  const char* encoding = PQparameterStatus(db_, "server_encoding");
  if (encoding == nullptr || std::string_view(encoding) != "UTF8") {
    return std::unexpected(
        Error{Fault::kBadRequest,
              fmt::format("the database has the encoding {}, but vortex needs UTF8: create it with "
                          "`createdb --encoding=UTF8 --template=template0`",
                          encoding == nullptr ? "?" : encoding)});
  }
  if (PQserverVersion(db_) < kOldestServer) {
    return std::unexpected(Error{Fault::kBadRequest, "vortex needs PostgreSQL 13 or newer"});
  }
  if (PQsetnonblocking(db_, 1) != 0) return std::unexpected(lost("setting up the connection"));
  const std::int64_t ms = std::max<std::int64_t>(setup_.timeout.us / 1'000, 1);
  std::string sql = fmt::format(sql::kSetUpSession, fmt::arg("ms", ms), fmt::arg("idle_ms", ms * 2),
                                fmt::arg("statement_ms", setup_.use == Use::kRead ? ms : 0));
  if (setup_.use == Use::kRead) sql += sql::kSetUpReader;
  if (auto done = exec(sql); !done) return std::unexpected(done.error());
  return {};
}

Connection::~Connection() { PQfinish(db_); }

int Connection::socket() const { return PQsocket(db_); }

int Connection::backend_pid() const { return PQbackendPID(db_); }

bool Connection::is_lost() {
  if (PQstatus(db_) != CONNECTION_OK) return true;
  // Whatever the server said while nobody listened, and then perhaps the end of the connection.
  pollfd poll{.fd = PQsocket(db_), .events = POLLIN, .revents = 0};
  while (::poll(&poll, 1, 0) > 0) {
    if (PQconsumeInput(db_) == 0 || PQstatus(db_) != CONNECTION_OK) return true;
  }
  return false;
}

bool Connection::wait(bool to_write, std::int64_t deadline) const {
  while (true) {
    const std::int64_t left = deadline - steady_us();
    if (left <= 0) return false;
    pollfd poll{.fd = PQsocket(db_),
                .events = static_cast<short>(to_write ? POLLIN | POLLOUT : POLLIN),
                .revents = 0};
    const int ready =
        ::poll(&poll, 1, static_cast<int>(std::min<std::int64_t>(left / 1'000 + 1, 60'000)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

Result<std::vector<Connection::Row>> Connection::exec(const std::string& sql, Duration timeout) {
  constexpr std::string_view kDoing = "setting up the database";
  if (PQsendQuery(db_, sql.c_str()) == 0) return std::unexpected(lost(kDoing));
  const std::int64_t deadline = deadline_after(timeout);
  std::vector<Row> rows;
  std::optional<Error> failure;
  while (true) {
    const int flushed = PQflush(db_);
    if (flushed < 0) return std::unexpected(lost(kDoing));
    if (flushed > 0 || PQisBusy(db_) != 0) {
      if (!wait(flushed > 0, deadline)) {
        return std::unexpected(Error{Fault::kUnavailable, "the database does not answer"});
      }
      if (PQconsumeInput(db_) == 0) return std::unexpected(lost(kDoing));
      continue;
    }
    const ResultPtr result(PQgetResult(db_));
    if (!result) break;
    const ExecStatusType status = PQresultStatus(result.get());
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && !failure) {
      failure = error_of(result.get(), kDoing);
    }
    rows.clear();
    for (int row = 0; row < PQntuples(result.get()); ++row) {
      Row& made = rows.emplace_back();
      for (int column = 0; column < PQnfields(result.get()); ++column) {
        if (PQgetisnull(result.get(), row, column) != 0) {
          made.emplace_back();
        } else {
          made.emplace_back(PQgetvalue(result.get(), row, column));
        }
      }
    }
  }
  if (failure) return std::unexpected(*std::move(failure));
  return rows;
}

Error Connection::lost(std::string_view doing) const {
  const std::string said = db_ == nullptr ? "out of memory" : trimmed(PQerrorMessage(db_));
  return {Fault::kUnavailable,
          fmt::format("{}: {}", doing, said.empty() ? "the connection is lost" : said)};
}

Error Connection::error_of(const pg_result* result, std::string_view doing) {
  const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  if (state == nullptr || message == nullptr) {
    return {Fault::kUnavailable,
            fmt::format("{}: {}", doing, trimmed(PQresultErrorMessage(result)))};
  }
  const char* detail = PQresultErrorField(result, PG_DIAG_MESSAGE_DETAIL);
  return {fault_of(state), fmt::format("{}: {}{}{} (PostgreSQL {})", doing, trimmed(message),
                                       detail == nullptr ? "" : ", ",
                                       detail == nullptr ? "" : trimmed(detail), state)};
}

}  // namespace vortex::store::postgres
