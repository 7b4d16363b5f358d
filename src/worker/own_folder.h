#pragma once
// Folders that belong to this user alone, and the removal of what tasks leave in them.
//
// A folder is used only if nobody else can have prepared it or can replace it: no link, our own,
// not writable by others, and the same for what is above it. What is made here has mode 0700.
// Removing never follows a link or enters another mount, and needs five descriptors and a constant
// stack however deep a tree is. Blocks like any file does; any thread.

#include <cstddef>
#include <expected>
#include <functional>
#include <string>

#include "worker/files.h"

namespace vortex::worker {

// Opens it; made, with all above it, when it is not there. The error is for people and says what
// to do.
std::expected<Fd, std::string> open_own_folder(const std::string& path);

// A new folder in one that is ours. The error is an errno.
std::expected<Fd, int> make_folder_in(int parent, const std::string& name);

// Whether the path leads to exactly this folder, and not by a link at its end.
bool leads_to(const std::string& path, int folder);

// Whole contents of a regular file that is ours and that nobody else can write; empty otherwise.
std::string read_own_file(const std::string& path);
// For writing, with mode 0600; `flags` say whether what is there is kept. Not through a link.
Fd open_own_file(const std::string& path, int flags);

// Removes whatever has this name in `parent`: rights, flags and mounts that a task has left are no
// obstacle where we may change them. The error is an errno; ECANCELED: `enough` said so.
std::expected<void, int> remove_tree(int parent, const std::string& name,
                                     const std::function<bool()>& enough = {});

// The folder of one worker: <base>/<name>, held by a shared lock as long as this lives, by which
// others know that it is in use. A task may remove or replace it: ensure() makes it again.
class WorkFolder {
 public:
  WorkFolder() = default;
  WorkFolder(std::string base, std::string name);

  // Precondition of fd(). The error is for people.
  std::expected<void, std::string> ensure();
  int fd() const { return folder_.get(); }
  const std::string& path() const { return path_; }

 private:
  std::string base_;
  std::string name_;
  std::string path_;
  Fd folder_;
};

// "w-1" and the life of its supervisor: the name of a worker's folder, which no other has.
std::string work_folder_name(const std::string& worker, const std::string& life);
// A new one: eight hexadecimal digits.
std::string new_life();

// Removes a worker's folder that nobody holds. False: it is held, or not one of ours, or not empty
// yet.
bool remove_work(const std::string& path, const std::function<bool()>& enough);
// The same for all in `base`. How many are gone.
std::size_t remove_all_work(const std::string& base, const std::function<bool()>& enough);

}  // namespace vortex::worker
