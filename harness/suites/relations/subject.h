// The case that a relation is applied to, taken apart so that it can be put together differently.
#pragma once

#include <memory>
#include <string_view>

#include "harness/core/case.h"
#include "harness/core/error.h"

namespace qconform {
struct Family;
}  // namespace qconform

namespace qconform::relations {

/// A case taken apart, as its family's relations need it.
class Parts {
 public:
  Parts() = default;
  virtual ~Parts() = default;

 protected:
  Parts(const Parts&) = default;
  Parts(Parts&&) = default;
  Parts& operator=(const Parts&) = default;
  Parts& operator=(Parts&&) = default;
};

/// A case within the contract, without latitude.
struct Subject {
  const Case* base = nullptr;
  const Family* family = nullptr;
  std::shared_ptr<const Parts> parts;  ///< null where the family takes nothing apart

  [[nodiscard]] bool is(std::string_view op_type) const { return base->node().op_type == op_type; }
};

/// Takes a case apart; the case must outlive the subject. The error says why no relation speaks of the
/// case: it is out of contract, or its answer is open.
[[nodiscard]] Result<Subject> subject_of(const Case& test_case);

}  // namespace qconform::relations
