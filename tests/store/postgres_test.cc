// What only PostgreSQL can do wrong: answers that are lost, servers that restart or hang, leaders
// that are gone while their session is not, and the other way round.

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <thread>

#include <gtest/gtest.h>

#include "store/postgres/connection.h"
#include "store/postgres/escape.h"
#include "store/upkeep.h"
#include "tests/store/bed.h"
#include "tests/store/rows.h"
#include "tests/support/postgres/postgres_cluster.h"
#include "tests/support/postgres/tcp_proxy.h"

namespace vortex::store::testing {
namespace {

using vortex::testing::PostgresCluster;
using vortex::testing::TcpProxy;

const Candidate kFirst{ControllerId{"first"}, "http://127.0.0.1:1"};
const Candidate kSecond{ControllerId{"second"}, "http://127.0.0.1:2"};

class PostgresTest : public ::testing::Test {
 protected:
  PostgresTest() : url(cluster.new_schema()) {}

  std::unique_ptr<Store> open(Duration io_timeout = seconds(30)) { return open(url, io_timeout); }
  std::unique_ptr<Store> open(const std::string& at, Duration io_timeout) {
    auto opened = open_postgres({.url = at,
                                 .logs = kSmallLogs,
                                 .io_timeout = io_timeout,
                                 .wall_clock = {},
                                 .takes_copies = false});
    if (!opened) throw std::runtime_error(opened.error().detail);
    return *std::move(opened);
  }
  Won lead(Store& store, const Candidate& who = kFirst, Duration lease = seconds(60)) {
    auto answer = store.writer().acquire(who, lease);
    if (!answer) throw std::runtime_error(answer.error().detail);
    return std::get<Won>(*answer);
  }
  Commit run_commit(const Won& won, std::uint64_t run) {
    Commit commit;
    commit.term = won.term;
    commit.now = won.database_now;
    add_run(commit.rows, run_row(run, sample_plan("thumbs")));
    return commit;
  }
  std::size_t runs_in(Store& store) {
    const auto image = store.writer().image();
    EXPECT_TRUE(image) << image.error().detail;
    return image ? image->runs.size() : 0;
  }
  // The end of its session may reach a writer only while it writes.
  template <class Write>
  Fault fault_in_the_end(Write write) {
    auto done = write();
    if (!done && done.error().fault == Fault::kUnavailable) done = write();
    EXPECT_FALSE(done);
    return done ? Fault::kUnavailable : done.error().fault;
  }
  std::string schema() const { return url.substr(url.rfind('=') + 1); }
  std::string through(const TcpProxy& proxy) const { return cluster.url(schema(), proxy.port()); }
  // The session that holds the lock of leaders in this schema.
  std::string leader_pid() const {
    return cluster.ask("SELECT backend_pid FROM " + schema() + ".leadership");
  }
  std::string ask(const std::string& sql) const { return cluster.ask(sql); }

  PostgresCluster& cluster = PostgresCluster::shared();
  std::string url;
};

TEST_F(PostgresTest, LostAnswerToACommitIsUnknownAndAReloadTellsThatItHappened) {
  TcpProxy proxy(cluster.port());
  const auto store = open(through(proxy), seconds(30));
  const Won won = lead(*store);
  proxy.arm("COMMIT;", TcpProxy::Cut::kAfterAnswer);
  const auto done = store->writer().commit(run_commit(won, 1));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().fault, Fault::kUnknown) << done.error().detail;
  const auto refused = store->writer().commit(run_commit(won, 2));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::kUnavailable) << "leadership must be acquired first";
  const Won again = lead(*store);
  EXPECT_GT(again.term, won.term);
  EXPECT_EQ(runs_in(*store), 1U);
  EXPECT_TRUE(store->writer().commit(run_commit(again, 2)));
}

TEST_F(PostgresTest, CommitThatNeverArrivedIsUnknownAndAReloadTellsThatItDidNotHappen) {
  TcpProxy proxy(cluster.port());
  const auto store = open(through(proxy), seconds(30));
  const Won won = lead(*store);
  proxy.arm("COMMIT;", TcpProxy::Cut::kBeforeServer);
  const auto done = store->writer().commit(run_commit(won, 1));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().fault, Fault::kUnknown) << done.error().detail;
  lead(*store);
  EXPECT_EQ(runs_in(*store), 0U);
}

