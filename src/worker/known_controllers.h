#pragma once
// The controllers that a worker or its supervisor can call: those it was given and those that
// controllers have named since (header Vortex-Controllers). What is learned replaces what was
// learned before; what was given stays. From any thread.

#include <cstddef>
#include <mutex>
#include <string_view>
#include <vector>

#include "net/client.h"

namespace vortex::worker {

inline constexpr std::string_view kControllersHeader = "Vortex-Controllers";
inline constexpr std::size_t kLearnedMax = 32;

// The endpoints that `teller` names: without those in clear if it was reached with TLS itself,
// since the token would be sent to them.
std::vector<net::Endpoint> named_controllers(const net::ClientConfig& teller,
                                             std::string_view named);

class KnownControllers {
 public:
  // At least one.
  explicit KnownControllers(std::vector<net::ClientConfig> given);
  KnownControllers(const KnownControllers&) = delete;
  KnownControllers& operator=(const KnownControllers&) = delete;

  // They are called in turn: any number is a turn.
  net::ClientConfig at(std::size_t turn) const;
  std::size_t size() const;
  // With the token and the CA that the teller was called with.
  void learn(const net::ClientConfig& teller, std::string_view named);

 private:
  mutable std::mutex guard_;
  std::vector<net::ClientConfig> all_;  // those that were given come first
  const std::size_t given_;
};

}  // namespace vortex::worker
