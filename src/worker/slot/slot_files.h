#pragma once
// The files through which a task talks: outputs, checkpoint, progress and a folder of its own for
// temporary files. One set per slot, used again by one task after another.
//
// A task may do anything to its files (remove, replace, make a pipe of them): only regular files up
// to a limit are read, nothing here waits for one, and before the next task all is as new. Emptying
// a large temporary folder is left to another thread. On the executor's thread.

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include "model/sync.h"
#include "worker/files.h"

namespace vortex::worker {

inline constexpr std::size_t kOutputsBytesMax = 256 * 1024;

class SlotFiles {
 public:
  static constexpr const char* kCheckpointName = "checkpoint";

  struct Config {
    std::string folder;                                     // made when it is not there
    std::size_t checkpoint_bytes_max = 64 * 1024;           // read at once; a larger one is opened
    std::function<void(std::string folder)> remove_folder;  // somewhere else, when there is time
  };
  // The error is a sentence for people.
  static std::expected<SlotFiles, std::string> open(Config config);

  // Before a task. The error is an errno.
  std::expected<void, int> prepare(std::string_view checkpoint);
  // The same with a file that becomes the checkpoint.
  std::expected<void, int> prepare_with_file(const std::string& path);
  // After a task, when none of its processes is left.
  void clean_up();
  // The task has left nothing here: nothing to read and nothing to clean up. Most tasks.
  bool is_untouched() const;

  // VORTEX_OUTPUTS, VORTEX_CHECKPOINT, VORTEX_PROGRESS, VORTEX_TMPDIR
  const std::vector<std::pair<std::string, std::string>>& environment() const { return names_; }

  // What is new since the last call.
  std::optional<Progress> new_progress();
  // While the task runs a file that is being written is left alone: it is taken when it looked the
  // same twice, or when whole files replace each other.
  enum class Moment : std::uint8_t { kRunning, kEnd };
  struct NewCheckpoint {
    std::string data;         // small: all of it
    Fd file;                  // large: to be read from
    std::uint64_t bytes = 0;  // large
    bool is_no_file = false;  // a folder, a pipe, ...; said once
  };
  std::optional<NewCheckpoint> new_checkpoint(Moment moment);
  // It still looks as when new_checkpoint gave it.
  bool checkpoint_is_same() const { return stamp_of(kCheckpointName) == checkpoint_told_; }
  // What new_checkpoint gave was not taken: it is new again.
  void checkpoint_again() { checkpoint_told_.reset(); }
  // Empty: none was written. The error is a sentence for people.
  std::expected<std::string, std::string> outputs() const;

 private:
  // How a file looked: whoever changes it changes this.
  struct FileStamp {
    std::uint64_t inode = 0;
    std::int64_t size = 0;
    std::int64_t changed_ns = 0;
    friend bool operator==(const FileStamp&, const FileStamp&) = default;
  };
  SlotFiles() = default;
  std::optional<FileStamp> stamp_of(const char* name) const;
  std::optional<std::string> read_whole(const char* name, std::size_t bytes_max) const;
  std::optional<std::string> read_end(const char* name, std::size_t bytes_max) const;
  void remove_file(const char* name);
  bool make_tmp();
  bool tmp_is_untouched() const;

  Config config_;
  std::vector<std::pair<std::string, std::string>> names_;
  Fd folder_;
  Fd tmp_;
  std::uint64_t tmp_inode_ = 0;
  std::uint64_t removed_ = 0;
  std::optional<FileStamp> progress_told_;
  std::optional<FileStamp> checkpoint_told_;
  std::optional<FileStamp> checkpoint_seen_;
  bool no_file_told_ = false;
};

// Whether outputs (a JSON object, or empty) lack one of the names; the complaint is for the user.
std::optional<std::string> complain_of_missing(const std::string& outputs,
                                               const std::vector<std::string>& names);

}  // namespace vortex::worker
