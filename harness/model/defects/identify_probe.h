// Cases on which variants (identify_variants.h) disagree, in a form that a backend takes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/core/case.h"
#include "harness/model/defects/defect.h"
#include "harness/model/defects/node_kind.h"
#include "harness/model/draws/rng.h"

namespace qconform::diagnose {

/// The types, parameters, rank and layout that a probe may use; backends decline others.
struct Form {
  std::string_view op_type;
  std::int64_t version = 10;
  ElementType x = ElementType::uint8;
  ElementType w = ElementType::undefined;  ///< of weights, where there are some
  ElementType y = ElementType::undefined;  ///< of the output, where it may have several
  std::int64_t rank = 4;                   ///< of x
  bool channel_scales = false;             ///< of w
  bool bias = false;
  bool x_zero_point = false;  ///< other than 0
  bool w_zero_point = false;
  bool y_zero_point = false;
  std::string_view layout = {};  ///< of Family::layouts

  bool operator==(const Form&) const = default;
  [[nodiscard]] NodeKind kind() const { return {x, w, y, layout}; }
};

/// Two candidates to be told apart at a time, drawn anew for each element of a case.
class CandidatePairs {
 public:
  using Pair = std::pair<const Stages*, const Stages*>;
  virtual ~CandidatePairs() = default;
  /// Both null when there is nothing to tell apart.
  [[nodiscard]] virtual Pair next(Rng& rng) const = 0;
};

/// None: for a case that is to be computed, whatever it tells.
class NoPairs final : public CandidatePairs {
 public:
  [[nodiscard]] Pair next(Rng&) const override { return {nullptr, nullptr}; }
};

/// A case of one question, as far as possible with elements on which two candidates disagree.
using Draw = Case (*)(Rng& rng, const Form& form, const CandidatePairs& pairs);

/// One choice, or two that only show together, and the cases that tell their variants apart.
struct Experiment {
  std::string_view op_type;
  std::vector<std::string> choices;
  /// Forms by their types, and for each the liberal ones first.
  std::vector<std::vector<Form>> forms;
  Draw draw;
  /// Types that the backend declined in the experiments before are tried again: this one's forms may suit it.
  bool asks_again = false;
};

/// The experiments of all families.
[[nodiscard]] std::span<const Experiment> experiments();

}  // namespace qconform::diagnose
