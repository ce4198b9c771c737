#include "harness/base/printable.h"

namespace qconform {

std::string printable(std::string_view name) {
  constexpr std::size_t kShown = 64;
  std::string text;
  for (const char character : name.substr(0, kShown)) {
    const auto code = static_cast<unsigned char>(character);
    text += code < 0x20 || code == 0x7F ? '?' : character;
  }
  return text + (name.size() > kShown ? "..." : "");
}

std::string quoted_name(std::string_view name) {
  return "'" + printable(name) + "'";
}

}  // namespace qconform
