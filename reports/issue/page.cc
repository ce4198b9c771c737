#include "reports/issue/page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <cmath>
#include <set>

#include "harness/model/operator.h"
#include "harness/model/text.h"
#include "harness/onnx/case_model.h"
#include "harness/operators/convolution/convolution.h"
#include "harness/operators/linear/linear.h"
#include "reports/issue/rules.h"
#include "reports/render/forms.h"
#include "reports/render/terminal.h"

namespace qconform::report {

namespace {

const Verdict& verdict_of(const Issue& issue) {
  return issue.explained.smallest ? issue.explained.smallest_verdict : issue.explained.verdict;
}

std::string library_text(const Issue& issue) {
  return fmt::format("{} {}", issue.explained.backend, issue.info.version);
}

std::string title(const Issue& issue) {
  const Verdict& verdict = verdict_of(issue);
  const std::string op = issue.expected.test_case->op_types();
  if (!verdict.worst) return fmt::format("# {} on {}: {}\n\n", op, library_text(issue), name_of(verdict.kind));
  return fmt::format("# {} on {}: {} instead of {}\n\n", op, library_text(issue), verdict.worst->got,
                     verdict.worst->admissible);
}

// "QLinearConv-10"; of a graph all of its operators.
std::string operators_text(const Case& test_case) {
  const Operator* op = operator_of(test_case);
  if (op == nullptr || op->judges_graphs) return test_case.op_types();
  return fmt::format("{}-{}", test_case.node().op_type, op->version_at(test_case.node().opset_version));
}

std::string versions(const Issue& issue) {
  const Environment& e = issue.environment;
  return fmt::format(
      "| | |\n|---|---|\n| library | {} |\n| operator | {} |\n| processor | {} |\n| system | {} |\n"
      "| found with | qconform {} |\n\n",
      library_text(issue), operators_text(*issue.expected.test_case), e.cpu, e.operating_system, e.version);
}

// The defects, and whether they are sure.
std::string cause(const Issue& issue) {
  const auto& explanation = issue.explained.explanation;
  const std::string& cure = issue.explained.cured_by;
  const std::string cured =
      cure.empty() ? "" : fmt::format("The case is right with `@{}`: what that switches off makes it wrong.\n\n", cure);
  // A model that some cases contradict is a hint for those who look, and no cause for a maintainer.
  if (!explanation || explanation->candidates.empty() || explanation->status >= diagnose::Status::partial) {
    return fmt::format("{}{}{}.\n\n", cured, cured.empty() ? "The cause is not known: " : "", verdict_of(issue).detail);
  }
  std::string text = cured;
  for (const diagnose::DefectSet& candidate : explanation->candidates) {
    if (text.size() > cured.size()) text += "\nor\n\n";
    for (const diagnose::Defect* defect : candidate.defects) {
      text += fmt::format("- {} ({})\n", defect->description, fmt::join(diagnose::stages_of(*defect), ", "));
    }
  }
  const diagnose::Support& support = explanation->support;
  return fmt::format("{}\n{}: a model of this reproduces {} of {} ({} failing).\n\n", text,
                     name_of(explanation->status), with_thousands(support.reproduced_cases),
                     plural(support.cases, "case"), with_thousands(support.failing));
}

std::set<std::string> rules_of(const Issue& issue) {
  std::set<std::string> rules;
  if (!issue.expected.classification.lowered) rules.insert(issue.expected.classification.deciding_remark()->rule);
  if (!verdict_of(issue).rule.empty()) rules.insert(verdict_of(issue).rule);
  const auto& explanation = issue.explained.explanation;
  if (explanation && !explanation->candidates.empty() && explanation->status < diagnose::Status::partial) {
    for (const diagnose::Defect* defect : explanation->candidates.front().defects) rules.emplace(defect->rule);
  }
  return rules;
}

std::string_view formula_of(std::string_view op) {
  if (op == "ConvInteger") return "y = sum of (x - x_zero_point) * (w - w_zero_point[m]); a padded tap contributes 0";
  if (op == "QLinearConv") {
    return "y = saturate(round(A * x_scale * w_scale[m] / y_scale) + y_zero_point), ties to even, with A = sum of "
           "(x - x_zero_point) * (w - w_zero_point[m]) + B[m]; a padded tap contributes 0";
  }
  if (op == "QuantizeLinear") return "y = saturate(round(x / y_scale) + y_zero_point), ties to even";
  if (op == "DequantizeLinear") return "y = (x - x_zero_point) * x_scale";
  return "";
}

std::string document(const Issue& issue) {
  std::string text;
  const Case& test_case = *issue.expected.test_case;
  const std::string_view formula = formula_of(test_case.op_types());
  if (!formula.empty()) text += fmt::format("- {}\n", formula);
  for (const std::string& rule : rules_of(issue)) {
    const std::string_view statement = statement_of(rule);
    if (!statement.empty()) text += fmt::format("- {}: {}\n", rule, statement);
  }
  if (!issue.expected.classification.lowered) {
    text += fmt::format("- {}\n", issue.expected.classification.deciding_remark()->text());
  }
  return text.empty()
             ? text
             : fmt::format("## What ONNX's document says\n\nIn qconform's rules, which cite it:\n\n{}\n", text);
}

// A line for each node: "y = Relu(x)".
template <typename Nodes>
std::string nodes_text(const Nodes& nodes) {
  std::string text;
  for (const auto& node : nodes) {
    std::string attributes;
    for (const auto& [name, value] : node.attributes)
      attributes += fmt::format(", {}={}", name, attribute_text(Attribute::Value(value)));
    text += fmt::format("{} = {}({}{})\n", fmt::join(node.outputs, ", "), node.op_type, fmt::join(node.inputs, ", "),
                        attributes);
  }
  return code_block(text);
}

// A line for each tensor, with the values of small ones: "s = float [] 0.5".
std::string inputs_text(const Case& graph) {
  const std::vector<std::string> names = input_names(graph);
  std::string text;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const auto& tensor = graph.inputs[i];
    if (!tensor) continue;
    text += fmt::format("{} = {} [{}]", names[i], name_of(tensor->type), fmt::join(tensor->shape, ","));
    for (std::int64_t at = 0; tensor->elements() <= CaseGraph::kMostElements && at < tensor->elements(); ++at)
      text += " " + qconform::element_text(*tensor, at);
    text += "\n";
  }
  return code_block(text);
}

std::string smallest(const Issue& issue) {
  const Case& test_case = *issue.expected.test_case;
  const Verdict& verdict = verdict_of(issue);
  std::string text = fmt::format("## The smallest case\n\n{} at opset {}: {}\n\n", test_case.op_types(),
                                 test_case.nodes.front().opset_version, summary_of(test_case));
  if (is_judged_as_graph(test_case)) text += nodes_text(test_case.nodes) + "\nwith\n\n" + inputs_text(test_case) + "\n";
  if (!verdict.worst || !issue.expected.output) return text + fmt::format("{}.\n\n", verdict.detail);
  const std::size_t number = verdict.worst->output;
  const std::string output = output_names(test_case)[number];
  text += fmt::format("{}[{}] must be {}, and is {}", output, fmt::join(verdict.worst->index, ","),
                      verdict.worst->admissible, verdict.worst->got);
  const std::int64_t index = flat_index(verdict.worst->index, issue.expected.output_at(number).shape);
  const std::vector<std::string> steps = worked_out(issue.expected, index, number);
  text += steps.empty() ? ".\n" : ":\n\n";
  for (const std::string& step : steps) text += fmt::format("1. {}\n", step);
  return text + "\n";
}

// The other half of what a maintainer of an optimizer looks at.
std::string rewritten(const Issue& issue) {
  if (!issue.rewritten) return {};
  std::string text = fmt::format("## What the library computes instead\n\nIts optimized graph:\n\n{}\n",
                                 nodes_text(issue.rewritten->nodes));
  std::string constants;
  for (const CaseGraph::Value& value : issue.rewritten->initializers) {
    const bool is_shown = !value.data.empty();
    constants += fmt::format("{} = {} [{}]{}\n", value.name, value.type, fmt::join(value.shape, ","),
                             is_shown ? fmt::format(" {}", fmt::join(value.data, " ")) : "");
  }
  return constants.empty() ? text : text + "with\n\n" + code_block(constants) + "\n";
}

std::string program(const Issue& issue) {
  if (!issue.program) return fmt::format("There is no program: {}.\n\n", issue.program.error().message);
  std::string text;
  const bool refuses = verdict_of(issue).kind == VerdictKind::refused_here;
  if (!issue.program->python.empty()) {
    text += fmt::format(
        "## Program in Python\n\n`pip install {}`; `python3 case.py` ends with {}.\n\n```python\n{}```\n\n",
        issue.program->packages, refuses ? "the library's exception" : "an assertion that says what is not right",
        issue.program->python);
  }
  if (!issue.program->source.empty()) {
    text += fmt::format("## Program\n\n`{} && ./case` prints {}.\n\n```cpp\n{}```\n\n", issue.program->build,
                        refuses ? "why the library refuses, and ends with 2" : "what is not right, and ends with 1",
                        issue.program->source);
  }
  return text;
}

std::string model(const Issue& issue) {
  const auto bytes = case_to_model(*issue.expected.test_case);
  if (!bytes) return "";
  return fmt::format(
      "## The case as an ONNX model\n\nIn base64, its tensors as initializers (`base64 -d > "
      "case.onnx`):\n\n```{}\n```\n\n",
      [&] {
        std::string text = issue::base64_text(*bytes);
        std::erase_if(text, [](char c) { return c == ' ' || c == '"'; });
        return text;
      }());
}

std::string attempt_rows(const std::vector<FurtherAttempt>& attempts) {
  std::string rows;
  for (const FurtherAttempt& attempt : attempts) {
    const auto& worst = attempt.verdict.worst;
    rows += fmt::format("| `{}` | {}{} |\n", attempt.backend, name_of(attempt.verdict.kind),
                        worst ? ", " + worst->got : "");
  }
  return rows;
}

bool is_right(const Verdict& verdict) {
  return verdict.kind == VerdictKind::pass || verdict.kind == VerdictKind::vacuous ||
         verdict.kind == VerdictKind::refused;
}

std::string since(const Issue& issue) {
  if (issue.releases.empty()) return "";
  std::string text =
      "## Releases\n\n| release | the smallest case |\n|---|---|\n" + attempt_rows(issue.releases) + "\n";
  const FurtherAttempt* before = nullptr;
  for (const FurtherAttempt& release : issue.releases) {
    if (before != nullptr && is_right(before->verdict) && is_failure(release.verdict.kind)) {
      text += fmt::format("Right in `{}`, and not in `{}`.\n\n", before->backend, release.backend);
    }
    if (before != nullptr && is_failure(before->verdict.kind) && is_right(release.verdict)) {
      text += fmt::format("Right again in `{}`.\n\n", release.backend);
    }
    before = &release;
  }
  return text;
}

std::string avoided(const Issue& issue) {
  if (issue.settings.empty()) return "";
  std::vector<std::string> right;
  for (const FurtherAttempt& setting : issue.settings) {
    if (is_right(setting.verdict)) right.push_back('`' + setting.backend + '`');
  }
  return fmt::format("## What avoids it\n\n| setting | the smallest case |\n|---|---|\n{}\n{}\n",
                     attempt_rows(issue.settings),
                     right.empty() ? "None of these." : fmt::format("Right with {}.", fmt::join(right, ", ")));
}

}  // namespace

