#pragma once
// X.509 certificates: what is in them, and making them for a small cluster.
//
// Keys are EC P-256. A fingerprint is that of the whole certificate, written as `openssl x509
// -fingerprint -sha256` writes it, with SHA256: in front. Pure functions over PEM texts; nothing is
// read from or written to the disk here.

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

struct x509_st;      // NOLINT(readability-identifier-naming): OpenSSL calls them so
struct evp_pkey_st;  // NOLINT(readability-identifier-naming)

namespace vortex::net {

struct CertificateFacts {
  std::string subject;
  std::string common_name;
  std::string issuer;
  std::vector<std::string> names;  // DNS names and addresses it is for
  Instant from;
  Instant until;
  std::string fingerprint;
  bool authority = false;    // it may sign others
  bool self_signed = false;  // it names itself as its issuer
};

using CertificatePtr = std::shared_ptr<x509_st>;
using KeyPtr = std::shared_ptr<evp_pkey_st>;

CertificateFacts facts_of(const x509_st* certificate);
std::string pem_of(const x509_st* certificate);

// All of them, in order. The error completes "<file> ...".
std::expected<std::vector<CertificatePtr>, std::string> parse_certificates(std::string_view pem);
std::expected<KeyPtr, std::string> parse_key(std::string_view pem);

// The same fingerprint, however it is written: with or without SHA256:, colons, upper case.
bool same_fingerprint(std::string_view a, std::string_view b);

struct Issued {
  std::string certificate;  // PEM
  std::string key;          // PEM
};

struct IssueOrder {
  enum class Use : std::uint8_t { kServer, kClient };
  std::string common_name;
  std::vector<std::string> names;  // DNS names and addresses
  Use use = Use::kServer;
  std::uint32_t days = 365;
  Instant now;
};

std::expected<Issued, std::string> make_authority(const std::string& common_name,
                                                  std::uint32_t days, Instant now);
std::expected<Issued, std::string> issue(const Issued& authority, const IssueOrder& order);

// What OpenSSL complained about last on this thread, in words; empties its list.
std::string openssl_complaint();

}  // namespace vortex::net
