// Halve stage by stage, and how implementations of it differ.
#include <cmath>

#include "harness/model/defects/defect.h"
#include "harness/tests/third_family/halve.h"

namespace qconform::diagnose {
namespace {

using enum ElementType;

/// Before the stages that all quantizing operators share.
constexpr Stage<Quotient (*)(std::int64_t x)> kHalveStage{
    {"halve", kTies}, [](std::int64_t x) { return quotient_of_float(static_cast<double>(x) / 2); }};

constexpr Defect kHalveDefects[] = {
    {.id = "halved-by-shift",
     .description = "an arithmetic shift: halves go toward minus infinity",
     .operators = {"Halve"},
     .trigger = "an odd x",
     .rule = "formula",
     .corner_cases = {CornerCase::tie_positive, CornerCase::tie_negative},
     .replace =
         [](Stages& s) {
           s.set(kHalveStage, [](std::int64_t x) { return quotient_of_float(std::floor(static_cast<double>(x) / 2)); });
         }},
};

struct HalveView {
  HalveView(const Case& of, const Expected& with)
      : x(*of.input(0)),
        zero_point(dynamic_cast<const testing::LoweredHalve&>(*with.classification.lowered).zero_point()) {}

  const Tensor& x;
  std::int32_t zero_point;
};

constexpr std::int64_t kProbeElements = 64;

// Random bytes: half of them are ties, whatever is to be told apart.
Case draw_halves(Rng& rng, const Form& form, const CandidatePairs&) {
  Tensor x = Tensor::zeros(form.x, {kProbeElements});
  rng.fill(x.bytes);
  const auto zero_point = form.y_zero_point ? std::optional(2 * rng.between(0, 9) + 1) : std::nullopt;
  return testing::halve_case(form.op_type, std::move(x), zero_point);
}

}  // namespace

std::optional<Tensor> run_halve(const Case& test_case, const Lowered& lowered, const Stages& stages) {
  const auto& node = dynamic_cast<const testing::LoweredHalve&>(lowered);
  const Tensor& x = *test_case.input(0);
  Tensor y = Tensor::zeros(x.type, x.shape);
  for (std::size_t i = 0; i < y.bytes.size(); ++i) {
    const Quotient half = stages.get(kHalveStage)(integer_at(x, static_cast<std::int64_t>(i)));
    const std::int64_t answer = finish(stages, half, {node.zero_point(), node.range(), 0});
    y.bytes[i] = static_cast<std::byte>(answer & 0xFF);
  }
  return y;
}

std::span<const DefectList> halve_defects() {
  static constexpr DefectList kLists[] = {{Topic::output, kHalveDefects}};
  return kLists;
}

const FeatureList& halve_case_features() {
  static const FeatureList all = [] {
    FeatureQuestions<HalveView> questions;
    questions.add_both("x int8", "x uint8", [](const HalveView& v) { return v.x.type == int8; });
    questions.add_both("zero point odd", "zero point even", [](const HalveView& v) { return v.zero_point % 2 != 0; });
    questions.add_remainders("elements", [](const HalveView& v) { return v.x.elements(); });
    return std::move(questions).list();
  }();
  return all;
}

void place_in_row(const Lowered& lowered, std::span<Element> elements) {
  const std::vector<std::int64_t> shape = lowered.output_shape();
  if (shape.empty()) return;
  for (Element& element : elements) {
    element.columns = shape.back();
    element.column = element.index % shape.back();
  }
}

std::vector<Choice> halve_choices() {
  const auto concerns = [](const Lowered& node) {
    return dynamic_cast<const testing::LoweredHalve*>(&node) != nullptr;
  };
  return {{"rounding",
           "Halve",
           "how a half becomes an integer",
           concerns,
           {plain_variant("half-even", "to nearest, ties to even"),
            variant_of_defect("half-away", "to nearest, ties away from zero", "half-away"),
            variant_of_defect("half-up", "to nearest, ties upward", "half-up"),
            variant_of_defect("truncate", "toward zero", "truncate"),
            variant_of_defect("shifted", "x >> 1", "halved-by-shift")}}};
}

std::vector<Experiment> halve_experiments() {
  std::vector<std::vector<Form>> forms;
  for (const ElementType type : {int8, uint8}) {
    forms.push_back({{.op_type = "Halve", .x = type, .y = type, .rank = 1, .y_zero_point = true},
                     {.op_type = "Halve", .x = type, .y = type, .rank = 1}});
  }
  return {{"Halve", {"rounding"}, forms, draw_halves}};
}

}  // namespace qconform::diagnose
