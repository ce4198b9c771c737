#include "harness/cli/duration.h"

#include <fmt/format.h>

#include <charconv>

namespace qconform::cli {

Result<std::chrono::duration<double>> parse_duration(const std::string& field, std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  const double seconds = unit == "ms" ? 0.001 : unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  if (error != std::errc() || seconds == 0 || !(number > 0)) {
    return fail(field, fmt::format("expected a positive number with a unit (ms, s, m or h), got \"{}\"", text));
  }
  return std::chrono::duration<double>(number * seconds);
}

}  // namespace qconform::cli
