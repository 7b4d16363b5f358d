#pragma once
// Something to be done once or several times, later: what std::function<void()> is, but movable
// only and with room for what a simulated message carries, so that most cost no allocation.

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace vortex::sim {

class Action {
 public:
  Action() = default;
  template <typename Callable>
    requires(!std::is_same_v<std::remove_cvref_t<Callable>, Action>)
  Action(Callable&& callable)  // NOLINT(google-explicit-constructor): any callable is an action
      : table_(&kTable<std::remove_cvref_t<Callable>>) {
    using Held = std::remove_cvref_t<Callable>;
    if constexpr (fits<Held>()) {
      ::new (room_) Held(std::forward<Callable>(callable));
    } else {
      ::new (room_) Held*(new Held(std::forward<Callable>(callable)));
    }
  }
  Action(Action&& other) noexcept { take(other); }
  Action& operator=(Action&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  Action(const Action&) = delete;
  Action& operator=(const Action&) = delete;
  ~Action() { reset(); }

  // Precondition: it holds something.
  void operator()() const { table_->run(room_); }

  void reset() {
    if (table_ != nullptr) table_->end(room_);
    table_ = nullptr;
  }

 private:
  static constexpr std::size_t kRoom = 88;

  struct Table {
    void (*run)(std::byte* room);
    void (*move)(std::byte* from, std::byte* to);
    void (*end)(std::byte* room);
  };

  template <typename Held>
  static constexpr bool fits() {
    return sizeof(Held) <= kRoom && alignof(Held) <= alignof(std::max_align_t) &&
           std::is_nothrow_move_constructible_v<Held>;
  }
  template <typename Held>
  static Held& held(std::byte* room) {
    if constexpr (fits<Held>())
      return *std::launder(reinterpret_cast<Held*>(room));
    else
      return **std::launder(reinterpret_cast<Held**>(room));
  }
  template <typename Held>
  static void move_held(std::byte* from, std::byte* to) {
    if constexpr (fits<Held>()) {
      ::new (to) Held(std::move(held<Held>(from)));
      held<Held>(from).~Held();
    } else {
      ::new (to) Held*(&held<Held>(from));
    }
  }
  template <typename Held>
  static void end_held(std::byte* room) {
    if constexpr (fits<Held>())
      held<Held>(room).~Held();
    else
      delete &held<Held>(room);
  }
  template <typename Held>
  static constexpr Table kTable{[](std::byte* room) { held<Held>(room)(); }, &move_held<Held>,
                                &end_held<Held>};

  void take(Action& other) {
    table_ = std::exchange(other.table_, nullptr);
    if (table_ != nullptr) table_->move(other.room_, room_);
  }

  const Table* table_ = nullptr;
  alignas(std::max_align_t) mutable std::byte room_[kRoom];
};

}  // namespace vortex::sim
