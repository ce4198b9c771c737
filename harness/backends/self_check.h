// Whether qconform hands cases on to a library and answers back right: each adapter of a library passes before what it
// says of the library is believed.
//
// The cases have answers that no library gets wrong by design (scales of 1, small integers), because the adapter is
// checked and not the library: the count of outputs, their order, types and shapes, and that every node is computed.
// An answer that differs in one of these is the adapter's fault. A wrong number is the library's: what it computes is
// judged as ever.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/core/backend.h"

namespace qconform::backend {

struct SelfCheckRow {
  enum class Kind : std::uint8_t {
    right,
    declined,
    adapter_fault,  ///< the subject is not offered
    library_fault,  ///< a wrong number, a crash: the subject is offered, and judged
  };
  std::string subject;  ///< the ability that is checked: "graphs", "several outputs", "element type int4"
  Kind kind = Kind::right;
  std::string detail;  ///< empty where it is right: "output 0 is float [2], expected uint8 [2]"
};

/// A row for each case of the check, in the order of their list. The backend has a worker, where it may crash.
[[nodiscard]] std::vector<SelfCheckRow> self_check(Backend& backend);

/// Checks the backend, which has a worker, and returns it where its adapter passes. Otherwise info().not_offered has
/// the subjects with a fault, and cases that they concern are declined.
[[nodiscard]] std::unique_ptr<Backend> self_checked(std::unique_ptr<Backend> inner);

}  // namespace qconform::backend
