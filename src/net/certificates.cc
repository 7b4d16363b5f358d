#include "net/certificates.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <limits>
#include <utility>

#include <arpa/inet.h>
#include <boost/asio/ip/address.hpp>
#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "base/text.h"

namespace vortex::net {
namespace {

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* thing) const {
    Free(thing);
  }
};
using BioPtr = std::unique_ptr<BIO, Freed<BIO_free>>;
using NamesPtr = std::unique_ptr<GENERAL_NAMES, Freed<GENERAL_NAMES_free>>;
using ExtensionPtr = std::unique_ptr<X509_EXTENSION, Freed<X509_EXTENSION_free>>;

constexpr std::int64_t kSecond = 1'000'000;
constexpr std::int64_t kDay = 86'400;
// Clocks of a cluster differ a little; a certificate made now must be good everywhere now.
constexpr std::int64_t kBackdatedSeconds = 3'600;

BioPtr bio_over(std::string_view text) {
  const std::size_t size = std::min<std::size_t>(text.size(), std::numeric_limits<int>::max());
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(size)));
}

std::string text_of(BIO* bio) {
  std::string out;
  std::array<char, 4096> piece{};
  for (int count = 0; (count = BIO_read(bio, piece.data(), piece.size())) > 0;) {
    out.append(piece.data(), static_cast<std::size_t>(count));
  }
  return out;
}

std::string name_text(const X509_NAME* name) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(bio.get(), name, 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB);
  return text_of(bio.get());
}

std::string_view bytes_of(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(ASN1_STRING_length(text))};
}

std::string common_name_of(const X509_NAME* name) {
  const int at = X509_NAME_get_index_by_NID(name, NID_commonName, -1);
  if (at < 0) return {};
  return std::string(bytes_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at))));
}

std::string ip_text(std::string_view bytes) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family = bytes.size() == 4 ? AF_INET : AF_INET6;
  if (bytes.size() != 4 && bytes.size() != 16) return {};
  return ::inet_ntop(family, bytes.data(), text.data(), text.size()) == nullptr ? "" : text.data();
}

std::vector<std::string> names_of(const X509* certificate) {
  std::vector<std::string> names;
  const NamesPtr all(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; all && i < sk_GENERAL_NAME_num(all.get()); ++i) {
    int kind = 0;
    const void* value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(all.get(), i), &kind);
    const auto bytes = bytes_of(static_cast<const ASN1_STRING*>(value));
    if (kind == GEN_DNS) names.emplace_back(bytes);
    if (kind == GEN_IPADD) names.push_back(ip_text(bytes));
  }
  return names;
}

Instant instant_of(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return {};
  return Instant{static_cast<std::int64_t>(::timegm(&parts)) * kSecond};
}

std::string fingerprint_of(const X509* certificate) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (X509_digest(certificate, EVP_sha256(), digest.data(), &size) != 1) return {};
  std::string out = "SHA256";
  for (unsigned i = 0; i < size; ++i) out += fmt::format(":{:02X}", digest[i]);
  return out;
}

CertificatePtr owned(X509* certificate) { return {certificate, X509_free}; }
KeyPtr owned_key(EVP_PKEY* key) { return {key, EVP_PKEY_free}; }

std::unexpected<std::string> refused(std::string_view what) {
  return std::unexpected(fmt::format("{}: {}", what, openssl_complaint()));
}

}  // namespace

std::string openssl_complaint() {
  const unsigned long code = ERR_peek_last_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  return reason == nullptr ? "unknown reason" : reason;
}

CertificateFacts facts_of(const X509* certificate) {
  CertificateFacts facts;
  const X509_NAME* subject = X509_get_subject_name(certificate);
  const X509_NAME* issuer = X509_get_issuer_name(certificate);
  facts.subject = name_text(subject);
  facts.common_name = common_name_of(subject);
  facts.issuer = name_text(issuer);
  facts.names = names_of(certificate);
  facts.from = instant_of(X509_get0_notBefore(certificate));
  facts.until = instant_of(X509_get0_notAfter(certificate));
  facts.fingerprint = fingerprint_of(certificate);
  facts.authority = X509_check_ca(const_cast<X509*>(certificate)) > 0;
  facts.self_signed = X509_NAME_cmp(subject, issuer) == 0;
  return facts;
}

std::string pem_of(const X509* certificate) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), const_cast<X509*>(certificate));
  return text_of(bio.get());
}

std::expected<std::vector<CertificatePtr>, std::string> parse_certificates(std::string_view pem) {
  const BioPtr bio = bio_over(pem);
  std::vector<CertificatePtr> found;
  ERR_clear_error();
  while (X509* next = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
    found.push_back(owned(next));
  }
  const bool ended = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (!ended) return refused("holds a broken certificate");
  ERR_clear_error();
  if (found.empty()) return std::unexpected("holds no certificate in PEM form");
  return found;
}

std::expected<KeyPtr, std::string> parse_key(std::string_view pem) {
  const BioPtr bio = bio_over(pem);
  ERR_clear_error();
  bool locked = false;
  const auto no_password = [](char*, int, int, void* asked) {
    *static_cast<bool*>(asked) = true;
    return -1;
  };
  EVP_PKEY* key = PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, &locked);
  if (key != nullptr) return owned_key(key);
  ERR_clear_error();
  if (locked) {
    return std::unexpected("is protected by a passphrase; remove it with `openssl pkey`");
  }
  return std::unexpected("holds no private key in PEM form");
}

