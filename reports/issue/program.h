// A failing case as a program in C++ that needs the library alone: what a report to its maintainers shows.
#pragma once

#include <string>

#include "harness/backends/specification.h"
#include "harness/base/error.h"
#include "harness/core/backend.h"
#include "harness/model/judge/judge.h"

namespace qconform::report {

/// The program prints which elements of y are not right and ends with 1, or prints that all are and ends with 0. A
/// library that refuses the case ends it with 2 where that is wrong, and with 0 otherwise; one that crashes ends it so.
struct IssueProgram {
  std::string source;  ///< text of one file, C++17
  std::string build;   ///< the command that makes `case` of `case.cc`: "c++ -std=c++17 case.cc -o case -ldnnl"
};

/// Writes the program that makes the same calls, with the same values, as the backend of that name. `expected` has a
/// case. Errors name "--issue": there is no program for some libraries, or some forms of them.
[[nodiscard]] Result<IssueProgram> program_for(const Expected& expected, const backend::Specification& what,
                                               const BackendInfo& info);

}  // namespace qconform::report
