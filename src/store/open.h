#pragma once
// Opens the store that the settings name, for every command that needs one: PostgreSQL when
// database.url is set, else the SQLite file at database.path.

#include <functional>
#include <memory>
#include <string>

#include "base/settings.h"
#include "store/error.h"
#include "store/store.h"

namespace vortex::store {

// `notice` is told what is odd but no reason not to open it; unset: nobody.
Result<std::unique_ptr<Store>> open_store(
    const DatabaseSettings& settings,
    const std::function<void(const std::string&)>& notice = nullptr);

// How people call it: the path, or the connection string without its password.
std::string name_of_store(const DatabaseSettings& settings);
// The flag that names it, as a command of ours takes it; without a password.
std::string flag_of_store(const DatabaseSettings& settings);

}  // namespace vortex::store