TEST_F(PostgresTest, ConnectionThatIsCutBeforeTheCommitLeavesNoDoubt) {
  TcpProxy proxy(cluster.port());
  const auto store = open(through(proxy), seconds(30));
  const Won won = lead(*store);
  ASSERT_TRUE(store->writer().commit(run_commit(won, 1)));
  proxy.arm("thumbs", TcpProxy::Cut::kBeforeServer);
  Commit commit = run_commit(won, 2);
  const auto done = store->writer().commit(commit);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().fault, Fault::kUnavailable) << done.error().detail;
  EXPECT_TRUE(store->writer().commit(commit)) << "it reconnects by itself";
  EXPECT_EQ(runs_in(*store), 2U);
}

TEST_F(PostgresTest, SilentNetworkIsGivenUpInTime) {
  TcpProxy proxy(cluster.port());
  const auto store = open(through(proxy), millis(700));
  const Won won = lead(*store);
  proxy.arm("COMMIT;", TcpProxy::Cut::kSilence);
  const auto begin = std::chrono::steady_clock::now();
  const auto done = store->writer().commit(run_commit(won, 1));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().fault, Fault::kUnknown) << done.error().detail;
}

TEST_F(PostgresTest, HungBackendIsGivenUpInTime) {
  const auto store = open(millis(700));
  const Won won = lead(*store);
  const int pid = std::stoi(leader_pid());
  ASSERT_GT(pid, 0);
  ASSERT_EQ(::kill(pid, SIGSTOP), 0);
  const auto begin = std::chrono::steady_clock::now();
  const auto done = store->writer().commit(run_commit(won, 1));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().fault, Fault::kUnavailable) << done.error().detail;
  ASSERT_EQ(::kill(pid, SIGCONT), 0);
  EXPECT_EQ(runs_in(*store), 0U) << "its transaction was never committed";
}

TEST_F(PostgresTest, WriterAndReadersComeBackAfterARestartOfTheServer) {
  const auto store = open();
  const Won won = lead(*store);
  auto reader = store->reader();
  ASSERT_TRUE(reader);
  ASSERT_TRUE(store->writer().commit(run_commit(won, 1)));
  ASSERT_TRUE((*reader)->run(RunId{1}));
  cluster.stop();
  const auto down = store->writer().commit(run_commit(won, 2));
  ASSERT_FALSE(down);
  EXPECT_EQ(down.error().fault, Fault::kUnavailable) << down.error().detail;
  EXPECT_FALSE(store->writer().check_writable());
  EXPECT_FALSE((*reader)->run(RunId{1}));
  cluster.start();
  EXPECT_TRUE(store->writer().check_writable());
  EXPECT_TRUE(store->writer().commit(run_commit(won, 2))) << "nobody else has taken the lead";
  const auto read = (*reader)->run(RunId{2});
  ASSERT_TRUE(read) << read.error().detail;
  EXPECT_TRUE(*read);
}

TEST_F(PostgresTest, EndOfTheLeadersSessionIsToldAndTakenAtOnce) {
  const auto one = open();
  const auto other = open();
  const Won first = lead(*one, kFirst, hours(1));
  const auto held = other->writer().acquire(kSecond, hours(1));
  ASSERT_TRUE(held);
  ASSERT_TRUE(std::holds_alternative<HeldByOther>(*held));
  std::atomic<int> told{0};
  other->watch([&told] {
    ++told;
    told.notify_all();
  });
  ask("SELECT pg_terminate_backend(" + leader_pid() + ")");
  told.wait(0);
  const Won second = lead(*other, kSecond, hours(1));
  EXPECT_GT(second.term, first.term);
  EXPECT_EQ(fault_in_the_end([&] { return one->writer().commit(run_commit(first, 1)); }),
            Fault::kFenced);
  other->watch({});
}

// Without the lock its death would be seen only when its lease ends.
TEST_F(PostgresTest, LeaderHasItsLockAlthoughOthersLookWhetherItIsFree) {
  const auto one = open();
  const auto other = open();
  std::atomic<bool> done{false};
  const auto look = [&] {
    const std::string looks = "DO $$ BEGIN FOR i IN 1..300 LOOP PERFORM " + schema() +
                              ".wait_for_leader_lock(hashtext('vortex leader'), hashtext('" +
                              schema() + "'), 1000); COMMIT; END LOOP; END $$";
    while (!done) ask(looks);
  };
  std::thread looker(look);
  std::thread another(look);
  for (int i = 0; i < 20; ++i) {
    Store& store = i % 2 == 0 ? *one : *other;
    const Won won = lead(store, i % 2 == 0 ? kFirst : kSecond, hours(1));
    EXPECT_NE(leader_pid(), "0") << "taken " << i << " times before";
    store.writer().release(won.term);
  }
  done = true;
  looker.join();
  another.join();
}

