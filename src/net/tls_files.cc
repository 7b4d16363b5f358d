#include "net/tls_files.h"

#include <new>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file_text.h"
#include "base/text.h"
#include "net/client_tls.h"

namespace vortex::net {
namespace {

constexpr std::size_t kFileBytesMax = std::size_t{1024} * 1024;

// For TLS 1.2; those of 1.3 are all fine.
constexpr const char* kCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20:!aNULL";

std::unexpected<std::string> wrong(std::string_view file, std::string_view why) {
  return std::unexpected(fmt::format("{} {}", file, why));
}

std::expected<std::string, std::string> read_pem(const std::string& path) {
  auto text = read_file_text(path, kFileBytesMax);
  if (!text) return wrong(path, text.error().why);
  return *std::move(text);
}

// Group members may read a key of root's, as system groups for certificates do.
std::expected<KeyPtr, std::string> read_key(const std::string& path) {
  struct stat seen{};
  if (::stat(path.c_str(), &seen) == 0) {
    const unsigned shared = seen.st_uid == 0 ? S_IWGRP | S_IRWXO : S_IRWXG | S_IRWXO;
    if ((seen.st_mode & shared) != 0) {
      return wrong(path, fmt::format("holds a private key, and other users can read it (mode "
                                     "{:04o}); run 'chmod 600 {}'",
                                     seen.st_mode & 07777U, path));
    }
  }
  const auto text = read_pem(path);
  if (!text) return std::unexpected(text.error());
  auto key = parse_key(*text);
  if (!key) return wrong(path, key.error());
  return *std::move(key);
}

std::expected<std::vector<CertificatePtr>, std::string> read_chain(const std::string& path) {
  const auto text = read_pem(path);
  if (!text) return std::unexpected(text.error());
  auto chain = parse_certificates(*text);
  if (!chain) return wrong(path, chain.error());
  return *std::move(chain);
}

std::string day_text(Instant at) {
  return has_time_text(at) ? std::string(time_text(at).data(), 19) + " UTC" : "an unknown time";
}

std::expected<void, std::string> check_times(const std::string& path,
                                             const CertificateFacts& facts) {
  const Instant now = wall_clock_now();
  if (facts.until <= now) {
    return wrong(path,
                 fmt::format("expired at {}; issue a new certificate", day_text(facts.until)));
  }
  if (facts.from > now) {
    return wrong(path, fmt::format("is not valid before {}; check the clock of this machine",
                                   day_text(facts.from)));
  }
  return {};
}

TlsContextPtr new_context(const SSL_METHOD* method) {
  TlsContextPtr context(SSL_CTX_new(method), SSL_CTX_free);
  if (!context) throw std::bad_alloc();
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_cipher_list(context.get(), kCiphers);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                         SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_NO_TICKET);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
  // Header and body of a record in one read.
  SSL_CTX_set_read_ahead(context.get(), 1);
  // Connections are kept, so there is little to resume; and what is checked is checked each time.
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context.get(), 0);
  return context;
}

// The pair of files that says who we are.
struct Pair {
  const std::string& certificate;
  const std::string& key;
};

std::expected<CertificateFacts, std::string> use_pair(SSL_CTX* context, Pair files) {
  const auto chain = read_chain(files.certificate);
  if (!chain) return std::unexpected(chain.error());
  const auto key = read_key(files.key);
  if (!key) return std::unexpected(key.error());
  const CertificateFacts facts = facts_of(chain->front().get());
  if (const auto timely = check_times(files.certificate, facts); !timely) {
    return std::unexpected(timely.error());
  }
  ERR_clear_error();
  if (SSL_CTX_use_certificate(context, chain->front().get()) != 1) {
    return wrong(files.certificate, "cannot be used: " + openssl_complaint());
  }
  if (SSL_CTX_use_PrivateKey(context, key->get()) != 1 || SSL_CTX_check_private_key(context) != 1) {
    ERR_clear_error();
    return wrong(files.key, fmt::format("is not the key of {}; use the pair that was made together",
                                        files.certificate));
  }
  for (std::size_t i = 1; i < chain->size(); ++i) {
    SSL_CTX_ctrl(context, SSL_CTRL_CHAIN_CERT, 1, (*chain)[i].get());
  }
  return facts;
}

enum class Role : std::uint8_t { kServer, kClient };

std::expected<void, std::string> trust_file(SSL_CTX* context, const std::string& path, Role role) {
  const auto certificates = read_chain(path);
  if (!certificates) return std::unexpected(certificates.error());
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  for (const CertificatePtr& one : *certificates) {
    X509_STORE_add_cert(store, one.get());
    if (role == Role::kServer) SSL_CTX_add_client_CA(context, one.get());  // whom it asks for
  }
  ERR_clear_error();
  return {};
}

