#pragma once
// The real `vortex` program, started by a test: what it is given, where its output goes, how it
// ended. It has an empty folder of its own as the working directory, no VORTEX_ variables and no
// input; one that does not end by itself is killed and fails the test.

#include <string>
#include <vector>

#include <sys/types.h>

namespace vortex::cli::test {

enum class Stdout { kCaptured, kFullDevice, kClosedPipe, kClosed };

struct Ended {
  int exit_code = -1;  // -1: by a signal
  int signal = 0;
  std::string out;
  std::string err;
};

// One started program; wait() gives its end. The destructor kills it if it still runs.
class Program {
 public:
  struct Setup {
    std::vector<std::string> arguments;  // without the program itself
    std::string folder;                  // working directory
    Stdout out = Stdout::kCaptured;
    std::vector<std::string> environment;  // NAME=value, besides PATH
  };
  explicit Program(const Setup& setup);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return pid_; }
  void send(int signal) const;
  // Reads its output until it ends, or until a line of stdout contains `word`. False: it ended.
  bool wait_for_output(const std::string& word);
  Ended wait();

 private:
  bool read_more(const std::string& word);

  pid_t pid_ = -1;
  int out_ = -1;
  int err_ = -1;
  Ended ended_;
};

Ended run_program(std::vector<std::string> arguments, const std::string& folder,
                  Stdout out = Stdout::kCaptured);

// A folder under the temporary folder, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string file(const std::string& name, const std::string& text) const;  // its path

 private:
  std::string path_;
};

}  // namespace vortex::cli::test
