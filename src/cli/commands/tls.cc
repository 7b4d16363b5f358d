// vortex tls: makes the certificates of a small cluster, renews them, and shows what is in one.

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file_text.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/commands/commands.h"
#include "cli/screen/human.h"
#include "cli/screen/json_view.h"
#include "cli/screen/listing.h"
#include "net/certificates.h"

namespace vortex::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPemBytesMax = std::size_t{1024} * 1024;
constexpr std::uint32_t kAuthorityDays = 3650;

struct TlsFlags {
  std::string folder = "tls";
  std::string file;
  std::vector<std::string> hosts;
  std::vector<std::string> workers;
  std::uint32_t days = 365;
};

struct NewFile {
  std::string path;
  std::string text;
  mode_t mode = 0600;
};

// Whole or not at all, and never for others to read before it has its mode.
std::expected<void, std::string> write_new(const NewFile& file) {
  const std::string fresh = file.path + ".new";
  ::unlink(fresh.c_str());
  const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  const auto size = static_cast<ssize_t>(file.text.size());
  const bool written = fd >= 0 && ::write(fd, file.text.data(), file.text.size()) == size &&
                       ::fchmod(fd, file.mode) == 0 && ::fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (written && ::rename(fresh.c_str(), file.path.c_str()) == 0) return {};
  const int why = written ? errno : error;
  ::unlink(fresh.c_str());
  return std::unexpected(fmt::format("cannot write {}: {}", file.path, std::strerror(why)));
}

ExitCode write_all_new(const std::vector<NewFile>& files) {
  for (const NewFile& file : files) {
    if (const auto written = write_new(file); !written) {
      complain(written.error());
      return ExitCode::kFailed;
    }
  }
  return ExitCode::kOk;
}

// Worker names become file names.
bool are_names(const std::vector<std::string>& workers) {
  for (const std::string& name : workers) {
    const bool plain =
        !name.empty() && name.size() <= 64 && name.front() != '.' &&
        std::ranges::all_of(name, [](char c) {
          const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
          return letter || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
        });
    if (plain) continue;
    complain(fmt::format("--worker '{}' is not a name", name),
             "use letters, digits, '-', '_' and '.', at most 64");
    return false;
  }
  return true;
}

// Adds NAME.pem (with the CA behind it, so that whoever connects can see that) and NAME.key.
std::expected<void, std::string> add_pair(const std::string& base, const net::Issued& authority,
                                          const net::IssueOrder& order,
                                          std::vector<NewFile>& files) {
  const auto made = net::issue(authority, order);
  if (!made) return std::unexpected(made.error());
  files.push_back({base + ".key", made->key, 0600});
  files.push_back({base + ".pem", made->certificate + authority.certificate, 0644});
  return {};
}

std::expected<std::vector<NewFile>, std::string> make_pairs(const TlsFlags& flags,
                                                            const net::Issued& authority,
                                                            std::vector<std::string> hosts) {
  std::vector<NewFile> files;
  net::IssueOrder order;
  order.days = flags.days;
  order.now = wall_clock_now();
  for (const char* always : {"127.0.0.1", "localhost"}) {
    std::erase(hosts, always);
    hosts.insert(hosts.begin(), always);
  }
  order.common_name = hosts.size() > 2 ? hosts[2] : hosts[0];
  order.names = std::move(hosts);
  const std::string server = flags.folder + "/server";
  if (auto made = add_pair(server, authority, order, files); !made) {
    return std::unexpected(made.error());
  }
  order.use = net::IssueOrder::Use::kClient;
  order.names.clear();
  for (const std::string& worker : flags.workers) {
    order.common_name = worker;
    const std::string base = fmt::format("{}/worker-{}", flags.folder, worker);
    if (auto made = add_pair(base, authority, order, files); !made) {
      return std::unexpected(made.error());
    }
  }
  return files;
}

std::string fingerprint_in(const std::string& pem) {
  const auto found = net::parse_certificates(pem);
  return found ? net::facts_of(found->front().get()).fingerprint : std::string();
}

