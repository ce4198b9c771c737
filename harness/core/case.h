// A test case: one operator node with everything that goes into it, and what is expected.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "harness/core/tensor.h"

namespace qconform {

/// A node attribute, by ONNX's name. The value's type is kept even where it is not the one that the
/// operator defines, so that a case can be wrong on purpose.
struct Attribute {
  using Value = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<float>>;
  std::string name;
  Value value;
  bool operator==(const Attribute&) const = default;
};

/// What a right implementation does with the case.
enum class Expectation : std::uint8_t {
  unstated,  ///< the source makes no claim; the semantics decide
  valid,     ///< must be computed (lanes DET and OPEN); a clean refusal counts as unsupported
  latitude,  ///< the right value or a clean error (lane TOL)
  invalid,   ///< must be refused with a clear error (lane REJ)
};

/// Where a case comes from, so that it can be made again.
struct Provenance {
  std::string source;       ///< "random", "corpus/qlinear_conv/padding.json", "onnx:test_qlinearconv"
  std::uint64_t seed = 0;   ///< of the run; 0 where nothing is random
  std::uint64_t index = 0;  ///< position within the source
  bool operator==(const Provenance&) const = default;
};

/// One node. Inputs are positional, as in ONNX: nullopt stands for the empty string of an omitted
/// optional input; trailing omitted inputs are kept if the source states them.
struct Case {
  std::string id;       ///< unique within its source; names files and replay lines
  std::string op_type;  ///< "QLinearConv"
  std::string domain;   ///< "" is ONNX's own
  std::int64_t opset_version = 0;
  std::vector<Attribute> attributes;
  std::vector<std::optional<Tensor>> inputs;
  std::optional<Tensor> recorded_output;  ///< what the source says the answer is, if it says so

  Expectation expectation = Expectation::unstated;
  std::vector<std::string> rules;  ///< ids of the rules that the case is about
  std::vector<std::string> tags;
  std::string note;  ///< one line for the reader
  Provenance provenance;

  bool operator==(const Case&) const = default;

  [[nodiscard]] const Attribute* attribute(std::string_view name) const;
  /// The tensor at `position`, or null when it is omitted or beyond the end.
  [[nodiscard]] const Tensor* input(std::size_t position) const;
};

[[nodiscard]] std::string_view name_of(Expectation expectation);
[[nodiscard]] std::optional<Expectation> expectation_named(std::string_view name);

/// A 64-bit fingerprint of what the case computes: operator, version, attributes, inputs. The same
/// on every machine and compiler; ids, notes and expectations do not enter.
[[nodiscard]] std::uint64_t digest_of(const Case& test_case);

}  // namespace qconform
