// Workers in namespaces of their own, by bubblewrap.
#pragma once

#include <string>
#include <vector>

#include "harness/base/error.h"

namespace qconform::backend {

/// The words in front of a command that runs it without a network, without rights, without other processes in sight,
/// and with files that it can read but not write. Errors, of field "--isolation": bubblewrap is not here, or the system
/// lets it make no namespaces.
[[nodiscard]] Result<std::vector<std::string>> confining_words();

}  // namespace qconform::backend
