#pragma once
// Where a bracket of a YAML text opens that is never closed: the parser only says that the end of
// the text came too early, which is far from the mistake.
//
// For messages: it knows quotes, comments and block scalars, not all of YAML, and in doubt says
// that it does not know. Linear in the text.

#include <string_view>

#include "codec/document.h"

namespace vortex::codec {

// The innermost `open`, which is '[' or '{', that is still open at the end; line 0: not known.
Position open_bracket(std::string_view text, char open);

}  // namespace vortex::codec
