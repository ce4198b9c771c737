// The options that say what backends take, and that suites are made for that.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "harness/base/error.h"
#include "harness/core/backend.h"
#include "harness/engine/contracts.h"

namespace qconform::cli {

struct WithinOptions {
  bool within = true;  ///< cases for what each backend takes, beside those for everything
  std::string only;    ///< contracts in place of learnt ones; may be empty
  bool cached = true;  ///< solved arrays are kept
  std::string cache;   ///< folder of solved arrays; empty: sweep::usual_array_folder()
};

/// `within`: what --no-within leaves out.
void add_within_options(CLI::App& command, WithinOptions& options, const char* within);

/// Keeps solved arrays where the options say.
void keep_arrays(const WithinOptions& options);

/// Whether a backend may take less than the reference does: a library, a plugin or a process.
[[nodiscard]] bool is_foreign(const Backend& backend);

/// Returns the contracts that --only states, or else learns them by asking the backend.
[[nodiscard]] Result<Contracts> contracts_of(const WithinOptions& options, Backend& backend, std::uint64_t seed,
                                             const ContractProgress& progress = {});

}  // namespace qconform::cli
