// How many repetitions a test makes: fewer under sanitizers and emulators, more over night.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace qconform::testing {

/// `count` times the environment variable QCONFORM_TEST_SCALE (default 1), at least 1.
inline int scaled(int count) {
  const char* text = std::getenv("QCONFORM_TEST_SCALE");
  const double scale = text == nullptr ? 1.0 : std::strtod(text, nullptr);
  return std::max(1, static_cast<int>(count * scale));
}

/// A sweep over many values takes one of this many: 64 by default, and every value from scale 64 on.
inline std::int64_t sweep_stride() {
  return 6400 / std::min(6400, scaled(100));
}

}  // namespace qconform::testing