std::string issue_page(const Issue& issue) {
  return title(issue) + versions(issue) + "## Cause\n\n" + cause(issue) + document(issue) + smallest(issue) +
         rewritten(issue) + program(issue) + model(issue) + since(issue) + avoided(issue);
}

namespace {

constexpr std::size_t kMostProducts = 8;

// The digits of `number` in the mixed base of `extents`, the last one the fastest.
std::vector<std::int64_t> digits_of(std::int64_t number, const std::vector<std::int64_t>& extents) {
  std::vector<std::int64_t> digits(extents.size());
  for (std::size_t d = extents.size(); d-- > 0;) {
    digits[d] = number % extents[d];
    number /= extents[d];
  }
  return digits;
}

// One product of a sum: "(200 - 128) * (3 - 0)"; empty for a tap in the padding.
struct ProductText {
  std::string text;
  std::int64_t value = 0;
};

class SumText {
 public:
  SumText(const reference::ConvolutionOperands& operands, const Tensor& x, const Tensor& w)
      : operands_(operands), g_(operands.geometry), x_(x), w_(w) {
    taps_ = {g_.group_input_channels()};
    for (const reference::SpatialAxis& axis : g_.axes) taps_.push_back(axis.kernel);
  }

  // `y`: the output's index, [n, m, positions...]. Adds to `sum`, which is 0.
  [[nodiscard]] std::vector<std::string> steps(const std::vector<std::int64_t>& y, std::int64_t& sum) const {
    std::vector<std::string> texts;
    std::int64_t padded = 0;
    std::int64_t others = 0;
    std::int64_t rest = 0;
    for (std::int64_t tap = 0; tap < g_.depth(); ++tap) {
      const ProductText product = product_at(y, tap);
      sum += product.value;
      if (product.text.empty()) {
        ++padded;
      } else if (texts.size() < kMostProducts && (product.value != 0 || g_.depth() <= 4)) {
        texts.push_back(product.text);
      } else {
        ++others;
        rest += product.value;
      }
    }
    std::string what = "sum of (x - x_zero_point) * (w - w_zero_point)";
    if (padded > 0) what += fmt::format(", in which {} padded taps contribute 0", padded);
    if (others > 0) {
      what += fmt::format(", {} further products as one number", others);
      texts.push_back(fmt::format("{}", rest));
    }
    std::vector<std::string> steps{
        fmt::format("{}: {} = {}", what, texts.empty() ? "0" : fmt::format("{}", fmt::join(texts, " + ")), sum)};
    if (!operands_.bias.empty()) {
      const std::int64_t bias = operands_.bias[static_cast<std::size_t>(y[1])];
      steps.push_back(fmt::format("with the bias: {} + {} = {}", sum, bias, sum + bias));
      sum += bias;
    }
    return steps;
  }

