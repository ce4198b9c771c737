#include "harness/backends/libraries/xnnpack/xnnpack_subgraph.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <variant>

namespace qconform::libraries::xnn {
namespace {

using namespace reference::graph;

class UnitReader {
 public:
  UnitReader(const Case& test_case, const GraphProgram& graph) : case_(test_case), program_(graph.program) {
    for (const Step& step : program_.steps) makers_[step.result] = &step;
  }

  [[nodiscard]] tl::expected<QuantizedUnit, std::string> read() {
    if (program_.outputs.size() != 1) return tl::unexpected<std::string>("a unit has one output");
    const Step* last = maker(program_.outputs[0]);
    const auto* quantize = last == nullptr ? nullptr : std::get_if<Quantize>(&last->what);
    if (quantize == nullptr) return tl::unexpected<std::string>("a unit ends in QuantizeLinear");
    QuantizedUnit unit;
    unit.y = &quantize->node;
    const Step* step = read_activations(maker(last->operands[0]), unit);
    if (step == nullptr) return tl::unexpected<std::string>("a unit begins with DequantizeLinear");
    const bool has_compute = !std::holds_alternative<Dequantize>(step->what);
    if (has_compute) unit.compute = step;
    for (const ValueId operand : has_compute ? step->operands : std::vector{step->result}) {
      if (auto problem = read_operand(operand, unit)) return tl::unexpected(std::move(*problem));
    }
    if (seen_.size() != program_.steps.size()) return tl::unexpected<std::string>("a unit has one operator");
    return unit;
  }

 private:
  [[nodiscard]] const Step* maker(ValueId value) {
    const auto found = makers_.find(value);
    if (found == makers_.end()) return nullptr;
    seen_.insert(found->second);
    return found->second;
  }

  // The step before the activations. The bounds of the last one come last.
  [[nodiscard]] const Step* read_activations(const Step* step, QuantizedUnit& unit) {
    struct ActivationBounds {
      double lowest, highest;
    };
    std::vector<ActivationBounds> bounds;
    for (; step != nullptr; step = maker(step->operands[0])) {
      const auto* activation = std::get_if<Elementwise>(&step->what);
      if (activation == nullptr) break;
      if (activation->function == Function::relu) {
        bounds.push_back({0, std::numeric_limits<double>::infinity()});
      } else if (activation->function == Function::clip) {
        bounds.push_back({activation->alpha, activation->beta});
      } else {
        break;
      }
    }
    for (auto bound = bounds.rbegin(); bound != bounds.rend(); ++bound) {
      for (float* end : {&unit.lowest, &unit.highest}) {
        *end = static_cast<float>(std::min(std::max<double>(*end, bound->lowest), bound->highest));
      }
    }
    return step;
  }

  [[nodiscard]] std::optional<std::string> read_operand(ValueId value, QuantizedUnit& unit) {
    const Step* step = maker(value);
    const auto* dequantize = step == nullptr ? nullptr : std::get_if<Dequantize>(&step->what);
    if (dequantize == nullptr) return "every operand of a unit comes from DequantizeLinear";
    if (step->operands[0] >= case_.inputs.size()) return "a unit has one operator";
    unit.operands.push_back({step->operands[0], &dequantize->node});
    return std::nullopt;
  }

  const Case& case_;
  const Program& program_;
  std::map<ValueId, const Step*> makers_;
  std::set<const Step*> seen_;
};

}  // namespace

tl::expected<QuantizedUnit, std::string> quantized_unit(const Case& test_case, const GraphProgram& graph) {
  return UnitReader(test_case, graph).read();
}

}  // namespace qconform::libraries::xnn
