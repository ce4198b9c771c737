// Ways to compute what a policy leaves open: arithmetics, and the choices and variants of which they consist.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/core/case.h"
#include "harness/core/profile.h"
#include "harness/model/defects/defect.h"
#include "harness/model/defects/diagnosed_case.h"
#include "harness/model/draws/draws.h"
#include "harness/model/family.h"
#include "harness/model/operator.h"

namespace qconform::diagnose {

// Kinds of nodes, for which an implementation may have arithmetics of their own.

struct NodeKind {
  ElementType x = ElementType::uint8;
  ElementType w = ElementType::undefined;  ///< the type of weights, where there are some
  ElementType y = ElementType::undefined;  ///< the type of the output, where it may have several
  std::string_view layout = {};            ///< one of Family::arithmetic.layouts; empty where there are none

  bool operator==(const NodeKind&) const = default;
};

/// The kind of the case's node.
[[nodiscard]] NodeKind kind_of(const ModelledCase& modelled);

/// "x uint8, w int8, y uint8, depthwise"; what is not known is left out.
[[nodiscard]] std::string text_of(const NodeKind& kind);

/// Some properties of kinds, by "x", "w", "y" and "layout": a kind that has them all matches. The empty pattern matches
/// every kind.
using KindPattern = TextsByKey;

/// "w int8 (1x1, windows); depthwise": layouts of the same types together.
[[nodiscard]] std::string text_of_patterns(const std::vector<KindPattern>& patterns);

[[nodiscard]] bool matches(const KindPattern& pattern, const NodeKind& kind);
/// Whether any of the patterns matches the kind, or there is no pattern.
[[nodiscard]] bool any_matches(std::span<const KindPattern> patterns, const NodeKind& kind);

/// For each group few patterns that match all of its kinds, and none of another group. No kind is in two groups.
[[nodiscard]] std::vector<std::vector<KindPattern>> tell_apart(std::span<const std::vector<NodeKind>> groups);
/// Describes each group by such patterns in words, for the reader: "depthwise", "x uint8 (1x1, windows); w int8"; "all
/// but " and the others where these take fewer patterns.
[[nodiscard]] std::vector<std::string> told_apart(std::span<const std::vector<NodeKind>> groups);

// One way to compute whatever a policy leaves open: by one model, or by one for each kind of node.

/// A model for every kind of node.
struct NodeModels {
  DefectModel common;
  /// Models of some kinds, in place of `common`: the first whose pattern matches counts.
  std::vector<std::pair<KindPattern, DefectModel>> of_kinds = {};

  /// The model of the case's kind.
  [[nodiscard]] const DefectModel& of(const ModelledCase& modelled) const;
  [[nodiscard]] std::optional<Tensor> run(const ModelledCase& modelled) const;
};

/// A way to compute what a policy leaves open: each that it admits may be a backend's, whatever else is wrong with it.
struct Arithmetic {
  std::string name;   ///< "correctly-rounded", "ort-f32", ...: those of profiles and of the family
  NodeModels models;  ///< without defects
};

// The answer that a pinned profile gives to a case.

/// The pattern of the nodes that the pin speaks of.
[[nodiscard]] KindPattern pattern_of(const Pin& pin);

/// The only right output of the case under the profile; nullopt where it pins nothing for the case, which
/// is then judged as usual. `classification` is the case's.
[[nodiscard]] std::optional<Tensor> pinned_output(const Case& test_case, const Classification& classification,
                                                  const PinnedProfile& profile);

/// The named profile whose arithmetic the profile pins, so that in-tree kernels use it;
/// `conformance` where there is none.
[[nodiscard]] Profile named_profile_like(const PinnedProfile& profile);

// Differences between implementations of an operator: choices of its arithmetic, each with the variants that are known,
// as replaced stages, and cases on which variants disagree.

struct Variant {
  std::string id;       ///< "ort-f32"
  std::string formula;  ///< "A * ((sx * sw) / sy)": one line for the reader
  std::function<void(Stages&)> replace;
  std::string_view defect = {};   ///< the defect model that computes the same, if there is one
  std::string_view settles = {};  ///< the later choice that it leaves nothing of: a product that is an integer,
  std::string settled_as = {};    ///< the text about that choice then: "Q31: the product rounds twice"
};

/// One question about an operator.
struct Choice {
  std::string id;  ///< "product": unique within the operator
  std::string_view op_type;
  std::string question;  ///< the subject of the choice, in one line
  /// Whether the choice has a say in what this node computes.
  bool (*concerns)(const Lowered& node);
  std::vector<Variant> variants;  ///< the reference's own comes first
};

/// All choices, operator by operator, in the order in which their stages are to be replaced: a later choice may look at
/// what an earlier one has set.
[[nodiscard]] std::span<const Choice> choices();
/// These return the choice or variant of that id, or null.
[[nodiscard]] const Choice* find_choice(std::string_view op_type, std::string_view id);
[[nodiscard]] const Variant* find_variant(const Choice& choice, std::string_view id);

/// How a scaled value becomes an integer: of every operator that quantizes.
[[nodiscard]] std::vector<Variant> rounding_variants();
[[nodiscard]] std::vector<Variant> conversion_variants();
/// The stages of a defect model as a variant.
[[nodiscard]] Variant variant_of_defect(std::string id, std::string formula, std::string_view defect);
/// The reference's own variant.
[[nodiscard]] Variant plain_variant(std::string id, std::string formula);

// Cases on which variants disagree, in a form that a backend takes.

/// The types, parameters, rank and layout that a probe may use; backends decline others.
struct ProbeForm {
  std::string_view op_type;
  std::int64_t version = 10;
  ElementType x = ElementType::uint8;
  ElementType w = ElementType::undefined;  ///< the type of weights, where there are some
  ElementType y = ElementType::undefined;  ///< the type of the output, where it may have several
  std::int64_t rank = 4;                   ///< the rank of x
  bool channel_scales = false;             ///< whether w has a scale for each channel
  bool bias = false;
  bool x_zero_point = false;  ///< whether x has a zero point other than 0
  bool w_zero_point = false;
  bool y_zero_point = false;
  std::string_view layout = {};  ///< one of Family::arithmetic.layouts; empty where there are none

  bool operator==(const ProbeForm&) const = default;
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
using Draw = Case (*)(Rng& rng, const ProbeForm& form, const CandidatePairs& pairs);

/// One choice, or two that only show together, and the cases that tell their variants apart.
struct Experiment {
  std::string_view op_type;
  std::vector<std::string> choices;
  /// Forms by their types, and for each the liberal ones first.
  std::vector<std::vector<ProbeForm>> forms;
  Draw draw;
  /// Types that the backend declined in the experiments before are tried again: this one's forms may suit it.
  bool asks_again = false;
};

/// The experiments of all families.
[[nodiscard]] std::span<const Experiment> experiments();

}  // namespace qconform::diagnose
