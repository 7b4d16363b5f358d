#pragma once
// The files that TLS needs: a server's certificate and key, and whom a client trusts.
//
// Read and checked when opened: the error names the file and what to do. A file that changes is
// read again, by a server when it is asked to look, by a client when it connects; if what is there
// now is not usable, what was read before stays in use. Any thread.

#include <array>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "net/certificates.h"
#include "net/tls_channel.h"

namespace vortex::net {

// When and how large the files were when they were last looked at.
class FileStamps {
 public:
  explicit FileStamps(std::vector<std::string> paths);
  bool changed();  // since the last call, or since this was made

 private:
  using Stamp = std::array<std::int64_t, 4>;
  std::vector<Stamp> look() const;

  std::vector<std::string> paths_;
  std::vector<Stamp> seen_;
};

struct ServerTlsFiles {
  std::string certificate;  // PEM: the server's own first, then those above it
  std::string key;          // PEM; nobody else may be able to read it
  std::string client_ca;    // empty: clients are not asked for certificates
  bool demand = false;      // whoever has no certificate is refused in the handshake
};

class ServerTls {
 public:
  static std::expected<std::shared_ptr<ServerTls>, std::string> open(ServerTlsFiles files);

  TlsContextPtr context() const;
  CertificateFacts certificate() const;

  enum class Look : std::uint8_t { kSame, kReloaded, kRefused };
  struct Looked {
    Look look = Look::kSame;
    std::string trouble;  // kRefused: why; said once for each change
  };
  Looked look_again();

 private:
  struct Loaded {
    TlsContextPtr context;
    CertificateFacts certificate;
  };
  explicit ServerTls(ServerTlsFiles files);
  std::expected<Loaded, std::string> load() const;

  const ServerTlsFiles files_;
  mutable std::mutex mutex_;
  FileStamps stamps_;
  Loaded loaded_;
};

struct ClientTlsFiles {
  std::string ca;           // empty: what the system trusts
  std::string certificate;  // empty: none is shown
  std::string key;
};

class ClientTrust {
 public:
  static std::expected<std::shared_ptr<ClientTrust>, std::string> open(ClientTlsFiles files);
  // What the system trusts (SSL_CERT_FILE and SSL_CERT_DIR name other certificates).
  static const std::shared_ptr<ClientTrust>& of_system();

  TlsContextPtr context();

 private:
  explicit ClientTrust(ClientTlsFiles files);
  std::expected<TlsContextPtr, std::string> load() const;

  const ClientTlsFiles files_;
  std::mutex mutex_;
  FileStamps stamps_;
  TlsContextPtr context_;
};

// What a server showed that was not trusted.
struct UntrustedPeer {
  std::string why;
  CertificateFacts own;
  CertificateFacts top;  // the last of its chain: its CA if the server sends that
  std::string top_pem;
};

}  // namespace vortex::net
