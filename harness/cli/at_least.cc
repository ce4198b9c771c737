#include <fmt/format.h>

#include <cstdlib>

#include "harness/cli/command.h"

namespace qconform::cli {

CLI::Validator at_least(int least) {
  return {[least](std::string& text) -> std::string {
            char* end = nullptr;
            const double value = std::strtod(text.c_str(), &end);
            if (end != text.c_str() + text.size() || value >= least) return {};
            return fmt::format("{} is below {}, the least that is possible", text, least);
          },
          ""};
}

}  // namespace qconform::cli