void say_what_to_do(const TlsFlags& flags, const std::string& ca) {
  const std::string at = fs::absolute(flags.folder).lexically_normal().string();
  const std::string host = flags.hosts.empty() ? "localhost" : flags.hosts.front();
  print(fmt::format("CA fingerprint: {}\n", fingerprint_in(ca)));
  std::string text = fmt::format(
      "\nController:\n"
      "  vortex controller --controller.tls-cert-file={0}/server.pem "
      "--controller.tls-key-file={0}/server.key\n"
      "Users (they are shown the fingerprint):\n"
      "  vortex login https://{1}:8080\n"
      "Workers (copy {0}/ca.pem there):\n"
      "  vortex worker --server https://{1}:8080 --ca-file ca.pem\n",
      at, host);
  for (const std::string& worker : flags.workers) {
    text += fmt::format(
        "  vortex worker --server https://{1}:8080 --ca-file ca.pem --cert-file worker-{0}.pem "
        "--key-file worker-{0}.key\n",
        worker, host);
  }
  if (!flags.workers.empty()) {
    text += fmt::format(
        "To require the certificates of workers:\n"
        "  --controller.tls-client-ca-file={}/ca.pem "
        "--controller.tls-require-client-cert=workers\n",
        at);
  }
  text += fmt::format("Keep {}/ca.key away from the others: it signs new certificates.", at);
  talk(text);
}

ExitCode init(const Context& context, const TlsFlags& flags) {
  if (!are_names(flags.workers)) return ExitCode::kUsage;
  if (::mkdir(flags.folder.c_str(), 0700) != 0 && errno != EEXIST) {
    complain(fmt::format("cannot make {}: {}", flags.folder, std::strerror(errno)));
    return ExitCode::kFailed;
  }
  const auto authority = net::make_authority("vortex CA", kAuthorityDays, wall_clock_now());
  auto files =
      authority ? make_pairs(flags, *authority, flags.hosts) : std::unexpected(authority.error());
  if (!files) {
    complain(files.error());
    return ExitCode::kUsage;
  }
  files->push_back({flags.folder + "/ca.key", authority->key, 0600});
  files->push_back({flags.folder + "/ca.pem", authority->certificate, 0644});
  for (const NewFile& file : *files) {
    std::error_code fault;
    if (!fs::exists(fs::symlink_status(file.path, fault))) continue;
    complain(fmt::format("{} already exists; nothing was written", file.path),
             "use another directory, or `vortex tls renew` to renew its certificates");
    return ExitCode::kConflict;
  }
  if (const ExitCode code = write_all_new(*files); code != ExitCode::kOk) return code;
  if (context.quiet) {
    print(fingerprint_in(authority->certificate) + "\n");
  } else {
    say_what_to_do(flags, authority->certificate);
  }
  return ExitCode::kOk;
}

// The names of the certificate that is replaced stay.
ExitCode renew(const Context& context, const TlsFlags& flags) {
  if (!are_names(flags.workers)) return ExitCode::kUsage;
  net::Issued authority;
  std::string server;
  for (auto [name, text] :
       {std::pair("/ca.pem", &authority.certificate), std::pair("/ca.key", &authority.key),
        std::pair("/server.pem", &server)}) {
    auto read = read_file_text(flags.folder + name, kPemBytesMax);
    if (!read) {
      complain(fmt::format("{}{} {}", flags.folder, name, read.error().why),
               "pass the directory that `vortex tls init` wrote");
      return ExitCode::kNotFound;
    }
    *text = *std::move(read);
  }
  const auto old = net::parse_certificates(server);
  std::vector<std::string> hosts;
  if (old) hosts = net::facts_of(old->front().get()).names;
  for (const std::string& host : flags.hosts) {
    if (std::ranges::find(hosts, host) == hosts.end()) hosts.push_back(host);
  }
  const auto files = make_pairs(flags, authority, hosts);
  if (!files) {
    complain(files.error());
    return ExitCode::kInvalid;
  }
  if (const ExitCode code = write_all_new(*files); code != ExitCode::kOk) return code;
  if (!context.quiet) {
    print(fmt::format("Renewed {}/server.pem for {}; a running controller reloads it\n",
                      flags.folder, fmt::join(hosts, ", ")));
  }
  return ExitCode::kOk;
}

