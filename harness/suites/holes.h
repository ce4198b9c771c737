// Which classes meet in the graphs of a suite: the values of an operator's attributes, and how the operand that it
// reads is quantized. Pairs that no case has are holes, through which defects of runtimes slip.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/core/case.h"

namespace qconform {

/// The pairs of one operator that no case has. A pair is a class of an attribute ("auto_pad = SAME_LOWER", "axis < 0",
/// "group absent"; "" for the operator itself) with a class of what is around the node ("x uint4", "x by axis",
/// "opset 21"). Not every pair is possible.
struct OperatorHoles {
  std::string name;                   ///< "Conv", "com.microsoft::QGemm"
  std::uint64_t nodes = 0;            ///< in all cases
  std::uint64_t pairs = 0;            ///< of classes that occur with some operator; those of attributes with this one
  std::vector<std::string> unstated;  ///< attributes that no node states
  std::map<std::string, std::vector<std::string>> missing;

  [[nodiscard]] std::uint64_t holes() const;
};

class ClassPairs {
 public:
  /// Counts the nodes of a case that compute: all but QuantizeLinear and DequantizeLinear around them.
  void add(const Case& test_case);
  /// Returns the holes of every operator that graphs may have, by its name; an operator without a node is one of them.
  [[nodiscard]] std::vector<OperatorHoles> holes() const;

 private:
  struct OfOperator {
    std::uint64_t nodes = 0;
    std::set<std::string> attributes;                     // classes that occur; "" is one
    std::set<std::pair<std::string, std::string>> pairs;  // of an attribute's class and one of the place
  };

  std::map<std::string, OfOperator, std::less<>> by_operator_;
  std::set<std::string> places_;  // classes that occur with some operator
};

}  // namespace qconform
