#pragma once
// The other controllers of this database, as the routes see them: who leads, and how to get there.
//
// What is known comes from the database and nowhere else, so that no client can point a controller
// at an address. Any I/O thread; coroutines continue on the executor they were called from.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "model/ids.h"
#include "model/rows.h"
#include "net/tls_files.h"
#include "store/reader.h"

namespace vortex::api {

class Peers {
 public:
  Peers() = default;
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;
  virtual ~Peers() = default;

  virtual const ControllerId& own_id() const = 0;
  // Nobody else can lead: there is nobody to pass anything on to.
  virtual bool is_alone() const = 0;
  virtual bool leads() const = 0;  // it carries out commands itself

  // kRecent: as of a moment ago. kAgain: read now. Unset: nobody leads.
  enum class Look : std::uint8_t { kRecent, kAgain };
  virtual boost::asio::awaitable<store::Result<std::optional<store::Leader>>> find_leader(
      Look look) = 0;
  // Returns when this term is known to be over.
  virtual boost::asio::awaitable<void> ended(Term term) = 0;
  // Those that were there lately, this one included; as of a moment ago.
  virtual std::vector<ControllerRow> all() const = 0;
  // What is trusted of their certificates; null: what the system trusts.
  virtual std::shared_ptr<net::ClientTrust> trust() const = 0;
};

}  // namespace vortex::api
