// Ways to compute what a policy leaves open: the kinds of nodes that may decide it, models for each kind, and the
// output that a pinned profile makes the only right one.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/core/case.h"
#include "harness/core/profile.h"
#include "harness/model/defects/modelled_case.h"
#include "harness/model/family.h"
#include "harness/model/operator.h"

namespace qconform::diagnose {

class ModelledCase;

struct NodeKind {
  ElementType x = ElementType::uint8;
  ElementType w = ElementType::undefined;  ///< the type of weights, where there are some
  ElementType y = ElementType::undefined;  ///< the type of the output, where it may have several
  std::string_view layout = {};            ///< one of Family::layouts; empty where there are none

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
  Model common;
  /// Models of some kinds, in place of `common`: the first whose pattern matches counts.
  std::vector<std::pair<KindPattern, Model>> of_kinds = {};

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

}  // namespace qconform::diagnose
