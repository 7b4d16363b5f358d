#pragma once
// Text that a column of PostgreSQL cannot hold, as text that it can, and back. Append-only: it is
// in databases.
//
// What can be stored is stored as it is. Anything else begins with the character U+0001, and bytes
// that cannot stand there are %XX. The same text always has the same form, so it can be compared.

#include <optional>
#include <string>
#include <string_view>

namespace vortex::store::postgres {

// Nothing: it is stored as it is.
std::optional<std::string> escaped(std::string_view text);
// Nothing: it is what is stored.
std::optional<std::string> unescaped(std::string_view stored);

}  // namespace vortex::store::postgres
