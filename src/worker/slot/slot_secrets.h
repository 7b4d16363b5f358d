#pragma once
// The secrets of the task in a slot: its variables, its files in a memory file system, and the mask
// that keeps them out of what it prints.
//
// Values are in memory only. Files are never written to a disk: where there is no memory file
// system, a task that wants them does not start. They go with the attempt; what a killed worker
// leaves is removed by its supervisor, as its work folder is. On the executor's thread.

#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/sync.h"
#include "vault/mask.h"
#include "worker/files.h"
#include "worker/own_folder.h"
#include "worker/slot/confinement.h"

namespace vortex::worker {

// Where the folders of this user's workers are.
std::string secret_base();

class SlotSecrets {
 public:
  using Variables = std::vector<std::pair<std::string, std::string>>;
  using Remove = std::function<void(Fd parent, std::string name)>;

  struct Where {
    WorkFolder& home;                      // in secret_base(); it is made when there are files
    std::string name;                      // of the folder with the files
    const std::optional<TaskUser>& owner;  // who runs the task; unset: we do
  };
  // Takes the values: the set is empty then, whoever else holds it. The error is for people.
  static std::expected<SlotSecrets, std::string> prepare(SecretSet& secrets, Where where);

  SlotSecrets(SlotSecrets&&) = default;
  SlotSecrets& operator=(SlotSecrets&&) = default;

  // To be wiped by the caller when the task was started.
  Variables take_environment() { return std::move(environment_); }

  // What can be shown of the output so far; it is fed in order.
  std::string mask(std::string_view output);
  // Nothing follows.
  std::string mask_rest();
  // A text of its own.
  std::string mask_text(std::string_view text) const { return mask_->apply(text); }
  // Whether data that others will see contains a value. Short ones are let through: they would be
  // found in what has nothing to do with them.
  bool are_in(std::string_view data) const;

  // When no process of the task is left.
  void remove_files(const Remove& remove);

 private:
  SlotSecrets() = default;
  std::expected<void, std::string> write_files(const SecretSet& secrets, Where where);

  Variables environment_;
  std::shared_ptr<const vault::Mask> mask_;
  std::unique_ptr<vault::MaskStream> stream_;
  Fd parent_;  // of the folder; none: there are no files
  Fd folder_;
  std::string name_;
  std::vector<std::string> files_;
};

}  // namespace vortex::worker