int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* size,
                    const unsigned char* offered, unsigned offered_size, void*) {
  constexpr std::string_view kOurs = "\x08http/1.1";
  unsigned char* found = nullptr;
  const int result =
      SSL_select_next_proto(&found, size, reinterpret_cast<const unsigned char*>(kOurs.data()),
                            kOurs.size(), offered, offered_size);
  *chosen = found;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

}  // namespace

FileStamps::FileStamps(std::vector<std::string> paths) : paths_(std::move(paths)), seen_(look()) {}

std::vector<FileStamps::Stamp> FileStamps::look() const {
  std::vector<Stamp> stamps;
  for (const std::string& path : paths_) {
    struct stat seen{};
    if (path.empty() || ::stat(path.c_str(), &seen) != 0) {
      stamps.push_back({});
      continue;
    }
    stamps.push_back({static_cast<std::int64_t>(seen.st_ino), seen.st_mtim.tv_sec,
                      seen.st_mtim.tv_nsec, seen.st_size});
  }
  return stamps;
}

bool FileStamps::changed() {
  std::vector<Stamp> now = look();
  if (now == seen_) return false;
  seen_ = std::move(now);
  return true;
}

ServerTls::ServerTls(ServerTlsFiles files)
    : files_(std::move(files)), stamps_({files_.certificate, files_.key, files_.client_ca}) {}

std::expected<std::shared_ptr<ServerTls>, std::string> ServerTls::open(ServerTlsFiles files) {
  std::shared_ptr<ServerTls> made(new ServerTls(std::move(files)));
  auto loaded = made->load();
  if (!loaded) return std::unexpected(loaded.error());
  made->loaded_ = *std::move(loaded);
  return made;
}

std::expected<ServerTls::Loaded, std::string> ServerTls::load() const {
  Loaded loaded;
  loaded.context = new_context(TLS_server_method());
  SSL_CTX* context = loaded.context.get();
  auto facts = use_pair(context, {files_.certificate, files_.key});
  if (!facts) return std::unexpected(facts.error());
  loaded.certificate = *std::move(facts);
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
  if (files_.client_ca.empty()) return loaded;
  if (auto trusted = trust_file(context, files_.client_ca, Role::kServer); !trusted) {
    return std::unexpected(trusted.error());
  }
  const int demand = files_.demand ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0;
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | demand, nullptr);
  return loaded;
}

TlsContextPtr ServerTls::context() const {
  const std::lock_guard lock(mutex_);
  return loaded_.context;
}

CertificateFacts ServerTls::certificate() const {
  const std::lock_guard lock(mutex_);
  return loaded_.certificate;
}

ServerTls::Looked ServerTls::look_again() {
  {
    const std::lock_guard lock(mutex_);
    if (!stamps_.changed()) return {};
  }
  auto loaded = load();
  if (!loaded) return {Look::kRefused, loaded.error()};
  const std::lock_guard lock(mutex_);
  loaded_ = *std::move(loaded);
  return {Look::kReloaded, {}};
}

ClientTrust::ClientTrust(ClientTlsFiles files)
    : files_(std::move(files)), stamps_({files_.ca, files_.certificate, files_.key}) {}

std::expected<std::shared_ptr<ClientTrust>, std::string> ClientTrust::open(ClientTlsFiles files) {
  if (files.certificate.empty() != files.key.empty()) {
    return std::unexpected(
        "a client certificate needs both --cert-file and --key-file; one is missing");
  }
  std::shared_ptr<ClientTrust> made(new ClientTrust(std::move(files)));
  auto context = made->load();
  if (!context) return std::unexpected(context.error());
  made->context_ = *std::move(context);
  return made;
}

const std::shared_ptr<ClientTrust>& ClientTrust::of_system() {
  static const std::shared_ptr<ClientTrust> shared = *open({});
  return shared;
}

std::expected<TlsContextPtr, std::string> ClientTrust::load() const {
  TlsContextPtr context = new_context(TLS_client_method());
  if (files_.ca.empty()) {
    SSL_CTX_set_default_verify_paths(context.get());  // where there is none nobody is trusted
    ERR_clear_error();
  } else if (auto trusted = trust_file(context.get(), files_.ca, Role::kClient); !trusted) {
    return std::unexpected(trusted.error());
  }
  if (!files_.certificate.empty()) {
    const auto pair = use_pair(context.get(), {files_.certificate, files_.key});
    if (!pair) return std::unexpected(pair.error());
  }
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_cert_verify_callback(context.get(), judge_server, nullptr);
  constexpr std::string_view kOurs = "\x08http/1.1";
  SSL_CTX_set_alpn_protos(context.get(), reinterpret_cast<const unsigned char*>(kOurs.data()),
                          kOurs.size());
  return context;
}

TlsContextPtr ClientTrust::context() {
  const std::lock_guard lock(mutex_);
  if (stamps_.changed()) {
    if (auto context = load()) context_ = *std::move(context);
  }
  return context_;
}

}  // namespace vortex::net
