// What a backend did with a case.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "harness/core/tensor.h"

namespace qconform {

namespace outcome {

/// An output tensor was written, in bounds and completely as far as could be seen.
struct Produced {
  Tensor output;
};
/// A clean refusal of something the backend does not implement.
struct Unsupported {
  std::string reason;
};
/// A clean refusal of the case as wrong.
struct Rejected {
  std::string reason;
};
struct Crashed {
  int signal = 0;
  std::string detail;
};
struct TimedOut {
  double seconds = 0;
};
/// Bytes outside the output were changed.
struct WroteOutOfBounds {
  enum class Side : std::uint8_t { before, after };
  Side side = Side::after;
  std::int64_t offset = 0;  ///< bytes from the nearest end of the output
};
/// run returned without having asked for an output, or left bytes of it unwritten.
struct LeftUnwritten {
  std::string detail;
};

}  // namespace outcome

using Outcome = std::variant<outcome::Produced, outcome::Unsupported, outcome::Rejected, outcome::Crashed,
                             outcome::TimedOut, outcome::WroteOutOfBounds, outcome::LeftUnwritten>;

}  // namespace qconform
