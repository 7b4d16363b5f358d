#pragma once
// What mutated copies of sources call: one mutant is switched on, by VX_MUTANT in the environment.
//
// scripts/mutate writes such copies into the build tree with all mutants of a file at once; each
// asks here whether it is the one. Only the programs *_mutants contain this. With
// VX_MUTANTS_REACHED=FILE each mutant that was asked about leaves its number in that file, a table
// of kMutantSlots numbers.

#include <cstdint>
#include <cstdlib>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace vx_mutants {

inline constexpr std::uint32_t kMutantSlots = 1U << 16U;

inline std::uint32_t* reached_table() {
  const char* path = std::getenv("VX_MUTANTS_REACHED");
  if (path == nullptr) return nullptr;
  constexpr std::size_t kBytes = kMutantSlots * sizeof(std::uint32_t);
  const int file = ::open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0 || ::ftruncate(file, kBytes) != 0) std::abort();
  // Shared, so that a child process that dies has left its marks as well.
  void* memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  return memory == MAP_FAILED ? nullptr : static_cast<std::uint32_t*>(memory);
}

inline std::uint32_t chosen_mutant() {
  const char* text = std::getenv("VX_MUTANT");
  return text == nullptr ? 0 : static_cast<std::uint32_t>(std::strtoul(text, nullptr, 16));
}

inline const std::uint32_t chosen = chosen_mutant();
inline std::uint32_t* const reached = reached_table();

inline void note_reached(std::uint32_t id) {
  for (std::uint32_t at = id % kMutantSlots;; at = (at + 1) % kMutantSlots) {
    if (reached[at] == id) return;
    if (reached[at] == 0) return void(reached[at] = id);
  }
}

inline bool is_on(std::uint32_t id) {
  if (reached != nullptr) [[unlikely]]
    note_reached(id);
  return id == chosen;
}

template <class A, class B>
  requires requires(const A& a, const B& b) { a < b, a <= b; }
bool less(std::uint32_t id, const A& a, const B& b) {
  return is_on(id) ? a <= b : a < b;
}

template <class A, class B>
  requires requires(const A& a, const B& b) { a < b, a <= b; }
bool less_equal(std::uint32_t id, const A& a, const B& b) {
  return is_on(id) ? a < b : a <= b;
}

template <class A, class B>
  requires requires(const A& a, const B& b) { a > b, a >= b; }
bool greater(std::uint32_t id, const A& a, const B& b) {
  return is_on(id) ? a >= b : a > b;
}

template <class A, class B>
  requires requires(const A& a, const B& b) { a > b, a >= b; }
bool greater_equal(std::uint32_t id, const A& a, const B& b) {
  return is_on(id) ? a > b : a >= b;
}

template <class A, class B>
  requires requires(const A& a, const B& b) { a == b; }
bool equal(std::uint32_t id, const A& a, const B& b) {
  return is_on(id) != (a == b);
}

template <class A, class B>
  requires requires(const A& a, const B& b) { a != b; }
bool not_equal(std::uint32_t id, const A& a, const B& b) {
  return is_on(id) != (a != b);
}

template <class A, class B>
  requires requires(const A& a, const B& b) { a + b, a - b; }
auto plus(std::uint32_t id, const A& a, const B& b) -> decltype(a + b) {
  return is_on(id) ? a - b : a + b;
}

template <class A, class B>
  requires requires(const A& a, const B& b) { a + b, a - b; }
auto minus(std::uint32_t id, const A& a, const B& b) -> decltype(a - b) {
  return is_on(id) ? a + b : a - b;
}

template <class T>
T number(std::uint32_t id, T value) {
  if (!is_on(id)) return value;
  return value == 0 ? static_cast<T>(1) : static_cast<T>(value * 2);
}

template <class T>
T or_default(std::uint32_t id, const T& value) {
  return is_on(id) ? T{} : value;
}

}  // namespace vx_mutants
