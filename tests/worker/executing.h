#pragma once
// An executor with real processes for tests: temporary folders, a loop that is run by hand until a
// condition holds, and everything it told or wrote kept for the asking.
// One at a time; its destructor ends what it started and removes the groups it made.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>
#include <sys/types.h>

#include "base/time.h"
#include "worker/executor.h"

namespace vortex::worker {

class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class KeepingSink : public LogSink {
 public:
  void write(Attempt attempt, std::string_view bytes) override;
  void close(Attempt attempt, std::function<void()> flushed) override;

  enum class Keep { kAll, kCount };
  Keep keep = Keep::kAll;
  std::map<Attempt, std::string> texts;
  std::uint64_t bytes = 0;
  bool hold_back = false;  // closed attempts wait in `waiting`
  std::vector<std::function<void()>> waiting;
};

using Exit = std::variant<Completed, Failed, agent::Killed>;

struct Told {
  bool started = false;
  std::optional<agent::ProcessCouldNotStart> could_not_start;
  std::vector<Progress> progress;
  std::vector<std::string> checkpoints;
  std::vector<std::uint64_t> output;  // bytes written so far
  std::optional<Exit> exit;
  bool over() const { return could_not_start || exit; }
};

class Executing {
 public:
  explicit Executing(Containment containment = Containment::kAuto,
                     const std::function<void(ExecutorConfig&)>& change = {});
  ~Executing();
  Executing(const Executing&) = delete;
  Executing& operator=(const Executing&) = delete;

  Attempt start(std::vector<std::string> argv, const std::function<void(Launch&)>& change = {});
  // Starts it and waits for its end.
  const Told& run(std::vector<std::string> argv, const std::function<void(Launch&)>& change = {});
  const Told& wait_over(Attempt attempt);
  // False: it did not come to hold in time.
  bool wait(const std::function<bool()>& holds, Duration limit = seconds(30));
  // The first lines of its output, once there are so many.
  std::vector<std::string> lines(Attempt attempt, std::size_t count);
  const std::string& text(Attempt attempt) { return sink.texts[attempt]; }

  TempFolder folder;
  boost::asio::io_context io;
  KeepingSink sink;
  std::map<Attempt, Told> told;
  std::vector<std::string> notices;
  std::optional<Executor> executor;
  Attempt last;  // started last

 private:
  void on_told(const agent::Input& input);
  std::uint32_t count_ = 0;
  GroupName group_;
};

std::vector<std::string> shell(const std::string& script);
std::vector<std::string> split_lines(const std::string& text);
// Whether no process, dead or alive, has this id.
bool is_gone(pid_t pid);
// Waits without a loop. False: some are left.
bool wait_gone(const std::vector<pid_t>& pids, Duration limit);
std::vector<pid_t> pids_of(const std::vector<std::string>& lines);

// "failed: ...", "killed", "fenced", "lost with its runner", "completed {...}", "could not start:
// ..."
std::string summary(const Told& told);

}  // namespace vortex::worker
