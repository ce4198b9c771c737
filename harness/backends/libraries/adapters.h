// Functions that all adapters share. Only adapters include this header.
#pragma once

#include <string>
#include <utility>

#include "harness/backends/library.h"
#include "harness/backends/plain_memory.h"
#include "harness/core/case.h"
#include "harness/operators/convolution/convolution.h"
#include "harness/operators/linear/linear.h"

namespace qconform::libraries {

// An adapter defines a function of its library's name, which the list in CMakeLists.txt has.
#define QCONFORM_LIBRARY(name) [[nodiscard]] backend::Library name();
#define QCONFORM_ABSENT_LIBRARY(name, title, reason)
#define QCONFORM_MODULE_OF_LIBRARY(name, title, remedy)
#define QCONFORM_PEER(name, title, program, ...)
#include <libraries.inc>
#undef QCONFORM_LIBRARY
#undef QCONFORM_ABSENT_LIBRARY
#undef QCONFORM_MODULE_OF_LIBRARY
#undef QCONFORM_PEER

/// Returns ONNX Runtime as a runtime of models. Defined only where it was found when qconform was built.
[[nodiscard]] ModelRuntime onnxruntime_models();

/// A library's message on one line, at most 200 bytes.
[[nodiscard]] std::string one_line(std::string message);

/// Turns a library's refusal of the case into an outcome: a valid case is unsupported, any other is rejected. `message`
/// is the library's, or says what its interface cannot express. `Either` is Preparation, RepeatedPreparation or
/// Outcome.
template <typename Either>
[[nodiscard]] Either refused_as(const Case& test_case, std::string message) {
  if (classify(test_case).expectation() == Expectation::valid)
    return outcome::Unsupported{one_line(std::move(message))};
  return outcome::Rejected{one_line(std::move(message))};
}
[[nodiscard]] Preparation refused(const Case& test_case, std::string message);
[[nodiscard]] Outcome refusal(const Case& test_case, std::string message);

/// For a library whose interface states geometry and parameters, not ONNX's attributes: hands the
/// parsed node to `prepare`, which takes the reference's description of every operator. A case out of
/// contract has no form there, nor one whose values are open (rules C21, Q5), and both are rejected.
template <typename Either = Preparation, typename Prepare>
[[nodiscard]] Either prepare_described(const Case& test_case, Prepare prepare) {
  const Classification classification = classify(test_case);
  if (!classification.lowered || classification.value_is_open) {
    return outcome::Rejected{classification.deciding_remark()->text()};
  }
  const Lowered& lowered = *classification.lowered;
  if (const auto* node = qlinear_conv_of(lowered)) return prepare(*node);
  if (const auto* node = conv_integer_of(lowered)) return prepare(*node);
  if (const auto* node = quantize_linear_of(lowered)) return prepare(*node);
  if (const auto* node = dequantize_linear_of(lowered)) return prepare(*node);
  return outcome::Unsupported{"no adapter for " + test_case.node().op_type};
}

}  // namespace qconform::libraries
