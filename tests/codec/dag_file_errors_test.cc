// What people see when they make a mistake in a DAG file: the words, the line and the column.
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/zone_files.h"
#include "codec/dag_file.h"

namespace vortex::codec {
namespace {

using Kind = DagError::Kind;

struct Bad {
  std::string yaml;
  std::uint32_t line;
  std::uint32_t column;
  std::string_view message;    // a part of it
  std::string_view help = "";  // a part of it
};

DagComplaints complaints(std::string_view yaml) {
  const auto plan = check_dag_file(yaml, Syntax::kYaml, {.zones = &system_zones()});
  if (plan) return {};
  return plan.error();
}

std::string shown(const DagComplaints& all) {
  std::string out;
  for (const DagComplaint& c : all) out += to_text(c.problem, "file", "");
  return out;
}

// The mistake is found at its place, and it is the only one that is told.
void expect_told(const Bad& bad) {
  const DagComplaints all = complaints(bad.yaml);
  ASSERT_FALSE(all.empty()) << bad.yaml << "\nis accepted";
  const Problem& p = all.front().problem;
  const bool fits = p.line == bad.line && p.column == bad.column &&
                    p.message.find(bad.message) != p.message.npos &&
                    p.help.find(bad.help) != p.help.npos && all.size() == 1;
  EXPECT_TRUE(fits) << bad.yaml << "\nwanted " << bad.line << ":" << bad.column << " "
                    << bad.message << " [" << bad.help << "], got\n"
                    << shown(all);
}

// A file whose only task has these members, from line 4 on, indented by 4.
std::string block_task(std::string_view members) {
  return fmt::format("name: d\ntasks:\n  a:\n{}\n", members);
}

// ---- Syntax ----

std::vector<Bad> syntax_mistakes() {
  return {
      {"", 1, 1, "the document is empty"},
      {"# only a comment\n", 1, 1, "the document is empty"},
      {"name: d\ntasks:\n\ta: {run: [x]}\n", 3, 1, "tabs are not allowed for indentation",
       "use spaces"},
      {"name: d\ntasks:\n  a:\n  \trun: [x]\n", 4, 3, "tabs are not allowed for indentation",
       "use spaces"},
      {"name: d\ntasks: {a: {run: [x]}\n", 2, 8, "a '{' is never closed"},
      {block_task("    run: [x, y\n    timeout: 5s"), 4, 10, "a '[' is never closed"},
      {block_task("    shell: [bash, -c]\n    run: |\n      \"one quote [\n    env: {A: '[', B: b"),
       7, 10, "a '{' is never closed"},
      {"name: d\ntasks:\n  a: {run: [x}\n", 3, 14, "a '}' or ']' closes nothing"},
      {"name: \"d\ntasks: {}\n", 1, 7, "a quote is never closed"},
      {"name: 'd\ntasks: {}", 2, 10, "a quote is never closed"},
      {"name: d\ntasks:\n  a: {run: [x]}\n b: {run: [x]}\n", 4, 2,
       "the indentation of this line does not match"},
      {"name: a: b\n", 1, 8, "a ':' is not allowed here"},
      {"name: \"\\q\"\n", 1, 8, "unknown escape in double quotes", "single quotes"},
      {"name: @d\n", 1, 7, "unexpected character", "put the string in quotes"},
      {"name: *gone\n", 1, 7, "there is no anchor with this name"},
      {block_task("    run: [echo, ${{ params.x }}]"), 4, 18, "this is not valid YAML",
       "put a string with ${{ }} in quotes"},
      {"name: d\n---\nname: e\n", 2, 1, "a second document starts here", "one DAG"},
      {"name: !!int d\ntasks: {a: {run: [x]}}\n", 1, 7, "the tag 'tag:yaml.org,2002:int'"},
      {"name: &a [*a]\n", 1, 11, "refers to something that contains it"},
      {"name: \x01\n", 1, 7, "unexpected control character \\x01"},
      {"name: \xff\n", 1, 7, "byte \\xff is not UTF-8", "save the file as UTF-8"},
      {std::string(40, '['), 1, 17, "nested deeper than 32"},
      {"? [a]\n: b\nname: d\ntasks: {a: {run: [x]}}\n", 1, 3, "a key must be a string"},
  };
}

// ---- Schedules ----

std::vector<Bad> schedule_mistakes() {
  // The members begin in line 3, column 3.
  const auto of = [](std::string_view members) {
    return fmt::format("name: d\nschedule:\n  {}\ntasks: {{a: {{run: [x]}}}}\n", members);
  };
  return {
      {of("cron: 61 * * * *"), 3, 9, "'cron': the minute '61' has the value 61", "0 to 59"},
      {of("cron: 0 30 2 * * MON"), 3, 9, "has 6 fields", "at 02:30 every Monday"},
      {of("cron: 0 0 30 2 *"), 3, 9, "never comes", "February has no day 30"},
      {of("cron: \"@dialy\""), 3, 9, "'@dialy' is not known", "did you mean '@daily'?"},
      {of("cron: */15 * * * *"), 3, 9, "there is no anchor", "quotes: \"*/15 * * * *\""},
      {of("cron: 5"), 3, 9, "must be a string", "\"5\""},
      {of("every: 15"), 3, 10, "a string with a unit", "15s"},
      {of("every: 0s"), 3, 10, "'every' is '0s'"},
      {of("every: 5m\n  cron: 0 0 * * *"), 3, 3, "'cron' or 'every', not both"},
      {of("timezone: UTC"), 3, 3, "neither 'cron' nor 'every'", "every: 15m"},
      {of("every: 5m\n  timezone: Europe/Berln"), 4, 13, "time zone 'Europe/Berln' is not known",
       "did you mean 'Europe/Berlin'?"},
      {of("every: 5m\n  timezone: berlin"), 4, 13, "time zone 'berlin' is not known",
       "did you mean 'Europe/Berlin'?"},
      {of("every: 5m\n  timezone: ../etc/xyzzyx"), 4, 13, "is not known", "IANA name"},
      {of("every: 5m\n  tz: UTC"), 4, 3, "unknown key 'tz' in 'schedule'",
       "did you mean 'timezone'?"},
      {of("every: 5m\n  overlap: queue"), 4, 12, "must be one of skip, queue_one"},
      {of("every: 5m\n  overlap: skipp"), 4, 12, "must be one of", "did you mean 'skip'?"},
      {of("every: 5m\n  catchup: {limit: 2}"), 4, 12, "'catchup' has no 'window'"},
      {of("every: 5m\n  catchup: {window: 1h, limit: 0}"), 4, 32, "the allowed range is 1 to"},
      {of("every: 5m\n  jitter: 5m"), 4, 11, "'jitter' is 5m, but there is a run every 5m",
       "shorter"},
      {of("every: 5m\n  from: soon"), 4, 9, "which is not a date or time", "2026-03-01"},
      {of("every: 5m\n  from: 2026-02-30"), 4, 9, "which is not a date or time"},
      {of("every: 5m\n  from: 2026-03-02\n  until: 2026-03-01"), 5, 10,
       "'until' (2026-03-01) comes before 'from' (2026-03-02)"},
      {of("cron: 0 0 1 4 *\n  from: 2026-03-02\n  until: 2026-03-03"), 5, 10,
       "there is no time between", "apart"},
      {of("every: 5m\n  pause_on_failure: maybe"), 4, 21, "must be true or false"},
      {"name: d\nschedule: 30 2 * * *\ntasks: {a: {run: [x]}}\n", 2, 11, "it must be a map",
       "write schedule: {cron: \"30 2 * * *\"}"},
      {"name: d\nschedule: {every: 5m}\nparams: {p: {}}\ntasks: {a: {run: [x]}}\n", 3, 13,
       "param 'p' has no default", "give it a default"},
  };
}

TEST(DagFileErrors, TellsMistakesInSchedules) {
  for (const Bad& bad : schedule_mistakes()) expect_told(bad);
}

// ---- Scalars ----

std::vector<Bad> scalar_mistakes() {
  return {
      {block_task("    run: [echo, yes]"), 4, 17, "'yes' is true or false to some YAML parsers",
       "put it in quotes: \"yes\""},
      {block_task("    run: [x]\n    exclusive: on"), 5, 16, "'on' is true or false to some"},
      {block_task("    run: [x]\n    labels: {gpu: \"a\\u202Eb\"}"), 5, 19,
       "changes the direction of text (<U+202E>)"},
      {block_task("    run: [x]\n    labels: {gpu: \"\\x1b[2J\"}"), 5, 19,
       "label value '\\x1b[2J' contains a control character"},
      {block_task("    run: [chmod, 0644, f]"), 4, 18, "'0644' is a number to some",
       "put it in quotes: \"0644\""},
      {block_task("    run: [x]\n    env: {MODE: no}"), 5, 17, "'no' is true or false to some"},
      {block_task("    run: [sleep, 5]"), 4, 18, "item 2 of 'run' is 5; it must be a string",
       "put it in quotes: \"5\""},
      {block_task("    run: [x]\n    env: {N: 5}"), 5, 14, "'N' is 5; it must be a string",
       "put it in quotes: \"5\""},
      {block_task("    run: [x]\n    env: {N: true}"), 5, 14, "'N' is true",
       "put it in quotes: \"true\""},
      {block_task("    run: [x]\n    env: {N: }"), 5, 11, "'N' is null; it must be a string"},
      {"name: 5\ntasks: {a: {run: [x]}}\n", 1, 7, "'name' is 5; it must be a string"},
      {"name: d\ntasks: {yes: {run: [x]}}\n", 2, 9, "the key 'yes' is not a string to all",
       "put it in quotes: \"yes\""},
      {block_task("    run: [x]\n    exclusive: \"true\""), 5, 16, "it must be true or false"},
      {block_task("    run: [x]\n    priority: high"), 5, 15, "it must be a whole number"},
      {block_task("    run: [x]\n    priority: \"1\""), 5, 15, "it must be a whole number",
       "without quotes"},
      {block_task("    run: [x]\n    priority: 101"), 5, 15, "the allowed range is -100 to 100"},
      {block_task("    run: [x]\n    timeout: 90"), 5, 14, "it must be a string with a unit",
       "\"90s\""},
      {block_task("    run: [x]\n    timeout: 90sec"), 5, 14, "which is not a duration",
       "did you mean 90s?"},
      {block_task("    run: [x]\n    timeout: 0s"), 5, 14, "'0s'; it must be more than 0"},
      {block_task("    run: [x]\n    resources: {memory: 512}"), 5, 25, "a string with a unit",
       "512MiB"},
      {block_task("    run: [x]\n    resources: {memory: 512Mib}"), 5, 25, "which is not a size",
       "did you mean 512MiB?"},
      {block_task("    run: [x]\n    resources: {memory: 1G}"), 5, 25, "which is not a size",
       "did you mean 1GiB?"},
      {block_task("    run: [x]\n    resources: {memory: 1Gi}"), 5, 25, "which is not a size",
       "units: B, KiB, MiB, GiB, TiB, KB, MB, GB, TB"},
      {block_task("    run: [x]\n    resources: {cpu: two}"), 5, 22,
       "it must be a number such as 1.5"},
  };
}

// ---- Keys ----

std::vector<Bad> key_mistakes() {
  return {
      {block_task("    run: [x]\n    retires: 3"), 5, 5, "unknown key 'retires' in task 'a'",
       "did you mean 'retries'?"},
      {block_task("    run: [x]\n    depends_on: b"), 5, 5, "unknown key 'depends_on' in task 'a'",
       "did you mean 'needs'?"},
      {block_task("    run: [x]\n    max_retries: 3"), 5, 5, "unknown key 'max_retries'",
       "did you mean 'retries'?"},
      {block_task("    run: [x]\n    max_attempts: 4"), 5, 5, "unknown key 'max_attempts'",
       "the number of retries after the first try: retries: 4"},
      {block_task("    run: [x]\n    retry: {attempts: 5}"), 5, 13,
       "unknown key 'attempts' in 'retry'",
       "'attempts' is called 'max' here: the number of retries after the first try; "
       "write retry: {max: 5}"},
      {"name: d\ndefaults: {retry: {delay: 1s, attempts: 5}}\ntasks: {a: {run: [x]}}\n", 2, 31,
       "unknown key 'attempts' in 'retry'", "write retry: {max: 5}"},
      {block_task("    run: [x]\n    retry: {retries: 3}"), 5, 13, "unknown key 'retries'",
       "did you mean 'max'?"},
      {"name: d\nretries: 7\ntasks: {a: {run: [x]}}\n", 2, 1, "unknown key 'retries'",
       "write retries: 7 in a task, or in 'defaults' for all tasks"},
      {"name: d\nmax_retries: 3\ntasks: {a: {run: [x]}}\n", 2, 1, "unknown key 'max_retries'",
       "or in 'defaults' for all tasks"},
      {block_task("    run: [x]\n    command: y"), 5, 5, "unknown key 'command'",
       "did you mean 'run'?"},
      {block_task("    run: [x]\n    cmd: y"), 5, 5, "unknown key 'cmd'", "did you mean 'run'?"},
      {block_task("    run: [x]\n    script: y"), 5, 5, "unknown key 'script'",
       "did you mean 'run'?"},
      {block_task("    run: [x]\n    retry: {limit: 3}"), 5, 13, "unknown key 'limit' in 'retry'",
       "the keys are max, backoff, delay"},
      {block_task("    run: [x]\n    image: alpine"), 5, 5, "unknown key 'image'", "'runtime'"},
      {block_task("    run: [x]\n    when: always"), 5, 5, "unknown key 'when'", "'trigger_rule'"},
      {block_task("    run: [x]\n    parallelism: 4"), 5, 5, "unknown key 'parallelism'",
       "'max_parallel' of a map"},
      {"name: d\nparallelism: 4\ntasks: {a: {run: [x]}}\n", 2, 1, "unknown key 'parallelism'",
       "'max_parallel' of a map"},
      {block_task("    run: [x]\n    map: {over: [a], parallelism: 4}"), 5, 22,
       "unknown key 'parallelism'", "did you mean 'max_parallel'?"},
      {block_task("    run: [x]\n    timeout_seconds: 90"), 5, 5, "unknown key 'timeout_seconds'",
       "timeout: 90s"},
      {"name: d\ncron: \"@daily\"\ntasks: {a: {run: [x]}}\n", 2, 1, "unknown key 'cron'",
       "write schedule: {cron:"},
      {"name: d\ntask: {}\ntasks: {a: {run: [x]}}\n", 2, 1, "unknown key 'task' in the document",
       "did you mean 'tasks'?"},
      {"name: d\nname: e\ntasks: {a: {run: [x]}}\n", 2, 1, "key 'name' is given twice"},
      {block_task("    run: [x]\n    run: [y]"), 5, 5, "key 'run' is given twice"},
      {"name: d\ntasks:\n  a: {run: [x]}\n  a: {run: [y]}\n", 4, 3, "key 'a' is given twice"},
      {block_task("    run: [x]\n    env: {A: b, A: c}"), 5, 17, "key 'A' is given twice"},
      {"tasks: {a: {run: [x]}}\n", 1, 1, "the document has no 'name'"},
      {"name: d\n", 1, 1, "the document has no 'tasks'"},
      {block_task("    needs: []"), 4, 5, "'a' has no 'run'"},
      {"vortex: 2\nname: d\ntasks: {a: {run: [x]}}\n", 1, 9, "only version 1 is supported"},
      {block_task("    run: [x]\n    if: always"), 5, 9, "unknown name 'always'"},
      {block_task("    run: [x]\n    if: failed(b)"), 5, 16, "unknown task 'b'"},
      {block_task("    run: [x]\n    if: \"'x' in 3\""), 5, 14, "'in' expects a list"},
      {block_task("    run: [x]\n    if: 3"), 5, 9, "must be a string"},
      {block_task("    run: [x]\n    if: ''"), 5, 9, "the condition is empty"},
      {block_task("    run: [x]\n    continue_on_error: maybe"), 5, 24, "must be true or false"},
      {block_task("    run: [x]\n    retry: {on: [faild]}"), 5, 18, "faild",
       "did you mean 'failed'?"},
      {block_task("    run: [x]\n    retry: {on: []}"), 5, 17, "nothing would be retried"},
      {block_task("    run: [x]\n    retry: {only_exit: [1], unless_exit: [2]}"), 4, 5,
       "both only_exit and unless_exit"},
      {block_task("    run: [x]\n    call: f"), 5, 5, "'call' is not supported yet"},
      {block_task("    run: [x]\n    dag: other"), 4, 5, "'run' cannot stand beside 'dag'"},
      {block_task("    run: [x]\n    secrets: [a]"), 5, 14, "it must be a map",
       "write secrets: {DB_PASSWORD: db/password}"},
      {block_task("    run: [x]\n    secrets: {A: [b]}"), 5, 18, "must be a string"},
      {block_task("    run: [x]\n    secrets: {A: DB/Password}"), 5, 18,
       "is not the name of a secret", "did you mean 'db/password'?"},
      {block_task("    run: [x]\n    secrets: {A: db/password@0}"), 5, 18,
       "is not the version of a secret"},
      {block_task("    run: [x]\n    secrets: {A: -x}"), 5, 18, "is not the name of a secret"},
      {block_task("    run: [x]\n    secrets: {A B: x}"), 5, 15, "contains a space"},
      {block_task("    run: [x]\n    secrets: {A: x, A: y}"), 5, 21, "key 'A' is given twice"},
      {block_task("    run: [x]\n    secrets: {files: x}"), 5, 22, "it must be a map",
       "write files: {tls.key: tls/key}"},
      {block_task("    run: [x]\n    secrets: {file: {a: b}}"), 5, 15,
       "unknown key 'file' in 'secrets'", "did you mean 'files'?"},
      {block_task("    run: [x]\n    secrets: {files: {a/b: c}}"), 5, 23, "file of a secret"},
      {"name: d\nsecrets: {A: b}\ntasks: {a: {run: [x]}}\n", 2, 1, "'secrets' belongs to a task"},
      {block_task("    run: [x]\n    hooks: {}"), 5, 5, "'hooks' is not supported yet"},
      {"name: d\ndefaults: {run: [x]}\ntasks: {a: {run: [x]}}\n", 2, 12,
       "unknown key 'run' in 'defaults'"},
      {"name: d\ndefaults: {timeout: soon}\ntasks: {a: {run: [x]}, b: {run: [x]}}\n", 2, 21,
       "which is not a duration"},
      {block_task("    run: [x]\n    retry: {dealy: 3s}"), 5, 13, "unknown key 'dealy' in 'retry'",
       "did you mean 'delay'?"},
      {block_task("    run: [x]\n    retry: {backoff: exponentail}"), 5, 22,
       "it must be one of fixed", "did you mean 'exponential'?"},
      {block_task("    run: [x]\n    trigger_rule: al_done"), 5, 19,
       "it must be one of all_success", "did you mean 'all_done'?"},
      {"name: d\nbarrier: level\ntasks: {a: {run: [x]}}\n", 2, 10, "it must be levels",
       "did you mean 'levels'?"},
      {"name: d\nparams: {x: {type: text}}\ntasks: {a: {run: [x]}}\n", 2, 20, "it must be one of"},
      {"name: d\nparams: {x: 5}\ntasks: {a: {run: [x]}}\n", 2, 13, "it must be a map",
       "\"default\""},
      {"name: d\nparams: {x: {default: 5}}\ntasks: {a: {run: [x]}}\n", 2, 23, "must be a string"},
      {"name: d\ntasks: {a: {<<: 5, run: [x]}}\n", 2, 17, "<< expects a map"},
      {"name: d\ntasks: [a]\n", 2, 8, "'tasks' is a list; it must be a map",
       "write a map of names to tasks: {a: {run: [...]}}"},
      {"name: d\ntasks:\n  - {name: a, run: [x]}\n  - {id: b, run: [y], needs: a}\n", 3, 3,
       "'tasks' is a list; it must be a map", R"({a: {run: ["x"]}, b: {run: ["y"], needs: "a"}})"},
      {"name: d\ntasks:\n  - a: {run: [x]}\n", 3, 3, "it must be a map", R"({a: {"run":["x"]}})"},
      {"name: d\ntasks:\n  a:\n", 3, 3, "'a' is null; it must be a map"},
  };
}

// ---- Values ----

std::vector<Bad> value_mistakes() {
  return {
      {block_task("    run: echo hi"), 4, 10, "'run' is a string, but there is no shell to run it",
       "shell: [bash, -euc]"},
      {block_task("    run: {a: b}"), 4, 10, "it must be a list of strings"},
      {block_task("    run: [\"\"]"), 4, 5, "the name of the program to start is empty"},
      {block_task("    run: []"), 4, 10, "the command is empty"},
      {block_task("    run: [x]\n    needs: {b: 1}"), 5, 12, "it must be a list"},
      {block_task("    run: [x]\n    retry: 3"), 5, 12, "'retry' is 3; it must be a map",
       "write retries: 3, or retry: {max: 3}"},
      {block_task("    run: [x]\n    retries: -1"), 5, 14,
       "'retries' is -1; the allowed range is 0 to 10000"},
      {block_task("    run: [x]\n    retries: {max: 3}"), 5, 14, "it must be a whole number"},
      {block_task("    run: [x]\n    retries: 5\n    retry: {delay: 1s}"), 5, 5,
       "'retry' and 'retries' are both given", "write retry: {max: 5, ...}"},
      {"name: d\ndefaults: {retry: {}, retries: 2}\ntasks: {a: {run: [x]}}\n", 2, 23,
       "'retry' and 'retries' are both given", "write retry: {max: 2, ...}"},
      {block_task("    run: [x]\n    env: [A=b, C=d=e]"), 5, 10,
       "'env' is a list; it must be a map", R"(write env: {A: "b", C: "d=e"})"},
      {block_task("    run: [x]\n    env: [A]"), 5, 10, "it must be a map",
       "write env: {NAME: value}"},
      {block_task("    run: echo\n    shell: bash"), 5, 12, "'shell' is 'bash'; it must be a list",
       "write shell: [bash, -euc]"},
      {block_task("    run: echo\n    shell: /bin/sh -c"), 5, 12, "it must be a list",
       "write shell: [/bin/sh, -c]"},
      {block_task("    run: [x]\n    map: {over: [a, [b]]}"), 5, 21,
       "it must be a string, a number, true or false"},
      {block_task("    run: [x]\n    map: {over: \"${{ tasks.l.outputs.f }}\"}"), 5, 17,
       "unknown task 'l'"},
      {block_task("    run: [x]\n    map: {over: \"x ${{ params.f }}\"}"), 5, 17,
       "a map goes over a single param or output", "write one expression such as"},
      {block_task("    run: [x]\n    map: {over: \"${{ json(params.f) }}\"}"), 5, 17,
       "a map goes over a single param or output"},
      {block_task("    run: [x]\n    map: {over: \"${{ run.id }}\"}"), 5, 17,
       "a map cannot go over run.id"},
      {block_task("    run: [x]\n    map: {over: abc}"), 5, 17,
       "it must be a list, a range or an expression"},
      {block_task("    run: [x]\n    map: {over: []}"), 4, 5, "the map's list is empty"},
      {block_task("    run: [x]\n    map: {over: {range: {from: 1}}}"), 5, 25,
       "'range' has no 'to'"},
      {block_task("    run: [x]\n    map: {over: {range: {from: 5, to: 1}}}"), 4, 5, "is empty"},
      {block_task("    run: [x]\n    map: {over: [a], as: index}"), 4, 5,
       "'as' of the map is 'index'"},
      {block_task("    run: [x]\n    map: {over: [a]}\n    matrix: {k: [v]}"), 6, 5, "not both"},
      {block_task("    run: [x]\n    matrix: {k: v}"), 5, 17, "it must be a list"},
      {block_task("    run: [x]\n    matrix: {k: [[v]]}"), 5, 18,
       "a string, a number, true or false"},
      {block_task("    run: [x]\n    matrix: {}"), 5, 13, "a matrix needs at least one list"},
      {block_task("    run: [x]\n    matrix: {k: []}"), 5, 17, "needs at least one item"},
      {block_task("    run: [x]\n    retry: {delay: 5s, max_delay: 1s}"), 4, 5,
       "must not be less than the delay"},
      {block_task("    run: [x]\n    retry: {jitter: 2}"), 5, 21, "a number from 0 to 1"},
      {block_task("    run: [x]\n    outputs: [a, a]"), 4, 5, "output 'a' is given twice"},
      {block_task("    run: [x]\n    env: {\"A=B\": x}"), 5, 11, "contains a '='"},
      {block_task("    run: [x]\n    env: {\"A B\": x}"), 5, 11, "contains a space"},
      {block_task("    run: [x]\n    env: {\"A\\0B\": x}"), 5, 11, "\\x00"},
      {"name: d e\ntasks: {a: {run: [x]}}\n", 1, 7, "may contain only letters"},
      {"name: d\ntasks:\n  a b: {run: [x]}\n", 3, 8, "may contain only letters"},
      {"name: d\ntasks: {}\n", 2, 8, "a DAG needs at least one task"},
      {"name: d\nparams: {a b: {}}\ntasks: {a: {run: [x]}}\n", 2, 15, "may contain only letters"},
  };
}

// ---- The graph and expressions ----

std::vector<Bad> graph_mistakes() {
  return {
      {"name: d\ntasks:\n  list: {run: [x]}\n  b:\n    run: [x]\n    needs: [list, lst]\n", 6, 19,
       "task 'b': needs 'lst', which is not a task in this DAG", "did you mean 'list'?"},
      {"name: d\ntasks: {a: {run: [x], needs: b}}\n", 2, 30, "needs 'b', which is not a task"},
      {"name: d\ntasks:\n  a: {run: [x], needs: [b]}\n  b: {run: [x], needs: [a]}\n", 3, 24,
       "waits for itself: a -> b -> a"},
      {"name: d\ntasks: {a: {run: [x], needs: [a]}}\n", 2, 30, "task 'a': needs itself"},
      {"name: d\ntasks: {a: {run: [x]}, b: {run: [x], needs: [a, a]}}\n", 2, 45, "needs 'a' twice"},
      {block_task("    run: [echo, \"${{ parms.x }}\"]"), 4, 22, "unknown name 'parms'",
       "did you mean 'params'?"},
      {"name: d\nparams: {dir: {}}\ntasks:\n  a:\n    run: [ls, \"x/${{ params.dri }}\"]\n"
       "    env: {A: \"${{ params.dir }}\"}\n",
       5, 22, "unknown param 'dri'", ""},
      {block_task("    run: [x]\n    env:\n      A: 'x ${{ map.item }}'"), 6, 17,
       "map.item is used, but the task has no map"},
      {block_task("    run: [x]\n    workdir: /srv/${{ tasks.b.outputs.x }}"), 5, 23,
       "unknown task 'b'"},
      {block_task("    run: |\n      set -x\n      rm ${{ params.x }}\n    shell: [bash, -c]"), 6,
       10, "would be read as code", "pass it through env"},
      {block_task("    run: [x, \"${{ 1 }} $${{ ${{ run.x }}\"]"), 4, 33, "'run' has only"},
      {"name: d\ndefaults: {env: {A: \"${{ map.item }}\"}}\ntasks: {a: {run: [x]}, b: {run: "
       "[x]}}\n",
       2, 26, "the task has no map"},
      {"name: d\ntasks: {a: {run: [x]}, b: {run: [x, \"${{ tasks.a.outputs.k }}\"]}}\n", 2, 42,
       "task 'a' is not one of its needs", "add 'a' to the task's needs"},
      {"name: d\ntasks: {a: {run: [x], outputs: [k]}, b: {needs: a, run: [x, "
       "\"${{ tasks.a.outputs.kk }}\"]}}\n",
       2, 66, "declares no output 'kk'", ""},
  };
}

TEST(DagFileErrors, MistakesOfSyntaxAreToldWithTheirPlace) {
  for (const Bad& bad : syntax_mistakes()) expect_told(bad);
}
TEST(DagFileErrors, ScalarsThatAreNotClearAreToldWithTheirPlace) {
  for (const Bad& bad : scalar_mistakes()) expect_told(bad);
}
TEST(DagFileErrors, WrongKeysAreToldWithTheirPlace) {
  for (const Bad& bad : key_mistakes()) expect_told(bad);
}
TEST(DagFileErrors, WrongValuesAreToldWithTheirPlace) {
  for (const Bad& bad : value_mistakes()) expect_told(bad);
}
TEST(DagFileErrors, MistakesOfTheGraphAreToldWithTheirPlace) {
  for (const Bad& bad : graph_mistakes()) expect_told(bad);
}

TEST(DagFileErrors, EverythingIsToldAtOnceInTheOrderOfTheFile) {
  const DagComplaints all = complaints(R"(name: d
timeout: soon
tasks:
  a: {run: [x], retires: 1, needs: [c]}
  b: {run: echo}
  c: {run: [x], priority: 1000, needs: [zz]}
)");
  std::vector<std::uint32_t> lines;
  for (const DagComplaint& c : all) lines.push_back(c.problem.line);
  EXPECT_EQ(lines, (std::vector<std::uint32_t>{2, 4, 5, 6, 6})) << shown(all);
}

TEST(DagFileErrors, WhatCompileSaysHasItsKind) {
  const auto kind = [](std::string_view yaml) { return complaints(yaml).at(0).kind; };
  EXPECT_EQ(kind("name: d\ntasks: {a: {run: [x], needs: b}}\n"), Kind::kUnknownNeed);
  EXPECT_EQ(kind("name: d\ntasks: {a: {run: [x], needs: a}}\n"), Kind::kSelfNeed);
  EXPECT_EQ(kind("name: d\ntasks: {}\n"), Kind::kEmpty);
  EXPECT_EQ(kind("name: d\ntasks: {a: {run: [x, \"${{ x }}\"]}}\n"), Kind::kBadValue);
  EXPECT_EQ(kind("name: d\ntasks: {a: {runn: [x]}}\n"), std::nullopt);
}

TEST(DagFileErrors, MillionsOfLaughsAreRefusedSoon) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  std::string merges = "m0: &m0 {x: y}\n";
  for (int i = 1; i < 12; ++i) {
    bomb += fmt::format("a{}: &a{} [", i, i);
    merges += fmt::format("m{}: &m{} {{<<: [", i, i);
    for (int j = 0; j < 10; ++j) {
      bomb += fmt::format("{}*a{}", j == 0 ? "" : ", ", i - 1);
      merges += fmt::format("{}*m{}", j == 0 ? "" : ", ", i - 1);
    }
    bomb += "]\n";
    merges += "]}\n";
  }
  EXPECT_NE(shown(complaints(bomb)).find("aliases make this document too large"),
            std::string::npos);
  EXPECT_NE(shown(complaints(merges)).find("<< makes this document too large"), std::string::npos);
}

// Inputs that have broken parsers of YAML before, this library's among them.
TEST(DagFileErrors, OddInputsAreRefusedLikeAnyOther) {
  for (const std::string& odd : std::vector<std::string>{"!2",
                                                         "-.",
                                                         "[!",
                                                         "? ",
                                                         "&",
                                                         "*",
                                                         "%YAML 3\n---\na",
                                                         "%TAG",
                                                         "{? }",
                                                         "\"\\u\"",
                                                         ">9\n",
                                                         "|",
                                                         "!<",
                                                         "!<a",
                                                         "! ",
                                                         "- !",
                                                         "[&a]",
                                                         "{&a : *a}",
                                                         "? ? ?",
                                                         "- ? - :",
                                                         "\"",
                                                         "'",
                                                         "\"\\",
                                                         "--- |\n%",
                                                         "...",
                                                         "%",
                                                         "\t",
                                                         "[,",
                                                         "{,",
                                                         "[,]",
                                                         "{,}",
                                                         "{:",
                                                         "[:]",
                                                         "? - a\n: b",
                                                         "{<<: {<<: {}}}",
                                                         "a: |1\n  b",
                                                         std::string(20'000, '['),
                                                         std::string(20'000, '{'),
                                                         std::string(20'000, '-'),
                                                         "- " + std::string(20'000, '\n')}) {
    const DagComplaints all = complaints(odd);
    ASSERT_FALSE(all.empty()) << odd.substr(0, 40);
    EXPECT_GE(all.front().problem.line, 1U);
  }
}

TEST(DagFileErrors, NeverMoreProblemsThanAPersonReads) {
  std::string yaml = "name: d\ntasks:\n";
  for (int i = 0; i < 100; ++i) yaml += fmt::format("  t{}: {{run: [x], nonsense: 1}}\n", i);
  EXPECT_EQ(complaints(yaml).size(), kProblemsMax);
}

}  // namespace
}  // namespace vortex::codec
