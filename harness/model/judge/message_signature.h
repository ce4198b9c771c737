// Signatures of a library's messages, whatever case they are about.
#pragma once

#include <string>
#include <string_view>

#include "harness/core/case.h"

namespace qconform {

/// The message without what changes from case to case and from run to run: numbers, quoted text, addresses, paths, and
/// the names of the case's tensors, with what a library appends to them. Operators and the other words stay, one space
/// between them, at most 160 bytes. The same message about another case gives the same signature.
[[nodiscard]] std::string message_signature(std::string_view message, const Case& test_case);

}  // namespace qconform
