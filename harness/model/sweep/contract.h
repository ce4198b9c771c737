// Contracts: the cases that a backend takes, in the classes of a sweep model. Its suites stay within them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/core/fields.h"
#include "harness/model/sweep/model.h"

namespace qconform::sweep {

/// Some classes of one parameter, a bit for each.
struct Term {
  QC_DESCRIBED();
  QC_FIELD(std::size_t, parameter, {}, "parameter");
  QC_FIELD(std::uint32_t, classes, {}, "classes");
  [[nodiscard]] bool has(const Row& row) const { return (classes >> row[parameter] & 1U) != 0; }
  auto operator<=>(const Term&) const = default;
};

/// Terms of different parameters, in the order of those; a row has the combination where it has every term.
using Combination = std::vector<Term>;
[[nodiscard]] bool has(const Row& row, const Combination& combination);

struct Contract {
  QC_DESCRIBED();
  /// By parameter, a bit for each class that some case can have. No bit at all: the backend takes no case of the model.
  QC_FIELD(std::vector<std::uint32_t>, taken, {}, "taken");
  /// Combinations of two terms or more whose classes the backend takes, but not together.
  QC_FIELD(std::vector<Combination>, declined, {}, "declined");

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

/// Parses a contract that a user states: words "PARAMETER=CLASS[|CLASS]..." between commas, "x type=int8, w zero
/// point=middle". Other parameters are free; a parameter may not be named twice. Errors name the word, and the
/// parameters or classes there are.
[[nodiscard]] Result<Contract> parse_contract(std::string_view text, const Model& model);

}  // namespace qconform::sweep