bool same_fingerprint(std::string_view a, std::string_view b) {
  const auto bare = [](std::string_view text) {
    constexpr std::string_view kPrefix = "sha256:";
    std::string out = lower_case(text);
    if (out.starts_with(kPrefix)) out.erase(0, kPrefix.size());
    std::erase_if(out, [](char c) { return c == ':' || c == ' '; });
    return out;
  };
  constexpr std::size_t kDigits = 64;
  const std::string left = bare(a);
  return left.size() == kDigits && left == bare(b);
}

namespace {

bool add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context{};
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const ExtensionPtr extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

// What is put into a line of OpenSSL's configuration must not be able to end it.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name.size() <= 253 && std::ranges::all_of(name, [](char c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return letter || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_' || c == ':' ||
           c == '*';
  });
}

std::expected<std::string, std::string> alternative_names(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) {
    if (!is_plain_name(name)) {
      return std::unexpected(fmt::format("'{}' is not a host name or an address", name));
    }
    boost::system::error_code not_numeric;
    static_cast<void>(boost::asio::ip::make_address(name, not_numeric));
    out += fmt::format("{}{}:{}", out.empty() ? "" : ",", not_numeric ? "DNS" : "IP", name);
  }
  return out;
}

// A certificate for `key` with everything but extensions and a signature.
CertificatePtr blank(const std::string& common_name, std::uint32_t days, Instant now,
                     EVP_PKEY* key) {
  CertificatePtr made = owned(X509_new());
  std::array<unsigned char, 16> serial{};
  if (!made || RAND_bytes(serial.data(), serial.size()) != 1) return {};
  serial[0] &= 0x7FU;  // not negative
  const std::unique_ptr<BIGNUM, Freed<BN_free>> number(
      BN_bin2bn(serial.data(), serial.size(), nullptr));
  const std::int64_t seconds = now.us / kSecond;
  auto* name = X509_get_subject_name(made.get());
  const auto* text = reinterpret_cast<const unsigned char*>(common_name.data());
  const bool fine =
      X509_set_version(made.get(), 2) == 1 &&
      BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(made.get())) != nullptr &&
      ASN1_TIME_set(X509_getm_notBefore(made.get()), seconds - kBackdatedSeconds) != nullptr &&
      ASN1_TIME_set(X509_getm_notAfter(made.get()), seconds + kDay * days) != nullptr &&
      X509_NAME_add_entry_by_NID(name, NID_commonName, MBSTRING_UTF8, text,
                                 static_cast<int>(common_name.size()), -1, 0) == 1 &&
      X509_set_pubkey(made.get(), key) == 1;
  return fine ? made : CertificatePtr{};
}

std::string key_text(EVP_PKEY* key) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return text_of(bio.get());
}

KeyPtr new_key() { return owned_key(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256")); }

}  // namespace

std::expected<Issued, std::string> make_authority(const std::string& common_name,
                                                  std::uint32_t days, Instant now) {
  const KeyPtr key = new_key();
  const CertificatePtr made = key ? blank(common_name, days, now, key.get()) : CertificatePtr{};
  const bool fine =
      made && X509_set_issuer_name(made.get(), X509_get_subject_name(made.get())) == 1 &&
      add_extension(made.get(), made.get(), NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
      add_extension(made.get(), made.get(), NID_key_usage, "critical,keyCertSign,cRLSign") &&
      add_extension(made.get(), made.get(), NID_subject_key_identifier, "hash") &&
      X509_sign(made.get(), key.get(), EVP_sha256()) > 0;
  if (!fine) return refused("cannot make a CA");
  return Issued{pem_of(made.get()), key_text(key.get())};
}

std::expected<Issued, std::string> issue(const Issued& authority, const IssueOrder& order) {
  const auto names = alternative_names(order.names);
  if (!names) return std::unexpected(names.error());
  const auto above = parse_certificates(authority.certificate);
  const auto signer = parse_key(authority.key);
  if (!above || !signer) return std::unexpected("the CA is not valid");
  X509* ca = above->front().get();
  const KeyPtr key = new_key();
  const CertificatePtr made =
      key ? blank(order.common_name, order.days, order.now, key.get()) : CertificatePtr{};
  const char* use = order.use == IssueOrder::Use::kServer ? "serverAuth" : "clientAuth";
  const bool fine =
      made && X509_set_issuer_name(made.get(), X509_get_subject_name(ca)) == 1 &&
      add_extension(made.get(), ca, NID_basic_constraints, "critical,CA:FALSE") &&
      add_extension(made.get(), ca, NID_key_usage, "critical,digitalSignature") &&
      add_extension(made.get(), ca, NID_ext_key_usage, use) &&
      add_extension(made.get(), ca, NID_subject_key_identifier, "hash") &&
      add_extension(made.get(), ca, NID_authority_key_identifier, "keyid") &&
      (names->empty() || add_extension(made.get(), ca, NID_subject_alt_name, *names)) &&
      X509_sign(made.get(), signer->get(), EVP_sha256()) > 0;
  if (!fine) return refused("cannot make the certificate");
  return Issued{pem_of(made.get()), key_text(key.get())};
}

}  // namespace vortex::net
