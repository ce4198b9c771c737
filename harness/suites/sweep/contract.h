// What a backend takes, in the classes of a sweep model: where its suites stay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/suites/sweep/model.h"

namespace qconform::sweep {

/// One class of one parameter.
struct Term {
  std::size_t parameter;
  std::uint8_t chosen;
  auto operator<=>(const Term&) const = default;
};

/// Classes of different parameters, in the order of the parameters.
using Combination = std::vector<Term>;

struct Contract {
  /// By parameter, a bit for each class that some case can have. None of all: the backend takes no case of the model.
  std::vector<std::uint32_t> taken;
  /// Of two classes or more that are taken, but not together.
  std::vector<Combination> declined;

  [[nodiscard]] bool takes_anything() const;
  [[nodiscard]] bool takes(const Row& row) const;
  bool operator==(const Contract&) const = default;
};

/// Takes every row that the model allows.
[[nodiscard]] Contract whole_contract(const Model& model);
[[nodiscard]] bool is_whole(const Contract& contract, const Model& model);

/// The model with the contract among its constraints, so that its rows are those that the backend takes.
[[nodiscard]] Model restricted(const Model& model, const Contract& contract);

/// A line for each parameter of which not all classes are taken, "x type: int8; not uint8", then one for each
/// combination, "not w type = uint8 with w parameters = per channel".
[[nodiscard]] std::vector<std::string> lines_of(const Contract& contract, const Model& model);

/// What a user states: words "PARAMETER=CLASS[|CLASS]..." between commas, "x type=int8, w zero point=middle". Other
/// parameters are free; a parameter may not be named twice. Errors name the word, and the parameters or classes there
/// are.
[[nodiscard]] Result<Contract> parse_contract(std::string_view text, const Model& model);

}  // namespace qconform::sweep
