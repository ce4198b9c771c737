// The lint of the corpus: whether vectors are what they say, and the normal form of their files (docs/corpus.md).
#pragma once

#include <iosfwd>
#include <span>
#include <string>

namespace qconform::lint {

/// The program. `arguments` are [--write] PATH...; each mistake is a line of `out`. Returns the exit code: 1 where
/// something is wrong with a file, 2 for wrong use, of which `err` tells.
[[nodiscard]] int run(std::span<const std::string> arguments, std::ostream& out, std::ostream& err);

}  // namespace qconform::lint
