// Vectors of QuantizeLinear and DequantizeLinear.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "corpus/author/topics.h"
#include "reference/linear_quantization/admissible_bits.h"

namespace qconform::author {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// An integer without dimensions: a zero point per tensor.
[[nodiscard]] inline Tensor scalar(ElementType type, std::int64_t value) {
  return make::integer(type, value);
}

/// The versions of both operators, from `first` on.
[[nodiscard]] std::span<const std::int64_t> linear_versions(std::int64_t first = 10);

/// The vector `id`-v`version` of that version.
[[nodiscard]] LinearBuilder quantize_vector(std::int64_t version, const std::string& id, std::string note,
                                            std::vector<std::string> rules, std::vector<std::string> tags = {});
[[nodiscard]] LinearBuilder dequantize_vector(std::int64_t version, const std::string& id, std::string note,
                                              std::vector<std::string> rules, std::vector<std::string> tags = {});

/// A number of an attribute that names a type.
[[nodiscard]] constexpr std::int64_t type_number(ElementType type) {
  return static_cast<std::int64_t>(type);
}

/// `value` in the arithmetic of a float type; itself for integers.
[[nodiscard]] double rounded_to_type(ElementType type, double value);

/// The integer or float that follows `value` in its type (float types of at most 32 bits).
[[nodiscard]] double next_number(ElementType type, double value);

/// An element with its right answers.
struct Choice {
  double x;
  reference::AdmissibleBits right;

  [[nodiscard]] bool admits(double y) const;             ///< `y`: a number of the output's type
  [[nodiscard]] double answer(std::size_t index) const;  ///< a listed right answer as a number
};

/// The first candidates, at most `count`, that `holds` accepts. `vector` is a builder of either
/// operator without parameters per axis; its x is replaced by the candidates, numbers of `type`.
[[nodiscard]] std::vector<Choice> choose(LinearBuilder vector, ElementType type, const std::vector<double>& candidates,
                                         std::size_t count, const std::function<bool(const Choice&)>& holds);

/// What choose() found, as x of shape [n].
[[nodiscard]] Tensor x_of(ElementType type, const std::vector<Choice>& choices);

/// What an arithmetic gives for each of them.
[[nodiscard]] std::vector<double> answers(const std::vector<Choice>& choices,
                                          const std::function<double(double x)>& arithmetic);

/// Numbers of a float type next to the midpoints (k + 1/2) * scale, k = 0 to `count`, both signs.
[[nodiscard]] std::vector<double> beside_ties(ElementType type, double scale, int count);

/// The integers from `first` to `last`.
[[nodiscard]] std::vector<double> integers_between(std::int64_t first, std::int64_t last);

}  // namespace qconform::author
