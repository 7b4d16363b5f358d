#pragma once
// A small seeded generator (xoshiro256**), the only source of chance in the core and the simulator.
//
// The same seed gives the same sequence on every machine: integers only, no std distributions,
// whose results differ between libraries. Not for secrets.

#include <cstdint>

#include "base/time.h"

namespace vortex {

class Rng {
 public:
  explicit Rng(std::uint64_t seed = 1) {
    for (auto& word : state_) word = next_seed_word(seed);
  }

  std::uint64_t next() {
    const std::uint64_t result = rotate(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

  // A number in [0, bound); 0 when bound is 0.
  std::uint64_t below(std::uint64_t bound) {
    if (bound == 0) return 0;
    return static_cast<std::uint64_t>((static_cast<Wide>(next()) * bound) >> 64);
  }

  // A number in [low, high], both ends included. Unsigned inside: the distance may not fit an
  // int64.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    const std::uint64_t numbers =
        static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
    const std::uint64_t drawn = numbers == 0 ? next() : below(numbers);  // 0: all there are
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + drawn);
  }

  Duration between(Duration low, Duration high) { return {between(low.us, high.us)}; }

  bool chance(std::uint32_t permille) { return below(1000) < permille; }

  // An independent stream for one subsystem, so that a draw here does not shift the draws there.
  Rng fork(std::uint64_t stream) { return Rng(next() ^ (stream * 0x9E3779B97F4A7C15ULL)); }

  const std::uint64_t (&words() const)[4] { return state_; }

 private:
  __extension__ using Wide = unsigned __int128;  // not ISO, but in every compiler we build with

  static constexpr std::uint64_t rotate(std::uint64_t x, int bits) {
    return (x << bits) | (x >> (64 - bits));
  }

  // splitmix64: spreads a small seed over all bits of the state.
  static std::uint64_t next_seed_word(std::uint64_t& seed) {
    std::uint64_t z = (seed += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }

  std::uint64_t state_[4];
};

}  // namespace vortex
