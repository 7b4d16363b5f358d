#include "sim/recorder.h"

#include <utility>

#include "sim/fact_text.h"

namespace vortex::sim {

Recorder::Recorder(const Agenda& agenda, const core::Policy& policy, TraceSink sink)
    : agenda_(agenda), sink_(std::move(sink)), checkers_(policy) {}

void Recorder::fact(const Fact& fact) {
  ++facts_;
  hash_.add(static_cast<std::uint64_t>(agenda_.now().us));
  add_to_hash(hash_, fact);
  if (sink_) {
    for (const FactLine& line : lines_of(fact)) note(line.who, line.what);
  }
  if (tap_) tap_(agenda_.now(), fact);
  const std::size_t before = checkers_.violations().size();
  checkers_.fact(agenda_.now(), fact);
  if (!sink_) return;
  for (std::size_t i = before; i < checkers_.violations().size(); ++i) {
    const Violation& broken = checkers_.violations()[i];
    note("CHECK", broken.invariant + ": " + broken.detail);
  }
}

void Recorder::note(std::string_view who, std::string what) {
  if (sink_) sink_({agenda_.now(), std::string(who), std::move(what)});
}

void Recorder::violation(std::string invariant, std::string detail) {
  note("CHECK", invariant + ": " + detail);
  own_.push_back({std::move(invariant), std::move(detail)});
}

void Recorder::finish() { checkers_.finish(agenda_.now()); }

std::vector<Violation> Recorder::violations() const {
  std::vector<Violation> all = checkers_.violations();
  all.insert(all.end(), own_.begin(), own_.end());
  return all;
}

}  // namespace vortex::sim
