// Whatever a command is pointed at, it ends with an exit code of the table and a message: no
// command ever ends by an exception. The commands are those of the real tree, each started as the
// real program.

#include <array>
#include <cstdlib>
#include <set>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/vortex/bench_command.h"
#include "cli/app.h"
#include "tests/cli/fake_controller.h"
#include "tests/cli/program.h"

namespace vortex::cli::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Words = std::vector<std::string>;

const std::set<int> kExitCodes{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 130};

struct Leaf {
  Words path;  // runs list
  std::size_t positionals = 0;
  Words file_options;      // take a file or folder
  Words required_options;  // cannot be left out
};

void gather(const CLI::App& command, const Words& path, std::vector<Leaf>& leaves) {
  const auto below = command.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* sub : below) {
    Words name = path;
    name.push_back(sub->get_name());
    gather(*sub, name, leaves);
  }
  if (!below.empty()) return;
  Leaf leaf{path, 0, {}, {}};
  for (const CLI::Option* option : command.get_options()) {
    const std::string type = option->get_type_name();
    if (option->get_positional()) {
      ++leaf.positionals;
    } else if (type == "FILE" || type == "DIR") {
      leaf.file_options.push_back(option->get_name());
    } else if (option->get_required()) {
      leaf.required_options.push_back(option->get_name());
    }
  }
  leaves.push_back(std::move(leaf));
}

std::vector<Leaf> leaves_of_the_tree() {
  Context context;
  Command chosen;
  CLI::App app{"vortex", "vortex"};
  build_app(app, context, chosen, {add_bench});
  std::vector<Leaf> leaves;
  gather(app, {}, leaves);
  return leaves;
}

// These run until they are stopped, or start a cluster: they are only given a configuration that
// they cannot read.
bool stays(const Leaf& leaf) {
  static const std::set<std::string> staying{"controller", "worker", "dev", "drill", "bench"};
  return staying.contains(leaf.path.front());
}

class EveryCommand : public testing::Test {
 protected:
  EveryCommand() {
    folder_.file("dir/not-a-dag.txt", "x");
    // Open for everybody, and every read fails, also for root.
    nasty_ = {folder_.path() + "/dir", "/proc/self/mem", "/dev/zero",
              folder_.file("plain", "x") + "/below"};
  }

  Words globals() const {
    return {"--server", fmt::format("http://127.0.0.1:{}", nobody().port), "--timeout", "100ms"};
  }

  void expect_clean(const Words& arguments, Stdout out = Stdout::kCaptured) {
    const Ended ended = run_program(arguments, folder_.path(), out);
    const std::string what = fmt::format("vortex {}\n{}", fmt::join(arguments, " "), ended.err);
    EXPECT_EQ(ended.signal, 0) << what;
    EXPECT_TRUE(kExitCodes.contains(ended.exit_code)) << ended.exit_code << ": " << what;
    EXPECT_THAT(ended.err, Not(HasSubstr("internal error"))) << what;
    EXPECT_THAT(ended.err, Not(HasSubstr("terminate called"))) << what;
    if (ended.exit_code != 0 && ended.out.empty() && out != Stdout::kClosedPipe) {
      EXPECT_THAT(ended.err, Not(IsEmpty())) << what;
    }
  }

  // The command with `value` for everything that it takes or needs.
  Words filled(const Leaf& leaf, const std::string& value) const {
    Words words = leaf.path;
    words.insert(words.end(), leaf.positionals, value);
    for (const Words& options : {leaf.file_options, leaf.required_options}) {
      for (const std::string& option : options) words.insert(words.end(), {option, value});
    }
    for (const std::string& word : globals()) words.push_back(word);
    return words;
  }

  TemporaryFolder folder_;
  Words nasty_;
};

TEST_F(EveryCommand, EndsCleanlyWhenItIsPointedAtWhatIsNoFile) {
  for (const Leaf& leaf : leaves_of_the_tree()) {
    if (stays(leaf) || leaf.positionals + leaf.file_options.size() == 0) continue;
    for (const std::string& path : nasty_) expect_clean(filled(leaf, path));
  }
}

TEST_F(EveryCommand, EndsCleanlyWhenConfigurationOrTokenCannotBeRead) {
  for (const Leaf& leaf : leaves_of_the_tree()) {
    if (leaf.path.front() == "bench") continue;  // has no configuration
    for (const std::string& path : nasty_) {
      Words words = filled(leaf, "x");
      words.insert(words.end(), {"--config", path, "--token-file", path});
      expect_clean(words);
    }
  }
}

