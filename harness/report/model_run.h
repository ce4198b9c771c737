// A report states a run of a whole model layer by layer (`qconform model`).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/fields.h"
#include "harness/core/verdict.h"

namespace qconform {

/// The state says whether a layer is right, and whether it lies behind a wrong one, which feeds it wrong values.
enum class LayerState : std::uint8_t { right, fed_wrong, wrong, wrong_behind, not_judged };
inline constexpr std::array<std::string_view, 5> kLayerStates{"right", "fed-wrong", "wrong", "wrong-behind",
                                                              "not-judged"};

struct ModelLayerResult {
  QC_DESCRIBED(.name = "model_layer");
  QC_FIELD(std::string, id, {}, "id", .doc = "Also of its case among the results.");
  QC_FIELD(LayerState, state, {LayerState::not_judged}, "state",
           .doc =
               "wrong: on right inputs, as far as the layers before it are judged; wrong-behind: wrong, behind a wrong "
               "layer; fed-wrong: right, on the inputs that a wrong layer led to.");
  QC_FIELD(std::uint64_t, elements, {}, "elements",
           .doc = "Elements of its outputs that are judged: all, or a sample.");
  QC_FIELD(std::uint64_t, wrong_elements, {}, "wrong_elements", .presence = Presence::omitted);
  QC_FIELD(std::optional<ElementReport>, worst, {}, "worst",
           .doc = "The wrong element that is farthest from the right values.");
  QC_FIELD(std::string, finding, {}, "finding", .doc = "The finding that has its case; absent where it is not wrong.",
           .presence = Presence::omitted);

  [[nodiscard]] bool is_wrong() const { return state == LayerState::wrong || state == LayerState::wrong_behind; }
  bool operator==(const ModelLayerResult&) const = default;
};

struct ModelRun {
  QC_DESCRIBED(.name = "model_run",
               .doc =
                   "The layers of a whole model, each judged on the inputs that reached it when the backend ran the "
                   "model (docs/real-activations.md); absent where no model ran as a whole.");
  QC_FIELD(std::string, backend, {}, "backend");
  QC_FIELD(std::string, origin, {}, "origin", .doc = "Of the values that reached the layers.");
  QC_FIELD(std::string, run_file, {}, "run_file",
           .doc = "What was run in place of the model; absent where it was the model itself.",
           .presence = Presence::omitted);
  QC_FIELD(std::string, disturbed, {}, "disturbed",
           .doc = "What the backend fuses otherwise because these values are taken out; absent where nothing changes.",
           .presence = Presence::omitted);
  QC_FIELD(std::vector<ModelLayerResult>, layers, {}, "layers",
           .doc = "In the model's order; those that are no case are left out.");
  QC_LINE(describe_first_wrong(archive, self));

  /// Returns the position among the layers; nothing where no layer is wrong.
  [[nodiscard]] std::optional<std::uint64_t> first_wrong() const {
    const auto first = std::find_if(layers.begin(), layers.end(), [](const auto& layer) { return layer.is_wrong(); });
    if (first == layers.end()) return std::nullopt;
    return static_cast<std::uint64_t>(first - layers.begin());
  }
  bool operator==(const ModelRun&) const = default;
};

}  // namespace qconform
