#include "cli/client/login.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "worker/own_folder.h"

namespace vortex::cli {
namespace {

namespace fs = std::filesystem;

// Empty: this user has no place for it.
std::string configuration_folder() {
  const char* xdg = std::getenv("XDG_CONFIG_HOME");
  if (xdg != nullptr && *xdg == '/') return std::string(xdg) + "/vortex";
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/.config/vortex" : std::string();
}

std::string login_folder() {
  const std::string above = configuration_folder();
  return above.empty() ? std::string() : above + "/login";
}

bool write_own(const std::string& path, const std::string& text) {
  const worker::Fd file = worker::open_own_file(path, O_WRONLY | O_EXCL);
  std::size_t written = 0;
  while (file && written < text.size()) {
    const ssize_t count = ::write(file.get(), text.data() + written, text.size() - written);
    if (count <= 0) return false;
    written += static_cast<std::size_t>(count);
  }
  return file && ::fsync(file.get()) == 0;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

std::optional<Login> read_login() {
  const std::string folder = login_folder();
  if (folder.empty()) return std::nullopt;
  Login login;
  login.url = first_line(worker::read_own_file(folder + "/server"));
  if (login.url.empty()) return std::nullopt;
  login.token = first_line(worker::read_own_file(folder + "/token"));
  if (!worker::read_own_file(folder + "/ca.pem").empty()) login.ca_file = folder + "/ca.pem";
  return login;
}

// Made beside it and then put in its place: who is interrupted is logged in as before, or not at
// all.
std::expected<std::string, std::string> write_login(const Login& login, const std::string& ca) {
  const std::string folder = login_folder();
  if (folder.empty()) return std::unexpected("HOME is not set");
  const std::string fresh = fmt::format("{}.{}", folder, ::getpid());
  std::error_code fault;
  fs::remove_all(fresh, fault);
  if (const auto made = worker::open_own_folder(fresh); !made) {
    return std::unexpected(made.error());
  }
  const bool written = write_own(fresh + "/server", login.url + "\n") &&
                       (login.token.empty() || write_own(fresh + "/token", login.token + "\n")) &&
                       (ca.empty() || write_own(fresh + "/ca.pem", ca));
  const int error = errno;
  if (written) {
    fs::remove_all(folder, fault);
    fs::rename(fresh, folder, fault);
    if (!fault) return folder;
  }
  const std::string why = written ? fault.message() : std::string(std::strerror(error));
  fs::remove_all(fresh, fault);
  return std::unexpected(fmt::format("cannot write {}: {}", folder, why));
}

bool remove_login() {
  const std::string folder = login_folder();
  std::error_code fault;
  return !folder.empty() && fs::remove_all(folder, fault) > 0 && !fault;
}

}  // namespace vortex::cli