TEST_F(EveryCommand, EndsCleanlyWhenItsOutputGoesNowhere) {
  for (const Leaf& leaf : leaves_of_the_tree()) {
    Words help = leaf.path;
    help.push_back("--help");
    const Ended full = run_program(help, folder_.path(), Stdout::kFullDevice);
    EXPECT_EQ(full.exit_code, 1) << fmt::format("{}", fmt::join(help, " "));
    EXPECT_THAT(full.err, HasSubstr("cannot write the output: No space left on device"));
    const Ended left = run_program(help, folder_.path(), Stdout::kClosedPipe);
    EXPECT_EQ(left.exit_code, 0) << fmt::format("{}", fmt::join(help, " "));
    EXPECT_THAT(left.err, IsEmpty());
    if (stays(leaf)) continue;
    expect_clean(filled(leaf, "1"), Stdout::kFullDevice);
    expect_clean(filled(leaf, "1"), Stdout::kClosedPipe);
  }
}

TEST_F(EveryCommand, WritesNoMessageIntoAFileWhenItsOutputIsClosed) {
  const Ended made = run_program({"tokens", "create", "ci", "--role", "viewer", "--offline"},
                                 folder_.path(), Stdout::kClosed);
  const Ended checked = run_program({"db", "check"}, folder_.path());
  EXPECT_EQ(checked.exit_code, 0) << made.err << checked.err;
}

// Whoever reads the messages may be gone, or its disk full.
TEST(Mistakes, EndWithTheirExitCodeWhenNobodyCanReadTheMessage) {
  for (const char* arguments : {"nonsense", "events --kind foo", "validate /nowhere"}) {
    const std::string line = fmt::format("'{}' {} 2>/dev/full", VX_VORTEX_PROGRAM, arguments);
    const int status = std::system(line.c_str());
    ASSERT_TRUE(WIFEXITED(status)) << line;
    EXPECT_THAT(WEXITSTATUS(status), testing::AnyOf(2, 3)) << line;
  }
}

TEST(Mistakes, UnknownKindsOfEventsAreNamed) {
  const TemporaryFolder folder;
  const Ended far = run_program({"events", "--kind", "foo"}, folder.path());
  EXPECT_EQ(far.exit_code, 2);
  EXPECT_THAT(far.err, HasSubstr("'foo' is not a kind of event"));
  EXPECT_THAT(far.err, HasSubstr("the kinds are approval_requested, "));
  const Ended near = run_program({"events", "--kind", "run_complete,task_faild"}, folder.path());
  EXPECT_EQ(near.exit_code, 2);
  EXPECT_THAT(near.err, HasSubstr("did you mean 'task_failed'?"));
}

TEST(Mistakes, HintsNameCommandsNotRoutes) {
  const std::pair<const char*, const char*> expected[] = {
      {"VX-AUTH-001", "--token-file FILE or VORTEX_TOKEN_FILE"},
      {"VX-WORKER-001", "`vortex workers list`"},
      {"VX-REC-001", "`vortex recoveries list`"},
      {"VX-TASK-003", "`vortex tasks show TASK`"},
      {"VX-DLQ-001", "`vortex dlq list`"},
      {"VX-RUN-001", "`vortex runs list`"},
      {"VX-DAG-015", "`vortex dag list`"},
      {"VX-HOOK-002", "`vortex webhooks list`"},
  };
  for (const auto& [code, hint] : expected) {
    EXPECT_THAT(failure_text(failure_of(problem(404, code))), HasSubstr(hint));
  }
}

TEST(Mistakes, NearNamesOfTheControllerStandBeforeTheCommandThatListsThem) {
  net::Response response = json_response(
      404, R"({"code":"VX-REC-001","title":"There is no such recovery","detail":"99",)"
           R"("near":["3","2"]})");
  EXPECT_THAT(failure_text(failure_of(response)),
              HasSubstr("help: did you mean one of '3', '2'? `vortex recoveries list`"));
  response = json_response(
      404, R"({"code":"VX-QUEUE-001","title":"None","detail":"defalt","near":["default"]})");
  EXPECT_THAT(failure_text(failure_of(response)), HasSubstr("did you mean 'default'? no worker"));
}

