#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "store/record_sql.h"
#include "tests/store/bed.h"
#include "tests/store/shell.h"
#include "tests/support/postgres/postgres_cluster.h"

namespace vortex::store::testing {
namespace {

constexpr Dialect kQuestions{.parameter = '?', .same_as = "IS"};
constexpr Dialect kDollars{.parameter = '$', .same_as = "IS NOT DISTINCT FROM"};

// The sorted names between the first pair of brackets.
std::vector<std::string> names_in(std::string_view sql) {
  sql = sql.substr(sql.find('(') + 1, sql.find(')') - sql.find('(') - 1);
  std::vector<std::string> names;
  while (!sql.empty()) {
    const std::size_t end = std::min(sql.find(", "), sql.size());
    names.emplace_back(sql.substr(0, end));
    sql.remove_prefix(std::min(end + 2, sql.size()));
  }
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> columns_of(const std::string& path, const std::string& table) {
  std::string said =
      sqlite3_shell(path, "SELECT '(' || group_concat(name, ', ') || ')' FROM pragma_table_info('" +
                              table + "');");
  return names_in(said);
}

std::vector<std::string> columns_in_postgres(const Bed& bed, const std::string& table) {
  const std::string schema = bed.url().substr(bed.url().rfind('=') + 1);
  return names_in(vortex::testing::PostgresCluster::shared().ask(
      "SELECT '(' || string_agg(column_name, ', ') || ')' FROM information_schema.columns "
      "WHERE table_schema = '" +
      schema + "' AND table_name = '" + table + "'"));
}

TEST(Records, HaveEveryColumnOfTheirTableAndNoOther) {
  Bed bed(Backend::kSqlite);
  const Bed postgres(Backend::kPostgres);
  for (const std::string table : {"runs",         "task_instances",   "task_data",
                                  "attempts",     "workers",          "machines",
                                  "recovery_log", "recovery_items",   "dead_letters",
                                  "run_signals",  "partition_leases", "queues",
                                  "limits",       "controllers",      "supervisor_journals",
                                  "schedules",    "tokens",           "webhooks",
                                  "secrets",      "secret_versions",  "dags",
                                  "audit_log"}) {
    const std::string insert = with_records("@insert:" + table + "@", kQuestions);
    EXPECT_EQ(names_in(insert), columns_of(bed.path(), table)) << table;
    EXPECT_EQ(names_in(insert), columns_in_postgres(postgres, table)) << table;
  }
  std::vector<std::string> counters = names_in(with_records("@insert:counters@", kQuestions));
  counters.emplace_back("one");  // the key of the only row
  std::ranges::sort(counters);
  EXPECT_EQ(counters, columns_of(bed.path(), "counters"));
  EXPECT_EQ(counters, columns_in_postgres(postgres, "counters"));
}

TEST(Records, ColumnsAreThoseOfARowUnderTheNameOfTheStatement) {
  EXPECT_EQ(with_records("SELECT @columns:machines m@ FROM machines m;", kQuestions),
            "SELECT m.id, m.online, m.since FROM machines m;");
  const std::string attempts = with_records("@columns:attempts a@", kQuestions);
  EXPECT_EQ(attempts.substr(0, 41), "a.task_key, a.epoch, a.number, n.worker_i") << attempts;
  EXPECT_EQ(attempts.find("worker_number"), std::string::npos) << "it stands in no row";
}

TEST(Records, UpsertInsertsARowOrChangesIt) {
  EXPECT_EQ(with_records("@upsert:machines@", kQuestions),
            "INSERT INTO machines (id, online, since) VALUES (?1, ?2, ?3) "
            "ON CONFLICT (id) DO UPDATE SET online = ?2, since = ?3");
  EXPECT_EQ(with_records("@upsert:queues@", kDollars),
            "INSERT INTO queues (name, paused) VALUES ($1, $2) "
            "ON CONFLICT (name) DO UPDATE SET paused = $2");
}

TEST(Records, UpsertOfATaskLeavesWhatIsWrittenOnce) {
  const std::string sql = with_records("@upsert:task_instances@", kQuestions);
  const std::string changes = sql.substr(sql.find("DO UPDATE SET"));
  for (const std::string column : {" created_at =", " node =", " name =", " task_key ="}) {
    EXPECT_EQ(changes.find(column), std::string::npos) << column;
  }
  EXPECT_NE(changes.find(" level = ?2"), std::string::npos) << changes;
  EXPECT_NE(changes.find(" id = ?"), std::string::npos) << changes;
}

TEST(Records, UpdateChangesWhatChangesOftenWhereTheRestIsTheSame) {
  const std::string sql = with_records("@update:task_instances@", kDollars);
  EXPECT_TRUE(sql.starts_with("UPDATE task_instances SET state = $3, stop = $4,")) << sql;
  EXPECT_TRUE(sql.ends_with("WHERE task_key = $1 AND level IS NOT DISTINCT FROM $2")) << sql;
  const std::string counters = with_records("@update:counters@", kQuestions);
  EXPECT_TRUE(counters.starts_with("UPDATE counters SET next_run = ?1, ")) << counters;
  EXPECT_EQ(counters.find("WHERE"), std::string::npos) << "there is one row";
}

TEST(Records, ValuesThatAreUnsetLeaveAColumnAsItIs) {
  EXPECT_EQ(with_records("@upsert:task_data@", kQuestions),
            "INSERT INTO task_data (task_key, epoch, checkpoint, outputs, upload, upload_bytes) "
            "VALUES (?1, ?2, ?3, ?4, coalesce(?5, 0), coalesce(?6, 0)) "
            "ON CONFLICT (task_key) DO UPDATE SET epoch = ?2, checkpoint = coalesce(?3, "
            "task_data.checkpoint), "
            "outputs = coalesce(?4, task_data.outputs), upload = coalesce(?5, task_data.upload), "
            "upload_bytes = coalesce(?6, task_data.upload_bytes)");
}

TEST(Records, SetsWriteARowForEachElementOfTheirArrays) {
  EXPECT_EQ(with_records("@upsert_set:queues@", kDollars),
            "INSERT INTO queues (name, paused) SELECT * FROM "
            "unnest($1::text[], $2::bigint[]) AS n(name, paused) "
            "ON CONFLICT (name) DO UPDATE SET paused = excluded.paused");
  EXPECT_TRUE(with_records("@insert_set:attempts@", kDollars)
                  .ends_with("ON CONFLICT (task_key, epoch) DO NOTHING"));
  const std::string update = with_records("@update_set:task_instances@", kDollars);
  EXPECT_TRUE(update.starts_with("UPDATE task_instances t SET state = n.state, stop = n.stop,"));
  EXPECT_TRUE(
      update.ends_with("WHERE t.task_key = n.task_key AND t.level IS NOT DISTINCT FROM n.level"));
}

TEST(Records, SetsLeaveColumnsWhoseValuesAreUnset) {
  const std::string sql = with_records("@upsert_set:task_data@", kDollars);
  EXPECT_NE(sql.find("upload = coalesce(n.upload, t.upload)"), std::string::npos) << sql;
  EXPECT_NE(sql.find("checkpoint = coalesce(n.checkpoint, t.checkpoint)"), std::string::npos);
  EXPECT_NE(sql.find("SELECT n.task_key, n.epoch, n.checkpoint, n.outputs, coalesce(n.upload, 0)"),
            std::string::npos);
}

TEST(RecordsDeathTest, ATableThatIsNoRecordEndsTheProcess) {
  EXPECT_DEATH(with_records("@columns:bookmarks b@", kQuestions), "no record");
}

}  // namespace
}  // namespace vortex::store::testing
