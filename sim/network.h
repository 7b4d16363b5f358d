#pragma once
// The links between hosts: each ordered pair may be slow, lossy, cut or clogged on its own.
//
// A cut link loses what is sent; a clogged one holds it and lets it go in a burst. Order is not
// kept: each message draws its own delay. Whether anybody listens at the other end is the
// receiver's business.

#include <cstdint>
#include <vector>

#include "base/rng.h"
#include "base/strong.h"
#include "base/time.h"
#include "sim/agenda.h"

namespace vortex::sim {

using HostId = StrongNumber<struct HostTag, std::uint32_t>;

// How bad all links are, besides cuts and clogs. Drawn once per seed.
struct LinkStrength {
  Duration delay_min = micros(100);
  Duration delay_max = millis(1);
  std::uint32_t slow_permille = 0;  // messages that take up to `slow_max` instead
  Duration slow_max;
  std::uint32_t drop_permille = 0;
  std::uint32_t repeat_permille = 0;  // requests that arrive twice
};

class Network {
 public:
  Network(Agenda& agenda, Rng rng, std::uint32_t hosts, const LinkStrength& strength);

  // Delivered once or not at all.
  template <typename Callable>
  void send(HostId from, HostId to, Callable deliver) {
    Link& way = link(from, to);
    if (way.cuts > 0 || rng_.chance(strength_.drop_permille)) return;
    if (way.clogs > 0) {
      way.held.push_back(std::move(deliver));
      return;
    }
    // A cut also takes what is still on the way.
    agenda_.after(draw_delay(), [this, from, to, deliver = std::move(deliver)] {
      if (link(from, to).cuts == 0) deliver();
    });
  }
  // A request that something on the way may repeat: delivered never, once or twice.
  template <typename Callable>
  void send_request(HostId from, HostId to, const Callable& deliver) {
    send(from, to, deliver);
    if (rng_.chance(strength_.repeat_permille)) send(from, to, deliver);
  }

  void cut(HostId from, HostId to, bool on);
  void clog(HostId from, HostId to, bool on);
  // Everything from and to this host at once.
  void isolate(HostId host, bool on);

  bool is_open(HostId from, HostId to) const;
  bool is_isolated(HostId host) const;

  // All links whole again, and from now on as good as links can be.
  void heal();

  Duration draw_delay();

 private:
  struct Link {
    // Faults overlap, so each kind counts how many of them are on.
    std::uint32_t cuts = 0;
    std::uint32_t clogs = 0;
    std::vector<Action> held;
  };
  Link& link(HostId from, HostId to) { return links_[from.value * hosts_ + to.value]; }
  const Link& link(HostId from, HostId to) const { return links_[from.value * hosts_ + to.value]; }
  void release(Link& link);

  Agenda& agenda_;
  Rng rng_;
  std::uint32_t hosts_;
  LinkStrength strength_;
  std::vector<Link> links_;
};

}  // namespace vortex::sim