 private:
  [[nodiscard]] ProductText product_at(const std::vector<std::int64_t>& y, std::int64_t tap) const {
    const std::vector<std::int64_t> digits = digits_of(tap, taps_);
    const std::int64_t channel = y[1] / g_.group_output_channels() * g_.group_input_channels() + digits[0];
    std::int64_t x_index = y[0] * g_.input_channels + channel;
    for (std::size_t d = 0; d < g_.axes.size(); ++d) {
      const reference::SpatialAxis& axis = g_.axes[d];
      const std::int64_t position = y[2 + d] * axis.stride - axis.pad_begin + digits[1 + d] * axis.dilation;
      if (position < 0 || position >= axis.input) return {};
      x_index = x_index * axis.input + position;
    }
    const auto x = static_cast<std::int64_t>(number_at(x_, x_index));
    const auto w = static_cast<std::int64_t>(number_at(w_, y[1] * g_.depth() + tap));
    const std::int64_t x_zero = operands_.x_zero_point;
    const std::int64_t w_zero = operands_.w_zero_point[static_cast<std::size_t>(y[1])];
    return {fmt::format("({} - {}) * ({} - {})", x, x_zero, w, w_zero), (x - x_zero) * (w - w_zero)};
  }

  const reference::ConvolutionOperands& operands_;
  const reference::ConvolutionGeometry& g_;
  const Tensor& x_;
  const Tensor& w_;
  std::vector<std::int64_t> taps_;  // channels of a group, and the kernel's extents
};

std::string stored_text(const Expected& expected, std::int64_t index, std::int64_t zero_point) {
  return fmt::format("rounded to nearest, ties to even, + {} (zero point), saturated to {}: {}", zero_point,
                     name_of(expected.output->type), element_text(*expected.output, index));
}

// "0.375"; "about 0.33333333333333331" where a double is no more than near.
std::string result_text(double value, bool is_exact) {
  return is_exact ? fmt::format("{}", value) : fmt::format("about {:.17g}", value);
}

std::vector<std::string> quantized(const Expected& expected, const reference::QuantizeLinear& node,
                                   std::int64_t index) {
  const std::size_t parameter = node.layout.parameter_of(index);
  const double x = number_at(*expected.test_case->input(0), index);
  const double scale = node.y_scale[parameter];
  const double quotient = x / scale;
  const bool is_exact = !std::isfinite(quotient) || std::fma(quotient, scale, -x) == 0;
  std::vector<std::string> steps{fmt::format("x / y_scale = {} / {} = {}", x, scale, result_text(quotient, is_exact))};
  if (is_integer(expected.output->type)) {
    steps.push_back(stored_text(expected, index, node.y_zero_point[parameter]));
  } else {
    steps.push_back(fmt::format("as a {}: {}", name_of(expected.output->type), element_text(*expected.output, index)));
  }
  return steps;
}

std::vector<std::string> dequantized(const Expected& expected, const reference::DequantizeLinear& node,
                                     std::int64_t index) {
  const std::size_t parameter = node.layout.parameter_of(index);
  const double x = number_at(*expected.test_case->input(0), index);
  const double zero_point = node.x_zero_point[parameter];
  const double scale = node.x_scale[parameter];
  const double product = (x - zero_point) * scale;  // the difference is exact: both have at most 32 bits
  const bool is_exact = !std::isfinite(product) || std::fma(x - zero_point, scale, -product) == 0;
  return {fmt::format("(x - x_zero_point) * x_scale = ({} - {}) * {} = {}", x, zero_point, scale,
                      result_text(product, is_exact)),
          fmt::format("rounded to {}, ties to even: {}", name_of(expected.output->type),
                      element_text(*expected.output, index))};
}

// "p[1] = {34}, before rounding 34 + 3/8"
std::string step_of(const std::string& name, const Lowered& value, std::int64_t index, const Policy& policy) {
  const std::string right = qconform::text_of(value.right_values(index, policy));
  const std::string exact = value.exact_value(index);
  const bool tells_more = !exact.empty() && right != "{" + exact + "}";
  return fmt::format("{}[{}] = {}{}", name, fmt::join(digits_of(index, value.output_shape()), ","), right,
                     tells_more ? ", before rounding " + exact : "");
}

// The graph again, with every value as an output. Of large values the element of the same index, where shapes agree.
std::vector<std::string> steps_of_graph(const Expected& expected, std::int64_t index, std::size_t output) {
  constexpr std::int64_t kFew = 4;
  Case whole = computation_of(*expected.test_case);
  whole.outputs.clear();
  std::vector<std::string> operators;
  for (const Node& node : whole.nodes) {
    for (const std::string& name : node.outputs) {
      if (name.empty()) continue;
      whole.outputs.push_back(name);
      operators.push_back(node.op_type);
    }
  }
  const Classification known = classify(whole);
  if (known.lowered == nullptr) return {};
  std::vector<std::string> steps;
  for (std::size_t i = 0; i < whole.outputs.size(); ++i) {
    const Lowered& value = known.lowered->output(i);
    const std::int64_t elements = elements_of(value.output_shape());
    const bool is_alike = value.output_shape() == expected.output_at(output).shape;
    std::vector<std::string> texts;
    for (std::int64_t at = 0; at < elements; ++at) {
      if (elements <= kFew || (is_alike && at == index))
        texts.push_back(step_of(whole.outputs[i], value, at, expected.policy));
    }
    if (texts.empty()) texts.push_back(fmt::format("{}, {} elements", whole.outputs[i], elements));
    steps.push_back(fmt::format("{}: {}", operators[i], fmt::join(texts, "; ")));
  }
  return steps;
}

}  // namespace

