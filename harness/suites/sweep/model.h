// A model for covering arrays: parameters, each with a few classes, and which combinations of classes
// make no case.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/core/case.h"

namespace qconform::sweep {

/// One class of every parameter, by position in the model.
using Row = std::vector<std::uint8_t>;

struct Parameter {
  std::string name;
  std::vector<std::string> classes;  ///< between 1 and 32
  std::uint8_t plain = 0;            ///< the class that the fewest backends decline
  bool is_core = false;              ///< among the few by which backends choose what they take: types, ranks
};

/// A combination that is left out, and why: `holds` reads the classes of the parameters in `scope`
/// alone. The product of their numbers of classes is small enough to be tabulated.
struct Constraint {
  std::string text;                ///< what must hold, as one sentence for the reader
  std::vector<std::size_t> scope;  ///< positions of parameters, each once
  std::function<bool(const Row&)> holds;
};

struct Model {
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<Constraint> constraints;

  [[nodiscard]] std::size_t classes() const;  ///< of all parameters together
  [[nodiscard]] bool allows(const Row& row) const;
};

/// A model whose rows can be made into cases, and cases read back as rows.
struct SweptModel {
  const Model& (*model)();
  /// A valid case with exactly the classes of `row`, which the model allows; its other values depend
  /// on `seed` and `index` alone.
  Case (*realise)(const Row& row, std::uint64_t seed, std::uint64_t index);
  /// The classes that a case has, found from the case alone. The case is valid and one of the model's.
  Row (*classify)(const Case& test_case);
};

}  // namespace qconform::sweep
