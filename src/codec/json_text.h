#pragma once
// JSON that is passed on without being understood: outputs of tasks, parameters, metadata.
//
// Such text comes from users. It is checked once and kept in compact form: one line, no spaces
// between tokens, numbers as they were written, and not so deep that it could not travel inside
// a message. Pure functions.

#include <cstddef>
#include <string>
#include <string_view>

#include "codec/document.h"
#include "codec/problem.h"

namespace vortex::codec {

// What is deeper could be refused inside a message, and the whole message with it.
inline constexpr std::size_t kPassedDepthMax = 32;

// The compact form of a JSON object; problems if the text is anything else or repeats a key.
Decoded<std::string> compact_object(std::string_view json);

// Appends one value of a document in compact form.
void append_compact(std::string& out, const Document& document, NodeIx node);

}  // namespace vortex::codec
