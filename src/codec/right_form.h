#pragma once
// Help for members that were written in the form of another tool: the right form, filled in with
// what stands there, so that it can be copied.
//
// Texts of the document are shown only where they fit one line of a message; otherwise the help
// shows an example. Only makes text. Internal to the codec.

#include <string>

#include "codec/document.h"

namespace vortex::codec {

std::string retry_form(const Document& document, NodeIx number);         // retry: 3
std::string both_retries_form(const Document& document, NodeIx number);  // retry and retries: 3
std::string env_form(const Document& document, NodeIx list);             // env: [A=b]
std::string shell_form(const Document& document, NodeIx text);           // shell: bash
std::string tasks_form(const Document& document, NodeIx list);  // tasks: [{name: a, run: [x]}]

}  // namespace vortex::codec