std::vector<std::string> worked_out(const Expected& expected, std::int64_t index, std::size_t output) {
  const Case& test_case = *expected.test_case;
  if (is_judged_as_graph(test_case)) return steps_of_graph(expected, index, output);
  const Lowered& lowered = *expected.classification.lowered;
  const std::vector<std::int64_t> y = digits_of(index, expected.output->shape);
  std::int64_t sum = 0;
  if (const auto* sums = conv_integer_of(lowered)) {
    std::vector<std::string> steps = SumText(sums->operands, *test_case.input(0), *test_case.input(1)).steps(y, sum);
    const std::string stored = element_text(*expected.output, index);
    if (stored != fmt::format("{}", sum)) steps.push_back(fmt::format("wrapped to 32 bits: {}", stored));
    return steps;
  }
  if (const auto* conv = qlinear_conv_of(lowered)) {
    std::vector<std::string> steps = SumText(conv->operands, *test_case.input(0), *test_case.input(3)).steps(y, sum);
    const reference::Requantization scales = conv->requantization(static_cast<std::size_t>(y[1]));
    const auto scale = [](float value) { return static_cast<double>(value); };  // all of its digits
    steps.push_back(fmt::format("times x_scale * w_scale / y_scale: {} * {} * {} / {} = {}", sum, scale(scales.x_scale),
                                scale(scales.w_scale), scale(scales.y_scale),
                                scaled_value_text(sum, scales.x_scale, scales.w_scale, scales.y_scale)));
    steps.push_back(stored_text(expected, index, conv->y_zero_point));
    return steps;
  }
  if (const auto* node = quantize_linear_of(lowered)) return quantized(expected, *node, index);
  if (const auto* node = dequantize_linear_of(lowered)) return dequantized(expected, *node, index);
  return {};
}

}  // namespace qconform::report
