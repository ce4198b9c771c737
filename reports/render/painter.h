// Colours of the terminal.
#pragma once

#include <fmt/color.h>

#include <string>

namespace qconform::report {

class Painter {
 public:
  explicit Painter(bool colour) : colour_(colour) {}
  [[nodiscard]] std::string good(const std::string& text) const { return paint(text, fmt::terminal_color::green); }
  [[nodiscard]] std::string bad(const std::string& text) const { return paint(text, fmt::terminal_color::red); }
  [[nodiscard]] std::string aside(const std::string& text) const { return paint(text, fmt::terminal_color::yellow); }

 private:
  [[nodiscard]] std::string paint(const std::string& text, fmt::terminal_color colour) const {
    return colour_ ? fmt::format(fmt::fg(colour), "{}", text) : text;
  }
  bool colour_;
};

}  // namespace qconform::report
