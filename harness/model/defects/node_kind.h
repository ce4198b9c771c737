// The kind of a node, which may decide how a backend computes it: its element types, and how it is laid out.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/case.h"
#include "harness/core/profile.h"
#include "harness/model/family.h"

namespace qconform::diagnose {

class ModelledCase;

struct NodeKind {
  ElementType x = ElementType::uint8;
  ElementType w = ElementType::undefined;  ///< of weights, where there are some
  ElementType y = ElementType::undefined;  ///< of the output, where it may have several
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

}  // namespace qconform::diagnose