TEST(Mistakes, InArgumentsAreShownWithoutJson) {
  net::Response response = json_response(
      422, R"({"code":"VX-REQ-002","title":"Wrong","errors":[{"pointer":"/agent","line":1,)"
           R"("column":11,"message":"'agent' is empty"}]})");
  EXPECT_EQ(failure_text(failure_of(response)),
            "error: --agent is empty\n  = help: --help shows what the command takes\n");
  response = json_response(
      422, R"({"code":"VX-REQ-002","title":"Wrong","detail":"/url: 'url' is no address",)"
           R"("errors":[{"pointer":"/url","message":"'url' is no address"}]})");
  EXPECT_EQ(failure_text(failure_of(response)),
            "error: url is no address\n  = help: --help shows what the command takes\n");
  response = json_response(
      422,
      R"({"code":"VX-REQ-002","title":"Wrong","errors":[)"
      R"({"pointer":"/kinds/0","message":"there are no events of the kind 'foo'","help":"so"},)"
      R"({"pointer":"/name","message":"the name is bad"}]})");
  EXPECT_EQ(failure_text(failure_of(response)),
            "error: --kind: there are no events of the kind 'foo'\n"
            "  --> name: the name is bad\n  = help: so\n");
  response = json_response(
      422, R"({"code":"VX-REQ-012","title":"Impossible","detail":"the key is too long"})");
  EXPECT_THAT(failure_text(failure_of(response)), HasSubstr("error[VX-REQ-012]: the key is too"));
  response = json_response(
      400, R"({"code":"VX-REQ-003","title":"Wrong","detail":"state='foo': it must be Running"})");
  EXPECT_THAT(failure_text(failure_of(response)),
              HasSubstr("error[VX-REQ-003]: --state='foo': it must be Running\n"));
}

// A controller with one worker, w-1, and the queue gpu; it refuses everything else.
net::Response small_fleet(const net::Request& request, std::size_t) {
  const std::string path = request.target.substr(0, request.target.find('?'));
  if (path == "/api/workers") {
    return json_response(200, R"({"workers":[{"id":"w-1","queues":["gpu"]}]})");
  }
  if (path == "/api/queues/gpu/pause") return json_response(200, R"({"name":"gpu"})");
  if (path == "/api/queues/defualt/pause") {
    return json_response(404, R"({"code":"VX-QUEUE-001","title":"There is no such queue",)"
                              R"("detail":"defualt","near":["default"]})");
  }
  if (path == "/api/runs") {
    return json_response(
        422, R"({"code":"VX-DAG-012","title":"Invalid value in the DAG",)"
             R"("detail":"task 'command': queue name 'a b' is wrong","errors":[{"pointer":)"
             R"("/dag/tasks/command","message":"task 'command': queue name 'a b' is wrong"}]})");
  }
  return problem(404, "VX-WORKER-001");
}

TEST(Mistakes, NamesThatNobodyHasGetTheNearestOne) {
  FakeController there(small_fleet);
  const TemporaryFolder folder;
  const std::string server = fmt::format("--server=http://127.0.0.1:{}", there.endpoint().port);
  const Ended near = run_program({server, "queues", "pause", "defualt"}, folder.path());
  EXPECT_EQ(near.exit_code, 3);
  EXPECT_THAT(near.err, HasSubstr("There is no such queue: defualt"));
  EXPECT_THAT(near.err, HasSubstr("did you mean 'default'?"));
  EXPECT_THAT(near.err, HasSubstr("`vortex queues list`"));
  EXPECT_EQ(run_program({server, "queues", "pause", "gpu"}, folder.path()).exit_code, 0);
  const Ended worker = run_program({server, "workers", "cordon", "w-2"}, folder.path());
  EXPECT_EQ(worker.exit_code, 3);
  EXPECT_THAT(worker.err, HasSubstr("did you mean 'w-1'? `vortex workers list` shows them"));
}

TEST(Mistakes, InTheArgumentsOfACommandDoNotShowTheDagAroundIt) {
  FakeController there(small_fleet);
  const TemporaryFolder folder;
  const std::string server = fmt::format("--server=http://127.0.0.1:{}", there.endpoint().port);
  const Ended ended = run_program({server, "exec", "--queue", "a b", "--", "true"}, folder.path());
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_EQ(ended.err, "error[VX-DAG-012]: queue name 'a b' is wrong\n");
}

TEST(Mistakes, DevOnABusyPortSaysWhoHoldsIt) {
  const int busy = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  ASSERT_EQ(::bind(busy, reinterpret_cast<sockaddr*>(&at), size), 0);
  ASSERT_EQ(::listen(busy, 1), 0);
  ::getsockname(busy, reinterpret_cast<sockaddr*>(&at), &size);
  const TemporaryFolder folder;
  const std::string port = std::to_string(ntohs(at.sin_port));
  const std::string held = "error: port " + port + " is in use by test_cli (process " +
                           std::to_string(::getpid()) + ")\n  = help: choose another one with ";
  const Ended ended = run_program({"dev", "--port", port}, folder.path());
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_EQ(ended.err, held + "--port, or omit it\n");
  const Ended listen = run_program({"dev", "--controller.listen=127.0.0.1:" + port}, folder.path());
  EXPECT_EQ(listen.exit_code, 1);
  EXPECT_EQ(listen.err, held + "--controller.listen, or omit it\n");
  ::close(busy);
}

