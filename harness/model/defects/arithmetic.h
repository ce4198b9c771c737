// One way to compute whatever a policy leaves open: by one model, or by one for each kind of node.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/model/defects/modelled_case.h"
#include "harness/model/defects/node_kind.h"

namespace qconform::diagnose {

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

}  // namespace qconform::diagnose
