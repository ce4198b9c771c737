// A model for covering arrays: parameters, each with a few classes, and which combinations of classes
// make no case.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/case.h"
#include "harness/core/tensor.h"
#include "harness/model/draws/rng.h"

namespace qconform::sweep {

/// One class of every parameter, by position in the model.
using Row = std::vector<std::uint8_t>;

enum class ParameterRole : std::uint8_t {
  value,     ///< a value of data or of a parameter
  core,      ///< one of the few by which backends choose what they take: types, ranks
  geometry,  ///< how an extent of the output follows from those of the input
  extent,    ///< how large something is; plain is small
};

struct Parameter {
  std::string name;
  std::vector<std::string> classes;  ///< between 1 and 32
  std::uint8_t plain = 0;            ///< the class that the fewest backends decline
  ParameterRole role = ParameterRole::value;

  /// A bit for each class.
  [[nodiscard]] std::uint32_t all() const {
    return static_cast<std::uint32_t>((std::uint64_t{1} << classes.size()) - 1);
  }
};

/// A combination that is left out, and why: `holds` reads the classes of the parameters in `scope`
/// alone. The product of their numbers of classes is small enough to be tabulated.
struct Constraint {
  std::string text;                ///< the condition, as one sentence for the reader
  std::vector<std::size_t> scope;  ///< positions of parameters, each once
  std::function<bool(const Row&)> holds;
};

struct Model {
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<Constraint> constraints;

  [[nodiscard]] std::size_t classes() const;  ///< how many classes all parameters have together
  [[nodiscard]] bool allows(const Row& row) const;
};

/// Sizes at which kernels change their way, and cases of them. None where the model has none.
struct SizedModel {
  std::size_t sizes = 0;
  std::string (*name)(std::size_t size) = nullptr;  ///< "width 255"
  /// A case of that size, otherwise as `row`, which the model allows; nothing where the row does not go with the size,
  /// or where `takes` declines the classes that the case would have.
  std::optional<Case> (*realise)(const Row& row, std::size_t size, std::uint64_t seed, std::uint64_t index,
                                 const std::function<bool(const Row&)>& takes) = nullptr;
};

/// A model whose rows can be made into cases, and cases read back as rows.
struct SweptModel {
  const Model& (*model)();
  /// A valid case with exactly the classes of `row`, which the model allows; its other values depend
  /// on `seed` and `index` alone.
  Case (*realise)(const Row& row, std::uint64_t seed, std::uint64_t index);
  /// The classes that a case has, found from the case alone. The case is valid and one of the model's.
  Row (*classify)(const Case& test_case);
  SizedModel sized = {};
  /// The operators whose cases the rows make, in ONNX's default domain: each operator has one model at most.
  std::span<const std::string_view> operators = {};
};

/// The classes of a valid case of one of its operators. Where the model has no class for a value or an extent, the
/// plain one; nothing where it has none for something else. The row need not be one that the model allows.
[[nodiscard]] std::optional<Row> row_of(const SweptModel& swept, const Case& test_case);

// Classes of zero points of any integer type.

struct Range {
  std::int64_t lo;
  std::int64_t hi;
};

/// Returns the range of an integer type of at most 32 bits.
[[nodiscard]] Range range_of(ElementType type);

/// Returns the class of a zero point: 0 the low end, 1 the middle (0, or half the range of an unsigned type), 2 the
/// high end, 3 another.
[[nodiscard]] std::uint8_t zero_point_class(ElementType type, std::int64_t value);

/// A value of one of these four classes.
[[nodiscard]] std::int64_t draw_zero_point(Rng& rng, ElementType type, std::uint8_t zero_point);

}  // namespace qconform::sweep
