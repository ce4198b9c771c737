// Writes cases as files into a folder.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "harness/core/suite.h"

namespace qconform::cli {

struct CaseOutput {
  std::string format = "json";
  std::string out;          ///< folder
  bool admissible = false;  ///< of backend-test folders: with the right values
};

void add_case_output_options(CLI::App& command, CaseOutput& options);

/// Makes the folder.
[[nodiscard]] Result<void> prepare(const CaseOutput& options);

/// Writes the source's cases, the first as number `number`; returns the number after the last.
[[nodiscard]] Result<std::uint64_t> write_cases(Suite& source, const CaseOutput& options, std::uint64_t number,
                                                std::string_view command);

/// Prints what the source has met and made no case of, with the reasons, a line each.
void print_left_out(const Suite& source);

}  // namespace qconform::cli
