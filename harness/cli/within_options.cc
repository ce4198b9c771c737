#include "harness/cli/within_options.h"

#include <filesystem>

#include "harness/suites/sweep/array_cache.h"

namespace qconform::cli {

void add_within_options(CLI::App& command, WithinOptions& options, const char* within) {
  command.add_option(
      "--only", options.only,
      "What the backends take: \"MODEL: PARAMETER=CLASS[|CLASS]..., ...\" with the words of qconform list sweep "
      "(default: it is learnt of each library, plugin and process)");
  command.add_flag("--no-within{false}", options.within, within);
  command.add_option("--cache", options.cache,
                     "Folder that keeps the solved arrays of the sweep (default: $QCONFORM_CACHE, else qconform in "
                     "$XDG_CACHE_HOME or ~/.cache)");
  command.add_flag("--no-cache{false}", options.cached, "Solve the arrays of the sweep anew, and keep none");
}

void keep_arrays(const WithinOptions& options) {
  if (!options.cached) return sweep::keep_arrays_in({});
  sweep::keep_arrays_in(options.cache.empty() ? sweep::usual_array_folder() : std::filesystem::path(options.cache));
}

bool is_foreign(const Backend& backend) {
  const std::string& kind = backend.info().kind;
  return kind == "library" || kind == "plugin" || kind == "process";
}

Result<Contracts> contracts_of(const WithinOptions& options, Backend& backend, std::uint64_t seed,
                               const ContractProgress& progress) {
  if (options.only.empty()) return learn_contracts(backend, seed, progress);
  return stated_contracts(options.only);
}

}  // namespace qconform::cli
