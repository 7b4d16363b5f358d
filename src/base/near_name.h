#pragma once
// "Did you mean": the known name that a mistyped one was probably meant to be.

#include <span>
#include <string_view>

namespace vortex {

// The nearest of `known`, or empty when none is near enough to be worth a hint. Near is: the same
// but for upper and lower case, or up to two edits away (one under five characters, none under
// three). Of equally near names the first wins. Linear in the number of names.
std::string_view nearest_name(std::string_view wanted, std::span<const std::string_view> known);

}  // namespace vortex
