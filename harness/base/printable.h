// Names out of files and processes, as they may stand in a message.
#pragma once

#include <string>
#include <string_view>

namespace qconform {

/// At most 64 bytes; control characters are replaced.
[[nodiscard]] std::string printable(std::string_view name);
/// The same in quotes.
[[nodiscard]] std::string quoted_name(std::string_view name);

}  // namespace qconform
