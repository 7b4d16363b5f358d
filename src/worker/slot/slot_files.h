#pragma once
// The files through which a task talks: outputs, checkpoint, progress and a folder of its own for
// temporary files.
//
// A task may do anything to its files and to the folders they are in (remove, replace, make a pipe
// or a link of them): only regular files up to a limit are read, nothing here waits for one or
// follows a link, and the next attempt has a new folder. One that was not touched is as good as
// new and is used again. Removing is left to another thread. On the executor's thread.

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
#include "worker/own_folder.h"
#include "worker/slot/confinement.h"

namespace vortex::worker {

class SlotFiles {
 public:
  static constexpr const char* kCheckpointName = "checkpoint";

  struct Config {
    WorkFolder& home;                              // the worker's, in which folders are made
    std::string name;                              // of the first folder; others have a number too
    std::size_t checkpoint_bytes_max = 64 * 1024;  // read at once; a larger one is opened
    std::size_t outputs_bytes_max = 256 * 1024;
    std::optional<TaskUser> owner = {};  // who runs tasks at first; unset: we do
    // Removes what has this name, somewhere else and when there is time.
    std::function<void(Fd parent, std::string name)> remove;
  };
  explicit SlotFiles(Config config) : config_(std::move(config)) {}

  // Of the tasks from here on.
  void set_owner(const std::optional<TaskUser>& owner);
  // Before a task. The error is for people, and a fault of the worker.
  std::expected<void, std::string> prepare(std::string_view checkpoint);
  // The same with a file that becomes the checkpoint.
  std::expected<void, std::string> prepare_with_file(const std::string& path);
  // After that: what the task reads from VORTEX_INPUTS; empty: nothing.
  std::expected<void, std::string> write_inputs(std::string_view inputs);
  // After a task, when none of its processes is left.
  void clean_up();
  // The task has left nothing here: nothing to read and nothing to clean up. Most tasks.
  bool is_untouched() const;

  // VORTEX_OUTPUTS, VORTEX_INPUTS, VORTEX_CHECKPOINT, VORTEX_PROGRESS, VORTEX_TMPDIR
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
  enum class Whose : std::uint8_t { kTask, kWorker };
  struct OutputsFault {
    Whose whose = Whose::kTask;
    std::string text;
  };
  std::expected<std::string, OutputsFault> outputs() const;
  // Whether the folder of this attempt is still where its variables say.
  bool is_in_place() const { return folder_ && leads_to(path_, folder_.get()); }

 private:
  // How a file looked: whoever changes it changes this.
  struct FileStamp {
    std::uint64_t inode = 0;
    std::int64_t size = 0;
    std::int64_t changed_ns = 0;
    friend bool operator==(const FileStamp&, const FileStamp&) = default;
  };
  // What a folder is and what was last done to it.
  struct FolderStamp {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint32_t mode = 0;
    std::int64_t changed_ns = 0;
    friend bool operator==(const FolderStamp&, const FolderStamp&) = default;
  };
  static std::optional<FolderStamp> stamp_at(int parent, const char* path);
  std::optional<FileStamp> stamp_of(const char* name) const;
  std::expected<std::string, int> read_whole(const char* name, std::size_t bytes_max) const;
  std::optional<std::string> read_end(const char* name, std::size_t bytes_max) const;
  std::expected<void, std::string> make_folder();
  std::expected<void, int> hand_over(int file) const;
  bool is_theirs(const struct stat& seen) const;
  void retire();

  Config config_;
  std::vector<std::pair<std::string, std::string>> names_;
  std::string name_;  // of the folder
  std::string path_;
  Fd parent_;
  Fd folder_;
  Fd tmp_;
  std::optional<FolderStamp> folder_new_;  // how they were when they were made
  std::optional<FolderStamp> tmp_new_;
  std::uint64_t made_ = 0;
  std::optional<FileStamp> progress_told_;
  std::optional<FileStamp> checkpoint_told_;
  std::optional<FileStamp> checkpoint_seen_;
  bool no_file_told_ = false;
};

// Whether outputs (a JSON object, or empty) lack one of the names; the complaint is for the user.
std::optional<std::string> complain_of_missing(const std::string& outputs,
                                               const std::vector<std::string>& names);

}  // namespace vortex::worker
