// The lint of the corpus: whether vectors are what they say, and the normal form of their files (docs/corpus.md).
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/model/operator.h"

namespace qconform::lint {

/// The program. `arguments` are [--write [--defects-of BACKEND]] PATH...; each mistake is a line of `out`. Returns the
/// exit code: 1 where something is wrong with a file, 2 for wrong use, of which `err` tells.
[[nodiscard]] int run(std::span<const std::string> arguments, std::ostream& out, std::ostream& err);

/// A tag with a meaning, of valid vectors. One with neither corner cases nor `holds` is judged by reading alone.
struct TagClaim {
  std::string_view tag;
  std::vector<CornerCase> corner_cases = {};                       ///< the vector reaches one of them
  std::string_view promise = {};                                   ///< the property that `holds` looks for, in words
  bool (*holds)(const Case& vector, const Lowered& lowered) = {};  ///< holds for a convolution
};

[[nodiscard]] const std::vector<TagClaim>& tag_claims();

/// Says for the reader which promise of `tag` the vector breaks; empty where the promise is kept or the word is free.
[[nodiscard]] std::string broken_promise(const Case& vector, const Classification& classification,
                                         const std::string& tag);

}  // namespace qconform::lint