ExitCode show(const Context& context, const TlsFlags& flags) {
  const auto text = read_file_text(flags.file, kPemBytesMax);
  const auto found = text ? net::parse_certificates(*text) : std::unexpected(text.error().why);
  if (!found) {
    complain(fmt::format("{} {}", flags.file, found.error()),
             "pass a file with certificates (PEM)");
    return text ? ExitCode::kInvalid : ExitCode::kNotFound;
  }
  const Look look = look_at(context, STDOUT_FILENO);
  boost::json::array all;
  std::string shown;
  for (const auto& certificate : *found) {
    const net::CertificateFacts facts = net::facts_of(certificate.get());
    const Duration left = facts.until - wall_clock_now();
    boost::json::array names;
    for (const std::string& name : facts.names) names.emplace_back(name);
    const std::string until(time_text(facts.until).data(), 19);
    all.push_back(boost::json::object{{"subject", facts.subject},
                                      {"issuer", facts.issuer},
                                      {"names", std::move(names)},
                                      {"expires_at", until + "Z"},
                                      {"authority", facts.authority},
                                      {"fingerprint", facts.fingerprint}});
    all.back().as_object()["expires_at"].as_string()[10] = 'T';
    Record record;
    record.add("subject", facts.subject + (facts.authority ? " (CA)" : ""));
    record.add("issuer", facts.issuer);
    if (!facts.names.empty()) record.add("names", fmt::format("{}", fmt::join(facts.names, ", ")));
    const bool good = left > Duration{};
    record.add("expires",
               good ? fmt::format("{} UTC, in {}", until, human_duration(left))
                    : fmt::format("{} UTC, expired", until),
               good ? Tone::kPlain : Tone::kBad);
    record.add("fingerprint", facts.fingerprint);
    shown += (shown.empty() ? "" : "\n") + record.text(look);
  }
  if (wants_json(context)) {
    print(pretty_json(boost::json::object{{"certificates", std::move(all)}}));
  } else {
    print(shown);
  }
  return ExitCode::kOk;
}

void add_making(CommandSpec command, const std::shared_ptr<TlsFlags>& flags) {
  command.option("--host", flags->hosts,
                 "Name or address of the controller besides localhost and 127.0.0.1; repeat for "
                 "more");
  command.option("--worker", flags->workers,
                 "Create a client certificate for this worker; repeat for more");
  command.option("--days", flags->days, "How long the certificates are valid")
      .between(1, 3'650)
      .shows_default();
}

}  // namespace

void add_tls(CommandSpec app, Command& chosen) {
  CommandSpec tls = app.command("tls", "Manage certificates").group(kOperate);
  tls.needs_command();
  tls.example("vortex tls init --host controller.example.org");
  auto flags = std::make_shared<TlsFlags>();
  CommandSpec make = tls.command(
      "init", "Create a CA and the certificates of a small cluster, and print how to use them");
  make.option("dir", flags->folder, "Directory to write to").shows_default();
  add_making(make, flags);
  make.example("vortex tls init /etc/vortex/tls --host controller --host 10.0.0.5 --worker gpu");
  make.on_chosen(chosen, [flags](Context& context) { return init(context, *flags); });
  CommandSpec again =
      tls.command("renew", "Renew the certificates in DIR with the same CA; names are kept");
  again.option("dir", flags->folder, "Directory that `vortex tls init` wrote").shows_default();
  add_making(again, flags);
  again.example("vortex tls renew /etc/vortex/tls");
  again.on_chosen(chosen, [flags](Context& context) { return renew(context, *flags); });
  CommandSpec look = tls.command("show", "Show the certificates in a file");
  look.option("file", flags->file, "File with certificates (PEM)").required();
  look.example("vortex tls show tls/server.pem");
  look.on_chosen(chosen, [flags](Context& context) { return show(context, *flags); });
}

}  // namespace vortex::cli
