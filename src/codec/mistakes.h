#pragma once
// What is probably meant where a document is wrong: faults of syntax in words that say what to do,
// and the right form for what was written in the form of another tool.
//
// Only makes text; what is a fault is the parser's decision. Linear in the document. Internal to
// the codec.

#include <cstddef>
#include <string>
#include <string_view>

#include <boost/system/error_code.hpp>

#include "codec/document.h"

namespace vortex::codec {

// Help for members that were written in the form of another tool: the right form, filled in with
// what stands there, so that it can be copied.
//
// Texts of the document are shown only where they fit one line of a message; otherwise the help
// shows an example. Only makes text. Internal to the codec.

std::string retry_form(const Document& document, NodeIx number);         // retry: 3
std::string both_retries_form(const Document& document, NodeIx number);  // retry and retries: 3
std::string env_form(const Document& document, NodeIx list);             // env: [A=b]
std::string shell_form(const Document& document, NodeIx text);           // shell: bash
std::string tasks_form(const Document& document, NodeIx list);  // tasks: [{name: a, run: [x]}]

// Where a bracket of a YAML text opens that is never closed: the parser only says that the end of
// the text came too early, which is far from the mistake.
//
// For messages: it knows quotes, comments and block scalars, not all of YAML, and in doubt says
// that it does not know. Linear in the text.

// The innermost `open`, which is '[' or '{', that is still open at the end; line 0: not known.
Position open_bracket(std::string_view text, char open);

// `message`: the parser's own.
Problem yaml_fault(std::string_view text, Position at, std::string_view message);

// `offset`: where the parser stopped; without an error it was pleased and something followed.
Problem syntax_fault(std::string_view json, std::size_t offset,
                     const boost::system::error_code& error);

}  // namespace vortex::codec
