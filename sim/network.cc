#include "sim/network.h"

#include <utility>

namespace vortex::sim {

Network::Network(Agenda& agenda, Rng rng, std::uint32_t hosts, const LinkStrength& strength)
    : agenda_(agenda),
      rng_(rng),
      hosts_(hosts),
      strength_(strength),
      links_(std::size_t{hosts} * hosts) {}

Duration Network::draw_delay() {
  if (rng_.chance(strength_.slow_permille)) {
    return rng_.between(strength_.delay_max, strength_.slow_max);
  }
  return rng_.between(strength_.delay_min, strength_.delay_max);
}

void Network::cut(HostId from, HostId to, bool on) {
  Link& way = link(from, to);
  if (on) {
    ++way.cuts;
  } else if (way.cuts > 0) {
    --way.cuts;
  }
}

void Network::clog(HostId from, HostId to, bool on) {
  Link& way = link(from, to);
  if (on) {
    ++way.clogs;
    return;
  }
  if (way.clogs == 0) return;
  --way.clogs;
  if (way.clogs == 0) release(way);
}

void Network::isolate(HostId host, bool on) {
  for (std::uint32_t other = 0; other < hosts_; ++other) {
    if (other == host.value) continue;
    cut(host, {other}, on);
    cut({other}, host, on);
  }
}

bool Network::is_open(HostId from, HostId to) const {
  const Link& way = link(from, to);
  return way.cuts == 0 && way.clogs == 0;
}

bool Network::is_isolated(HostId host) const {
  for (std::uint32_t other = 0; other < hosts_; ++other) {
    if (other == host.value) continue;
    if (is_open(host, {other}) && is_open({other}, host)) return false;
  }
  return true;
}

void Network::heal() {
  for (Link& way : links_) {
    way.cuts = 0;
    way.clogs = 0;
    release(way);
  }
  strength_ = LinkStrength{};
}

void Network::release(Link& way) {
  for (Action& deliver : way.held) {
    agenda_.after(rng_.between(micros(1), millis(1)), std::move(deliver));
  }
  way.held.clear();
}

}  // namespace vortex::sim