TEST(Mistakes, InTheCommandLineAreSeenBeforeAnythingIsAsked) {
  const TemporaryFolder folder;
  const Ended limit = run_program({"exec", "--limit", "0s", "--", "true"}, folder.path());
  EXPECT_EQ(limit.exit_code, 2);
  EXPECT_THAT(limit.err, HasSubstr("--limit must be more than 0"));
  const Ended topic = run_program({"leases", "acquire", "", "0", "--agent", "a"}, folder.path());
  EXPECT_EQ(topic.exit_code, 2);
  EXPECT_THAT(topic.err, HasSubstr("topic: must not be empty"));
  const Ended name = run_program({"worker", "--name", ".."}, folder.path());
  EXPECT_EQ(name.exit_code, 2);
  EXPECT_THAT(name.err, HasSubstr("--name '..' is not allowed"));
}

TEST(Mistakes, SeveralKindsInOneFileSayThatMoreMayFollow) {
  TemporaryFolder folder;
  folder.file("x.yaml", "name: d\ntimeout: soon\ntasks: {a: {run: [x], retires: 3, needs: [b]}}\n");
  const Ended ended = run_program({"validate", "x.yaml"}, folder.path());
  EXPECT_EQ(ended.exit_code, 7);
  EXPECT_THAT(ended.err, HasSubstr("'soon'"));
  EXPECT_THAT(ended.err, HasSubstr("unknown key 'retires'"));
  EXPECT_THAT(ended.err, HasSubstr("needs 'b'"));
  EXPECT_THAT(ended.err, HasSubstr("more errors may follow once these are fixed\n"));
  folder.file("y.yaml", "name: d\ntasks: {a: {run: [x], needs: [b]}}\n");
  const Ended whole = run_program({"validate", "y.yaml"}, folder.path());
  EXPECT_THAT(whole.err, Not(HasSubstr("more errors may follow"))) << "all was checked";
}

// A directory means its DAG files, for the commands where that makes sense.
class DagFolder : public testing::Test {
 protected:
  DagFolder() {
    folder_.file("dags/b.yml", "{vortex: 1, name: second, tasks: {a: {run: [x]}}}");
    folder_.file("dags/a.yaml", "{vortex: 1, name: first, tasks: {a: {run: [x]}}}");
    folder_.file("dags/c.json", R"({"name": "third", "tasks": {"a": {"run": ["x"]}}})");
    folder_.file("dags/notes.txt", "not a DAG");
    folder_.file("dags/.hidden.yaml", "not a DAG");
    folder_.file("dags/deeper/d.yaml", "not looked at");
    folder_.file("empty/notes.txt", "not a DAG");
  }
  TemporaryFolder folder_;
};

TEST_F(DagFolder, ValidateChecksAllDagFilesInOrder) {
  const Ended ended = run_program({"validate", "dags", "-o", "name"}, folder_.path());
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(ended.out, "first\nsecond\nthird\n");
  const Ended words = run_program({"validate", "dags/"}, folder_.path());
  EXPECT_THAT(words.out, HasSubstr("dags/a.yaml: ok: first, 1 task in 1 level\n"));
}

TEST_F(DagFolder, WithoutDagFilesIsNotFound) {
  const Ended ended = run_program({"validate", "empty"}, folder_.path());
  EXPECT_EQ(ended.exit_code, 3);
  EXPECT_THAT(ended.err, HasSubstr("empty has no DAG files"));
  EXPECT_THAT(ended.err, HasSubstr(".yaml, .yml or .json"));
}

TEST_F(DagFolder, ApplySendsThemAllOrNone) {
  FakeController there([](const net::Request&, std::size_t) {
    return json_response(201, R"({"name":"x","tasks":1,"digest":"d"})");
  });
  const std::string server = fmt::format("http://127.0.0.1:{}", there.endpoint().port);
  const Ended good = run_program({"dag", "apply", "dags", "--server", server}, folder_.path());
  EXPECT_EQ(good.exit_code, 0) << good.err;
  EXPECT_THAT(there.asked(), testing::ElementsAre("PUT /api/dags/first", "PUT /api/dags/second",
                                                  "PUT /api/dags/third"));
  folder_.file("dags/z.yaml", "{name: broken}");
  const Ended bad = run_program({"dag", "apply", "dags", "--server", server}, folder_.path());
  EXPECT_EQ(bad.exit_code, 7) << bad.err;
  EXPECT_EQ(there.asked().size(), 3U) << "a mistake in one file changes nothing";
}

TEST_F(DagFolder, RunRefusesIt) {
  const Ended ended = run_program({"run", "dags"}, folder_.path());
  EXPECT_EQ(ended.exit_code, 7);
  EXPECT_THAT(ended.err, HasSubstr("dags is a directory"));
}

}  // namespace
}  // namespace vortex::cli::test
