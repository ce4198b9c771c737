#include <array>

#include "harness/operators/convolution/conv_integer.h"
#include "harness/operators/convolution/qlinear_conv.h"
#include "harness/operators/linear/dequantize_linear.h"
#include "harness/operators/linear/quantize_linear.h"
#include "harness/operators/operator.h"

namespace qconform {
namespace {

// The operator list: one line for each.
const std::array kOperators{
    qlinear_conv_operator(),
    conv_integer_operator(),
    quantize_linear_operator(),
    dequantize_linear_operator(),
};

}  // namespace

Expectation Classification::expectation() const {
  if (!contract.holds()) return Expectation::invalid;
  return contract.latitude.empty() ? Expectation::valid : Expectation::latitude;
}

const reference::Remark* Classification::deciding_remark() const {
  if (contract.violation) return &*contract.violation;
  return contract.latitude.empty() ? nullptr : &contract.latitude.front();
}

std::int64_t Operator::version_at(std::int64_t opset_version) const {
  std::int64_t current = 0;
  for (const std::int64_t version : versions) {
    if (version <= opset_version) current = version;
  }
  return current;
}

std::span<const Operator> operators() {
  return kOperators;
}

const Operator* find_operator(std::string_view domain, std::string_view op_type) {
  if (!domain.empty() && domain != "ai.onnx") return nullptr;
  for (const Operator& candidate : kOperators) {
    if (candidate.name == op_type) return &candidate;
  }
  return nullptr;
}

std::string operator_name(std::string_view domain, std::string_view op_type) {
  const bool is_default = domain.empty() || domain == "ai.onnx";
  return is_default ? std::string(op_type) : std::string(domain) + "::" + std::string(op_type);
}

Result<void> check_operator(const Case& test_case) {
  if (find_operator(test_case.domain, test_case.op_type) != nullptr) return {};
  std::string known;
  for (const Operator& candidate : kOperators) {
    const bool is_last = &candidate == &kOperators.back();
    known += (known.empty() ? "" : is_last ? " or " : ", ") + std::string(candidate.name);
  }
  return fail("op_type", "expected " + known + ", got " + operator_name(test_case.domain, test_case.op_type),
              "operator");
}

Classification classify(const Case& test_case) {
  const Operator* known = find_operator(test_case.domain, test_case.op_type);
  if (known != nullptr && known->version_at(test_case.opset_version) != 0) return known->classify(test_case);
  Classification result;
  if (known == nullptr) {
    const Error unknown = check_operator(test_case).error();
    result.contract.violate("operator", unknown.field, unknown.message);
  } else {
    result.contract.violate("operator", "opset_version",
                            test_case.op_type + " exists since opset " + std::to_string(known->versions.front()) +
                                ", got " + std::to_string(test_case.opset_version));
  }
  return result;
}

}  // namespace qconform
