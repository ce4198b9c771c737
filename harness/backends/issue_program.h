// A failing case as a program in C++ that needs the library alone: what a report to its maintainers shows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/backends/specification.h"
#include "harness/base/error.h"
#include "harness/core/backend.h"
#include "harness/core/tensor.h"
#include "harness/model/judge/judge.h"

namespace qconform::issue {

/// The program prints which elements of y are not right and ends with 1, or prints that all are and ends with 0. A
/// library that refuses the case ends it with 2 where that is wrong, and with 0 otherwise; one that crashes ends it so.
struct IssueProgram {
  std::string source;         ///< text of one file, C++17
  std::string build;          ///< the command that makes `case` of `case.cc`: "c++ -std=c++17 case.cc -o case -ldnnl"
  std::string python = {};    ///< the same in Python, which ends with an assertion; empty where there is none
  std::string packages = {};  ///< of the Python program, for pip: "onnxruntime==1.30.0 numpy"
};

/// A failing case, on a backend whose library writes programs.
struct IssueCase {
  const Expected& expected;            ///< it has a case
  const backend::Specification& what;  ///< the backend, as it was asked for
  std::string version;                 ///< the library's, "2.6.3"
};

/// Fails for cases of several nodes: for libraries whose interface has single operators.
[[nodiscard]] Result<void> check_single(const IssueCase& failing);

/// Writes the program that makes the same calls, with the same values, as the backend of that name. `expected` has a
/// case. Errors name "--issue": there is no program for some libraries, or some forms of them. A library that has
/// programs writes them in harness/backends/libraries/NAME/NAME_issue.cc, by a function `NAME_program(IssueCase)`.
[[nodiscard]] Result<IssueProgram> program_for(const Expected& expected, const backend::Specification& what,
                                               const BackendInfo& info);

// Pieces of C++ source text that the programs have in common.

/// "std::uint8_t"; types without one in C++ stand as the unsigned integers of their codes, packed ones as bytes.
[[nodiscard]] std::string_view element_type_text(ElementType type);

/// The text as a literal of C++ and Python, in double quotes.
[[nodiscard]] std::string literal_text(std::string_view text);

/// "std::uint8_t x[] = {1, 2};\n" on as many lines as it takes; of a tensor without elements one that is never read.
[[nodiscard]] std::string array_text(std::string_view name, const Tensor& tensor);

/// "{1, 2, 3}"
[[nodiscard]] std::string list_text(const std::vector<std::int64_t>& values);

/// A float32 that reads back: "0.1F", "-INFINITY".
[[nodiscard]] std::string float_text(float value);

/// A message as several string literals, base64 in them.
[[nodiscard]] std::string base64_text(std::string_view bytes);

/// kModel, and `std::string decoded(const std::string& text)`, which gives its bytes.
[[nodiscard]] std::string model_text(std::string_view bytes);

/// kRight and `int check(const void* y)`, which prints what is not right and returns 1 if anything is not; for a case
/// that must be refused, `check` says so and returns 1 whatever y is. `layout`: of the y that it is given.
[[nodiscard]] std::string check_text(const Expected& expected, Layout layout = Layout::channels_first);

/// How a language writes lists and the numbers that have no digits.
struct NumberStyle {
  std::string_view list;   ///< "[]"
  std::string_view range;  ///< "()"
  std::string_view nan;
  std::string_view infinity;
};
[[nodiscard]] std::string number_text(double value, const NumberStyle& style);
/// Returns for each element of the only output, which `expected` has, the ranges of numbers that it may be, "[(1, 2)]":
/// NaN to NaN where NaN is right, none where any value is. Under a profile that pins values, the pinned ones.
[[nodiscard]] std::vector<std::string> right_ranges(const Expected& expected, const NumberStyle& style);

/// Behind the check, what ends a program whose library refuses.
[[nodiscard]] int exit_code_of_refusal(const Expected& expected);

}  // namespace qconform::issue