TEST_F(PostgresTest, FrozenLeaderIsReplacedWhenItsLeaseEndsAndItsSessionIsEnded) {
  const auto one = open();
  const auto other = open();
  const Won first = lead(*one, kFirst, millis(300));
  const std::string frozen = leader_pid();
  ASSERT_NE(frozen, "0");
  while (true) {
    const auto answer = other->writer().acquire(kSecond, hours(1));
    ASSERT_TRUE(answer) << answer.error().detail;
    if (const auto* held = std::get_if<HeldByOther>(&*answer)) {
      EXPECT_EQ(held->holder, kFirst.id);
      std::this_thread::sleep_for(std::chrono::microseconds(held->remaining.us));
      continue;
    }
    EXPECT_GT(std::get<Won>(*answer).term, first.term);
    break;
  }
  EXPECT_EQ(fault_in_the_end([&] { return one->writer().renew(first.term, seconds(1)); }),
            Fault::kFenced);
  EXPECT_EQ(fault_in_the_end([&] { return one->writer().commit(run_commit(first, 1)); }),
            Fault::kFenced);
  EXPECT_EQ(ask("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = " + frozen),
            "0");
  EXPECT_EQ(runs_in(*other), 0U);
}

TEST_F(PostgresTest, LeaderThatIsCutOffWithinATransactionDoesNotKeepTheLead) {
  TcpProxy proxy(cluster.port());
  const auto one = open(through(proxy), seconds(5));
  const auto other = open(seconds(2));
  const Won first = lead(*one, kFirst, millis(100));
  proxy.arm("COMMIT;", TcpProxy::Cut::kStall);
  std::thread cut_off([&] {
    const auto done = one->writer().commit(run_commit(first, 1));
    EXPECT_FALSE(done);
  });
  while (!proxy.has_cut()) std::this_thread::yield();
  std::optional<Won> second;
  while (!second) {
    const auto answer = other->writer().acquire(kSecond, hours(1));
    if (!answer) {
      EXPECT_EQ(answer.error().fault, Fault::kUnavailable) << answer.error().detail;
    } else if (const auto* won = std::get_if<Won>(&*answer)) {
      second = *won;
    }
  }
  EXPECT_GT(second->term, first.term);
  EXPECT_EQ(runs_in(*other), 0U);
  cut_off.join();
}

TEST_F(PostgresTest, TermThatALostServerGaveIsFencedAndNeverGivenAgain) {
  const auto store = open();
  const Won won = lead(*store);
  // A standby that was promoted before it had this term gave it to somebody else.
  ask("UPDATE " + schema() + ".leadership SET nonce = nonce + 1");
  EXPECT_EQ(store->writer().commit(run_commit(won, 1)).error().fault, Fault::kFenced);
  ask("UPDATE " + schema() + ".leadership SET term = 0, holder = ''");
  EXPECT_GT(lead(*store).term, won.term);
}

TEST_F(PostgresTest, TextThatPostgresqlCannotHoldComesBackAsItWas) {
  const auto store = open();
  const Won won = lead(*store);
  Commit commit = run_commit(won, 1);
  const std::string odd("\0 100% \xff\xfe \xc3\xa9 \x01", 14);
  commit.rows.tasks[0].error_message = odd;
  commit.rows.tasks[1].error_message = "\x01 begins with the mark";
  ASSERT_TRUE(store->writer().commit(commit));
  const auto image = store->writer().image();
  ASSERT_TRUE(image);
  EXPECT_EQ(image->runs[0].tasks[0].error_message, odd);
  EXPECT_EQ(image->runs[0].tasks[1].error_message, "\x01 begins with the mark");
}

TEST_F(PostgresTest, ControllersThatStartTogetherMigrateOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> opened{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { opened += open() != nullptr ? 1 : 0; });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(opened, 4);
  EXPECT_EQ(ask("SELECT count(*) FROM " + schema() + ".vortex_layout WHERE version = 1"), "1");
}

TEST_F(PostgresTest, NewerLayoutAndTablesOfOthersAreRefused) {
  open();
  ask("INSERT INTO " + schema() + ".vortex_layout (version) VALUES (100000)");
  auto refused = open_postgres({.url = url, .logs = {}, .wall_clock = {}, .takes_copies = false});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::kNewer) << refused.error().detail;
  url = cluster.new_schema();
  ask("CREATE TABLE " + schema() + ".task_instances (a int)");
  refused = open_postgres({.url = url, .logs = {}, .wall_clock = {}, .takes_copies = false});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::kDamaged) << refused.error().detail;
}

TEST_F(PostgresTest, WrongAddressesAreSaidToBeWrong) {
  for (const std::string bad : {"nonsense", "postgresql://127.0.0.1:1/x", "host=/nowhere"}) {
    const auto refused =
        open_postgres({.url = bad, .logs = {}, .wall_clock = {}, .takes_copies = false});
    ASSERT_FALSE(refused) << bad;
    EXPECT_FALSE(refused.error().detail.empty());
  }
}

