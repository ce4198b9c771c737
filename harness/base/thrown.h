// Exceptions of code that is not qconform's.
#pragma once

#include <cxxabi.h>

#include <string>

#include "harness/base/error.h"
#include "harness/base/machine_failure.h"

namespace qconform {

/// Inside of a handler, or in a terminate handler that was called for an exception: what was thrown, as
/// "std::runtime_error: no kernel", "int: 7" or "an exception that is not C++'s". Ends where it gets long.
[[nodiscard]] std::string thrown_text();

/// Returns the Result of `open`, or an error of `field` where `open` throws.
template <typename Open>
[[nodiscard]] auto opened_without_throwing(const char* field, const Open& open) -> decltype(open()) {
  try {
    return open();
  } catch (const MachineFailure&) {
    throw;
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (...) {
    return fail(field, "threw while it was opened: " + thrown_text());
  }
}

}  // namespace qconform
