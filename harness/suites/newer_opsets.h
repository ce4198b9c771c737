// Cases of opsets that are newer than qconform.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "harness/core/suite.h"

namespace qconform {

/// Counts the cases whose opset is newer than kNewestOpset. They are judged by the newest versions known, which the
/// reader has to be told: a later opset may have changed the operator.
class NewerOpsets {
 public:
  void add(const Case& test_case);
  /// "3 cases have opset 40, newer than 28, the newest known: judged by QuantizeLinear 25"; empty without such cases.
  [[nodiscard]] std::string text() const;

 private:
  std::uint64_t cases_ = 0;
  std::set<std::int64_t> opsets_;
  std::map<std::string, std::int64_t> versions_;  ///< by operator
};

/// Wraps a source so that its cases are counted on their way. `newer` must outlive it.
[[nodiscard]] std::unique_ptr<Suite> counted(std::unique_ptr<Suite> source, NewerOpsets& newer);

}  // namespace qconform