// The operators' queries, as they are printed, in psql.
TEST_F(PostgresTest, V06_OperatorsQueriesRunInPsqlToo) {
  const auto store = open();
  const Won won = lead(*store);
  Commit commit = run_commit(won, 42);
  commit.rows.tasks[1].state = TaskState::kFailed;
  commit.rows.tasks[1].error_message = "exit code 3";
  commit.rows.workers = {worker_row("worker_1", WorkerState::kIdle)};
  commit.rows.workers[0].last_heartbeat = won.database_now;
  ASSERT_TRUE(store->writer().commit(commit));
  const auto psql = [&](const std::string& query) {
    const std::string command = "psql -X -q -A -t -v ON_ERROR_STOP=1 -f " VX_SEED_QUERIES "/" +
                                query + ".sql '" + url + "' 2>&1";
    std::FILE* pipe = ::popen(command.c_str(), "r");
    std::string said;
    char buffer[4'096];
    for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
      said.append(buffer, got);
    }
    EXPECT_EQ(::pclose(pipe), 0) << query << ": " << said;
    return said;
  };
  EXPECT_NE(psql("failed_tasks").find("r42-L1-1|resize|Failed||exit code 3|"), std::string::npos);
  EXPECT_NE(psql("orphaned_tasks").find("r42-L1-2|resize|Queued|"), std::string::npos);
  EXPECT_NE(psql("worker_status").find("worker_1|worker_1-name|IDLE|"), std::string::npos);
  EXPECT_NE(psql("worker_ages").find("worker_1|"), std::string::npos);
  EXPECT_NE(psql("live_agents").find("worker_1|"), std::string::npos);
  EXPECT_EQ(psql("orphaned_partitions"), "");
}

TEST_F(PostgresTest, CheckFindsRowsThatContradictEachOther) {
  DatabaseSettings settings;
  settings.url = url;
  auto report = check_store(settings);
  ASSERT_TRUE(report) << report.error().detail;
  EXPECT_EQ(report->version, 0U);
  const auto migrated = migrate_store(settings);
  ASSERT_TRUE(migrated) << migrated.error().detail;
  EXPECT_EQ(migrated->to, report->known_version);
  const auto store = open();
  Commit commit = run_commit(lead(*store), 1);
  commit.rows.counters = CounterRow{};
  commit.rows.counters->next_run = {2};
  commit.rows.counters->tasks[number_of(TaskState::kQueued)] = commit.rows.tasks.size();
  ASSERT_TRUE(store->writer().commit(commit));
  report = check_store(settings);
  ASSERT_TRUE(report) << report.error().detail;
  EXPECT_TRUE(report->problems.empty()) << report->problems.front();
  EXPECT_EQ(report->runs, 1U);
  ask("UPDATE " + schema() + ".task_instances SET state = 'Lost' WHERE task_key = 16777217");
  report = check_store(settings);
  ASSERT_TRUE(report) << report.error().detail;
  EXPECT_GE(report->problems.size(), 2U) << "wrong counts, and a state that there is not";
  const auto image = store->writer().image();
  ASSERT_TRUE(image) << image.error().detail;
  ASSERT_EQ(image->damaged.size(), 1U);
  EXPECT_EQ(image->damaged[0].table, "task_instances");
  EXPECT_EQ(image->damaged[0].column, "state");
}

TEST(PostgresParts, FaultsFollowFromTheState) {
  EXPECT_EQ(postgres::fault_of("53100"), Fault::kFull);
  EXPECT_EQ(postgres::fault_of("23505"), Fault::kBadRequest);
  EXPECT_EQ(postgres::fault_of("42P01"), Fault::kDamaged);
  EXPECT_EQ(postgres::fault_of("25006"), Fault::kUnavailable) << "a standby";
  EXPECT_EQ(postgres::fault_of("57P01"), Fault::kUnavailable);
}

TEST(PostgresParts, EscapedTextIsPlainAndComesBack) {
  EXPECT_FALSE(postgres::escaped("plain, caf\xc3\xa9 100%"));
  EXPECT_FALSE(postgres::unescaped("plain %41"));
  for (const std::string& text : {std::string("a\0b", 3), std::string("\xff"),
                                  std::string("\x01%41"), std::string("%\0", 2)}) {
    const auto stored = postgres::escaped(text);
    ASSERT_TRUE(stored);
    EXPECT_EQ(stored->find('\0'), std::string::npos);
    EXPECT_EQ(postgres::unescaped(*stored), text);
  }
}

}  // namespace
}  // namespace vortex::store::testing
